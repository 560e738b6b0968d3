"""How curves are made: from slices at some knots, the last one from a single sweep.

Where rollouts cost something the last curve says when to stop, and all others end there (docs/theory/costs.md, 5).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from maxatk.planning.certified.curves import Bounds, Curve, KnotSet, at_least, from_knots, lowered
from maxatk.planning.certified.slices import SliceMethod

FIRST_KNOTS = 7  # with the floor, two sweeps of four
MOST_STEPS = 20  # of Newton's method for the threshold at which to stop

SolveKnots = Callable[[Sequence[float]], Bounds]


@dataclass(frozen=True)
class Stop:
    """When a rollout no longer pays."""

    at: float  # the best return at which the policy stops
    top: float  # from here on every curve is m itself


@dataclass
class Effort:
    """What a search has done, over all its lattices."""

    most_work: float = math.inf  # from which on curves get no more knots than they begin with
    slices: int = 0  # solved so far
    work: float = 0.0  # multiply-adds that they took, as if no window were cut by ``m``


class CurveMaker:
    """Makes the curves of one problem on one lattice.

    Args:
        method: how slices are swept.
        effort: what the search has done, which is added to.
    """

    def __init__(self, method: SliceMethod, effort: Effort) -> None:
        self.method, self.effort = method, effort
        self._problem, self._lattice = method.problem, method.lattice

    def value(self, after: Curve, gap: float, m: float) -> tuple[float, float]:
        """Bounds on the value of a rollout with the best return ``m``, from below and from above."""
        self._count(1)
        bounds = self.method.solve(after, gap, [m])
        return float(bounds.lower[0]), float(bounds.upper[0])

    def _count(self, slices: int) -> None:
        self.effort.slices += slices
        self.effort.work += slices * self._problem.mdp.horizon * self.method.work

    def floor(self, after: Curve, stop: Stop) -> float:
        """A best return that is as good as none under the next curve's lower bound: where that stops being flat."""
        problem, lattice = self._problem, self._lattice
        flat = min(after.flat_to, stop.top)
        if flat <= (problem.least if not problem.costly else -math.inf):
            return lattice.floor
        knot = lattice.knot(flat)
        return max(knot, lattice.floor) if problem.costly and not problem.may_abandon else knot

    def curve(self, after: Curve, gap: float, share: float, stop: Stop) -> tuple[Curve, float]:
        """A curve before the last, and the largest gap between its bounds."""
        floor = self.floor(after, stop)
        if floor >= stop.top:  # the largest return is as good as certain: more rollouts change nothing
            hull = np.array([stop.top])
            flat = replace(after, floor=stop.top, point=hull, point_value=hull)
            return flat, stop.top - float(after.lower(-math.inf))
        # Where the next curve turns this one will, too: some of its knots to begin with, so that threads have work.
        inner = after.line_knot[(after.line_knot > floor) & (after.line_knot < stop.top)]
        useful = inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()
        knots = [floor, *self._incumbent_above(floor, stop.top), *useful]
        solve = partial(self._by_slices, after, gap, floor)
        curve, gap = self._refined(solve, knots, stop.top, share, self._lattice.knot_step)
        return self._that_stops(curve, gap, stop.at)

    def _refined(
        self,
        solve: SolveKnots,
        knots: Sequence[float],
        top: float,
        share: float,
        step: float | None,
        mean: float = -math.inf,
    ) -> tuple[Curve, float]:
        """A curve from its first knots, the floor first, with more where they are missing; and its largest gap."""
        known = KnotSet(knots[0], top, step, mean)
        new = sorted(set(knots))
        while new:
            known.add(new, solve(new))
            new = known.missing(self._tolerance(share, known.uncertainty))
        return known.curve()

    def _that_stops(self, curve: Curve, gap: float, at: float) -> tuple[Curve, float]:
        """A curve that promises no more than ``m`` from a threshold on; and its gap, which that may widen."""
        if not self._problem.costly:
            return curve, gap
        curve, by = lowered(curve, at)
        return curve, gap + by

    def _by_slices(self, after: Curve, gap: float, floor: float, knots: Sequence[float]) -> Bounds:
        """Bounds of a curve at some knots, by a slice for each."""
        self._count(len(knots))
        return self._or_stopping(floor, knots, self.method.solve(after, gap, knots))

    def _or_stopping(self, floor: float, knots: Sequence[float], bounds: Bounds) -> Bounds:
        """Bounds on the value of a rollout, or ``m`` where it need not be made; that is a line of every curve.

        The floor stays as it is: from there on down a curve is flat.
        """
        if not self._problem.costly:
            return bounds
        m = np.asarray(knots)
        stops = (bounds.lower < m) & (m > floor)
        lower, slope = np.where(stops, m, bounds.lower), np.where(stops, 1.0, bounds.slope)
        return Bounds(np.maximum(bounds.upper, m), lower, slope)

    def _tolerance(self, share: float, gap: float) -> float:
        """How exact knots are to make a curve, if they themselves are uncertain by ``gap`` at most.

        Knots far more exact than the lattice would be wasted on it; all curves together lose an eighth.
        """
        if self.effort.work > self.effort.most_work:
            return math.inf
        noise = 2.0**-48 * (self._problem.largest + abs(self._problem.incumbent))  # no knot is worth less than this
        return max(share, noise, gap / (8 * self._problem.k))

    def last_curve(self, after: Curve, share: float) -> tuple[Curve, float, Stop]:
        """The last rollout's curve: one sweep holds it at all lattice points, and only some are kept as knots.

        Far down it is at least the mean, which a policy earns that maximises the mean, and at most what it is at the
        lowest point of the table (docs/theory/planner.md, 4). It says when to stop, too.
        """
        problem, lattice, method = self._problem, self._lattice, self.method
        mean, most = problem.mean, problem.most
        by_slices = partial(self._by_slices, after, 0.0, lattice.floor)
        end, top = lattice.index(lattice.floor), lattice.last_index(most)
        bottom = max(end, lattice.index(mean - 2 * (most - mean)))
        while True:
            if not method.table_fits(bottom, top):
                knots = [lattice.floor, *self._incumbent_above(lattice.floor, most)]
                return self._stopping(by_slices, by_slices, knots, most, share, lattice.knot_step)
            self._count(1)
            table = method.table(bottom, top, after)
            if bottom == end or table.upper[0] - mean <= share / 2:
                break
            bottom = max(end, top - 4 * (top - bottom) - 1)
        floor = lattice.kappa * bottom
        points = lattice.kappa * np.arange(bottom, top + 1)
        not_paying = points[table.upper <= points] if problem.costly else points[:0]
        ceiling = min(float(not_paying[0]) if len(not_paying) else most, most)
        if floor >= ceiling and len(not_paying):  # another rollout pays at no best return
            return at_least(mean, ceiling, most), ceiling - mean, Stop(min(mean, ceiling), ceiling)
        if floor >= ceiling:  # the largest return is as good as certain
            none = np.zeros(0)
            return from_knots(most, most, none, none, none, none, mean), most - mean, Stop(math.inf, most)
        incumbent = self._incumbent_above(floor, ceiling)

        def look_up(m: float) -> tuple[float, float, float]:
            at = round(m / lattice.kappa) - bottom
            if m in incumbent or m != points[at]:
                (bounds,) = zip(*method.solve(after, 0.0, [m]), strict=True)
                return bounds
            return table.upper[at], table.lower[at], table.slope[at]

        def from_table(knots: Sequence[float]) -> Bounds:
            return self._or_stopping(floor, knots, Bounds(*np.array([look_up(m) for m in knots]).T))

        return self._stopping(from_table, by_slices, [floor, *incumbent], ceiling, share, lattice.kappa)

    def _stopping(
        self,
        solve: SolveKnots,
        by_slices: SolveKnots,
        knots: list[float],
        top: float,
        share: float,
        step: float | None,
    ) -> tuple[Curve, float, Stop]:
        """The last curve from its first knots, and when to stop: where its lower bound comes down to ``m``.

        Slices are added there until they no longer rise above it, which is Newton's method (costs.md, 5).
        """
        problem = self._problem
        curve, gap = self._refined(solve, knots, top, share, step, problem.mean)
        if not problem.costly:
            return curve, gap, Stop(math.inf, problem.most)
        noise = self.method.rounding
        for _ in range(MOST_STEPS):
            at = curve.comes_down_to_m(noise)
            if not knots[0] < at < top or float(by_slices([at]).lower[0]) <= at + noise:
                break
            knots = [*knots, at]
            curve, gap = self._refined(solve, knots, top, share, step, problem.mean)
        # Rounding may take the end of a line that is nearly as steep as m beyond all returns.
        at = min(self._lattice.nearby_point(curve.comes_down_to_m(noise), noise), problem.most)
        return *self._that_stops(curve, gap, at), Stop(at, max(at, top))

    def _incumbent_above(self, floor: float, top: float) -> list[float]:
        """The incumbent is a knot of every curve, since it may stay the best return for long."""
        return [self._problem.incumbent] if floor < self._problem.incumbent < top else []
