"""Means over tasks, with intervals. The task is the unit: attempts at one task share its difficulty.

Three intervals, all for the mean over the population from which the tasks of the log were drawn:

- *t*: Student's, from 50 tasks on and only if the values are not too skewed for that number of tasks. Its level is
  nominal: it assumes that the tasks of the log show the tail of the values. Rare large values that the log missed leave
  no trace in its skewness, and then the interval covers far less often than its level says.
- *betting*: proved for every number of tasks and every distribution, given a range that contains all values.
- *betting, on the range seen*: the same without a given range, between the smallest and the largest value seen. It has
  no level: with few tasks and heavy tails it covers far less often than was asked for, and the log cannot show that.

With cross-validated choices the folds are not independent of each other: see :func:`crossed`.
docs/theory/attempts.md has the proofs, and docs/benchmarks.md measures how often each interval covers the truth.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from maxatk.attempts.logs.data import skewness
from maxatk.base import checks
from maxatk.base.betting import mean_from_above
from maxatk.base.errors import InputError
from maxatk.base.findings import Basis, Measured
from maxatk.base.text import ends
from maxatk.base.types import Floats, Ints, Range

FEWEST_FOR_T = 50  # tasks
MOST_SKEW = 0.2  # times the square root of the number of tasks
KINDS = ("usual", "proved")  # of intervals that may be asked for

T, BETTING, ON_RANGE_SEEN, OVER_FOLDS = "t, nominal", "betting", "betting, on the range seen", "betting, over folds"


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks, with an interval.

    >>> from maxatk.attempts import Estimate
    >>> print(Estimate(0.5, 0.40625, 0.59375, tasks=80, level=0.95, method="t, nominal"))
    0.50 [0.40, 0.60]
    """

    value: float  # the mean over the tasks of the log
    lower: float  # of the interval for the mean over the population of tasks
    upper: float  # its other end
    tasks: int  # the number of tasks
    level: float | None  # the probability that the interval covers, at least nominally; None if it is not known
    method: str  # "t, nominal", "betting" (proved), "betting, on the range seen" or "betting, over folds"

    @property
    def proved(self) -> bool:
        """Whether the level is proved for every distribution and number of tasks."""
        return self.method == BETTING

    @property
    def measured(self) -> Measured:
        """The same as a part of findings."""
        return Measured(
            value=self.value, lower=self.lower, upper=self.upper, level=self.level,
            proved=self.level is not None and self.proved,
        )  # fmt: skip

    def basis(self, needs: tuple[str, ...] = ()) -> Basis:
        """What the interval rests on; ``needs`` are arguments that the log lacks for one with a level."""
        return Basis(tasks=self.tasks, level=self.level, method=self.method, needs=needs)

    def __str__(self) -> str:
        low, value, high = ends(self.lower, self.value, self.upper)
        return f"{value} [{low}, {high}]" + ("" if self.level is not None else " (no level)")


def mean(
    values: Floats, span: Range | None, level: float, *, use_betting: bool = False, known: bool = True
) -> Estimate:
    """The mean of one value per task [T], with an interval.

    Args:
        values: one per task.
        span: the range of all values, assumed unless it is ``known``; None for the range of the values seen.
        level: of the interval.
        use_betting: whether to use betting rather than *t*, whatever the number of tasks.
        known: whether ``span`` was known before the values were.
    """
    n, value = len(values), float(values.mean())
    low, high = span or (float(values.min()), float(values.max()))
    if not use_betting and n >= FEWEST_FOR_T and skewness(values) <= MOST_SKEW * math.sqrt(n):
        half_width = _half_width(values, level)
        if span is None:
            low, high = -math.inf, math.inf
        return Estimate(value, max(value - half_width, low), min(value + half_width, high), n, level, T)
    lower, upper = betting(values, (low, high), level)
    if span is not None and known:
        return Estimate(value, lower, upper, n, level, BETTING)
    return Estimate(value, lower, upper, n, None, ON_RANGE_SEEN)


def crossed(
    values: Floats, fold: Ints, span: Range | None, level: float, *, compared: bool = False, use_betting: bool = False,
    known: bool = True,
) -> Estimate:  # fmt: skip
    """The mean of one value per task [T], where each fold of the tasks was tried with the choice of all other folds.

    Given the choice for a fold, its tasks are independent. The folds are not, because each contributed to the choices
    for the others. A proved interval is therefore the mean of one interval per fold, all of which hold together. The
    usual interval is Student's t as if folds were independent, which is adequate for the value of a choice. It is not
    for the gain of one choice over another (``compared``): there the errors of the folds count as fully correlated, so
    that the deviation of their mean is at most the mean of their deviations (Cauchy and Schwarz).
    """
    n, folds = len(values), int(fold.max()) + 1
    if use_betting and known and span is not None:
        ends = np.array([betting(values[fold == j], span, 1 - (1 - level) / folds) for j in range(folds)])
        lower, upper = (np.bincount(fold) / n @ ends).tolist()
        return Estimate(float(values.mean()), lower, upper, n, level, BETTING)
    estimate = mean(values, span, level, use_betting=use_betting, known=known)
    if estimate.proved:
        return replace(estimate, method=OVER_FOLDS)
    if not compared or estimate.method != T:
        return estimate
    half_width = math.sqrt(folds) * _half_width(values, level)
    low, high = span or (-math.inf, math.inf)
    return replace(estimate, lower=max(estimate.value - half_width, low), upper=min(estimate.value + half_width, high))


def wants_proof(interval: str, span: Range | None) -> bool:
    """Whether a proved ``interval`` is asked for; it needs a range of the values."""
    checks.one_of(interval, KINDS, "interval")
    if interval == "proved" and span is None:
        raise InputError("a proved interval needs the range that scores can have: give the log a score_range")
    return interval == "proved"


def _half_width(values: Floats, level: float) -> float:
    """Half the width of Student's interval."""
    n = len(values)
    return _quantile(n, level) * float(values.std(ddof=1)) / math.sqrt(n)


def _quantile(n: int, level: float) -> float:
    """The quantile of Student's t for a two-sided interval from ``n`` values."""
    from scipy.special import stdtrit  # SciPy takes a while to load

    return float(stdtrit(n - 1, (1 + level) / 2))


def betting(values: Floats, span: Range, level: float) -> Range:
    """An interval that covers the mean of independent values [n] within ``span`` with probability ``level``."""
    low, high = span
    if high <= low:
        return low, low
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    risk = (1 - level) / 2
    below, above = mean_from_above(1 - share, risk), mean_from_above(share, risk)
    return low + (high - low) * (1 - below), low + (high - low) * above


def ratio(top: Floats, bottom: Floats, level: float) -> Range:
    """Fieller's interval for the ratio of two means over tasks; ``bottom`` is positive on average.

    It contains all ``r`` for which Student's t does not reject that the mean of ``top - r bottom`` is 0. Where it does
    not reject that the mean of ``bottom`` is 0, the interval has no upper end.
    """
    n = len(top)
    if n < 2:
        return 0.0, math.inf
    q = _quantile(n, level) ** 2 / n
    x, y = float(top.mean()), float(bottom.mean())
    (xx, xy), (_, yy) = np.cov(top, bottom).tolist()
    a, b, c = y * y - q * yy, x * y - q * xy, x * x - q * xx
    if a <= 0:
        return 0.0, math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a


def checked_level(level: float, name: str = "level") -> float:
    """A level, or another probability by ``name``, strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError(f"{name} must lie between 0 and 1, not {checks.shown(level)}")
    return float(level)
