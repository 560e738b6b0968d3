"""Rewards rounded to the midpoints of a grid, as the paper does (Theorem 1)."""

import math
from fractions import Fraction

from maxatk.base import checks
from maxatk.base.errors import InputError


def cell(reward: Fraction, kappa: Fraction) -> int:
    """The cell of a reward, counted from 0: the one above it where it lies on a border."""
    return min(math.floor(reward / kappa), math.ceil(1 / kappa) - 1)


def midpoint(kappa: Fraction, reward: Fraction) -> Fraction:
    """The midpoint of the cell of a reward in [0, 1]."""
    if not 0 <= reward <= 1:
        raise InputError(f"reward must be in [0, 1], not {checks.shown(float(reward))}")
    return kappa * Fraction(2 * cell(reward, kappa) + 1, 2)
