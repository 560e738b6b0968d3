"""What is to be swept, and the cells that it needs.

A :class:`Task` is plain data, about a kilobyte. Its :class:`Windows` say which returns matter at each step and state,
and where their cells lie in a buffer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Ints, Ints32
from maxatk.planning.curves import Curve
from maxatk.planning.lattice import Lattice
from maxatk.planning.tuning import TUNING

Kernel = Callable[..., None]


@dataclass(frozen=True)
class Task:
    """What is to be swept: about a kilobyte of plain data, whatever the problem's size."""

    after: Curve  # of the next rollout, paid at the end
    ms: tuple[float, ...]  # [B] best returns so far, no less than the floor of ``after``; off a whole lattice just one
    shifts: tuple[int, int] = (0, 0)  # the least and greatest return at the start, in lattice steps, if B is 1
    phase: float = 0.0  # a return that is added to every lattice point
    start: tuple[int, int] | None = None  # a step and a state to start from, in place of the problem's own start

    @property
    def returns(self) -> Ints:
        """The returns at the start, in lattice steps, falling."""
        low, high = self.shifts
        return np.arange(high, low - 1, -1)


class Sweeps(NamedTuple):
    """Kernels: for every layer, and for some states of one."""

    whole: tuple[Kernel, Kernel]  # values and slopes
    decide: tuple[Kernel, Kernel]  # values and what is done for them
    more: tuple[Any, ...]  # what they take before their buffers


@dataclass(frozen=True)
class Windows:
    """The returns that a slice needs at each step and state (docs/theory/planner.md, 5)."""

    tables: kernels.Tables
    low: Ints32  # [H, S] where the window starts
    pad: Ints32  # [H, S] where the idle cells before it start
    high: Ints32  # [H, S] where it ends, inclusively
    sizes: Ints  # [H] cells of each layer, idle ones included
    final: Ints  # [ends] the returns of the cells of finished rollouts
    end_place: Ints  # [H] where a return of 0 would lie among them, for rollouts that end with each step

    @classmethod
    def of(cls, lattice: Lattice, task: Task) -> "Windows":
        """The windows of a task, the least of its ``m`` deciding."""
        check_shifts(lattice, task)
        tables = lattice.tables if task.start is None else lattice.tables_from(*task.start)
        m = lattice.index(min(task.ms), task.phase)
        low, pad, high, sizes, ends = stopping.run(kernels.windows, tables, *task.shifts, m)
        return Windows(tables, low, pad, high, sizes, *finished(ends))

    def two_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie if two layers are held at a time, and how many that takes."""
        widest = int(self.sizes.max())
        starts = len(self.final) + widest * (np.arange(len(self.sizes)) % 2)
        return self._layout(self.pad, starts), len(self.final) + 2 * widest

    def all_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie if all layers are kept, and how many that takes."""
        return self._layout(self.pad, self._starts(self.sizes)), len(self.final) + int(self.sizes.sum())

    def without_idle(self) -> tuple[kernels.Layout, int]:
        """The same without the idle cells before windows."""
        sizes = np.maximum(self.high.astype(np.int64) - self.low + 1, 0).sum(axis=1)
        return self._layout(self.low, self._starts(sizes)), len(self.final) + int(sizes.sum())

    def _starts(self, sizes: Ints) -> Ints:
        return len(self.final) + np.cumsum(sizes) - sizes

    def _layout(self, pad: Ints32, starts: Ints) -> kernels.Layout:
        place = kernels.places(pad, self.high, starts, self.end_place, self.tables.drift)
        return kernels.Layout(self.low, self.pad, self.high, place)

    def shares(self, h: int, parts: int) -> list[int]:
        """Where to cut the states of a layer into parts of much the same work; into fewer where that is little."""
        tables = self.tables
        node = int(tables.step_layer[h]) * self.low.shape[1]
        outcomes: Ints = np.diff(tables.outcome_start[tables.pair_start[node : node + self.low.shape[1] + 1]])
        work: Ints = np.cumsum(outcomes * np.maximum(self.high[h].astype(np.int64) - self.low[h] + 1, 0) + 1)
        parts = max(min(parts, int(work[-1]) // TUNING.part_work), 1)
        inner = np.searchsorted(work, np.linspace(0, float(work[-1]), parts + 1)[1:-1])
        inner = np.minimum((inner + self.together // 2) // self.together * self.together, len(work))
        return [0, *(int(cut) for cut in inner), len(work)]

    @cached_property
    def together(self) -> int:
        """States that are not to be parted where a layer is shared out."""
        return 1

    @property
    def sweeps(self) -> Sweeps:
        """The kernels for cells as :meth:`two_layers` lays them out."""
        whole = kernels.whole_layers, kernels.whole_layer
        return Sweeps(whole, (kernels.decide_layers, kernels.decide_layer), ())

    @property
    def size(self) -> int:
        """Bytes that the windows themselves take, with one layout of them."""
        return 20 * self.low.size


def finished(ends: Ints) -> tuple[Ints, Ints]:
    """The returns of the cells of finished rollouts, and where a return of 0 would lie among them by step [H].

    ``ends`` [H, 2] are the returns of rollouts that end with each step. They share cells, unless they lie so far apart
    that cells of their own are fewer.
    """
    sizes = np.maximum(ends[:, 1] - ends[:, 0] + 1, 0)
    if not sizes.any():
        return np.zeros(0, np.int64), np.zeros(len(ends), np.int64)
    low, high = int(ends[:, 0].min()), int(ends[:, 1].max())
    if high - low + 1 <= sizes.sum():
        return np.arange(low, high + 1), np.full(len(ends), -low)
    place: Ints = np.where(sizes > 0, np.cumsum(sizes) - sizes - ends[:, 0], 0)
    final: Ints = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(place, sizes)
    return final, place


def check_shifts(lattice: Lattice, task: Task) -> None:
    """Refuse returns at the start that no index reaches."""
    farthest = max(map(abs, task.shifts))
    if farthest >= kernels.WIDEST:
        raise TooLargeError(f"a return {lattice.kappa * farthest:.6g} away from all that is planned for")
