"""Plans, comparisons, trials and learned policies as plain data, for JSON."""

import math
from fractions import Fraction
from typing import Any

from maxatk.base.findings import Agreement, Finding, Gain, Value
from maxatk.base.text import finite
from maxatk.comparison.contrast import Contrast
from maxatk.comparison.results import Comparison
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning import CertifiedPlan, ExactPlan, Plan
from maxatk.problem.mdp import MDP
from maxatk.report.tables.comparisons import tries_of
from maxatk.report.words import verdict as verdicts

MOST_BITS = 14_000  # of a fraction in print: about 4,200 digits


def plan_data(plan: Plan, comparison: Comparison | None = None) -> dict[str, Any]:
    """A plan's numbers and findings, including those of a comparison if there is one."""
    findings = plan.findings
    if comparison is not None:  # it may know more of the gain
        findings = tuple(one for one in findings if not isinstance(one, Gain))
        findings = (findings[0], *comparison.findings, *findings[1:])
    return {**_numbers(plan), "findings": [one.data() for one in findings]}


def _numbers(plan: Plan) -> dict[str, Any]:
    return {
        "problem": problem_data(plan.mdp),
        "k": plan.k,
        "best_so_far": finite(float(plan.best_so_far)),
        "lower": plan.lower,
        "upper": plan.upper,
        "gap": plan.gap,
        "status": str(plan.status),
        **({"exact": _as_text(plan.exact)} if isinstance(plan, ExactPlan) else {}),
        **stopping_data(plan),
        "stats": {name: finite(value) for name, value in plan.stats.items()},
    }


def stopping_data(plan: Plan) -> dict[str, Any]:
    """The stopping rule; empty if there are no costs."""
    if plan.stop_at == math.inf:
        return {}
    objective = plan.objective
    words = verdicts.stopping(plan)
    return {"cost": float(objective.cost), "abandon": objective.abandon, "stop_at": float(plan.stop_at), "says": words}


def problem_data(mdp: MDP) -> dict[str, Any]:
    """The sizes of a problem, and its fingerprint."""
    return {
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "horizon": mdp.horizon,
        "outcomes": len(mdp.prob),
        "fingerprint": mdp.fingerprint,
    }


def _as_text(value: Fraction) -> str | None:
    """A fraction as text; None for thousands of digits, which Python neither prints nor parses."""
    return str(value) if max(abs(value.numerator), value.denominator).bit_length() <= MOST_BITS else None


def comparison_data(compared: Comparison) -> list[dict[str, Any]]:
    """The rows of a comparison."""
    return [
        {
            "policy": row.name,
            "lower": finite(row.lower),
            "upper": row.upper,
            "exact": None if row.exact is None else _as_text(row.exact),
            "share": compared.share(row),
            "method": row.method,
            **({} if compared.plan.stop_at == math.inf else {"tries": tries_of(row)}),
        }
        for row in compared.rows
    ]


def contrast_data(contrast: Contrast) -> list[dict[str, Any]]:
    """The tries of a contrast."""
    return [
        {
            "rollout": one.rollout,
            "best": finite(one.best),
            "beats": one.beats,
            "mean": finite(one.mean),
            "low": finite(one.low),
            "high": finite(one.high),
            **({"stops": one.stops, "given_up": one.given_up} if one.stops or one.given_up else {}),
            "differences": [difference._asdict() for difference in contrast.first.differences(one)],
        }
        for one in (contrast.first, *contrast.last)
    ]


def simulation_data(plan: Plan | Learned, runs: Simulation, level: float = 0.95) -> dict[str, Any]:
    """The results of trials, with the plan's certificate."""
    return {
        "k": plan.k,
        "trials": len(runs.best),
        "mean": runs.mean,
        "level": level,
        "interval": [finite(end) for end in runs.interval(level)],
        "method": "t, nominal",
        "certificate": [plan.lower, plan.upper],
        **(_costs_data(runs) if isinstance(plan, CertifiedPlan) and plan.costly else {}),
        **({"delta": plan.delta} if isinstance(plan, Learned) else {}),
        "findings": [one.data() for one in (*_of_policy(plan), agreement(plan, runs, level))],
        "steps": runs.steps,
        "seconds": runs.seconds,
    }


def _of_policy(plan: Plan | Learned) -> tuple[Finding, ...]:
    return plan.findings if isinstance(plan, Learned) else (Value(lower=plan.lower, upper=plan.upper, k=plan.k),)


def agreement(plan: Plan | Learned, runs: Simulation, level: float) -> Agreement:
    """Whether trials agree with what is proved of the policy; of a learned one no range of trials is known."""
    trial_range = (-math.inf, math.inf) if isinstance(plan, Learned) else plan.problem.trial_range
    return runs.agreement((plan.lower, plan.upper), trial_range, level)


def _costs_data(runs: Simulation) -> dict[str, float]:
    best, cost, tries = (float(x.mean()) for x in (runs.best, runs.cost, runs.tries))
    return {"best": best, "cost": cost, "tries": tries}


def learned_data(result: Learned) -> dict[str, Any]:
    """The result of learning."""
    return {
        "k": result.k,
        "lower": result.lower,
        "upper": result.upper,
        "epsilon": result.epsilon,
        "target": result.target,
        "delta": result.delta,
        "samples": result.samples,
        "certificate": result.certificate,
        "findings": [one.data() for one in result.findings],
        # The bounds of the counted problem's plan are not findings: they do not hold for the true one.
        "model_plan": None if result.model_plan is None else _numbers(result.model_plan),
        "stats": {name: finite(value) for name, value in result.stats.items()},
    }
