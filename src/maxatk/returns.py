"""Returns as whole numbers of a unit, so that sums of them are exact, in arrays.

Floats are multiples of a power of two and fractions have a common denominator, so every problem has such a unit. Where
a return would not fit into 64 bits there is no :class:`Scale` for it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxatk.checks import Number
from maxatk.rows import Floats, Ints

NONE = -(2**63)  # no rollout yet: below every return
MOST = 2**61


@dataclass(frozen=True)
class Scale:
    """Returns counted in multiples of ``unit``."""

    unit: Fraction

    def units(self, amount: Number) -> int:
        """A multiple of the unit as a whole number; ``-inf`` as :data:`NONE`."""
        return NONE if amount == -math.inf else int(Fraction(amount) / self.unit)

    def number(self, units: int) -> Number:
        """The return itself."""
        return -math.inf if units == NONE else self.unit * units

    def floats(self, units: Ints) -> Floats:
        """The nearest floats."""
        top, bottom = self.unit.numerator, self.unit.denominator
        if top == 1 and bottom & (bottom - 1) == 0 and bottom < 2**1000:  # scaling by a power of two is exact
            found = units / float(bottom)
        else:
            some, places = np.unique(units, return_inverse=True)
            found = np.array([float(self.number(x)) for x in some.tolist()])[places]
        return np.where(units == NONE, -math.inf, found)


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


def common_scale(amounts: Iterable[Number], times: int) -> Scale | None:
    """The scale of these numbers, if a sum of ``times`` of them fits."""
    exact = [Fraction(x) for x in amounts if x != -math.inf]
    bottom = math.lcm(*(x.denominator for x in exact))
    largest = max((abs(x) * bottom for x in exact), default=0)
    return Scale(Fraction(1, bottom)) if largest * times < MOST else None
