"""Makes docs/studies/adaptivity.md: what adapting gains, by family, horizon and number of tries, in minutes.

``python docs/adaptivity.py`` writes the page and its chart anew; ``--seeds N`` takes more problems of each kind, and
``--out FOLDER`` writes both elsewhere.
"""

import argparse
from pathlib import Path
from statistics import median

import matplotlib as mpl
from matplotlib.figure import Figure

import maxatk as mk
from maxatk.report.palette import COLOURS

STUDIES = Path(__file__).parent / "studies"
TRIES = (2, 4, 8, 32)
SPARSE = {"n_states": 4, "n_actions": 2, "rewards": (0, 1, 2)}
KINDS = [  # (family, arguments)
    ("adaptivity_gap", {"horizon": 1}),
    ("lotteries", {"horizon": 1}),
    ("lotteries", {"horizon": 2, "n_arms": 3}),
    ("lotteries", {"horizon": 4, "n_arms": 2}),
    ("heavy_tails", {"horizon": 1, "equal_means": True}),
    ("heavy_tails", {"horizon": 2, "n_arms": 3, "atoms": 4, "equal_means": True}),
    ("deadlines", {"jobs": 3, "horizon": 3}),
    ("deadlines", {"jobs": 5, "horizon": 5}),
    ("deadlines", {"jobs": 7, "horizon": 8}),
    ("traps", {"rooms": 4, "horizon": 5}),
    ("traps", {"rooms": 5, "horizon": 8}),
    ("traps", {"rooms": 6, "horizon": 12}),
    ("random_sparse", {"horizon": 3, **SPARSE}),
]
HEAD = """# What adapting gains, by family

How much of the value of K tries is lost by those who do not look at the best so far? For every family of
[random problems](../reference/instances.md#random-families), {seeds} of each kind (seeds 0 to {last}), and for
[`adaptivity_gap`](../reference/instances.md), where looking gains more than in any other problem we know, the table has
two gains of the adaptive optimum, as shares of it: over repeating a policy with the best mean, and over the best
policies, one for each try, that see the return of their own try but not the best so far (`without M` of
[`mk.compare`](../reference/evaluation.md)). The first is what planning for the best of K brings, the second what
*looking* brings.

All numbers follow from intervals: where the best policy without M was only searched for, "at most" is what its search
leaves open.

![Gains of the adaptive optimum over repeating the mean (left) and over without M (right), by K.](adaptivity.svg)

| family | H | K | over repeating the mean, median | over `without M`: median | greatest | at most |
| --- | --- | --- | --- | --- | --- | --- |
"""
TAIL = """
What can be read off, for these problems and no others:

- Planning for the best of K gains most where the mean is safe and the tail is not: lotteries, traps, and deadlines that
  leave no time for care, where it rises with K.
- What looking at the best so far gains is less, up to a tenth in random problems, and mostly fades as K grows: where
  tries are many, somebody who does not look loses little by risking all of them. In `adaptivity_gap`, which is another
  problem for each K, it grows with K, towards 22 % of the optimum.
- With heavy tails of equal means the heaviest tail is right from the first try to the last: planning gains, looking
  does not.
- With a fixed reward for each state and action, as in `random_sparse`, there is next to nothing to gain.

`python docs/adaptivity.py` makes this page and its chart, in minutes.
"""


def made(family: str, arguments: dict, seed: int, k: int) -> mk.MDP:
    """The problem of a seed; there is one ``adaptivity_gap`` for each number of tries."""
    if family == "adaptivity_gap":
        return mk.instances.adaptivity_gap(k)
    return mk.instances.make(family, rng=seed, **arguments)


def gains(family: str, arguments: dict, seed: int, k: int) -> tuple[float, float, float]:
    """Shares of the optimum: gain over the mean at least, over ``without M`` at least and at most."""
    rows = mk.compare(made(family, arguments, seed, k), k, solver=mk.Certified(tol=1e-5))
    best, mean, blind = rows["adaptive"], rows.rows[0], rows["without M"]
    return (
        max(best.lower - mean.upper, 0.0) / best.upper,
        max(best.lower - blind.upper, 0.0) / best.upper,
        max(best.upper - blind.lower, 0.0) / best.lower,
    )


def measured(seeds: int) -> dict[tuple[str, int, int], list[float]]:
    """By family, horizon and number of tries: the four shares of a line of the table."""
    shares = {}
    for family, arguments in KINDS:
        one = 1 if family == "adaptivity_gap" else seeds
        for k in TRIES:
            mean, least, most = zip(*(gains(family, arguments, seed, k) for seed in range(one)), strict=True)
            shares[family, arguments["horizon"], k] = [median(mean), median(least), max(least), max(most)]
            print(family, arguments["horizon"], k, shares[family, arguments["horizon"], k], flush=True)
    return shares


def table(shares: dict[tuple[str, int, int], list[float]]) -> list[str]:
    """The lines of the table."""
    lines = []
    for (family, horizon, k), four in shares.items():
        cells = " | ".join(f"{100 * share:.1f} %" for share in four)
        lines.append(f"| `{family}` | {horizon} | {k} | {cells} |")
    return lines


def chart(shares: dict[tuple[str, int, int], list[float]]) -> Figure:
    """Median gain over the mean, and the greatest over ``without M`` that is sure, by the number of tries."""
    mpl.rcParams["svg.hashsalt"] = "maxatk"  # the same names within the file on every run
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    panels = figure.subplots(1, 2)
    families = list(dict.fromkeys(family for family, _, _ in shares))
    for family, colour in zip(families, COLOURS, strict=False):
        horizons = sorted({horizon for name, horizon, _ in shares if name == family})
        for horizon, form in zip(horizons, ("-", "--", ":"), strict=False):
            for ax, place in zip(panels, (0, 2), strict=True):
                line = [100 * shares[family, horizon, k][place] for k in TRIES]
                name = f"{family}, H = {horizon}"
                ax.plot(TRIES, line, form, color=colour, marker="o", markersize=3, linewidth=1.2, label=name)
    for ax, title in zip(panels, ("over repeating the mean, median", "over without M, greatest"), strict=True):
        ax.set_xscale("log", base=2)
        ax.set_xticks(TRIES, [str(k) for k in TRIES])
        ax.set(xlabel="tries, K", ylabel="gain, % of the optimum")
        ax.set_title(title, loc="left", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=7)
    return figure


def main() -> None:
    """Write the page and its chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="problems of each kind")
    parser.add_argument("--out", type=Path, default=STUDIES, help="the folder of the page and of its chart")
    given = parser.parse_args()
    shares = measured(given.seeds)
    given.out.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(seeds=given.seeds, last=given.seeds - 1)
    (given.out / "adaptivity.md").write_text(head + "\n".join(table(shares)) + "\n" + TAIL)
    chart(shares).savefig(given.out / "adaptivity.svg", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
