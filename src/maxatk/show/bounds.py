"""Bounds as they are printed: rounded so that what is read is still true."""

import math
from fractions import Fraction

from maxatk.base.types import Number


def at_least(x: Number, decimals: int = 6) -> str:
    """A lower bound in so many decimals, rounded down: what is printed is true as well."""
    return f"{x:f}" if math.isinf(x) else _in_decimals(math.floor(Fraction(x) * 10**decimals), decimals)


def at_most(x: Number, decimals: int = 6) -> str:
    """An upper bound in so many decimals, rounded up."""
    return f"{x:f}" if math.isinf(x) else _in_decimals(math.ceil(Fraction(x) * 10**decimals), decimals)


def _in_decimals(count: int, decimals: int) -> str:
    whole, part = divmod(abs(count), 10**decimals)
    return f"{'-' if count < 0 else ''}{whole}{f'.{part:0{decimals}d}' if decimals else ''}"


def decimals_of(*sizes: float, digits: int = 6) -> int:
    """How many decimals give the largest of some numbers so many digits; none for large ones, at most 300."""
    largest = max((abs(x) for x in sizes if math.isfinite(x)), default=0.0)
    return min(max(digits - 1 - math.floor(math.log10(largest)), 0), 300) if largest else 0
