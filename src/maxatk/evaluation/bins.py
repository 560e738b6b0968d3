"""Evaluation in bins, for policies whose memory is not the return itself: Markov policies, policies that round.

Given what such a policy remembers, what it does later does not depend on the true returns M and G so far. So the
expected best is a convex function of (M, G): the mean of the largest of M, G + R and others, whose law depends on
neither. And by Jensen's inequality

- atoms with the same memory may be merged into their mean: the value can only fall;
- an atom may be split between the two ends of its bin, its mean unchanged: the value can only rise.

Both errors are of second order in the width of the bins.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from maxatk.base.types import Floats, Number
from maxatk.evaluation.propagation import ROUNDING, Atoms, Bill, Laws, Sieve, Walk, neighbours
from maxatk.evaluation.tuning import TUNING
from maxatk.evaluation.units import Units
from maxatk.policies import CompressedPolicy
from maxatk.problem.mdp import MDP


class Binned(NamedTuple):
    """What bins say of a law."""

    laws: Laws  # whose expected bests bound the true one
    shift: float  # how far a value may be from where it belongs
    error: float  # relative, of probabilities
    drift: float  # of the expected best, from rounding in the values
    outcomes: int
    bill: Bill


def binned(
    mdp: MDP, policy: CompressedPolicy, i: int | None, units: Units, tol: float, max_atoms: int, try_weight: float = 0.0
) -> Binned:
    """The law of the best return, from about so many atoms at a time; with ``i``, of the return of that one rollout."""
    walks = [InBins(mdp, units, tol, max_atoms, try_weight, splits) for splits in (False, True)]
    bests = [walk.run(policy, i) for walk in walks]
    laws = [
        walk.sieve.law(best.value, best.prob, side) for side, (walk, best) in enumerate(zip(walks, bests, strict=True))
    ]
    return Binned(
        Laws(*laws),
        max(walk.shift for walk in walks),
        max(walk.error for walk in walks),
        max(walk.drift for walk in walks),
        sum(walk.outcomes for walk in walks),
        walks[0].sieve.bill,
    )


class InBins(Walk):
    """Carries atoms forward whose returns lie in bins: merged into their means, or split between the ends."""

    def __init__(self, mdp: MDP, units: Units, tol: float, max_atoms: int, try_weight: float, splits: bool) -> None:
        super().__init__(mdp, units, Sieve(mdp, tol, max_atoms, try_weight=try_weight), mdp.reward)
        least, most = mdp.return_range
        largest = float(np.abs(mdp.reward).max()) * mdp.horizon
        self._splits, self._low = splits, least
        self._width = max(most - least, 1e-9 * largest, 1e-300) / TUNING.most_bins
        self._widest = self._width * TUNING.most_bins / TUNING.least_bins
        self._largest = largest + abs(least)
        self.shift = 0.0
        self.drift = 0.0

    def first(self, best: Number) -> Atoms:
        """A best return that is known, or ``-inf``."""
        in_units = super().first(best)
        return replace(in_units, value=self.units.true.floats(in_units.value))

    def around(self, values: Floats) -> tuple[Floats, Floats]:
        """The values themselves: how far they may be off is :attr:`shift`."""
        return values, values

    def nearest(self, values: Floats) -> Floats:
        """The values themselves."""
        return values

    def run(self, policy: CompressedPolicy, i: int | None) -> Atoms:
        """The distribution of the best return after all rollouts, or of the return of one."""
        bests = self.first(policy.best_so_far) if i is None else self.alone(policy.best_so_far)
        for j in range(policy.k) if i is None else [i]:
            if not len(bests.prob):  # nothing is left to follow
                break
            bests = self.rollout(policy, j, bests, later=policy.k - 1 - j if i is None else 0)
        return bests

    def merged(self, atoms: Atoms) -> Atoms:
        """Atoms that agree in memory, in place and in the bin of their value, put together as this side allows."""
        if not len(atoms.prob):
            return atoms
        value, mass, columns = atoms.value, atoms.prob, (*atoms.place, atoms.memory)
        while True:
            position = (value - self._low) / self._width
            bins = np.floor(position).astype(np.int64)
            order, starts = neighbours((*columns, bins))
            if len(starts) <= self.sieve.max_atoms or self._width >= self._widest:
                break
            self._width *= 2  # any bins will do, at every step
        self.shift += self._width
        if self._splits:
            value = np.concatenate([value, value])
            share = position - bins
            columns = tuple(np.concatenate([column, column]) for column in columns)
            bins, mass = np.concatenate([bins, bins + 1]), np.concatenate([mass * (1 - share), mass * share])
            order, starts = neighbours((*columns, bins))
        error = (int(np.diff(starts, append=len(order)).max()) + 8) * ROUNDING
        self.error += error
        self.drift += error * self._largest
        total = np.add.reduceat(mass[order], starts)
        kept = total > 0
        first = order[starts][kept]
        *place, memory = (column[first] for column in columns)
        if self._splits:
            ends: Floats = (self._low + self._width * bins[first]).astype(np.float64)
            return Atoms(tuple(place), ends, memory, total[kept])
        means: Floats = (np.add.reduceat((mass * value)[order], starts)[kept] / total[kept]).astype(np.float64)
        return Atoms(tuple(place), means, memory, total[kept])
