"""How the certified planner's time grows with S, H, K and 1/tol, with fitted exponents and a plot.

    python benchmarks/growth.py

One of the four is varied at a time; the exponent is the slope of a least-squares line through the logarithms. The
paper's algorithm costs O(K S^2 A H^3 / kappa^2), and needs kappa = tol/H for a policy within tol, so that its bound is
O(K S^2 A H^5 / tol^2).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import maxatk as mk
from common import RESULTS, report
from peers import seconds

BASE = {"S": 100, "H": 12, "K": 4, "1/tol": 10.0}
SWEEPS = {
    "S": [50, 100, 200, 400, 800, 1600],
    "H": [6, 9, 12, 18, 24, 36],
    "K": [3, 4, 6, 10, 16, 32],
    "1/tol": [2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
}
PAPER = {"S": 2, "H": 5, "K": 1, "1/tol": 2}


def run(S: int, H: int, K: int, precision: float, real: bool) -> float:
    """Seconds for one problem: sparse rows, rewards in [0, 1] without a common step, or in 0..10 with one."""
    mdp = mk.instances.random_sparse(S, 3, H, rewards=None if real else range(11), rng=0)
    solver = mk.Certified(tol=1 / precision if real else 10 / precision, threads=2)
    mk.solve(mdp, K, solver=solver)
    return seconds(lambda: mk.solve(mdp, K, solver=solver), 3)


def main() -> None:
    """All sweeps, the table, the plot."""
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), constrained_layout=True)
    rows = []
    for axis, (name, values) in zip(axes, SWEEPS.items(), strict=True):
        for real, label, marker in ((True, "real rewards", "o"), (False, "rewards 0..10", "s")):
            times = []
            for value in values:
                point = {**BASE, name: value}
                times.append(run(int(point["S"]), int(point["H"]), int(point["K"]), float(point["1/tol"]), real))
            slope = float(np.polyfit(np.log(values), np.log(times), 1)[0])
            rows.append(
                {
                    "grows with": name,
                    "rewards": label,
                    "from": float(values[0]),
                    "to": float(values[-1]),
                    "seconds": f"{times[0]:.4f} to {times[-1]:.4f}",
                    "exponent": round(slope, 2),
                    "paper's bound": PAPER[name],
                }
            )
            axis.loglog(values, times, marker=marker, label=f"{label}: {slope:.2f}")
        axis.set_xlabel(name)
        axis.set_xticks(values, [f"{value:g}" for value in values], minor=False)
        axis.set_xticks([], minor=True)
        axis.legend(fontsize=8, title=f"exponent (paper: {PAPER[name]})", title_fontsize=8)
    axes[0].set_ylabel("seconds, 2 threads")
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(Path(RESULTS) / "growth.png", dpi=110)
    report("growth", "Growth of the certified planner's time", rows)


if __name__ == "__main__":
    main()
