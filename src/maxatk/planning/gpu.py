"""Sweeps on a GPU (extra ``gpu``): the :class:`maxatk.planning.sweeper.Sweeper` of one device.

The problem, windows and layers stay on the device; only the start cells come back, or decisions. What is computed is
what the cores compute, in the same order, so that bits are equal. The kernels are in ``kernels/sweep.cu``.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib import resources
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import MissingExtraError
from maxatk.base.types import Floats, Ints
from maxatk.planning.lattice import Lattice
from maxatk.planning.rectangles import Rectangles
from maxatk.planning.slices import (
    Acting,
    BoundedSlice,
    Decisions,
    PlaneDecisions,
    at_start,
    cells_of,
    check_memory,
    kind_of_choice,
    paid_at_the_end,
    paid_off_the_lattice,
    paid_when_idle,
)
from maxatk.planning.windows import Task, check_shifts, finished

THREADS = 128  # of a block
BLOCKS = 2  # for each state
FAR = 2**62  # beyond any return


class Device(Protocol):
    """Arrays on a device, and kernels that run on them."""

    xp: Any  # NumPy's functions for its arrays

    @property
    def memory(self) -> float:
        """Bytes that are free."""
        ...

    def launch(self, kernel: str, blocks: int, rows: int, *arguments: Any) -> None:
        """Run a kernel on a grid of blocks; numbers have NumPy's types."""
        ...

    def to_host(self, array: Any) -> Any:
        """The same as an array of NumPy's."""
        ...


class Cuda:
    """The first CUDA device, by CuPy."""

    def __init__(self) -> None:
        try:
            import cupy  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
        except ImportError:
            raise MissingExtraError("device='gpu' needs CuPy: pip install 'maxatk[gpu]'") from None
        self.xp: Any = cupy
        try:
            devices = int(self.xp.cuda.runtime.getDeviceCount())
        except Exception as error:  # the driver's own kinds of error
            raise MissingExtraError(f"device='gpu' finds no GPU: {str(error).splitlines()[0]}") from None
        if not devices:
            raise MissingExtraError("device='gpu' finds no GPU")
        source = (resources.files("maxatk.kernels") / "sweep.cu").read_text()
        self._module: Any = self.xp.RawModule(code=source, options=("--fmad=false",))

    @property
    def memory(self) -> float:
        """Bytes that are free, those that CuPy holds for later included."""
        pool: Any = self.xp.get_default_memory_pool()
        return float(self.xp.cuda.Device().mem_info[0]) + float(pool.free_bytes())

    def launch(self, kernel: str, blocks: int, rows: int, *arguments: Any) -> None:
        """Run a kernel."""
        self._module.get_function(kernel)((blocks, rows), (THREADS,), arguments)

    def to_host(self, array: Any) -> Any:
        """Wait for the device, and copy."""
        return self.xp.asnumpy(array)


class _Problem(NamedTuple):
    """A lattice's tables on the device."""

    pair_start: Any
    outcome_start: Any
    next_state: Any
    prob: Any
    reward: Any
    cost: Any
    jump: Any
    part: Any
    most_left: Any


class _Reach(NamedTuple):
    first: Any
    last: Any
    lead: Any
    ends: tuple[Ints, Ints, Ints]  # on the host: first, last, lead


class _Frame(NamedTuple):
    """The cells of a slice on the device."""

    low: Any
    pad: Any
    high: Any
    place: Any  # [H + 1, S + 1]
    final: Ints
    cells: int
    end_place: Ints


class Gpu:
    """Sweeps slices on one device, one after the other.

    Args:
        device: the device.
        memory: bytes that a slice may take on it; by default nine tenths of what is free.
    """

    def __init__(self, device: Device, memory: float | None = None) -> None:
        self._device = device
        self._memory = 0.9 * device.memory if memory is None else memory
        self._lattice: Lattice | None = None

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """As in :class:`maxatk.planning.sweeper.Sweeper`."""
        self._take(lattice)
        sweep = self._dense_bounds if lattice.dense else self._whole_bounds if lattice.whole else self._real_bounds
        return [sweep(task) for task in tasks]

    def decisions(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Acting]:
        """As in :class:`maxatk.planning.sweeper.Sweeper`."""
        self._take(lattice)
        return [self._decide(task) if lattice.whole else self._keep_planes(task) for task in tasks]

    # The problem.

    def _take(self, lattice: Lattice) -> None:
        """Have the lattice's tables on the device; those of the one before are let go."""
        if self._lattice is lattice:
            return
        self._lattice = lattice
        for name in ("_problem", "_from_start", "_cheap", "_dense"):
            self.__dict__.pop(name, None)

    @property
    def _on(self) -> Lattice:
        assert self._lattice is not None
        return self._lattice

    @cached_property
    def _problem(self) -> _Problem:
        mdp, moves = self._on.mdp, self._on.moves
        needed = sum(column.nbytes for column in (*moves, mdp.row_prob, mdp.reward, mdp.next_state, mdp.action_cost))
        check_memory(needed, self._memory)
        tables = (mdp.pair_start, mdp.outcome_start, mdp.next_state, mdp.row_prob, mdp.reward, mdp.action_cost)
        return _Problem(*(self._device.xp.asarray(column) for column in (*tables, *moves)))

    @cached_property
    def _cheap(self) -> Any:
        """The least cost of finishing from each step and state on the device; one row of zeros where that is 0."""
        cheap = self._on.problem.finish_cost
        return self._device.xp.asarray(np.zeros((1, self._on.mdp.n_states)) if cheap is None else cheap)

    def _costs(self, h: int) -> tuple[Any, ...]:
        """What kernels take of costs at a step: of rows, of finishing, and whether rollouts may be given up."""
        return self._problem.cost, *self._finishing(h)

    def _finishing(self, h: int) -> tuple[Any, ...]:
        return self._cheap[min(h, len(self._cheap) - 1)], np.int32(self._on.problem.may_abandon)

    @cached_property
    def _from_start(self) -> _Reach:
        return self._reach(0, self._on.mdp.start_state)

    def _reach(self, step: int, states: Any) -> _Reach:
        """:func:`maxatk.kernels.reachable` on the device."""
        xp, mdp, problem = self._device.xp, self._on.mdp, self._problem
        H, S = mdp.horizon, mdp.n_states
        first = xp.full((H, S), kernels.NEVER, np.int32)
        last = xp.full((H, S), -kernels.NEVER, np.int32)
        lead = problem.most_left[:H].copy()
        ends = xp.full((3, H), -FAR, np.int64)
        ends[0] = FAR
        first[step, xp.asarray(states)] = 0
        last[step, xp.asarray(states)] = 0
        for h in range(step, H):
            stopping.check()
            there = min(h + 1, H - 1)
            self._device.launch(
                *("reach_layer", -(-S // THREADS), 1, np.int32(S), np.int32(h == H - 1), self._rows(h)),
                *(problem.outcome_start, problem.next_state, problem.jump, problem.part, problem.most_left[h]),
                *(first[h], last[h], first[there], last[there], lead[there], ends[0, h:], ends[1, h:], ends[2, h:]),
            )
        low, high, left = self._device.to_host(ends)
        return _Reach(first, last, lead, (low, high, left))

    def _rows(self, h: int) -> Any:
        """Where the rows of each state start at a step."""
        return self._problem.pair_start[int(self._on.mdp.step_layer[h]) * self._on.mdp.n_states :]

    # Windows.

    def _frame(self, task: Task, bytes_a_cell: int, *, keep: bool = False) -> _Frame:
        """The cells of a task: two layers at a time, or all of them."""
        lattice, xp = self._on, self._device.xp
        check_shifts(lattice, task)
        H, S = lattice.mdp.horizon, lattice.mdp.n_states
        reach = self._from_start if task.start is None else self._reach(task.start[0], np.array([task.start[1]]))
        beaten = lattice.index(min(task.ms), task.phase) - lattice.drift * H + 1
        check_memory(36 * H * S, self._memory)
        low, pad, high, count = self._windows(reach, task.shifts, beaten, padded=True)
        before = xp.cumsum(count, axis=1, dtype=np.int64)
        sizes = self._device.to_host(before[:, -1])
        drift = lattice.drift * np.arange(1, H + 1)
        some = reach.ends[0] < FAR
        least = np.maximum(reach.ends[0] + task.shifts[0], beaten - reach.ends[2]) + drift
        ends = np.where(some[:, None], np.stack([least, reach.ends[1] + task.shifts[1] + drift], axis=1), [FAR, -FAR])
        final, end_place = finished(ends)
        if keep:
            starts, cells = np.cumsum(sizes) - sizes, int(sizes.sum())
        else:
            starts, cells = int(sizes.max()) * (np.arange(H) % 2), 2 * int(sizes.max())
        cells += len(final)
        check_memory(bytes_a_cell * cells + 36 * H * S, self._memory)
        place = self._places(pad, before - count, len(final) + starts, end_place)
        return _Frame(low, pad, high, place, final, cells, end_place)

    def _windows(self, reach: _Reach, shifts: tuple[int, int], beaten: int, *, padded: bool) -> tuple[Any, ...]:
        xp, n = self._device.xp, reach.first.size
        low, pad, high, count = (xp.empty(reach.first.shape, np.int32) for _ in range(4))
        self._device.launch(
            *("window_cells", -(-n // THREADS), 1, np.int64(n), reach.first, reach.last, self._problem.most_left),
            *(reach.lead, np.int32(shifts[0]), np.int32(shifts[1]), np.int64(beaten), np.int32(padded)),
            *(low, pad, high, count),
        )
        return low, pad, high, count

    def _places(self, begin: Any, before: Any, starts: Ints, end_place: Ints) -> Any:
        """:func:`maxatk.kernels.places` on the device; ``before`` counts the cells of earlier states of a layer."""
        xp, drift = self._device.xp, self._on.drift
        H, S = begin.shape
        place = xp.empty((H + 1, S + 1), np.int64)
        place[:H, :S] = xp.asarray(starts)[:, None] + before - begin
        place[:H, S] = drift * xp.arange(H)
        place[1:H, S] += xp.asarray(end_place[: H - 1])
        place[0, S] += int(end_place[0])
        place[H] = drift * H + int(end_place[H - 1])
        return place

    # Sweeps.

    def _layers(self) -> range:
        return range(self._on.mdp.horizon - 1, -1, -1)

    def _whole_bounds(self, task: Task) -> Floats:
        problem = self._problem

        def rows(h: int) -> tuple[Any, ...]:
            return self._rows(h), problem.outcome_start, problem.next_state, problem.prob, problem.cost, problem.jump

        return self._sweep_whole(task, self._frame(task, 16 * len(task.ms)), rows, lambda h, columns: None)

    def _dense_bounds(self, task: Task) -> Floats:
        """By products, as :class:`maxatk.planning.rectangles.Rectangles` are swept on the cores."""
        xp, S, windows = self._device.xp, self._on.mdp.n_states, cells_of(self._on, task)
        assert isinstance(windows, Rectangles)
        layout, cells = windows.two_layers()
        check_memory(16 * len(task.ms) * cells + windows.rows.matrix.nbytes, self._memory)
        low, pad, high, place = (xp.asarray(array) for array in layout)
        frame = _Frame(low, pad, high, place, windows.final, cells, windows.end_place)
        matrix, tables = self._dense
        node = windows.rows.tables["step_layer"] * S
        pair_start = windows.rows.tables["pair_start"]

        def rows(h: int) -> tuple[Any, ...]:
            others = (tables[name] for name in ("outcome_start", "next_state", "prob", "cost", "jump"))
            return tables["pair_start"][int(node[h]) :], *others

        def multiply(h: int, columns: tuple[Any, ...]) -> None:
            width, start = int(windows.width[h + 1]), int(windows.start[h + 1])
            first, end = (int(pair_start[at]) for at in (node[h], node[h] + S))
            for column in columns if width else ():
                there = column[start : start + S * width].reshape(S, -1)
                here = column[windows.products : windows.products + (end - first) * width]
                xp.matmul(matrix[first:end], there, out=here.reshape(end - first, -1))

        return self._sweep_whole(task, frame, rows, multiply)

    def _sweep_whole(
        self,
        task: Task,
        frame: _Frame,
        rows: Callable[[int], tuple[Any, ...]],
        prepare: Callable[[int, tuple[Any, ...]], None],
    ) -> Floats:
        """Bounds at the start: the ``rows`` of each step are backed up, once the columns are prepared for it."""
        xp = self._device.xp
        value, slope = (xp.zeros((frame.cells, len(task.ms))) for _ in range(2))
        paid = paid_at_the_end(self._on, task, frame.final)
        value[: len(frame.final)], slope[: len(frame.final)] = (xp.asarray(column) for column in paid)
        idle = paid_when_idle(task)
        on_device = [xp.asarray(column) for column in idle]
        for h in self._layers():
            stopping.check()
            prepare(h, (value, slope))
            pair_start, outcome_start, next_state, prob, cost, jump = rows(h)
            self._device.launch(
                *("whole_layer", self._on.mdp.n_states, BLOCKS, np.int32(len(task.ms)), pair_start, outcome_start),
                *(next_state, prob, cost, *self._finishing(h), jump),
                *(frame.low[h], frame.pad[h], frame.high[h], frame.place[h], frame.place[h + 1], *on_device),
                *(value, slope),
            )
        value, slope = self._start(frame, task, idle, (value, slope))
        return np.array([value, value, slope])

    @cached_property
    def _dense(self) -> tuple[Any, dict[str, Any]]:
        """The matrix of dense rows and their tables on the device."""
        assert self._on.dense is not None
        matrix, tables = self._on.dense
        return self._device.xp.asarray(matrix), {name: self._device.xp.asarray(x) for name, x in tables.items()}

    def _real_bounds(self, task: Task) -> Floats:
        ends, frame = paid_off_the_lattice(self._on, task), self._frame(task, 32)
        planes = self._sweep_planes(frame, ends, keep=False)
        idle = tuple(np.array([x]) for x in (ends.idle_upper, ends.idle_lower, ends.idle_slope))
        columns = tuple(column[:, None] for column in (planes.upper, planes.lower, planes.slope_m))
        return np.array(self._start(frame, task, idle, columns))

    def _sweep_planes(self, frame: _Frame, ends: kernels.Ends, *, keep: bool) -> kernels.Planes:
        mdp, problem, xp = self._on.mdp, self._problem, self._device.xp
        kind = kind_of_choice(mdp)
        upper, lower, slope_g, slope_m = (xp.empty(frame.cells) for _ in range(4))
        planes = kernels.Planes(upper, lower, slope_g, slope_m, xp.empty(frame.cells if keep else 1, kind))
        lines = [xp.asarray(np.append(column, 0.0)) for column in (ends.line_end, ends.line_height, ends.line_slope)]
        points = [xp.asarray(column) for column in (ends.point, ends.point_value)]
        for h in self._layers():
            stopping.check()
            self._device.launch(
                *(f"bound_layer_{kind.itemsize}", mdp.n_states, BLOCKS, np.int32(mdp.n_states)),
                *(np.int32(h == mdp.horizon - 1), self._rows(h), problem.outcome_start, problem.next_state),
                *(problem.prob, problem.reward, *self._costs(h), problem.jump, problem.part),
                *(frame.low[h], frame.pad[h], frame.high[h]),
                *(frame.place[h], frame.place[h + 1], np.float64(ends.kappa), np.float64(ends.phase)),
                *(np.int64(self._on.drift * h), np.float64(ends.m)),
                *(np.float64(ends.idle_upper), np.float64(ends.idle_lower), np.float64(ends.idle_slope)),
                *(np.int32(len(ends.line_slope)), *lines, np.int32(len(ends.point)), *points, *planes, np.int32(keep)),
            )
        return planes

    def _start(self, frame: _Frame, task: Task, idle: tuple[Floats, ...], columns: tuple[Any, ...]) -> list[Floats]:
        """What the start cells hold of each column [cells, B]."""
        mdp, start = self._on.mdp, self._device.xp.asarray(self._on.mdp.start_state)
        low, place, cheap = (self._device.to_host(array[0, start]) for array in (frame.low, frame.place, self._cheap))
        returns = task.returns

        def value(column: Any, cells: Ints) -> Floats:
            return self._device.to_host(column[self._device.xp.asarray(cells)])

        values = [partial(value, column) for column in columns]
        return at_start(mdp, low, place, returns, idle, values, cheap)

    # What is kept for acting.

    def _decide(self, task: Task) -> Decisions:
        mdp, problem, xp = self._on.mdp, self._problem, self._device.xp
        kind = kind_of_choice(mdp)
        frame = self._frame(task, 8)
        count = xp.maximum(frame.high - frame.low + 1, 0)
        before = xp.cumsum(count, axis=1, dtype=np.int64)
        sizes = self._device.to_host(before[:, -1])
        cells = len(frame.final) + int(sizes.sum())
        check_memory(8 * frame.cells + kind.itemsize * cells + 44 * count.size, self._memory)
        kept = self._places(frame.low, before - count, len(frame.final) + np.cumsum(sizes) - sizes, frame.end_place)
        value, choice = xp.empty(frame.cells), xp.empty(cells, kind)
        value[: len(frame.final)] = xp.asarray(paid_at_the_end(self._on, task, frame.final)[0][:, 0])
        idle = np.float64(paid_when_idle(task)[0][0])
        for h in self._layers():
            stopping.check()
            self._device.launch(
                *(f"decide_layer_{kind.itemsize}", mdp.n_states, BLOCKS, self._rows(h), problem.outcome_start),
                *(problem.next_state, problem.prob, *self._costs(h), problem.jump),
                *(
                    frame.low[h],
                    frame.pad[h],
                    frame.high[h],
                    frame.place[h],
                    frame.place[h + 1],
                    kept[h],
                    idle,
                    value,
                    choice,
                ),
            )
        return Decisions(self._on, self._layout(frame, kept), self._device.to_host(choice))

    def _keep_planes(self, task: Task) -> PlaneDecisions:
        lattice, kind = self._on, kind_of_choice(self._on.mdp)
        ends, frame = paid_off_the_lattice(lattice, task), self._frame(task, 32 + kind.itemsize, keep=True)
        planes = self._sweep_planes(frame, ends, keep=True)
        kept = [self._device.to_host(column) for column in planes[1:]]
        layout = self._layout(frame, frame.place)
        swept = BoundedSlice(task, lattice.tables, layout, ends, kernels.Planes(np.empty(0), *kept))
        return PlaneDecisions(lattice, swept)

    def _layout(self, frame: _Frame, place: Any) -> kernels.Layout:
        low, pad, high, place = (self._device.to_host(array) for array in (frame.low, frame.pad, frame.high, place))
        return kernels.Layout(low, pad, high, place)
