"""How the certified planner makes curves: from slices at some knots, the last one from a single sweep.

Where rollouts cost something the last curve says when to stop, and all others end there (docs/theory/costs.md, 5).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from maxatk import kernels
from maxatk.planning.curves import Bounds, Curve, at_least, build, from_knots, lowered
from maxatk.planning.lattice import Lattice
from maxatk.planning.sweeper import Sweeper, last_rollout, solve_slices
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem

FIRST_KNOTS = 7  # with the floor, two sweeps of four
MOST_STEPS = 20  # of Newton's method for the threshold at which to stop


@dataclass(frozen=True)
class Stop:
    """When a rollout is no longer worth its costs."""

    at: float  # the best return at which the policy stops
    top: float  # from here on every curve is m itself


def table_fits(lattice: Lattice, bottom: int, top: int) -> bool:
    """Whether one sweep may hold the last curve at lattice points ``bottom .. top``.

    Not where most of them would be empty, nor where no index reaches them from the middle of all returns.
    """
    middle = lattice.drift * lattice.mdp.horizon
    return top - bottom <= TUNING.table_points and max(abs(middle - bottom), abs(middle - top)) < kernels.WIDEST


class CurveMaker:
    """Makes the curves of one problem, on any lattice.

    Args:
        problem: what is to be planned.
        sweeper: who sweeps slices.
    """

    def __init__(self, problem: DecisionProblem, sweeper: Sweeper) -> None:
        self.problem, self.mdp, self.k = problem, problem.mdp, problem.k
        self.slices = 0  # solved so far
        self.work = 0.0  # multiply-adds that they took, as if no window were cut by ``m``
        self.most_work = math.inf  # from which on curves get no more knots than they begin with
        self._sweeper = sweeper
        self._most_outcomes = int(np.diff(problem.mdp.outcome_start).max())

    def worth(self, lattice: Lattice, after: Curve, gap: float, m: float) -> tuple[float, float]:
        """Bounds on what a rollout is worth with ``m`` in hand, from below and from above."""
        self._count(lattice, 1)
        bounds = solve_slices(self._sweeper, lattice, after, gap, [m])
        return float(bounds.lower[0]), float(bounds.upper[0])

    def _count(self, lattice: Lattice, slices: int) -> None:
        self.slices += slices
        self.work += slices * self.mdp.horizon * lattice.work

    def rounding(self, lattice: Lattice) -> float:
        """What floating point may add up to in one rollout (docs/theory/planner.md, 10)."""
        H = self.mdp.horizon
        size = (
            self.problem.largest
            + abs(self.problem.incumbent)
            + lattice.blur
            + (abs(lattice.floor) if self.problem.may_abandon else 0.0)
        )
        return (H * (4 * self._most_outcomes + 16) + 32) * 2.0**-53 * size + H * lattice.error

    def floor(self, lattice: Lattice, after: Curve, stop: Stop) -> float:
        """A best return that is as good as none under the next curve's lower bound: where that stops being flat."""
        flat = min(after.flat_to, stop.top)
        if flat <= (self.problem.least if not self.problem.costly else -math.inf):
            return lattice.floor
        knot = lattice.knot(flat)
        return max(knot, lattice.floor) if self.problem.costly and not self.problem.may_abandon else knot

    def curve(self, lattice: Lattice, after: Curve, gap: float, share: float, stop: Stop) -> tuple[Curve, float]:
        """A curve before the last, and the largest gap between its bounds."""
        floor = self.floor(lattice, after, stop)
        if floor >= stop.top:  # the largest return is as good as certain: more rollouts change nothing
            hull = np.array([stop.top])
            flat = replace(after, floor=stop.top, point=hull, point_value=hull)
            return flat, stop.top - float(after.lower(-math.inf))
        # Where the next curve turns this one will, too: some of its knots to begin with, so that threads have work.
        inner = after.line_knot[(after.line_knot > floor) & (after.line_knot < stop.top)]
        useful = inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()
        knots = [floor, *self._incumbent_above(floor, stop.top), *useful]
        by_slices = partial(self._by_slices, lattice, after, gap, floor)
        curve, gap = build(by_slices, knots, stop.top, partial(self._enough, lattice, share), lattice.knot_step)
        return self._that_stops(curve, gap, stop.at)

    def _that_stops(self, curve: Curve, gap: float, stop_at: float) -> tuple[Curve, float]:
        """A curve that promises no more than ``m`` from ``stop_at`` on; and its gap, which that may widen."""
        if not self.problem.costly:
            return curve, gap
        curve, by = lowered(curve, stop_at)
        return curve, gap + by

    def _by_slices(
        self, lattice: Lattice, after: Curve, gap: float, floor: float, knots: Sequence[float]
    ) -> Bounds:  # fmt: skip
        """Bounds of a curve at some knots, by a slice for each."""
        self._count(lattice, len(knots))
        return self._or_stopping(floor, knots, solve_slices(self._sweeper, lattice, after, gap, knots))

    def _or_stopping(self, floor: float, knots: Sequence[float], bounds: Bounds) -> Bounds:
        """Bounds on what a rollout is worth, or ``m`` where it need not be made; that is a line of every curve.

        The floor stays as it is: from there on down a curve is flat.
        """
        if not self.problem.costly:
            return bounds
        m = np.asarray(knots)
        stops = (bounds.lower < m) & (m > floor)
        lower, slope = np.where(stops, m, bounds.lower), np.where(stops, 1.0, bounds.slope)
        return Bounds(np.maximum(bounds.upper, m), lower, slope)

    def _enough(self, lattice: Lattice, share: float, gap: float) -> float:
        """How exact knots are to make a curve, if they themselves are uncertain by ``gap`` at most.

        Knots far more exact than the lattice would be wasted on it; all curves together lose an eighth.
        """
        if self.work > self.most_work:
            return math.inf
        noise = 2.0**-48 * (self.problem.largest + abs(self.problem.incumbent))  # no knot is worth less than this
        return max(share, noise, gap / (8 * self.k))

    def last_curve(self, lattice: Lattice, after: Curve, share: float) -> tuple[Curve, float, Stop]:
        """The last rollout's curve: one sweep holds it at all lattice points, and only some are kept as knots.

        Far down it is at least the mean, which a policy earns that maximises the mean, and at most what it is at the
        lowest point of the table (docs/theory/planner.md, 4). It says when to stop, too.
        """
        enough = partial(self._enough, lattice, share)
        by_slices = partial(self._by_slices, lattice, after, 0.0, lattice.floor)
        end, top = lattice.index(lattice.floor), lattice.last_index(self.problem.most)
        bottom = max(end, lattice.index(self.problem.mean - 2 * (self.problem.most - self.problem.mean)))
        while True:
            if not table_fits(lattice, bottom, top):
                knots = [lattice.floor, *self._incumbent_above(lattice.floor, self.problem.most)]
                return self._stopping(
                    lattice, by_slices, by_slices, knots, self.problem.most, enough, lattice.knot_step
                )
            self._count(lattice, 1)
            table = last_rollout(self._sweeper, lattice, bottom, top, after)
            if bottom == end or table.upper[0] - self.problem.mean <= share / 2:
                break
            bottom = max(end, top - 4 * (top - bottom) - 1)
        floor = lattice.kappa * bottom
        points = lattice.kappa * np.arange(bottom, top + 1)
        not_worth_it = points[table.upper <= points] if self.problem.costly else points[:0]
        most = min(float(not_worth_it[0]) if len(not_worth_it) else self.problem.most, self.problem.most)
        if floor >= most and len(not_worth_it):  # no best return makes another rollout worth its costs
            return (
                at_least(self.problem.mean, most, self.problem.most),
                most - self.problem.mean,
                Stop(min(self.problem.mean, most), most),
            )
        if floor >= most:  # the largest return is as good as certain
            none = np.zeros(0)
            flat = from_knots(self.problem.most, self.problem.most, none, none, none, none, self.problem.mean)
            return flat, self.problem.most - self.problem.mean, Stop(math.inf, self.problem.most)
        incumbent = self._incumbent_above(floor, most)

        def look_up(m: float) -> tuple[float, float, float]:
            at = round(m / lattice.kappa) - bottom
            if m in incumbent or m != points[at]:
                (bounds,) = zip(*solve_slices(self._sweeper, lattice, after, 0.0, [m]), strict=True)
                return bounds
            return table.upper[at], table.lower[at], table.slope[at]

        def from_table(knots: Sequence[float]) -> Bounds:
            return self._or_stopping(floor, knots, Bounds(*np.array([look_up(m) for m in knots]).T))

        knots = [floor, *incumbent]
        return self._stopping(lattice, from_table, by_slices, knots, most, enough, lattice.kappa)

    def _stopping(
        self,
        lattice: Lattice,
        solve: Callable[[Sequence[float]], Bounds],
        by_slices: Callable[[Sequence[float]], Bounds],
        knots: list[float],
        top: float,
        enough: Callable[[float], float],
        step: float | None,
    ) -> tuple[Curve, float, Stop]:
        """The last curve from its first knots, and when to stop: where its lower bound comes down to ``m``.

        Slices are added there until they no longer rise above it, which is Newton's method (costs.md, 5).
        """
        curve, gap = build(solve, knots, top, enough, step, self.problem.mean)
        if not self.problem.costly:
            return curve, gap, Stop(math.inf, self.problem.most)
        noise = self.rounding(lattice)
        for _ in range(MOST_STEPS):
            at = curve.comes_down_to_m(noise)
            if not knots[0] < at < top or float(by_slices([at]).lower[0]) <= at + noise:
                break
            knots = [*knots, at]
            curve, gap = build(solve, knots, top, enough, step, self.problem.mean)
        # Rounding may take the end of a line that is nearly as steep as m beyond all returns.
        at = min(lattice.nearby_point(curve.comes_down_to_m(noise), noise), self.problem.most)
        return *self._that_stops(curve, gap, at), Stop(at, max(at, top))

    def _incumbent_above(self, floor: float, top: float) -> list[float]:
        """The incumbent is a knot of every curve, since it may stay the best return for long."""
        return [self.problem.incumbent] if floor < self.problem.incumbent < top else []
