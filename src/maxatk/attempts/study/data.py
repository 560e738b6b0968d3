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


def data(found: Study) -> dict[str, Any]:
    """All of it."""
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
        "replay": None if found.replay is None else replay(found.replay),
    }


def frontier(found: Frontier) -> dict[str, Any]:
    """The offers of a frontier."""
    return {
        "verdict": found.verdict,
        "gain": estimate(found.gain),
        "prices": list(found.prices),
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
            for o in found.offers
        ],
        "savings": [vars(saving) for saving in found.savings],
    }


def replay(found: Replay) -> dict[str, Any]:
    """The numbers of a replay."""
    names = ("score", "cost", "net", "gain", "usual_gain", "score_gain", "single_score", "single_cost")
    return {
        "verdict": found.verdict,
        "single": found.single,
        "cut": found.cut,
        "price": found.price,
        "tasks": found.tasks,
        **{name: estimate(getattr(found, name)) for name in names},
        "seconds": None if found.seconds is None else estimate(found.seconds),
        "attempts": found.attempts,
        "solved": found.solved,
        "cost_ratio": [finite(end) for end in found.cost_ratio],
        "exhausted": found.exhausted,
        "same": found.same,
    }


def finite(value: float) -> float | None:
    """JSON has no infinities."""
    return value if math.isfinite(value) else None
