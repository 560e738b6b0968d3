"""What is proved of a plan, and of trials of its policy: gathered for tables, data and words alike."""

import math

from maxatk.base.findings import Agreement, Finding, Value
from maxatk.comparison.compare import Comparison
from maxatk.comparison.enough import stop_of
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning import CertifiedPlan, Plan


def of_plan(plan: Plan, comparison: Comparison | None = None) -> list[Finding]:
    """All that is proved of a plan, and of a comparison with simpler policies."""
    stop = stop_of(plan)
    bounds = Value(lower=plan.lower, upper=plan.upper, k=plan.k)
    compared = comparison.findings if comparison else (plan.gain,)
    return [bounds, *compared, *([stop] if stop else [])]


def of_policy(plan: CertifiedPlan | Learned) -> tuple[Finding, ...]:
    """What is proved of the policy of a plan, or of a learned one."""
    return plan.findings if isinstance(plan, Learned) else (Value(lower=plan.lower, upper=plan.upper, k=plan.k),)


def agreement(plan: CertifiedPlan | Learned, runs: Simulation, level: float) -> Agreement:
    """Whether trials agree with what is proved of the policy."""
    low, high = runs.interval(level)
    lower, upper = runs.proved_interval(*_range_of_trials(plan), level)
    return Agreement(
        lower=lower, upper=upper, proved_lower=plan.lower, proved_upper=plan.upper, usual_lower=low, usual_upper=high,
        level=level, trials=len(runs.best),
    )  # fmt: skip


def _range_of_trials(plan: CertifiedPlan | Learned) -> tuple[float, float]:
    """What no trial falls short of, and what none exceeds."""
    if isinstance(plan, Learned):  # only its counted problem is known
        return -math.inf, math.inf
    mdp, best = plan.mdp, float(plan.best_so_far)
    least, most = mdp.return_range
    dearest = plan.k * (float(plan.objective.cost) + mdp.horizon * float(mdp.action_cost.max())) if plan.costly else 0.0
    lowest = best if plan.objective.abandon else max(best, least)  # what is given up returns nothing
    return lowest - dearest, max(best, most)
