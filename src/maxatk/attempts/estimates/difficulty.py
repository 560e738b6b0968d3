"""The difficulty that attempts at one task share, and by how much a table counted from a log overestimates.

Attempts at one task are correlated, because they share its difficulty. Pooled over all tasks they look independent: the
expected best of k of the pooled distribution is at least the mean over tasks of the expected best of k, since the
expected best of k is concave in the distribution of a score. So a table counted from a log always overestimates
(docs/theory/attempts.md).
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxatk.attempts.estimates.curves import per_task
from maxatk.attempts.logs.data import LogData
from maxatk.attempts.warnings import warn
from maxatk.base.display import Displayed

MUCH = 0.05  # of the variance between tasks: a smaller share is negligible, and may be chance


@dataclass(frozen=True)
class Difficulty(Displayed):
    """How much the attempts of an arm at one task have in common."""

    arm: str  # the arm
    between: float  # the share of the variance that lies between tasks: 0 if all tasks are alike, 1 if all attempts are
    k: int  # the number of attempts that every task has
    pooled: float  # the expected best of k attempts at random tasks: what a table counted from the log would promise
    measured: float  # the expected best of k attempts at one task


def difficulty(log: LogData, arm: str | None = None) -> list[Difficulty]:
    """How much attempts at one task have in common, by arm.

    Args:
        log: the log.
        arm: the arm; all arms by default.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "score": float(t % 2)} for t in range(10) for _ in range(4)]   # half of the tasks are easy
    >>> share, = at.difficulty(at.Log.from_records(rows))
    >>> share.between, share.measured, round(share.pooled, 3)
    (1.0, 0.5, 0.938)
    """
    log.require_truth()
    arms = range(len(log.arms)) if arm is None else [log.arm_number(arm)]
    shares: list[Difficulty] = []
    for number in arms:
        scores = np.sort(log.score[log.arm == number])
        counts = log.counts[log.counts[:, number] > 0, number]
        k = int(counts.min())
        values = per_task(log, number, [k], lambda x: x)[:, 0]
        shares.append(
            Difficulty(
                arm=log.arms[number],
                between=_between(log, number),
                k=k,
                pooled=float(np.diff(np.linspace(0, 1, len(scores) + 1) ** k) @ scores),
                measured=float(np.nanmean(values)),
            )
        )
    return shares


def _between(log: LogData, arm: int) -> float:
    """The share of the variance that lies between tasks (the intraclass correlation, by analysis of variance)."""
    rows = log.arm == arm
    task, score = log.task[rows], log.score[rows]
    counts = np.bincount(task, minlength=len(log.tasks))
    tasks, n = int((counts > 0).sum()), len(score)
    if tasks < 2 or n == tasks:
        return 0.0
    means = np.bincount(task, score, minlength=len(log.tasks)) / np.maximum(counts, 1)
    within = float(((score - means[task]) ** 2).sum()) / (n - tasks)
    among = float((counts * (means - score.mean()) ** 2).sum()) / (tasks - 1)
    usual = (n - float((counts.astype(float) ** 2).sum()) / n) / (tasks - 1)  # attempts per task
    variance = max((among - within) / usual, 0.0)
    return variance / (variance + within) if variance + within > 0 else 0.0


def pooled_scores(log: LogData) -> dict[str, list[tuple[Fraction, float]]]:
    """See :meth:`maxatk.attempts.Log.pooled_scores`."""
    for share in difficulty(log):
        if share.between > MUCH and share.k > 1:
            warn(f"{share}: attempts at one task share its difficulty, which this table ignores")
    scores = {arm: log.score[log.arm == number] for number, arm in enumerate(log.arms)}
    return {
        arm: [(Fraction(n, len(some)), score) for score, n in sorted(Counter[float](some.tolist()).items())]
        for arm, some in scores.items()
    }
