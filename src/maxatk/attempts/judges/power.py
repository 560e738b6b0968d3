"""How many tasks it takes to tell two ways to choose apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.attempts.estimates.intervals import checked_level
from maxatk.attempts.judges.choosers import apart, chooser, per_task
from maxatk.attempts.logs.data import LogData
from maxatk.base import checks
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.text import clipped, count_of, short
from maxatk.base.types import Floats

SIZES = (0.01, 0.02, 0.05, 0.1)  # of the range of scores: differences for which tasks are counted


@dataclass(frozen=True, repr=False)
class Power(Displayed):
    """How many tasks show a difference of two ways to choose, from how much it varies over the tasks of a log."""

    first: str  # the one
    second: str  # the other
    k: int  # the number of attempts
    tasks: int  # of the log
    deviation: float  # the standard deviation over tasks of the difference
    detectable: float  # the smallest difference that the tasks of the log would show
    needed: tuple[tuple[float, int], ...]  # differences, and the number of tasks that would show each
    level: float  # of the two-sided interval that shows it
    power: float  # the chance that it does

    def __repr__(self) -> str:
        shown = f"{count_of(self.tasks, 'task')} would show {short(self.detectable)}"
        return clipped(f"Power({self.first} against {self.second}, k={self.k}: {shown})")


def pick_power(
    log: LogData, first: str, second: str, k: int, *, differences: float | Sequence[float] | None = None,
    arm: str | None = None, level: float = 0.95, power: float = 0.8, default_score: float = 0.0, rng: Any = 0,
) -> Power:  # fmt: skip
    """How many tasks it takes to tell two judges, or a judge and a vote, apart.

    By the normal approximation, with the standard deviation over the tasks of the log: it plans an experiment, and
    proves nothing.

    Args:
        log: a log with scores, which are the truth.
        first: a judge by name, "majority", "majority weighted by" a judge, "oracle" or "one attempt".
        second: another.
        k: the number of attempts.
        differences: in true score, one or several; by default 1, 2, 5 and 10 % of the range of scores.
        arm: the arm, if there are several.
        level: of the interval that shows a difference.
        power: the chance with which it does; above ``1 - level``, the chance without any difference.
        default_score: what is scored if nobody votes.
        rng: a seed or a ``Generator`` for the random sets of a weighted vote.

    >>> from maxatk import attempts as at
    >>> told = at.pick_power(at.example_judged_log(), "judge", "majority", k=64)
    >>> told.needed
    ((0.01, 8727), (0.02, 2182), (0.05, 350), (0.1, 88))
    """
    log.require_truth()
    k, number = checks.integer(k, "k", least=1), log.arm_number(arm)
    ways = [chooser(log, word, number, default_score, rng) for word in (first, second)]
    x, y = (per_task(log, number, [k], way)[log.counts[:, number] > 0, 0] for way in ways)
    if ways[0] == ways[1]:
        raise InputError(f"{checks.shown(first)} cannot be compared with itself")
    low, high = log.usual_range
    wanted: Any = [size * (high - low) for size in SIZES] if differences is None else differences
    sizes: list[float] = []
    for place, size in enumerate(wanted if np.ndim(wanted) == 1 else [wanted]):
        sizes.append(float(checks.exact_number(size, f"differences[{place}]")))
        if sizes[-1] <= 0:
            raise InputError(f"differences[{place}] must be positive, but is {size:g}")
    return of_values(apart(log, x, y), (ways[0].name, ways[1].name), k, sizes, (level, power))


def of_values(
    differences: Floats, names: tuple[str, str], k: int, sizes: Sequence[float], odds: tuple[float, float]
) -> Power:
    """The power from differences by task [T]; ``odds`` are the level and the power."""
    from scipy.special import ndtri  # SciPy takes a while to load

    level, power = checked_level(odds[0]), checked_level(odds[1], "power")
    if power <= 1 - level:
        raise InputError(
            f"power must be above 1 - level, {1 - level:g}: so often a difference is shown where there is none"
        )
    n = len(differences)
    if n < 2:
        raise InputError("one task does not show how much a difference varies over tasks")
    deviation = float(differences.std(ddof=1))
    times = float(ndtri((1 + level) / 2) + ndtri(power)) * deviation
    needed = tuple((size, max(math.ceil((times / size) ** 2), 2)) for size in sizes)
    return Power(*names, k, n, deviation, times / math.sqrt(n), needed, level, power)
