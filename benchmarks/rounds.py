"""Tries made several at a time: what they earn by the number of rounds, and what planning them takes.

    python benchmarks/rounds.py

Each problem is planned for K tries one at a time, and in rounds of every width that divides K. Seconds are the least of
three runs; *slices* is the share of all slices that rounds add.
"""

import time
from typing import Any

import maxatk as mk
from common import report

PROBLEMS = (
    *("windy_cliff", "qualifying_laps", "javelin", "gambler", "blackjack", "drafts", "figure1", "proposition1"),
    *("proposition3", "footnote", "subset_sum", "lower_bound", "lotteries", "heavy_tails", "deadlines", "traps"),
)  # the instances of the gallery that take seconds, without those that cost something
K, RUNS = 12, 3


def timed(mdp: mk.MDP, **asked: Any) -> tuple[Any, float]:
    """A plan, and the least seconds that it took."""
    seconds = []
    for _ in range(RUNS):
        began = time.perf_counter()
        plan = mk.solve(mdp, K, **asked)
        seconds.append(time.perf_counter() - began)
    return plan, min(seconds)


def main() -> None:
    """Plan all problems in rounds."""
    rows: list[dict[str, Any]] = []
    for name in PROBLEMS:
        mdp = mk.find_problem(name)
        mk.solve(mdp, 4, width=2)  # compiled
        one, alone = timed(mdp)
        for width in (w for w in range(K, 1, -1) if K % w == 0):
            plan, seconds = timed(mdp, width=width)
            rows.append({
                "problem": name, "rounds": K // width, "width": width, "earns": f"{plan.lower:.5g}",
                "one at a time": f"{one.lower:.5g} to {one.upper:.5g}",
                "keeps at least": "" if plan.kept is None else f"{int(1000 * plan.kept.lower) / 10} %",
                "seconds": seconds, "times one at a time": seconds / alone,
                "slices": plan.stats["slices_of_rounds"] / plan.stats["slices"],
            })  # fmt: skip
    report("rounds", f"K = {K} tries in rounds", rows)


if __name__ == "__main__":
    main()
