"""Curves ``U_i``: what a best return of ``m`` is worth when rollout ``i`` starts, bounded on both sides.

Every ``U_i`` is convex, nondecreasing, 1-Lipschitz and at least ``m``; it is flat up to the least possible return and
``m`` from the greatest on. So it lies above each of its tangents and below the chords between its points, and a few
*knots*, places where both were computed, pin it down.
"""

import dataclasses
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.errors import InputError
from maxatk.rows import Floats


@dataclass(frozen=True)
class Curve:
    """Bounds of one curve: the greatest of some lines below, a broken line above.

    Line ``i`` is the tangent found at ``line_knot[i]``; it counts from ``line_end[i - 1]`` to ``line_end[i]``. Up to
    ``floor`` the upper bound is taken to be flat. The first line is flat: it is what no return at all is worth.
    """

    floor: float
    line_end: Floats  # [n - 1] rising
    line_height: Floats  # [n] at m = 0
    line_slope: Floats  # [n] rising, from 0 to 1
    line_knot: Floats  # [n]
    point: Floats  # [p] rising; the last is the greatest possible return
    point_value: Floats  # [p] convex

    @classmethod
    def arrays(cls) -> list[str]:
        """The names of the fields that are arrays."""
        return [field.name for field in dataclasses.fields(cls) if field.name != "floor"]

    def check(self) -> None:
        """Refuse arrays, read from a file, that make no curve."""
        lines = len(self.line_slope)
        sizes = [len(self.line_end) + 1, len(self.line_height), len(self.line_knot)]
        if lines < 1 or sizes != [lines] * 3 or len(self.point) < 1 or len(self.point) != len(self.point_value):
            raise InputError("the arrays of a curve differ in length")
        if not all(np.isfinite(getattr(self, name)).all() for name in self.arrays()):
            raise InputError("a curve holds numbers that are not finite")
        if (np.diff(self.line_end) < 0).any() or (np.diff(self.point) <= 0).any():
            raise InputError("a curve does not rise")

    def lower(self, m: Any) -> Any:
        """The lower bound at ``m``, a number or an array."""
        # No return at all is -inf: the flat line counts there, and 0 * inf must not.
        x: Floats = np.asarray(np.maximum(m, -sys.float_info.max))
        line = np.searchsorted(self.line_end, x)
        return self.line_height[line] + self.line_slope[line] * x

    def slope(self, m: float) -> float:
        """A slope of the lower bound at ``m``."""
        return float(self.line_slope[np.searchsorted(self.line_end, m)])

    def upper(self, m: Any) -> Any:
        """The upper bound at ``m``."""
        x: Floats = np.asarray(np.maximum(m, self.floor))
        return np.maximum(np.interp(x, self.point, self.point_value), x)

    @property
    def flat_to(self) -> float:
        """Up to where the lower bound is flat; ``-inf`` where it is not."""
        if self.line_slope[0] > 0:
            return -math.inf
        return float(self.line_end[0]) if len(self.line_end) else math.inf

    def knots(self, m: Floats) -> Floats:
        """The knot whose tangent is the lower bound at each ``m`` [n]."""
        return self.line_knot[np.searchsorted(self.line_end, m)]


def identity(least: float, most: float) -> Curve:
    """``U_K``: with no rollouts to come, a best return is worth itself; so is any difference of returns."""
    far = 2 * (most - least) + max(abs(least), abs(most)) or 1.0  # no farther: interpolation rounds by its size
    ends = np.array([-far, far])
    return Curve(-math.inf, np.zeros(0), np.zeros(1), np.ones(1), np.array([most]), ends, ends)


def from_knots(floor: float, most: float, m: Floats, upper: Floats, lower: Floats, slope: Floats) -> Curve:
    """The curve that knots ``m`` [n] pin down; the first is the floor, and its slope must be 0."""
    order = np.argsort(m, kind="stable")
    m, upper, lower, slope = m[order], upper[order], lower[order], slope[order]
    lines = [(float(s), float(v - s * x), float(x)) for x, v, s in zip(m, lower, slope, strict=True)]
    ends, heights, slopes, knots = _greatest([*lines, (1.0, 0.0, most)])
    point, value = _hull(np.append(m, most), np.append(upper, most))
    return Curve(floor, ends, heights, slopes, knots, point, value)


def _greatest(lines: list[tuple[float, float, float]]) -> tuple[Floats, Floats, Floats, Floats]:
    """The greatest of lines ``(slope, height, knot)``, as ends, heights, slopes and knots of those that count."""
    kept: list[tuple[float, float, float]] = []
    ends: list[float] = []
    for slope, height, knot in sorted(lines):
        if kept and kept[-1][0] == slope:  # of parallel lines the last sorted is the highest
            kept.pop()
            if ends:
                ends.pop()
        while kept:
            cross = (kept[-1][1] - height) / (slope - kept[-1][0])
            if not ends or cross > ends[-1]:
                ends.append(cross)
                break
            kept.pop()
            ends.pop()
        kept.append((slope, height, knot))
    table = np.array(kept)
    return np.array(ends), table[:, 1].copy(), table[:, 0].copy(), table[:, 2].copy()


def _hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The lower convex hull of points with rising ``x``."""
    kept: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while kept and kept[-1][0] == point[0]:
            point = (point[0], min(point[1], kept.pop()[1]))
        while len(kept) > 1 and _above(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    hull = np.array(kept)
    return hull[:, 0].copy(), hull[:, 1].copy()


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether ``b`` lies on or above the line from ``a`` to ``c``."""
    return (b[1] - a[1]) / (b[0] - a[0]) >= (c[1] - a[1]) / (c[0] - a[0])  # products could leave the range of floats
