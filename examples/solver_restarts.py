"""Restarts of real solvers: recorded as a log of attempts, then used to save time on instances never seen before.

A task is a function with many valleys, drawn at random; an attempt is one restart of a solver on it, from a random
start; its score says how many of six digits of the distance to the optimum it has closed; its cost is what it took of
the processor (``time.process_time``, not the clock on the wall: other work on the machine does not count).

    python examples/solver_restarts.py record        # 120 functions x 5 solvers x 10 restarts: about 15 minutes
    python examples/solver_restarts.py live          # plan from that log, then run it on 300 fresh functions

Both can be run again offline; needs SciPy and, for CMA-ES, the package ``cma`` (extra ``restarts``). Scores come out
the same on the same versions, costs differ from machine to machine. ``record`` writes the log that ``maxatk attempts``
reads when it is given none; ``live`` writes ``examples/results/solver_restarts.json``.
"""

import argparse
import csv
import json
import math
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # so that processor time is the solver's own, not that of helpers which spin

import cma  # noqa: E402
import numpy as np  # noqa: E402
from scipy import optimize  # noqa: E402

from maxatk import attempts as at  # noqa: E402

ROOT = Path(__file__).parents[1]
LOG = ROOT / "src" / "maxatk" / "attempts" / "logs" / "solver_restarts.csv"
RESULTS = Path(__file__).parent / "results" / "solver_restarts.json"
FUNCTIONS, RESTARTS, FRESH = 120, 10, 300
DIGITS = 6
PRICE = 0.4  # of a second, in score: at which the best capped arm is chosen


# The tasks: functions on a box, with a known least value of 0 at a random place.


def rastrigin(x):
    """A bowl with an egg box in it."""
    return 10 * len(x) + float(np.sum(x * x - 10 * np.cos(2 * math.pi * x)))


def ackley(x):
    """A plain with ripples and one deep hole."""
    n = len(x)
    return float(-20 * np.exp(-0.2 * np.sqrt(x @ x / n)) - np.exp(np.sum(np.cos(2 * math.pi * x)) / n) + 20 + math.e)


def griewank(x):
    """A wide bowl with a great many small ripples."""
    x = 40 * x
    return float(1 + x @ x / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))))


def rosenbrock(x):
    """A bent valley with a flat floor."""
    y = x + 1
    return float(np.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2))


def levy(x):
    """Waves that grow towards the border."""
    w = 1 + x / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2))
    return float(np.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2))


def ellipsoid(x):
    """One valley, ten thousand times steeper one way than another."""
    return float(np.sum(10.0 ** np.linspace(0, 4, len(x)) * x * x))


FAMILIES = {f.__name__: f for f in (rastrigin, ackley, griewank, rosenbrock, levy, ellipsoid)}


def hills(rng, dimension):
    """A plain with some hills, the highest of which, at 0, is to be found."""
    count = int(rng.integers(5, 40))
    centres = rng.uniform(-4.5, 4.5, (count, dimension))
    centres[0] = 0.0
    heights = np.concatenate([[1.0], rng.uniform(0.3, 0.95, count - 1)])
    widths = rng.uniform(2, 12, count) * dimension / 3

    def plain(x):
        return float(1 - np.max(heights * np.exp(-np.sum((x - centres) ** 2, axis=1) / widths)))

    return plain


class Task:
    """A function on the box [-5, 5]^d: one of the families, moved and turned, or a plain with hills."""

    def __init__(self, seed):
        self.seed = seed
        rng = np.random.default_rng(seed)
        kinds = [*FAMILIES, "hills"]
        kind = kinds[rng.integers(len(kinds))]
        self.dimension = int(rng.integers(2, 9))
        self.optimum = rng.uniform(-3.5, 3.5, self.dimension)
        turn, _ = np.linalg.qr(rng.normal(size=(self.dimension, self.dimension)))
        self.turn = turn if rng.random() < 0.5 else np.eye(self.dimension)
        self.inner = hills(rng, self.dimension) if kind == "hills" else FAMILIES[kind]
        self.name = f"f{seed:03d}"
        sample = [self(x) for x in rng.uniform(-5, 5, (200, self.dimension))]
        self.usual = float(np.median(sample))  # what a random point has

    def __call__(self, x):
        """The value at a point."""
        return self.inner(self.turn @ (np.asarray(x) - self.optimum))

    def score(self, value):
        """How many of six digits of the usual distance are closed, as a share; a digit and a half is 0.25."""
        if value <= self.usual * 10.0**-DIGITS:
            return 1.0
        return round(min(max(math.log10(self.usual / value) / DIGITS, 0.0), 0.999), 3)


# The arms: one restart of a solver, from the cheapest to the dearest.


def local_search(task, box, start, rng):
    """SciPy's quasi-Newton method, once."""
    return optimize.minimize(task, start, method="L-BFGS-B", bounds=box).fun


def basin_hopping(task, box, start, rng):
    """SciPy's basin hopping: twenty local searches, each from near where the last one ended."""
    local = {"method": "L-BFGS-B", "bounds": box}
    return optimize.basinhopping(task, start, niter=20, stepsize=1.0, minimizer_kwargs=local, rng=rng).fun


def dual_annealing(task, box, start, rng):
    """SciPy's generalised simulated annealing, with local searches."""
    return optimize.dual_annealing(task, box, maxiter=150, x0=start, rng=rng).fun


def evolution_strategy(task, box, start, rng):
    """CMA-ES, of the package ``cma``."""
    low, high = np.array(box).T
    options = {"bounds": [low, high], "seed": int(rng.integers(1, 2**31)), "verbose": -9, "maxfevals": 3000}
    return cma.fmin2(task, start, 2.0, options)[1].result.fbest


def differential_evolution(task, box, start, rng):
    """SciPy's differential evolution."""
    return optimize.differential_evolution(task, box, maxiter=150, popsize=12, tol=1e-8, x0=start, rng=rng).fun


ARMS = {
    "L-BFGS-B": local_search,
    "annealing": dual_annealing,
    "basin-hopping": basin_hopping,
    "CMA-ES": evolution_strategy,
    "DE": differential_evolution,
}


def attempt(task, arm, restart):
    """One restart: its score, and the processor seconds it took."""
    rng = np.random.default_rng([task.seed, list(ARMS).index(arm), restart])
    box = [(-5.0, 5.0)] * task.dimension
    start = rng.uniform(-5, 5, task.dimension)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers complain about bounds and precision
        value = float(ARMS[arm](task, box, start, rng))
    return task.score(max(value, 0.0)), time.process_time() - began


def record(path):
    """All restarts of all solvers on all functions, one line each."""
    rows, began = [], time.perf_counter()
    warm_up()
    for seed in range(FUNCTIONS):
        task = Task(seed)
        for restart in range(RESTARTS):  # arms take turns, so that a busy hour of the machine hits all of them
            for arm in ARMS:
                score, cost = attempt(task, arm, restart)
                rows.append((task.name, arm, restart + 1, f"{score:g}", f"{cost:.3g}"))
        print(f"{seed + 1} of {FUNCTIONS} functions, {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    draft = path.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "arm", "attempt", "score", "cost"))
        writer.writerows(rows)
    draft.replace(path)
    print(f"{len(rows)} attempts in {path}", file=sys.stderr)


def warm_up():
    """The first call of a solver imports and sets up; that is not what an attempt costs."""
    for arm in ARMS:
        attempt(Task(999_999), arm, 0)


def live(path):
    """Plan from the example log, and run the plans on functions that they have never seen, beside the best capped arm.

    One sequence is the cheapest that scores as much on the functions of the log as the best capped arm does there; the
    other one is made for the same price as that arm.
    """
    log = at.example_log()
    arm = at.sequence(log, price=PRICE, method="single")
    ways = {
        "best capped arm": arm,
        "as good": at.sequence(log, target_score=arm.score),
        "same price": at.sequence(log, price=PRICE),
    }
    for name, plan in ways.items():
        print(f"{name}: {plan.words}", file=sys.stderr, flush=True)
    warm_up()
    rows = []
    for seed in range(1000, 1000 + FRESH):
        task = Task(seed)
        for number, (name, plan) in enumerate(ways.items()):
            best, spent, restarts = 0.0, 0.0, {}
            for solver in plan.arms:
                restarts[solver] = restarts.get(solver, 0) + 1
                score, cost = attempt(task, solver, 100 * (number + 1) + restarts[solver])  # the ways share no attempts
                best, spent = max(best, score), spent + cost
                if best >= plan.stop_at:
                    break
            rows.append({"task": task.name, "arm": name, "score": best, "cost": spent, "net": best - PRICE * spent})
        print(f"{seed - 999} of {FRESH} functions", file=sys.stderr, flush=True)
    found, nets = at.Log.from_records(rows), at.Log.from_records(rows, score="net")
    result = {
        "functions": FRESH,
        "price": PRICE,
        "versions": {name: version(name) for name in ("scipy", "numpy", "cma")},
        "ways": {
            name: {
                "sequence": plan.words,
                "score": float(found.score[found.arm == number].mean()),
                "cost": float(found.cost[found.arm == number].mean()),
            }
            for number, (name, plan) in enumerate(ways.items())
        },
    }
    for name in ("as good", "same price"):
        score, cost, net = (
            at.difference(log_, name, "best capped arm", of=of)
            for log_, of in ((found, "score"), (found, "cost"), (nets, "score"))
        )
        result["ways"][name] |= {
            "score more": [score.value, score.lower, score.upper],
            "cost, times": list(cost.ratio),
            "net more": [net.value, net.lower, net.upper],
        }
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(result, indent=1, ensure_ascii=False))


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("record", "live"))
    what = parser.parse_args().what
    record(LOG) if what == "record" else live(RESULTS)


if __name__ == "__main__":
    main()
