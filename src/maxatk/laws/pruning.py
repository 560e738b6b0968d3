"""Which atoms of a law are followed, and what those that are not may still come to."""

import math
from collections.abc import Sequence

import numpy as np

from maxatk.base.types import Floats, Ints
from maxatk.laws.law import Law, law_of
from maxatk.problem.mdp import MDP

ROUNDING = 2.0**-53


class TooManyAtomsError(Exception):
    """There are more atoms than may be followed, and another way to go on."""


class CostTally:
    """What is spent on average: tries, and what rows cost; counted, and what atoms that were dropped may add to it."""

    def __init__(self, amounts: Floats | None = None, sums: int = 0) -> None:
        self.amounts = np.zeros(4) if amounts is None else amounts  # tries, rows; more tries, more rows
        self.sums = sums  # how many numbers were added up, at most: each rounds

    def add(self, prob: Floats, cost: Floats | None = None) -> None:
        """Atoms with these probabilities [n] take rows of these costs [n], or, without ``cost``, begin a rollout."""
        self.amounts[0 if cost is None else 1] += (prob if cost is None else prob * cost).sum()
        self.sums += len(prob) + 2

    def drop(self, prob: Floats, later: int, owed: Floats | None) -> None:
        """Atoms [n] are dropped that may still make so many rollouts, and take rows that cost up to ``owed`` [n]."""
        self.amounts[2] += later * prob.sum()
        self.amounts[3] += 0.0 if owed is None else (prob * owed).sum()

    @classmethod
    def total(cls, parts: "Sequence[tuple[CostTally, float]]") -> "CostTally":
        """The sum of several, each so many times."""
        amounts = np.sum([times * tally.amounts for tally, times in parts], axis=0)
        return cls(amounts, max(tally.sums for tally, _ in parts) + len(parts))


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
        self.tally.drop(prob[going], later, None if owed is None else owed[going])
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
