"""Slices: one rollout swept backwards with the best return held at ``m`` (docs/theory/planner.md, 1).

There are two ways to sweep one: :mod:`on_lattice`, where all rewards are multiples of a step, and :mod:`off_lattice`,
where they lie between. :class:`SliceMethod` is what both do: a problem on a lattice, on an engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.types import Bools, Floats, Ints
from maxatk.engines.engine import Engine, EngineConfig, SharedEngine
from maxatk.engines.jobs import Job, check_memory
from maxatk.planning.certified.cells import Cells, Task, finished
from maxatk.planning.certified.curves import Bounds, Curve
from maxatk.planning.certified.lattice import Lattice
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP

T = TypeVar("T")

CACHE_SIZE = 2  # problems on a lattice that a worker elsewhere keeps


class Acting(Protocol):
    """What is kept of a slice: which row to take at true (M, G)."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row to take at each state, M and G [n], where ``g`` is the lattice point of G."""
        ...

    def row(self, step: int, state: int, g: int, best: float, so_far: float) -> int:
        """:meth:`rows` of one state."""
        ...


class SliceMethod(ABC):
    """A problem on a lattice of returns, ready to be swept: what a plan's bounds are made by, and its policy acts on.

    Args:
        shared: the problem, and the engine that sweeps it.
        kappa: the lattice's step.
    """

    exact: bool  # whether all rewards are multiples of the lattice's step
    bytes_kept: int  # of each cell, for acting
    tabulates = True  # whether one sweep may start from many returns at once

    def __init__(self, shared: SharedEngine[DecisionProblem], kappa: float) -> None:
        self.engine, self.problem = shared, shared.known
        self.lattice = self.on(shared.known, kappa)
        self._made_for: Engine | None = None
        self._made: dict[str, Any] = {}  # for that engine

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.engine, self.lattice.kappa)  # a copy derives the rest itself

    @property
    def mdp(self) -> MDP:
        """The problem without what its rollouts are for."""
        return self.problem.mdp

    @staticmethod
    @abstractmethod
    def on(problem: DecisionProblem, kappa: float) -> Lattice:
        """The lattice of a problem."""

    def changed(self, problem: DecisionProblem) -> "SliceMethod":
        """Another problem on the same lattice and engine."""
        return type(self)(self.engine.changed(problem), self.lattice.kappa)

    @property
    def multiplies(self) -> bool:
        """Whether sweeps are matrix products."""
        return False

    # The problem as engines take it.

    @cached_property
    def tables(self) -> kernels.Tables:
        """The problem on the lattice, on the host."""
        return self._tables()

    def _tables(self) -> kernels.Tables:
        mdp, rows, moves = self.mdp, self.mdp.analysis.rows, self.lattice.moves
        with stopping.brief(mdp.analysis.brief):
            reach = stopping.run(kernels.reachable, rows, moves, 0, mdp.start_state)
        return kernels.Tables(rows, moves, reach, self.finish_cost, self.problem.may_abandon)

    @cached_property
    def finish_cost(self) -> Floats:
        """The least expected cost of finishing from each step and state, [H + 1, S]."""
        cost = self.problem.finish_cost
        return np.zeros((self.mdp.horizon + 1, self.mdp.n_states)) if cost is None else cost

    def columns_of(self, task: Task) -> int:
        """Columns of the windows of a task: one for each state."""
        return self.mdp.n_states

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is made once for the present engine, under a name."""
        engine = self.engine()
        if self._made_for is not engine:
            self._made_for, self._made = engine, {}
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def on_engine(self) -> kernels.Tables:
        """The same on the engine, where it is uploaded once."""
        return self.tables if self.engine().on_host else self.once("tables", self._upload)

    def _upload(self) -> kernels.Tables:
        engine = self.engine()
        host, moved = self.mdp.analysis.rows, self.lattice.moves
        check_memory(sum(column.nbytes for column in (*host[3:], *moved[:3])), engine.memory)
        rows = kernels.RowTable(host.step_layer, *(engine.upload(column) for column in host[1:]))
        jump, part, most_left = (engine.upload(column) for column in moved[:3])
        moves = kernels.Moves(jump, part, most_left, moved.drift)
        reach = engine.reachable(rows, moves, 0, self.mdp.start_state)
        finishing = self.problem.finish_cost
        costs = engine.upload(np.zeros((1, self.mdp.n_states)) if finishing is None else finishing)
        return kernels.Tables(rows, moves, reach, costs, self.problem.may_abandon)

    def cells(self, task: Task) -> Cells:
        """The cells of a task; the least of its ``m`` decides."""
        task.check_shifts(self.lattice.kappa)
        engine, tables = self.engine(), self.on_engine()
        if task.start is not None:
            step, state = task.start
            reach = engine.reachable(tables.rows, tables.moves, step, np.array([state], np.int32))
            tables = tables._replace(reach=reach)
        m = self.lattice.index(min(task.ms), task.phase)
        with stopping.brief(self.mdp.analysis.brief):
            windows = engine.windows(tables, task.shifts, m)
        return Cells(engine.xp, tables, windows, *finished(tables, task.shifts, m))

    @cached_property
    def work(self) -> float:
        """How many products a layer takes on average where no window is cut by ``m``."""
        reach = self.tables.reach
        cells = np.maximum(reach.last.astype(np.int64) - reach.first + 1, 0).sum() / self.mdp.horizon
        return float(cells * len(self.mdp.prob) / (len(self.mdp.pair_start) - 1))

    @cached_property
    def rounding(self) -> float:
        """What floating point may add up to in one rollout (docs/theory/planner.md, 10)."""
        problem, lattice = self.problem, self.lattice
        H, outcomes = self.mdp.horizon, int(np.diff(self.mdp.outcome_start).max())
        floor = abs(lattice.floor) if problem.may_abandon else 0.0
        size = problem.largest + abs(problem.incumbent) + lattice.blur + floor
        return (H * (4 * outcomes + 16) + 32) * 2.0**-53 * size + H * lattice.error

    @property
    @abstractmethod
    def large(self) -> bool:
        """Whether layers are large enough to be split over threads."""

    # Sweeps.

    @abstractmethod
    def bounds_job(self, task: Task) -> Job[Floats]:
        """Upper bound, lower bound and slope in ``m`` at the start, [3, n]: for each ``m``, or each return there."""

    @abstractmethod
    def decisions_job(self, task: Task) -> Job[Acting]:
        """What is to be done in a task that has one slice."""

    def record(self) -> None:
        """Record decisions from now on, where that is possible and spares a policy large sweeps."""
        return

    def recorded(self, task: Task) -> Acting | None:
        """The decisions that were recorded of a task."""
        return None

    def acts_on(self, after: Curve, knots: Collection[float]) -> None:
        """Forget what was recorded of other slices under a curve than these."""
        return

    def record_no_more(self) -> None:
        """Keep what was recorded, and record nothing else."""
        return

    def sweep(self, tasks: Sequence[Task]) -> list[Floats]:
        """The bounds of some tasks."""
        return self.engine.run([self.bounds_job(task) for task in tasks])

    def decisions(self, tasks: Sequence[Task]) -> list[Acting]:
        """What is to be done in some tasks."""
        return self.engine().run([self.decisions_job(task) for task in tasks])

    def solve(self, after: Curve, gap: float, knots: Sequence[float]) -> Bounds:
        """Bounds on the value of a rollout at every knot, by the curve ``after`` it, whose bounds are ``gap`` apart."""
        upper, lower, slope = np.concatenate(self.sweep([Task(after, ms) for ms in self.batches(knots)]), axis=1)
        cost = self.problem.rollout_cost
        return Bounds(upper + self.carried(gap) - cost, lower - cost, slope)

    def table(self, least: int, most: int, after: Curve) -> Bounds:
        """Bounds on ``U_{K-1}`` at all lattice points ``least .. most`` from one sweep (docs/theory/planner.md, 4).

        With nothing to come but the best return itself, only ``G - M`` matters: a slice at one ``m`` that starts from
        many returns at once holds them all.
        """
        here, kappa = self.middle, self.lattice.kappa
        task = Task(after, (kappa * here,), shifts=(here - most, here - least))
        ((upper, lower, slope),) = self.sweep([task])
        off = kappa * (np.arange(least, most + 1) - here) - self.problem.rollout_cost
        return Bounds(upper + off, lower + off, slope)

    @property
    def middle(self) -> int:
        """The drift of a whole rollout, in lattice steps: an ``m`` that keeps the numbers of a table small."""
        return self.lattice.drift * self.mdp.horizon

    def table_fits(self, least: int, most: int) -> bool:
        """Whether one sweep may hold the last curve at lattice points ``least .. most``.

        Not where most of them would be empty, nor where no index reaches them from the middle of all returns.
        """
        reach = max(abs(self.middle - least), abs(self.middle - most))
        return self.tabulates and most - least <= TUNING.table_points and reach < kernels.WIDEST

    # What the two ways differ in.

    @abstractmethod
    def batches(self, knots: Sequence[float]) -> list[tuple[float, ...]]:
        """Knots that are swept together. How many must not depend on the number of workers, since results would, in
        their last digits."""

    @abstractmethod
    def carried(self, gap: float) -> float:
        """What the largest gap of the next curve adds to the upper bounds that a sweep finds."""

    @abstractmethod
    def share(self, tol: float, gap: float, i: int, k: int) -> float:
        """What the knots of curve ``i`` may cost of ``tol``, if the next curve has this ``gap``.

        The last curve's knots cost nothing, so it takes little; the others share what is left.
        """

    @abstractmethod
    def comes_to(self, step: int, state: Ints, g: Ints, so_far: Floats) -> Bools:
        """Whether a rollout comes to each state with such a return, of lattice point ``g``, or drifts there: [n]."""

    def comes_to_one(self, step: int, state: int, g: int, so_far: float) -> bool:
        """:meth:`comes_to` of one state."""
        return bool(self.comes_to(step, np.array([state]), np.array([g]), np.array([so_far]))[0])


class SliceJob(Job[Any]):
    """A job of one task.

    Args:
        method: the problem on its lattice.
        task: what is to be swept.
    """

    travels = False  # whether workers elsewhere may do it: those that keep much are not sent

    def __init__(self, method: SliceMethod, task: Task) -> None:
        self.method, self.task = method, task
        self.steps, self.states = method.mdp.horizon, method.columns_of(task)
        self.large, self.multiplies = method.large, method.multiplies

    @cached_property
    def cells(self) -> Cells:
        """The cells of the task."""
        return self.method.cells(self.task)

    @property
    def brief(self) -> bool:
        """Whether there are few states and few cells."""
        mdp = self.method.mdp
        if self.large or self.multiplies or self.steps * self.states > TUNING.brief_states:
            return False
        outcomes = len(mdp.prob) / (len(mdp.pair_start) - 1)
        return float(self.cells.windows.sizes.sum()) * outcomes * len(self.task.ms) <= TUNING.brief_work

    def cuts(self, step: int, parts: int) -> list[int]:
        """Where to cut the states of a layer."""
        return self.cells.cuts(step, parts)

    def portable(self) -> tuple[Any, ...] | None:
        """The bounds of the task elsewhere, on one thread or the worker's GPU."""
        method, there = self.method, EngineConfig(self.method.engine.config.device, threads=1)
        return (bounds_elsewhere, type(method), method.lattice.kappa, there, self.task) if self.travels else None

    def at_start(self, layout: kernels.Layout, idle: Sequence[Floats], columns: Sequence[Any]) -> list[Floats]:
        """Means over start states of some columns of cells: [n], an entry for each return at the start, or ``m``.

        ``columns`` are the engine's, [cells, B] each, and ``idle`` [B] is what idle states have of each. The last of
        them are slopes; from the others, what it costs to finish is taken off where a state is idle.
        """
        engine, mdp, g = self.method.engine(), self.method.mdp, self.task.returns
        states = mdp.start_state.astype(np.int64)
        start = engine.upload(self.cells.columns(0, states, np.zeros_like(states))[0])
        low, place, finishing = (
            engine.to_host(array[0, start]).tolist()
            for array in (layout.low, layout.place, self.cells.tables.finish_cost)
        )
        totals = [np.zeros((len(g), len(column))) for column in idle]
        for p, first, zero, cost in zip(mdp.reset_prob, low, place, finishing, strict=True):
            beaten = g >= first
            cells = engine.upload(zero + g[beaten])
            for i, (total, left, column) in enumerate(zip(totals, idle, columns, strict=True)):
                if beaten.any():
                    total[beaten] += p * engine.to_host(column[cells])
                total[~beaten] += p * (left - cost if i < len(idle) - 1 else left)
        return [total.ravel() for total in totals]


def choice_type(mdp: MDP) -> np.dtype[Any]:
    """The smallest kind of number that counts the rows of any state, and one more for "nothing is to be done"."""
    most = int(np.diff(mdp.pair_start).max())
    return np.dtype(np.uint8 if most <= 255 else np.uint16 if most <= 65_535 else np.int32)


def bounds_elsewhere(
    problem: DecisionProblem, kind: type[SliceMethod], kappa: float, config: EngineConfig, task: Task
) -> Floats:
    """On a worker: the bounds of one task, in half of the memory that there is."""
    (bounds,) = _method(problem, kind, kappa, config).sweep([task])
    return bounds


@lru_cache(CACHE_SIZE)
def _method(problem: DecisionProblem, kind: type[SliceMethod], kappa: float, config: EngineConfig) -> SliceMethod:
    return kind(SharedEngine(config, problem), kappa)
