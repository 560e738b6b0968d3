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
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.planning.curves import Curve, Curves
from maxatk.planning.lattice import Lattice, RealLattice, WholeLattice
from maxatk.planning.plan import Plan, Status
from maxatk.planning.slice_policy import SlicePolicy
from maxatk.planning.sweeper import solve_slices, sweeper_on
from maxatk.problem import formats
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective
from maxatk.problem.rows import exact_text

VERSION, WITH_COSTS = 2, 3
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
        """Bounds on ``U_i(m)``; for ``i = 0`` a slice is solved."""
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
        return self._as_planned(best, same, lower - rounding, min(upper + rounding, most))

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
        tail = self.curves.tail
        arrays = {f"{name}{i}": getattr(curve, name) for i, curve in enumerate(tail) for name in Curve.arrays()}
        arrays["floor"] = np.array([curve.floor for curve in tail])
        header = {"problem": self.mdp.fingerprint, **self._numbers()}
        if with_problem:
            header["problem_header"], problem = formats.problem_members(self.mdp, PROBLEM)
            arrays |= problem
        archive.write(path, "plan", WITH_COSTS if self.objective.stops(self.mdp) else VERSION, header, arrays)

    def _numbers(self) -> dict[str, Any]:
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
        if not self.objective.stops(self.mdp):
            return {}
        return {"cost": exact_text((self.objective.cost,)), "abandon": self.objective.abandon}


def load_plan(path: str | PathLike[str], mdp: MDP | None = None) -> CertifiedPlan:
    """Read a plan that :meth:`CertifiedPlan.save` wrote for this very problem, however that was built.

    Args:
        path: the file.
        mdp: the problem; by default the one that the file holds, if it was saved with it.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan.save(os.path.join(folder, "x.plan"))
    ...     mk.load_plan(os.path.join(folder, "x.plan"), mdp).lower == plan.lower
    True
    """
    given = mdp
    if given is not None and not isinstance(given, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {checks.shown(given)}")

    def plan(file: Archive) -> CertifiedPlan:
        numbers = file.header
        mdp = _held_problem(file) if given is None else given
        if numbers.get("problem") != mdp.fingerprint:
            raise InputError("it was made for another problem")
        k = checks.rollouts(numbers.get("k"))
        floor = file.array("floor", "<f8")
        if not 1 <= len(floor) <= k + 1:
            raise InputError(f"it has {len(floor)} curves, but {k} rollouts")
        kappa, lower, upper = (_number(numbers, name) for name in ("kappa", "lower", "upper"))
        widest = max(*map(abs, mdp.return_range), mdp.return_range[1] - mdp.return_range[0])
        if not widest <= 2**52 * kappa or lower > upper:
            raise InputError("its numbers make no sense")
        objective = _objective(k, numbers)
        kind = WholeLattice if _bool(numbers, "exact") else RealLattice
        lattice = kind(mdp, kappa, float(objective.cost), objective.gives_up(mdp))
        # Bounds of curves may be flat up to somewhat less than the curves are, where rollouts may be given up.
        least, most = lattice.floor - (lattice.largest if lattice.abandon else 0.0), mdp.return_range[1]
        start = -math.inf if numbers.get("start") is None else _number(numbers, "start")
        if not (least <= start <= most or (start == -math.inf and objective.stops(mdp))):
            raise InputError("its numbers make no sense")
        tail = tuple(
            Curve(float(floor[i]), **{name: file.array(f"{name}{i}", "<f8") for name in Curve.arrays()})
            for i in range(len(floor))
        )
        for curve in tail:
            curve.check(least - kappa, most)
        certificate, stats = numbers.get("certificate"), numbers.get("stats")
        if not checks.is_dict(certificate) or not checks.is_dict(stats):
            raise InputError("it has no certificate")
        stop_at = _number(certificate, "stop_at") if objective.stops(mdp) else math.inf
        if math.isfinite(stop_at) and not abs(stop_at) <= 2 * lattice.largest:
            raise InputError("it stops where no return is")
        return CertifiedPlan(
            mdp=mdp,
            objective=objective,
            lower=lower,
            upper=upper,
            status=Status(numbers.get("status")),
            stats={str(name): float(value) for name, value in stats.items()},
            lattice=lattice,
            curves=Curves(k, tail),
            start=start,
            certificate=Certificate(
                tol=_number(certificate, "tol"),
                rounding=_number(certificate, "rounding"),
                gap_after_first=_number(certificate, "gap_after_first"),
                repeats_mean=_bool(certificate, "repeats_mean"),
                stop_at=stop_at,
            ),
        )

    return archive.read(path, "plan", (VERSION, WITH_COSTS), plan)


def _objective(k: int, numbers: Mapping[str, Any]) -> Objective:
    best, cost = numbers.get("best_so_far"), numbers.get("cost")
    best_so_far = formats.fractions(str(best))[0] if best else -math.inf
    if cost is None:
        return Objective(k, best_so_far)
    return Objective(k, best_so_far, formats.fractions(str(cost))[0], _bool(numbers, "abandon"))


def _number(numbers: Mapping[str, Any], name: str) -> float:
    return float(checks.exact_number(numbers.get(name), name))


def _bool(numbers: Mapping[str, Any], name: str) -> bool:
    value = numbers.get(name)
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, not {checks.shown(value)}")
    return value


def _held_problem(file: Archive) -> MDP:
    header = file.header.get("problem_header")
    if not checks.is_dict(header):
        raise InputError("it was saved without its problem, which must be given")
    rows, arguments = formats.read_problem(file, header, PROBLEM)
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
