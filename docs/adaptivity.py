"""Makes docs/studies/adaptivity.md: what adapting gains, by family, horizon and number of tries, in minutes.

``python docs/adaptivity.py`` writes the page anew; ``--seeds N`` takes more problems of each kind.
"""

import argparse
from pathlib import Path
from statistics import median

import maxatk as mk

PAGE = Path(__file__).parent / "studies" / "adaptivity.md"
TRIES = (2, 4, 8)
KINDS = [  # (family, arguments)
    ("lotteries", {"horizon": 1}),
    ("lotteries", {"horizon": 2, "n_arms": 3}),
    ("heavy_tails", {"horizon": 1}),
    ("heavy_tails", {"horizon": 2, "n_arms": 3, "atoms": 4}),
    ("deadlines", {"jobs": 3, "horizon": 4}),
    ("deadlines", {"jobs": 4, "horizon": 6}),
    ("traps", {"rooms": 4, "horizon": 5}),
    ("traps", {"rooms": 5, "horizon": 8}),
    ("random_sparse", {"n_states": 4, "n_actions": 2, "horizon": 3, "rewards": (0, 1, 2)}),
]
HEAD = """# What adapting gains, by family

How much of the value of K tries is lost by those who do not look at the best so far? For every family of
[random problems](../reference/instances.md#random-families), {seeds} of each kind (seeds 0 to {last}), the table has
two gains of the adaptive optimum, as shares of it: over repeating a policy with the best mean, and over the best
policies, one for each try, that see the return of their own try but not the best so far (`without M` of
[`mk.compare`](../reference/evaluation.md)). The first is what planning for the best of K brings, the second what
*looking* brings.

All numbers follow from intervals: where the best policy without M was only searched for, "at most" is what its search
leaves open.

| family | H | K | over repeating the mean, median | over `without M`: median | greatest | at most |
| --- | --- | --- | --- | --- | --- | --- |
"""
TAIL = """
What can be read off, for these problems and no others:

- Planning for the best of K gains most where the mean is safe and the tail is not: lotteries and traps, where it rises
  with K.
- What looking at the best so far gains is less, up to a tenth, and has no common direction in K.
- Means and tails may be best with the same arm, as in most problems with heavy tails and two steps here: then nothing
  is gained by either.
- With a fixed reward for each state and action, as in `random_sparse`, there is next to nothing to gain.

`python docs/adaptivity.py` makes this page, in minutes.
"""


def gains(family: str, arguments: dict, seed: int, k: int) -> tuple[float, float, float]:
    """Shares of the optimum: gain over the mean at least, over ``without M`` at least and at most."""
    rows = mk.compare(mk.instances.make(family, rng=seed, **arguments), k, solver=mk.Certified(tol=1e-5))
    best, mean, blind = rows["adaptive"], rows.rows[0], rows["without M"]
    return (
        max(best.lower - mean.upper, 0.0) / best.upper,
        max(best.lower - blind.upper, 0.0) / best.upper,
        max(best.upper - blind.lower, 0.0) / best.lower,
    )


def table(seeds: int) -> list[str]:
    """The lines of the table."""
    lines = []
    for family, arguments in KINDS:
        for k in TRIES:
            mean, least, most = zip(*(gains(family, arguments, seed, k) for seed in range(seeds)), strict=True)
            shown = [median(mean), median(least), max(least), max(most)]
            cells = " | ".join(f"{100 * share:.1f} %" for share in shown)
            lines.append(f"| `{family}` | {arguments['horizon']} | {k} | {cells} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    lines = table(seeds)
    PAGE.write_text(HEAD.format(seeds=seeds, last=seeds - 1) + "\n".join(lines) + "\n" + TAIL)


if __name__ == "__main__":
    main()
