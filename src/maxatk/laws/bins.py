"""Laws in bins, for policies whose memory is not the return itself: Markov policies, policies that round.

Given what such a policy remembers, what it does later does not depend on the true returns M and G so far. So the
expected best is a convex function of (M, G): the mean of the largest of M, G + R and others, whose law depends on
neither. And by Jensen's inequality

- atoms with the same memory may be merged into their mean: the value can only fall;
- an atom may be split between the two ends of its bin, its mean unchanged: the value can only rise.

Both errors are of second order in the width of the bins. Where atoms are few, only equal ones are merged.
"""

import math
import sys
from dataclasses import replace

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.types import Floats, Ints, Ints32, Number
from maxatk.laws.forward import Atoms, Walk, count_outcomes, neighbours
from maxatk.laws.pruning import ROUNDING, AtomPruner
from maxatk.laws.tuning import TUNING
from maxatk.laws.units import NO_UNITS, Units
from maxatk.problem.mdp import MDP


class InBins(Walk):
    """Carries atoms forward whose returns lie in bins: merged into their means, or split between the ends.

    Args:
        mdp: the problem.
        units: what the policy remembers.
        pruner: which atoms to follow.
        splits: whether to split atoms, so that the value can only rise.
        bins: how many there are between the least and the greatest return that are carried; by default they have a
            width of their own, which doubles where atoms are too many.
    """

    def __init__(self, mdp: MDP, units: Units, pruner: AtomPruner, splits: bool, bins: int | None = None) -> None:
        super().__init__(mdp, units, pruner, mdp.reward)
        self._splits, self._bins = splits, bins
        least, most = mdp.return_range
        self._rewards = float(mdp.reward.min()), float(mdp.reward.max())
        largest = max(map(abs, self._rewards)) * mdp.horizon
        self._low, self._largest = least, largest + abs(least)
        self._width = max(most - least, 1e-9 * largest, 1e-300) / TUNING.most_bins
        self._widest = self._width * TUNING.most_bins / TUNING.least_bins
        self.shift = 0.0
        self.drift = 0.0

    def first(self, best: Number) -> Atoms:
        """A best return that is known, or ``-inf``."""
        in_units = super().first(best)
        self.shift += 0.0 if best == -math.inf else 2 * ROUNDING * abs(float(best))
        return replace(in_units, value=self.units.true.floats(in_units.value))

    def around(self, values: Floats) -> tuple[Floats, Floats]:
        """The values themselves: how far they may be off is :attr:`shift`."""
        return values, values

    def nearest(self, values: Floats) -> Floats:
        """The values themselves."""
        return values

    def followed(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms]:
        """The same by a table of bins and states, where all rollouts began alike and nothing else is remembered."""
        mdp, S = self.mdp, self.mdp.n_states
        outcomes = count_outcomes(mdp, rows)
        alike = atoms.memory is None and all(column[0] == column[-1] for column in atoms.place[:-1])
        if outcomes <= TUNING.few_atoms or not alike:
            return super().followed(h, atoms, rows)
        low, high = float(atoms.value.min()) + self._rewards[0], float(atoms.value.max()) + self._rewards[1]
        while True:
            first, width, bins = self._grid(low, high)
            if bins * (S + 1) > TUNING.table_cells * outcomes:
                return super().followed(h, atoms, rows)
            mass, moment, count = stopping.run(
                *(kernels.bin_outcomes, mdp.outcome_start, mdp.row_prob, mdp.next_state, mdp.reward),
                *(rows, atoms.value, atoms.prob, first, 1 / width, bins, S, self._splits),
            )
            kept = np.flatnonzero(mass)
            if len(kept) <= self.pruner.max_atoms or not self._coarser():
                break
        self.outcomes += outcomes
        self.error += self._step_error
        self._count_errors(int(count.max()), width)
        mass, state = mass[kept], kept % (S + 1)
        value = first + width * (kept // (S + 1)) if self._splits else moment[kept] / mass
        place = *(np.repeat(column[:1], len(kept)) for column in atoms.place[:-1]), state
        there, over = Atoms(place, value, None, mass), (state == S) | (h + 1 == mdp.horizon)
        return there.at(over), there.at(~over)

    def merged(self, atoms: Atoms) -> Atoms:
        """Atoms that agree in memory, in place and in the bin of their value, put together as this side allows."""
        value, mass = atoms.value, atoms.prob
        if len(mass) <= TUNING.few_atoms:
            rounding = 2 * ROUNDING * self._largest  # of adding a reward
            self.drift += rounding
            self.shift += rounding
            return super().merged(atoms)
        low, high = float(value.min()), float(value.max())
        while True:
            origin, width, most = self._grid(low, high)
            position = (value - origin) / width
            bins = np.minimum(position.astype(np.int64), most - 1)
            order, starts = neighbours((*atoms.place, *(() if atoms.memory is None else (atoms.memory,)), bins))
            if len(starts) <= self.pruner.max_atoms or not self._coarser():
                break
        self._count_errors(int(np.diff(starts, append=len(order)).max()), width)
        if self._splits:
            share = position - bins
            ends = [(origin + width * bins, mass * (1 - share)), (origin + width * (bins + 1), mass * share)]
            both = super().merged(Atoms.together([replace(atoms, value=value, prob=prob) for value, prob in ends]))
            return both.at(both.prob > 0)
        total, moment = np.add.reduceat(mass[order], starts), np.add.reduceat((mass * value)[order], starts)
        kept = total > 0
        return replace(atoms.at(order[starts][kept]), value=moment[kept] / total[kept], prob=total[kept])

    def _grid(self, low: float, high: float) -> tuple[float, float, int]:
        """Where bins begin, their width and their number, for returns between two numbers."""
        if self._bins is not None:
            return low, max(high - low, 1e-300) / self._bins, self._bins
        first = math.floor((low - self._low) / self._width)
        return self._low + self._width * first, self._width, math.floor((high - self._low) / self._width) - first + 1

    def _coarser(self) -> bool:
        """Wider bins, if there may be: any will do, at every step."""
        if self._width >= self._widest:
            return False
        self._width *= 2
        return True

    def _count_errors(self, merged: int, width: float) -> None:
        """Count what merging so many atoms into one, in a bin of this width, does to probabilities and values."""
        error = (merged + 8) * ROUNDING
        self.error += error
        self.drift += error * self._largest
        self.shift += width + 2 * ROUNDING * self._largest


def merged_returns(mdp: MDP, rows: Ints | Ints32, bins: int) -> tuple[Floats, Floats, float, float]:
    """At most the law of the return of one rollout that takes ``rows`` [H, S].

    Values [n] rising; their probabilities [n]; the relative error of these, and the error of values. Returns that lie
    close together may be merged into their mean, so that the expectation of a convex function can only fall.
    """
    walk = InBins(mdp, NO_UNITS, AtomPruner(mdp, 0.0, sys.maxsize), splits=False, bins=bins)
    atoms = Atoms((mdp.start_state.astype(np.int64),), np.zeros(len(mdp.start_state)), None, mdp.reset_prob)
    ended: list[Atoms] = []
    for h in range(mdp.horizon):
        stopping.check()
        over, atoms = walk.followed(h, atoms, rows[h, atoms.place[0]].astype(np.int64))
        ended.append(over)
        if not len(atoms.prob):
            break
    last = Atoms.together(ended)
    order = np.argsort(last.value, kind="stable")
    return last.value[order], last.prob[order], walk.error, walk.drift
