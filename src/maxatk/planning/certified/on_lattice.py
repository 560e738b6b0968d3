"""Slices where all rewards are multiples of the lattice's step: values, exact under the lower curve (planner.md, 6).

Slices at several ``m`` are swept together. Dense rows are swept by matrix products, which is a choice of kernel.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.types import Bools, Floats, Ints
from maxatk.engines.jobs import Kernel, Runs, check_memory
from maxatk.planning.certified.cells import Cells, Task
from maxatk.planning.certified.curves import Curve
from maxatk.planning.certified.lattice import WholeLattice
from maxatk.planning.certified.products import DenseRows, Rectangles, dense_rows
from maxatk.planning.certified.recorded import RecordedDecisions, Recorder, Recording
from maxatk.planning.certified.slices import SliceJob, SliceMethod, choice_type
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem

TOGETHER = 4  # knots that one sweep takes
SHARE_RECORDED, SHARE_ON_DEVICE = 0.5, 0.25  # of the memory that jobs may take, for what is recorded


class Sums:
    """Rows whose outcomes are added up one by one."""

    multiplies = False

    @property
    def large_layer(self) -> float:
        """Products from which on a layer is split over threads."""
        return TUNING.large_layer


class Summed:
    """The cells of a slice, each state with its own window, swept by sums.

    Args:
        cells: the cells that the slice needs.
    """

    values: Kernel = "sweep_values"
    decisions: Kernel = "sweep_decisions"

    def __init__(self, cells: Cells) -> None:
        self.rows, self.cuts, self.two_layers = cells.tables, cells.cuts, cells.two_layers


class OnLattice(SliceMethod):
    """A problem whose rewards are multiples of its lattice's step."""

    exact = True
    bytes_kept = 1
    lattice: WholeLattice
    recorder: Recorder | None = None  # of decisions, where slices are large

    on = WholeLattice

    @cached_property
    def rows(self) -> Sums | DenseRows:
        """The rows as a matrix, where sweeps are faster with that."""
        dense = dense_rows(self.mdp, self.lattice.moves.jump) if self.work >= TUNING.product_work else None
        return Sums() if dense is None else dense

    def shape(self, cells: Cells) -> Summed | Rectangles:
        """The cells of a slice as its rows are swept."""
        rows = self.rows
        if isinstance(rows, Sums):
            return Summed(cells)
        return Rectangles(cells, self.once("dense", lambda: rows.uploaded(self.engine().upload)))

    @property
    def multiplies(self) -> bool:
        """Whether sweeps are matrix products."""
        return self.rows.multiplies

    @property
    def large(self) -> bool:
        """Whether layers are large enough to be split over threads."""
        return self.work >= self.rows.large_layer

    def bounds_job(self, task: Task) -> "ValueJob":
        """Values and slopes at the start."""
        return ValueJob(self, task)

    def decisions_job(self, task: Task) -> "DecisionJob":
        """The row of each cell."""
        return DecisionJob(self, task)

    @cached_property
    def farthest(self) -> int:
        """The return farthest from 0 that any state is reached with, in lattice points."""
        reach = self.tables.reach
        ever = reach.first <= reach.last
        return max(abs(int(reach.first[ever].min())), abs(int(reach.last[ever].max())))

    @property
    def recorded_share(self) -> float:
        """The share of the memory that jobs may take which is for what is recorded."""
        return SHARE_RECORDED if self.engine().on_host else SHARE_ON_DEVICE

    def record(self) -> None:
        """Record decisions from now on, if slices are so large that a policy acts on those of knots.

        Not of dense rows, nor where workers elsewhere sweep.
        """
        reach, here = self.tables.reach, self.engine.config.executor is None
        cells = np.maximum(reach.last.astype(np.int64) - reach.first + 1, 0).sum()
        most = max(TUNING.small_slice, TUNING.recorded_slice)
        if 8 * cells <= most or self.multiplies or not here or choice_type(self.mdp) != np.uint8:
            return
        problem = self.problem
        far_down = max(problem.mean - 2 * (problem.most - problem.mean), self.lattice.floor)  # curves are flat below
        windows = self.engine().windows(self.on_engine(), (0, 0), self.lattice.index(far_down))
        if 8 * windows.sizes.sum() > most:
            self.recorder = Recorder(self.recorded_share * self.engine().memory)

    def recorded(self, task: Task) -> RecordedDecisions | None:
        """The decisions that were recorded of a task with one best return."""
        return None if self.recorder is None else self.recorder.of(task)

    def acts_on(self, after: Curve, knots: Collection[float]) -> None:
        """Forget what was recorded of other slices under a curve than these."""
        if self.recorder is not None:
            self.recorder.keep_only(after, knots)

    def record_no_more(self) -> None:
        """Keep what was recorded, and record nothing else."""
        if self.recorder is not None:
            self.recorder.close()

    def batches(self, knots: Sequence[float]) -> list[tuple[float, ...]]:
        """Neighbouring knots together, but in two sweeps at least."""
        size = min(TOGETHER, max(len(knots) // 2, 1))
        return [tuple(knots[i : i + size]) for i in range(0, len(knots), size)]

    def carried(self, gap: float) -> float:
        """All of it: a slice is solved for the lower curve alone, and its backup does not expand differences."""
        return gap

    def share(self, tol: float, gap: float, i: int, k: int) -> float:
        """Only knots cost accuracy, and what they cost adds up."""
        left = max(tol - gap, 0.0)
        return left / 20 if i == k - 1 else left / i

    def comes_to(self, step: int, state: Ints, g: Ints, so_far: Floats) -> Bools:
        """Between the least and the greatest return there, and on the lattice."""
        reach = self.tables.reach
        inside = (reach.first[step, state] <= g) & (g <= reach.last[step, state])
        inside[inside] = self.lattice.are_points(so_far[inside])
        return inside

    def comes_to_one(self, step: int, state: int, g: int, so_far: float) -> bool:
        """:meth:`comes_to` of one state."""
        reach = self.tables.reach
        return bool(reach.first[step, state] <= g <= reach.last[step, state]) and self.lattice.is_point(so_far)

    def decided(self, cells: Cells, low: Any, place: Any, choice: Any) -> "Decisions":
        """What was chosen in the cells of a slice."""
        return Decisions(self.problem, low, place, choice)

    def payoff(self, task: Task, final: Ints, value: Floats, slope: Floats) -> tuple[Floats, Floats]:
        """The value of rollouts that end with the returns ``final`` [ends], and its slope in ``m``: [ends, B].

        ``value`` and ``slope`` [B] are those of idle states.
        """
        idle = final[:, None] <= np.array([self.lattice.index(m, task.phase) for m in task.ms])
        beaten = task.after.lower(self.lattice.kappa * final[:, None] + task.phase)
        return np.where(idle, value, beaten), np.where(idle, slope, 0.0)


def idle_payoff(task: Task) -> tuple[Floats, Floats]:
    """The next curve's lower bound at each ``m``, and its slope there: [B] twice."""
    ms = np.array(task.ms)
    return task.after.lower(ms), task.after.slope(ms)


class _OnLatticeJob(SliceJob):
    """A sweep of a problem on its lattice, by sums or by products."""

    method: OnLattice
    shape: Summed | Rectangles  # of the cells, once the job has begun

    def cuts(self, step: int, parts: int) -> list[int]:
        """Where to cut the states of a layer."""
        return self.shape.cuts(step, parts)


class ValueJob(_OnLatticeJob):
    """Values and slopes of slices at one ``m`` or several.

    Args:
        method: the problem on its lattice.
        task: what is to be swept.
        keep: whether all layers are kept, by sums; or else two at a time.
    """

    travels = True

    def __init__(self, method: OnLattice, task: Task, *, keep: bool = False) -> None:
        super().__init__(method, task)
        self._keep = keep
        recorder = method.recorder
        self._recorder = recorder if recorder is not None and recorder.has_room and not keep else None
        self._runs: dict[kernels.Part, list[Runs]] = {}  # of parts of layers, for each m

    def begin(self, memory: float) -> None:
        """Lay out the cells, with the payoff of finished rollouts."""
        engine, task = self.method.engine(), self.task
        self.shape = Summed(self.cells) if self._keep else self.method.shape(self.cells)
        self.layout, n = self.cells.all_layers() if self._keep else self.shape.two_layers()
        if 17 * len(task.ms) * n + self.cells.size > (1 - self.method.recorded_share) * memory:
            self._recorder = None  # it would leave no room for the slice itself
        check_memory((16 + (self._recorder is not None)) * len(task.ms) * n + self.cells.size, memory)
        self.idle_value, self.idle_slope = idle_payoff(task)  # [B] each
        self.value, self.slope = (engine.xp.zeros((n, len(task.ms))) for _ in range(2))  # [cells, B] each
        ends = len(self.cells.final)
        payoffs = self.method.payoff(task, self.cells.final, self.idle_value, self.idle_slope)
        for column, payoff in zip((self.value, self.slope), payoffs, strict=True):
            column[:ends] = engine.upload(payoff) if ends else 0.0
        idle = engine.upload(self.idle_value), engine.upload(self.idle_slope)
        choice = None if self._recorder is None else engine.xp.empty(self.value.size, np.uint8)
        self._values = kernels.Values(*idle, self.value.ravel(), self.slope.ravel(), choice)

    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers; where choices are recorded, one after the other."""
        engine = self.method.engine()
        if self._recorder is None:
            engine.sweep(self.shape.values, where, self.shape.rows, self.layout, self._values)
            return
        for h in range(where.end_step - 1, where.first_step - 1, -1):
            part = where._replace(first_step=h, end_step=h + 1)
            engine.sweep(self.shape.values, part, self.shape.rows, self.layout, self._values)
            choice, slices = self._values.choice, len(self.task.ms)
            self._runs[part] = engine.runs(part, self.layout, choice, slices, self._kind)

    @property
    def _kind(self) -> type[np.signedinteger[Any]]:
        """The type of recorded returns."""
        return np.int16 if self.method.farthest + max(map(abs, self.task.shifts)) < 2**15 else np.int32

    def _record(self, recorder: Recorder) -> None:
        method, task, in_order = self.method, self.task, [self._runs[part] for part in sorted(self._runs)]
        for b, m in enumerate(task.ms):
            index, runs = method.lattice.index(m, task.phase), [part[b] for part in in_order]

            def read(parts: Sequence[Runs], index: int = index) -> RecordedDecisions:
                return RecordedDecisions.of(method.problem, method.tables.moves, index, parts, method.engine())

            recorder.keep(replace(task, ms=(m,)), Recording(runs, read))

    def result(self) -> Floats:
        """Upper bound, lower bound and slope in ``m``, [3, n], by ``m`` or by return at the start."""
        if self._recorder is not None:
            self._record(self._recorder)
        idle, columns = (self.idle_value, self.idle_slope), (self.value, self.slope)
        value, slope = self.at_start(self.layout, idle, columns)
        return np.array([value, value, slope])

    def cell(self, step: int, state: int, g: int) -> int | None:
        """Where the cell of ``g`` lies; None where the state is idle there."""
        return int(self.layout.place[step, state]) + g if g >= self.layout.low[step, state] else None


class DecisionJob(_OnLatticeJob):
    """What is done in each cell of one slice."""

    def begin(self, memory: float) -> None:
        """Lay out two layers of values, and all choices."""
        engine, kind = self.method.engine(), choice_type(self.method.mdp)
        self.shape = self.method.shape(self.cells)
        self._layout, n = self.shape.two_layers()
        place, kept = self.cells.without_idle()
        check_memory(8 * n + kind.itemsize * kept + 2 * self.cells.size, memory)
        value = engine.xp.zeros(n)
        self._idle = idle_payoff(self.task)
        payoff, _ = self.method.payoff(self.task, self.cells.final, *self._idle)
        if len(payoff):
            value[: len(payoff)] = engine.upload(payoff[:, 0].copy())
        self._choices = kernels.Choices(place, float(self._idle[0][0]), value, engine.xp.empty(kept, kind))

    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers."""
        self.method.engine().sweep(self.shape.decisions, where, self.shape.rows, self._layout, self._choices)

    @property
    def value(self) -> float:
        """What the choices are worth at the start, once all is swept."""
        column = self._choices.value[:, None]
        return float(
            self.at_start(self._layout, self._idle, (column, self.method.engine().xp.zeros_like(column)))[0][0]
        )

    def result(self) -> "Decisions":
        """The choices, on the host."""
        host, windows = self.method.engine().to_host, self.cells.windows
        return self.method.decided(
            self.cells, *(host(array) for array in (windows.low, self._choices.place, self._choices.choice))
        )


@dataclass(frozen=True)
class Decisions:
    """The row of each cell, counted from its state's first: a byte while no state has more than 255."""

    problem: DecisionProblem
    low: Any  # [H, S] where windows start
    place: Any  # [H + 1, S + 1] where the cell of return 0 lies
    choice: Any  # [cells]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.choice.nbytes + 12 * self.low.size

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row of each cell; where nothing can be improved, the cheapest, and -1 where to give up."""
        rows = self.problem.idle_rows(step, state)
        column, g = self._columns(step, state, g)
        busy = g >= self.low[step, column]
        choice = self.choice[self.place[step, column[busy]] + g[busy]].astype(np.int64)
        taken = self.problem.mdp.step(step).first_row[state[busy]] + choice
        if self.problem.may_abandon:
            taken = np.where(choice == np.iinfo(self.choice.dtype).max, -1, taken)
        rows[busy] = taken
        return rows

    def _columns(self, step: int, state: Ints, g: Ints) -> tuple[Ints, Ints]:
        """The columns of windows that states with returns [n] have, and where in them these returns lie."""
        return state, g

    def row(self, step: int, state: int, g: int, best: float, so_far: float) -> int:
        """:meth:`rows` of one state."""
        if g < self.low[step, state]:
            return self.problem.idle_row(step, state)
        choice = int(self.choice[int(self.place[step, state]) + g])
        if self.problem.may_abandon and choice == np.iinfo(self.choice.dtype).max:
            return -1
        return self.problem.first_row(step, state) + choice
