"""How surely a certified plan knows the best return at which to stop (docs/theory/costs.md, 4)."""

import math

from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified.curves import Curve, Curves, identity
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.stops import Threshold
from maxatk.policies.repeated import FixedBest, Repeated

PRECISIONS = (2.0**-12, 2.0**-6, 0.4)  # of a tolerance, to which the threshold is known on either side


def threshold_near(method: SliceMethod, stop_at: float, rounding: float, tol: float) -> Threshold | None:
    """The threshold near ``stop_at``; None if the optimal one is not known to within ``tol``."""
    problem, lattice = method.problem, method.lattice
    first = problem.mdp.analysis.mean_optimal[1] - problem.rollout_cost
    if first + rounding < lattice.floor:  # whatever a first try brings, a second one does not earn its cost
        return Threshold(first - rounding, 1.0, 2 * rounding, first)
    last = identity(lattice.floor, problem.most)
    roughly: Threshold | None = None
    for share in PRECISIONS:
        below, above = stop_at - share * tol, stop_at + share * tol
        value = method.solve(last, 0.0, [below, above])
        # A try that is made at ``below`` as if it were the last adds something, and at ``above`` no try does. Where a
        # try may be abandoned at no cost it never earns less than stopping, so that rounding leaves this open.
        adds = 0.0 if above >= problem.most else max(float(value.upper[1]) + rounding - above, 0.0)
        if adds == 0 and value.lower[0] - rounding >= below:
            return Threshold(below, _chance_of(method, last, below), above - below, first)
        if roughly is None and adds <= 2 * rounding and value.lower[0] - rounding > below + adds:
            roughly = Threshold(below, 0.0, above - below, first, adds)
    return roughly


def _chance_of(method: SliceMethod, last: Curve, m: float) -> float:
    """A lower bound on the chance that a try, made as if it were the last with best so far ``m``, returns ``m``."""
    problem = method.problem
    inner = SlicePolicy(method, Curves(1, (last,)), start=m, best_so_far=m)
    once = Repeated(FixedBest(inner, m), 1, m - 1 - abs(m), math.inf)  # an abandoned try counts as less than ``m``
    return 1.0 - evaluate(problem.mdp, once, cost=problem.objective.cost).cdf(math.nextafter(m, -math.inf))[1]
