"""Two arms at the same tasks: the difference task by task, which has far less noise than two means apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from scipy.special import ndtri

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import per_task, threshold
from maxatk.attempts.estimates.intervals import Estimate, Range, checked_level, provable
from maxatk.attempts.sequences import walk
from maxatk.attempts.study.tables import as_text, plain_table, shown
from maxatk.base import checks, findings
from maxatk.base.errors import InputError

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log


@dataclass(frozen=True)
class Difference(Estimate):
    """What one arm earns more than another in the best of ``k``, or costs more, at the same tasks."""

    first: str  # the arm
    second: str  # the other one, which is subtracted
    k: int  # how many attempts of each
    of: str  # "score", "cost" or "seconds"
    ratio: Range | None  # of the two means, an interval (Fieller's); for costs and seconds
    tasks_needed: int | None  # with which a difference of this size would be found four times in five; None for none

    @property
    def finding(self) -> findings.Difference:
        """What it proves."""
        names = ("lower", "upper", "value", "first", "second", "of", "tasks", "level", "k", "tasks_needed")
        needs = {"score": ("score_range",), "cost": ("cost_limit",)}.get(self.of, ())  # seconds have no limit to give
        return findings.Difference(
            method=self.how,
            ratio=self.ratio if self.how == intervals.T else None,  # Fieller's is no better than t
            needs=() if self.proved else needs,
            **{name: getattr(self, name) for name in names},
        )

    @property
    def verdict(self) -> str:
        """What it means, in words."""
        from maxatk.show import words

        return words.difference(self.finding)

    def __str__(self) -> str:
        return self.verdict


class Differences(Sequence[Difference]):
    """Several arms at once: every pair, with intervals that hold *together*.

    Args:
        rows: the pairs.
        level: the probability, at least nominally, with which all intervals are right at once.
    """

    def __init__(self, rows: Sequence[Difference], level: float) -> None:
        self.rows = tuple(rows)  # the pairs, the better arm of each first
        self.level = level  # of all intervals together

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        rows: Any = self.rows
        return rows[index]

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.rows)

    @property
    def of_the_best(self) -> list[Difference]:
        """The pairs that the best arm is part of: it is never the worse one of a pair."""
        arms = {arm for row in self.rows for arm in (row.first, row.second)}
        best = next(iter(arms - {row.second for row in self.rows if row.value > 0}), self.rows[0].first)
        return [row for row in self.rows if row.first == best or (row.second == best and row.value == 0)]

    def table(self, every: bool = True) -> Table:
        """The rows as a table for the terminal.

        Args:
            every: all pairs, not only those of the best arm.
        """
        from maxatk.show import words

        table = plain_table(
            ("arm", "left"), ("less", "left"), ("difference", "right"), ("interval", "left"), ("", "left")
        )
        for d in self.rows if every else self.of_the_best:
            table.add_row(d.first, d.second, *shown(d), words.told(d.finding))
        return table

    @property
    def sureness(self) -> str:
        """How sure the intervals are, in words; empty where none has a level."""
        from maxatk.show import words

        if all(row.level is None for row in self.rows):
            return ""
        pairs = f" for all {len(self)} pairs together" if len(self) > 1 else ""
        some = ", where there is a level" if any(row.level is None for row in self.rows) else ""
        return f"{words.percent(self.level)}{pairs}{some}"

    def __str__(self) -> str:
        return as_text(self.table())


def difference(
    log: Log,
    first: str,
    second: str,
    k: int = 1,
    level: float = 0.95,
    *,
    of: str = "score",
    passed: float | None = None,
    proved: bool = False,
) -> Difference:
    """What ``first`` earns more than ``second`` in the best of ``k`` attempts, paired by task.

    Args:
        log: the log; tasks that only one of the arms has tried do not count.
        first: an arm.
        second: another one.
        k: how many attempts of each.
        level: of the interval.
        of: "score"; or "cost" or "seconds", to compare what one attempt takes.
        passed: compare chances to pass, that is to score at least this, rather than scores.
        proved: ask for an interval that is proved for every number of tasks.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": a, "score": float(t % 3 > 0 or a == "big")}
    ...         for t in range(60) for a in ("big", "small")]
    >>> print(at.difference(at.Log.from_records(rows), "big", "small").verdict)
    big is better than small in one attempt: by 0.21 to 0.46
    """
    if of not in ("score", "cost", "seconds"):
        raise InputError(f"of must be score, cost or seconds, not {checks.shown(of)}")
    arms = log.arm_number(first), log.arm_number(second)
    measured = log if of == "score" else _measured(log, of, k, passed)
    return _pair(measured, *arms, k, checked_level(level), passed, proved, 1, of)


def differences(
    log: Log, k: int = 1, level: float = 0.95, *, passed: float | None = None, proved: bool = False
) -> Differences:
    """All pairs of arms at once; each interval is widened so that all are right together.

    Args:
        log: the log.
        k: how many attempts of each arm.
        level: of all intervals together (Bonferroni's inequality).
        passed: compare chances to pass, that is to score at least this, rather than scores.
        proved: ask for intervals that are proved for every number of tasks.

    >>> from maxatk import attempts as at
    >>> best = at.differences(at.recorded(), k=4)[0]
    >>> best.first, best.second, best.tasks_needed
    ('DE', 'L-BFGS-B', 16)
    """
    level, n = checked_level(level), len(log.arms)
    if n < 2:
        raise InputError("there is one arm only: nothing to compare it with")
    pairs = list(itertools.combinations(range(n), 2))
    rows = [_pair(log, a, b, k, level, passed, proved, len(pairs)) for a, b in pairs]
    rows = [d if d.value >= 0 else _turned(d) for d in rows]
    return Differences(sorted(rows, key=lambda d: -d.value), level)


def _measured(log: Log, of: str, k: int, passed: float | None) -> Log:
    """A log whose scores are its costs, or its seconds."""
    if k != 1 or passed is not None:
        raise InputError(f"{of} is compared for one attempt: leave k and passed out")
    if of == "cost":
        walk.costed(log)
        span = (0.0, max(log.cost_limits)) if log.cost_limited else None
        return replace(log, score=log.cost, score_range=span)
    if log.seconds is None or np.isnan(log.seconds).any():
        raise InputError("the log does not say of every attempt how many seconds it took")
    return replace(log, score=log.seconds, score_range=None)


def _pair(
    log: Log, a: int, b: int, k: int, level: float, passed: float | None, proved: bool, pairs: int, of: str = "score"
) -> Difference:
    if a == b:
        raise InputError(f"{checks.shown(log.arms[a])} cannot be compared with itself")
    k = checks.integer(k, "k", least=1)
    span, bar = log.score_range, None
    if passed is not None:
        span, bar = (0.0, 1.0), threshold(log, passed)
    common = (log.counts[:, [a, b]] > 0).all(axis=1)
    if not common.any():
        raise InputError(f"no task has attempts of both {checks.shown(log.arms[a])} and {checks.shown(log.arms[b])}")
    both = log if common.all() else log.select(arms=[log.arms[a], log.arms[b]], least=1)

    def change(x: Any) -> Any:
        return x if bar is None else (x >= bar).astype(float)

    x, y = (per_task(both, both.arms.index(log.arms[arm]), [k], change)[:, 0] for arm in (a, b))
    wide = None if span is None else (span[0] - span[1], span[1] - span[0])
    bet = provable(span, proved) or (of == "cost" and log.heavy_costs)
    estimate = intervals.mean(x - y, wide, 1 - (1 - level) / pairs, proved=bet)
    return Difference(
        **vars(estimate),
        first=log.arms[a],
        second=log.arms[b],
        k=k,
        of=of,
        ratio=None if of == "score" else intervals.ratio(x, y, level),
        tasks_needed=_needed(x - y, estimate),
    )


def _needed(apart: Any, estimate: Estimate, power: float = 0.8) -> int | None:
    if len(apart) < 2 or estimate.value == 0:
        return None
    if estimate.level is None:
        return None
    times = float(ndtri((1 + estimate.level) / 2) + ndtri(power))
    needed = (times * float(np.std(apart, ddof=1)) / estimate.value) ** 2
    return max(math.ceil(needed), 2) if math.isfinite(needed) and needed < 1e15 else None


def _turned(d: Difference) -> Difference:
    return replace(d, value=-d.value, lower=-d.upper, upper=-d.lower, first=d.second, second=d.first)
