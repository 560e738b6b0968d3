"""Utilities: convex nondecreasing functions of the final best return, piecewise linear.

A convex utility is, up to a factor and a constant, a curve of the planner: divided by its steepest slope and shifted so
that the greatest return keeps its value, it is convex, nondecreasing, 1-Lipschitz and at least ``m``, as every ``U_i``
is. A concave or stepwise one is none, and nothing that is proved here holds for it (docs/theory/rounds.md).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Number

MOST_KNOTS = 1000


@dataclass(frozen=True)
class Utility:
    """A convex, nondecreasing, piecewise linear function, by its knots; its end slopes are continued.

    Args:
        knots: two points ``(best return, utility)`` or more, with rising best returns.

    >>> from maxatk.problem.utility import Utility
    >>> prize = Utility([(0, 0), (10, 0), (20, 15)])
    >>> [float(prize(x)) for x in (-5, 10, 12, 30)]
    [0.0, 0.0, 3.0, 30.0]
    """

    knots: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, knots: Any) -> None:
        object.__setattr__(self, "knots", _checked(knots))

    @cached_property
    def slopes(self) -> tuple[Fraction, ...]:
        """Between knots, rising."""
        return tuple((v - u) / (y - x) for (x, u), (y, v) in itertools.pairwise(self.knots))

    def __call__(self, best: Number) -> Fraction:
        """The utility of a finite best return, exactly."""
        x = Fraction(best)
        place = min(max(sum(knot <= x for knot, _ in self.knots) - 1, 0), len(self.slopes) - 1)
        knot, amount = self.knots[place]
        return amount + self.slopes[place] * (x - knot)

    def around(self, best: Number) -> tuple[float, float]:
        """Floats around the utility of a best return; of ``-inf``, the limit."""
        if best == -math.inf:
            amount = -math.inf if self.slopes[0] else float(self.knots[0][1])
            return amount, amount
        return floats_around(self(best))

    def steepest(self, most: Number) -> Fraction:
        """The greatest slope up to ``most``."""
        return max([s for (x, _), s in zip(self.knots, self.slopes, strict=False) if x < most] or [self.slopes[0]])

    def turns(self, least: Number, most: Number) -> list[Fraction]:
        """Where the slope changes between two returns."""
        inner = zip(self.knots[1:-1], itertools.pairwise(self.slopes), strict=True)
        return [x for (x, _), (before, after) in inner if before != after and least < x < most]

    def of_values(self, values: Floats) -> tuple[Floats, Floats]:
        """Floats around the utilities of values [n]."""
        pairs = [self.around(x) for x in values.tolist()]
        return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


Knots: TypeAlias = Sequence[tuple[Number, Number]] | Utility  # as callers give them


def utility_of(given: Any) -> Utility | None:
    """A utility as callers give it: knots, or None for the best return itself."""
    return given if given is None or isinstance(given, Utility) else Utility(given)


def _checked(given: Any) -> tuple[tuple[Fraction, Fraction], ...]:
    knots = _listed(given)
    if knots is None:
        raise InputError(f"utility must be a list of knots (best return, utility), not {checks.shown(given)}")
    if not 2 <= len(knots) <= MOST_KNOTS:
        raise InputError(f"utility must have 2 to {MOST_KNOTS} knots, not {len(knots)}")
    exact: list[tuple[Fraction, Fraction]] = []
    for i, one in enumerate(knots):
        knot = _listed(one)
        if knot is None or len(knot) != 2:
            raise InputError(f"utility[{i}] must be a pair (best return, utility), not {checks.shown(one)}")
        if any(isinstance(number, bool | np.bool_) for number in knot):
            raise InputError(f"utility[{i}] must be a pair of numbers, not {checks.shown(one)}")
        x, u = (checks.exact_number(number, f"utility[{i}][{j}]") for j, number in enumerate(knot))
        exact.append((x, u))
    slopes: list[Fraction] = []
    for i, ((x, u), (y, v)) in enumerate(itertools.pairwise(exact), 1):
        if y <= x:
            raise InputError(f"utility[{i}]: best returns must rise, but {float(y):g} follows {float(x):g}")
        if v < u:
            raise InputError(f"utility[{i}]: a utility must not fall, but {float(v):g} follows {float(u):g}")
        slopes.append((v - u) / (y - x))
        if len(slopes) > 1 and slopes[-1] < slopes[-2]:
            raise InputError(
                f"utility[{i - 1}]: a utility must be convex, but its slope falls there from {float(slopes[-2]):g} to "
                f"{float(slopes[-1]):g}; the planner's bounds hold for convex ones alone"
            )
    return tuple(exact)


def _listed(given: Any) -> Sequence[Any] | None:
    """A list, a tuple or an array as a sequence; None for anything else."""
    plain = given.tolist() if type(given) is np.ndarray else given
    return plain if checks.is_list(plain) else None
