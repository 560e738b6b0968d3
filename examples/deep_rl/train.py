"""Train all agents of this folder, each in a process of its own, and keep what they earn (extra ``sb3``).

    python examples/deep_rl/train.py --workers 16

Results and figures go to ``results``. ``--quick`` only tries the way there; ``--draw`` draws what is kept already.
"""

import argparse
import json
from pathlib import Path

import headwind
import jobs
import long_cliff

CLIFF_SEEDS = {"dqn": 5, "ppo_potential": 10, "ppo": 10, "maskable_ppo": 5, "ppo_for_the_mean": 5}
HEADWIND_SEEDS = 10


def todo(options):
    """All trainings, the longest first."""
    steps, air_steps, tries = (16_384, 16_384, 64) if options.quick else (1_000_000, 600_000, 1000)
    flights = [
        (headwind.train, {"method": method, "seed": options.first_seed + i, "steps": air_steps, "tries": tries})
        for i in range(1 if options.quick else HEADWIND_SEEDS)
        for method in headwind.METHODS
    ]
    walks = [
        (long_cliff.train, {"method": method, "seed": options.first_seed + i, "steps": steps})
        for method, seeds in CLIFF_SEEDS.items()
        for i in range(1 if options.quick else seeds)
    ]
    return (walks if options.only != "headwind" else []) + (flights if options.only != "long_cliff" else [])


def keep(path, head, runs):
    """Write what is known so far; the file is whole or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(one) for one in sorted(runs, key=lambda one: (one["method"], one["seed"])))
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(head)[:-1] + ', "runs": [\n' + lines + "\n]}\n")
    beside.replace(path)


def main():
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--first-seed", type=int, default=100, help="seeds count from here")
    parser.add_argument("--only", choices=("long_cliff", "headwind"), help="one of the two tasks")
    parser.add_argument("--quick", action="store_true", help="one seed and few steps of each")
    parser.add_argument("--draw", action="store_true", help="no training: draw what is kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if not options.draw:
        landmarks = long_cliff.landmarks()  # first, in one process: it compiles what all of them use
        found = {"long_cliff": [], "headwind": []}
        for one in jobs.run(todo(options), options.workers):
            task = "headwind" if one["method"] in headwind.METHODS else "long_cliff"
            found[task].append(one)
            head = {"k": headwind.K} if task == "headwind" else landmarks
            keep(options.out / f"{task}.json", head, found[task])
    import figures

    figures.draw(options.out)


if __name__ == "__main__":
    main()
