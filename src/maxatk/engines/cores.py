"""The processor's cores: jobs side by side, or the states of a large layer. Bits do not depend on it."""

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.workers import Workers
from maxatk.engines.blas import one_thread_each
from maxatk.engines.jobs import Job, Kernel, Runs, Windows

T = TypeVar("T")


class Cores:
    """Sweeps on the processor's cores, with arrays of NumPy's.

    Args:
        memory: bytes that all jobs may take together.
        threads: how many threads sweep; one per core by default.
    """

    xp: Any = np
    on_host = True

    def __init__(self, memory: float, threads: int | None = None) -> None:
        self.memory, self._workers = memory, Workers(threads)

    def upload(self, array: Any) -> Any:
        """The array itself."""
        return array

    def to_host(self, array: Any) -> Any:
        """The array itself."""
        return array

    def sweep(self, kernel: Kernel, *arguments: Any) -> None:
        """A compiled sweep."""
        stopping.run(getattr(kernels, kernel), *arguments)

    def reachable(self, rows: kernels.RowTable, moves: kernels.Moves, step: int, states: Any) -> kernels.Reach:
        """The returns with which states are reached."""
        return stopping.run(kernels.reachable, rows, moves, step, states)

    def windows(self, tables: kernels.Tables, shifts: tuple[int, int], m: int) -> Windows:
        """The windows of a slice."""
        return Windows(*stopping.run(kernels.windows, tables, *shifts, m))

    def runs(self, where: kernels.Part, layout: kernels.Layout, choice: Any, slices: int, kind: Any) -> list[Runs]:
        """The runs of equal choices, by a compiled loop."""
        there = slice(where.first_state, where.end_state)
        high, low = layout.high[where.first_step, there].astype(np.int64), layout.low[where.first_step, there]
        cells = int(np.maximum(high - low + 1, 0).sum())  # no more runs than that
        first, row = np.empty((slices, cells), kind), np.empty((slices, cells), choice.dtype)
        count, size = np.empty((slices, len(low)), np.int32), np.zeros(slices, np.int64)
        kernels.find_runs(where, layout, choice, first, row, count, size)
        return [Runs(first[b, :n].copy(), row[b, :n].copy(), count[b]) for b, n in enumerate(size.tolist())]

    def run(self, jobs: Sequence[Job[T]]) -> list[T]:
        """Jobs by one thread each; those that are left over, if their layers are large, by all threads together."""
        if not jobs:
            return []
        with stopping.brief():
            if all(job.brief for job in jobs):
                return [job.alone(self.memory) for job in jobs]
        with one_thread_each if jobs[0].multiplies else nullcontext():
            n, threads = len(jobs), self._workers.threads
            splits = jobs[0].large and threads > 1
            each = n // threads * threads if splits else n
            try:
                return self._side_by_side(jobs[:each]) + self._together(jobs[each:])
            except TooLargeError:  # one at a time may fit
                one = self._together if splits else self._side_by_side
                return [result for job in jobs for result in one([job])]

    def _side_by_side(self, jobs: Sequence[Job[T]]) -> list[T]:
        """A job for each thread at a time; a single one on a thread, too, while the caller's hears Ctrl-C."""
        memory = self.memory / max(min(self._workers.threads, len(jobs)), 1)
        return self._workers.map(_alone, jobs, repeat(memory, len(jobs)))

    def _together(self, jobs: Sequence[Job[T]]) -> list[T]:
        """Layer by layer, the states of all jobs shared out among the threads."""
        if not jobs:
            return []
        self._workers.map(_begin, jobs, repeat(self.memory / len(jobs), len(jobs)))
        parts = -(-2 * self._workers.threads // len(jobs))
        for h in range(jobs[0].steps - 1, -1, -1):
            pieces = [
                (job, kernels.Part(h, h + 1, first, end))
                for job in jobs
                for first, end in itertools.pairwise(job.cuts(h, parts))
            ]
            self._workers.map(_sweep, *zip(*pieces, strict=True))
        return [job.result() for job in jobs]


def _alone(job: Job[T], memory: float) -> T:
    return job.alone(memory)


def _begin(job: Job[Any], memory: float) -> None:
    job.begin(memory)


def _sweep(job: Job[Any], where: kernels.Part) -> None:
    job.sweep(where)
