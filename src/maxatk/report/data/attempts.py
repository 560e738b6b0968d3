"""Studies of logs as plain data, for JSON."""

from typing import Any

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.files import plan_data
from maxatk.attempts.sequences.strategies import Frontier, Strategy
from maxatk.attempts.study.advice import Advised
from maxatk.attempts.study.latency import AtWidth
from maxatk.attempts.study.study import JudgedStudy, Study
from maxatk.base.text import finite
from maxatk.report.data import judges


def study(result: Study) -> dict[str, Any]:
    """The whole study."""
    log, plan, pairs = result.log, result.plan, ("first", "second", "k", "verdict", "tasks_needed")
    all_curves = (*result.curves, *(() if result.vote is None else (result.vote,)))
    curves = ({"what": curve.name, "arm": p.arm, "k": p.k, **estimate(p)} for curve in all_curves for p in curve)
    return {
        "log": {"tasks": len(log.tasks), "arms": list(log.arms), "attempts": len(log.score)},
        "advice": list(result.advice),
        "notes": list(result.notes),
        "curves": list(curves),
        "ranges": [{"what": "pass@k", "arm": arm, **vars(known)} for arm, known in result.ranges],
        "difficulty": [vars(one) for one in result.difficulty],
        "differences": [{**_named(d, *pairs), **estimate(d)} for d in result.differences or ()],
        "frontier": None if result.frontier is None else frontier(result.frontier),
        **({} if result.latency is None else {"latency": list(map(at_width, result.latency.rows))}),
        "plan": None if plan is None else {"arms": plan.arms, **plan_data(plan)},
        "advised": [advised(one) for one in result.advised],
        "findings": [one.data() for one in result.findings],
        **({"judges": list(map(judges.report, result.reports))} if isinstance(result, JudgedStudy) else {}),
    }


def frontier(front: Frontier) -> dict[str, Any]:
    """The strategies of a frontier, with their scores and costs."""
    strategies = [strategy(one) for one in front.strategies]
    return {"gain": estimate(front.gain), "prices": list(front.prices), "width": front.width, "strategies": strategies}


def at_width(row: AtWidth) -> dict[str, Any]:
    """Sequences whose attempts are made some at a time."""
    names = ("score", "cost", "rounds", "more_score", "more_cost", "gain")
    return {"width": row.width, **{name: estimate(getattr(row, name)) for name in names}}


def strategy(one: Strategy) -> dict[str, Any]:
    """A strategy, with its score and cost."""
    per_solved, *ends = map(finite, one.cost_per_solved)
    return {
        **_named(one, "family", "name", "example", "price", "rounds", "solved"),
        "score": estimate(one.score),
        "cost": estimate(one.cost),
        "seconds": None if one.seconds is None else estimate(one.seconds),
        "cost_per_solved": per_solved,
        "cost_per_solved_range": ends,
        "dominated_by": None if one.dominated is None else one.dominated.by,
        "surely": one.dominated is not None and one.dominated.surely,
    }


def advised(one: Advised) -> dict[str, Any]:
    """The advice for one goal, with its score and cost."""
    names = ("score", "cost", "other_score", "other_cost", "gain")
    return {
        "goal": {one.goal.name: one.goal.number},
        "plan": plan_data(one.plan),
        "alternative": None if one.alternative is None else plan_data(one.alternative),
        **{name: estimate(getattr(one, name)) for name in names},
    }


def estimate(result: Estimate) -> dict[str, Any]:
    """A mean over tasks with its interval."""
    ends = {"lower": finite(result.lower), "upper": finite(result.upper)}
    return {**_named(result, "value", "tasks", "level", "method"), **ends}


def _named(thing: object, *names: str) -> dict[str, Any]:
    """Some attributes of an object, by name."""
    return {name: getattr(thing, name) for name in names}
