"""Two arms at the same tasks: the paired difference, which has far less noise than the difference of two means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import per_task, threshold
from maxatk.attempts.estimates.intervals import Estimate, checked_level, wants_proof
from maxatk.attempts.logs.data import LogData
from maxatk.base import checks, display, findings
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.text import percent
from maxatk.base.types import Range

COLUMNS = ("first", "second", "of", "k", "value", "lower", "upper", "tasks_needed")


@dataclass(frozen=True)
class Difference(Displayed, Tabular, Estimate):
    """The difference of two arms at the same tasks, in the best of ``k`` or in what one attempt costs."""

    first: str  # the arm
    second: str  # the other one, which is subtracted
    k: int  # the number of attempts of each
    of: str  # "score", "cost" or "seconds"; "pick" for two ways to choose one of k attempts
    ratio: Range | None  # an interval for the ratio of the two means (Fieller's); for costs and seconds
    tasks_needed: int | None  # to detect a difference of this size with power 0.8; None for a difference of 0

    def columns(self) -> dict[str, list[Any]]:
        """One row, with the columns of :class:`Differences`."""
        return {name: [getattr(self, name)] for name in COLUMNS}

    @property
    def finding(self) -> findings.Difference:
        """The finding that it proves."""
        names = ("lower", "upper", "value", "first", "second", "of", "k", "tasks_needed")
        bounded = ("score_range",)
        needs = {"score": bounded, "pick": bounded, "cost": ("cost_limit",)}.get(self.of, ())  # seconds have none
        return findings.Difference(
            basis=self.basis(() if self.proved else needs),
            ratio=self.ratio if self.method == intervals.T else None,  # Fieller's is no better than t
            **{name: getattr(self, name) for name in names},
        )

    @property
    def verdict(self) -> str:
        """The finding in words."""
        return display.words(self.finding)


class Differences(Displayed, Tabular, Sequence[Difference]):
    """Several arms at once: every pair, with intervals that hold *together*.

    Args:
        rows: the pairs.
        level: the probability, at least nominally, that all intervals hold at once.
    """

    def __init__(self, rows: Sequence[Difference], level: float) -> None:
        self.rows = tuple(rows)  # the pairs, the better arm of each first
        self.level = level  # of all intervals together

    def __repr__(self) -> str:
        return f"Differences({len(self)} pair{'' if len(self) == 1 else 's'})"

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> dict[str, list[Any]]:
        """The pairs by column: first, second, of, k, value, lower, upper and tasks_needed."""
        return {name: [getattr(row, name) for row in self.rows] for name in COLUMNS}

    def __getitem__(self, index: Any) -> Any:
        rows: Any = self.rows
        return rows[index]

    @property
    def k(self) -> int:
        """The number of attempts of each arm."""
        return self.rows[0].k

    @property
    def of_the_best(self) -> list[Difference]:
        """The pairs with the best arm, which is never the worse one of a pair."""
        arms = {arm for row in self.rows for arm in (row.first, row.second)}
        best = next(iter(arms - {row.second for row in self.rows if row.value > 0}), self.rows[0].first)
        return [row for row in self.rows if row.first == best or (row.second == best and row.value == 0)]

    def table(self, every: bool = True) -> display.Table:
        """The rows as a table for the terminal.

        Args:
            every: show all pairs, not only those with the best arm.
        """
        return display.table(self, every)

    @property
    def sureness(self) -> str:
        """The level of the intervals in words; empty if none has a level."""
        if all(row.level is None for row in self.rows):
            return ""
        pairs = f" for all {len(self)} pairs together" if len(self) > 1 else ""
        some = ", where there is a level" if any(row.level is None for row in self.rows) else ""
        return f"{percent(self.level)}{pairs}{some}"


def difference(
    log: LogData, first: str, second: str, k: int = 1, level: float = 0.95, *, of: str = "score",
    pass_threshold: float | None = None, interval: str = "usual",
) -> Difference:  # fmt: skip
    """The difference of ``first`` and ``second`` in the best of ``k`` attempts, paired by task.

    Args:
        log: the log; tasks that only one of the arms has tried do not count.
        first: an arm.
        second: another one.
        k: the number of attempts of each.
        level: of the interval.
        of: "score"; or "cost" or "seconds", to compare the cost or duration of one attempt.
        pass_threshold: compare the chances to score at least this, rather than scores.
        interval: "usual", or "proved" for one that is proved for every number of tasks.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": a, "score": float(t % 3 > 0 or a == "big")}
    ...         for t in range(60) for a in ("big", "small")]
    >>> print(at.difference(at.Log.from_records(rows), "big", "small").verdict)
    big is better than small in one attempt: by 0.21 to 0.46
    """
    if of not in ("score", "cost", "seconds"):
        raise InputError(f"of must be score, cost or seconds, not {checks.shown(of)}")
    arms = log.arm_number(first), log.arm_number(second)
    measured = log if of == "score" else _measured(log, of, k, pass_threshold)
    return _pair(measured, *arms, k, checked_level(level), pass_threshold, interval, 1, of)


def differences(
    log: LogData, k: int = 1, level: float = 0.95, *, pass_threshold: float | None = None, interval: str = "usual"
) -> Differences:
    """All pairs of arms at once; each interval is widened so that all hold together.

    Args:
        log: the log.
        k: the number of attempts of each arm.
        level: of all intervals together (Bonferroni's inequality).
        pass_threshold: compare the chances to score at least this, rather than scores.
        interval: "usual", or "proved" for intervals that are proved for every number of tasks.

    >>> from maxatk import attempts as at
    >>> best = at.differences(at.example_log(), k=4)[0]
    >>> best.first, best.second, best.tasks_needed
    ('DE', 'L-BFGS-B', 16)
    """
    level, n = checked_level(level), len(log.arms)
    if n < 2:
        raise InputError("the log has only one arm: there is no other to compare it with")
    pairs = list(itertools.combinations(range(n), 2))
    rows = [_pair(log, a, b, k, level, pass_threshold, interval, len(pairs)) for a, b in pairs]
    rows = [d if d.value >= 0 else _turned(d) for d in rows]
    return Differences(sorted(rows, key=lambda d: -d.value), level)


def _measured(log: LogData, of: str, k: int, pass_threshold: float | None) -> LogData:
    """A log whose scores are its costs, or its seconds."""
    if k != 1 or pass_threshold is not None:
        raise InputError(f"{of} is compared for one attempt: leave k and pass_threshold out")
    if of == "cost":
        log.require_costs()
        span = (0.0, max(log.cost_limits.highest)) if log.cost_limits.known else None
        return replace(log, score=log.cost, score_range=span)
    if log.seconds is None or np.isnan(log.seconds).any():
        raise InputError("the log does not have the seconds of every attempt")
    return replace(log, score=log.seconds, score_range=None)


def _pair(
    log: LogData, a: int, b: int, k: int, level: float, pass_threshold: float | None, interval: str, pairs: int,
    of: str = "score",
) -> Difference:  # fmt: skip
    if a == b:
        raise InputError(f"{checks.shown(log.arms[a])} cannot be compared with itself")
    k = checks.integer(k, "k", least=1)
    span, lowest = log.score_range, None
    if pass_threshold is not None:
        span, lowest = (0.0, 1.0), threshold(log, pass_threshold)
    common = (log.counts[:, [a, b]] > 0).all(axis=1)
    if not common.any():
        raise InputError(f"no task has attempts of both {checks.shown(log.arms[a])} and {checks.shown(log.arms[b])}")
    both = log if common.all() else log.select(arms=[log.arms[a], log.arms[b]], min_attempts=1)

    def transform(x: Any) -> Any:
        return x if lowest is None else (x >= lowest).astype(float)

    x, y = (per_task(both, both.arms.index(log.arms[arm]), [k], transform)[:, 0] for arm in (a, b))
    wide = None if span is None else (span[0] - span[1], span[1] - span[0])
    use_betting = wants_proof(interval, span) or (of == "cost" and log.heavy_costs)
    estimate = intervals.mean(x - y, wide, 1 - (1 - level) / pairs, use_betting=use_betting)
    return Difference(
        **vars(estimate),
        first=log.arms[a],
        second=log.arms[b],
        k=k,
        of=of,
        ratio=None if of == "score" else intervals.ratio(x, y, level),
        tasks_needed=tasks_needed(x - y, estimate),
    )


def tasks_needed(apart: Any, estimate: Estimate, power: float = 0.8) -> int | None:
    """How many tasks would show a difference like that of these values [T] with this power; None if it is 0."""
    if len(apart) < 2 or estimate.value == 0 or estimate.level is None:
        return None
    from scipy.special import ndtri  # SciPy takes a while to load

    times = float(ndtri((1 + estimate.level) / 2) + ndtri(power))
    needed = (times * float(np.std(apart, ddof=1)) / estimate.value) ** 2
    return max(math.ceil(needed), 2) if math.isfinite(needed) and needed < 1e15 else None


def _turned(d: Difference) -> Difference:
    return replace(d, value=-d.value, lower=-d.upper, upper=-d.lower, first=d.second, second=d.first)
