"""How well a judge orders attempts: the chance that it prefers the truly better one of two, within tasks and pooled.

Picking among the attempts of a task uses only the order within that task. Pooled over tasks, a judge is also rewarded
for knowing which tasks are easy, which picks nothing.
"""

from dataclasses import dataclass

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.intervals import Estimate
from maxatk.base.types import Floats, Ints


@dataclass(frozen=True)
class Ranking:
    """The chance that a judge prefers the truly better one of two attempts, ties counted half (AUC)."""

    within: Estimate | None  # of two attempts at one task, averaged over tasks with such a pair; None if there is none
    pooled: float | None  # of two attempts at any tasks: the trap, since a pick is made among attempts at one task
    mixed: int  # the number of tasks with attempts of different truth
    below_half: int  # how many of these the judge orders worse than chance


def ranking(task: Ints, truth: Floats, judge: Floats, level: float) -> Ranking:
    """The ranking of attempts by their task, truth and judge's score [N]."""
    right, pairs = concordant(task, truth, judge)
    mixed = pairs > 0
    of_all = concordant(np.zeros_like(task), truth, judge)
    if not mixed.any():
        return Ranking(None, float(of_all[0][0] / of_all[1][0]) if of_all[1][0] else None, 0, 0)
    shares = right[mixed] / pairs[mixed]
    within = intervals.mean(shares, (0.0, 1.0), level)
    return Ranking(within, float(of_all[0][0] / of_all[1][0]), int(mixed.sum()), int((shares < 0.5).sum()))


def concordant(task: Ints, truth: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """By task [T]: the pairs of attempts that the judge orders rightly, ties counted half, and all with a better one.

    Truths are ranked. Two ranks differ first in some bit: so for each bit the attempts whose higher bits agree are a
    group, and those with the bit are compared with those without it, by sorting. That takes ``O(N log^2 N)``.
    """
    _, rank = np.unique(truth, return_inverse=True)
    right, pairs = np.zeros(int(task.max()) + 1), np.zeros(int(task.max()) + 1)
    for bit in range(int(rank.max()).bit_length()):
        order = np.lexsort((judge, rank >> (bit + 1), task))
        is_better = (rank[order] >> bit & 1).astype(bool)
        in_task, high, score = task[order], rank[order] >> (bit + 1), judge[order]
        new_group = np.ones(len(order), bool)
        new_group[1:] = (np.diff(in_task) != 0) | (np.diff(high) != 0)
        new_level = new_group.copy()
        new_level[1:] |= np.diff(score) != 0
        worse = np.append(0, np.cumsum(~is_better))  # before each place
        group, level = np.cumsum(new_group) - 1, np.cumsum(new_level) - 1
        group_start, level_start = worse[:-1][new_group], worse[:-1][new_level]
        level_end, group_end = np.append(level_start[1:], worse[-1]), np.append(group_start[1:], worse[-1])
        below = (level_start[level] + level_end[level]) / 2 - group_start[group]
        of_group = (group_end - group_start)[group]
        size = len(right)
        right += np.bincount(in_task[is_better], below[is_better], minlength=size)
        pairs += np.bincount(in_task[is_better], of_group[is_better], minlength=size)
    return right, pairs
