"""The certified planner: an interval that contains the optimum, and a policy that earns its lower end.

Inside a rollout the best return ``M`` does not change, so all that one rollout passes to the one before is a convex
curve ``U_i(m)``. Curves are built from the last to the first; each needs only some *knots*, and a knot is a *slice*:
one rollout swept backwards with ``m`` held fixed. Where all rewards are multiples of a common step the sweep is exact,
and only what lies between the knots is uncertain; otherwise chords above and planes below bound what lies between
lattice points, too, and the lattice is refined until the interval is as narrow as asked (docs/theory/planner.md).

Whatever is known at any moment is kept in one place, so that a search that is stopped has something to give back: the
best policy of those that a pass over a lattice found, those that an unfinished pass leaves, and the one that maximises
the mean in every rollout.
"""

import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.returns import floats_around
from maxatk.base.stopping import StoppedError
from maxatk.base.workers import Workers
from maxatk.engines.crew import Crew
from maxatk.planning.certified_plan import Certificate, CertifiedPlan
from maxatk.planning.curves import Bounds, Curve, Curves, build, distance, from_knots, identity
from maxatk.planning.elsewhere import Elsewhere
from maxatk.planning.floor import repeated_mean
from maxatk.planning.lattice import Lattice, RealLattice, WholeLattice, common_step, returns_apart
from maxatk.planning.plan import Progress, Reporter, Status
from maxatk.planning.sweeper import DEVICES, Sweeper, last_rollout, solve_slices, sweeper_on
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective

EXACT_POINTS = 50_000  # a lattice of at most so many points is swept exactly, whatever the tolerance
TABLE_POINTS = 2**22  # of a table that holds the last curve at all lattice points
FIRST_KNOTS = 7  # with the floor, two sweeps of four
COARSE_POINTS = 128  # of the first lattice for rewards without a common step


@dataclass(frozen=True)
class Certified:
    """Plan to a certified interval.

    Args:
        tol: the width to reach, in units of the return; by default a thousandth of the difference between the largest
            possible return and the value of a single rollout.
        time_limit: seconds after which the best interval so far is returned.
        max_memory: bytes that the tables of slices may take together; by default half of the memory that there is.
        threads: how many threads sweep; by default one per core. Results do not depend on it.
        device: ``"cpu"``, ``"gpu"`` for the first CUDA device (extra ``gpu``), or ``"auto"`` for a GPU if there is one.
            On a GPU ``max_memory`` is that of the device, by default nine tenths of what is free.
        executor: any ``concurrent.futures.Executor``, such as :class:`maxatk.engines.Ray`: slices are swept by its
            workers, each on the device. What workers lose is swept here. Results do not depend on it.
    """

    tol: float | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int | None = None
    device: str = "cpu"
    executor: Executor | None = None

    def __post_init__(self) -> None:
        for name in ("tol", "time_limit", "max_memory"):
            value = getattr(self, name)
            if value is not None and checks.exact_number(value, name) < 0:
                raise InputError(f"{name} must not be negative, but is {value}")
        if self.threads is not None:
            checks.integer(self.threads, "threads", least=1)
        if self.device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(map(repr, DEVICES))}, not {checks.shown(self.device)}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise InputError(f"executor must be a concurrent.futures.Executor, not {checks.shown(self.executor)}")

    def solve(self, mdp: MDP, objective: Objective, progress: Reporter | None = None) -> CertifiedPlan:
        """Plan ``mdp`` for ``objective``; ``progress`` is as :func:`maxatk.solve` hands it."""
        memory = None if self.max_memory is None else float(self.max_memory)
        with Workers(self.threads) as workers:
            sweeper = sweeper_on(self.device, memory, workers)
            if self.executor is not None:
                sweeper = Elsewhere(Crew(self.executor, mdp), sweeper, self.device)
            with stopping.scope(patient=True):
                search = _Search(mdp, objective, self.tol, sweeper, self.device, progress)
            with stopping.scope(None if self.time_limit is None else self.time_limit - search.seconds):
                return search.run()


@dataclass(frozen=True)
class _Pass:
    """What the curves of one lattice give, finished or not: bounds, rounded outward, and what the policy acts on."""

    lower: float
    upper: float
    lattice: Lattice
    curves: Curves
    start: float  # the best return that stands for the incumbent in the first rollout
    gap: float  # the largest between the bounds of the curve after the first rollout


class _Search:
    """One search for a plan, and all that is known so far."""

    def __init__(
        self,
        mdp: MDP,
        objective: Objective,
        tol: float | None,
        sweeper: Sweeper,
        device: str,
        report: Reporter | None,
    ) -> None:
        self.mdp, self.objective = mdp, objective
        self.k, self.best_so_far = objective.k, objective.best_so_far
        self._sweeper, self._device, self._report = sweeper, device, report
        self._began, self._slices = time.perf_counter(), 0
        # What takes one pass over the problem is not part of the search: without it nothing could be said.
        self.least, self.most = mdp.return_range
        self.mean = mdp.mean_optimal[1]
        self.incumbent = max(float(self.best_so_far), self.least)  # below the least return it is as good as none
        self._most_outcomes = int(np.diff(mdp.outcome_start).max())
        self.tol = 1e-3 * max(self.most - self.mean, 0.0) if tol is None else float(tol)
        # What is known: the best pass, the least upper bound, and what repeating the mean-optimal policy earns.
        self._best = self._unfinished(self._first_lattice(), Curves(self.k, (identity(self.least, self.most),)))
        self._upper = self._best.upper
        mean = self.mean - self.rounding(self._best.lattice)
        self._repeated = max(self._floats_of_best[0], self.least, mean)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self._began

    @property
    def _floats_of_best(self) -> tuple[float, float]:
        """The floats around the return in hand."""
        return (-math.inf, -math.inf) if self.best_so_far == -math.inf else floats_around(Fraction(self.best_so_far))

    # What comes back, and when.

    def run(self) -> CertifiedPlan:
        """Search until the interval is narrow or something ends it: the one place that decides what comes back."""
        status = None
        try:
            self._search()
        except StoppedError as stop:
            status = Status(stop.reason)
        except (TooLargeError, MemoryError):
            status = Status.MEMORY_LIMIT
        except KeyboardInterrupt:  # raised by whoever is told of the progress
            stopping.current().end(stopping.Reason.INTERRUPTED)
            status = Status.INTERRUPTED
        return self._plan(status)

    def _plan(self, status: Status | None) -> CertifiedPlan:
        best, lower = self._best, self._lower
        rounding = self.rounding(best.lattice)
        upper = max(self._upper, lower)
        if status is None or upper - lower <= self.tol:
            status = Status.WITHIN_TOL if upper - lower <= self.tol else Status.ROUNDING
        return CertifiedPlan(
            mdp=self.mdp,
            objective=self.objective,
            lower=lower,
            upper=upper,
            status=status,
            stats={
                "slices": self._slices,
                "lattice_step": best.lattice.kappa,
                "exact_lattice": float(best.lattice.whole),
                "knots": sum(len(curve.line_slope) for curve in best.curves.tail[:-1]),
                "tol": self.tol,
                "rounding": rounding,
                "seconds": self.seconds,
            },
            lattice=best.lattice,
            curves=best.curves,
            start=best.start,
            device=self._device,
            certificate=Certificate(self.tol, rounding, best.gap, self._repeats),
        )

    @property
    def _repeats(self) -> bool:
        """Whether repeating the mean-optimal policy is surer to earn more than what the passes found."""
        return self._repeated > self._best.lower + self.rounding(self._best.lattice)

    @property
    def _lower(self) -> float:
        """What the best policy known is sure to earn."""
        return max(self._repeated if self._repeats else self._best.lower, self._floats_of_best[0])

    def _keep(self, new: _Pass) -> None:
        """Lower bound and policy come from one pass, and the better one is kept; upper bounds may be of any."""
        self._upper = min(self._upper, new.upper)
        if new.lower > self._best.lower:
            self._best = new

    def _tell(self, rollout: int) -> None:
        if self._report is not None:
            upper = max(self._upper, self._lower)
            self._report(Progress(self._lower, upper, rollout, self._slices, self.seconds, self.tol))

    def rounding(self, lattice: Lattice) -> float:
        """What floating point may have added up to: bounded by magnitude, rollout by rollout (planner.md, 10)."""
        return self.k * self._rounding_of_one(lattice)

    def _rounding_of_one(self, lattice: Lattice) -> float:
        H = self.mdp.horizon
        size = lattice.largest + abs(self.incumbent) + lattice.blur
        return (H * (4 * self._most_outcomes + 16) + 32) * 2.0**-53 * size + H * lattice.error

    # The search: finer and finer lattices.

    def _first_lattice(self) -> Lattice:
        """The lattice of a common step if that has few points, else a coarse one."""
        if self._step is not None and returns_apart(self.mdp) <= EXACT_POINTS * self._step:
            return WholeLattice(self.mdp, float(self._step))
        span, size = self.most - self.least, float(np.abs(self.mdp.reward).max())
        return RealLattice(self.mdp, max(max(span, 1e-3 * size, 1e-300) / COARSE_POINTS, self._finest))

    @cached_property
    def _step(self) -> Fraction | None:
        return common_step(self.mdp)

    @property
    def _finest(self) -> float:
        """A step far below the rewards would be all digits, or have no index."""
        size = float(np.abs(self.mdp.reward).max())
        return max(1e-9 * (self.most - self.least), size * self.mdp.horizon / (kernels.WIDEST // 2))

    def _search(self) -> None:
        """Passes over finer and finer lattices, until the interval is narrow enough, or as narrow as can be."""
        lattice = self._best.lattice
        if self.incumbent >= self.most:  # nothing can be improved
            return
        if self.k == 1 and self.incumbent <= self.least:  # all that counts is the mean
            self._upper = min(self._upper, self.mean + self.rounding(lattice))
            return
        self._repeated = max(self._repeated, repeated_mean(self.mdp, self.k, self.best_so_far))
        self._tell(self.k)
        while self._width > self.tol:
            self._pass(lattice)
            if lattice.whole or lattice.kappa <= self._finest:
                return
            # Where time may run out, what is half done is lost: smaller strides.
            least = 1 / 4 if stopping.current().timed else 1 / 16
            stride = min(max((0.7 * self.tol / max(self._width, 1e-300)) ** 0.6, least), 1 / 2)
            kappa = max(lattice.kappa * stride, self._finest)
            if self._step is not None and kappa <= self._step:
                lattice = WholeLattice(self.mdp, float(self._step))
            else:
                lattice = RealLattice(self.mdp, kappa)

    @property
    def _width(self) -> float:
        return self._upper - self._lower

    def _pass(self, lattice: Lattice) -> None:
        """All curves from the last to the first, on one lattice. Each is finished before the next one is begun."""
        curves = Curves(self.k, (identity(self.least, self.most),))
        gap = 0.0  # the largest between the bounds of the curve at hand
        tol = max(self.tol - 2 * self.rounding(lattice), 0.0)
        for i in range(self.k - 1, 0, -1):
            after = curves[i + 1]
            curve, gap = self._curve(lattice, i, after, gap, lattice.share(tol, gap, i, self.k))
            curves = curves.with_earlier(curve)
            self._keep(self._unfinished(lattice, curves))
            self._tell(i)
            # A curve that is the next one's equal, but for rounding, is the equal of all before it, too: what the
            # sweep does to a curve is monotone and expands no difference.
            if i < self.k - 1 and distance(curve, after) <= self._rounding_of_one(lattice):
                break
        start, lower, upper = self._first_rollout(lattice, curves[1], gap)
        rounding = self.rounding(lattice)
        self._keep(_Pass(lower - rounding, upper + rounding, lattice, curves, start, gap))
        self._tell(0)

    def _first_rollout(self, lattice: Lattice, after: Curve, gap: float) -> tuple[float, float, float]:
        """The first rollout needs one slice, that of the incumbent: its best return, and bounds."""
        start = max(self.incumbent, self._floor(lattice, after))
        if start >= self.most:
            return self.most, float(after.lower(self.incumbent)), self.most
        self._slices += 1
        bounds = solve_slices(self._sweeper, lattice, after, gap, [start])
        return start, float(bounds.lower[0]), min(float(bounds.upper[0]), self.most)

    def _unfinished(self, lattice: Lattice, curves: Curves) -> _Pass:
        """What curves say that do not reach the first rollout (planner.md, 9).

        More rollouts never lower the value, whatever is done in them, and no return exceeds the most.
        """
        after = curves.tail[0]
        points = np.unique([self.least, self.most])
        flat = replace(after, floor=self.least, point=points, point_value=np.full(len(points), self.most))
        lower = float(after.lower(self.incumbent)) - self.rounding(lattice)
        gap = self.most - float(after.lower(self.least))
        upper = max(self.most, self._floats_of_best[1])
        return _Pass(lower, upper, lattice, curves.with_earlier(flat), min(self.incumbent, self.most), gap)

    def _floor(self, lattice: Lattice, after: Curve) -> float:
        """A best return that is as good as none under the next curve's lower bound: where that stops being flat."""
        flat = min(after.flat_to, self.most)
        if flat <= self.least:
            return self.least
        return lattice.knot(flat)

    # One curve.

    def _curve(self, lattice: Lattice, i: int, after: Curve, gap: float, share: float) -> tuple[Curve, float]:
        """Curve ``i`` and the largest gap between its bounds."""
        if i == self.k - 1:
            return self._last_curve(lattice, after, share)
        floor = self._floor(lattice, after)
        if floor >= self.most:  # the largest return is as good as certain: more rollouts change nothing
            hull = np.array([self.most])
            flat = replace(after, floor=self.most, point=hull, point_value=hull)
            return flat, self.most - float(after.lower(-math.inf))
        # Where the next curve turns this one will, too: some of its knots to begin with, so that threads have work.
        inner = after.line_knot[(after.line_knot > floor) & (after.line_knot < self.most)]
        useful = inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()
        knots = [floor, *self._incumbent_above(floor), *useful]
        by_slices = partial(self._by_slices, lattice, after, gap)
        return build(by_slices, knots, self.most, partial(self._enough, lattice, share), lattice.knot_step)

    def _by_slices(self, lattice: Lattice, after: Curve, gap: float, knots: Sequence[float]) -> Bounds:
        """Bounds of a curve at some knots, by a slice for each."""
        self._slices += len(knots)
        return solve_slices(self._sweeper, lattice, after, gap, knots)

    def _enough(self, lattice: Lattice, share: float, gap: float) -> float:
        """How exact knots are to make a curve, if they themselves are uncertain by ``gap`` at most.

        Knots far more exact than the lattice would be wasted on it; all curves together lose an eighth.
        """
        noise = 2.0**-48 * (lattice.largest + abs(self.incumbent))  # no knot is worth less than this
        return max(share, noise, gap / (8 * self.k))

    def _last_curve(self, lattice: Lattice, after: Curve, share: float) -> tuple[Curve, float]:
        """The last rollout's curve: one sweep holds it at all lattice points, and only some are kept as knots.

        Far down it is at least the mean, which a policy earns that maximises the mean, and at most what it is at the
        lowest point of the table (docs/theory/planner.md, 4).
        """
        enough = partial(self._enough, lattice, share)
        by_slices = partial(self._by_slices, lattice, after, 0.0)
        end, top = lattice.index(self.least), lattice.last_index(self.most)
        bottom = max(end, lattice.index(self.mean - 2 * (self.most - self.mean)))
        while True:
            if top - bottom > TABLE_POINTS:  # most of the points would be empty
                knots = [self.least, *self._incumbent_above(self.least)]
                return build(by_slices, knots, self.most, enough, lattice.knot_step, self.mean)
            self._slices += 1
            table = last_rollout(self._sweeper, lattice, bottom, top, after)
            if bottom == end or table.upper[0] - self.mean <= share / 2:
                break
            bottom = max(end, top - 4 * (top - bottom) - 1)
        floor = lattice.kappa * bottom
        if floor >= self.most:  # the largest return is as good as certain
            none = np.zeros(0)
            return from_knots(self.most, self.most, none, none, none, none, self.mean), self.most - self.mean
        incumbent = self._incumbent_above(floor)

        def look_up(m: float) -> tuple[float, float, float]:
            if m in incumbent:
                (bounds,) = zip(*solve_slices(self._sweeper, lattice, after, 0.0, [m]), strict=True)
                return bounds
            at = round(m / lattice.kappa) - bottom
            return table.upper[at], table.lower[at], table.slope[at]

        def from_table(knots: Sequence[float]) -> Bounds:
            return Bounds(*np.array([look_up(m) for m in knots]).T)

        return build(from_table, [floor, *incumbent], self.most, enough, lattice.kappa, self.mean)

    def _incumbent_above(self, floor: float) -> list[float]:
        """The incumbent is a knot of every curve, since it may stay the best return for long."""
        return [self.incumbent] if floor < self.incumbent < self.most else []
