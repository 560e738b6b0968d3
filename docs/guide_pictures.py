"""The pictures of the guides, one for each that has none of its own; ``pictures.py`` draws them with the others."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import maxatk as mk
from maxatk import attempts as at
from maxatk.report.palette import palette

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def drawings() -> dict[str, Callable[[], Any]]:
    """A figure for each name of a file."""
    return {
        "leap.svg": leap,
        "lake.svg": lake,
        "drafts.svg": drafts,
        "frontier.svg": frontier,
        "climb.svg": climb,
        "tries.svg": tries,
        "threads.svg": threads,
    }


def _axes(width: float = 6, height: float = 3.4, **labels: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    ax: Any = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(**labels)
    return figure, ax


def leap() -> Any:
    """The guide's table: what it does at its one choice, on the first try and on the last, by M."""
    table = {
        0: {0: [(1.0, 0, 1, False)], 1: [(0.3, 1, 5, False), (0.7, 1, 0, True)]},
        1: {0: [(1.0, 1, 2, False)]},
    }
    mdp = mk.MDP.from_table(table, horizon=4, state_names=["ready", "landed"], action_names=["draft", "leap"])
    return mk.figures.action_map(mk.solve(mdp, k=3), rollout=2, step=0, state=0)


def lake() -> Any:
    """What a plan does on the slippery lake."""
    return mk.figures.paths(mk.solve(mk.MDP.from_gymnasium("FrozenLake-v1", horizon=30), k=3))


def drafts() -> Any:
    """What classes of policies earn on the drafts."""
    return mk.figures.comparison(mk.compare(mk.instances.drafts(), k=4))


def frontier() -> Any:
    """Score and cost of every strategy of the example log."""
    found = at.frontier(at.example_log())
    figure, ax = _axes(6.5, 3.8, xlabel="cost per task, seconds of CPU time", ylabel="score", xscale="log")
    families = list(dict.fromkeys(strategy.family for strategy in found.strategies))
    for colour, family, marker in zip(palette(len(families)), families, "os^D", strict=False):
        some = [strategy for strategy in found.strategies if strategy.family == family]
        ax.scatter(
            [one.cost.value for one in some], [one.score.value for one in some], color=colour, marker=marker,
            alpha=[1.0 if one.dominated is None else 0.25 for one in some], label=family, s=36,
        )  # fmt: skip
    ax.legend(frameon=False, title="faint: another costs less and scores more", title_fontsize=8, fontsize=9)
    return figure


class Climb:
    """The guide's simulator: three ledges."""

    n_states, n_actions, horizon, start, homogeneous, reward_range, can_terminate = 3, 2, 3, 0, True, (0.0, 2.0), False

    def sample(self, step: int, state: int, action: int, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Next states and rewards of ``n`` samples."""
        if action == 0:
            return np.where(rng.random(n) < 0.9, state, 0), np.full(n, 0.5)
        up = rng.random(n) < 0.4
        return np.where(up, min(state + 1, 2), 0), np.where(up, float(state), 0.0)


def climb() -> Any:
    """What is proved after how many samples."""
    budgets = [1_000 * 2**n for n in range(8)]
    found = [mk.learn(Climb(), k=3, epsilon=0.01, delta=0.1, rng=0, budget=budget) for budget in budgets]
    figure, ax = _axes(xlabel="samples", ylabel="proved: the policy loses at most", xscale="log", yscale="log")
    ax.plot([one.samples for one in found], [one.epsilon for one in found], "o-", color=BLUE)
    ax.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    ax.minorticks_off()
    return figure


def tries() -> Any:
    """What k tries are worth, for every k up to 20, from one plan."""
    plan = mk.solve(mk.instances.windy_cliff(), k=20)
    ks = list(range(1, 21))
    lower, upper = zip(*(plan.curve(20 - k, -math.inf) for k in ks), strict=True)
    repeated = [_repeated(plan.mdp, k) for k in ks]
    figure, ax = _axes(xlabel="tries, k", ylabel="expected best return")
    ax.fill_between(ks, lower, upper, color=ORANGE, alpha=0.4, linewidth=0)
    ax.plot(ks, lower, "o-", color=ORANGE, label="planned for the best of k", markersize=4)
    ax.plot(ks, repeated, "s--", color=BLUE, label="the best mean, repeated k times", markersize=4)
    ax.set_xticks([1, 5, 10, 15, 20])
    ax.legend(frameon=False)
    return figure


def _repeated(mdp: mk.MDP, k: int) -> float:
    return mk.evaluate(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=k)).value


def threads() -> Any:
    """Seconds by the number of threads, and on a GPU, as they were measured."""
    rows = {name: json.loads((RESULTS / f"{name}.json").read_text())["rows"] for name in ("threads", "gpu")}
    figure, ax = _axes(6.5, 3.6, xlabel="threads", ylabel="seconds", xscale="log", yscale="log")
    counts = [1, 2, 4, 8, 16]
    for row, colour, marker in zip(rows["threads"], (BLUE, GREEN), "os", strict=True):
        seconds = [row[f"{n} threads s"] for n in counts]
        ax.plot(counts, seconds, f"{marker}-", color=colour, label=row["problem"])
        same = [one["GPU s"] for one in rows["gpu"] if one["problem"].replace(" K=5", "") == row["problem"]]
        ax.plot([32] * len(same), same, marker, color=colour, markersize=9, markerfacecolor="white")
    ax.set_xticks([*counts, 32], [*map(str, counts), "a GPU"])
    ax.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=9)
    return figure
