"""The certified planner against its peers, in one run, on two threads, compilation excluded for all.

    python benchmarks/planner.py            # some minutes
    python benchmarks/planner.py --scale    # a problem of 10^5 states, and what bounds its speed

Peers solve the same problem to the same answer, which is checked. Where a peer would take too long, a part of its work
is timed and the rest extrapolated, and the row says so.
"""

import contextlib
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

import maxatk as mk
from common import report
from maxatk import kernels
from maxatk.base.tuning import tuned
from maxatk.planning import CertifiedPlan
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.on_lattice import OnLattice, ValueJob
from maxatk.planning.certified.plan import evidence_of
from peers import QuantEcon, full_table, seconds

THREADS = 2


def certified(mdp: mk.MDP, k: int, tol: float, repeats: int = 3) -> tuple[mk.Plan, float]:
    """A plan, and the seconds that it takes once compiled."""
    solver = mk.Certified(tol=tol, threads=THREADS)
    plan = mk.solve(mdp, k, solver=solver)
    return plan, seconds(lambda: mk.solve(mdp, k, solver=solver), repeats)


def row(problem: str, peer: str, theirs: float, ours: float, plan: mk.Plan, aim: int) -> dict[str, object]:
    """One line of the table."""
    return {
        "problem": problem,
        "gap": float(plan.gap),
        "peer": peer,
        "peer's s": round(theirs, 3),
        "our s": round(ours, 4),
        "times faster": round(theirs / ours),
        "aim": aim,
    }


def exact_lattice(S: int, H: int, k: int = 4) -> list[dict[str, object]]:
    """Sparse problems with rewards 0..10, to 10^-9 of the value and to 10^-3 of the largest return."""
    mdp = mk.instances.random_sparse(S, 4, H, rewards=range(11), rng=0)
    points = int(mdp.return_range[1]) + 1
    peer = QuantEcon(mdp, points)
    after = np.arange(points, dtype=float)
    peer.slice_value(after, 0)  # compile
    if S <= 200:
        value = 0.0

        def run() -> None:
            nonlocal value
            value = peer.value(k)

        theirs, label = seconds(run), "QuantEcon, all slices"
    else:
        sample = np.linspace(0, points - 1, 8).astype(int)
        theirs = seconds(lambda: [peer.slice_value(after, m) for m in sample]) / len(sample) * ((k - 1) * points + 1)
        value, label = float("nan"), f"QuantEcon, from {len(sample)} slices"
    rows = []
    for tol, aim in ((1e-9 * float(mdp.return_range[1]) * 0.8, 40), (1e-3 * H * 10, 400)):
        plan, ours = certified(mdp, k, tol, repeats=5)
        assert not plan.lower - 1e-9 > value, "the peer and we disagree"
        assert not plan.upper + 1e-9 < value, "the peer and we disagree"
        rows.append(row(f"sparse S={S} H={H} K={k}, rewards 0..10", label, theirs, ours, plan, aim))
    return rows


def real_rewards(S: int = 50, H: int = 8, k: int = 4, n: int = 40) -> dict[str, object]:
    """Real rewards at an equal guarantee: the paper's grid of step 1/n promises a policy within H/n."""
    mdp = mk.instances.random_sparse(S, 3, H, rng=0)
    rewards = np.zeros((S, 3))
    rewards[np.repeat(np.arange(S), 3), np.tile(np.arange(3), S)] = mdp.reward[mdp.outcome_start[:-1]]
    odd = 2 * np.minimum((rewards * n).astype(int), n - 1) + 1  # in units of kappa/2
    points = H * (2 * n - 1) + 1
    value = 0.0

    def run() -> None:
        nonlocal value
        value = full_table(mdp, k, odd, points, dense=False) / (2 * n)

    theirs = seconds(run)
    plan, ours = certified(mdp, k, H / n, repeats=5)
    assert plan.lower - H / (2 * n) <= value <= plan.upper + H / (2 * n), "the peer and we disagree"
    return row(
        f"sparse S={S} H={H} K={k}, real rewards, width {H / n:g}", "full table in NumPy", theirs, ours, plan, 1000
    )


def dense(S: int = 100, H: int = 20, k: int = 4) -> dict[str, object]:
    """Dense rows, rewards 0..10, exactly. The full table is timed for one rollout on a part of its M."""
    mdp = mk.instances.random_dense(S, 4, H, rewards=range(11), rng=0)
    points = int(mdp.return_range[1]) + 1
    jump = np.zeros((S, 4), int)
    jump[np.repeat(np.arange(S), 4), np.tile(np.arange(4), S)] = mdp.reward[mdp.outcome_start[:-1]].astype(int)
    value = 0.0

    def run() -> None:
        nonlocal value
        value = full_table(mdp, k, jump, points, dense=True)

    theirs = seconds(run)
    plan, ours = certified(mdp, k, 1e-9 * float(mdp.return_range[1]) * 0.8)
    assert plan.lower - 1e-9 <= value <= plan.upper + 1e-9, "the peer and we disagree"
    return row(f"dense S={S} H={H} K={k}, rewards 0..10", "full table in NumPy", theirs, ours, plan, 40)


def product(S: int = 100, H: int = 20, k: int = 4) -> list[dict[str, object]]:
    """What matrix products win on dense rows: multiply-adds per second, and a plan's seconds, both on one thread."""
    mdp = mk.instances.random_dense(S, 4, H, rewards=range(11), rng=0)
    solver = mk.Certified(tol=1e-9 * float(mdp.return_range[1]) * 0.8, threads=1)
    rng = np.random.default_rng(0)
    rows, cells = rng.random((4 * S, S)), rng.random((S, 2 * 4 * 100))  # values and slopes of four knots, 100 returns
    with threadpoolctl.threadpool_limits(1):
        plain = rows.size * cells.shape[1] / seconds(lambda: rows @ cells, 20) / 1e9
        by_products, planned = (
            sweep_rate(mdp, mk.solve(mdp, k, solver=solver)),
            seconds(lambda: mk.solve(mdp, k, solver=solver), 3),
        )
        with tuned(product_work=math.inf):
            by_sums, summed = (
                sweep_rate(mdp, mk.solve(mdp, k, solver=solver)),
                seconds(lambda: mk.solve(mdp, k, solver=solver), 3),
            )
    return [
        {
            "on one thread": "sums, one by one",
            "10^9 multiply-adds/s": f"{by_sums[0]:.1f}",
            "a plan, s": f"{summed:.2f}",
        },
        {
            "on one thread": "matrix products",
            "10^9 multiply-adds/s": f"{by_products[0]:.1f}",
            "a plan, s": f"{planned:.2f}",
        },
        {
            "on one thread": "a matrix product of that size, alone",
            "10^9 multiply-adds/s": f"{plain:.1f}",
            "a plan, s": "",
        },
    ]


def scale() -> None:
    """10^5 states, 4 actions, 3 successors, H = 50, K = 5, to 0.5."""
    mdp = mk.instances.random_sparse(10**5, 4, 50, rewards=range(11), rng=0)
    with passes() as passed:
        began = time.perf_counter()
        plan = mk.solve(mdp, 5, solver=mk.Certified(tol=0.5, threads=THREADS, max_memory=6e9))
        spent = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    at_once = seconds(lambda: mk.simulate(mdp, plan.policy, trials=200, rng=0), 1)
    acted = simulated_elsewhere(plan)
    rate, bandwidth = sweep_rate(mdp, plan)
    small = mk.instances.random_sparse(200, 4, 50, rewards=range(11), rng=0)
    in_cache, _ = sweep_rate(small, mk.solve(small, 5))
    copied = copy_bandwidth()
    rows = [
        {"what": "status", "value": str(plan.status)},
        {"what": "interval", "value": f"{plan.lower:.4f} to {plan.upper:.4f}"},
        {"what": "slices", "value": f"{plan.stats['slices']:.0f}"},
        {"what": "seconds", "value": f"{spent:.0f}"},
        {"what": "peak GiB", "value": f"{peak:.2f}"},
        {"what": "of these seconds: windows, what can be reached, means", "value": f"{sum(passed):.1f}"},
        {"what": "200 trials of its policy, whose decisions were recorded: seconds", "value": f"{at_once:.1f}"},
        {"what": "200 trials of its policy, loaded from a file: seconds", "value": f"{acted['seconds']:.1f}"},
        {"what": "their peak GiB, the problem included", "value": f"{acted['peak']:.2f}"},
        {"what": "one sweep, one thread: 10^9 multiply-adds per second", "value": f"{rate:.2f}"},
        {"what": "the same kernel on 200 states, in cache", "value": f"{in_cache:.2f}"},
        {"what": "one sweep, one thread: GB read per second", "value": f"{bandwidth:.1f}"},
        {"what": "this machine copying memory, one thread: GB read and written per second", "value": f"{copied:.1f}"},
    ]
    report("scale", "10^5 states, 4 actions, 3 successors, H=50, rewards 0..10, K=5, tol 0.5", rows)


@contextlib.contextmanager
def passes() -> Iterator[list[float]]:
    """Collects the seconds of all passes that are not sweeps, on any thread."""
    names = ("windows", "reachable", "best_means", "most_ahead")
    usual, spent = {name: getattr(kernels, name) for name in names}, list[float]()

    def timed(kernel: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return kernel(*arguments)
        finally:
            spent.append(time.perf_counter() - began)

    try:
        for name, kernel in usual.items():
            setattr(kernels, name, partial(timed, kernel))
        yield spent
    finally:
        for name, kernel in usual.items():
            setattr(kernels, name, kernel)


def simulated_elsewhere(plan: CertifiedPlan) -> dict[str, float]:
    """What 200 trials take in a process of their own, which has nothing but the plan's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.plan"
        plan.save(path, with_problem=True)
        told = subprocess.run([sys.executable, __file__, "--act", path], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(told.stdout)


def act(path: str) -> None:
    """The other process."""
    small = mk.instances.random_sparse(20, 3, 5, rewards=range(4), rng=0)
    mk.simulate(small, mk.solve(small, 2).policy, trials=10, rng=0)  # compile
    plan = mk.load_plan(path)
    began = time.perf_counter()
    mk.simulate(plan.mdp, plan.policy, trials=200, rng=0)
    spent = time.perf_counter() - began
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # what getrusage says is its parent's
    print(json.dumps({"seconds": spent, "peak": int(peak[1]) / 2**20 if peak else math.nan}))


def sweep_rate(mdp: mk.MDP, plan: mk.Plan) -> tuple[float, float]:
    """10^9 multiply-adds and GB per second of one sweep of four knots in the middle of the second rollout's curve."""
    assert isinstance(plan, CertifiedPlan)
    after, method = evidence_of(plan).curves[2], evidence_of(plan).method
    assert isinstance(method, OnLattice)
    inner = after.line_knot[1:-1]
    knots = inner[np.linspace(0, len(inner) - 1, 4).astype(int)].tolist()
    task = Task(after, tuple(knots))
    job = ValueJob(method, task)
    job.begin(np.inf)
    layout = job.layout
    cells = np.maximum(layout.high.astype(int) - layout.low + 1, 0)  # [H, S]
    outcomes = np.diff(mdp.outcome_start[mdp.pair_start])  # [S]
    products = 2 * len(knots) * float((cells * outcomes).sum())  # a value and a slope each
    spent = seconds(lambda: ValueJob(method, task).alone(np.inf), 2)
    return products / spent / 1e9, 8 * products / spent / 1e9


def copy_bandwidth() -> float:
    """GB read and written per second when a large array is copied."""
    source = np.ones(50_000_000)
    target = np.empty_like(source)
    return 16 * len(source) / seconds(lambda: np.copyto(target, source), 3) / 1e9


def main() -> None:
    """All tables."""
    if "--act" in sys.argv:
        act(sys.argv[-1])
    elif "--scale" in sys.argv:
        scale()
    else:
        rows = [*exact_lattice(200, 20), *exact_lattice(500, 30), real_rewards(), dense()]
        report("dense", "Dense rows, S=100: sums and matrix products", product())
        report("planner", f"The certified planner against its peers, {THREADS} threads", rows)


if __name__ == "__main__":
    main()
