"""Intervals: numbers between two bounds, and arithmetic that rounds outward."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.base.returns import floats_around
from maxatk.base.types import Number


@dataclass(frozen=True)
class Interval:
    """A number between two bounds; if it is known exactly, both are the float nearest to it."""

    lower: float  # it is at least this
    upper: float  # and at most this
    exact: Fraction | None = field(default=None, repr=False)  # the number itself, where it is known

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2

    @classmethod
    def of(cls, exact: Fraction) -> "Interval":
        """The interval of a number that is known exactly."""
        return cls(float(exact), float(exact), exact)

    @property
    def ends(self) -> tuple[float, float]:
        """Floats that enclose the number, even if it is known exactly and lies between two floats."""
        return (self.lower, self.upper) if self.exact is None else floats_around(self.exact)


def down(x: float) -> float:
    """The float below ``x``: a lower bound for what was rounded to ``x``."""
    return math.nextafter(x, -math.inf)


def up(x: float) -> float:
    """The float above ``x``: an upper bound for what was rounded to ``x``."""
    return math.nextafter(x, math.inf)


def gap_between(low: tuple[Number, Number], high: tuple[Number, Number]) -> tuple[float, float]:
    """Bounds on ``high - low``, given bounds on each and that ``high`` is at least ``low``.

    Differences are exact, so that equal numbers differ by exactly 0; infinite bounds leave the difference open.
    """
    least = 0.0 if math.isinf(high[0]) or math.isinf(low[1]) else floats_around(Fraction(high[0]) - Fraction(low[1]))[0]
    if math.isinf(high[1]) or math.isinf(low[0]):
        return max(least, 0.0), math.inf
    most = floats_around(Fraction(high[1]) - Fraction(low[0]))[1]
    return max(least, 0.0), max(most, 0.0)
