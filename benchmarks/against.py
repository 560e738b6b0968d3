"""How fast is this version against another? python benchmarks/against.py COMMIT [--rounds 3] [--only WORD]

COMMIT is a commit, a branch or a tag. Both versions run the same rows in turn, round by round, each in a process of
its own, so that a slow minute of the machine meets both: small, large, real, dense and costly problems, and what plans
are used for. A row's time is the least of all its rounds: on the clock, and of the processor, which other work on the
machine disturbs less. Slices say whether a plan did more work, or the same work more slowly. With ``--cold`` the first
plan of each version is timed as well, with nothing compiled before. Rows that an older version cannot do are left out.
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
Times = dict[str, tuple[float, float, float]]  # by row: seconds on the clock, of the processor, slices


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
    large = mk.instances.random_sparse(300, 4, 30, rng=0)
    yield "solve: real rewards, S=300", planned(large, 4, 0.2), 2
    dense = mk.instances.random_dense(100, 4, 20, rewards=range(11), rng=0)
    yield "solve: dense S=100", planned(dense, 4, 0.8e-9 * float(dense.return_range[1])), 5
    cliff, figure1 = mk.instances.windy_cliff(), mk.instances.figure1()
    yield "solve: windy cliff, K=5", lambda: mk.solve(cliff, 5), 15
    yield "solve: windy cliff, K=20, costs", lambda: mk.solve(cliff, 20, cost=0.5), 9
    yield "solve: windy cliff, K=5, giving up", lambda: mk.solve(cliff, 5, cost=0.5, abandon=True), 9
    many = mk.instances.random_sparse(20_000, 4, 20, rewards=range(11), rng=0)
    yield "solve: sparse S=20,000", planned(many, 3, 1.0), 1
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
    asked: dict[str, Any] = {"epsilon": 0.3, "delta": 0.1, "rng": 0}
    yield "learn by playing: figure1", lambda: mk.learn(mk.TabularEpisodes(figure1), 2, learner=mk.Online(), **asked), 3


def timed(only: str) -> Times:
    """Seconds on the clock and of the processor of all rows in this process, and the slices of plans."""
    told: Times = {}
    for name, run, repeats in rows():
        if only not in name:
            continue
        try:
            slices = getattr(run(), "stats", {}).get("slices", 0)
        except (AttributeError, TypeError):  # an older version, which cannot do that
            continue
        spent: list[tuple[float, float]] = []
        for _ in range(repeats):
            began, used = time.perf_counter(), time.process_time()
            run()
            spent.append((time.perf_counter() - began, time.process_time() - used))
        wall, cpu = (min(column) for column in zip(*spent, strict=True))
        told[name] = wall, cpu, slices
    return told


def first_plan() -> Times:
    """The first plans of this process."""
    import maxatk as mk

    told: Times = {}
    cliff, real = mk.instances.windy_cliff(), mk.instances.random_sparse(50, 3, 8, rng=0)
    for name, mdp in {"cold: windy cliff, K=5": cliff, "cold: real rewards, after that": real}.items():
        began, used = time.perf_counter(), time.process_time()
        plan = mk.solve(mdp, 5)
        told[name] = time.perf_counter() - began, time.process_time() - used, plan.stats["slices"]
    return told


def timed_in(tree: Path, only: str, *, cold: bool = False) -> Times:
    """The same in a process of its own, by the version in a folder; with ``cold``, with nothing compiled."""
    command = [sys.executable, __file__, "--tell", "--only", only, *(["--cold"] if cold else [])]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")} | ({"NUMBA_CACHE_DIR": folder} if cold else {})
        return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Time both versions in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--cold", action="store_true", help="the first plan, too, with nothing compiled before")
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tell:
        print(json.dumps(first_plan() if given.cold else timed(given.only)))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", tree, given.commit], check=True)
        try:
            turns = [(timed_in(tree, given.only), timed_in(ROOT, given.only)) for _ in range(given.rounds)]
            if given.cold:
                cold = [[timed_in(place, "", cold=True) for place in (tree, ROOT)] for _ in range(given.rounds)]
                turns = [(old | c_old, new | c_new) for (old, new), (c_old, c_new) in zip(turns, cold, strict=True)]
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    both = [name for name in turns[0][1] if name in turns[0][0]]
    table = [_compared(name, [(old[name], new[name]) for old, new in turns]) for name in both]
    report("against", f"This version against {given.commit}, the least of {given.rounds} rounds", table)


def _compared(name: str, turns: list[Any]) -> dict[str, Any]:
    """A row of the table."""
    (wall, cpu, slices), (wall_now, cpu_now, slices_now) = (
        tuple(min(column) for column in zip(*side, strict=True)) for side in zip(*turns, strict=True)
    )
    return {
        "row": name,
        "before, ms": round(1e3 * wall, 3),
        "now, ms": round(1e3 * wall_now, 3),
        "now / before": round(wall_now / wall, 3),
        "processor": round(cpu_now / max(cpu, 1e-9), 3),
        "slices before, now": f"{slices:g}, {slices_now:g}" if slices or slices_now else "",
    }


if __name__ == "__main__":
    main()
