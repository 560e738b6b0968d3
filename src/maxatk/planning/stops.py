"""When a plan stops, and how many tries earn their cost (docs/theory/costs.md, 4)."""

import bisect
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Stop
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.types import Number
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.planning.certified.lattice import common_step

if TYPE_CHECKING:
    from maxatk.planning.plan import Plan

FEW_ATOMS = 20_000  # that are followed for the mean number of tries
ROUNDING = Fraction(1, 2**40)  # of a return that is a sum of floats


class Threshold(NamedTuple):
    """Where a policy of one try stops, and how surely that is the optimal place."""

    at: Number  # the best return at which it stops; the optimal one is no less
    chance: float  # of reaching it in one try, at least
    unknown: float  # how much more the optimal one may be
    first: Number  # the mean of a first try with no result yet, less its costs
    adds: float = 0.0  # what a try adds beyond the threshold, at most: 0, or what rounding leaves open


def useful_tries(plan: "Plan", tol: float, threshold_of: Callable[[float], Threshold | None]) -> int | None:
    """The number of tries beyond which all further ones together add at most ``tol``.

    By Theorem 3: a policy that reaches its threshold with chance ``q`` leaves ``(1 - q)^n`` of what is left to gain.
    None where nothing costs anything, or where ``threshold_of`` does not know the threshold as well as that.
    """
    allowed = float(checks.exact_number(tol, "tol"))
    if not 0 < allowed < math.inf:
        raise InputError(f"tol must be above 0, not {checks.shown(tol)}")
    threshold = _known_threshold(plan, allowed, threshold_of)
    return None if threshold is None else _useful_tries(plan, allowed, threshold)


def _known_threshold(plan: "Plan", tol: float, threshold_of: Callable[[float], Threshold | None]) -> Threshold | None:
    try:
        return threshold_of(tol) if plan.costly else None
    except TooLargeError:
        return None


def _useful_tries(plan: "Plan", tol: float, threshold: Threshold) -> int | None:
    z, q, unknown, first, adds = threshold
    if adds > 0:  # however little a try adds, many of them may add up
        return None
    made = 0 if plan.best_so_far > -math.inf else 1  # with no result yet the first must be made
    left = float(z - (first if made else plan.best_so_far))
    if left <= 0:
        return made
    if q <= 0:
        return None
    return made + max(math.ceil(math.log((tol - unknown) / left) / math.log1p(-q)) if q < 1 else 1, 0)


def stop_of(plan: "Plan", threshold_of: Callable[[float], Threshold | None]) -> Stop:
    """When a plan with costs stops, and what is proved of that."""
    least, most = plan.mdp.return_range
    added, price = plan.lower - plan.value_of_tries(1)[0], float(plan.objective.cost)
    scale = max(added, price, 1e-9 * (most - least), 1e-300)
    tol = 10.0 ** math.floor(math.log10(1e-3 * scale))
    tries, useful, threshold, earned = (0.0, float(plan.k)), None, None, None
    try:
        earned = evaluate(plan.mdp, plan.policy, cost=plan.objective.cost, max_atoms=FEW_ATOMS)
        tries = earned.tries.ends
        threshold = _known_threshold(plan, tol, threshold_of)
        useful = None if threshold is None else _useful_tries(plan, tol, threshold)
        useful = None if useful is None or useful > plan.k else useful  # the plan has no tries beyond its k
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


def _least_return(plan: "Plan", earned: Evaluation | None) -> tuple[float, bool]:
    """The least return with which the plan stops, infinite if none, and whether that is known to be exact.

    The threshold, rounded up to a multiple of all returns' step, if the policy stops at just those of the best returns
    that it can reach which are no less; or else the least of these at which it stops.
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


def _rounded_threshold(plan: "Plan") -> tuple[Fraction, Fraction] | None:
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
