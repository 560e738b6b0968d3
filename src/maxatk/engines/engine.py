"""Where compiled work runs: what every engine does, and the configuration from which one is made.

An engine knows arrays, and nothing of problems. It holds arrays of its own kind, runs the compiled sweeps on them, and
shares jobs out among its threads, or does them one after the other on a device. A new device is a new engine.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError
from maxatk.engines.cores import Cores
from maxatk.engines.jobs import Job, Kernel, Runs, Windows
from maxatk.engines.remote import RemotePool

K = TypeVar("K")
T = TypeVar("T")

DEVICES = ("cpu", "gpu", "auto")


class Engine(Protocol):
    """Runs sweeps on arrays of its own."""

    xp: Any  # NumPy's functions for the engine's arrays
    on_host: bool  # whether those are the host's
    memory: float  # bytes that the jobs may take together

    def upload(self, array: Any) -> Any:
        """An array of the host as the engine's own."""
        ...

    def to_host(self, array: Any) -> Any:
        """An array of the engine as one of the host."""
        ...

    def reachable(self, rows: kernels.RowTable, moves: kernels.Moves, step: int, states: Any) -> kernels.Reach:
        """:func:`maxatk.kernels.reachable`: the ends of rollouts are arrays of the host."""
        ...

    def windows(self, tables: kernels.Tables, shifts: tuple[int, int], m: int) -> Windows:
        """:func:`maxatk.kernels.windows`."""
        ...

    def sweep(self, kernel: Kernel, *arguments: Any) -> None:
        """One of the sweeps of :mod:`maxatk.kernels`, by name, with its arguments but for the last, the stop flag."""
        ...

    def runs(self, where: kernels.Part, layout: kernels.Layout, choice: Any, slices: int, kind: Any) -> list[Runs]:
        """The runs of equal choices of a part of one layer, for each of some slices side by side, once it is swept.

        ``kind`` is the type of their returns.
        """
        ...

    def run(self, jobs: Sequence[Job[T]]) -> list[T]:
        """The results of some jobs. They do not depend on how the jobs are shared out."""
        ...


@dataclass(frozen=True)
class EngineConfig:
    """What an engine is made from.

    Args:
        device: ``"cpu"``, ``"gpu"`` for the first CUDA device, or ``"auto"`` for a GPU if there is one.
        memory: bytes that jobs may take together; by default half of the machine's, or nine tenths of the device's.
        threads: how many threads sweep; by default one per core.
        executor: whose workers do jobs of which there are several, each on the device.
    """

    device: str = "cpu"
    memory: float | None = None
    threads: int | None = None
    executor: Executor | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.memory is not None and checks.exact_number(self.memory, "max_memory") < 0:
            raise InputError(f"max_memory must not be negative, but is {self.memory}")
        if self.threads is not None:
            checks.integer(self.threads, "threads", least=1)
        if self.device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(map(repr, DEVICES))}, not {checks.shown(self.device)}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise InputError(f"executor must be a concurrent.futures.Executor, not {checks.shown(self.executor)}")

    def engine(self) -> Engine:
        """An engine of this machine."""
        if self.device != "cpu":
            from maxatk.engines.cuda import Cuda, Gpu  # CuPy is there for those alone who ask for it

            try:
                return Gpu(Cuda(), self.memory)
            except MissingExtraError:
                if self.device == "gpu":
                    raise
        return Cores(checks.memory() / 2 if self.memory is None else float(self.memory), self.threads)


class SharedEngine(Generic[K]):
    """A problem with its engine, for a plan, its policy and its curves: made when first needed, and after a fork.

    A copy of it makes its own. What a device holds is freed with the last reference to the engine.

    Args:
        config: what it is made from.
        known: the problem, which workers elsewhere know, too.
    """

    def __init__(self, config: EngineConfig, known: K) -> None:
        self.config, self.known = config, known
        self._made: tuple[int, Engine] | None = None  # with the process that made it
        self._remote = None if config.executor is None else RemotePool(config.executor, known)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedEngine, (replace(self.config, executor=None), self.known)

    def changed(self, known: K) -> "SharedEngine[K]":
        """The same engine for another problem."""
        other = SharedEngine(self.config, known)
        other._made = os.getpid(), self()
        return other

    def __call__(self) -> Engine:
        """The engine."""
        with self._lock:
            if self._made is None or self._made[0] != os.getpid():
                self._made = os.getpid(), self.config.engine()
            return self._made[1]

    def run(self, jobs: Sequence[Job[T]]) -> list[T]:
        """The results of some jobs: several that can travel by workers elsewhere, what those lose and all else here."""
        items = [job.portable() for job in jobs] if self._remote and len(jobs) > 1 else [None]
        if self._remote is None or any(item is None for item in items):
            return self().run(jobs)
        travels = [item for item in items if item is not None]
        return self._remote.map(_portable_job, travels, lambda left: self().run([jobs[i] for i in left]))


def _portable_job(known: Any, function: Callable[..., T], *arguments: Any) -> T:
    """On a worker: a job that travelled."""
    return function(known, *arguments)
