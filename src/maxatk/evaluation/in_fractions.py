"""Evaluation in fractions, on small problems: every path, with equal ones counted together."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from maxatk.base import stopping
from maxatk.base.types import Number
from maxatk.evaluation.law import ExactLaw, exact_best_of
from maxatk.policies import CompressedPolicy, History, HistoryPolicy, Lot, Policy, Seen
from maxatk.problem.mdp import MDP, ExactOutcome

MOST_OUTCOMES = 100_000  # that are followed before giving up
MOST_HISTORIES = 20_000  # the same, for policies that remember everything
MOST_DIGITS = 3_000_000  # of the fractions that the laws of independent rollouts multiply to, in bits
MOST_BITS = 100_000  # of a single probability

Rollout: TypeAlias = dict[tuple[int, Number, Number], Fraction]


class TooManyError(Exception):
    """The problem is too large to be evaluated in fractions."""


def exact_law(mdp: MDP, policy: Policy, most_outcomes: int = MOST_OUTCOMES) -> ExactLaw:
    """The law of the best return.

    Raises:
        TooManyError: where more than so many outcomes would have to be followed, or fewer with histories.
    """
    if isinstance(policy, HistoryPolicy):
        return _Walk(mdp, MOST_HISTORIES).histories(policy)
    walk = _Walk(mdp, most_outcomes)
    lots = policy.lots()
    if lots is not None:
        parts = {(id(part), i): part for lot in lots for part, i in lot.parts}
        returns = {key: walk.returns(part, key[1]) for key, part in parts.items()}
        return _best_of([(_of_lot(lot, returns), lot.times) for lot in lots], policy.best_so_far)
    (part,) = policy.parts
    bests = {(policy.best_so_far, policy.best_so_far): Fraction(1)}  # (true M, remembered M) -> probability
    _, most = mdp.return_range
    for i in range(policy.k):
        following: dict[tuple[Number, Number], Fraction] = {}
        for (best, remembered), p in bests.items():
            if best >= most:  # nothing can be improved any more
                following[best, best] = following.get((best, best), Fraction(0)) + p
                continue
            if p.denominator.bit_length() > MOST_BITS:
                raise TooManyError
            for pair, q in walk.rollout(part, i, best, remembered).items():
                following[pair] = following.get(pair, Fraction(0)) + p * q
        bests = following
    return _true(bests)


def _of_lot(lot: Lot, returns: Mapping[tuple[int, int], ExactLaw]) -> ExactLaw:
    """The law of the return of a rollout, from those of its parts."""
    law: dict[Number, Fraction] = {}
    for (part, i), weight in zip(lot.parts, lot.weights or [Fraction(1)], strict=True):
        for value, p in returns[id(part), i].items():
            law[value] = law.get(value, Fraction(0)) + weight * p
    return {value: p for value, p in law.items() if p}


def _true(bests: Mapping[tuple[Number, Number], Fraction]) -> ExactLaw:
    """The law of the true one of two numbers, the other being remembered."""
    law: dict[Number, Fraction] = {}
    for (best, _), p in bests.items():
        law[best] = law.get(best, Fraction(0)) + p
    return law


def _best_of(laws: list[tuple[ExactLaw, int]], best_so_far: Number) -> ExactLaw:
    if best_so_far != -math.inf:
        laws = [*laws, ({best_so_far: Fraction(1)}, 1)]
    values = len({value for law, _ in laws for value in law})
    bits = sum(times * max(p.denominator.bit_length() for p in law.values()) for law, times in laws)
    if values * bits > MOST_DIGITS:
        raise TooManyError
    return exact_best_of(laws)


class _Walk:
    """Follows outcomes, and counts them."""

    def __init__(self, mdp: MDP, most_outcomes: int) -> None:
        self._mdp = mdp
        self._left = most_outcomes

    def rollout(
        self, policy: CompressedPolicy, i: int, best: Number, remembered: Number
    ) -> dict[tuple[Number, Number], Fraction]:
        """The law of the best return, true and as the policy remembers it, after one more rollout."""
        ended: dict[tuple[Number, Number], Fraction] = {}
        present: Rollout = {(s, Fraction(0), Fraction(0)): p for p, s in self._mdp.exact_start()}
        for h in range(self._mdp.horizon):
            following: Rollout = {}
            for (s, true, g), prob in present.items():
                action = policy.action(rollout=i, step=h, state=s, best=remembered, so_far=g)
                for p, t, r in self._outcomes(h, s, action):
                    new = true + r, g + policy.remembered(r)
                    if t is None or h + 1 == self._mdp.horizon:
                        pair = max(best, new[0]), max(remembered, new[1])
                        ended[pair] = ended.get(pair, Fraction(0)) + prob * p
                    else:
                        following[t, *new] = following.get((t, *new), Fraction(0)) + prob * p
            present = following
        return ended

    def returns(self, policy: CompressedPolicy, i: int) -> ExactLaw:
        """The law of the return of one rollout of a policy that ignores the best return."""
        return _true(self.rollout(policy, i, -math.inf, -math.inf))

    def histories(self, policy: HistoryPolicy) -> ExactLaw:
        """The law of the best return of a policy that remembers everything: a walk through the tree of histories."""
        law: dict[Number, Fraction] = {}
        starts = [(p, s) for p, s in self._mdp.exact_start()]
        waiting = [(p, History((), (), s, policy.best_so_far)) for p, s in starts]
        while waiting:
            prob, seen = waiting.pop()
            action = policy.choose(seen)
            for p, t, r in self._outcomes(seen.step, seen.state, action):
                present = (*seen.present, Seen(seen.state, action, r))
                if t is not None and len(present) < self._mdp.horizon:
                    waiting.append((prob * p, History(seen.past, present, t, policy.best_so_far)))
                    continue
                past = (*seen.past, present)
                if len(past) == policy.k:
                    best = History(past, (), None, policy.best_so_far).best
                    law[best] = law.get(best, Fraction(0)) + prob * p
                else:
                    waiting += [(prob * p * q, History(past, (), s, policy.best_so_far)) for q, s in starts]
        return law

    def _outcomes(self, h: int, s: int, action: int) -> list[ExactOutcome]:
        stopping.check()
        outcomes = self._mdp.exact_outcomes(h, s, action)
        self._left -= len(outcomes)
        if self._left < 0:
            raise TooManyError
        return outcomes
