"""Slices: one rollout swept backwards with the best return held at ``m`` (docs/theory/planner.md, 1).

On a whole lattice a :class:`WholeSlice` has values, off it a :class:`BoundedSlice` has bounds on both sides; and for
acting :class:`Decisions` are kept, or :class:`PlaneDecisions`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Floats, Ints
from maxatk.planning.lattice import Lattice
from maxatk.planning.rectangles import Rectangles
from maxatk.planning.windows import Task, Windows
from maxatk.problem.mdp import MDP


class RunLayers(Protocol):
    """How a sweep goes over the layers of a slice, from the last to the first: in one go, or with each split."""

    def __call__(self, every: Any, one: Any, windows: Windows, layout: kernels.Layout, *buffers: Any) -> None:
        """Fill the ``buffers`` by a kernel for every layer, or by one for some states of one layer."""
        ...


def in_one_go(every: Any, one: Any, windows: Windows, layout: kernels.Layout, *buffers: Any) -> None:
    """All layers by one call."""
    stopping.run(every, windows.tables, layout, *buffers)


def cells_of(lattice: Lattice, task: Task) -> Windows:
    """The cells of a task on a whole lattice, for sweeps that hold two layers at a time."""
    windows = Windows.of(lattice, task)
    return windows if lattice.dense is None else Rectangles.around(windows, lattice.dense)


def check_memory(needed: int, memory: float) -> None:
    """Refuse a slice that takes more bytes than there are."""
    if needed > memory:
        raise TooLargeError(f"a slice would take {needed / 2**20:.0f} MiB")


@dataclass(frozen=True)
class WholeSlice:
    """Slices at one ``m`` or several, where all rewards lie on the lattice: values, exact under the lower curve
    (docs/theory/planner.md, 6)."""

    task: Task
    tables: kernels.Tables
    layout: kernels.Layout
    final: Ints  # [ends] the returns of finished rollouts, whose cells come first
    idle_value: Floats  # [B] what an idle state is worth
    idle_slope: Floats  # [B]
    value: Floats  # [cells, B]
    slope: Floats  # [cells, B] in m

    @classmethod
    def sweep(
        cls, lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go, *, keep: bool = False
    ) -> "WholeSlice":
        """Sweep a task, keeping all layers or the first two."""
        windows = Windows.of(lattice, task) if keep else cells_of(lattice, task)
        layout, cells = windows.all_layers() if keep else windows.two_layers()
        check_memory(16 * len(task.ms) * cells + windows.size, memory)
        value, slope = np.zeros((cells, len(task.ms))), np.zeros((cells, len(task.ms)))
        idle_value, idle_slope = paid_when_idle(task)
        value[: len(windows.final)], slope[: len(windows.final)] = paid_at_the_end(lattice, task, windows.final)
        flat = (idle_value, idle_slope, value.ravel(), slope.ravel())
        sweeps = windows.sweeps
        run(*sweeps.whole, windows, layout, *sweeps.more, *flat)
        return cls(task, windows.tables, layout, windows.final, idle_value, idle_slope, value, slope)

    def cell(self, step: int, state: int, g: int) -> int | None:
        """Where the cell of ``g`` lies; None where the state is idle there."""
        return int(self.layout.place[step, state]) + g if g >= self.layout.low[step, state] else None

    def bounds(self, mdp: MDP) -> Floats:
        """Upper bound, lower bound and slope in ``m``, [3, n], by ``m`` or by return at the start."""
        idle, values = (self.idle_value, self.idle_slope), (self.value, self.slope)
        value, slope = _means(mdp, self.tables, self.layout, self.task.returns, idle, values)
        return np.array([value, value, slope])


def paid_when_idle(task: Task) -> tuple[Floats, Floats]:
    """What the next curve's lower bound is worth at each ``m``, and its slope there: [B] twice."""
    return np.array([float(task.after.lower(m)) for m in task.ms]), np.array([task.after.slope(m) for m in task.ms])


def paid_at_the_end(lattice: Lattice, task: Task, final: Ints) -> tuple[Floats, Floats]:
    """What rollouts are paid that end with the returns ``final`` [ends], and the slopes of that in ``m``: [ends, B]."""
    value, slope = paid_when_idle(task)
    idle = final[:, None] <= np.array([lattice.index(m, task.phase) for m in task.ms])
    paid = task.after.lower(lattice.kappa * final[:, None] + task.phase)
    return np.where(idle, value, paid), np.where(idle, slope, 0.0)


@dataclass(frozen=True)
class BoundedSlice:
    """A slice whose rewards lie anywhere: an upper bound and a plane below by cell (docs/theory/planner.md, 7)."""

    task: Task
    tables: kernels.Tables
    layout: kernels.Layout
    ends: kernels.Ends  # what the end of a rollout pays
    planes: kernels.Planes  # [cells] each

    @classmethod
    def sweep(
        cls, lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go, *, keep: bool = False
    ) -> "BoundedSlice":
        """Sweep a task, keeping all layers or the first two."""
        windows = Windows.of(lattice, task)
        layout, cells = windows.all_layers() if keep else windows.two_layers()
        kind = kind_of_choice(lattice.mdp)
        check_memory((32 + kind.itemsize) * cells + windows.size, memory)
        upper, lower, slope_g, slope_m = (np.empty(cells) for _ in range(4))
        planes = kernels.Planes(upper, lower, slope_g, slope_m, np.empty(cells, kind))
        ends = paid_off_the_lattice(lattice, task)
        run(kernels.bound_layers, kernels.bound_layer, windows, layout, ends, planes)
        return cls(task, windows.tables, layout, ends, planes)

    def bounds(self, mdp: MDP) -> Floats:
        """Upper bound, lower bound and slope in ``m``, [3, n], by return at the start."""
        ends, planes = self.ends, self.planes
        idle = (np.array([x]) for x in (ends.idle_upper, ends.idle_lower, ends.idle_slope))
        values = (column[:, None] for column in (planes.upper, planes.lower, planes.slope_m))
        return np.array(_means(mdp, self.tables, self.layout, self.task.returns, tuple(idle), tuple(values)))


def paid_off_the_lattice(lattice: Lattice, task: Task) -> kernels.Ends:
    """The next curve as kernels take it."""
    after, (m,) = task.after, task.ms
    return kernels.Ends(
        *(lattice.kappa, task.phase, m, float(after.upper(m)), float(after.lower(m)), after.slope(m)),
        *(after.line_end, after.line_height, after.line_slope, after.point, after.point_value),
    )


def _means(
    mdp: MDP,
    tables: kernels.Tables,
    layout: kernels.Layout,
    g: Ints,
    idle: tuple[Floats, ...],
    values: tuple[Floats, ...],
) -> list[Floats]:
    low, place, cheap = (array[0, mdp.start_state] for array in (layout.low, layout.place, tables.cheap))
    return at_start(mdp, low, place, g, idle, [column.__getitem__ for column in values], cheap)


def at_start(
    mdp: MDP,
    low: Any,
    place: Any,
    g: Ints,
    idle: tuple[Floats, ...],
    values: Sequence[Callable[[Ints], Floats]],
    cheap: Any,
) -> list[Floats]:
    """Means over start states of some columns of values: [n], an entry for each return ``g`` at the start, or ``m``.

    ``low``, ``place`` and ``cheap`` are those of the start states, ``values`` say what some cells hold [cells, B], and
    ``idle`` [B] what idle ones would. The last of the values are slopes; from the others, what it costs to finish is
    taken off where a state is idle.
    """
    totals = [np.zeros((len(g), len(column))) for column in idle]
    starts = zip(mdp.reset_prob, low.tolist(), place.tolist(), cheap.tolist(), strict=True)
    for p, first, zero, finishing in starts:
        beaten = g >= first
        for i, (total, left, column) in enumerate(zip(totals, idle, values, strict=True)):
            total[beaten] += p * column(zero + g[beaten])
            total[~beaten] += p * (left - finishing if i < len(idle) - 1 else left)
    return [total.ravel() for total in totals]


# What is kept for acting.


def kind_of_choice(mdp: MDP) -> np.dtype[Any]:
    """The smallest kind of number that counts the rows of any state, and one more for "nothing is to be done"."""
    most = int(np.diff(mdp.pair_start).max())
    return np.dtype(np.uint8 if most <= 255 else np.uint16 if most <= 65_535 else np.int32)


class Acting(Protocol):
    """What is kept of a slice: which row to take at true (M, G)."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row to take at each state, M and G [n], where ``g`` is the lattice point of G."""
        ...


@dataclass(frozen=True)
class Decisions:
    """The row of each cell, counted from its state's first: a byte while no state has more than 255."""

    lattice: Lattice
    layout: kernels.Layout
    choice: Any  # [cells]

    @classmethod
    def sweep(cls, lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go) -> "Decisions":
        """Decide a task's one slice on a whole lattice."""
        windows = cells_of(lattice, task)
        layout, cells = windows.two_layers()
        kept, decisions = windows.without_idle()
        kind = kind_of_choice(lattice.mdp)
        check_memory(8 * cells + kind.itemsize * decisions + 2 * windows.size, memory)
        value, choice = np.zeros(cells), np.empty(decisions, kind)
        ends, _ = paid_at_the_end(lattice, task, windows.final)
        value[: len(ends)] = ends[:, 0]
        idle = float(paid_when_idle(task)[0][0])
        sweeps = windows.sweeps
        run(*sweeps.decide, windows, layout, *sweeps.more, kept.place, idle, value, choice)
        return cls(lattice, kept, choice)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.choice.nbytes + 20 * self.layout.low.size

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row of each cell; where nothing can be improved, the cheapest, and -1 where to give up."""
        rows = self.lattice.problem.idle_rows(step, state)
        busy = g >= self.layout.low[step, state]
        choice = self.choice[self.layout.place[step, state[busy]] + g[busy]].astype(np.int64)
        taken = self.lattice.mdp.step(step).first_row[state[busy]] + choice
        if self.lattice.problem.may_abandon:
            taken = np.where(choice == np.iinfo(self.choice.dtype).max, -1, taken)
        rows[busy] = taken
        return rows


@dataclass(frozen=True)
class PlaneDecisions:
    """The planes of a slice off the lattice with the row of each: the highest at the true (M, G) is followed."""

    lattice: Lattice
    slice: BoundedSlice

    @classmethod
    def sweep(cls, lattice: Lattice, task: Task, memory: float, run: RunLayers = in_one_go) -> "PlaneDecisions":
        """Sweep a task, and let go of what only bounds need."""
        swept = BoundedSlice.sweep(lattice, task, memory, run, keep=True)
        planes = swept.planes._replace(upper=np.empty(0))
        return cls(lattice, replace(swept, planes=planes))

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(column.nbytes for column in self.slice.planes) + 20 * self.slice.layout.low.size

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row of the best plane; where that of an idle state is the best, the cheapest, and -1 where to give up."""
        _, choice = self.planes(step, state, best, so_far)
        first = self.lattice.mdp.step(step).first_row[state]
        return np.where(choice < 0, self.lattice.problem.idle_rows(step, state), first + choice)

    def planes(self, step: int, state: Ints, best: Floats, so_far: Floats) -> tuple[Floats, Ints]:
        """The value of the best plane at each true (s, M, G) [n], and its row counted from the state's first.

        The row is -1 where nothing is to be done (docs/theory/planner.md, 8).
        """
        tables, layout, ends, planes = self.slice.tables, self.slice.layout, self.slice.ends, self.slice.planes
        return kernels.best_planes(tables, layout, ends, planes, step, state, best - ends.m, so_far)
