"""Curves ``U_i``: what a best return of ``m`` is worth when rollout ``i`` starts, bounded on both sides.

Every ``U_i`` is convex, nondecreasing, 1-Lipschitz and at least ``m``; it is flat up to the least possible return and
``m`` from the greatest on. So it lies above each of its tangents and below the chords between its points, and a few
*knots*, places where both were computed, pin it down.
"""

import dataclasses
import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxatk.base.errors import InputError
from maxatk.base.types import Floats


@dataclass(frozen=True)
class Curve:
    """Bounds of one curve: the greatest of some lines below, a broken line above.

    Line ``i`` is the tangent found at ``line_knot[i]``; it counts from ``line_end[i - 1]`` to ``line_end[i]``. Up to
    ``floor`` the upper bound is taken to be flat. The first line is flat: it is what no return at all is worth. A knot
    of ``-inf`` says that a line is earned by maximising the mean, whatever is in hand.
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

    def check(self, least: float, most: float, slack: float) -> None:
        """Refuse arrays, read from a file, that make no curve of a problem with returns in ``[least, most]``.

        ``slack`` is what rounding may have done to its bounds.
        """
        lines = len(self.line_slope)
        sizes = [len(self.line_end) + 1, len(self.line_height), len(self.line_knot)]
        if lines < 1 or sizes != [lines] * 3 or len(self.point) < 1 or len(self.point) != len(self.point_value):
            raise InputError("the arrays of a curve differ in length")
        bounded = ("line_end", "line_height", "line_slope", "point", "point_value")
        if not all(np.isfinite(getattr(self, name)).all() for name in bounded) or math.isnan(self.floor):
            raise InputError("a curve holds numbers that are not finite")
        if (
            (np.diff(self.line_end) < 0).any()
            or (np.diff(self.point) <= 0).any()
            or (np.diff(self.line_slope) < 0).any()
        ):
            raise InputError("a curve does not rise")
        if self.line_slope[0] < 0 or self.line_slope[-1] > 1:
            raise InputError("a curve rises faster than what is in hand")
        if not ((self.line_knot == -math.inf) | ((self.line_knot >= least) & (self.line_knot <= most))).all():
            raise InputError("a curve has knots where no return is")
        # Both bounds are straight between these.
        turns = np.clip(np.concatenate([self.point, self.line_end, [least, most]]), least, most)
        lower, upper = self.lower(turns), self.upper(turns)
        if (lower > upper + slack).any():
            place = int(np.argmax(lower - upper))
            said = f"{lower[place]:g}, and at most {upper[place]:g}"
            raise InputError(f"its bounds contradict each other: at {turns[place]:g} a curve is at least {said}")
        if (lower > most + slack).any():
            raise InputError(f"a curve is at least {float(lower.max()):g}, and no return is more than {most:g}")

    def lower(self, m: Any) -> Any:
        """The lower bound at ``m``, a number or an array."""
        # No return at all is -inf: the flat line counts there, and 0 * inf must not.
        x: Floats = np.asarray(np.maximum(m, -sys.float_info.max))
        line = np.searchsorted(self.line_end, x)
        return self.line_height[line] + self.line_slope[line] * x

    def slope(self, m: Any) -> Any:
        """A slope of the lower bound at ``m``, a number or an array."""
        return self.line_slope[np.searchsorted(self.line_end, m)]

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

    def comes_down_to_m(self, noise: float) -> float:
        """From where on the lower bound is ``m`` itself, but for ``noise``."""
        above = self.line_height[1:] + (self.line_slope[1:] - 1.0) * self.line_end  # where each line begins
        return float(self.line_end[min(int(np.max(np.flatnonzero(above > noise), initial=-1)) + 1, len(above) - 1)])

    def knots(self, m: Floats) -> Floats:
        """The knot whose tangent is the lower bound at each ``m`` [n]."""
        return self.line_knot[np.searchsorted(self.line_end, m)]


class Bounds(NamedTuple):
    """What slices are worth, by knot."""

    upper: Floats  # [n]
    lower: Floats  # [n]
    slope: Floats  # [n] of the lower bound, in m


@dataclass(frozen=True)
class Curves:
    """``U_0`` to ``U_K``: the last of them one by one, and one that stands for all before them.

    ``U_0`` itself is never among them: the first rollout needs a single slice, and has the next curve as a stand-in.
    """

    k: int  # K
    tail: tuple[Curve, ...]  # [n] U_{K-n+1} to U_K; the first stands for all that come before it

    def place(self, i: int) -> int:
        """Where ``U_i`` is found in the tail."""
        return max(i - (self.k + 1 - len(self.tail)), 0)

    def __getitem__(self, i: int) -> Curve:
        return self.tail[self.place(i)]

    def with_earlier(self, curve: Curve) -> "Curves":
        """The same with a curve before the first of the tail."""
        return Curves(self.k, (curve, *self.tail))


def identity(least: float, most: float) -> Curve:
    """``U_K``: with no rollouts to come, a best return is worth itself; so is any difference of returns."""
    far = 2 * (most - least) + max(abs(least), abs(most)) or 1.0  # no farther: interpolation rounds by its size
    ends = np.array([-far, far])
    return Curve(-math.inf, np.zeros(0), np.zeros(1), np.ones(1), np.array([most]), ends, ends)


def from_knots(
    floor: float, most: float, m: Floats, upper: Floats, lower: Floats, slope: Floats, mean: float = -math.inf
) -> Curve:
    """The curve that knots ``m`` [n] pin down; the first is the floor, and its slope must be 0.

    ``mean``: what maximising the mean earns, where that is to be a line of its own.
    """
    order = np.argsort(m, kind="stable")
    m, upper, lower, slope = m[order], upper[order], lower[order], slope[order]
    lines = [(float(s), float(v - s * x), float(x)) for x, v, s in zip(m, lower, slope, strict=True)]
    if mean > -math.inf:
        lines.append((0.0, mean, -math.inf))
    ends, heights, slopes, knots = _greatest([*lines, (1.0, 0.0, most)])
    point, value = _hull(np.append(m, most), np.append(upper, most))
    return Curve(floor, ends, heights, slopes, knots, point, value)


class KnotSet:
    """Knots of a curve, and where more are needed (docs/theory/planner.md, 2).

    More are added where tangents cross, until what lies between two knots is uncertain by no more than is allowed
    beyond what they are themselves.

    Args:
        floor: the first knot; up to there the curve is flat, unless ``mean`` is what it is at least.
        most: from here on the curve is ``m`` itself.
        step: knots are multiples of it, or lie anywhere.
        mean: what maximising the mean earns, where that is to be a line of its own.
    """

    def __init__(self, floor: float, most: float, step: float | None, mean: float = -math.inf) -> None:
        self._floor, self._most, self._step, self._mean = floor, most, step, mean
        self._known: dict[float, tuple[float, float, float]] = {most: (most, most, 1.0)}
        self._gap = 0.0  # the largest anywhere, by the last look

    def add(self, knots: Sequence[float], bounds: Bounds) -> None:
        """Take in what is known at some knots."""
        self._known |= dict(zip(knots, zip(*bounds, strict=True), strict=True))

    def _columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        m = np.array(sorted(self._known))
        upper, lower, slope = np.array([self._known[x] for x in m.tolist()]).T
        return m, upper, lower, np.where(m <= self._floor, 0.0, slope) if self._mean == -math.inf else slope

    @property
    def uncertainty(self) -> float:
        """The largest gap between the bounds at a knot."""
        return max(upper - lower for upper, lower, _ in self._known.values())

    def missing(self, allowed: float) -> list[float]:
        """Where knots are missing, if what lies between two of them may be uncertain by so much more than they are."""
        new, self._gap = _between(*self._columns(), allowed, self._step)
        return new

    def curve(self) -> tuple[Curve, float]:
        """The curve, and the largest gap between its bounds."""
        m, upper, lower, slope = self._columns()
        curve = from_knots(self._floor, self._most, m[:-1], upper[:-1], lower[:-1], slope[:-1], self._mean)
        return curve, max(self._gap, float(upper[0] - curve.lower(-math.inf)))


def _between(
    m: Floats, upper: Floats, lower: Floats, slope: Floats, share: float, kappa: float | None
) -> tuple[list[float], float]:
    """Where tangents of neighbouring knots cross too far below the chord, and the largest gap anywhere.

    With ``kappa`` only lattice points count, since the best return lies on one: the two beside the crossing.
    """
    new: list[float] = []
    largest = float((upper - lower).max())
    tiny = 1e-9 * float(m[-1] - m[0]) if kappa is None else 1e-6 * kappa  # a knot itself is not between
    knots = zip(m.tolist(), upper.tolist(), lower.tolist(), slope.tolist(), strict=True)
    for (a, ua, la, sa), (b, ub, lb, sb) in itertools.pairwise(knots):
        turn = (lb - sb * b - la + sa * a) / (sa - sb) if sa < sb else (a + b) / 2
        turn = min(max(turn, a), b)
        places = [turn] if kappa is None else [kappa * math.floor(turn / kappa), kappa * math.ceil(turn / kappa)]
        worst, place = -math.inf, a
        for x in places:
            if a + tiny < x < b - tiny:
                chord = ua + (ub - ua) * ((x - a) / (b - a))
                gap = chord - max(la + sa * (x - a), lb + sb * (x - b))
                worst, place = max((worst, place), (gap, x))
        largest = max(largest, worst)
        if worst - max(ua - la, ub - lb) > share:
            new.append(place)
    return new, largest


def lowered(curve: Curve, stop_at: float) -> tuple[Curve, float]:
    """The curve with all lines but that of ``m`` itself lowered, until none promises more than ``m`` at ``stop_at``.

    And by how much: then stopping there keeps every promise (docs/theory/costs.md, 5).
    """
    lines = list(zip(curve.line_slope.tolist(), curve.line_height.tolist(), curve.line_knot.tolist(), strict=True))
    others = [line for line in lines if line[:2] != (1.0, 0.0)]
    most = max((height + slope * stop_at for slope, height, _ in others), default=-math.inf)
    above = max(most - stop_at, 0.0)
    if above == 0.0:
        return curve, 0.0
    mine = [line for line in lines if line[:2] == (1.0, 0.0)]
    ends, heights, slopes, knots = _greatest([*((s, height - above, x) for s, height, x in others), *mine])
    return replace(curve, line_end=ends, line_height=heights, line_slope=slopes, line_knot=knots), above


def at_least(amount: float, upper: float, most: float) -> Curve:
    """What is in hand, or ``amount`` for maximising the mean, whichever is more; no more than ``upper``, or ``m``."""
    ends, heights, slopes, knots = _greatest([(0.0, amount, -math.inf), (1.0, 0.0, most)])
    return Curve(upper, ends, heights, slopes, knots, np.array([upper]), np.array([upper]))


def distance(curve: Curve, other: Curve) -> float:
    """How far the bounds of two curves are apart at most, anywhere."""
    both = (curve, other)
    points = np.concatenate([c.point for c in both])  # upper bounds are straight between their points
    ends = np.concatenate([[-math.inf], *(c.line_end for c in both)])  # and lower ones between the ends of their lines
    return max(
        float(np.abs(curve.upper(points) - other.upper(points)).max()),
        float(np.abs(curve.lower(ends) - other.lower(ends)).max()),
    )


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
