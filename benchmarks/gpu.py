"""The certified planner on a GPU, beside the cores of the same machine; compilation excluded.

    python benchmarks/gpu.py            # some minutes
    python benchmarks/gpu.py --quick    # no problem of 10^6 states
    python benchmarks/gpu.py --threads  # only the cores: 1 to 16 threads, which needs no GPU

Needs a CUDA device and CuPy beside what the package itself needs (NumPy, SciPy, Numba, rich, lazy-loader, click); the
tests' half needs pytest and Hypothesis, and is skipped in one line without them. Intervals on the GPU must be those of
the cores, to the bit, or the run ends with an error; where rows are dense, they must overlap.
"""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import maxatk as mk
from common import report
from maxatk.engines.cuda import Cuda
from maxatk.planning import CertifiedPlan
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.plan import evidence_of

ROOT = Path(__file__).resolve().parent.parent
THREADS = (1, 2, 4, 8, 16)


def timed(mdp: mk.MDP, k: int, **settings: Any) -> tuple[CertifiedPlan, float]:
    """A plan, and its seconds; what the problem itself derives once is part of them."""
    fresh = mk.MDP.__new__(mk.MDP)
    fresh.__setstate__(vars(mdp))
    began = time.perf_counter()
    plan = mk.solve(fresh, k, solver=mk.Certified(**settings))
    return plan, time.perf_counter() - began


def sparse(S: int, H: int, real: bool) -> mk.MDP:
    """Four actions, three successors; rewards 0..10 or real."""
    return mk.instances.random_sparse(S, 4, H, rewards=None if real else range(11), rng=0)


def agree(one: CertifiedPlan, other: CertifiedPlan) -> None:
    """That two plans have the same interval, to the bit."""
    ours, theirs = (one.lower, one.upper), (other.lower, other.upper)
    assert ours == theirs, f"GPU and cores disagree: {ours} and {theirs}"


def on_the_gpu(quick: bool) -> list[dict[str, Any]]:
    """Whole plans, with the aims of the project; the smaller ones on all cores, too."""
    problems: list[tuple[int, int, bool, float, float | None]] = [
        (10**4, 50, False, 0.5, None),
        (2000, 30, True, 0.05, None),
        (20_000, 30, True, 0.05, None),
        (10**5, 50, False, 0.5, 3.0),
        (10**5, 50, True, 0.2, 8.0),
    ]
    if not quick:
        problems.append((10**6, 50, False, 0.5, 40.0))
    rows: list[dict[str, Any]] = []
    for S, H, real, tol, aim in problems:
        began = time.perf_counter()
        mdp = sparse(S, H, real)
        built = time.perf_counter() - began
        plan, seconds = timed(mdp, 5, tol=tol, device="gpu")
        again, repeated = timed(mdp, 5, tol=tol, device="gpu")
        assert (plan.lower, plan.upper) == (again.lower, again.upper), "two runs on the GPU disagree"
        began = time.perf_counter()
        mk.simulate(mdp, again.policy, trials=200, rng=0)
        acting = time.perf_counter() - began
        cores = None
        if S <= 20_000:
            other, cores = timed(mdp, 5, tol=tol)
            agree(plan, other)
        row: dict[str, Any] = {
            "problem": f"S={S} H={H} K=5, {'real rewards' if real else 'rewards 0..10'}, tol {tol:g}",
            "status": str(plan.status),
            "width": float(plan.gap),
            "slices": int(plan.stats["slices"]),
            "GPU s": round(min(seconds, repeated), 3),
            "all cores s": "" if cores is None else round(cores, 2),
            "aim s": "" if aim is None else aim,
            "200 trials s": round(acting, 2),
            "read GB/s": round(gathered(mdp, plan), 0),
            "building s": round(built, 1),
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def gathered(mdp: mk.MDP, plan: CertifiedPlan) -> float:
    """GB per second that one sweep in the middle of the second curve reads from other cells."""
    method, after = evidence_of(plan).method, evidence_of(plan).curves[2]
    inner = after.line_knot[(after.line_knot > after.floor) & (after.line_knot < after.point[-1])]
    middle = float(inner[len(inner) // 2])
    ms = tuple(middle + method.lattice.kappa * i for i in range(4)) if method.exact else (middle,)
    task = Task(after, ms)
    low, _, high = (method.engine().to_host(ends) for ends in method.cells(task).windows[:3])
    outcomes = np.diff(mdp.outcome_start[mdp.pair_start])
    cells = np.maximum(high.astype(np.int64) - low + 1, 0).sum(axis=0)
    size = float((cells * outcomes).sum()) * (16 * len(ms) if method.exact else 64)
    method.sweep([task])
    began = time.perf_counter()
    method.sweep([task])
    return size / (time.perf_counter() - began) / 1e9


def copied() -> float:
    """GB read and written per second when the device copies a large array."""
    cupy: Any = Cuda().xp
    source = cupy.ones(2**29)
    target = cupy.empty_like(source)
    cupy.copyto(target, source)
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    for _ in range(10):
        cupy.copyto(target, source)
    cupy.cuda.Device().synchronize()
    return 10 * 16 * source.size / (time.perf_counter() - began) / 1e9


def dense() -> dict[str, Any]:
    """Dense rows, by products on both."""
    S, H, tol = 1000, 30, 0.01
    mdp = mk.instances.random_dense(S, 4, H, rewards=range(11), rng=0)
    timed(mdp, 2, tol=10.0, device="gpu")
    plan, seconds = timed(mdp, 5, tol=tol, device="gpu")
    other, cores = timed(mdp, 5, tol=tol)
    assert evidence_of(plan).method.multiplies, "products were to be measured"
    # Products round otherwise, and then other knots may be chosen: both intervals are true, and need not be the same.
    assert max(plan.lower, other.lower) <= min(plan.upper, other.upper), "GPU and cores contradict each other"
    return {
        "problem": f"dense S={S} H={H} K=5, rewards 0..10, tol {tol:g}",
        "status": str(plan.status),
        "width": float(plan.gap),
        "slices": int(plan.stats["slices"]),
        "GPU s": round(seconds, 3),
        "all cores s": round(cores, 2),
    }


def by_threads() -> list[dict[str, Any]]:
    """The same plan by 1 to 16 threads: equal bits."""
    rows: list[dict[str, Any]] = []
    for S, H, real, tol in ((10**4, 50, False, 0.5), (2000, 30, True, 0.05)):
        mdp, first = sparse(S, H, real), None
        seconds: dict[int, float] = {}
        for threads in reversed(THREADS):
            plan, seconds[threads] = timed(mdp, 5, tol=tol, threads=threads)
            first = first or plan
            assert (plan.lower, plan.upper) == (first.lower, first.upper), "threads change the result"
        row: dict[str, Any] = {"problem": f"S={S} H={H}, {'real rewards' if real else 'rewards 0..10'}, tol {tol:g}"}
        rows.append(row | {f"{n} threads s": round(seconds[n], 2) for n in THREADS})
        print(rows[-1], flush=True)
    return rows


def tests() -> None:
    """The tests of the GPU, on the GPU."""
    if any(importlib.util.find_spec(name) is None for name in ("pytest", "hypothesis")):
        print("tests are skipped: pytest or Hypothesis is not installed")
        return
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-o",
        "addopts=",
        "tests/test_gpu.py",
        "tests/test_products.py",
    ]
    subprocess.run(command, cwd=ROOT, check=True)


def main() -> None:
    """Tests, then tables."""
    for real in (False, True):  # compile
        timed(sparse(50, 5, real), 3, tol=0.1)
    if "--threads" in sys.argv:
        report("threads", "The certified planner by number of threads", by_threads())
        return
    tests()
    for real in (False, True):
        timed(sparse(50, 5, real), 3, tol=0.1, device="gpu")
    bandwidth = copied()
    name = Cuda().xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows = on_the_gpu("--quick" in sys.argv)
    title = f"The certified planner on {name}, which copies {bandwidth:.0f} GB/s"
    rows = [row | {"of copying": row["read GB/s"] / bandwidth, "device": name} for row in rows]
    report("gpu", title, [*rows, {**dict.fromkeys(rows[0], ""), **dense(), "device": name}])
    report("threads", "The certified planner by number of threads", by_threads())


if __name__ == "__main__":
    main()
