"""A plan in two or three sentences: what it is worth beside repeating the best mean, why, and what it looks at."""

import math

import numpy as np

from maxatk.base.errors import TooLargeError
from maxatk.base.returns import floats_around
from maxatk.comparison.compare import ADAPTIVE, SINGLE, Comparison
from maxatk.comparison.contrast import Contrast
from maxatk.comparison.priced import ONE_UNTIL, PricedClasses
from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.plan import Plan
from maxatk.policies import MarkovPolicy
from maxatk.problem.mdp import MDP
from maxatk.show.bounds import at_least, at_most, decimals_of
from maxatk.show.views import in_hand

MOST_WORK = 2_000_000  # outcomes times steps times rollouts: what repeating the mean earns is computed up to there
NEARLY_ALL = 0.95  # of the gain


def mean_repeated(plan: Plan, comparison: Comparison | None) -> tuple[float, float] | None:
    """Bounds on what repeating the policy of the best mean earns; None where that would take long to say."""
    if comparison is not None:
        return comparison.rows[0].lower, comparison.rows[0].upper
    if _takes_long(plan):
        return None
    try:
        policy = MarkovPolicy(plan.mdp.mean_optimal_actions, k=plan.k, best_so_far=plan.best_so_far)
        earned = evaluate(plan.mdp, policy)
    except TooLargeError:
        return None
    return (earned.lower, earned.upper) if earned.exact is None else floats_around(earned.exact)


def sentences(plan: Plan, contrast: Contrast | None = None, comparison: Comparison | None = None) -> list[str]:
    """The verdict. What is not given is left out, not computed, but for what repeating the best mean earns."""
    k = plan.k
    if k == 1:
        return [f"One try: the best mean is all there is, {_at_least(plan.lower, 0.0)}."]
    if plan.stop_at < math.inf:
        return _with_costs(plan, contrast, comparison)
    mean = mean_repeated(plan, comparison)
    if mean is None:
        return [f"Planning for the best of {k}: {_at_least(plan.lower, 0.0)}.", *_last(contrast)]
    gain = plan.upper - mean[0]  # at most
    if gain <= _nothing(plan):
        return [
            f"Adapting gains nothing here{_why(plan.mdp)}: repeat the policy with the best mean.",
            f"It earns {_about(mean, 0.0)}, and no plan for the best of {k} earns {gain:.1e} more.",
        ]
    return [
        f"Repeating the policy with the best mean: {_about(mean, gain)}.",
        f"Planning for the best of {k}: {_at_least(plan.lower, gain)}.",
        *_tuned(comparison),
        *_last(contrast),
    ]


def _with_costs(plan: Plan, contrast: Contrast | None, comparison: Comparison | None) -> list[str]:
    """The same where tries cost something: the rival is a number of tries with the best mean, fixed beforehand."""
    row = comparison.rows[0] if comparison else None
    if row is None and isinstance(plan, CertifiedPlan) and not _takes_long(plan):
        row = next(PricedClasses(plan).rows())
    if row is None or row.evaluation is None:  # nobody knows
        return [f"Planning, and stopping in time: {_at_least(plan.lower, 0.0)}.", *_last(contrast)]
    gain = plan.upper - row.lower
    if gain <= _nothing(plan):
        return [
            f"Adapting gains nothing here{_why(plan.mdp)}: take the policy with the best mean, {row.how} fixed "
            "beforehand.",
            f"It earns {_about((row.lower, row.lower), 0.0)}, less costs, and no plan earns {gain:.1e} more.",
        ]
    return [
        f"The best mean, {row.how} fixed beforehand, less what they cost: {_about((row.lower, row.lower), gain)}.",
        f"Planning, and stopping in time: {_at_least(plan.lower, gain)}.",
        *_until(comparison),
        *_last(contrast),
    ]


def _takes_long(plan: Plan) -> bool:
    mdp = plan.mdp
    return len(mdp.prob) / mdp.n_layers * mdp.horizon * plan.k > MOST_WORK


def _nothing(plan: Plan) -> float:
    """A gain that is none."""
    return max(2 * plan.gap, 1e-6 * max(map(abs, plan.mdp.return_range)))


def _tuned(comparison: Comparison | None) -> list[str]:
    """How much of the gain one policy would have, repeated."""
    rows = {row.name: row for row in comparison.rows} if comparison else {}
    if comparison is None or SINGLE not in rows or ADAPTIVE not in rows:
        return []
    share = comparison.share(rows[SINGLE])
    if share is None:
        return []
    alone = "one policy, chosen for the best and repeated, has"
    if share >= NEARLY_ALL:
        return [f"It is all in the tuning: {alone} {100 * share:.0f} % of the gain."]
    return [f"Without adapting, {alone} {100 * share:.0f} % of the gain."]


def _until(comparison: Comparison | None) -> list[str]:
    """How much of the gain one policy would have, repeated until enough is in hand."""
    for row in comparison.rows if comparison else ():
        share = comparison.share(row) if comparison and row.name == ONE_UNTIL else None
        if share is not None:
            return [f"One policy, repeated until enough is in hand, has {100 * share:.0f} % of the gain."]
    return []


def _last(contrast: Contrast | None) -> list[str]:
    """What the last try does otherwise."""
    if contrast is None:
        return []
    told: list[str] = []
    for one in contrast.last[::-1]:
        changes = contrast.changes(one, main=True)
        if changes:
            told.append(f"On the last try with {in_hand(one.best)} in hand: {changes}.")
    return told[:1]


def _why(mdp: MDP) -> str:
    """Why nothing is gained, where that can be seen."""
    least, most = mdp.return_range
    if (np.diff(mdp.outcome_start) == 1).all():
        return " (nothing is left to chance once a try has begun)"
    paid = set(mdp.reward[mdp.reward != 0].tolist())
    if least == 0 and paid == {most}:
        return f" (a try succeeds or fails: its return is 0 or {most:g})"
    return ""


def _decimals(x: float, gain: float) -> int:
    """As many as give a number four digits, and a gain three."""
    fine = 2 - math.floor(math.log10(gain)) if gain > 0 else 0
    return min(max(decimals_of(x, digits=4), min(fine, decimals_of(x, digits=8))), 12)


def _at_least(lower: float, gain: float) -> str:
    return f"at least {at_least(lower, _decimals(lower, gain))}"


def _about(earned: tuple[float, float], gain: float) -> str:
    """What is known to lie between two bounds: a number where they agree to what is shown."""
    decimals = _decimals(earned[0], gain)
    if earned[1] - earned[0] <= 10.0**-decimals:
        return f"{sum(earned) / 2:.{decimals}f}"
    return f"between {at_least(earned[0], decimals)} and {at_most(earned[1], decimals)}"
