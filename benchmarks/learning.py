"""Samples until a policy is proved good enough, against the paper's number; and how they grow with K.

    python benchmarks/learning.py

Three tables. The first: samples drawn by ``mk.Adaptive`` until it stopped, the paper's ``S A m`` with its own and with
the tight constants for the same problem, epsilon and delta, and the true loss of what was learned. The second: failures
in repeated runs. The third: two actions that succeed with chances 1/K and 1/K + 1/(4K), so that confusing them costs
about the same at every K: the least number of samples with which the better one is seen to be better in nine of ten
runs, counted exactly, and those that ``mk.Adaptive`` needs; with fitted exponents.
"""

import time
from fractions import Fraction
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import maxatk as mk
from common import RESULTS, report

DELTA = 0.1


def problems() -> dict[str, tuple[mk.MDP, int, float]]:
    """Problem, K and epsilon by name."""
    sparse, dense = mk.instances.random_sparse, mk.instances.random_dense
    return {
        "figure1": (mk.instances.figure1(), 2, 0.05),
        "proposition1": (mk.instances.proposition1(), 3, 0.03),
        "proposition3": (mk.instances.proposition3(), 2, 0.1),
        "subset_sum": (mk.instances.subset_sum(), 2, 0.1),
        "footnote": (mk.instances.footnote(4), 3, 0.1),
        "windy_cliff": (mk.instances.windy_cliff(horizon=25), 3, 6.0),
        "sparse S=5 A=2 H=4": (sparse(5, 2, 4, successors=2, rewards=[0, 0.5, 1], rng=1), 3, 0.2),
        "sparse S=10 A=3 H=5, real": (sparse(10, 3, 5, rng=1), 3, 0.25),
        "sparse S=20 A=4 H=8, real": (sparse(20, 4, 8, rng=1), 4, 0.5),
        "dense S=10 A=3 H=5, real": (dense(10, 3, 5, rng=2), 3, 0.25),
    }


def loss(mdp: mk.MDP, k: int, policy: mk.CompressedPolicy) -> float:
    """What a policy loses to the optimum, by simulation."""
    return mk.solve(mdp, k).upper - mk.simulate(mdp, policy, trials=5000, rng=99).mean


def against_the_paper() -> list[dict[str, Any]]:
    """The first table."""
    rows = []
    for name, (mdp, k, epsilon) in problems().items():
        model = mk.TabularModel(mdp)
        began = time.perf_counter()
        out = mk.learn(model, k, epsilon=epsilon, delta=DELTA, rng=0)
        seconds = time.perf_counter() - began
        least, most = model.reward_range
        width = max(most, 0) - min(least, 0) if model.can_terminate else most - least
        sizes = {"n_states": mdp.n_states, "n_actions": mdp.n_actions, "horizon": mdp.horizon, "k": k}
        paper, tight = (
            mk.sample_size(
                **sizes,
                epsilon=min(epsilon / width, mdp.horizon),
                delta=DELTA,
                homogeneous=mdp.homogeneous,
                constants=constants,
            ).total
            for constants in ("paper", "tight")
        )
        rows.append(
            {
                "problem": name,
                "K": k,
                "epsilon": epsilon,
                "samples": out.samples,
                "paper's": float(paper),
                "times fewer": float(paper / out.samples),
                "than tight": float(tight / out.samples),
                "true loss (simulated)": float(loss(mdp, k, out.policy)),
                "seconds": seconds,
            }
        )
    return rows


def failures(runs: int = 200) -> list[dict[str, Any]]:
    """The second table: repeated runs, with exact values of what was learned."""
    rows = []
    for name, mdp, k, epsilon in (
        ("figure1", mk.instances.figure1(), 2, 0.1),
        ("proposition3", mk.instances.proposition3(), 2, 0.3),
    ):
        best = mk.solve(mdp, k, solver=mk.Exact()).exact
        found = [mk.learn(mk.TabularModel(mdp), k, epsilon=epsilon, delta=DELTA, rng=seed) for seed in range(runs)]
        losses = [float(best - Fraction(mk.evaluate(mdp, out.policy).lower)) for out in found]
        rows.append(
            {
                "problem": name,
                "epsilon": epsilon,
                "delta": DELTA,
                "runs": runs,
                "failures": sum(lost > epsilon for lost in losses),
                "bounds missed": sum(not out.lower <= best <= out.upper for out in found),
                "worst loss": max(losses),
                "samples, mean": float(np.mean([out.samples for out in found])),
                "samples, most": max(out.samples for out in found),
            }
        )
    return rows


def coins(k: int) -> mk.MDP:
    """Two actions that succeed with 1/K and 1/K + 1/(4K)."""
    p, gap = 1 / k, 1 / (4 * k)
    chances = (p, p + gap)
    return mk.MDP.from_table([[[(x, 0, 1.0, True), (1 - x, 0, 0.0, True)] for x in chances]], horizon=1)


def fewest(k: int) -> int:
    """The least ``n`` with which ``n`` samples of each action show the better one in nine of ten runs (ties: half)."""
    p, q = 1 / k, 1 / k + 1 / (4 * k)

    def right(n: int) -> float:
        x = np.arange(n + 1)
        below = stats.binom.cdf(x - 1, n, p) + 0.5 * stats.binom.pmf(x, n, p)
        return float(stats.binom.pmf(x, n, q) @ below)

    low, high = 1, 1
    while right(high) < 0.9:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) >= 0.9 else (middle, high)
    return high


def growth_with_k() -> list[dict[str, Any]]:
    """The third table, and a plot."""
    ks = [4, 8, 16, 32, 64, 128]
    needed = [float(fewest(k)) for k in ks]
    drawn = []
    for k in ks:
        model = mk.TabularModel(coins(k))
        found = [mk.learn(model, k, epsilon=0.05, delta=DELTA, rng=seed) for seed in range(3)]
        drawn.append(float(np.median([(out.samples - k * out.stats["trials"]) / 2 for out in found])))
    columns = {"fewest per action": needed, "adaptive per action": drawn}
    exponents = {name: float(np.polyfit(np.log(ks[2:]), np.log(y[2:]), 1)[0]) for name, y in columns.items()}
    figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
    for name, y in columns.items():
        axis.loglog(ks, y, marker="o", label=f"{name}: exponent {exponents[name]:.2f}")
    axis.set_xlabel("K")
    axis.set_ylabel("samples")
    axis.legend()
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "learning_growth.png", dpi=110)
    rows: list[dict[str, Any]] = [
        {
            "K": str(k),
            "loss if wrong": (1 - 1 / k) ** k - (1 - 1.25 / k) ** k,
            **{name: y[i] for name, y in columns.items()},
        }
        for i, k in enumerate(ks)
    ]
    return [*rows, {"K": "exponent from K = 16", "loss if wrong": 0.0, **exponents}]


def main() -> None:
    """All three tables."""
    report("learning", "Samples against the paper's", against_the_paper())
    report("learning_failures", "Failures in repeated runs", failures())
    report("learning_growth", "Growth with K", growth_with_k())


if __name__ == "__main__":
    main()
