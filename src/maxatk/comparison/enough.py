"""When to stop, and how many tries are worth paying for (docs/theory/costs.md, 4)."""

import bisect
import math
from fractions import Fraction
from typing import NamedTuple

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Stop
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.types import Number
from maxatk.comparison.priced import FixedBest, Repeated
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.planning.certified.curves import Curve, Curves, identity
from maxatk.planning.certified.lattice import common_step
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.exact import ExactPlan
from maxatk.planning.plan import Plan

FEW_ATOMS = 20_000  # that are followed for the mean number of tries
ROUNDING = Fraction(1, 2**40)  # of a return that is a sum of floats
PRECISIONS = (2.0**-12, 2.0**-6, 0.4)  # of a tolerance, to which the threshold is known on either side


class Threshold(NamedTuple):
    """Where a policy of one try stops, and how surely that is the optimal place."""

    at: Number  # the best return at which it stops; the optimal one is no less
    chance: float  # of reaching it in one try, at least
    unknown: float  # how much more the optimal one may be
    first: Number  # what a try earns on average with no result yet, less its costs
    adds: float = 0.0  # what a try adds beyond the threshold, at most: 0, or what rounding leaves open


def useful_tries(plan: Plan, tol: float) -> int | None:
    """The number of tries that are enough: all further ones together are worth at most ``tol``.

    By Theorem 3: a policy that reaches its threshold with chance ``q`` leaves ``(1 - q)^n`` of what is to be had. None
    where nothing costs anything, or where the plan does not know the threshold as well as that.
    """
    allowed = float(checks.exact_number(tol, "tol"))
    if not 0 < allowed < math.inf:
        raise InputError(f"tol must be above 0, not {checks.shown(tol)}")
    threshold = _threshold(plan, allowed)
    return None if threshold is None else _useful_tries(plan, allowed, threshold)


def _useful_tries(plan: Plan, tol: float, threshold: Threshold) -> int | None:
    z, q, unknown, first, adds = threshold
    if adds > 0:  # however little a try adds, many of them may add up
        return None
    made = 0 if plan.best_so_far > -math.inf else 1  # with nothing in hand the first must be made
    left = float(z - (first if made else plan.best_so_far))
    if left <= 0:
        return made
    if q <= 0:
        return None
    return made + max(math.ceil(math.log((tol - unknown) / left) / math.log1p(-q)) if q < 1 else 1, 0)


def stop_of(plan: Plan) -> Stop | None:
    """When a plan stops, and what is proved of that; None where nothing costs anything."""
    if not plan.costly:
        return None
    least, most = plan.mdp.return_range
    added, price = plan.lower - plan.value_of_tries(1)[0], float(plan.objective.cost)
    scale = max(added, price, 1e-9 * (most - least), 1e-300)
    tol = 10.0 ** math.floor(math.log10(1e-3 * scale))
    tries, useful, threshold, earned = (0.0, float(plan.k)), None, None, None
    try:
        earned = evaluate(plan.mdp, plan.policy, cost=plan.objective.cost, max_atoms=FEW_ATOMS)
        tries = earned.tries.ends
        threshold = _threshold(plan, tol)
        useful = None if threshold is None else _useful_tries(plan, tol, threshold)
    except TooLargeError:
        pass
    except StoppedError as stop:
        if stop.reason is Reason.INTERRUPTED:
            raise
    lower, upper = (
        (-math.inf, math.inf)
        if threshold is None
        else (floats_around(threshold.at)[0], floats_around(threshold.at + threshold.unknown)[1])
    )
    at, on_step = _least_return(plan, earned)
    return Stop(
        lower=lower, upper=upper, at=at, on_step=on_step, now=plan.best_so_far >= plan.stop_at, tol=tol,
        adds=threshold.adds if threshold else 0.0, tries_lower=tries[0], tries_upper=tries[1], useful_tries=useful,
    )  # fmt: skip


def _least_return(plan: Plan, earned: Evaluation | None) -> tuple[float, bool]:
    """The least return with which the plan stops, infinite if none, and whether that is known to be exact.

    The threshold, rounded up to a multiple of all returns' step, if the policy stops at just those of the best returns
    that it comes to which are no less; or else the least of these at which it stops.
    """
    if plan.stop_at <= plan.mdp.return_range[0]:
        return -math.inf, False
    rounded = _rounded_threshold(plan)
    if earned is None or earned.shift > 0 or plan.k == 1:
        return (float(plan.stop_at), False) if rounded is None else (float(rounded[0]), True)
    bests: list[Number] = sorted(earned.exact_law) if earned.exact_law is not None else earned.law.values.tolist()
    place = bisect.bisect(bests, False, key=lambda best: plan.policy.stops(rollout=plan.k - 1, best=best))
    below, above = bests[place - 1] if place else -math.inf, bests[place] if place < len(bests) else math.inf
    if rounded is None:
        return (math.inf, False) if above == math.inf else (float(plan.stop_at), False)
    at, slack = rounded
    return (float(at), True) if below < at - slack and above >= at - slack else (float(above), above < math.inf)


def _rounded_threshold(plan: Plan) -> tuple[Fraction, Fraction] | None:
    """The threshold, rounded up to a multiple of all returns' step, and what sums of floats may differ from one by."""
    step, start = common_step(plan.mdp), plan.best_so_far
    if step is None or math.isinf(plan.stop_at) or (start > -math.inf and Fraction(start) % step):
        return None
    near = round(Fraction(plan.stop_at) / step)
    slack = ROUNDING * (abs(near) + 1) * step  # floats such as 0.1 are multiples of a step but for rounding
    for steps in (near - 1, near, near + 1):
        if plan.policy.stops(rollout=plan.k - 1, best=step * steps + slack):
            return step * steps, slack
    return None


def _threshold(plan: Plan, tol: float) -> Threshold | None:
    """The threshold of a policy; None if the optimal one may be more by ``tol``, or is not known."""
    if not plan.costly:
        return None
    try:
        return _known_threshold(plan, tol)
    except TooLargeError:
        return None


def _known_threshold(plan: Plan, tol: float) -> Threshold | None:
    if isinstance(plan, ExactPlan):
        z, q, first = plan.table.threshold()
        return Threshold(z, float(q), 0.0, first)
    if not isinstance(plan, CertifiedPlan):
        raise InputError(f"{type(plan).__name__} does not know when to stop")
    method, rounding = evidence_of(plan).method, evidence_of(plan).rounding
    lattice = method.lattice
    first = plan.mdp.analysis.mean_optimal[1] - plan.problem.rollout_cost
    if first + rounding < lattice.floor:  # whatever a first try brings, a second one is not worth its costs
        return Threshold(first - rounding, 1.0, 2 * rounding, first)
    _, most = plan.mdp.return_range
    last = identity(lattice.floor, most)
    roughly: Threshold | None = None
    for share in PRECISIONS:
        below, above = plan.stop_at - share * tol, plan.stop_at + share * tol
        value = method.solve(last, 0.0, [below, above])
        # A try that is made at ``below`` as if it were the last adds something, and at ``above`` no try does. Where a
        # try may be abandoned at no cost it is never worth less than stopping, so that rounding leaves this open.
        adds = 0.0 if above >= most else max(float(value.upper[1]) + rounding - above, 0.0)
        if adds == 0 and value.lower[0] - rounding >= below:
            return Threshold(below, _chance_of(plan, last, below), above - below, first)
        if roughly is None and adds <= 2 * rounding and value.lower[0] - rounding > below + adds:
            roughly = Threshold(below, 0.0, above - below, first, adds)
    return roughly


def _chance_of(plan: CertifiedPlan, last: Curve, m: float) -> float:
    """At least the chance that a try which is made as if it were the last, with ``m`` in hand, brings so much."""
    inner = SlicePolicy(evidence_of(plan).method, Curves(1, (last,)), start=m, best_so_far=m)
    once = Repeated(FixedBest(inner, m), 1, m - 1 - abs(m), math.inf)  # what is given up counts as less than ``m``
    return 1.0 - evaluate(plan.mdp, once, cost=plan.objective.cost).cdf(math.nextafter(m, -math.inf))[1]
