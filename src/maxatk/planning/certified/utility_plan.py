"""Certified plans for a utility of the final best return: what curves say, in units of the utility."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from maxatk.base import checks
from maxatk.base.types import Number
from maxatk.planning.certified.payoffs import CurveUnits
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.rows import exact_text


@dataclass(frozen=True, eq=False, repr=False)
class UtilityPlan(CertifiedPlan):
    """A certified plan whose bounds and curves are of the expected utility of the final best return."""

    _in_curves: CertifiedPlan = field(repr=False)  # the same plan as curves count it

    @property
    def _units(self) -> CurveUnits:
        return _units_of(self)

    @property
    def _rounding(self) -> float:
        return float(self._units.steepest) * self._evidence.rounding

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on the expected utility of a best so far of ``m`` before rollouts ``i`` to ``k - 1``."""
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        if i == self.k or best >= self.mdp.return_range[1]:  # nothing can be improved
            return self._units.utility.around(best)
        return self._converted(self._in_curves.curve(i, best))

    def value_of_tries(self, n: int) -> tuple[float, float]:
        """Bounds on the optimum of ``n`` rollouts, in units of the utility."""
        n = checks.integer(n, "n", least=1, most=self.k)
        if n == self.k or self.best_so_far >= self.mdp.return_range[1]:
            return self.lower, self.upper
        return self._converted(self._in_curves.value_of_tries(n))

    def _action_values(self, at: CompressedHistory) -> dict[int, tuple[float, float]]:
        values = self._in_curves.action_values(**vars(at))
        return {action: self._converted(bounds) for action, bounds in values.items()}

    def _converted(self, bounds: tuple[float, float]) -> tuple[float, float]:
        return _utilities(self._units, bounds, self._evidence.method.rounding)

    def numbers(self) -> dict[str, Any]:
        """All but arrays, for a file: those of the curves, and the utility."""
        knots = self._units.utility.knots
        return {**self._in_curves.numbers(), "utility": exact_text(tuple(x for knot in knots for x in knot))}


def in_utilities(plan: CertifiedPlan) -> CertifiedPlan:
    """A plan as curves count it, in units of the utility that it is for; as it is where there is none."""
    if plan.objective.utility is None:
        return plan
    units, best, most = _units_of(plan), plan.best_so_far, plan.problem.most
    if best >= most:  # nothing can be improved
        lower, upper = units.utility.around(best)
    else:
        lower, upper = _utilities(units, (plan.lower, plan.upper), evidence_of(plan).method.rounding)
        sure = units.utility.around(max(best, plan.problem.least))[0]
        lower = max(lower, sure) if math.isfinite(sure) else lower
    known: dict[str, Any] = {one.name: getattr(plan, one.name) for one in fields(CertifiedPlan)}
    known |= {"lower": lower, "upper": max(lower, upper)}
    return UtilityPlan(**known, _in_curves=plan)


def _units_of(plan: CertifiedPlan) -> CurveUnits:
    assert plan.objective.utility is not None
    return CurveUnits.of(plan.problem, plan.objective.utility)


def _utilities(units: CurveUnits, bounds: tuple[float, float], rounding: float) -> tuple[float, float]:
    """Bounds in units of the utility, from bounds as curves count it.

    The last curve is rounded itself, by less than a rollout's ``rounding``.
    """
    return units.utilities(bounds[0] - rounding, bounds[1] + rounding)
