"""Which atoms of a law are followed, and what those that are not may still come to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxatk.base.types import Floats, Ints
from maxatk.laws.law import Law, law_of
from maxatk.problem.mdp import MDP

ROUNDING = 2.0**-53


class TooManyAtomsError(Exception):
    """There are more atoms than may be followed, and another way to go on."""


@dataclass
class CostTally:
    """What is spent on average: tries, and what rows cost; counted, and what atoms that were dropped may add to it."""

    tries: float = 0.0
    rows: float = 0.0
    more_tries: float = 0.0
    more_rows: float = 0.0
    sums: int = 0  # how many numbers were added up, at most: each rounds

    def add(self, prob: Floats, cost: Floats | None = None) -> None:
        """Atoms with these probabilities [n] take rows of these costs [n], or, without ``cost``, begin a rollout."""
        if cost is None:
            self.tries += float(prob.sum())
        else:
            self.rows += float((prob * cost).sum())
        self.sums += len(prob) + 2

    def times(self, n: float) -> "CostTally":
        """So many times that tally, or a share of it."""
        return CostTally(n * self.tries, n * self.rows, n * self.more_tries, n * self.more_rows, self.sums)

    @classmethod
    def total(cls, tallies: "Sequence[CostTally]") -> "CostTally":
        """The sum of several."""
        columns = zip(*(tally.amounts for tally in tallies), strict=True)
        tries, rows, more_tries, more_rows = (sum(column) for column in columns)
        return cls(tries, rows, more_tries, more_rows, max(tally.sums for tally in tallies) + len(tallies))

    @property
    def amounts(self) -> tuple[float, float, float, float]:
        """All but the number of sums."""
        return self.tries, self.rows, self.more_tries, self.more_rows


class AtomPruner:
    """Keeps the atoms that matter most, and charges the others at the least and the greatest that they could become.

    Args:
        mdp: the problem.
        tol: how much of the width of the interval around the value each step may cost.
        max_atoms: how many atoms are kept.
        most: what no best return exceeds, but for an incumbent; the ends of bins may lie beyond any.
        try_weight: what each rollout costs, or counts as where the number of rollouts is asked for.
    """

    def __init__(self, mdp: MDP, tol: float, max_atoms: int, most: float = math.inf, try_weight: float = 0.0) -> None:
        self._mdp, self._tol, self.max_atoms, self._most, self._try_weight = mdp, tol, max_atoms, most, try_weight
        self.refuses = False  # whether too many atoms are an error, because there is another way to go on
        self.left_out = False  # whether atoms were dropped that matter
        self._dropped: list[tuple[Floats, Floats, Floats]] = []  # (least, greatest, prob) of the final best
        self.tally = CostTally()

    def keep(
        self, h: int, state: Ints, best: tuple[Floats, Floats], so_far: Floats, prob: Floats, later: int
    ) -> Ints | None:
        """Which atoms [n] to keep at step ``h``, None for all.

        ``best`` are floats around the best return; ``later`` says how many rollouts follow.
        """
        least, most = self._mdp.return_range
        # The float of a return may be off by half a unit in its last place, its sum with another number by more.
        fewer, more = self._mdp.analysis.least[h, state], self._mdp.analysis.most[h, state]
        low = np.maximum(best[0], so_far + fewer - 2 * ROUNDING * (np.abs(so_far) + np.abs(fewer)))
        reach = so_far + more + 2 * ROUNDING * (np.abs(so_far) + np.abs(more))
        high = np.maximum(best[1], np.minimum(reach, self._most))
        if later:
            low, high = np.maximum(low, least), np.maximum(high, most)
        owed = self._owed(h, state, later)
        spread = high - low if owed is None else high - low + owed + later * self._try_weight
        cost = prob * spread
        # Whatever costs less than an equal share of the tolerance goes.
        going = cost <= self._tol / max(len(prob), 1)
        if len(prob) - np.count_nonzero(going) > self.max_atoms:
            if self.refuses:
                raise TooManyAtomsError
            going[np.argpartition(cost, len(cost) - self.max_atoms)[: len(cost) - self.max_atoms]] = True
        if not going.any():
            return None
        self.left_out |= bool(cost[going].any())
        self._dropped.append((low[going], high[going], prob[going]))
        self.tally.more_tries += later * float(prob[going].sum())
        if owed is not None:
            self.tally.more_rows += float((prob * owed)[going].sum())
        return np.flatnonzero(~going)

    def _owed(self, h: int, state: Ints, later: int) -> Floats | None:
        """What rows may still cost at most from each state [n] on; None where nothing costs anything."""
        if not self._mdp.has_costs and not self._try_weight:
            return None
        costs = self._mdp.analysis.greatest_costs
        return costs[h, state] + later * float(costs[0, self._mdp.start_state].max())

    @property
    def open_chance(self) -> float:
        """The probability of what was dropped before its final best was known to within the tolerance."""
        return sum(float(prob[greatest - least > self._tol].sum()) for least, greatest, prob in self._dropped)

    def law(self, values: Floats, prob: Floats, side: int) -> Law:
        """The law of atoms that were kept to the end [n], with the others at their least (0) or greatest (1)."""
        return law_of(
            np.concatenate([values, *(dropped[side] for dropped in self._dropped)]),
            np.concatenate([prob, *(dropped[2] for dropped in self._dropped)]),
        )
