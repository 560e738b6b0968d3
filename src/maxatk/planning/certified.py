"""The certified planner: an interval that contains the optimum, and a policy that earns its lower end.

Inside a rollout the best return ``M`` does not change, so all that one rollout passes to the one before is a convex
curve ``U_i(m)``. Curves are built from the last to the first; each needs only some *knots*, and a knot is a *slice*:
one rollout swept backwards with ``m`` held fixed. Where all rewards are multiples of a common step the sweep is exact,
and only what lies between the knots is uncertain; otherwise chords above and planes below bound what lies between
lattice points, too, and the lattice is refined until the interval is as narrow as asked (docs/theory/planner.md).

Whatever is known at any moment is kept in one place, so that a search that is stopped has something to give back: the
best policy of those that a pass over a lattice found, those that an unfinished pass leaves, and the one that maximises
the mean in every rollout.

Where rollouts cost something, curves are those of docs/theory/costs.md: one may stop, and from the threshold on each
curve is ``m`` itself.
"""

import math
import time
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.stopping import StoppedError
from maxatk.base.workers import Workers
from maxatk.engines.crew import Crew
from maxatk.planning.certified_plan import Certificate, CertifiedPlan
from maxatk.planning.curve_maker import CurveMaker, Stop
from maxatk.planning.curves import Curve, Curves, at_least, distance, identity
from maxatk.planning.elsewhere import Elsewhere
from maxatk.planning.floor import repeated_mean
from maxatk.planning.lattice import Lattice, RealLattice, WholeLattice, common_step, returns_apart
from maxatk.planning.plan import Progress, Reporter, Status
from maxatk.planning.sweeper import DEVICES, Sweeper, sweeper_on
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem

# The default tolerance (docs/theory/planner.md, 11).
RELATIVE_TOL = 1e-3  # of what the tries after the first add
FLOOR_TOL = 1e-6  # of the value, or of the range of returns if that is less


@dataclass(frozen=True)
class Certified:
    """Plan to a certified interval.

    Args:
        tol: the gap to reach, in units of the return. By default a thousandth of what the rollouts after the first
            add to the value, but no less than a millionth of the value or of the range of returns, whichever is less;
            and the search ends after 3 * 10**11 multiply-adds, a few minutes on two cores, with the status "work
            limit". That count does not depend on the machine, so results do not either.
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

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> CertifiedPlan:
        """Plan ``problem``; ``progress`` is as :func:`maxatk.solve` hands it."""
        memory = None if self.max_memory is None else float(self.max_memory)
        with Workers(self.threads) as workers:
            sweeper = sweeper_on(self.device, memory, workers)
            if self.executor is not None:
                sweeper = Elsewhere(Crew(self.executor, problem), sweeper, self.device)
            with stopping.scope(patient=True):
                search = _Search(problem, self.tol, sweeper, self.device, progress)
            with stopping.scope(None if self.time_limit is None else self.time_limit - search.seconds):
                return search.run()


@dataclass(frozen=True)
class _Pass:
    """What the curves of one lattice give, finished or not: bounds, rounded outward, and what the policy acts on."""

    lower: float
    upper: float
    lattice: Lattice
    curves: Curves
    start: float  # the best return that stands for the incumbent in the first rollout; -inf to maximise the mean
    gap: float  # the largest between the bounds of the curve after the first rollout
    stop_at: float = math.inf  # the best return at which to stop


class _Search:
    """One search for a plan, and all that is known so far."""

    def __init__(
        self,
        problem: DecisionProblem,
        tol: float | None,
        sweeper: Sweeper,
        device: str,
        report: Reporter | None,
    ) -> None:
        self.problem, self.mdp, self.k = problem, problem.mdp, problem.k
        self._device, self._report, self._began = device, report, time.perf_counter()
        # What takes one pass over the problem is not part of the search: without it nothing could be said.
        self._maker = maker = CurveMaker(problem, sweeper)
        self._asked = None if tol is None else float(tol)
        maker.most_work = TUNING.default_work if tol is None else math.inf
        self._one_rollout = math.inf  # no policy earns more with a single rollout, as far as is known
        # What is known: the best pass, the least upper bound, and what repeating the mean-optimal policy earns.
        lattice = self._first_lattice()
        mean = self.problem.mean - self.rounding(lattice)
        if self.problem.costly:
            self._best, self._repeated = self._until_the_mean(lattice, self.problem.most), -math.inf
        else:
            self._best = self._unfinished(lattice, self._no_curves(lattice), Stop(math.inf, self.problem.most))
            self._repeated = max(self.problem.best_around[0], self.problem.least, mean)
        self._upper = self._best.upper

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self._began

    @property
    def tol(self) -> float:
        """The gap to reach: what was asked for, or by default relative to what rollouts after the first add."""
        if self._asked is not None:
            return self._asked
        lower, upper = self._lower, max(self._upper, self._lower)
        added = RELATIVE_TOL * (lower - self._one_rollout)
        size = min(max(abs(lower), abs(upper)), self.problem.most - self.problem.least)
        return max(added, FLOOR_TOL * size, 2 * self.rounding(self._best.lattice))

    # What comes back, and when.

    def run(self) -> CertifiedPlan:
        """Search until the interval is narrow or something ends it: the one place that decides what comes back."""
        status = None
        try:
            status = self._search()
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
        rounding, tol = self.rounding(best.lattice), self.tol
        upper = max(self._upper, lower)
        if status is None or upper - lower <= tol:
            status = Status.WITHIN_TOL if upper - lower <= tol else Status.ROUNDING
        return CertifiedPlan(
            problem=self.problem,
            lower=lower,
            upper=upper,
            status=status,
            stats={
                "slices": self._maker.slices,
                "lattice_step": best.lattice.kappa,
                "exact_lattice": float(best.lattice.whole),
                "knots": sum(len(curve.line_slope) for curve in best.curves.tail[:-1]),
                "tol": tol,
                "rounding": rounding,
                "seconds": self.seconds,
            },
            lattice=best.lattice,
            curves=best.curves,
            start=best.start,
            device=self._device,
            certificate=Certificate(tol, rounding, best.gap, self._repeats, best.stop_at),
        )

    @property
    def _repeats(self) -> bool:
        """Whether repeating the mean-optimal policy is surer to earn more than what the passes found."""
        return self._repeated > self._best.lower + self.rounding(self._best.lattice)

    @property
    def _lower(self) -> float:
        """What the best policy known is sure to earn."""
        return max(self._repeated if self._repeats else self._best.lower, self.problem.best_around[0])

    def _keep(self, new: _Pass) -> None:
        """Lower bound and policy come from one pass, and the better one is kept; upper bounds may be of any."""
        self._upper = min(self._upper, new.upper)
        slack = self.rounding(new.lattice) if self._best.start == -math.inf else 0.0  # a pass says more than the mean
        if new.lower > self._best.lower - slack:
            self._best = new

    def _tell(self, rollout: int) -> None:
        if self._report is not None:
            upper = max(self._upper, self._lower)
            self._report(Progress(self._lower, upper, rollout, self._maker.slices, self.seconds, self.tol))

    def rounding(self, lattice: Lattice) -> float:
        """What floating point may have added up to: bounded by magnitude, rollout by rollout (planner.md, 10)."""
        return self.k * self._maker.rounding(lattice)

    # The search: finer and finer lattices.

    def _first_lattice(self) -> Lattice:
        """The lattice of a common step if that has few points, else a coarse one."""
        if self._step is not None and returns_apart(self.mdp) <= TUNING.exact_points * self._step:
            return self._whole_lattice(self._step)
        span, size = self.problem.most - self.problem.least, float(np.abs(self.mdp.reward).max())
        return self._real_lattice(max(max(span, 1e-3 * size, 1e-300) / TUNING.coarse_points, self._finest))

    def _whole_lattice(self, step: Fraction) -> Lattice:
        return WholeLattice(self.problem, float(step))

    def _real_lattice(self, kappa: float) -> Lattice:
        return RealLattice(self.problem, kappa)

    @cached_property
    def _step(self) -> Fraction | None:
        """The step that all rewards are multiples of; where they are all 0, one of the size of the costs."""
        if self.problem.costly and not self.mdp.reward.any():
            dearest = self.problem.rollout_cost + self.mdp.horizon * float(self.mdp.action_cost.max())
            return Fraction(2.0 ** math.ceil(math.log2(dearest)))
        return common_step(self.mdp)

    @property
    def _finest(self) -> float:
        """A step far below the rewards would be all digits, or have no index."""
        size = float(np.abs(self.mdp.reward).max())
        return max(1e-9 * (self.problem.most - self.problem.least), size * self.mdp.horizon / (kernels.WIDEST // 2))

    def _search(self) -> Status | None:
        """Passes over finer and finer lattices, until the interval is narrow enough, or as narrow as can be."""
        lattice = self._best.lattice
        if self.problem.costly:
            if (
                self.problem.mean <= lattice.floor
            ):  # one rollout at most: whatever it returns, another is not worth its costs
                self._keep(self._until_the_mean(lattice, self.problem.mean))
                return None
            if self.k == 1 and self._in_hand == -math.inf:  # all that counts is the mean
                self._upper = min(self._upper, self.problem.mean + self.rounding(lattice))
            self._one_rollout = self._value_of_one(lattice)
            self._pass(lattice)  # at least one, to know when to stop
        else:
            if self.problem.incumbent >= self.problem.most:  # nothing can be improved
                return None
            if self.k == 1 and self.problem.incumbent <= self.problem.least:  # all that counts is the mean
                self._upper = min(self._upper, self.problem.mean + self.rounding(lattice))
                return None
            self._repeated = max(self._repeated, repeated_mean(self.mdp, self.k, self.problem.best_so_far))
            self._one_rollout = self._value_of_one(lattice)
            self._tell(self.k)
            if self._asked is None or self._width > self.tol:  # by default curves are known, too
                self._pass(lattice)
        done = 0.0  # the work before the last pass
        while self._width > self.tol and not lattice.whole and lattice.kappa > self._finest:
            finer = self._finer(lattice)
            # As many slices as in the last pass, each of so many times the cells.
            work, done = (self._maker.work - done) * lattice.kappa / finer.kappa, self._maker.work
            if done + work > self._maker.most_work:
                return Status.WORK_LIMIT
            lattice = finer
            self._pass(lattice)
        return None

    def _finer(self, lattice: Lattice) -> Lattice:
        """The next lattice: by as much finer as the gap is to be narrower, if that can be guessed."""
        # Where time may run out, what is half done is lost: smaller strides.
        least = 1 / 4 if stopping.current().timed else 1 / 16
        stride = min(max((0.7 * self.tol / max(self._width, 1e-300)) ** 0.6, least), 1 / 2)
        kappa = max(lattice.kappa * stride, self._finest)
        if self._step is not None and kappa <= self._step:
            return self._whole_lattice(self._step)
        return self._real_lattice(kappa)

    @property
    def _width(self) -> float:
        return self._upper - self._lower

    def _value_of_one(self, lattice: Lattice) -> float:
        """No policy earns more than this with a single rollout: what the default tolerance is relative to."""
        if self._asked is not None or self.k == 1:
            return math.inf
        if self.problem.incumbent <= self.problem.least and not self.problem.costly:
            return self.problem.mean + self._maker.rounding(lattice)
        start = min(max(self._in_hand, lattice.floor), self.problem.most)
        _, upper = self._maker.worth(lattice, self._no_curves(lattice)[self.k], 0.0, start)
        return max(upper + self._maker.rounding(lattice), self.problem.best_around[1])

    def _pass(self, lattice: Lattice) -> None:
        """All curves from the last to the first, on one lattice. Each is finished before the next one is begun."""
        curves = self._no_curves(lattice)
        gap = 0.0  # the largest between the bounds of the curve at hand
        stop = Stop(math.inf, self.problem.most)
        if self.problem.costly and self.k == 1:  # for the threshold alone
            *_, stop = self._maker.last_curve(lattice, curves[1], lattice.share(self._tol_on(lattice), 0.0, 0, 1))
        for i in range(self.k - 1, 0, -1):
            after, share = curves[i + 1], lattice.share(self._tol_on(lattice), gap, i, self.k)
            if i == self.k - 1:
                curve, gap, stop = self._maker.last_curve(lattice, after, share)
            else:
                curve, gap = self._maker.curve(lattice, after, gap, share, stop)
            curves = curves.with_earlier(curve)
            self._keep(self._unfinished(lattice, curves, stop))
            self._tell(i)
            # A curve that is the next one's equal, but for rounding, is the equal of all before it, too: what the
            # sweep does to a curve is monotone and expands no difference.
            if i < self.k - 1 and distance(curve, after) <= self._maker.rounding(lattice):
                break
        start, lower, upper = self._first_rollout(lattice, curves[1], gap, stop)
        self._keep(self._passed(lattice, curves, start, gap, stop, lower, upper))
        self._tell(0)

    def _tol_on(self, lattice: Lattice) -> float:
        """What rounding leaves of the tolerance."""
        return max(self.tol - 2 * self.rounding(lattice), 0.0)

    def _passed(
        self, lattice: Lattice, curves: Curves, start: float, gap: float, stop: Stop, lower: float, upper: float
    ) -> _Pass:
        """A pass, from bounds on what the first rollout is worth."""
        rounding, stop_at = self.rounding(lattice), stop.at
        lower, upper = lower - rounding, upper + rounding
        if self.problem.costly:
            upper = min(upper, self.problem.most)
        if self.problem.costly and self.problem.best_so_far > -math.inf:
            # Unless more is sure to come of it, the first rollout is not made.
            at_least, at_most = self.problem.best_around
            lower, upper = max(lower if self.problem.best_so_far < stop_at else at_least, at_least), max(upper, at_most)
            stop_at = min(stop_at, float(self.problem.best_so_far)) if lower == at_least else stop_at
        return _Pass(lower, upper, lattice, curves, start, gap, stop_at)

    def _no_curves(self, lattice: Lattice) -> Curves:
        """With no rollouts to come, a best return is worth itself."""
        return Curves(self.k, (identity(lattice.floor, self.problem.most),))

    def _first_rollout(self, lattice: Lattice, after: Curve, gap: float, stop: Stop) -> tuple[float, float, float]:
        """The first rollout needs one slice, that of the incumbent: its best return, and bounds."""
        start = max(self._in_hand, self._maker.floor(lattice, after, stop))
        if start >= stop.top:
            return stop.top, float(after.lower(self._in_hand)), stop.top
        lower, upper = self._maker.worth(lattice, after, gap, start)
        return start, lower, min(upper, stop.top)

    @property
    def _in_hand(self) -> float:
        """What curves are asked at: where nothing costs anything, what is below every return is as good as none."""
        return float(self.problem.best_so_far) if self.problem.costly else self.problem.incumbent

    def _unfinished(self, lattice: Lattice, curves: Curves, stop: Stop) -> _Pass:
        """What curves say that do not reach the first rollout (planner.md, 9).

        More rollouts never lower the value, whatever is done in them, and no return exceeds the most.
        """
        after, top = curves.tail[0], stop.top
        points = np.unique([min(self.problem.least, top), top])
        values = np.full(len(points), top)
        flat = replace(after, floor=float(points[0]), point=points, point_value=values)
        lower = float(after.lower(self._in_hand)) - self.rounding(lattice)
        gap = top - float(after.lower(-math.inf if self.problem.costly else self.problem.least))
        # The greatest return is known exactly, a threshold below it is not.
        upper = max(
            min(top + self.rounding(lattice), self.problem.most) if self.problem.costly else top,
            self.problem.best_around[1],
        )
        start = min(max(self._in_hand, lattice.floor), self.problem.most)
        return _Pass(lower, upper, lattice, curves.with_earlier(flat), start, gap, stop.at)

    def _until_the_mean(self, lattice: Lattice, upper: float) -> _Pass:
        """Maximising the mean of a rollout, less its costs, until at least that is in hand (costs.md, 5).

        No curve is more than ``upper``, but for what is in hand.
        """
        curve = at_least(self.problem.mean, upper, self.problem.most)
        curves = self._no_curves(lattice).with_earlier(curve)
        stop = Stop(self.problem.mean, upper)
        return self._passed(lattice, curves, -math.inf, upper - self.problem.mean, stop, self.problem.mean, upper)
