"""One plan by two workers of each kind, on one machine: what it costs to share slices out, and that bits are equal.

    python benchmarks/engines.py

Real rewards, 500 states. Ray and Dask are left out where they are not installed (extras `ray` and `dask`).
"""

import contextlib
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import maxatk as mk
from common import report
from maxatk.planning import CertifiedPlan

WORKERS = 2


@contextlib.contextmanager
def threads() -> Iterator[Executor]:
    """Threads of this process."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield pool


@contextlib.contextmanager
def processes() -> Iterator[Executor]:
    """Processes of the standard library."""
    with ProcessPoolExecutor(WORKERS) as pool:
        yield pool


@contextlib.contextmanager
def ray() -> Iterator[Executor]:
    """Workers of Ray."""
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield mk.engines.Ray()
    finally:
        ray.shutdown()


@contextlib.contextmanager
def dask() -> Iterator[Executor]:
    """Workers of Dask."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield mk.engines.Dask(client)


class Counting(Executor):
    """An executor that counts tasks and the bytes that go with them."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.tasks, self.bytes = inner, 0, 0
        if hasattr(inner, "put"):
            self.put = inner.put

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Pass a task on."""
        self.tasks += 1
        self.bytes += len(pickle.dumps([x for x in args if not hasattr(x, "hex") or isinstance(x, bytes | float)]))
        return self._inner.submit(fn, *args, **kwargs)


def plan_by(mdp: mk.MDP, executor: Executor | None) -> tuple[CertifiedPlan, float]:
    """A plan, and its seconds."""
    solver = mk.Certified(tol=0.1, threads=WORKERS, executor=executor)
    began = time.perf_counter()
    plan = mk.solve(mdp, 5, solver=solver)
    return plan, time.perf_counter() - began


def main() -> None:
    """One row per engine."""
    mdp = mk.instances.random_sparse(500, 4, 15, rng=0)
    small = mk.instances.random_sparse(20, 4, 4, rng=0)
    plan_by(small, None)
    alone, seconds = plan_by(mdp, None)
    rows: list[dict[str, Any]] = [
        {"engine": "none", "start s": 0.0, "plan s": round(seconds, 2), "tasks": 0, "bytes a task": 0}
    ]
    for name, engine in (("threads", threads), ("processes", processes), ("Ray", ray), ("Dask", dask)):
        began = time.perf_counter()
        try:
            with engine() as executor:
                plan_by(small, executor)
                started = time.perf_counter() - began
                counting = Counting(executor)
                plan, seconds = plan_by(mdp, counting)
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        assert (plan.lower, plan.upper) == (alone.lower, alone.upper), f"{name} changes the result"
        each = round(counting.bytes / max(counting.tasks, 1))
        rows.append(
            {
                "engine": f"{name}, {WORKERS} workers",
                "start s": round(started, 1),
                "plan s": round(seconds, 2),
                "tasks": counting.tasks,
                "bytes a task": each,
            }
        )
        print(rows[-1], flush=True)
    report("engines", "One plan by other workers: S=500 H=15 K=5, real rewards, tol 0.1; equal bits", rows)


if __name__ == "__main__":
    main()
