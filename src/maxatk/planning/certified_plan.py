"""What the certified planner returns: curves, and a policy that acts on slices solved again from them."""

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from maxatk.base import archive, checks
from maxatk.base.archive import Archive, OtherProblemError
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.planning.curve_maker import CurveMaker
from maxatk.planning.curves import Curve, Curves
from maxatk.planning.lattice import Lattice, RealLattice, WholeLattice
from maxatk.planning.plan import Plan, Status
from maxatk.planning.slice_policy import SlicePolicy
from maxatk.planning.sweeper import Cores, solve_slices, sweeper_on
from maxatk.problem import files
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective
from maxatk.problem.rows import exact_text

VERSIONS = VERSION, WITH_COSTS = 2, 4
PROBLEM = "problem_"  # what the members of a problem within a plan are named with


@dataclass(frozen=True)
class Certificate:
    """The numbers that a plan's bounds rest on."""

    tol: float  # the width that was asked for
    rounding: float  # what floating point may have added up to, in either bound
    gap_after_first: float  # between the bounds of the curve after the first rollout, at most
    repeats_mean: bool  # whether the policy maximises the mean in every rollout, as the surest to earn ``lower``
    stop_at: float = math.inf  # the best return at which the policy stops


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPlan(Plan):
    """An interval around the optimum and the curves behind it: some kilobytes per rollout, whatever the problem's size.

    Slices are solved again from the curves when the policy is run, and kept.
    """

    lattice: Lattice  # the problem on a lattice of returns
    curves: Curves = field(repr=False)  # U_0 to U_K
    start: float  # the best return that stands for the incumbent in the first rollout; -inf to maximise the mean
    certificate: Certificate = field(repr=False)  # what the bounds rest on
    device: str = "cpu"  # where slices are swept that the policy needs

    @property
    def policy(self) -> "CertifiedPolicy":
        """A policy that earns at least ``lower``, with the true rewards. It keeps the slices that it solves."""
        return self._policy

    @cached_property
    def _policy(self) -> "CertifiedPolicy":
        return CertifiedPolicy(self)

    @property
    def stop_at(self) -> float:
        """The best return at which the policy stops, before any rollout; infinite where nothing costs anything."""
        return self.certificate.stop_at

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on ``U_i(m)``; for ``i = 0`` a slice is solved, or a plan of its own where ``m`` lies between returns.

        Those of ``i = 0`` are as narrow as the plan's; those of later rollouts are so at best returns that are returns.
        """
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        if i == self.k or best >= self.mdp.return_range[1]:  # nothing can be improved
            return floats_around(best) if isinstance(best, Fraction) else (best, best)
        lower, upper = self._of_rollout(i, best)
        if self.stop_at < math.inf and best > -math.inf:  # or else stop
            at_least, at_most = floats_around(best)
            # Below the threshold the policy goes on, if only for what rounding leaves open: m is not what it promises.
            return max(lower, at_least) if best >= self.stop_at else lower, max(upper, at_most)
        return lower, upper

    def value_of_tries(self, n: int) -> tuple[float, float]:
        """Bounds on the optimum of ``n`` rollouts; one of them may always maximise the mean."""
        lower, upper = super().value_of_tries(n)
        mean = self.mdp.analysis.mean_optimal[1] - self.problem.rollout_cost - self.certificate.rounding
        return max(lower, min(mean, upper)), upper

    def _of_rollout(self, i: int, best: Number) -> tuple[float, float]:
        """Bounds on what rollout ``i`` is worth, and those after it, with ``best`` in hand."""
        least, most = self.lattice.floor, self.mdp.return_range[1]
        x = max(float(best), least)  # below, what is in hand is no better than nothing for a rollout that is made
        if self.stop_at < math.inf and i > 0:
            x = max(float(best), -sys.float_info.max)
        rounding = self.certificate.rounding + math.ulp(max(x, least))
        if i > 0:
            lower, upper = float(self.curves[i].lower(x)), float(self.curves[i].upper(x))
            return lower - rounding, min(upper + rounding, most)
        after = self.curves[1]
        start = min(max(x, after.flat_to), most)
        if start >= after.point[-1] and self.stop_at < math.inf:  # from there on every curve is m itself
            top = float(after.point[-1])
            return self._as_planned(best, best == self.best_so_far, float(after.lower(best)) - rounding, top + rounding)
        # On a whole lattice the next rollout meets lattice points, whose gap is known, and m itself.
        gap = max(self.certificate.gap_after_first, float(after.upper(start) - after.lower(start)))
        with Workers() as workers:
            bounds = solve_slices(sweeper_on(self.device, None, workers), self.lattice, after, gap, [start])
        lower, upper = float(bounds.lower[0]), float(bounds.upper[0])
        same = best == self.best_so_far or (max(best, self.best_so_far) <= least and self.stop_at == math.inf)
        lower, upper = self._as_planned(best, same, lower - rounding, min(upper + rounding, most))
        if upper - lower > max(self.certificate.tol, self.gap) and self.lattice.whole:
            return self._planned_for(best, lower, upper)
        return lower, upper

    def _planned_for(self, best: Number, lower: float, upper: float) -> tuple[float, float]:
        """Bounds on ``U_0`` by a plan for this very best return.

        Between lattice points this plan's curves may be far apart: nobody comes there but with ``best`` itself.
        """
        from maxatk.planning.certified import Certified

        plan = Certified(tol=self.certificate.tol, device=self.device).solve(self.problem.changed(best_so_far=best))
        return max(lower, plan.lower), min(upper, plan.upper)

    def _as_planned(self, m: Number, same: bool, lower: float, upper: float) -> tuple[float, float]:
        """Bounds on ``U_0(m)`` cut down to what the plan's own say: the curve rises, by no more than ``m`` does."""
        floor, most = self.lattice.floor, self.mdp.return_range[1]
        rise = fall = max(float(m), floor) - max(float(self.best_so_far), floor)
        if self.stop_at < math.inf:  # what is in hand is worth itself, however little it is
            fall = 0.0 if m >= self.best_so_far else float(m) - float(self.best_so_far)
        if same:
            rise = fall = 0.0
        size = max(abs(x) for x in (float(m), rise, fall, self.lower, self.upper) if math.isfinite(x))
        slack = 0.0 if same else 4 * math.ulp(size)
        return max(lower, self.lower + min(fall, 0.0) - slack), min(upper, self.upper + max(rise, 0.0) + slack, most)

    def save(self, path: str | PathLike[str], *, with_problem: bool = False) -> None:
        """Write the plan to ``path``, for :func:`maxatk.load_plan` to read: its curves and numbers.

        Args:
            path: the file, which is whole or not there: it is written beside ``path`` and then moved.
            with_problem: whether the file holds the problem, too, so that it can be read without it.
        """
        checks.boolean(with_problem, "with_problem")
        header, arrays = plan_members(self, with_problem)
        archive.write(path, "plan", WITH_COSTS if self.costly else VERSION, header, arrays)

    def numbers(self) -> dict[str, Any]:
        """All but arrays, for a file."""
        best = self.best_so_far
        return {
            "k": self.k,
            "best_so_far": "" if best == -math.inf else exact_text((Fraction(best),)),
            "lower": self.lower,
            "upper": self.upper,
            "status": str(self.status),
            "stats": dict(self.stats),
            "kappa": self.lattice.kappa,
            "exact": self.lattice.whole,
            "start": self.start if self.start > -math.inf else None,
            "certificate": {name: x for name, x in dataclasses.asdict(self.certificate).items() if x != math.inf},
            **self._costs(),
        }

    def _costs(self) -> dict[str, Any]:
        if not self.costly:
            return {}
        return {"cost": exact_text((self.objective.cost,)), "abandon": self.objective.abandon}


def plan_members(plan: CertifiedPlan, with_problem: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """A plan as the header and the arrays of a file."""
    tail = plan.curves.tail
    arrays = {f"{name}{i}": getattr(curve, name) for i, curve in enumerate(tail) for name in Curve.arrays()}
    arrays["floor"] = np.array([curve.floor for curve in tail])
    header = {"problem": plan.mdp.fingerprint, **plan.numbers()}
    if with_problem:
        header["problem_header"], problem = files.problem_members(plan.mdp, PROBLEM)
        arrays |= problem
    return header, arrays


def read_plan(file: Archive, numbers: Mapping[str, Any], given: MDP | None) -> CertifiedPlan:
    """What :func:`plan_members` made of a plan, for the problem that is given or that the file holds."""
    mdp = _held_problem(file, numbers) if given is None else given
    if numbers.get("problem") != mdp.fingerprint:
        raise OtherProblemError("it was made for another problem")
    k = checks.rollouts(numbers.get("k"))
    floor = file.array("floor", "<f8")
    if not 1 <= len(floor) <= k + 1:
        raise InputError(f"it has {len(floor)} curves, but {k} rollouts")
    kappa, lower, upper = (_number(numbers, name) for name in ("kappa", "lower", "upper"))
    widest = max(*map(abs, mdp.return_range), mdp.return_range[1] - mdp.return_range[0])
    if not widest <= 2**52 * kappa or lower > upper:
        raise InputError("its numbers make no sense")
    problem = DecisionProblem(mdp, _objective(k, numbers))
    lattice = (WholeLattice if _bool(numbers, "exact") else RealLattice)(problem, kappa)
    # With abandonment, a curve's lower bound may become flat slightly below the curve's own floor.
    least, most = lattice.floor - (problem.largest if problem.may_abandon else 0.0), mdp.return_range[1]
    start = -math.inf if numbers.get("start") is None else _number(numbers, "start")
    if not (least <= start <= most or (start == -math.inf and problem.costly)):
        raise InputError("its numbers make no sense")
    tail = tuple(
        Curve(float(floor[i]), **{name: file.array(f"{name}{i}", "<f8") for name in Curve.arrays()})
        for i in range(len(floor))
    )
    maker = CurveMaker(problem, Cores(0))
    slack = 4 * k * maker.rounding(lattice)
    for curve in tail:
        curve.check(least - kappa, most, slack)
    _check_bounds(lower, upper, problem, Curves(k, tail)[1], slack)
    certificate, stats = numbers.get("certificate"), numbers.get("stats")
    if not checks.is_dict(certificate) or not checks.is_dict(stats):
        raise InputError("it has no certificate")
    stop_at = _number(certificate, "stop_at") if problem.costly else math.inf
    if math.isfinite(stop_at) and not abs(stop_at) <= 2 * problem.largest:
        raise InputError("it stops where no return is")
    rounding, gap = _number(certificate, "rounding"), _number(certificate, "gap_after_first")
    if rounding < 0 or gap < -slack:
        raise InputError("its certificate allows for less than no error")
    return CertifiedPlan(
        problem=problem,
        lower=lower,
        upper=upper,
        status=Status(numbers.get("status")),
        stats={str(name): float(value) for name, value in stats.items()},
        lattice=lattice,
        curves=Curves(k, tail),
        start=start,
        certificate=Certificate(
            tol=_number(certificate, "tol"),
            rounding=rounding,
            gap_after_first=gap,
            repeats_mean=_bool(certificate, "repeats_mean"),
            stop_at=stop_at,
        ),
    )


def _check_bounds(lower: float, upper: float, problem: DecisionProblem, after: Curve, slack: float) -> None:
    """Refuse bounds, read from a file, that are none: beyond all that a policy can earn, or below what one is sure to.

    ``after`` is the curve after the first rollout: more rollouts never lower the value.
    """
    best, most = float(problem.best_so_far), max(problem.most, problem.best_around[1])
    sure = max(problem.mean, best, float(after.lower(best if problem.costly else problem.incumbent)))
    if upper > most + slack:
        raise InputError(f"its bounds are {lower:g} and {upper:g}, and no policy earns more than {most:g}")
    if upper < sure - slack:
        raise InputError(f"its upper bound is {upper:g}, and some policy earns at least {sure:g}")


def _objective(k: int, numbers: Mapping[str, Any]) -> Objective:
    best, cost = numbers.get("best_so_far"), numbers.get("cost")
    best_so_far = files.fractions(str(best))[0] if best else -math.inf
    if cost is None:
        return Objective(k, best_so_far)
    return Objective(k, best_so_far, files.fractions(str(cost))[0], _bool(numbers, "abandon"))


def _number(numbers: Mapping[str, Any], name: str) -> float:
    return float(checks.exact_number(numbers.get(name), name))


def _bool(numbers: Mapping[str, Any], name: str) -> bool:
    value = numbers.get(name)
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, not {checks.shown(value)}")
    return value


def _held_problem(file: Archive, numbers: Mapping[str, Any]) -> MDP:
    header = numbers.get("problem_header")
    if not checks.is_dict(header):
        raise InputError("it was saved without its problem, which must be given")
    rows, arguments = files.read_problem(file, header, PROBLEM)
    return MDP(rows, **arguments)


class CertifiedPolicy(SlicePolicy):
    """Acts on the slices of a plan's curves, as its certificate demands: it earns at least the plan's ``lower``."""

    def __init__(self, plan: CertifiedPlan) -> None:
        repeats_mean, device = plan.certificate.repeats_mean, plan.device
        planned = (plan.lattice, plan.curves, plan.start, plan.best_so_far)
        super().__init__(*planned, repeats_mean=repeats_mean, stop_at=plan.stop_at, device=device)
        self._plan, self.cost = plan, plan.objective.cost

    def certificate(self, mdp: MDP) -> tuple[float, float] | None:
        """The plan's own bounds, for the problem that it was made for."""
        return (self._plan.lower, self._plan.upper) if mdp == self._plan.mdp else None
