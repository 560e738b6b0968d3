"""Evaluation in fractions, on small problems: every path, with equal ones counted together."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from maxatk.base import stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.evaluation.law import ExactLaw, exact_best_of
from maxatk.policies import ABANDON, CompressedPolicy, History, HistoryPolicy, Lot, Policy, Seen
from maxatk.problem.data import ExactOutcome
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP

MOST_HISTORIES = 20_000  # the same, for policies that remember everything
MOST_DIGITS = 3_000_000  # of the fractions that the laws of independent rollouts multiply to, in bits
MOST_BITS = 100_000  # of a single probability

Rollout: TypeAlias = dict[tuple[int, Number, Number], Fraction]


class TooManyError(Exception):
    """The problem is too large to be evaluated in fractions."""


class Exactly(NamedTuple):
    """What a policy comes to: the law of the best return, and on average the number of rollouts and what rows cost."""

    law: ExactLaw
    tries: Fraction
    rows: Fraction


def exactly(problem: DecisionProblem, policy: Policy, most_outcomes: int) -> Exactly:
    """What a policy comes to. Where anything costs anything, all rollouts are followed to the end.

    Raises:
        TooManyError: where more than so many outcomes would have to be followed, or fewer with histories.
    """
    mdp = problem.mdp
    if isinstance(policy, HistoryPolicy):
        return _Walk(mdp, MOST_HISTORIES).histories(policy)
    walk = _Walk(mdp, most_outcomes)
    lots = policy.lots()
    if lots is not None:
        parts = {(id(part), i): part for lot in lots for part, i in lot.parts}
        returns = {key: walk.returns(part, key[1]) for key, part in parts.items()}
        if not any(-math.inf in one.law for one in returns.values()):
            laws = [(_of_lot(lot, returns), lot.times) for lot in lots]
            rows = sum((times * one.rows for one, times in laws), Fraction(0))
            best = _best_of([(one.law, times) for one, times in laws], policy.best_so_far)
            return Exactly(best, Fraction(policy.k), rows)
    (part,) = policy.parts
    bests = {(policy.best_so_far, policy.best_so_far): Fraction(1)}  # (true M, remembered M) -> probability
    over: dict[tuple[Number, Number], Fraction] = {}
    tries = rows = Fraction(0)
    for i in range(policy.k):
        following: dict[tuple[Number, Number], Fraction] = {}
        for (best, remembered), p in bests.items():
            if policy.stops(rollout=i, best=best):
                over[best, remembered] = over.get((best, remembered), Fraction(0)) + p
                continue
            tries += p
            if best >= problem.most and not problem.costly:  # nothing can be improved any more
                following[best, best] = following.get((best, best), Fraction(0)) + p
                continue
            if p.denominator.bit_length() > MOST_BITS:
                raise TooManyError
            after, paid = walk.rollout(part, i, best, remembered)
            rows += p * paid
            for pair, q in after.items():
                following[pair] = following.get(pair, Fraction(0)) + p * q
        bests = following
    for pair, p in over.items():
        bests[pair] = bests.get(pair, Fraction(0)) + p
    return Exactly(_in_hand(_true(bests)), tries, rows)


def _in_hand(law: ExactLaw) -> ExactLaw:
    if -math.inf in law:
        raise InputError("the policy may end with nothing in hand: it gives up every rollout of some trials")
    return law


def _of_lot(lot: Lot, returns: Mapping[tuple[int, int], Exactly]) -> Exactly:
    """What one rollout comes to, from its parts."""
    law: dict[Number, Fraction] = {}
    rows = Fraction(0)
    for (part, i), weight in zip(lot.parts, lot.weights or [Fraction(1)], strict=True):
        rows += weight * returns[id(part), i].rows
        for value, p in returns[id(part), i].law.items():
            law[value] = law.get(value, Fraction(0)) + weight * p
    return Exactly({value: p for value, p in law.items() if p}, Fraction(1), rows)


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
    ) -> tuple[dict[tuple[Number, Number], Fraction], Fraction]:
        """The law of the best return, true and as the policy remembers it, after one more rollout; what rows cost."""
        ended: dict[tuple[Number, Number], Fraction] = {}
        paid = Fraction(0)
        present: Rollout = {(s, Fraction(0), Fraction(0)): p for p, s in self._mdp.exact_start()}
        for h in range(self._mdp.horizon):
            following: Rollout = {}
            for (s, true, g), prob in present.items():
                action = policy.action(rollout=i, step=h, state=s, best=remembered, so_far=g)
                if action == ABANDON:
                    ended[best, remembered] = ended.get((best, remembered), Fraction(0)) + prob
                    continue
                paid += prob * self._cost(h, s, action)
                for p, t, r in self._outcomes(h, s, action):
                    new = true + r, g + policy.remembered(r)
                    if t is None or h + 1 == self._mdp.horizon:
                        pair = max(best, new[0]), max(remembered, new[1])
                        ended[pair] = ended.get(pair, Fraction(0)) + prob * p
                    else:
                        following[t, *new] = following.get((t, *new), Fraction(0)) + prob * p
            present = following
        return ended, paid

    def returns(self, policy: CompressedPolicy, i: int) -> Exactly:
        """What one rollout comes to by itself, where the policy has in hand what it began with.

        -inf where the rollout is given up.
        """
        ended, paid = self.rollout(policy, i, -math.inf, policy.best_so_far)
        return Exactly(_true(ended), Fraction(1), paid)

    def histories(self, policy: HistoryPolicy) -> Exactly:
        """What a policy comes to that remembers everything: a walk through the tree of histories."""
        law: dict[Number, Fraction] = {}
        tries = rows = Fraction(0)
        waiting: list[tuple[Fraction, History]] = []

        def between(prob: Fraction, past: tuple[tuple[Seen, ...], ...]) -> None:
            """Stop, or begin another rollout."""
            nonlocal tries
            best = History(past, (), None, policy.best_so_far).best
            if len(past) == policy.k or policy.stops(rollout=len(past), best=best):
                law[best] = law.get(best, Fraction(0)) + prob
                return
            tries += prob
            for q, s in self._mdp.exact_start():
                waiting.append((prob * q, History(past, (), s, policy.best_so_far)))

        between(Fraction(1), ())
        while waiting:
            prob, seen = waiting.pop()
            action = policy.choose(seen)
            if action == ABANDON:
                between(prob, (*seen.past, (*seen.present, Seen(seen.state, action, Fraction(0)))))
                continue
            rows += prob * self._cost(seen.step, seen.state, action)
            for p, t, r in self._outcomes(seen.step, seen.state, action):
                present = (*seen.present, Seen(seen.state, action, r))
                if t is not None and len(present) < self._mdp.horizon:
                    waiting.append((prob * p, History(seen.past, present, t, policy.best_so_far)))
                else:
                    between(prob * p, (*seen.past, present))
        return Exactly(_in_hand(law), tries, rows)

    def _cost(self, h: int, s: int, action: int) -> Fraction:
        return self._mdp.exact_action_cost_of(h, s, action) if self._mdp.has_costs else Fraction(0)

    def _outcomes(self, h: int, s: int, action: int) -> list[ExactOutcome]:
        stopping.check()
        outcomes = self._mdp.exact_outcomes(h, s, action)
        self._left -= len(outcomes)
        if self._left < 0:
            raise TooManyError
        return outcomes
