"""Slices whose rewards lie anywhere between lattice points: bounded on both sides (docs/theory/planner.md, 7).

Every cell has an upper bound and a plane below; to act, the highest plane at the true (M, G) is followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.types import Bools, Floats, Ints
from maxatk.engines.jobs import check_memory
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.lattice import RealLattice
from maxatk.planning.certified.slices import Acting, SliceJob, SliceMethod, choice_type
from maxatk.planning.tuning import TUNING


class OffLattice(SliceMethod):
    """A problem whose rewards lie between the points of its lattice."""

    exact = False
    bytes_kept = 25
    lattice: RealLattice

    on = RealLattice

    @property
    def large(self) -> bool:
        """Whether layers are large enough to be split over threads."""
        return self.work >= TUNING.large_real_layer

    def bounds_job(self, task: Task) -> "PlaneJob":
        """Bounds and a slope at the start."""
        return PlaneJob(self, task)

    def decisions_job(self, task: Task) -> "KeptPlaneJob":
        """The planes of all cells, with the row of each."""
        return KeptPlaneJob(self, task)

    def batches(self, knots: Sequence[float]) -> list[tuple[float, ...]]:
        """One by one."""
        return [(m,) for m in knots]

    def carried(self, gap: float) -> float:
        """Nothing: the upper curve is swept, too."""
        return 0.0

    def share(self, tol: float, gap: float, i: int, k: int) -> float:
        """Knots have half of the tolerance, and the lattice the rest."""
        return 0.5 * tol / (20 if i == k - 1 else k - 1)

    def comes_to(self, step: int, state: Ints, g: Ints, so_far: Floats) -> Bools:
        """Within a lattice step for each step of what a walk on the lattice comes to."""
        first, last = (ends[step, state].astype(np.int64) for ends in self.tables.reach[:2])
        return np.maximum(g - step, first) <= np.minimum(g + 1 + step, last)

    def payoff(self, task: Task) -> kernels.Ends:
        """The next curve as kernels take it."""
        after, (m,) = task.after, task.ms
        curve = kernels.CurveTable(
            after.line_end, after.line_height, after.line_slope, after.point, after.point_value
        )  # fmt: skip
        return kernels.Ends(
            *(self.lattice.kappa, task.phase, m, float(after.upper(m)), float(after.lower(m)), float(after.slope(m))),
            curve,
        )


class PlaneJob(SliceJob):
    """Bounds of one slice, two layers at a time."""

    method: OffLattice
    keep = False  # whether all layers are kept, with what is done in them
    travels = True

    def begin(self, memory: float) -> None:
        """Lay out the cells."""
        engine, kind = self.method.engine(), choice_type(self.method.mdp)
        self.layout, n = self.cells.all_layers() if self.keep else self.cells.two_layers()
        check_memory((32 + kind.itemsize) * n + self.cells.size, memory)
        # On the host choices are always written; a device does without them where nobody asks.
        choices = n if self.keep or engine.on_host else 1
        upper, lower, slope_g, slope_m = (engine.xp.empty(n) for _ in range(4))
        self.planes = kernels.Planes(upper, lower, slope_g, slope_m, engine.xp.empty(choices, kind))
        self.ends = self.method.payoff(self.task)
        self._ends = self.ends._replace(
            curve=kernels.CurveTable(*(engine.upload(column) for column in self.ends.curve))
        )  # fmt: skip

    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers."""
        engine = self.method.engine()
        engine.sweep("sweep_planes", where, self.cells.tables, self.layout, self._ends, self.planes)

    def result(self) -> Any:
        """Upper bound, lower bound and slope in ``m``, [3, n], by return at the start."""
        ends, planes = self.ends, self.planes
        idle = [np.array([x]) for x in (ends.idle_upper, ends.idle_lower, ends.idle_slope)]
        columns = [column[:, None] for column in (planes.upper, planes.lower, planes.slope_m)]
        return np.array(self.at_start(self.layout, idle, columns))


class KeptPlaneJob(PlaneJob):
    """The planes of all cells of one slice."""

    keep, travels = True, False

    def result(self) -> Acting:
        """What acting needs, on the host."""
        host = self.method.engine().to_host
        planes = kernels.Planes(np.empty(0), *(host(column) for column in self.planes[1:]))
        layout = kernels.Layout(*(host(array) for array in self.layout))
        return PlaneDecisions(self.method, layout, self.ends, planes)


@dataclass(frozen=True)
class PlaneDecisions:
    """The planes of a slice off the lattice with the row of each: the highest at the true (M, G) is followed."""

    method: OffLattice
    layout: kernels.Layout
    ends: kernels.Ends  # the payoff at the end of a rollout
    kept: kernels.Planes  # [cells] each, without upper bounds

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(column.nbytes for column in self.kept) + 20 * self.layout.low.size

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row of the best plane; where that of an idle state is the best, the cheapest, and -1 where to give up."""
        _, choice = self.planes(step, state, best, so_far)
        first = self.method.mdp.step(step).first_row[state]
        return np.where(choice < 0, self.method.problem.idle_rows(step, state), first + choice)

    def row(self, step: int, state: int, g: int, best: float, so_far: float) -> int:
        """:meth:`rows` of one state."""
        _, choice = self.planes(step, np.array([state]), np.array([best]), np.array([so_far]))
        problem = self.method.problem
        return problem.idle_row(step, state) if choice[0] < 0 else problem.first_row(step, state) + int(choice[0])

    def planes(self, step: int, state: Ints, best: Floats, so_far: Floats) -> tuple[Floats, Ints]:
        """The value of the best plane at each true (s, M, G) [n], and its row counted from the state's first.

        The row is -1 where nothing is to be done (docs/theory/planner.md, 8).
        """
        tables, off = self.method.tables, best - self.ends.m
        return kernels.best_planes(tables, self.layout, self.ends, self.kept, step, state, off, so_far)
