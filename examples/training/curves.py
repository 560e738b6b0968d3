"""What the examples share: curves of several seeds in words, in a file and in a figure."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

RESULTS = Path(__file__).parent / "results"
COLOURS = ("#0072B2", "#999999", "#D55E00", "#56B4E9", "#CC79A7", "#E69F00")


def interval(values: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over seeds (the first axis), and half the width of its 95 % interval by Student's distribution."""
    x = np.asarray(values, float)
    if len(x) < 2:
        return x.mean(0), np.zeros_like(x.mean(0))
    return x.mean(0), stats.t.ppf(0.975, len(x) - 1) * x.std(0, ddof=1) / len(x) ** 0.5


def show(name: str, curves: Sequence[Sequence[float]]) -> str:
    """What a rule reached in the end, over seeds."""
    mean, half = interval([curve[-1] for curve in curves])
    ends = [curve[-1] for curve in curves]
    return f"{name:18s} {mean:8.4f} ± {half:.4f}   (seeds: {min(ends):.4f} to {max(ends):.4f})"


def keep(
    name: str,
    curves: Mapping[str, Sequence[Sequence[float]]],
    landmarks: Mapping[str, float],
    every: int,
    unit: str,
    value: str,
    low: float | None = None,
    **more: object,
) -> None:
    """Keep the curves [seeds, points] of every rule, and draw them, from ``low`` on."""
    RESULTS.mkdir(exist_ok=True)
    final = {}
    for rule, seeds in curves.items():
        mean, half = interval([curve[-1] for curve in seeds])
        final[rule] = {"mean": float(mean), "half_width": float(half)}
    rounded = {rule: np.round(seeds, 5).tolist() for rule, seeds in curves.items()}
    kept = {"landmarks": landmarks, "every": every, "unit": unit, "value": value, "low": low, **more}
    (RESULTS / f"{name}.json").write_text(json.dumps(kept | {"final": final, "curves": rounded}) + "\n")
    draw(name)


def draw(name: str) -> None:
    """Draw curves that were kept, with their intervals, and where the landmarks lie."""
    kept = json.loads((RESULTS / f"{name}.json").read_text())
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    for (rule, seeds), colour in zip(kept["curves"].items(), COLOURS, strict=False):
        mean, half = interval(seeds)
        x = kept["every"] * np.arange(len(mean))
        ax.plot(x, mean, color=colour, linewidth=1.8, label=f"trained by: {rule}")
        ax.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
    for (mark, height), style in zip(kept["landmarks"].items(), (":", "--", "-"), strict=True):
        label = {"mean": "best mean, repeated", "one policy": "best single policy", "plan": "mk.solve: adaptive"}[mark]
        ax.axhline(height, color="black", linewidth=1, linestyle=style, label=label)
    ax.set_ylim(bottom=kept["low"])
    ax.set_xlabel(kept["unit"])
    ax.set_ylabel(kept["value"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(RESULTS / f"{name}.png", dpi=120)
