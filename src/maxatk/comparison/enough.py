"""How many tries are worth paying for, and when to stop, in numbers and in words (docs/theory/costs.md, 4)."""

import math

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.comparison.priced import FixedBest, Repeated, candidate_of
from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.curves import Curves, identity
from maxatk.planning.exact import ExactPlan
from maxatk.planning.plan import Plan
from maxatk.planning.slice_policy import SlicePolicy
from maxatk.show.bounds import decimals_of

FEW_ATOMS = 20_000  # that are followed for the mean number of tries
JUST_BELOW = 1e-7  # of the range of returns


def enough(plan: Plan, tol: float) -> int | None:
    """The number of tries that are enough: all further ones together are worth at most ``tol``.

    By Theorem 3: a policy that stops with chance ``q`` leaves ``(1 - q)^n`` of what is to be had. None where nothing
    costs anything, or where the plan does not know its threshold as well as that.
    """
    allowed = float(checks.exact_number(tol, "tol"))
    if allowed <= 0:
        raise InputError(f"tol must be above 0, not {checks.shown(tol)}")
    if plan.stop_at == math.inf:
        return None
    z, q, unknown, first = _threshold(plan)
    in_hand = float(plan.best_so_far)
    left = z - (in_hand if in_hand > -math.inf else first)  # after no try, or the first, which must be made
    made = 0 if in_hand > -math.inf else 1
    if left <= 0 or unknown >= allowed:
        return None if unknown >= allowed else made
    wanted = math.log((allowed - unknown) / left) / math.log1p(-q) if q < 1 else 1
    return made + max(math.ceil(wanted - 1e-9), 0)


def _threshold(plan: Plan) -> tuple[float, float, float, float]:
    """The threshold of a policy, the chance to reach it in a try, how much more the true one may be, and what a try is
    worth with nothing in hand."""
    if isinstance(plan, ExactPlan):
        z, q, first = plan.table.threshold()
        return float(z), float(q), 0.0, float(first)
    if not isinstance(plan, CertifiedPlan):
        raise InputError(f"{type(plan).__name__} does not know when to stop")
    mdp, lattice = plan.mdp, plan.lattice
    least, most = mdp.return_range
    m = plan.stop_at - JUST_BELOW * (most - least)
    inner = SlicePolicy(lattice, Curves(1, (identity(lattice.floor, most),)), start=m, best_so_far=m)
    once = Repeated(FixedBest(inner, m), 1, lattice.floor - 1.0, math.inf)  # what is given up counts as less than all
    law = candidate_of(mdp, once, plan.objective.cost)
    z = min(law.enough(), plan.stop_at)
    q = float(law.prob[law.value >= z - 2.0**-40 * (most - least)].sum()) - 2.0**-40
    top = float(plan.curves.tail[0].point[-1]) if not lattice.whole else plan.stop_at
    first = mdp.mean_optimal[1] - lattice.price
    return z, max(q, 0.0), max(top, plan.stop_at) - z, first


def stopping_words(plan: Plan) -> str:
    """When to stop, how many tries that takes, and how many are worth paying for; empty where nothing costs."""
    if plan.stop_at == math.inf:
        return ""
    least, most = plan.mdp.return_range
    scale = max(most - float(plan.mdp.mean_optimal[1]), 1e-9 * (most - least), 1e-300)
    tol = 10.0 ** math.floor(math.log10(1e-3 * scale))
    words = [f"stop as soon as you have {float(plan.stop_at):.{decimals_of(float(plan.stop_at), digits=4)}f}"]
    try:
        tries = evaluate(plan.mdp, plan.policy, cost=plan.objective.cost, max_atoms=FEW_ATOMS).tries
        words.append(f"on average {tries.value:.2g} {'try' if f'{tries.value:.2g}' == '1' else 'tries'}")
    except TooLargeError:
        pass
    try:
        number = enough(plan, tol)
    except TooLargeError:
        number = None
    if number is not None:
        words.append(f"more than {number} {'try is' if number == 1 else 'tries are'} worth less than {tol:g}")
    return f"{'; '.join(words)}."
