"""Plans and learned policies in words.

The verdict on a plan is two or three sentences: its gain over repeating the best mean, the reason, and the differences
between tries.
"""

import math

import numpy as np

from maxatk.base.findings import Gain, Kept, Share
from maxatk.base.text import as_given, at_least, at_most, decimals_of, known, probability
from maxatk.comparison.classes import ADAPTIVE, ONE_UNTIL, SINGLE
from maxatk.comparison.contrast import Contrast
from maxatk.comparison.results import Comparison
from maxatk.learning.learned import Learned
from maxatk.planning.exact import ExactPlan
from maxatk.planning.plan import Plan, Status
from maxatk.planning.rounds.exact import ExactRoundsPlan
from maxatk.planning.rounds.plan import PlanInRounds
from maxatk.problem.mdp import MDP
from maxatk.report.words import contrasts, plans

SIMPLER = {  # the names of classes in sentences
    SINGLE: "one policy, chosen for the best of all tries and repeated,",
    ONE_UNTIL: "one policy, repeated until its threshold is reached,",
}


def sentences(plan: Plan, contrast: Contrast | None = None, comparison: Comparison | None = None) -> list[str]:
    """The verdict, from findings; a contrast or comparison that is not given is left out."""
    means = not plan.costly and plan.objective.utility is None
    if plan.k == 1 and means and plan.best_so_far <= plan.mdp.return_range[0]:
        return [f"One try: maximise its mean, {_mean(plan)}."]
    most = plan.mdp.return_range[1]
    if plan.best_so_far >= most and not plan.costly:
        return [f"No try can beat the best so far, {float(plan.best_so_far):.6g}: the largest return is {most:.6g}."]
    gain: Gain = comparison.gain if comparison else plan.gain
    told = plans.gain(gain, *_values(plan, comparison), "" if plan.costly else _why(plan.mdp), _remedy(plan, gain))
    if gain.lower > 0:
        told += _shares(comparison)
        told += _last(contrast)
    return told


def text(plan: Plan) -> str:
    """A plan in words, for ``print``: its verdict and the interval that contains the optimum."""
    decimals = decimals_of(plan.lower, plan.upper)
    unit = f" {plan.mdp.unit}" if plan.mdp.unit and plan.objective.utility is None else ""
    interval = (
        f"This plan earns at least {at_least(plan.lower, decimals)}{unit}, and {rivals(plan)} earns more than "
        f"{at_most(plan.upper, decimals)} ({goal(plan)}, {plan.status})."
    )
    in_rounds = [plans.kept(one) for one in plan.findings if isinstance(one, Kept) and one.lower > 0]
    return "\n".join([*sentences(plan), *in_rounds, *([stopping(plan)] if plan.costly else []), interval])


def _values(plan: Plan, comparison: Comparison | None) -> tuple[float, float]:
    """Lower bounds on the plan's value and on the optimum; they differ if another class has a better policy."""
    last = comparison[ADAPTIVE] if comparison else None
    if last is None or last.policy is plan.policy:
        return plan.lower, plan.lower
    return plan.lower, max(plan.lower, last.lower)


def _mean(plan: Plan) -> str:
    if isinstance(plan, ExactPlan):
        return f"which is {float(plan.exact):.8g}"
    return f"which is {known(plan.lower, plan.upper, decimals_of(plan.lower, digits=4))}"


def _remedy(plan: Plan, gain: Gain) -> str:
    """Advice on how to settle a question that the plan leaves open."""
    if gain.rival_upper - gain.rival_lower > plan.gap:
        return "What does not adapt was not evaluated: a longer time limit would tell."
    if plan.status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.WORK_LIMIT):
        return "A longer search would tell."
    if plan.status is Status.MEMORY_LIMIT:
        return "More memory would tell."
    return "Ask for a smaller tol." if plan.status is Status.WITHIN_TOL else ""


def _shares(comparison: Comparison | None) -> list[str]:
    """Sentences on the share of the gain that simpler policies have."""
    findings = comparison.findings if comparison else ()
    return [plans.share(one, SIMPLER[one.name]) for one in findings if isinstance(one, Share) and one.name in SIMPLER]


def _last(contrast: Contrast | None) -> list[str]:
    """A sentence on the main difference of the last try."""
    if contrast is None:
        return []
    told: list[str] = []
    for one in contrast.last[::-1]:
        changes = contrasts.changes(contrast, one, main=True)
        if changes:
            told.append(f"On the last try {contrasts.with_best(one.best)}: {changes}.")
    return told[:1]


def on_last_try(contrast: Contrast) -> str:
    """A sentence on the main difference of the last try; empty if there is none."""
    return " ".join(_last(contrast))


def _why(mdp: MDP) -> str:
    """The reason why nothing is gained, if it follows from the form of the problem; otherwise empty."""
    least, most = mdp.return_range
    if (np.diff(mdp.outcome_start) == 1).all():
        return "nothing is left to chance once a try has begun"
    rewards = set(mdp.reward[mdp.reward != 0].tolist())
    if least == 0 and rewards == {most}:
        return f"a try succeeds or fails: its return is 0 or {most:g}"
    return ""


def rivals(plan: Plan) -> str:
    """Who earns no more than the plan's upper end; of most plans in rounds it is the optimum of one at a time."""
    return f"no policy in {plans.rounds(plan.objective.rounds)}" if isinstance(plan, ExactRoundsPlan) else "no policy"


def goal(plan: Plan) -> str:
    """The objective of a plan in words."""
    if plan.stop_at == math.inf:
        best = f"best of {plan.k}" if plan.objective.utility is None else f"utility of the best of {plan.k}"
        return f"{best} in {plans.rounds(plan.objective.rounds)}" if plan.objective.rounds else best
    abandoned = ", which may be abandoned" if plan.objective.abandon else ""
    return f"best of up to {plan.k}{abandoned}, less costs"


def stopping(plan: Plan) -> str:
    """The stopping rule in words; empty if there are no costs."""
    if isinstance(plan, PlanInRounds) and plan.costly:
        return plans.round_stops(plan.stops_at)
    return plans.stop(plan.stop) if plan.stop else ""


def certificate(learned: Learned) -> str:
    """The bounds on a learned policy, with their probability."""
    decimals = decimals_of(learned.lower, learned.upper)
    return (
        f"With probability at least {probability(learned.delta)}, the policy earns at least "
        f"{at_least(learned.lower, decimals)}, no policy earns more than {at_most(learned.upper, decimals)}, and the "
        f"policy loses at most {as_given(learned.epsilon, decimals)}. ({learned.basis}.)"
    )
