"""How fast is this version beside another? python benchmarks/versions.py REVISION [--rounds 3] [--only WORD]

REVISION is a commit, a branch or a tag. Both versions run the same rows in turn, round by round, each in a process of
its own, so that a slow minute of the machine meets both. A row's time is the least of all its rounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import report

ROOT = Path(__file__).parents[1]
Row = tuple[str, Callable[[], Any], int]  # its name, what is timed, and how often


def rows() -> Iterator[Row]:
    """What is timed. Problems are built before, and each row is run once before its clock starts."""
    import maxatk as mk

    def planned(mdp: Any, k: int, tol: float, **asked: Any) -> Callable[[], Any]:
        return lambda: mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=2), **asked)

    sparse = {
        S: mk.instances.random_sparse(S, 4, H, rewards=range(11), rng=0) for S, H in ((200, 20), (500, 30), (2000, 20))
    }
    for S, mdp in sparse.items():
        most = float(mdp.return_range[1])
        yield f"solve: sparse S={S}, nine digits", planned(mdp, 4, 0.8e-9 * most), 9 if S < 2000 else 3
        yield f"solve: sparse S={S}, a thousandth", planned(mdp, 4, 1e-3 * mdp.horizon * 10), 15 if S < 2000 else 5
    real = mk.instances.random_sparse(50, 3, 8, rng=0)
    yield "solve: real rewards", planned(real, 4, 8 / 40), 9
    dense = mk.instances.random_dense(100, 4, 20, rewards=range(11), rng=0)
    yield "solve: dense S=100", planned(dense, 4, 0.8e-9 * float(dense.return_range[1])), 5
    cliff, figure1 = mk.instances.windy_cliff(), mk.instances.figure1()
    yield "solve: windy cliff, K=5", lambda: mk.solve(cliff, 5), 15
    yield "solve: windy cliff, K=20, costs", lambda: mk.solve(cliff, 20, cost=0.5), 9
    yield "solve: figure1", lambda: mk.solve(figure1, 2), 50
    plan = mk.solve(sparse[200], 4)
    yield "evaluate: sparse S=200", lambda: mk.evaluate(sparse[200], plan.policy), 5
    yield "simulate: 20,000 trials", lambda: mk.simulate(sparse[200], plan.policy, trials=20_000, rng=0), 9
    yield "compare: windy cliff, H=20, K=3", lambda: mk.compare(mk.instances.windy_cliff(horizon=20), 3), 3
    on_cliff = mk.solve(cliff, 5).policy
    places = [{"rollout": i % 5, "step": i % 20, "state": 36, "best": -20.0, "so_far": -(i % 20)} for i in range(200)]
    yield "policy.action: 200 of them", lambda: [on_cliff.action(**place) for place in places], 15
    model = mk.TabularModel(figure1)
    yield "learn: figure1", lambda: mk.learn(model, 2, epsilon=0.1, delta=0.05, rng=0), 5
    episodes = mk.TabularEpisodes(figure1)
    online: dict[str, Any] = {"epsilon": 0.3, "delta": 0.1, "learner": mk.Online(), "rng": 0}
    yield "learn by playing: figure1", lambda: mk.learn(episodes, 2, **online), 3


def timed(only: str) -> dict[str, float]:
    """The seconds of all rows in this process."""
    told: dict[str, float] = {}
    for name, run, repeats in rows():
        if only not in name:
            continue
        run()
        spent: list[float] = []
        for _ in range(repeats):
            began = time.perf_counter()
            run()
            spent.append(time.perf_counter() - began)
        told[name] = min(spent)
    return told


def timed_in(tree: Path, only: str) -> dict[str, float]:
    """The same in a process of its own, by the version in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, __file__, "--tell", "--only", only]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Time both versions in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tell:
        print(json.dumps(timed(given.only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", tree, given.revision], check=True)
        try:
            turns = [(timed_in(tree, given.only), timed_in(ROOT, given.only)) for _ in range(given.rounds)]
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    table = [
        {
            "row": name,
            "before, ms": 1e3 * (old := min(before[name] for before, _ in turns)),
            "now, ms": 1e3 * (new := min(now[name] for _, now in turns)),
            "now / before": round(new / old, 3),
        }
        for name in turns[0][1]
    ]
    report("versions", f"This version beside {given.revision}, the least of {given.rounds} rounds", table)


if __name__ == "__main__":
    main()
