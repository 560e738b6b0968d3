"""Train all agents of this folder, each in a process of its own, and keep what they earn (extra ``sb3``).

    python examples/deep_rl/train.py --workers 2

Results and figures go to ``results``. Each training is kept as it ends, and those that are kept are not run again.
``--quick`` only tries the way there; ``--draw`` draws what is kept already.
"""

import argparse
import json
from pathlib import Path

import headwind
import jobs
import long_cliff

CLIFF_STEPS, HEADWIND_STEPS, HEADWIND_TRIALS = 640_000, 300_000, 400
QUICK_STEPS, QUICK_TRIALS = 16_384, 64
ORDER = (  # methods that are trained by turns, and the number of seeds
    (("ppo_potential",), 10),
    (("ppo",), 5),
    (headwind.METHODS, 10),
    (("maskable_ppo",), 5),
    (("dqn",), 5),
)


def todo(options):
    """All trainings: a function and its arguments."""
    for methods, seeds in ORDER:
        for seed in range(options.first_seed, options.first_seed + min(seeds, 1 if options.quick else options.seeds)):
            for method in methods:
                if options.only and method not in options.only:
                    continue
                if method in headwind.METHODS:
                    steps, tries = (QUICK_STEPS, QUICK_TRIALS) if options.quick else (HEADWIND_STEPS, HEADWIND_TRIALS)
                    yield headwind.train, {"method": method, "seed": seed, "steps": steps, "tries": tries}
                else:
                    steps = QUICK_STEPS if options.quick else CLIFF_STEPS
                    yield long_cliff.train, {"method": method, "seed": seed, "steps": steps}


class Kept:
    """What the trainings of one task found, in a file that is whole at any time."""

    def __init__(self, path, head):
        self.path, self.head = path, head
        self.runs = json.loads(path.read_text())["runs"] if path.exists() else []

    def has(self, arguments):
        """Whether this training was run before."""
        return any(all(one[key] == arguments[key] for key in ("method", "seed", "steps")) for one in self.runs)

    def add(self, one):
        """Keep one more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.runs = sorted([*self.runs, one], key=lambda one: (one["method"], one["seed"]))
        lines = ",\n".join(json.dumps(run) for run in self.runs)
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(self.head)[:-1] + ', "runs": [\n' + lines + "\n]}\n")
        beside.replace(self.path)


def main():
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--first-seed", type=int, default=4000, help="seeds count from here")
    parser.add_argument("--seeds", type=int, default=10, help="so many of each method at most")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="these methods alone")
    parser.add_argument("--quick", action="store_true", help="one seed and few steps of each")
    parser.add_argument("--draw", action="store_true", help="no training: draw what is kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if not options.draw:
        kept = {
            long_cliff: Kept(options.out / "long_cliff.json", long_cliff.landmarks()),  # compiles what all of them use
            headwind: Kept(options.out / "headwind.json", {"k": headwind.K}),
        }
        file_of = {method: kept[task] for task in kept for method in task.METHODS}
        new = [(train, given) for train, given in todo(options) if not file_of[given["method"]].has(given)]
        for found in jobs.run(new, options.workers):
            file_of[found["method"]].add(found)
    import figures

    figures.draw(options.out)


if __name__ == "__main__":
    main()
