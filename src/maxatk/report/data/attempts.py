"""Studies of logs as plain data, for JSON."""

from typing import Any

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.files import plan_data
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.attempts.study.advice import Advised
from maxatk.attempts.study.study import Study
from maxatk.base.text import finite


def study(found: Study) -> dict[str, Any]:
    """The whole found."""
    log = found.log
    return {
        "log": {"tasks": len(log.tasks), "arms": list(log.arms), "attempts": len(log.score)},
        "advice": list(found.advice),
        "notes": list(found.notes),
        "curves": [
            {"what": curve.name, "arm": p.arm, "k": p.k, **estimate(p)} for curve in found.curves for p in curve
        ],
        "ranges": [
            {
                "what": "pass@k",
                "arm": arm,
                "k": r.k,
                "attempts": r.attempts,
                "lower": r.lower,
                "upper": r.upper,
                "tasks": r.tasks,
                "level": r.level,
            }
            for arm, r in found.ranges
        ],
        "difficulty": [vars(one) for one in found.difficulty],
        "differences": [
            {
                "first": d.first,
                "second": d.second,
                "k": d.k,
                "verdict": d.verdict,
                "tasks_needed": d.tasks_needed,
                **estimate(d),
            }
            for d in found.differences or ()
        ],
        "frontier": None if found.frontier is None else frontier(found.frontier),
        "plan": None if found.plan is None else {"arms": found.plan.arms, **plan_data(found.plan)},
        "advised": [advised(one) for one in found.advised],
        "findings": [one.data() for one in found.findings],
    }


def frontier(front: Frontier) -> dict[str, Any]:
    """The strategies of a frontier, with their scores and costs."""
    return {
        "gain": estimate(front.gain),
        "prices": list(front.prices),
        "strategies": [
            {
                "family": s.family,
                "name": s.name,
                "example": s.example,
                "price": s.price,
                "score": estimate(s.score),
                "cost": estimate(s.cost),
                "seconds": None if s.seconds is None else estimate(s.seconds),
                "solved": s.solved,
                "cost_per_solved": finite(s.cost_per_solved.value),
                "cost_per_solved_range": [finite(s.cost_per_solved.lower), finite(s.cost_per_solved.upper)],
                "dominated_by": None if s.dominated is None else s.dominated.by,
                "surely": s.dominated is not None and s.dominated.surely,
            }
            for s in front.strategies
        ],
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


def estimate(found: Estimate) -> dict[str, Any]:
    """A mean over tasks with its interval."""
    return {
        "value": found.value,
        "lower": finite(found.lower),
        "upper": finite(found.upper),
        "tasks": found.tasks,
        "level": found.level,
        "method": found.method,
    }
