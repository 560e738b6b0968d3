"""The certified planner: an interval that contains the optimum, and a policy that earns its lower end.

Inside a rollout the best return ``M`` does not change, so all that one rollout passes to the one before is a convex
curve ``U_i(m)``. Curves are built from the last to the first; each needs only some *knots*, and a knot is a *slice*:
one rollout swept backwards with ``m`` held fixed. Where all rewards are multiples of a common step the sweep is exact,
and only what lies between the knots is uncertain; otherwise chords above and planes below bound what lies between
lattice points, too, and the lattice is refined until the interval is as narrow as asked.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk import checks, kernels
from maxatk.checks import Number
from maxatk.errors import InputError, TooLargeError
from maxatk.mdp import MDP
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.curves import Curve, from_knots, identity
from maxatk.planning.lattice import Bounds, Lattice, common_step, last_rollout, mean_values, solve_slices
from maxatk.planning.plan import Progress, Reporter, Status, floats_around
from maxatk.rows import Floats

EXACT_POINTS = 50_000  # a lattice of at most so many points is swept exactly, whatever the tolerance
FIRST_KNOTS = 7  # with the floor, two sweeps of four
COARSE_POINTS = 128  # of the first lattice for rewards without a common step


@dataclass(frozen=True)
class Certified:
    """Plan to a certified interval.

    Args:
        tol: the width to reach, in units of the return; by default a thousandth of the difference between the largest
            possible return and the value of a single rollout.
        time_limit: seconds after which the best interval so far is returned.
        max_memory: bytes that the tables of slices may take together; by default half of this machine's memory.
        threads: how many slices are swept at once; by default one per core. Results do not depend on it.
    """

    tol: float | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("tol", "time_limit", "max_memory"):
            value = getattr(self, name)
            if value is not None and checks.exact_number(value, name) < 0:
                raise InputError(f"{name} must not be negative, but is {value}")
        if self.threads is not None:
            checks.integer(self.threads, "threads", least=1)

    def solve(self, mdp: MDP, k: int, best_so_far: Number, progress: Reporter | None = None) -> CertifiedPlan:
        """Plan ``k`` rollouts of ``mdp``; ``best_so_far`` and ``progress`` are as :func:`maxatk.solve` hands them."""
        with _Work(self, progress) as work:
            return _Search(mdp, k, best_so_far, self.tol, work).run()


class _StoppedError(Exception):
    """The time or memory that was granted is used up, or the user asked for an end."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class _Work:
    """What a search may use: threads, time, memory; and a count of what it used."""

    def __init__(self, config: Certified, report: Reporter | None) -> None:
        self.threads = config.threads or os.cpu_count() or 1
        self.began = time.perf_counter()
        self._deadline = math.inf if config.time_limit is None else self.began + config.time_limit
        self.memory = float(checks.memory() / 2 if config.max_memory is None else config.max_memory)
        self.slices = 0
        self._report = report
        self._pool = ThreadPoolExecutor(self.threads)

    def __enter__(self) -> "_Work":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def unlimited(self) -> bool:
        """Whether there is all the time in the world."""
        return self._deadline == math.inf

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """Map over slices, in order, as long as there is time and memory."""

        def one(item: Any) -> Any:
            if time.perf_counter() > self._deadline:
                raise _StoppedError(Status.TIME_LIMIT)
            try:
                return function(item)
            except (TooLargeError, MemoryError):
                raise _StoppedError(Status.MEMORY_LIMIT) from None

        return self._pool.map(one, items)

    @property
    def slice_memory(self) -> float:
        """What one of several slices at a time may take."""
        return self.memory / self.threads

    def report(self, lower: float, upper: float, rollout: int) -> None:
        if self._report is not None:
            self._report(Progress(lower, upper, rollout, self.slices, self.seconds))


@dataclass(frozen=True)
class _Pass:
    """What one lattice gave: bounds, and the curves that the policy acts on. Without rounding."""

    lower: float
    upper: float
    lattice: Lattice
    curves: list[Curve]  # [K + 1], the first unused
    start: float  # the best return that stands for the incumbent in the first rollout
    gap: float  # the largest between the bounds of the curve after the first rollout
    stopped: Status | None


class _Search:
    """One search for a plan."""

    def __init__(self, mdp: MDP, k: int, best_so_far: Number, tol: float | None, work: _Work) -> None:
        self.mdp, self.k, self.best_so_far, self.work = mdp, k, best_so_far, work
        self.least, self.most = mdp.return_range
        self.incumbent = max(float(best_so_far), self.least)  # below the least return it is as good as none
        means = mean_values(mdp)[0, mdp.start_state]
        self.mean = float(means @ mdp.reset_prob)
        self._most_outcomes = int(np.diff(mdp.outcome_start).max())
        self.tol = 1e-3 * max(self.most - self.mean, 0.0) if tol is None else float(tol)

    def run(self) -> CertifiedPlan:
        best, status = self._refine()
        rounding = self.rounding(best.lattice)
        lower, upper = best.lower - rounding, best.upper + rounding
        if status is None:
            status = Status.WITHIN_TOL if upper - lower <= self.tol else Status.ROUNDING
        return CertifiedPlan(
            mdp=self.mdp,
            k=self.k,
            best_so_far=self.best_so_far,
            lower=max(
                lower, -math.inf if self.best_so_far == -math.inf else floats_around(Fraction(self.best_so_far))[0]
            ),
            upper=upper,
            status=status,
            stats={
                "slices": self.work.slices,
                "lattice_step": best.lattice.kappa,
                "exact_lattice": float(best.lattice.exact),
                "knots": sum(len(curve.line_slope) for curve in best.curves[1 : self.k]),
                "tol": self.tol,
                "rounding": rounding,
                "gap_after_first": best.gap,
                "seconds": self.work.seconds,
            },
            lattice=best.lattice,
            curves=tuple(best.curves),
            start=best.start,
        )

    def rounding(self, lattice: Lattice) -> float:
        """What floating point may have added up to: bounded by magnitude, rollout by rollout.

        A backup of ``b`` outcomes errs by ``b + 3`` units in the last place of its largest term, a row's
        normalisation by two more, and evaluating a curve by some more at the end of each rollout.
        """
        H = self.mdp.horizon
        size = lattice.largest + abs(self.incumbent)
        per_rollout = (H * (self._most_outcomes + 6) + 16) * 2.0**-53 * size + H * lattice.error
        return self.k * per_rollout

    def _refine(self) -> tuple[_Pass, Status | None]:
        """Passes over finer and finer lattices, until the interval is narrow enough or something runs out."""
        step = common_step(self.mdp)
        span = self.most - self.least
        if step is not None and span <= EXACT_POINTS * step:
            best = self._pass(Lattice(self.mdp, float(step), exact=True))
            return best, best.stopped
        size = float(np.abs(self.mdp.reward).max())
        # A step far below the rewards would be all digits, or have no index.
        finest = max(1e-9 * span, size * self.mdp.horizon / (kernels.NEVER // 8))
        kappa = max(max(span, 1e-3 * size, 1e-300) / COARSE_POINTS, finest)
        best: _Pass | None = None
        if self.most - max(self.mean, self.incumbent) <= self.tol:  # there is nothing to plan for
            return self._given_up(Lattice(self.mdp, kappa, exact=False), [identity(self.least, self.most)], None), None
        while True:
            exact = step is not None and kappa <= step
            lattice = Lattice(self.mdp, float(step) if exact and step is not None else kappa, exact)
            found = self._pass(lattice)
            best = found if best is None else _better(best, found)
            width = best.upper - best.lower + 2 * self.rounding(best.lattice)
            if found.stopped is not None and width > self.tol:
                return best, found.stopped
            if width <= self.tol or exact or kappa <= finest:
                return best, None
            least = 1 / 16 if self.work.unlimited else 1 / 4  # where time may run out, what is half done is lost
            kappa = max(kappa * min(max((0.7 * self.tol / width) ** 0.6, least), 1 / 2), finest)

    def _pass(self, lattice: Lattice) -> _Pass:
        """All curves from the last to the first, on one lattice. Each is finished before the next one is begun."""
        curves = [identity(self.least, self.most)]
        gap = 0.0  # the largest between the bounds of the curve at hand
        # On an exact lattice only knots cost accuracy; otherwise they share the tolerance with the lattice.
        budget = max(self.tol - 2 * self.rounding(lattice), 0.0) * (1.0 if lattice.exact else 0.5)
        try:
            for i in range(self.k - 1, 0, -1):
                # The last curve's knots cost nothing, so it takes little; the others share what is left.
                left = max(budget - gap, 0.0) if lattice.exact else budget
                share = left / 20 if i == self.k - 1 else left / (i if lattice.exact else self.k - 1)
                curve, gap = self._curve(lattice, i, curves[0], gap, share)
                curves.insert(0, curve)
                self.work.report(float(curve.lower(self.incumbent)), self.most, i)
            start, lower, upper = self._first_rollout(lattice, curves[0], gap)
        except _StoppedError as stop:
            return self._given_up(lattice, curves, stop.status)
        except KeyboardInterrupt:
            return self._given_up(lattice, curves, Status.INTERRUPTED)
        stopped = None
        try:
            self.work.report(lower, upper, 0)
        except KeyboardInterrupt:  # too late to lose anything
            stopped = Status.INTERRUPTED
        return _Pass(lower, upper, lattice, [curves[0], *curves], start, gap, stopped)

    def _first_rollout(self, lattice: Lattice, after: Curve, gap: float) -> tuple[float, float, float]:
        """The first rollout needs one slice: that of the incumbent."""
        if self.incumbent >= self.most:
            return self.incumbent, self.incumbent, self.incumbent
        if self.k == 1 and self.incumbent <= self.least:
            return self.least, self.mean, self.mean
        start = max(self.incumbent, self._floor(lattice, after))
        if start >= self.most:
            return start, float(after.lower(self.incumbent)), self.most
        self.work.slices += 1
        bounds = solve_slices(lattice, after, gap, [start], self.work.map, self.work.memory)
        return start, float(bounds.lower[0]), min(float(bounds.upper[0]), self.most)

    def _given_up(self, lattice: Lattice, curves: list[Curve], status: Status | None) -> _Pass:
        """What can be said without more work: more rollouts never lower the value, and no return exceeds the most."""
        after = curves[0]
        lower = max(float(after.lower(self.incumbent)), self.mean, self.incumbent)
        hull = np.array([self.least, self.most])
        flat = replace(after, point=hull, point_value=np.array([self.most, self.most]))
        missing = self.k + 1 - len(curves)
        upper = max(self.most, self.incumbent)
        return _Pass(lower, upper, lattice, [*[flat] * missing, *curves], self.incumbent, upper - self.least, status)

    def _floor(self, lattice: Lattice, after: Curve) -> float:
        """A best return that is as good as none under the next curve's lower bound: where that stops being flat."""
        flat = min(after.flat_to, self.most)
        if flat <= self.least:
            return self.least
        return lattice.kappa * lattice.index(flat) if lattice.exact else flat

    def _curve(self, lattice: Lattice, i: int, after: Curve, gap: float, share: float) -> tuple[Curve, float]:
        """Curve ``i`` and the largest gap between its bounds."""
        if i == self.k - 1:
            return self._last_curve(lattice, after, share)
        floor = self._floor(lattice, after)
        if floor >= self.most:  # the largest return is as good as certain: more rollouts change nothing
            hull = np.array([self.most])
            return replace(after, floor=self.most, point=hull, point_value=hull), self.most - float(
                after.lower(-math.inf)
            )
        # Where the next curve turns this one will, too: some of its knots to begin with, so that threads have work.
        inner = after.line_knot[(after.line_knot > floor) & (after.line_knot < self.most)]
        useful = inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()

        def solve(knots: Sequence[float]) -> Bounds:
            self.work.slices += len(knots)
            return solve_slices(lattice, after, gap, knots, self.work.map, self.work.slice_memory)

        return self._build(lattice, solve, [floor, *self._incumbent_above(floor), *useful], share, lattice.exact)

    def _last_curve(self, lattice: Lattice, after: Curve, share: float) -> tuple[Curve, float]:
        """The last rollout's curve: one sweep holds it at all lattice points, and only some are kept as knots."""
        end, top = lattice.index(self.least), lattice.index(self.most) + (0 if lattice.exact else 1)
        bottom = max(end, lattice.index(self.mean - 2 * (self.most - self.mean)))
        while True:
            self.work.slices += 1
            (table,) = self.work.map(lambda b: last_rollout(lattice, b, top, after, self.work.memory), [bottom])
            if bottom == end or table.upper[0] - self.mean <= share / 2:
                break
            bottom = max(end, top - 4 * (top - bottom) - 1)
        # Below the table the curve is at least the mean, and at most what it is at the bottom.
        table.lower[0], table.slope[0] = self.mean, 0.0
        floor = lattice.kappa * bottom
        if floor >= self.most:  # the largest return is as good as certain
            knot = np.array([self.most])
            curve = from_knots(self.most, self.most, knot, knot, np.array([self.mean]), np.zeros(1))
            return curve, self.most - self.mean
        incumbent = self._incumbent_above(floor)

        def look_up(m: float) -> tuple[float, float, float]:
            if m in incumbent:
                (found,) = zip(*solve_slices(lattice, after, 0.0, [m], self.work.map, self.work.memory), strict=True)
                return found
            at = round(m / lattice.kappa) - bottom
            return table.upper[at], table.lower[at], table.slope[at]

        def solve(knots: Sequence[float]) -> Bounds:
            return Bounds(*np.array([look_up(m) for m in knots]).T)

        return self._build(lattice, solve, [floor, *incumbent], share, on_lattice=True)

    def _incumbent_above(self, floor: float) -> list[float]:
        """The incumbent is a knot of every curve, since it may stay the best return for long."""
        return [self.incumbent] if floor < self.incumbent < self.most else []

    def _build(
        self,
        lattice: Lattice,
        solve: Callable[[Sequence[float]], Bounds],
        knots: list[float],
        share: float,
        on_lattice: bool,
    ) -> tuple[Curve, float]:
        """A curve from its first knots (the floor first), with more where tangents cross until what lies between two
        knots is uncertain by at most ``share`` more than the knots are; and the largest gap."""
        floor = knots[0]
        noise = 2.0**-48 * (lattice.largest + abs(self.incumbent))  # no knot is worth less than this
        known: dict[float, tuple[float, float, float]] = {self.most: (self.most, self.most, 1.0)}
        new = sorted(set(knots))
        while True:
            known |= dict(zip(new, zip(*solve(new), strict=True), strict=True))
            m = np.array(sorted(known))
            upper, lower, slope = np.array([known[x] for x in m.tolist()]).T
            slope = np.where(m <= floor, 0.0, slope)
            # Knots far more exact than the lattice would be wasted on it; all curves together lose an eighth.
            enough = max(share, noise, float((upper - lower).max()) / (8 * self.k))
            new, gap = _between(m, upper, lower, slope, enough, lattice.kappa if on_lattice else None)
            if not new:
                return from_knots(floor, self.most, m[:-1], upper[:-1], lower[:-1], slope[:-1]), gap


def _between(
    m: Floats, upper: Floats, lower: Floats, slope: Floats, share: float, kappa: float | None
) -> tuple[list[float], float]:
    """Where tangents of neighbouring knots cross too far below the chord, and the largest gap anywhere.

    With ``kappa`` only lattice points count, since the best return lies on one: the two beside the crossing.
    """
    new: list[float] = []
    largest = float((upper - lower).max())
    for i in range(len(m) - 1):
        (a, b), (sa, sb) = m[i : i + 2].tolist(), slope[i : i + 2].tolist()
        turn = (lower[i + 1] - sb * b - lower[i] + sa * a) / (sa - sb) if sa < sb else (a + b) / 2
        turn = min(max(turn, a), b)
        places = [turn] if kappa is None else [kappa * math.floor(turn / kappa), kappa * math.ceil(turn / kappa)]
        tiny = 1e-9 * (m[-1] - m[0]) if kappa is None else 1e-6 * kappa  # a knot itself is not between
        worst, place = -math.inf, a
        for x in places:
            if a + tiny < x < b - tiny:
                chord = upper[i] + (upper[i + 1] - upper[i]) * ((x - a) / (b - a))
                gap = float(chord - max(lower[i] + sa * (x - a), lower[i + 1] + sb * (x - b)))
                worst, place = max((worst, place), (gap, x))
        largest = max(largest, worst)
        if worst - max(upper[i] - lower[i], upper[i + 1] - lower[i + 1]) > share:
            new.append(place)
    return new, largest


def _better(a: _Pass, b: _Pass) -> _Pass:
    """The pass with the better lower bound and policy, with the better of the two upper bounds."""
    return replace(a if a.lower >= b.lower else b, upper=min(a.upper, b.upper))
