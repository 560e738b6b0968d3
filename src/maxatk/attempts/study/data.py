"""A study as plain data, for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxatk.attempts.sequences.files import plan_data
from maxatk.attempts.study.tables import data as estimate

if TYPE_CHECKING:
    from maxatk.attempts.sequences.offers import Frontier
    from maxatk.attempts.sequences.replay import Replay
    from maxatk.attempts.study.study import Study


def data(study: Study) -> dict[str, Any]:
    """All of it."""
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
        "replay": None if study.replay is None else replay(study.replay),
    }


def frontier(offered: Frontier) -> dict[str, Any]:
    """The offers of a offered."""
    return {
        "verdict": offered.verdict,
        "gain": estimate(offered.gain),
        "prices": list(offered.prices),
        "offers": [
            {
                "family": o.family,
                "name": o.name,
                "price": o.price,
                "score": estimate(o.score),
                "cost": estimate(o.cost),
                "seconds": None if o.seconds is None else estimate(o.seconds),
                "solved": o.solved,
                "cost_per_solved": finite(o.cost_per_solved),
                "cost_per_solved_range": [finite(end) for end in o.cost_per_solved_range],
                "dominated_by": o.dominated_by,
                "surely": o.surely,
            }
            for o in offered.offers
        ],
        "savings": [vars(saving) for saving in offered.savings],
    }


def replay(held_out: Replay) -> dict[str, Any]:
    """The numbers of a held_out."""
    names = ("score", "cost", "net", "gain", "usual_gain", "score_gain", "single_score", "single_cost")
    return {
        "verdict": held_out.verdict,
        "single": held_out.single,
        "cut": held_out.cut,
        "price": held_out.price,
        "tasks": held_out.tasks,
        **{name: estimate(getattr(held_out, name)) for name in names},
        "seconds": None if held_out.seconds is None else estimate(held_out.seconds),
        "attempts": held_out.attempts,
        "solved": held_out.solved,
        "cost_ratio": [finite(end) for end in held_out.cost_ratio],
        "exhausted": held_out.exhausted,
        "same": held_out.same,
    }


def finite(value: float) -> float | None:
    """JSON has no infinities."""
    return value if math.isfinite(value) else None
