"""The attempts of a plan as a schedule: how far a task should go at a price, the expected cost, updates from new tasks.

A schedule is all attempts of a plan in order, including those beyond its end. A task that has made ``j`` attempts
should go on if some further stretch of the schedule gains more than it costs:

    index_j = max over L > j of  sum_(j <= i < L) gain_i / sum_(j <= i < L) cost_i,

where both sums include the probability of getting to each attempt. Going on while ``index_j`` exceeds the price is the
optimal cut of the schedule, for every price at once. Many tasks can therefore share one price.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxatk.attempts.sequences.plan import Step
from maxatk.base.types import Floats


class Schedule:
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
        """The attempt before which a task that stands at ``start`` should give up at this ``price``."""
        length = start
        while length < len(self.steps) and self.index[length] > price:
            length += 1
        return length

    def cost(self, start: int, stop: int) -> float:
        """The expected cost of a task from ``start`` up to ``stop``; it may reach the threshold earlier."""
        if stop <= start or self._reached[start] <= 0:
            return 0.0
        return float(self._cost[start:stop].sum() / self._reached[start])

    def gain(self, stop: int) -> float:
        """The expected gain of a task over no attempt, up to ``stop``."""
        return math.fsum(self._gain[:stop].tolist())

    def shadow_price(self, waiting: Mapping[int, int], money: float) -> float:
        """The lowest price at which ``money`` covers the expected cost; ``waiting`` counts the tasks by position."""
        for price in [0.0, *sorted(x for x in set(self.index.tolist()) if 0 < x < math.inf)]:
            if sum(n * self.cost(start, self.cut(price, start)) for start, n in waiting.items()) <= money:
                return price
        return math.inf


@dataclass(frozen=True)
class TaskTrace:
    """The attempts that one task made, in the order of the schedule, and how far it would have gone."""

    gains: tuple[float, ...]  # of each attempt, to the best score
    costs: tuple[float, ...]  # of each attempt
    allowed: int  # the number of attempts it would have been given if none had reached the threshold


def learned(steps: Sequence[Step], tasks: int, traces: Sequence[TaskTrace]) -> tuple[Step, ...]:
    """The steps of a schedule, re-estimated from the ``tasks`` that it was built from and from ``traces`` together.

    A task is evidence on an attempt if it would have made that attempt: it did, or it reached the threshold before. A
    task that gave up earlier is no evidence on it.
    """
    updated: list[Step] = []
    for i, step in enumerate(steps):
        told = [trace for trace in traces if trace.allowed > i]
        made = [trace for trace in told if len(trace.gains) > i]
        before = tasks * step.reached
        here = before + len(made)
        if not told or here == 0:
            updated.append(step)
            continue
        updated.append(
            replace(
                step,
                reached=here / (tasks + len(told)),
                gain=(before * step.gain + math.fsum(trace.gains[i] for trace in made)) / here,
                cost=(before * step.cost + math.fsum(trace.costs[i] for trace in made)) / here,
            )
        )
    return tuple(updated)
