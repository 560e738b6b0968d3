"""pass@k, max@k and pass^k of a log by arm, each with an interval over tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.attempts.estimates import extrapolation, intervals
from maxatk.attempts.estimates.estimators import best_of, numbers_of_attempts
from maxatk.attempts.estimates.extrapolation import PassRange
from maxatk.attempts.estimates.intervals import Estimate, checked_level, wants_proof
from maxatk.attempts.logs.data import LogData
from maxatk.base import checks, display
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.text import count_of
from maxatk.base.types import Floats


@dataclass(frozen=True)
class Point(Estimate):
    """One row of a :class:`Curve`: an estimate for ``k`` attempts of an arm."""

    arm: str  # the arm
    k: int  # the number of attempts


class Curve(Displayed, Tabular, Sequence[Point]):
    """Estimates by number of attempts: rows of :class:`Point`, by arm and ``k``.

    Its fields are those of its rows: a single value if one ``k`` of one arm was asked for, else a list.

    Args:
        name: what is estimated, such as "max@k".
        points: the rows.
        single: whether one ``k`` of one arm was asked for.
    """

    def __init__(self, name: str, points: Sequence[Point], single: bool) -> None:
        self.name = name  # what is estimated
        self.points = tuple(points)  # the rows
        self._single = single

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any) -> Any:
        points: Any = self.points
        return points[index]

    def columns(self) -> dict[str, list[Any]]:
        """The rows by column: arm, k, value, lower and upper."""
        return {name: [getattr(one, name) for one in self.points] for name in ("arm", "k", "value", "lower", "upper")}

    @staticmethod
    def joined(curves: Sequence[Curve]) -> dict[str, list[Any]]:
        """The rows of several curves by column, each with the name of what it estimates."""
        each = [curve.columns() for curve in curves]
        names = [curve.name for curve in curves for _ in curve]
        return {"estimate": names, **{name: [x for one in each for x in one[name]] for name in each[0]}}

    def _field(self, name: str) -> Any:
        values = [getattr(point, name) for point in self.points]
        return values[0] if self._single else values

    @property
    def k(self) -> Any:
        """The number of attempts."""
        return self._field("k")

    @property
    def arm(self) -> Any:
        """The arm."""
        return self._field("arm")

    @property
    def value(self) -> Any:
        """The estimate."""
        return self._field("value")

    @property
    def lower(self) -> Any:
        """The lower end of its interval."""
        return self._field("lower")

    @property
    def upper(self) -> Any:
        """The upper end of its interval."""
        return self._field("upper")

    @property
    def tasks(self) -> Any:
        """The number of tasks in the mean."""
        return self._field("tasks")

    def table(self) -> display.Table:
        """The rows as a table for the terminal; with several arms, one line per arm."""
        return display.table(self)

    def __repr__(self) -> str:
        return f"Curve({self.name}, {len(self)} row{'' if len(self) == 1 else 's'})"


def curve(
    log: LogData, name: str, k: Any, arm: str | None, level: float, interval: str, pass_threshold: float | None = None
) -> Curve:
    """The estimates ``name``, "max@k", "pass@k" or "pass^k", for every ``k``: see :class:`Log`."""
    ks, level = numbers_of_attempts(k), checked_level(level)
    lowest, span = threshold(log, pass_threshold), log.score_range if name == "max@k" else (0.0, 1.0)

    def transform(x: Floats) -> Floats:
        # All pass unless one fails: pass^k is 1 less max@k of the indicator of failure.
        return x if name == "max@k" else (x >= lowest if name == "pass@k" else x < lowest).astype(float)

    points: list[Point] = []
    for number in range(len(log.arms)) if arm is None else [log.arm_number(arm)]:
        bests = per_task(log, number, ks, transform)
        values = (1 - bests if name == "pass^k" else bests)[log.counts[:, number] > 0]
        for place, one in enumerate(ks):
            estimate = intervals.mean(values[:, place], span, level, use_betting=wants_proof(interval, span))
            points.append(Point(**vars(estimate), arm=log.arms[number], k=one))
    return Curve(name, points, single=len(points) == 1 and not checks.is_list(k))


def pass_range(log: LogData, k: int, pass_threshold: float | None, arm: str | None, level: float) -> PassRange:
    """See :meth:`Log.pass_range`."""
    log.require_truth()
    number, lowest = log.arm_number(arm), threshold(log, pass_threshold)
    k = checks.integer(k, "k", least=1)
    tried = np.flatnonzero(log.counts[:, number] > 0)
    n = int(log.counts[tried, number].min())
    if k <= n:
        raise InputError(
            f"k = {k} is not more than the {n} attempts of every task: pass_at_k estimates it without bias"
        )
    n = min(n, extrapolation.MOST_ATTEMPTS)
    first = log.score[log.starts[tried, number][:, None] + np.arange(n)]  # the first n, of tasks with more attempts
    return extrapolation.pass_range((first >= lowest).sum(axis=1), n, k, checked_level(level))


def threshold(log: LogData, pass_threshold: float | None) -> float:
    """The lowest score that passes: as given, or the highest of the log."""
    if pass_threshold is None:
        return log.top
    return float(checks.exact_number(pass_threshold, "pass_threshold"))


def check_attempts(log: LogData, arm: int, task: int, n: int, ks: Sequence[int], else_use: str = "") -> None:
    """Refuse numbers of attempts beyond the ``n`` that an arm has at a task."""
    if n < max(ks):
        k = checks.shown(min(k for k in ks if k > n))
        raise InputError(
            f"k = {k} is more than the {count_of(n, 'attempt')} of arm {checks.shown(log.arms[arm])} at "
            f"task {checks.shown(log.tasks[task])}: no unbiased estimate exists. "
            f"log.select(min_attempts={k}) leaves such tasks out{else_use}"
        )


def per_task(log: LogData, arm: int, ks: Sequence[int], transform: Callable[[Floats], Floats]) -> Floats:
    """max@k of transformed scores by task [T, len(ks)], for every k of ``ks``; NaN for tasks without this arm."""
    bests = np.full((len(log.tasks), len(ks)), np.nan)
    for tasks, scores in log.by_count(arm):
        check_attempts(log, arm, int(tasks[0]), scores.shape[1], ks, ", and log.pass_range gives bounds")
        bests[tasks] = best_of(transform(scores), ks)
    return bests
