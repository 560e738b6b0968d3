"""Returns as whole numbers of a unit, so that sums of them are exact, in arrays.

Floats are multiples of a power of two and fractions have a common denominator, so every problem has such a unit. Where
a return would not fit into 64 bits, the unit is the smallest power of two in which it does, and returns are rounded.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxatk.base.types import Floats, Ints, Number

NONE = -(2**63)  # no result yet: below every return
BEYOND = 2**63 - 1  # an incumbent above every return
MOST = 2**61


@dataclass(frozen=True)
class Scale:
    """Returns counted in multiples of ``unit``.

    The incumbent, the best return before the first rollout, may be any number. It need not be a multiple of the unit if
    it lies below or above all returns: then it has a code of its own.
    """

    unit: Fraction
    none: Number = -math.inf  # the incumbent, if it lies below all returns
    beyond: Number = math.inf  # the incumbent, if it lies above all returns

    def units(self, amount: Number) -> int:
        """A return as a multiple of the unit, rounded if it is not one; an incumbent by its code."""
        if amount in (self.none, -math.inf):
            return NONE
        return BEYOND if amount == self.beyond else self.multiple(amount)

    def multiple(self, amount: Number) -> int:
        """A reward as a multiple of the unit, rounded if it is not one; rewards have no codes."""
        return round(Fraction(amount) / self.unit)

    @property
    def power(self) -> int | None:
        """The exponent of the unit as a power of two; None if the unit is not a power of two."""
        top, bottom = self.unit.numerator, self.unit.denominator
        if top & (top - 1) or bottom & (bottom - 1):
            return None
        return top.bit_length() - bottom.bit_length()

    def number(self, units: int) -> Number:
        """The return that ``units`` stands for."""
        return self.none if units == NONE else self.beyond if units == BEYOND else self.unit * units

    def floats(self, units: Ints) -> Floats:
        """The nearest floats."""
        if self.power is not None and abs(self.power) < 900:  # scaling by a power of two is exact
            floats = np.ldexp(units.astype(np.float64), self.power)
        else:
            some, places = np.unique(units, return_inverse=True)
            floats = np.array([float(self.number(x)) for x in some.tolist()])[places]
        return np.where(units == NONE, float(self.none), np.where(units == BEYOND, float(self.beyond), floats))

    def floats_around(self, units: Ints) -> tuple[Floats, Floats]:
        """The floats next to each return: the greatest at or below it, and the least at or above it."""
        some, places = np.unique(units, return_inverse=True)
        nearest = self.floats(some)
        exact = [self.number(x) for x in some.tolist()]
        above = np.array([f > x for f, x in zip(nearest.tolist(), exact, strict=True)], np.bool_)
        below = np.array([f < x for f, x in zip(nearest.tolist(), exact, strict=True)], np.bool_)
        low = np.where(above, np.nextafter(nearest, -math.inf), nearest)
        high = np.where(below, np.nextafter(nearest, math.inf), nearest)
        return low[places], high[places]


@dataclass(frozen=True)
class Amounts:
    """An array of returns."""

    units: Ints  # [n]
    scale: Scale

    def floats(self) -> Floats:
        """The nearest floats."""
        return self.scale.floats(self.units)

    def __getitem__(self, i: int) -> Number:
        return self.scale.number(int(self.units[i]))


def common_scale(amounts: Iterable[Number], times: int) -> tuple[Scale, bool]:
    """A scale in which a sum of ``times`` of these numbers fits, and whether its unit divides all of them."""
    finite = [Fraction(x) for x in amounts if x != -math.inf]
    largest = max((abs(x) for x in finite), default=Fraction(0)) * times
    bottom = math.lcm(*(x.denominator for x in finite))
    if largest * bottom < MOST:
        return Scale(Fraction(1, bottom)), True
    # Multiples of a step such as 0.1, which is a long fraction in binary, are small numbers of that step.
    step = Fraction(math.gcd(*(int(x * bottom) for x in finite)), bottom)
    if largest / step < MOST:
        return Scale(step), True
    spare = math.floor(math.log2(MOST)) - (largest.numerator.bit_length() - largest.denominator.bit_length() + 1)
    return Scale(Fraction(2) ** -spare), False


def finest_part(values: Floats) -> Fraction:
    """The largest power of two, 1 at most, that divides all of these floats."""
    mantissa, exponent = np.frexp(values[values != 0])
    whole = (mantissa * 2.0**53).astype(np.int64)  # each value is whole * 2**(exponent - 53)
    last = whole & -whole  # the lowest bit of each that is set
    lowest = exponent - 53 + (np.frexp(last.astype(np.float64))[1] - 1)
    return Fraction(2) ** min(int(lowest.min(initial=0)), 0)


def nearest_float(value: Number) -> float:
    """The float nearest to ``value``; an infinity if ``value`` overflows."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def floats_around(value: Number) -> tuple[float, float]:
    """The greatest float that is at most ``value`` and the least that is at least ``value``."""
    nearest = float(value)
    if nearest > value:
        return math.nextafter(nearest, -math.inf), nearest
    if nearest < value:
        return nearest, math.nextafter(nearest, math.inf)
    return nearest, nearest
