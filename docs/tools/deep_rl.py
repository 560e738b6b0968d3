"""Tables of what the agents of the deep-RL example earned, from the files that the runs left: every seed is there."""

import json
import math
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from scipy.stats import t as student

RESULTS = Path(__file__).parents[2] / "examples" / "deep_rl" / "results"
METHODS = {
    "ppo_potential": "PPO with a potential",
    "ppo": "PPO without",
    "maskable_ppo": "MaskablePPO with a potential",
    "dqn": "DQN with a potential",
}


def long_cliff() -> str:
    """What part of the gap between the best mean, repeated, and the optimum each seed has closed."""
    kept = _read("long_cliff")
    low, high = kept["mean_optimal_repeated"], kept["optimum"][1]
    lines = [["agent", "steps", "seeds", "best return", "of the gap, seed by seed", "least"], ["---", *["---:"] * 5]]
    for method, name in METHODS.items():
        runs = [one for one in kept["runs"] if one["method"] == method]
        if not runs:
            continue
        shares = sorted((100 * (one["earned"] - low) / (high - low) for one in runs), reverse=True)
        shown = " ".join(str(math.floor(share)) if share >= 0 else "–" for share in shares)
        earned = f"{min(one['earned'] for one in runs):.2f} to {max(one['earned'] for one in runs):.2f}"
        least = f"{math.floor(shares[-1])} %" if shares[-1] >= 0 else "none"
        lines.append(
            [name, f"{runs[0]['steps']:,}".replace(",", "\u202f"), str(len(runs)), earned, f"{shown} %", least]
        )
    lines.append(["*the best mean, repeated*", "", "", f"{low:.2f}", "0", ""])
    lines.append(["*certified optimum*", "", "", f"{high:.2f}", "100", ""])
    return _table(lines)


def headwind() -> str:
    """Both agents, seed by seed, and the mean of their differences with a 95 % interval over seeds."""
    kept = _read("headwind")
    earned = {(one["method"], one["seed"]): one for one in kept["runs"]}
    seeds = sorted(seed for method, seed in earned if method == "best_of_k" and ("for_the_mean", seed) in earned)
    lines = [["seed", "for the mean, repeated", "same, drawn", "through `BestOfK`", "same, drawn", "gained"]]
    lines.append(["---", *["---:"] * 5])
    gains: list[float] = []
    for seed in seeds:
        rival, ours = earned["for_the_mean", seed], earned["best_of_k", seed]
        gains.append(ours["likeliest"] - max(rival["likeliest"], rival["drawn"]))
        values = (rival["likeliest"], rival["drawn"], ours["likeliest"], ours["drawn"])
        lines.append([str(seed), *(f"{x:.2f}" for x in values), f"{gains[-1]:.2f}"])
    half = float(student.ppf(0.975, len(gains) - 1)) * stdev(gains) / math.sqrt(len(gains))
    lines.append(["mean", "", "", "", "", f"**{mean(gains):.2f} ± {half:.2f}**"])
    return _table(lines)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _table(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
