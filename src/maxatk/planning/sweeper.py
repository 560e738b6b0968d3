"""Who sweeps: tasks in, bounds at the start cells or kept decisions out.

Planners know nothing of threads or devices: they ask a :class:`Sweeper`. :class:`Cores` is the one for the processor's
cores; another device is another class with these two methods, and its kernels.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import Protocol

import numpy as np

from maxatk.base.types import Floats
from maxatk.base.workers import Workers
from maxatk.planning.curves import Bounds, Curve
from maxatk.planning.lattice import Lattice
from maxatk.planning.slices import Acting, BoundedSlice, Decisions, PlaneDecisions, Task, WholeSlice


class Sweeper(Protocol):
    """Sweeps slices."""

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """For each task: upper bound, lower bound and slope in ``m`` when a rollout starts, [3, n].

        There is an entry for each of the task's ``m``, or for each of its returns at the start.
        """
        ...

    def decisions(self, lattice: Lattice, task: Task) -> Acting:
        """What is to be done, with a task's one slice."""
        ...


def bounds_of(lattice: Lattice, task: Task, memory: float) -> Floats:
    """What :meth:`Sweeper.bounds` says of one task, in at most so many bytes."""
    kind = WholeSlice if lattice.whole else BoundedSlice
    return kind.sweep(lattice, task, memory).bounds(lattice.mdp)


def decisions_of(lattice: Lattice, task: Task, memory: float) -> Acting:
    """What :meth:`Sweeper.decisions` says of a task, in at most so many bytes."""
    kind = Decisions if lattice.whole else PlaneDecisions
    return kind.sweep(lattice, task, memory)


class Cores:
    """Sweeps on the processor's cores, slices side by side.

    Args:
        memory: bytes that all slices may take together.
        workers: the threads; the caller's own where there are none.
    """

    def __init__(self, memory: float, workers: Workers | None = None) -> None:
        self._memory, self._workers = memory, workers

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """As in :class:`Sweeper`."""
        if self._workers is None:
            return [bounds_of(lattice, task, self._memory) for task in tasks]
        each = self._memory / min(self._workers.threads, len(tasks))
        return self._workers.map(bounds_of, repeat(lattice, len(tasks)), tasks, repeat(each, len(tasks)))

    def decisions(self, lattice: Lattice, task: Task) -> Acting:
        """As in :class:`Sweeper`."""
        return decisions_of(lattice, task, self._memory)


def solve_slices(sweeper: Sweeper, lattice: Lattice, after: Curve, gap: float, knots: Sequence[float]) -> Bounds:
    """Bounds on what a rollout is worth at every knot, by the curve ``after`` it, whose bounds are ``gap`` apart."""
    swept = sweeper.bounds(lattice, [Task(after, ms) for ms in lattice.batches(knots)])
    upper, lower, slope = np.concatenate(swept, axis=1)
    return Bounds(upper + lattice.carried(gap) - lattice.price, lower - lattice.price, slope)


def last_rollout(sweeper: Sweeper, lattice: Lattice, least: int, most: int, after: Curve) -> Bounds:
    """Bounds on ``U_{K-1}`` at all lattice points ``least .. most`` from one sweep (docs/theory/planner.md, 4).

    With nothing to come but the best return itself, only ``G - M`` matters: a slice at one ``m`` that starts from many
    returns at once holds them all. The drift of a whole rollout is an ``m`` that keeps the numbers small.
    """
    here = lattice.tables.drift * lattice.mdp.horizon
    task = Task(after, (lattice.kappa * here,), shifts=(here - most, here - least))
    ((upper, lower, slope),) = sweeper.bounds(lattice, [task])
    off = lattice.kappa * (np.arange(least, most + 1) - here) - lattice.price
    return Bounds(upper + off, lower + off, slope)
