"""A CUDA device (extra ``gpu``): sweeps on one device, job after job.

The problem, windows and layers stay on the device; only the start cells come back, or decisions. What is computed is
what the cores compute, in the same order, so that bits are equal. The kernels are in ``kernels/sweep.cu``.
"""

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, Protocol, TypeVar

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import MissingExtraError
from maxatk.engines.jobs import Job, Kernel, Runs, Windows

T = TypeVar("T")

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


class Gpu:
    """Sweeps on one device. All arrays of a problem are the device's, but for ``step_layer``.

    Args:
        device: the device.
        memory: bytes that a job may take on it; by default nine tenths of what is free.
    """

    on_host = False

    def __init__(self, device: Device, memory: float | None = None) -> None:
        self._device, self.xp = device, device.xp
        self.memory = 0.9 * device.memory if memory is None else float(memory)

    def upload(self, array: Any) -> Any:
        """The array on the device; an empty one, which has no address there, as one zero."""
        return self.xp.asarray(array if array.size else np.zeros(1, array.dtype))

    def to_host(self, array: Any) -> Any:
        """The array as one of NumPy's."""
        return self._device.to_host(array)

    def run(self, jobs: Sequence[Job[T]]) -> list[T]:
        """One after the other."""
        return [job.alone(self.memory) for job in jobs]

    # Cells.

    def reachable(self, rows: kernels.RowTable, moves: kernels.Moves, step: int, states: Any) -> kernels.Reach:
        """:func:`maxatk.kernels.reachable` on the device."""
        xp = self.xp
        H, S = len(rows.step_layer), moves.most_left.shape[1]
        first = xp.full((H, S), kernels.NEVER, np.int32)
        last = xp.full((H, S), -kernels.NEVER, np.int32)
        lead = moves.most_left[:H].copy()
        ends = xp.full((3, H), -FAR, np.int64)
        ends[0] = FAR
        first[step, xp.asarray(states)] = 0
        last[step, xp.asarray(states)] = 0
        for h in range(step, H):
            stopping.check()
            there = min(h + 1, H - 1)
            self._device.launch(
                *("reach_layer", -(-S // THREADS), 1, np.int32(S), np.int32(h == H - 1), _of_step(rows, h, S)),
                *(rows.outcome_start, rows.next_state, moves.jump, moves.part, moves.most_left[h]),
                *(first[h], last[h], first[there], last[there], lead[there], ends[0, h:], ends[1, h:], ends[2, h:]),
            )
        return kernels.Reach(first, last, lead, *self.to_host(ends))

    def windows(self, tables: kernels.Tables, shifts: tuple[int, int], m: int) -> Windows:
        """:func:`maxatk.kernels.windows` on the device."""
        reach, moves = tables.reach, tables.moves
        beaten = m - moves.drift * len(tables.rows.step_layer) + 1
        low, pad, high, count = (self.xp.empty(reach.first.shape, np.int32) for _ in range(4))
        self._device.launch(
            *("window_cells", -(-reach.first.size // THREADS), 1, np.int64(reach.first.size), reach.first, reach.last),
            *(moves.most_left, reach.lead, np.int32(shifts[0]), np.int32(shifts[1]), np.int64(beaten), np.int32(1)),
            *(low, pad, high, count),
        )
        before = self.xp.cumsum(count, axis=1, dtype=np.int64)
        sizes = self.to_host(before[:, -1])
        return Windows(low, pad, high, before - count, sizes)

    # Sweeps.

    def sweep(self, kernel: Kernel, *arguments: Any) -> None:
        """One of the sweeps, on the device."""
        getattr(self, f"_{kernel}")(*arguments)

    def _sweep_values(
        self, where: kernels.Part, tables: kernels.Tables, layout: kernels.Layout, values: kernels.Values
    ) -> None:
        """:func:`maxatk.kernels.sweep_values` on the device; choices, which are bytes there, also of idle cells."""
        rows, S = tables.rows, layout.pad.shape[1]
        records = values.choice is not None
        choice = values.choice if records else values.value  # which is not touched then
        for h in _layers(where):
            self._device.launch(
                *("whole_layer", S, BLOCKS, np.int32(len(values.idle_value)), _of_step(rows, h, S), rows.outcome_start),
                *(rows.next_state, rows.prob, rows.action_cost, *_finishing(tables, h), tables.moves.jump),
                *(*_layer(layout, h), *values[:4], choice, np.int32(records)),
            )

    def runs(self, where: kernels.Part, layout: kernels.Layout, choice: Any, slices: int, kind: Any) -> list[Runs]:
        """The runs of equal choices of a layer. Idle cells before a window are a run of their own."""
        xp, h, S = self.xp, where.first_step, layout.pad.shape[1]
        there = np.int32(S), np.int32(slices), layout.pad[h], layout.high[h], layout.place[h], choice
        blocks = -(-S * slices // THREADS)
        count = xp.empty((slices, S), np.int32)
        self._device.launch("count_runs", blocks, 1, *there, count)
        end = xp.cumsum(count, dtype=np.int64)
        ends = self.to_host(end[S - 1 :: S])
        first, row = xp.empty(int(ends[-1]), np.int32), xp.empty(int(ends[-1]), np.uint8)
        self._device.launch("find_runs", blocks, 1, *there, count, end, first, row)
        parts = (xp.split(array, ends[:-1].tolist()) for array in (first.astype(kind), row))
        return [Runs(*part) for part in zip(*parts, count, strict=True)]

    def _sweep_decisions(
        self, where: kernels.Part, tables: kernels.Tables, layout: kernels.Layout, choices: kernels.Choices
    ) -> None:
        """:func:`maxatk.kernels.sweep_decisions` on the device."""
        rows, S, choice = tables.rows, layout.pad.shape[1], choices.choice
        for h in _layers(where):
            self._device.launch(
                *(f"decide_layer_{choice.itemsize}", S, BLOCKS, _of_step(rows, h, S), rows.outcome_start),
                *(rows.next_state, rows.prob, rows.action_cost, *_finishing(tables, h), tables.moves.jump),
                *(*_layer(layout, h), choices.place[h], np.float64(choices.idle_value), choices.value, choice),
            )

    def _sweep_planes(
        self,
        where: kernels.Part,
        tables: kernels.Tables,
        layout: kernels.Layout,
        ends: kernels.Ends,
        planes: kernels.Planes,
    ) -> None:
        """:func:`maxatk.kernels.sweep_planes` on the device; choices are kept where there is room for them."""
        rows, moves, (H, S) = tables.rows, tables.moves, layout.pad.shape
        keep = planes.choice.size == planes.lower.size
        lines, points = ends.curve[:3], ends.curve[3:]
        for h in _layers(where):
            self._device.launch(
                *(f"bound_layer_{planes.choice.itemsize}", S, BLOCKS, np.int32(S), np.int32(h == H - 1)),
                *(_of_step(rows, h, S), rows.outcome_start, rows.next_state, rows.prob, rows.reward),
                *(rows.action_cost, *_finishing(tables, h), moves.jump, moves.part, *_layer(layout, h)),
                *(np.float64(ends.kappa), np.float64(ends.phase), np.int64(moves.drift * h), np.float64(ends.m)),
                *(np.float64(ends.idle_upper), np.float64(ends.idle_lower), np.float64(ends.idle_slope)),
                *(np.int32(len(ends.curve.line_slope)), *lines, np.int32(len(ends.curve.point)), *points),
                *(*planes, np.int32(keep)),
            )

    def _multiply_values(
        self, where: kernels.Part, dense: kernels.Dense, layout: kernels.Layout, values: kernels.Values
    ) -> None:
        """:func:`maxatk.kernels.multiply_values` on the device."""
        for h in _layers(where):
            for column in (values.value, values.slope):
                self._multiply(dense, h, layout.pad.shape[1], len(values.idle_value), column)
            self._sweep_values(where._replace(first_step=h, end_step=h + 1), dense.tables, layout, values)

    def _multiply_decisions(
        self, where: kernels.Part, dense: kernels.Dense, layout: kernels.Layout, choices: kernels.Choices
    ) -> None:
        """:func:`maxatk.kernels.multiply_decisions` on the device."""
        for h in _layers(where):
            self._multiply(dense, h, layout.pad.shape[1], 1, choices.value)
            self._sweep_decisions(where._replace(first_step=h, end_step=h + 1), dense.tables, layout, choices)

    def _multiply(self, dense: kernels.Dense, h: int, S: int, slices: int, column: Any) -> None:
        """The products of all rows at step ``h``, for so many slices side by side in a column of cells."""
        across, start = int(dense.width[h + 1]) * slices, int(dense.start[h + 1]) * slices
        if not across:
            return
        first, end = (int(x) for x in dense.row_range[h])
        there = column[start : start + S * across].reshape(S, -1)
        here = column[dense.products * slices : dense.products * slices + (end - first) * across]
        self.xp.matmul(dense.matrix[first:end], there, out=here.reshape(end - first, -1))


def _layers(where: kernels.Part) -> Iterator[int]:
    """The layers to sweep, from the last to the first, while the scope allows it."""
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        stopping.check()
        yield h


def _of_step(rows: kernels.RowTable, h: int, S: int) -> Any:
    """Where the rows of each state start at a step."""
    return rows.pair_start[int(rows.step_layer[h]) * S :]


def _finishing(tables: kernels.Tables, h: int) -> tuple[Any, ...]:
    """What kernels take of costs ahead at a step: those of finishing, and whether rollouts may be given up."""
    return tables.finish_cost[min(h, len(tables.finish_cost) - 1)], np.int32(tables.abandon)


def _layer(layout: kernels.Layout, h: int) -> tuple[Any, ...]:
    """The cells of a layer, and where those of the next lie."""
    return layout.low[h], layout.pad[h], layout.high[h], layout.place[h], layout.place[h + 1]
