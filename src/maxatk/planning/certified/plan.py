"""What the certified planner returns: curves, and a policy that acts on slices solved again from them."""

import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from maxatk.base import archive, checks, stopping
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.planning.certified import histories
from maxatk.planning.certified.curve_maker import Effort
from maxatk.planning.certified.curves import Curve, Curves
from maxatk.planning.certified.passes import LatticePass
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.certified.threshold import threshold_near
from maxatk.planning.plan import Plan
from maxatk.planning.stops import Threshold
from maxatk.policies import KnownValue
from maxatk.problem import files
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.rows import exact_text

VERSIONS = VERSION, WITH_COSTS, WITH_UTILITY = 2, 4, 5
CERTIFICATE = ("tol", "rounding", "gap_after_first", "repeats_mean", "stop_at")  # what a file keeps of the evidence
PROBLEM = "problem_"  # what the members of a problem within a plan are named with


@dataclass(frozen=True)
class Evidence:
    """What a plan's bounds rest on, and its policy acts on."""

    method: SliceMethod  # the problem on a lattice of returns, on an engine
    curves: Curves  # U_0 to U_K
    start: float  # the best return that stands for the incumbent in the first rollout; -inf to maximise the mean
    stop_at: float  # the best return at which the policy stops
    gap_after_first: float  # between the bounds of the curve after the first rollout, at most
    tol: float  # the width that was asked for
    rounding: float  # what floating point may have added up to, in either bound
    repeats_mean: bool  # whether the policy maximises the mean in every rollout, as the surest to earn ``lower``


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPlan(Plan):
    """An interval around the optimum and the curves behind it: some kilobytes per rollout, whatever the problem's size.

    Slices are solved again from the curves when the policy is run, and kept.
    """

    _evidence: Evidence = field(repr=False)

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
        return self._evidence.stop_at

    @property
    def _rounding(self) -> float:
        return self._evidence.rounding

    def _threshold(self, tol: float) -> Threshold | None:
        return threshold_near(self._evidence.method, self.stop_at, self._rounding, tol)

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on ``U_i(m)``; for ``i = 0`` a slice is solved, or a plan of its own where ``m`` lies between returns.

        Those of ``i = 0`` are as narrow as the plan's; those of later rollouts are so at best returns that are returns.
        """
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        if i == self.k or best >= self.mdp.return_range[1]:  # nothing can be improved
            return floats_around(best) if isinstance(best, Fraction) else (best, best)
        with nullcontext() if i else stopping.ensured():  # the curves of later rollouts are at hand
            lower, upper = self._of_rollout(i, best)
        if self.stop_at < math.inf and best > -math.inf:  # or else stop
            at_least, at_most = floats_around(best)
            # Below the threshold the policy goes on, if only for what rounding leaves open: m is not what it promises.
            return max(lower, at_least) if best >= self.stop_at else lower, max(upper, at_most)
        return lower, upper

    def _action_values(self, at: CompressedHistory) -> dict[int, tuple[float, float]]:
        evidence, last = self._evidence, at.rollout == self.k - 1
        after = evidence.curves[at.rollout + 1]
        return histories.action_values(evidence.method, after, at, evidence.rounding, last=last)

    def value_of_tries(self, n: int) -> tuple[float, float]:
        """Bounds on the optimum of ``n`` rollouts; one of them may always maximise the mean."""
        lower, upper = super().value_of_tries(n)
        mean = self.mdp.analysis.mean_optimal[1] - self.problem.rollout_cost - self._evidence.rounding
        return max(lower, min(mean, upper)), upper

    def _of_rollout(self, i: int, best: Number) -> tuple[float, float]:
        """Bounds on what rollout ``i`` is worth, and those after it, with ``best`` in hand."""
        least, most = self._evidence.method.lattice.floor, self.mdp.return_range[1]
        x = max(float(best), least)  # below, what is in hand is no better than nothing for a rollout that is made
        if self.stop_at < math.inf and i > 0:
            x = max(float(best), -sys.float_info.max)
        rounding = self._evidence.rounding + math.ulp(max(x, least))
        if i > 0:
            lower, upper = float(self._evidence.curves[i].lower(x)), float(self._evidence.curves[i].upper(x))
            return lower - rounding, min(upper + rounding, most)
        after = self._evidence.curves[1]
        start = min(max(x, after.flat_to), most)
        if start >= after.point[-1] and self.stop_at < math.inf:  # from there on every curve is m itself
            top = float(after.point[-1])
            return self._as_planned(best, best == self.best_so_far, float(after.lower(best)) - rounding, top + rounding)
        # On a whole lattice the next rollout meets lattice points, whose gap is known, and m itself.
        gap = max(self._evidence.gap_after_first, float(after.upper(start) - after.lower(start)))
        bounds = self._evidence.method.solve(after, gap, [start])
        lower, upper = float(bounds.lower[0]), float(bounds.upper[0])
        same = best == self.best_so_far or (max(best, self.best_so_far) <= least and self.stop_at == math.inf)
        lower, upper = self._as_planned(best, same, lower - rounding, min(upper + rounding, most))
        if upper - lower > max(self._evidence.tol, self.gap) and self._evidence.method.exact:
            return self._planned_for(best, lower, upper)
        return lower, upper

    def _planned_for(self, best: Number, lower: float, upper: float) -> tuple[float, float]:
        """Bounds on ``U_0`` by a plan for this very best return.

        Between lattice points this plan's curves may be far apart: nobody comes there but with ``best`` itself.
        """
        evidence = self._evidence
        there = LatticePass(evidence.method.changed(self.problem.changed(best_so_far=best)), Effort())
        *_, (_, known) = there.curves(lambda: evidence.tol)
        return max(lower, known.lower), min(upper, known.upper)

    def _for_incumbent(self, best: float) -> "CertifiedPlan":
        """The same plan for another incumbent below the greatest return, on the same lattice."""
        evidence, problem = self._evidence, self.problem.changed(best_so_far=best)
        there = LatticePass(evidence.method.changed(problem), Effort())
        *_, (_, known) = there.curves(lambda: evidence.tol)
        earned = replace(
            evidence, method=known.method, curves=known.curves, start=known.start, gap_after_first=known.gap,
            rounding=there.rounding, repeats_mean=False,
        )  # fmt: skip
        lower = max(known.lower, problem.best_around[0])
        return CertifiedPlan(
            problem=problem, lower=lower, upper=max(known.upper, lower), status=self.status, stats={}, _evidence=earned
        )

    def _as_planned(self, m: Number, same: bool, lower: float, upper: float) -> tuple[float, float]:
        """Bounds on ``U_0(m)`` cut down to what the plan's own say: the curve rises, by no more than ``m`` does."""
        floor, most = self._evidence.method.lattice.floor, self.mdp.return_range[1]
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
        version = WITH_UTILITY if self.objective.utility is not None else WITH_COSTS if self.costly else VERSION
        archive.write(path, "plan", version, header, arrays)

    def numbers(self) -> dict[str, Any]:
        """All but arrays, for a file."""
        best, evidence = self.best_so_far, self._evidence
        return {
            "k": self.k,
            "best_so_far": "" if best == -math.inf else exact_text((Fraction(best),)),
            "lower": self.lower,
            "upper": self.upper,
            "status": str(self.status),
            "stats": dict(self.stats),
            "kappa": self._evidence.method.lattice.kappa,
            "exact": self._evidence.method.exact,
            "start": evidence.start if evidence.start > -math.inf else None,
            "certificate": {name: x for name in CERTIFICATE if (x := getattr(evidence, name)) != math.inf},
            **self._costs(),
        }

    def _costs(self) -> dict[str, Any]:
        if not self.costly:
            return {}
        return {"cost": exact_text((self.objective.cost,)), "abandon": self.objective.abandon}


def plan_members(plan: CertifiedPlan, with_problem: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """A plan as the header and the arrays of a file."""
    tail = evidence_of(plan).curves.tail
    arrays = {f"{name}{i}": getattr(curve, name) for i, curve in enumerate(tail) for name in Curve.arrays()}
    arrays["floor"] = np.array([curve.floor for curve in tail])
    header = {"problem": plan.mdp.fingerprint, **plan.numbers()}
    if with_problem:
        header["problem_header"], problem = files.problem_members(plan.mdp, PROBLEM)
        arrays |= problem
    return header, arrays


class CertifiedPolicy(SlicePolicy):
    """Acts on the slices of a plan's curves, as its evidence demands: it earns at least the plan's ``lower``."""

    def __init__(self, plan: "CertifiedPlan") -> None:
        evidence = evidence_of(plan)
        super().__init__(
            *(evidence.method, evidence.curves, evidence.start, plan.best_so_far),
            repeats_mean=evidence.repeats_mean,
            stop_at=evidence.stop_at,
        )
        self._traits = replace(self._traits, known_value=KnownValue(plan.mdp, plan.lower, plan.upper))
        self.cost, self.utility = plan.objective.cost, plan.objective.utility


def evidence_of(plan: "CertifiedPlan") -> Evidence:
    """What a plan's bounds rest on: for those who compare, draw or hold it to an oracle."""
    return plan._evidence  # pyright: ignore[reportPrivateUsage]
