"""What is to be swept, and the cells that it needs.

A :class:`Task` is plain data, about a kilobyte. Its :class:`Cells` say which returns matter at each step and state, and
where they lie in a buffer: arrays of the engine that sweeps them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Ints
from maxatk.engines.jobs import Windows
from maxatk.planning.certified.curves import Curve
from maxatk.planning.tuning import TUNING

FAR = 2**62  # beyond any return, in lattice steps


@dataclass(frozen=True)
class Task:
    """What is to be swept: about a kilobyte of plain data, whatever the problem's size."""

    after: Curve  # of the next rollout: the payoff at the end
    ms: tuple[float, ...]  # [B] best returns so far, no less than the floor of ``after``; off the lattice just one
    shifts: tuple[int, int] = (0, 0)  # the least and greatest return at the start, in lattice steps, if B is 1
    phase: float = 0.0  # a return that is added to every lattice point
    start: tuple[int, int] | None = None  # a step and a state to start from, in place of the problem's own start

    @property
    def returns(self) -> Ints:
        """The returns at the start, in lattice steps, falling."""
        low, high = self.shifts
        return np.arange(high, low - 1, -1)

    def check_shifts(self, kappa: float) -> None:
        """Refuse returns at the start that no index reaches."""
        farthest = max(map(abs, self.shifts))
        if farthest >= kernels.WIDEST:
            raise TooLargeError(f"a return {kappa * farthest:.6g} away from all that is planned for")


class Cells:
    """The returns that a slice needs at each step and state (docs/theory/planner.md, 5), and places for their cells.

    Finished rollouts have the first cells of every buffer, by return.

    Args:
        xp: NumPy's functions for the engine's arrays.
        tables: the problem on a lattice, on the engine.
        windows: the windows of a task.
        final: [ends] the returns of the cells of finished rollouts, in lattice steps.
        end_place: [H] where a return of 0 would lie among them, by step.
    """

    def __init__(
        self, xp: Any, tables: kernels.Tables, windows: Windows, final: Ints, end_place: Ints
    ) -> None:  # fmt: skip
        self.xp, self.tables, self.windows = xp, tables, windows
        self.final, self.end_place = final, end_place

    def columns(self, step: int, state: Ints, g: Ints) -> tuple[Ints, Ints]:
        """The columns of windows that states with returns [n] have at a step, and where in them these returns lie."""
        return state, g

    @property
    def size(self) -> int:
        """Bytes that the windows themselves take, with one layout of them."""
        return 28 * self.windows.low.size

    def two_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie if two layers are held at a time, and how many that takes."""
        widest = int(self.windows.sizes.max())
        starts = widest * (np.arange(len(self.windows.sizes)) % 2)
        place = self._places(self.windows.pad, self.windows.before, starts)
        return self._layout(place), len(self.final) + 2 * widest

    def all_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie if all layers are kept, and how many that takes."""
        sizes = self.windows.sizes
        place = self._places(self.windows.pad, self.windows.before, np.cumsum(sizes) - sizes)
        return self._layout(place), len(self.final) + int(sizes.sum())

    def without_idle(self) -> tuple[Any, int]:
        """Places [H + 1, S + 1] if all layers are kept without the idle cells before windows, and how many they are."""
        count = self.xp.maximum(self.windows.high.astype(np.int64) - self.windows.low + 1, 0)
        before = self.xp.cumsum(count, axis=1, dtype=np.int64)
        sizes = np.array(before[:, -1].tolist())
        place = self._places(self.windows.low, before - count, np.cumsum(sizes) - sizes)
        return place, len(self.final) + int(sizes.sum())

    def _layout(self, place: Any) -> kernels.Layout:
        return kernels.Layout(self.windows.low, self.windows.pad, self.windows.high, place)

    def _places(self, begin: Any, before: Any, starts: Ints) -> Any:
        """Where the cell with ``g = 0`` of each state lies, [H + 1, S + 1].

        ``begin`` [H, S] is the first return of each state, ``before`` counts the cells of earlier states of a layer,
        and ``starts`` [H] is where layers begin, behind the finished rollouts.
        """
        xp, drift = self.xp, self.tables.moves.drift
        H, S = begin.shape
        place = xp.empty((H + 1, S + 1), np.int64)
        cells = place[:H, :S]
        cells[:] = xp.asarray(len(self.final) + starts)[:, None]
        cells += before
        cells -= begin
        place[:, S] = xp.asarray(drift * np.arange(H + 1) + np.append(self.end_place[:1], self.end_place))
        place[H] = place[H, S]
        return place

    def cuts(self, h: int, parts: int, together: int = 1) -> list[int]:
        """Where to cut the states of a layer into parts of much the same work; into fewer where that is little.

        ``together`` states are not to be parted.
        """
        rows, windows = self.tables.rows, self.windows
        S = windows.low.shape[1]
        node = int(rows.step_layer[h]) * S
        outcomes: Ints = np.diff(rows.outcome_start[rows.pair_start[node : node + S + 1]])
        work: Ints = np.cumsum(outcomes * np.maximum(windows.high[h].astype(np.int64) - windows.low[h] + 1, 0) + 1)
        parts = max(min(parts, int(work[-1]) // TUNING.part_work), 1)
        inner = np.searchsorted(work, np.linspace(0, float(work[-1]), parts + 1)[1:-1])
        inner = np.minimum((inner + together // 2) // together * together, S)
        return [0, *(int(cut) for cut in inner), S]


def finished(tables: kernels.Tables, shifts: tuple[int, int], m: int) -> tuple[Ints, Ints]:
    """The returns of the cells of finished rollouts, and where a return of 0 would lie among them by step [H].

    Rollouts that end with different steps share cells, unless their returns lie so far apart that cells of their own
    are fewer.
    """
    reach, drift, H = tables.reach, tables.moves.drift, len(tables.rows.step_layer)
    place = np.zeros(H, np.int64)
    ends = np.flatnonzero(reach.end_first < FAR)  # the steps with which rollouts end
    added, beaten = drift * (ends + 1), m - drift * H + 1
    low: Ints = np.maximum(reach.end_first[ends] + shifts[0], beaten - reach.end_lead[ends]) + added
    high: Ints = reach.end_last[ends] + shifts[1] + added
    sizes = np.maximum(high - low + 1, 0)
    total = int(sizes.sum())
    if not total:
        return place[:0], place
    least, most = int(low.min()), int(high.max())
    if most - least + 1 <= total:
        place[:] = -least
        return np.arange(least, most + 1), place
    own: Ints = np.where(sizes > 0, np.cumsum(sizes) - sizes - low, 0)
    place[ends] = own
    return np.arange(total) - np.repeat(own, sizes), place
