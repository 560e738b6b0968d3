"""Slices over the returns that rollouts come to, where these are few among the points of a huge lattice."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.types import Bools, Floats, Ints
from maxatk.engines.engine import SharedEngine
from maxatk.engines.jobs import Windows
from maxatk.planning.certified.cells import Cells, Task
from maxatk.planning.certified.on_lattice import Decisions, OnLattice, Sums
from maxatk.planning.certified.reached import Reached, Start
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem


def on_lattice(shared: SharedEngine[DecisionProblem], kappa: float) -> OnLattice:
    """A problem whose rewards are multiples of ``kappa``, swept over all points or over those that rollouts come to."""
    return few_reached(shared, kappa) or OnLattice(shared, kappa)


def few_reached(shared: SharedEngine[DecisionProblem], kappa: float) -> "OnReached | None":
    """The same, if rollouts come to few of the lattice's points."""
    mdp = shared.known.mdp
    low, high = mdp.return_range
    cells = (high - low) / kappa * mdp.horizon * mdp.n_states  # about
    if (high - low) / kappa < TUNING.sparse_points or not shared().on_host:
        return None
    method = OnReached(shared, kappa)
    most = min(cells / TUNING.sparse_share, TUNING.most_nodes)
    known = mdp.analysis.once(("nodes", kappa, most), lambda: method.from_start(most))
    if known is None:
        return None
    method.known = known
    return method


class OnReached(OnLattice):
    """A problem whose rewards are multiples of a step, and whose rollouts come to few of its multiples."""

    known: Reached | None = None  # from the start of a rollout; a copy derives it again
    tabulates = False

    @cached_property
    def rows(self) -> Sums:
        """Nodes have few outcomes each."""
        return Sums()

    def from_start(self, most: float = np.inf) -> Reached | None:
        """The nodes of a whole rollout, or nothing if they are more than ``most``."""
        return self._from(Start(0, self.mdp.start_state.astype(np.int64), 0), most)

    def _from(self, start: Start, most: float = np.inf) -> Reached | None:
        rows = self.mdp.analysis.rows
        return Reached.within(rows, self.mdp.n_states, self.lattice.whole_steps, start, most)

    @property
    def reached(self) -> Reached:
        """The nodes of a whole rollout."""
        if self.known is None:
            self.known = self.from_start()
        assert self.known is not None
        return self.known

    def _tables(self) -> kernels.Tables:
        return self.reached.tables(self.finish_cost, self.problem.may_abandon)

    def _reached_by(self, task: Task) -> Reached:
        """The nodes of a task: those of a whole rollout, or of its rest."""
        if task.start is None:
            return self.reached
        step, state = task.start
        rest = self._from(Start(step, np.array([state]), task.shifts[0] + self.lattice.drift * step))
        assert rest is not None
        return rest

    def columns_of(self, task: Task) -> int:
        """Nodes of a step, at most."""
        return self._reached_by(task).width

    def cells(self, task: Task) -> "ReachedCells":
        """The cells of a task; the least of its ``m`` decides."""
        engine, reached = self.engine(), self._reached_by(task)
        tables = self.tables if task.start is None else reached.tables(self.finish_cost, self.problem.may_abandon)
        m = reached.rank(self.lattice.index(min(task.ms), task.phase))
        windows = engine.windows(tables, (0, 0), m)
        return ReachedCells(engine.xp, tables, windows, reached, self.lattice.drift)

    def decided(self, cells: Cells, low: Any, place: Any, choice: Any) -> Decisions:
        """The row of each node."""
        assert isinstance(cells, ReachedCells)
        return ReachedDecisions(self.problem, low, place, choice, cells.reached, self.lattice.drift)

    def record(self) -> None:
        """Nothing: few nodes are soon swept again."""

    def comes_to(self, step: int, state: Ints, g: Ints, so_far: Floats) -> Bools:
        """Where there is a node."""
        inside = self.reached.nodes(step, state, g + self.lattice.drift * step) >= 0
        inside[inside] = self.lattice.are_points(so_far[inside])
        return inside

    def comes_to_one(self, step: int, state: int, g: int, so_far: float) -> bool:
        """:meth:`comes_to` of one state."""
        return bool(self.comes_to(step, np.array([state]), np.array([g]), np.array([so_far]))[0])


class ReachedCells(Cells):
    """The cells of nodes: one for each that may still beat ``m``. Finished rollouts have a cell for each rank.

    Args:
        xp: NumPy's functions for the engine's arrays.
        tables: the nodes, as the states of a problem.
        windows: the windows of a task.
        reached: the nodes.
        drift: of the lattice.
    """

    def __init__(self, xp: Any, tables: kernels.Tables, windows: Windows, reached: Reached, drift: int) -> None:
        super().__init__(xp, tables, windows, reached.returns, np.zeros(len(tables.rows.step_layer), np.int64))
        self.reached, self._drift = reached, drift

    def columns(self, step: int, state: Ints, g: Ints) -> tuple[Ints, Ints]:
        """The nodes of states with returns [n], which have one cell each."""
        return self.reached.nodes(step, state, g + self._drift * step), np.zeros_like(g)


@dataclass(frozen=True)
class ReachedDecisions(Decisions):
    """The row of each node."""

    reached: Reached
    drift: int  # of the lattice

    def _columns(self, step: int, state: Ints, g: Ints) -> tuple[Ints, Ints]:
        return self.reached.nodes(step, state, g + self.drift * step), np.zeros_like(g)

    def row(self, step: int, state: int, g: int, best: float, so_far: float) -> int:
        """:meth:`rows` of one state."""
        return int(self.rows(step, np.array([state]), np.array([g]), np.array([best]), np.array([so_far]))[0])
