"""Means over tasks and how surely they are known. The task is the unit: attempts at one task share its difficulty.

Three intervals, all for the mean over the tasks from which those of the log were drawn:

- *t*: Student's, from 50 tasks on and only where the values are not too skewed for so few tasks. Its level is nominal:
  it assumes that the tasks of the log show the tail of the values. Rare great values that the log missed leave no trace
  in its skewness, and then it covers far less often than it says.
- *betting*: proved for every number of tasks and every law, given a range that no value can leave.
- *betting, on the range seen*: the same where no range is given, with the least and the greatest value seen in its
  place. It has no level: with few tasks and heavy tails it covers far less often than it was asked to, and nothing in
  the log can tell.

Where choices are cross-validated the parts of the tasks are not independent of each other: see :func:`crossed`.
docs/theory/attempts.md has the proofs, and docs/benchmarks.md how often each covers what it should.
"""

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import stdtrit

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.findings import Measured
from maxatk.base.text import ends
from maxatk.base.types import Floats, Ints

Range: TypeAlias = tuple[float, float]

FEWEST_FOR_T = 50  # tasks
MOST_SKEW = 0.2  # times the square root of the number of tasks
# Gamblers guess the deviation of values in [0, 1], and share the wealth like this; see `_above`.
_GUESSES: Floats = np.array([0.45, 0.2, 0.08, 0.02])
_SHARES: Floats = np.array([0.45, 0.3, 0.15, 0.1])
_SLACK = 1e-9  # for the rounding of logarithms

T, BETTING, ON_RANGE_SEEN, OVER_FOLDS = "t, nominal", "betting", "betting, on the range seen", "betting, over folds"


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks, with an interval.

    >>> from maxatk.attempts import Estimate
    >>> print(Estimate(0.5, 0.40625, 0.59375, tasks=80, level=0.95, how="t, nominal"))
    0.50 [0.40, 0.60]
    """

    value: float  # the mean over the tasks of the log
    lower: float  # the interval is for the mean over the tasks that they were drawn from
    upper: float  # its other end
    tasks: int  # how many there were
    level: float | None  # how often such an interval is right, at least nominally; None where nobody can say
    how: str  # "t, nominal", "betting" (proved), "betting, on the range seen" or "betting, over folds"

    @property
    def proved(self) -> bool:
        """Whether the level is proved for every law and number of tasks."""
        return self.how == BETTING

    @property
    def measured(self) -> Measured:
        """The same as a part of findings."""
        return Measured(
            value=self.value, lower=self.lower, upper=self.upper, level=self.level,
            proved=self.level is not None and self.proved,
        )  # fmt: skip

    def __str__(self) -> str:
        low, value, high = ends(self.lower, self.value, self.upper)
        return f"{value} [{low}, {high}]" + ("" if self.level is not None else " (no level)")


def mean(values: Floats, span: Range | None, level: float, *, proved: bool = False, known: bool = True) -> Estimate:
    """The mean of one value per task [T], with an interval.

    Args:
        values: one per task.
        span: what no value can leave or, if it is not ``known``, is taken not to leave; None for what was seen.
        level: of the interval.
        proved: whether to bet rather than to trust in *t*, however many tasks there are.
        known: whether ``span`` was known before the values were.
    """
    n, value = len(values), float(values.mean())
    low, high = span or (float(values.min()), float(values.max()))
    if not proved and n >= FEWEST_FOR_T and skewness(values) <= MOST_SKEW * math.sqrt(n):
        reach = _reach(values, level)
        if span is None:
            low, high = -math.inf, math.inf
        return Estimate(value, max(value - reach, low), min(value + reach, high), n, level, T)
    lower, upper = betting(values, (low, high), level)
    if span is not None and known:
        return Estimate(value, lower, upper, n, level, BETTING)
    return Estimate(value, lower, upper, n, None, ON_RANGE_SEEN)


def crossed(
    values: Floats, part: Ints, span: Range | None, level: float, *, compared: bool = False, proved: bool = False,
    known: bool = True,
) -> Estimate:  # fmt: skip
    """The mean of one value per task [T] where each part of the tasks was tried with what all the others chose.

    Given what was chosen for it, the tasks of a part are independent; the parts are not, for each had a say in what the
    others were tried with. A proved interval therefore has one of each part, which hold together. The usual one is
    Student's t as if there were no such tie, which does for the value of a choice. For what a choice gains over another
    one (``compared``) it does not: there the errors of the parts count as if they all went the same way, so that the
    deviation of their mean is at most the mean of their deviations (Cauchy and Schwarz).
    """
    n, parts = len(values), int(part.max()) + 1
    if proved and known and span is not None:
        ends = np.array([betting(values[part == j], span, 1 - (1 - level) / parts) for j in range(parts)])
        lower, upper = (np.bincount(part) / n @ ends).tolist()
        return Estimate(float(values.mean()), lower, upper, n, level, BETTING)
    estimate = mean(values, span, level, proved=proved, known=known)
    if estimate.proved:
        return replace(estimate, how=OVER_FOLDS)
    if not compared or estimate.how != T:
        return estimate
    reach = math.sqrt(parts) * _reach(values, level)
    low, high = span or (-math.inf, math.inf)
    return replace(estimate, lower=max(estimate.value - reach, low), upper=min(estimate.value + reach, high))


def provable(span: Range | None, proved: bool) -> bool:
    """``proved``, unless there is no range to prove anything with."""
    if proved and span is None:
        raise InputError("a proved interval needs the range that scores can have: give the log a score_range")
    return proved


def _reach(values: Floats, level: float) -> float:
    """Half the width of Student's interval."""
    n = len(values)
    return float(stdtrit(n - 1, (1 + level) / 2)) * float(values.std(ddof=1)) / math.sqrt(n)


def skewness(values: Floats) -> float:
    """The size of the skewness; infinite for values that do not vary, about which *t* would be sure."""
    apart = values - values.mean()
    deviation = float(np.sqrt((apart**2).mean()))
    if deviation <= 1e-12 * float(np.abs(values).max()) or deviation == 0:
        return math.inf
    return abs(float(((apart / deviation) ** 3).mean()))


def betting(values: Floats, span: Range, level: float) -> Range:
    """An interval for the mean of independent values [n] within ``span`` that is right with probability ``level``."""
    low, high = span
    if high <= low:
        return low, low
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    risk = (1 - level) / 2
    return low + (high - low) * (1 - _above(1 - share, risk)), low + (high - low) * _above(share, risk)


def _above(share: Floats, risk: float) -> float:
    """An upper bound on the mean of values in [0, 1] that fails with probability at most ``risk``.

    If the mean is ``m``, a gambler who multiplies his wealth by ``1 + b (m - F)`` at every value ``F`` expects to hold
    what he began with, for every bet ``b`` up to ``1/(1 - m)``, with which he never falls below 0; and so do several
    who share their wealth. By Markov's inequality they hold ``1/risk`` of it with probability at most ``risk``. What
    they hold rises with ``m``: the bound is where it comes to ``1/risk``. Bets are those that would be best if the
    values had one of a few deviations; which, and how many values there are, is fixed beforehand. (The lemma of
    docs/theory/learning.md for a fixed number of values, where ``b = 1/(x - m)``; the order of values plays no part.)
    """
    bets = math.sqrt(2 * math.log(1 / risk) / len(share)) / _GUESSES
    begun = np.log(_SHARES * risk)

    def enough(m: float) -> bool:
        b = np.minimum(bets, 1 / (1 - m))
        with np.errstate(divide="ignore"):
            held = begun + np.log1p(np.maximum(b[:, None] * (m - share), -1.0)).sum(axis=1)
        most = held.max()
        return bool(most > -math.inf and most + math.log(np.exp(held - most).sum()) >= _SLACK)

    low, high = float(share.mean()), 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def ratio(top: Floats, bottom: Floats, level: float) -> Range:
    """Fieller's interval for the ratio of two means over tasks; ``bottom`` is positive on average.

    All ``r`` for which the mean of ``top - r bottom`` could be 0 by Student's t. Where the mean of ``bottom`` could be
    0 itself, the interval has no upper end.
    """
    n = len(top)
    if n < 2:
        return 0.0, math.inf
    q = float(stdtrit(n - 1, (1 + level) / 2)) ** 2 / n
    x, y = float(top.mean()), float(bottom.mean())
    (xx, xy), (_, yy) = np.cov(top, bottom).tolist()
    a, b, c = y * y - q * yy, x * y - q * xy, x * x - q * xx
    if a <= 0:
        return 0.0, math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a


def checked_level(level: float) -> float:
    """A level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, not {checks.shown(level)}")
    return float(level)
