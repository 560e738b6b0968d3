"""A sequence as a ladder: how far up a task should go at a price, what that will cost, and what was learned on the way.

A ladder is all attempts that a plan has in order, those beyond its end included. A task that stands before attempt
``j`` should go on if some further stretch of it gains more than it costs:

    index_j = max over L > j of  sum_(j <= i < L) gain_i / sum_(j <= i < L) cost_i,

where both sums count the chance to get to each attempt. Going on while ``index_j`` exceeds the price is the best way to
cut the ladder, for every price at once; which is what makes one price for many tasks possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxatk.base.types import Floats

if TYPE_CHECKING:
    from maxatk.attempts.sequences.plans import Step


class Ladder:
    """The attempts of a plan, for decisions at any price.

    Args:
        steps: all of them, in order.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)  # all attempts in order
        reached = np.array([step.reached for step in steps])
        self._gain: Floats = reached * np.array([step.gain for step in steps])  # [L] over all tasks
        self._cost: Floats = reached * np.array([step.cost for step in steps])
        self._reached = reached
        self.index: Floats = np.array([self._best_stretch(j) for j in range(len(steps))])  # [L] see above

    def _best_stretch(self, start: int) -> float:
        gain, cost = np.cumsum(self._gain[start:]), np.cumsum(self._cost[start:])
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(cost > 0, gain / cost, np.where(gain > 0, math.inf, 0.0))
        return float(rates.max())

    def cut(self, price: float, start: int = 0) -> int:
        """Where a task that stands at ``start`` should give up at this ``price``."""
        length = start
        while length < len(self.steps) and self.index[length] > price:
            length += 1
        return length

    def cost(self, start: int, stop: int) -> float:
        """What a task that stands at ``start`` will cost on average, going to ``stop`` unless it is done before."""
        if stop <= start or self._reached[start] <= 0:
            return 0.0
        return float(self._cost[start:stop].sum() / self._reached[start])

    def shadow_price(self, waiting: Mapping[int, int], money: float) -> float:
        """The least price at which ``money`` is expected to do, for so many tasks ``waiting`` at each place."""
        for price in [0.0, *sorted(x for x in set(self.index.tolist()) if 0 < x < math.inf)]:
            if sum(n * self.cost(start, self.cut(price, start)) for start, n in waiting.items()) <= money:
                return price
        return math.inf


@dataclass(frozen=True)
class Climb:
    """What one task brought: the attempts that it made, in the order of the ladder, and how far it would have gone."""

    gains: tuple[float, ...]  # of each attempt, to the best score
    costs: tuple[float, ...]  # of each attempt
    allowed: int  # how many attempts it would have been given, had none reached the threshold


def learned(steps: Sequence[Step], tasks: int, climbs: Sequence[Climb]) -> tuple[Step, ...]:
    """The steps of a ladder, as the ``tasks`` that it was built from and some more have it together.

    A task tells something of an attempt if it would have made it: it did, or was done before. One that gave up earlier
    says nothing of it.
    """
    updated: list[Step] = []
    for i, step in enumerate(steps):
        told = [climb for climb in climbs if climb.allowed > i]
        made = [climb for climb in told if len(climb.gains) > i]
        before = tasks * step.reached
        here = before + len(made)
        if not told or here == 0:
            updated.append(step)
            continue
        updated.append(
            replace(
                step,
                reached=here / (tasks + len(told)),
                gain=(before * step.gain + math.fsum(climb.gains[i] for climb in made)) / here,
                cost=(before * step.cost + math.fsum(climb.costs[i] for climb in made)) / here,
            )
        )
    return tuple(updated)
