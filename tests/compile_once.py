"""Compile the loops that most tests need, once: without this every worker of a fresh clone compiles all of them.

``python tests/compile_once.py planning`` and ``python tests/compile_once.py learning`` compile one half each, so that
both can run side by side; :mod:`conftest` starts them before the workers, where nothing is compiled yet.
"""

import subprocess
import sys
from pathlib import Path

import maxatk as mk


def planning() -> None:
    """Plans on a lattice, with costs and without, and what is done with them."""
    cliff = mk.instances.windy_cliff(horizon=6)
    plan = mk.solve(cliff, 2)
    mk.evaluate(cliff, plan.policy)
    mk.simulate(cliff, plan.policy, trials=10, rng=0)
    mk.solve(cliff, 2, cost=0.5)
    mk.solve(mk.instances.random_dense(60, 3, 5, rewards=range(5), rng=0), 2)
    mk.compare(mk.instances.windy_cliff(horizon=4), 2)


def learning() -> None:
    """Learning, and plans between lattice points."""
    figure1 = mk.instances.figure1()
    mk.learn(mk.TabularModel(figure1), 2, epsilon=0.3, delta=0.1, rng=0)
    mk.learn(mk.TabularEpisodes(figure1), 2, epsilon=0.5, delta=0.2, learner=mk.Online(), rng=0)
    real = mk.instances.random_sparse(8, 2, 4, rng=0)
    plan = mk.solve(real, 2)
    mk.evaluate(real, plan.policy)
    mk.simulate(real, plan.policy, trials=10, rng=0)


HALVES = {"planning": planning, "learning": learning}


def compile_all() -> None:
    """Both halves, side by side. What fails here fails in tests, too, which say more about it."""
    halves = [
        subprocess.Popen([sys.executable, str(Path(__file__)), half], stderr=subprocess.DEVNULL) for half in HALVES
    ]
    for half in halves:
        half.wait()


if __name__ == "__main__":
    HALVES[sys.argv[1]]()
