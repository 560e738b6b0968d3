"""Warnings about a log, for readers of its numbers."""

from collections.abc import Iterator

import numpy as np

from maxatk.attempts.logs.data import LogData
from maxatk.attempts.logs.judged import NO_TRUTH
from maxatk.base import checks

FEWEST_STOPPED = 5  # tasks with fewer attempts than others that end with a success: a smaller number may be chance


def notes(log: LogData) -> Iterator[str]:
    """One sentence per warning."""
    for number, arm in enumerate(log.arms):
        counts = log.counts[:, number]
        name = checks.shown(arm)
        if single := int((counts == 1).sum()):
            some = checks.shown(log.tasks[int(np.flatnonzero(counts == 1)[0])])
            which = f"task {some} has" if single == 1 else f"{single} tasks ({some}, ...) have"
            yield f"{which} a single attempt of arm {name}, which limits estimates to k = 1"
        if absent := int((counts == 0).sum()):
            yield f"{absent} task{' has' if absent == 1 else 's have'} no attempt of arm {name}"
        if _stopped_at_success(log, number):
            yield (
                f"attempts of arm {name} seem to have ended at the first success: then their number depends on their "
                "scores, and estimates for several attempts are biased"
            )
    unknown = [np.isnan(log.cost[log.arm == number]) for number in range(len(log.arms))]
    if some := [f"{x.sum()} of {len(x)} of {arm}" for x, arm in zip(unknown, log.arms, strict=True) if x.any()]:
        yield f"attempts without a cost: {', '.join(some)}"
    if log.cost_limits.in_units:
        yield "no costs are logged: every attempt counts as 1"
    if not log.judged.has_truth:
        yield f"no scores are logged: {NO_TRUTH}"


def _stopped_at_success(log: LogData, arm: int) -> bool:
    """Whether tasks with fewer attempts than others have one top score, the last."""
    counts, top = log.counts[:, arm], log.score[log.arm == arm].max()
    short = np.flatnonzero((counts > 0) & (counts < counts.max())).tolist()
    if len(short) < FEWEST_STOPPED or not log.judged.has_truth:
        return False
    reached = [log.score[log.starts[t, arm] :][: counts[t]] == top for t in short]
    return bool(np.mean([one[-1] and one.sum() == 1 for one in reached]) >= 0.9)
