"""One pass: all curves on one lattice, from the last to the first, and what they prove so far."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from maxatk.planning.certified.curve_maker import CurveMaker, Effort, Stop
from maxatk.planning.certified.curves import Curve, Curves, at_least, distance
from maxatk.planning.certified.payoffs import final_curve
from maxatk.planning.certified.slices import SliceMethod


@dataclass(frozen=True)
class Pass:
    """What the curves of one lattice give, finished or not: bounds, rounded outward, and what the policy acts on."""

    lower: float
    upper: float
    method: SliceMethod
    curves: Curves
    start: float  # the best return that stands for the incumbent in the first rollout; -inf to maximise the mean
    gap: float  # the largest between the bounds of the curve after the first rollout
    stop_at: float = math.inf  # the best return at which to stop


class LatticePass:
    """Makes the curves of a problem on one lattice.

    Args:
        method: how slices are swept.
        effort: what the search has done, which is added to.
    """

    def __init__(self, method: SliceMethod, effort: Effort) -> None:
        self.method = method
        self._problem, self._k = method.problem, method.problem.k
        self._maker = CurveMaker(method, effort)

    @property
    def rounding(self) -> float:
        """What floating point may have added up to: bounded by magnitude, rollout by rollout (planner.md, 10)."""
        return self._k * self.method.rounding

    def curves(self, tol: Callable[[], float]) -> Iterator[tuple[int, Pass]]:
        """All curves: what is known after each, with the rollout that it is of.

        ``tol`` says how narrow the interval is to be, which may depend on what is known by then.
        """
        problem, k, maker, method = self._problem, self._k, self._maker, self.method
        curves = self._no_curves()
        gap = 0.0  # the largest between the bounds of the curve at hand
        stop = Stop(math.inf, problem.most)
        if problem.costly and k == 1:  # for the threshold alone
            *_, stop = maker.last_curve(curves[1], method.share(self._left(tol()), 0.0, 0, 1))
        for i in range(k - 1, 0, -1):
            after, share = curves[i + 1], method.share(self._left(tol()), gap, i, k)
            if i == k - 1 and problem.ends_with_best:
                curve, gap, stop = maker.last_curve(after, share)
            else:
                curve, gap = maker.curve(after, gap, share, stop)
            method.acts_on(after, set(curve.line_knot.tolist()))
            curves = curves.with_earlier(curve)
            yield i, self._unfinished(curves, stop)
            # A curve that is the next one's equal, but for rounding, is the equal of all before it, too: what the
            # sweep does to a curve is monotone and expands no difference.
            if i < k - 1 and distance(curve, after) <= method.rounding:
                break
        start, lower, upper = self._first_rollout(curves[1], gap, stop)
        yield 0, self._passed(curves, start, gap, stop, lower, upper)

    def _left(self, tol: float) -> float:
        """What rounding leaves of a tolerance."""
        return max(tol - 2 * self.rounding, 0.0)

    def value_of_one(self) -> float:
        """No policy earns more than this with a single rollout."""
        problem = self._problem
        if problem.incumbent <= problem.least and not problem.costly and problem.ends_with_best:
            return problem.mean + self.method.rounding
        _, upper = self._maker.value(self._no_curves()[self._k], 0.0, self._within(self._asked_at))
        return max(upper + self.method.rounding, problem.best_around[1])

    def nothing_yet(self) -> Pass:
        """What is known before any curve."""
        return self._unfinished(self._no_curves(), Stop(math.inf, self._problem.most))

    def until_the_mean(self, upper: float) -> Pass:
        """Maximising the mean of a rollout, less its costs, until the best return is at least that (costs.md, 5).

        No curve is more than ``upper``, but for the best return itself.
        """
        mean = self._problem.mean
        curves = self._no_curves().with_earlier(at_least(mean, upper, self._problem.most))
        return self._passed(curves, -math.inf, upper - mean, Stop(mean, upper), mean, upper)

    @property
    def _asked_at(self) -> float:
        """The best return at which curves are asked: without costs, all that lie below every return are alike."""
        return float(self._problem.best_so_far) if self._problem.costly else self._problem.incumbent

    def _within(self, m: float) -> float:
        """The nearest best return for which there is a slice."""
        return min(max(m, self.method.lattice.floor), self._problem.most)

    def _no_curves(self) -> Curves:
        """With no rollouts to come, the value of a best return is that return, or its utility."""
        return Curves(self._k, (final_curve(self._problem, self.method.lattice.floor),))

    def _first_rollout(self, after: Curve, gap: float, stop: Stop) -> tuple[float, float, float]:
        """The first rollout needs one slice, that of the incumbent: its best return, and bounds."""
        start = max(self._asked_at, self._maker.floor(after, stop))
        if start >= stop.top:
            return stop.top, float(after.lower(self._asked_at)), stop.top
        lower, upper = self._maker.value(after, gap, start)
        return start, lower, min(upper, stop.top)

    def _passed(self, curves: Curves, start: float, gap: float, stop: Stop, lower: float, upper: float) -> Pass:
        """A pass, from bounds on the value of the first rollout."""
        problem, at = self._problem, stop.at
        lower, upper = lower - self.rounding, upper + self.rounding
        if problem.costly:
            upper = min(upper, problem.most)
        if problem.costly and problem.best_so_far > -math.inf:
            # Unless more is sure to come of it, the first rollout is not made.
            least, most = problem.best_around
            lower, upper = max(lower if problem.best_so_far < at else least, least), max(upper, most)
            at = min(at, float(problem.best_so_far)) if lower == least else at
        return Pass(lower, upper, self.method, curves, start, gap, at)

    def _unfinished(self, curves: Curves, stop: Stop) -> Pass:
        """What curves say that do not reach the first rollout (planner.md, 9).

        More rollouts never lower the value, whatever is done in them, and no return exceeds the greatest.
        """
        problem, after, top = self._problem, curves.tail[0], stop.top
        points = np.unique([min(problem.least, top), top])
        flat = replace(after, floor=float(points[0]), point=points, point_value=np.full(len(points), top))
        lower = float(after.lower(self._asked_at)) - self.rounding
        gap = top - float(after.lower(-math.inf if problem.costly else problem.least))
        # The greatest return is known exactly, a threshold below it is not.
        upper = min(top + self.rounding, problem.most) if problem.costly else top
        upper = max(upper, problem.best_around[1])
        start = self._within(self._asked_at)
        return Pass(lower, upper, self.method, curves.with_earlier(flat), start, gap, stop.at)
