"""Rewards rounded to the midpoints of a grid, as the paper does (Theorem 1)."""

import math
from fractions import Fraction
from numbers import Rational

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number


def grid_step(kappa: Number) -> Fraction:
    """The step of the grid that ``kappa`` asks for: a float within 1e-12 of ``1/n`` means ``1/n``."""
    exact = checks.exact_number(kappa, "kappa")
    if exact <= 0:
        raise InputError(f"kappa must be above 0, not {checks.shown(kappa)}")
    if isinstance(kappa, Rational) or abs(exact * round(1 / exact) - 1) > 1e-12:
        return exact
    return Fraction(1, round(1 / exact))


def cell(reward: Fraction, kappa: Fraction) -> int:
    """The cell of a reward, counted from 0: the one above it where it lies on a border."""
    return min(math.floor(reward / kappa), math.ceil(1 / kappa) - 1)


def midpoint(kappa: Fraction, reward: Fraction) -> Fraction:
    """The midpoint of the cell of a reward in [0, 1]."""
    if not 0 <= reward <= 1:
        raise InputError(f"reward must be in [0, 1], not {checks.shown(float(reward))}")
    return kappa * Fraction(2 * cell(reward, kappa) + 1, 2)
