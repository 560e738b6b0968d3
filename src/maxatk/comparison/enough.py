"""How many tries are worth paying for, and when to stop, in numbers and in words (docs/theory/costs.md, 4)."""

import math

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.comparison.priced import FixedBest, Repeated
from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.curves import Curve, Curves, identity
from maxatk.planning.exact import ExactPlan
from maxatk.planning.plan import Plan
from maxatk.planning.slice_policy import SlicePolicy
from maxatk.planning.sweeper import solve_slices, sweeper_on
from maxatk.show.bounds import decimals_of

FEW_ATOMS = 20_000  # that are followed for the mean number of tries
KNOWN = 0.05  # of the mean number of tries: what is less certain is not said
PRECISIONS = (2.0**-12, 2.0**-6, 0.4)  # of a tolerance, to which the threshold is known on either side


def enough(plan: Plan, tol: float) -> int | None:
    """The number of tries that are enough: all further ones together are worth at most ``tol``.

    By Theorem 3: a policy that reaches its threshold with chance ``q`` leaves ``(1 - q)^n`` of what is to be had. None
    where nothing costs anything, or where the plan does not know the threshold as well as that.
    """
    allowed = float(checks.exact_number(tol, "tol"))
    if not 0 < allowed < math.inf:
        raise InputError(f"tol must be above 0, not {checks.shown(tol)}")
    if plan.stop_at == math.inf:
        return None
    try:
        found = _threshold(plan, allowed)
    except TooLargeError:
        return None
    if found is None:
        return None
    z, q, unknown, first = found
    made = 0 if plan.best_so_far > -math.inf else 1  # with nothing in hand the first must be made
    left = float(z - (first if made else plan.best_so_far))
    if left <= 0:
        return made
    if q <= 0:
        return None
    return made + max(math.ceil(math.log((allowed - unknown) / left) / math.log1p(-q)) if q < 1 else 1, 0)


def _threshold(plan: Plan, tol: float) -> tuple[Number, float, float, Number] | None:
    """The threshold of a policy, the chance to reach it in a try, how much more the true one may be, and what a try is
    worth with nothing in hand; None if the true one may be more by ``tol``."""
    if isinstance(plan, ExactPlan):
        z, q, first = plan.table.threshold()
        return z, float(q), 0.0, first
    if not isinstance(plan, CertifiedPlan):
        raise InputError(f"{type(plan).__name__} does not know when to stop")
    lattice, rounding = plan.lattice, plan.certificate.rounding
    first = plan.mdp.mean_optimal[1] - lattice.price
    if first + rounding < lattice.floor:  # whatever a first try brings, a second one is not worth its costs
        return lattice.floor, 1.0, 0.0, math.inf
    _, most = plan.mdp.return_range
    last = identity(lattice.floor, most)
    for share in PRECISIONS:
        below, above = plan.stop_at - share * tol, plan.stop_at + share * tol
        with Workers() as workers:
            worth = solve_slices(sweeper_on("cpu", None, workers), lattice, last, 0.0, [below, above])
        # A try that is made with ``below`` in hand as if it were the last is worth its costs, and one with ``above``,
        # however it is made, is not.
        not_worth_it = above >= most or worth.upper[1] + rounding <= above
        if worth.lower[0] - rounding >= below and not_worth_it:
            return below, _chance_of(plan, last, below), above - below, first
    return None


def _chance_of(plan: CertifiedPlan, last: Curve, m: float) -> float:
    """At least the chance that a try which is made as if it were the last, with ``m`` in hand, brings so much."""
    inner = SlicePolicy(plan.lattice, Curves(1, (last,)), start=m, best_so_far=m)
    once = Repeated(FixedBest(inner, m), 1, m - 1 - abs(m), math.inf)  # what is given up counts as less than ``m``
    return 1.0 - evaluate(plan.mdp, once, cost=plan.objective.cost).cdf(math.nextafter(m, -math.inf))[1]


def _shown(x: float) -> str:
    """A number in four digits at least, and without an exponent unless it is very large or very small."""
    return f"{x:.{decimals_of(x, digits=4)}f}" if x == 0 or 1e-4 <= abs(x) < 1e9 else f"{x:.4g}"


def stopping_words(plan: Plan) -> str:
    """When to stop, how many tries that takes, and how many are worth paying for; empty where nothing costs."""
    if plan.stop_at == math.inf:
        return ""
    least, most = plan.mdp.return_range
    gain, price = most - float(plan.mdp.mean_optimal[1]), float(plan.objective.cost)
    scale = max(gain, price, 1e-9 * (most - least), 1e-300)
    tol = 10.0 ** math.floor(math.log10(1e-3 * scale))
    words = [f"stop as soon as you have {_shown(float(plan.stop_at))}"]
    try:
        tries = evaluate(plan.mdp, plan.policy, cost=plan.objective.cost, max_atoms=FEW_ATOMS).tries
    except TooLargeError:
        tries = None
    if tries is not None and tries.upper - tries.lower <= KNOWN * tries.upper:
        words.append(f"on average {tries.value:.2g} {'try' if f'{tries.value:.2g}' == '1' else 'tries'}")
    if (number := enough(plan, tol)) is not None:
        words.append(f"more than {number} {'try is' if number == 1 else 'tries are'} worth less than {tol:g}")
    return f"{'; '.join(words)}."
