"""Real logs of models: published figures that must come out, and what sequences give on them.

    MAXATK_TERMINAL_BENCH=terminal_bench.csv python benchmarks/attempts_real.py

The log of tau-bench is in tests/data. That of terminal-bench (task, arm, attempt, score, cost, from the run summaries
of laude-institute/terminal-bench-leaderboard, commit 8e1925a3) states no licence and is not here: its rows are made
only where the variable names a copy.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from common import report
from maxatk import attempts as at
from maxatk.base.text import spelled

TAU = Path(__file__).parents[1] / "tests" / "data" / "tau_airline_gpt4o.csv"
PRICES = (0.2, 0.05, 0.0125)  # of an attempt of average cost, in units of the range of scores


def figures() -> list[dict[str, Any]]:
    """What was published, and what comes out."""
    tau, rows = at.read_log(TAU), []
    for k, published in zip((1, 2, 3, 4), (0.420, 0.273, 0.220, 0.200), strict=True):
        found = tau.pass_hat_k(k)
        rows.append(("tau-bench airline, gpt-4o", f"pass^{k}", published, found))
    if bench := _terminal_bench():
        for arm, published in (("droid+claude-4-1-opus", 0.5875), ("droid+gpt-5", 0.525)):
            rows.append((f"terminal-bench, {arm}", "resolved", published, bench.pass_at_k(1, 1.0, arm)))
    return [
        {
            "log": log,
            "figure": figure,
            "published": published,
            "ours": round(found.value, 4),
            "interval over tasks": f"{found.lower:.2f} to {found.upper:.2f}",
        }
        for log, figure, published, found in rows
    ]


def _terminal_bench() -> at.Log | None:
    path = os.environ.get("MAXATK_TERMINAL_BENCH")
    return at.read_log(path) if path else None


def _ends(found: at.Estimate) -> tuple[float, float, float]:
    return found.value, found.lower, found.upper


def sequences() -> list[dict[str, Any]]:
    """Sequences on held-out tasks, beside the best capped arm."""
    logs = {"tau-bench airline, gpt-4o": at.read_log(TAU)}
    if bench := _terminal_bench():
        known = [a for i, a in enumerate(bench.arms) if np.isnan(bench.cost[bench.arm == i]).mean() < 0.1]
        logs["terminal-bench, fraction of tests, 9 arms"] = bench.select(arms=known).fill_costs()
        passed = logs["terminal-bench, fraction of tests, 9 arms"]
        logs["terminal-bench, resolved or not, 9 arms"] = at.Log(
            **{
                **{f: getattr(passed, f) for f in passed.__dataclass_fields__},
                "score": (passed.score >= 1).astype(float),
            }
        )
    rows = []
    for name, log in logs.items():
        usual = float(log.cost.mean())
        for share in PRICES:
            plan = at.sequence(log, price=share / usual)
            found = at.cross_replay(log, price=share / usual)
            rows.append(
                {
                    "log": name,
                    "price": share,
                    "sequence": spelled(plan.arms[:5]) + (f", ... ({len(plan.arms)})" if len(plan.arms) > 5 else ""),
                    "score": round(found.score.value, 3),
                    "cost": round(found.cost.value / usual, 2),
                    "best capped arm": plan.single.words,
                    "its score": round(found.single.score.value, 3),
                    "its cost": round(found.single.cost.value / usual, 2),
                    "gain, points": "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * x for x in _ends(found.gain))),
                }
            )
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore", at.AttemptsWarning)
    report("attempts_figures", "Published figures", figures())
    report("attempts_real", "Sequences on real logs, on held-out tasks; costs in average attempts", sequences())
