"""Evaluation in bins, for policies whose memory is not the return itself: Markov policies, policies that round.

Given what such a policy remembers, what it does later does not depend on the true returns M and G so far. So the
expected best is a convex function of (M, G): the mean of the largest of M, G + R and others, whose law depends on
neither. And by Jensen's inequality

- atoms with the same memory may be merged into their mean: the value can only fall;
- an atom may be split between the two ends of its bin, its mean unchanged: the value can only rise.

Both errors are of second order in the width of the bins.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import stopping
from maxatk.base.returns import Amounts
from maxatk.base.types import Floats, Ints
from maxatk.evaluation.law import Law
from maxatk.evaluation.propagation import ROUNDING, Laws, Sieve, Units, first_best, neighbours, outcomes_of, rows_taken
from maxatk.policies import CompressedPolicy
from maxatk.problem.mdp import MDP

MOST_BINS, LEAST_BINS = 4096, 256


class Binned(NamedTuple):
    """What bins say of a law."""

    laws: Laws  # whose expected bests bound the true one
    shift: float  # how far a value may be from where it belongs
    error: float  # relative, of probabilities
    drift: float  # of the expected best, from rounding in the values
    outcomes: int


def binned(mdp: MDP, policy: CompressedPolicy, i: int | None, units: Units, tol: float, max_atoms: int) -> Binned:
    """The law of the best return, from about so many atoms at a time; with ``i``, of the return of that one rollout."""
    walks = [_Walk(mdp, units, Sieve(mdp, tol, max_atoms), splits) for splits in (False, True)]
    laws = Laws(*(walk.run(policy, i) for walk in walks))
    return Binned(
        laws,
        walks[0].shift,
        max(walk.error for walk in walks),
        max(walk.drift for walk in walks),
        sum(walk.outcomes for walk in walks),
    )


class _Walk:
    def __init__(self, mdp: MDP, units: Units, sieve: Sieve, splits: bool) -> None:
        least, most = mdp.return_range
        self.mdp, self.units, self._splits = mdp, units, splits
        self._reward = mdp.reward
        largest = float(np.abs(mdp.reward).max()) * mdp.horizon
        self._low = least
        self._width = max(most - least, 1e-9 * largest, 1e-300) / MOST_BINS
        self._widest = self._width * MOST_BINS / LEAST_BINS
        self._sieve = sieve
        self._largest = largest + abs(least)
        self._most_outcomes = int(np.diff(mdp.outcome_start).max())
        self.shift = 0.0
        self.error = (len(mdp.start_prob) + 4) * ROUNDING
        self.drift = 0.0
        self.outcomes = 0

    def run(self, policy: CompressedPolicy, i: int | None) -> Law:
        first = first_best(self.units, -math.inf if i is not None else policy.best_so_far)
        best, memory, prob = self.units.true.floats(first.true), first.remembered, first.prob
        for j in range(policy.k) if i is None else [i]:
            if not len(prob):  # nothing is left to follow
                break
            later = i is None and j + 1 < policy.k
            best, memory, prob = self._rollout(policy, j, best, memory, prob, later)
        return self._sieve.law(best, prob, side=int(self._splits))

    def _rollout(self, policy: CompressedPolicy, i: int, best: Floats, memory: Ints, prob: Floats, later: bool) -> Any:
        mdp, units = self.mdp, self.units
        rule = policy.rule(i, Amounts(memory, units.memory))
        n, starts = len(prob), len(mdp.start_state)
        tag = np.repeat(np.arange(n), starts)
        state = np.tile(mdp.start_state.astype(np.int64), n)
        so_far, remembered = np.zeros(n * starts), np.zeros(n * starts, np.int64)
        mass: Floats = (prob[:, None] * mdp.reset_prob).ravel()
        ended = [(tag[:0], so_far[:0], remembered[:0], mass[:0])]
        for h in range(mdp.horizon):
            stopping.check()
            kept = self._sieve.keep(h, state, (best[tag], best[tag]), so_far, mass, later)
            if kept is not None:
                tag, state, remembered = tag[kept], state[kept], remembered[kept]
                so_far, mass = so_far[kept], mass[kept]
            if not len(mass):
                break
            action = rule(h, tag, state, Amounts(remembered, units.memory))
            atom, o = outcomes_of(mdp, rows_taken(mdp, i, h, state, action))
            self.outcomes += len(o)
            self.error += (self._most_outcomes + 4) * ROUNDING
            tag, state, mass = tag[atom], mdp.next_state[o].astype(np.int64), mass[atom] * mdp.row_prob[o]
            so_far, remembered = so_far[atom] + self._reward[o], remembered[atom] + units.remembered[o]
            over = (state == mdp.n_states) | (h + 1 == mdp.horizon)
            ended.append((tag[over], so_far[over], remembered[over], mass[over]))
            going = ~over
            (tag, state, remembered), so_far, mass = self._together(
                (tag[going], state[going], remembered[going]), so_far[going], mass[going]
            )
        tag, so_far, remembered, mass = (np.concatenate(column) for column in zip(*ended, strict=True))
        best, memory = np.maximum(best[tag], so_far), np.maximum(memory[tag], remembered)
        (memory,), best, mass = self._together((memory,), best, mass)
        return best, memory, mass

    def _together(self, columns: tuple[Ints, ...], value: Floats, mass: Floats) -> tuple[Any, Floats, Floats]:
        """Atoms that agree in all columns and in the bin of their value, put together as this side allows."""
        if not len(mass):
            return columns, value, mass
        while True:
            place = (value - self._low) / self._width
            bins = np.floor(place).astype(np.int64)
            order, starts = neighbours((*columns, bins))
            if len(starts) <= self._sieve.max_atoms or self._width >= self._widest:
                break
            self._width *= 2  # any bins will do, at every step
        self.shift += self._width
        if self._splits:
            value = np.concatenate([value, value])
            share = place - bins
            columns = tuple(np.concatenate([column, column]) for column in columns)
            bins, mass = np.concatenate([bins, bins + 1]), np.concatenate([mass * (1 - share), mass * share])
            order, starts = neighbours((*columns, bins))
        merged = (int(np.diff(starts, append=len(order)).max()) + 8) * ROUNDING
        self.error += merged
        self.drift += merged * self._largest
        total = np.add.reduceat(mass[order], starts)
        kept = total > 0
        first = order[starts][kept]
        ends: Floats = (self._low + self._width * bins[first]).astype(np.float64)
        means: Floats = (np.add.reduceat((mass * value)[order], starts)[kept] / total[kept]).astype(np.float64)
        return tuple(column[first] for column in columns), ends if self._splits else means, total[kept]
