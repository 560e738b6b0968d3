"""Who sweeps: tasks in, bounds at the start cells or kept decisions out.

Planners know nothing of threads or devices: they ask a :class:`Sweeper`. :class:`Cores` is the one for the processor's
cores; another device is another class with these two methods, and its kernels.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.errors import MissingExtraError, TooLargeError
from maxatk.base.types import Floats
from maxatk.base.workers import Workers
from maxatk.kernels import Layout
from maxatk.planning.curves import Bounds, Curve
from maxatk.planning.lattice import Lattice
from maxatk.planning.rectangles import one_thread_each
from maxatk.planning.slices import (
    Acting,
    BoundedSlice,
    Decisions,
    PlaneDecisions,
    RunLayers,
    WholeSlice,
    in_one_go,
)
from maxatk.planning.tuning import TUNING
from maxatk.planning.windows import Task, Windows

DEVICES = ("cpu", "gpu", "auto")
# Products from which on a layer is split over threads: what takes a millisecond or so.


class Sweeper(Protocol):
    """Sweeps slices."""

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """For each task: upper bound, lower bound and slope in ``m`` when a rollout starts, [3, n].

        There is an entry for each of the task's ``m``, or for each of its returns at the start.
        """
        ...

    def decisions(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Acting]:
        """What is to be done, for each task, which has one slice."""
        ...


def bounds_of(lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go) -> Floats:
    """What :meth:`Sweeper.bounds` says of one task, in at most so many bytes."""
    kind = WholeSlice if lattice.whole else BoundedSlice
    return kind.sweep(lattice, task, memory, run).bounds(lattice.mdp)


def bounds_by_team(lattice: Lattice, task: Task, memory: float, threads: int) -> Floats:
    """The same by some threads that share the states of each layer."""
    if threads == 1:
        return bounds_of(lattice, task, memory)
    with Workers(threads) as team:
        return bounds_of(lattice, task, memory, Cores(memory, team).split)


def decisions_of(lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go) -> Acting:
    """What :meth:`Sweeper.decisions` says of one task, in at most so many bytes."""
    return (Decisions if lattice.whole else PlaneDecisions).sweep(lattice, task, memory, run)


class Cores:
    """Sweeps on the processor's cores: slices side by side, or the states of a large layer. Bits do not depend on it.

    Args:
        memory: bytes that all slices may take together.
        workers: the threads; the caller's own where there are none.
    """

    def __init__(self, memory: float, workers: Workers | None = None) -> None:
        self._memory, self._workers = memory, workers

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """As in :class:`Sweeper`."""
        with one_thread_each if lattice.dense else nullcontext():
            return self._bounds(lattice, tasks)

    def _bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        if self._workers is None:
            return [bounds_of(lattice, task, self._memory) for task in tasks]
        n, threads = len(tasks), self._workers.threads
        alone = n // threads * threads if self._splits(lattice) else n  # by one thread each; the rest by teams
        try:
            swept, rest = self._side_by_side(lattice, tasks[:alone], 1, self._workers), tasks[alone:]
            if len(rest) == 1:
                return [*swept, bounds_of(lattice, rest[0], self._memory, self.split)]
            return swept + self._side_by_side(lattice, rest, -(-threads // max(len(rest), 1)), self._workers)
        except TooLargeError:  # one at a time may fit
            return [bounds_of(lattice, task, self._memory, self.split) for task in tasks]

    def _side_by_side(self, lattice: Lattice, tasks: Sequence[Task], team: int, workers: Workers) -> list[Floats]:
        """Each task by a team of so many threads."""
        n = len(tasks)
        each = self._memory / min(workers.threads, max(n, 1))
        return workers.map(bounds_by_team, repeat(lattice, n), tasks, repeat(each, n), repeat(team, n))

    def decisions(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Acting]:
        """As in :class:`Sweeper`."""
        n, splits = len(tasks), self._splits(lattice)
        with one_thread_each if lattice.dense else nullcontext():
            if self._workers is None or n == 1 or splits:
                run = self.split if splits else in_one_go
                return [decisions_of(lattice, task, self._memory, run) for task in tasks]
            each = self._memory / min(self._workers.threads, n)
            return self._workers.map(decisions_of, repeat(lattice, n), tasks, repeat(each, n))

    def _splits(self, lattice: Lattice) -> bool:
        """Whether layers are large enough to be split."""
        exact = TUNING.large_dense_layer if lattice.dense else TUNING.large_layer
        large = exact if lattice.whole else TUNING.large_real_layer
        return self._workers is not None and self._workers.threads > 1 and lattice.work >= large

    def split(self, every: Any, one: Any, windows: Windows, layout: Layout, *buffers: Any) -> None:
        """Layer by layer, the states of each shared out among the threads."""
        assert self._workers is not None
        tables, flag = windows.tables, stopping.current().flag
        for h in range(len(windows.sizes) - 1, -1, -1):
            cuts = windows.shares(h, 2 * self._workers.threads)
            shared = (repeat(x, len(cuts) - 1) for x in (tables, layout, h))
            fixed = (repeat(x, len(cuts) - 1) for x in (*buffers, flag))
            self._workers.map(one, *shared, cuts[:-1], cuts[1:], *fixed)


def sweeper_on(device: str, memory: float | None, workers: Workers) -> Sweeper:
    """The sweeper of a device: one of :data:`DEVICES`, with so many bytes, or a share of what there is."""
    if device != "cpu":
        from maxatk.planning.gpu import Cuda, Gpu

        try:
            return Gpu(Cuda(), memory)
        except MissingExtraError:
            if device == "gpu":
                raise
    return Cores(checks.memory() / 2 if memory is None else memory, workers)


def solve_slices(sweeper: Sweeper, lattice: Lattice, after: Curve, gap: float, knots: Sequence[float]) -> Bounds:
    """Bounds on what a rollout is worth at every knot, by the curve ``after`` it, whose bounds are ``gap`` apart."""
    swept = sweeper.bounds(lattice, [Task(after, ms) for ms in lattice.batches(knots)])
    upper, lower, slope = np.concatenate(swept, axis=1)
    cost = lattice.problem.rollout_cost
    return Bounds(upper + lattice.carried(gap) - cost, lower - cost, slope)


def last_rollout(sweeper: Sweeper, lattice: Lattice, least: int, most: int, after: Curve) -> Bounds:
    """Bounds on ``U_{K-1}`` at all lattice points ``least .. most`` from one sweep (docs/theory/planner.md, 4).

    With nothing to come but the best return itself, only ``G - M`` matters: a slice at one ``m`` that starts from many
    returns at once holds them all. The drift of a whole rollout is an ``m`` that keeps the numbers small.
    """
    here = lattice.drift * lattice.mdp.horizon
    task = Task(after, (lattice.kappa * here,), shifts=(here - most, here - least))
    ((upper, lower, slope),) = sweeper.bounds(lattice, [task])
    off = lattice.kappa * (np.arange(least, most + 1) - here) - lattice.problem.rollout_cost
    return Bounds(upper + off, lower + off, slope)
