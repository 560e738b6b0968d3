"""A study as plain data, for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxatk.attempts.sequences.files import plan_data
from maxatk.attempts.study.tables import data as estimate

if TYPE_CHECKING:
    from maxatk.attempts.sequences.advice import Advised
    from maxatk.attempts.sequences.strategies import Frontier
    from maxatk.attempts.study.study import Study


def data(study: Study) -> dict[str, Any]:
    """The whole study."""
    log = study.log
    return {
        "log": {"tasks": len(log.tasks), "arms": list(log.arms), "attempts": len(log.score)},
        "advice": list(study.advice),
        "notes": list(study.notes),
        "curves": [
            {"what": curve.name, "arm": p.arm, "k": p.k, **estimate(p)} for curve in study.curves for p in curve
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
            for arm, r in study.ranges
        ],
        "difficulty": [vars(one) for one in study.difficulty],
        "differences": [
            {
                "first": d.first,
                "second": d.second,
                "k": d.k,
                "verdict": d.verdict,
                "tasks_needed": d.tasks_needed,
                **estimate(d),
            }
            for d in study.differences or ()
        ],
        "frontier": None if study.frontier is None else frontier(study.frontier),
        "plan": None if study.plan is None else {"arms": study.plan.arms, **plan_data(study.plan)},
        "advised": [advised(one) for one in study.advised],
        "findings": [one.data() for one in study.findings],
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
                "cost_per_solved": finite(s.cost_per_solved),
                "cost_per_solved_range": [finite(end) for end in s.cost_per_solved_range],
                "dominated_by": s.dominated_by,
                "surely": s.surely,
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


def finite(value: float) -> float | None:
    """The value, or None for an infinite one, which JSON does not have."""
    return value if math.isfinite(value) else None
