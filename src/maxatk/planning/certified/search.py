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
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.stopping import StoppedError
from maxatk.engines.engine import SharedEngine
from maxatk.planning.certified.curve_maker import Effort
from maxatk.planning.certified.floor import repeated_mean
from maxatk.planning.certified.lattice import common_step, common_step_of, returns_apart
from maxatk.planning.certified.off_lattice import OffLattice
from maxatk.planning.certified.on_lattice import OnLattice
from maxatk.planning.certified.on_reached import few_reached
from maxatk.planning.certified.passes import LatticePass, Pass
from maxatk.planning.certified.plan import CertifiedPlan, Evidence
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.plan import Progress, Reporter, Status
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem

# The default tolerance (docs/theory/planner.md, 11).
RELATIVE_TOL = 1e-3  # of what the tries after the first add
FLOOR_TOL = 1e-6  # of the value, or of the range of returns if that is less


class Search:
    """One search for a plan, and all that is known so far.

    Args:
        shared: the problem, and the engine that sweeps its slices.
        tol: the gap to reach; None for the default.
        report: whom to tell where the search stands.
    """

    def __init__(
        self, shared: SharedEngine[DecisionProblem], tol: float | None, report: Reporter | None
    ) -> None:  # fmt: skip
        self._began, self._shared, self._report = time.perf_counter(), shared, report
        self._problem = problem = shared.known
        self._asked = None if tol is None else float(tol)
        self._effort = Effort(TUNING.default_work if tol is None else math.inf)
        self._one_rollout = math.inf  # no policy earns more with a single rollout, as far as is known
        # What is known: the best pass, the least upper bound, and what repeating the mean-optimal policy earns. What
        # takes one pass over the problem is not part of the search: without it nothing could be said.
        self._first = LatticePass(self._first_method(), self._effort)
        if problem.costly:
            self._best, self._repeated = self._first.until_the_mean(problem.most), -math.inf
        else:
            self._best = self._first.nothing_yet()
            self._repeated = max(problem.best_around[0], problem.least, problem.mean - self._first.rounding)
        self._upper, self._rounding = self._best.upper, self._first.rounding  # rounding: of the best pass

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self._began

    def tol(self) -> float:
        """The gap to reach: what was asked for, or by default relative to what rollouts after the first add."""
        if self._asked is not None:
            return self._asked
        lower, upper = self._lower, max(self._upper, self._lower)
        added = RELATIVE_TOL * (lower - self._one_rollout)
        size = min(max(abs(lower), abs(upper)), self._problem.most - self._problem.least)
        return max(added, FLOOR_TOL * size, 2 * self._rounding)

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
        self._best.method.record_no_more()
        best, lower, tol = self._best, self._lower, self.tol()
        upper = max(self._upper, lower)
        if status is None or upper - lower <= tol:
            status = Status.WITHIN_TOL if upper - lower <= tol else Status.ROUNDING
        return CertifiedPlan(
            problem=self._problem,
            lower=lower,
            upper=upper,
            status=status,
            stats={
                "slices": self._effort.slices,
                "lattice_step": best.method.lattice.kappa,
                "exact_lattice": float(best.method.exact),
                "knots": sum(len(curve.line_slope) for curve in best.curves.tail[:-1]),
                "tol": tol,
                "rounding": self._rounding,
                "seconds": self.seconds,
            },
            _evidence=Evidence(
                method=best.method,
                curves=best.curves,
                start=best.start,
                stop_at=best.stop_at,
                gap_after_first=best.gap,
                tol=tol,
                rounding=self._rounding,
                repeats_mean=self._repeats,
            ),
        )

    @property
    def _repeats(self) -> bool:
        """Whether repeating the mean-optimal policy is surer to earn more than what the passes found."""
        return self._repeated > self._best.lower + self._rounding

    @property
    def _lower(self) -> float:
        """What the best policy known is sure to earn."""
        return max(self._repeated if self._repeats else self._best.lower, self._problem.best_around[0])

    @property
    def _width(self) -> float:
        return self._upper - self._lower

    def _keep(self, new: Pass, rounding: float) -> None:
        """Lower bound and policy come from one pass, and the better one is kept; upper bounds may be of any."""
        self._upper = min(self._upper, new.upper)
        slack = rounding if self._best.start == -math.inf else 0.0  # a pass says more than the mean
        if new.lower > self._best.lower - slack:
            self._best, self._rounding = new, rounding

    def _tell(self, rollout: int) -> None:
        if self._report is not None:
            upper, slices = max(self._upper, self._lower), self._effort.slices
            self._report(Progress(self._lower, upper, rollout, slices, self.seconds, self.tol()))

    # Finer and finer lattices.

    def _search(self) -> Status | None:
        """Passes over finer and finer lattices, until the interval is narrow, or as narrow as can be."""
        present = self._first
        if self._problem.costly:
            if self._problem.mean <= present.method.lattice.floor:
                # One rollout at most: whatever it returns, another does not pay.
                self._keep(present.until_the_mean(self._problem.mean), present.rounding)
                return None
            if self._problem.k == 1 and self._problem.best_so_far == -math.inf:  # all that counts is the mean
                self._upper = min(self._upper, self._problem.mean + present.rounding)
            self._know_one_rollout()
            self._pass(present)  # at least one, to know when to stop
        else:
            if self._problem.incumbent >= self._problem.most:  # nothing can be improved
                return None
            mean_alone = self._problem.ends_with_best and self._problem.incumbent <= self._problem.least
            if self._problem.k == 1 and mean_alone:
                self._upper = min(self._upper, self._problem.mean + present.rounding)
                return None
            repeated = repeated_mean(self._problem.mdp, self._problem.k, self._problem.best_so_far)
            self._repeated = max(self._repeated, repeated)
            self._know_one_rollout()
            self._tell(self._problem.k)
            if self._asked is None or self._width > self.tol():  # by default curves are known, too
                self._pass(present)
        done = 0.0  # the work before the last pass
        while self._width > self.tol() and not present.method.exact and present.method.lattice.kappa > self._finest:
            finer = self._finer(present.method)
            # As many slices as in the last pass, each of so many times the cells.
            times = present.method.lattice.kappa / finer.lattice.kappa
            work, done = (self._effort.work - done) * times, self._effort.work
            if done + work > self._effort.most_work:
                return Status.WORK_LIMIT
            present = LatticePass(finer, self._effort)
            self._pass(present)
        return None

    def _pass(self, present: LatticePass) -> None:
        """All curves on one lattice. Each is finished before the next one is begun.

        The default tolerance narrows as more is known. Where no finer lattice is to come, curves that were made for
        a wider one are made again. What a policy would have to sweep again is recorded, within what jobs may take.
        """
        present.method.record()
        again = True
        while again:
            asked = self.tol()
            for rollout, known in present.curves(self.tol):
                self._keep(known, present.rounding)
                self._tell(rollout)
            again = present.method.exact and self.tol() < min(self._width, asked / 2)

    def _know_one_rollout(self) -> None:
        """Bound the value of a single rollout: what the default tolerance is relative to."""
        if self._asked is None and self._problem.k > 1:
            self._one_rollout = self._first.value_of_one()

    def _first_method(self) -> SliceMethod:
        """The lattice of a common step if that has few points or rollouts come to few of them, else a coarse one."""
        mdp, problem = self._problem.mdp, self._problem
        finest = self._step or common_step_of(mdp)
        if finest is not None and (few := few_reached(self._shared, float(finest))) is not None:
            return few
        if self._step is not None and returns_apart(mdp) <= TUNING.exact_points * self._step:
            return OnLattice(self._shared, float(self._step))
        span, size = problem.most - problem.least, float(np.abs(mdp.reward).max())
        kappa = max(max(span, 1e-3 * size, 1e-300) / TUNING.coarse_points, self._finest)
        return OffLattice(self._shared, kappa)

    def _finer(self, method: SliceMethod) -> SliceMethod:
        """The next lattice: by as much finer as the gap is to be narrower, if that can be guessed."""
        # Where time may run out, what is half done is lost: smaller strides.
        least = 1 / 4 if stopping.current().timed else 1 / 16
        stride = min(max((0.7 * self.tol() / max(self._width, 1e-300)) ** 0.6, least), 1 / 2)
        kappa = max(method.lattice.kappa * stride, self._finest)
        if self._step is not None and kappa <= self._step:
            return OnLattice(self._shared, float(self._step))
        return OffLattice(self._shared, kappa)

    @cached_property
    def _step(self) -> Fraction | None:
        """The step that all rewards are multiples of; where they are all 0, one of the size of the costs."""
        mdp = self._problem.mdp
        if self._problem.costly and not mdp.reward.any():
            dearest = self._problem.rollout_cost + mdp.horizon * float(mdp.action_cost.max())
            return Fraction(2.0 ** math.ceil(math.log2(dearest)))
        return common_step(mdp)

    @property
    def _finest(self) -> float:
        """A step far below the rewards would be all digits, or have no index."""
        mdp, span = self._problem.mdp, self._problem.most - self._problem.least
        return max(1e-9 * span, float(np.abs(mdp.reward).max()) * mdp.horizon / (kernels.WIDEST // 2))
