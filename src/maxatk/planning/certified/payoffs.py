"""The last curve, ``U_K``: the best return itself, or its utility in the units of curves.

A convex utility ``u``, divided by its steepest slope ``L`` and shifted so that the greatest return ``b`` keeps its
value, is ``m -> b - (u(b) - u(m)) / L``: convex, nondecreasing, 1-Lipschitz and at least ``m``, as every curve is. So
the whole planner works in these units, and a plan converts what comes out (docs/theory/rounds.md, 1).
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxatk.base.returns import floats_around
from maxatk.planning.certified.curves import Curve, from_knots, identity
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.utility import Utility


def final_curve(problem: DecisionProblem, floor: float) -> Curve:
    """``U_K`` in the units of curves; up to ``floor``, below every return, it is taken to be flat."""
    utility = problem.objective.utility
    if utility is None or problem.ends_with_best:
        return identity(floor, problem.most)
    units = CurveUnits.of(problem, utility)
    ends = [Fraction(floor), *utility.turns(floor, problem.most), Fraction(problem.most)]
    values = [units.of_best(x) for x in ends]
    slopes = [float((v - u) / (y - x)) for x, y, u, v in zip(ends, ends[1:], values, values[1:], strict=False)]
    # The flat line, and then one line for each piece.
    m, value = (np.array([float(x) for x in (column[0], *column[:-1])]) for column in (ends, values))
    return from_knots(floor, problem.most, m, value, value, np.array([0.0, *slopes]))


class CurveUnits(NamedTuple):
    """How curves count a utility."""

    utility: Utility
    top: Fraction  # the greatest return
    steepest: Fraction  # L

    @classmethod
    def of(cls, problem: DecisionProblem, utility: Utility) -> "CurveUnits":
        """Those of a problem."""
        return cls(utility, Fraction(problem.most), utility.steepest(problem.most))

    def of_best(self, best: Fraction) -> Fraction:
        """The utility of a best return up to the greatest, as curves count it."""
        if not self.steepest:
            return self.top
        return self.top - (self.utility(self.top) - self.utility(best)) / self.steepest

    def utilities(self, lower: float, upper: float) -> tuple[float, float]:
        """Bounds as curves count them, as bounds in units of the utility: rounded outward."""
        low, high = (
            self.utility(self.top) - self.steepest * (self.top - Fraction(amount)) for amount in (lower, upper)
        )
        return floats_around(low)[0], floats_around(min(high, self.utility(self.top)))[1]
