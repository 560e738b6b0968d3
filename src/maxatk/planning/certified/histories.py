"""Bounds on the value of every action at any compressed history, from one slice (docs/theory/planner.md, 12).

The rest of the rollout is swept from its state, and its return so far is made a lattice point. The sweep ends with the
layer after the present step; what each action brings is added up from there.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from maxatk import kernels
from maxatk.base.types import Floats, Ints
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import Curve
from maxatk.planning.certified.off_lattice import OffLattice, PlaneJob
from maxatk.planning.certified.on_lattice import OnLattice, ValueJob
from maxatk.planning.certified.slices import SliceMethod
from maxatk.policies import ABANDON
from maxatk.problem.histories import CompressedHistory


@dataclass(frozen=True)
class Successors:
    """States of the step after a history, [n] each, with what was earned on the way there."""

    state: Ints
    g: Ints  # the lattice point of the return, or the one below it
    part: Floats  # how far the return lies above that point, in lattice steps
    so_far: Floats  # the return itself


class Layer(Protocol):
    """The values of one layer of a slice, as a sweep left them."""

    def bounds(self, step: int, after: Successors) -> tuple[Floats, Floats]:
        """Bounds on the value of each successor, [n] twice, idle ones included."""
        ...


@dataclass(frozen=True)
class Rest:
    """The rest of a rollout from a history: what is swept for it."""

    method: SliceMethod
    after: Curve  # of the next rollout
    history: CompressedHistory
    last: bool  # whether it is the last rollout

    @property
    def task(self) -> Task:
        """From the history's state alone. Both columns of a sweep on the lattice have the same best return."""
        h, g = self.history.step, self.place[0]
        m = self.best
        return Task(
            *(self.after, (m, m) if self.method.exact else (m,)),
            shifts=(g, g),
            phase=self.place[1],
            start=(h, self.history.state),
        )

    @property
    def place(self) -> tuple[int, float]:
        """The return so far as a lattice point and a phase."""
        return self.method.lattice.place(self.history.step, float(self.history.so_far))

    @property
    def best(self) -> float:
        """The best return so far, raised as far as that makes no difference.

        No return of this rollout is less than ``G`` and the least that can follow. But a rollout that is given up
        leaves the best return as it was: then it is raised only where the next curve is flat, or where finishing is
        sure to bring more.
        """
        problem, (h, s) = self.method.problem, (self.history.step, self.history.state)
        M = float(self.history.best)
        least = float(self.history.so_far) + float(problem.mdp.analysis.least[h, s])
        flat = min(self.after.flat_to, self.after.floor)
        if not problem.may_abandon:
            return max(M, least, flat)
        if self.last:
            return max(M, least - float(problem.mdp.analysis.least_costs[0].max()))
        return max(M, flat if flat > -math.inf else self.method.lattice.floor)

    @property
    def idle(self) -> bool:
        """Whether the best return so far cannot be improved in this rollout."""
        most = self.method.mdp.analysis.most[self.history.step, self.history.state]
        return float(self.history.so_far) + float(most) <= self.best

    @property
    def rounding(self) -> float:
        """What numbers as large as these add to the rounding of a plan, in one rollout.

        Values change by no more than the return so far and the best return do.
        """
        mdp, lattice, (g, phase) = self.method.mdp, self.method.lattice, self.place
        so_far, best = float(self.history.so_far), self.best
        moved = abs(lattice.kappa * (g + lattice.drift * self.history.step) + phase - so_far)
        outcomes = int(np.diff(mdp.outcome_start).max())
        steps = mdp.horizon * (4 * outcomes + 16) + 32
        return moved + steps * 2.0**-53 * (abs(so_far) + abs(best)) + mdp.horizon * lattice.error


class _Short:
    """Leaves out the layers that nobody asks about."""

    task: Task

    def rest_of(self, where: kernels.Part) -> kernels.Part | None:
        """The part of ``where`` that comes after the start, if any does."""
        assert self.task.start is not None
        first = self.task.start[0] + 1
        return where._replace(first_step=max(where.first_step, first)) if where.end_step > first else None


class TwoValuesJob(_Short, ValueJob):
    """Values on the lattice, under the next curve's lower bound and under its upper one, side by side."""

    travels = False

    def begin(self, memory: float) -> None:
        """Lay out the cells; the second column ends with the upper bound."""
        super().begin(memory)
        engine, task, lattice, final = self.method.engine(), self.task, self.method.lattice, self.cells.final
        m, x = task.ms[1], lattice.kappa * self.cells.final + task.phase
        self.idle_value[1] = task.after.upper(m)
        if len(final):
            above: Floats = task.after.upper(x)
            above[final <= lattice.index(m, task.phase)] = self.idle_value[1]
            self.value[: len(final), 1] = engine.upload(above)
        self._values = self._values._replace(idle_value=engine.upload(self.idle_value))

    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers."""
        if (rest := self.rest_of(where)) is not None:
            super().sweep(rest)

    def result(self) -> Any:
        """The job itself, which has the layer."""
        return self

    def bounds(self, step: int, after: Successors) -> tuple[Floats, Floats]:
        """Bounds on the value of each successor."""
        engine = self.method.engine()
        column, g = self.cells.columns(step, after.state, after.g)
        low, place, finishing = (
            engine.to_host(array[step, engine.upload(column)])
            for array in (self.layout.low, self.layout.place, self.cells.tables.finish_cost)
        )
        values = self.idle_value - finishing[:, None]
        busy = g >= low
        values[busy] = engine.to_host(self.value[engine.upload((place + g)[busy])])
        return values[:, 0], values[:, 1]


class PlanesJob(_Short, PlaneJob):
    """Bounds off the lattice: planes below, chords above."""

    travels = False

    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers."""
        if (rest := self.rest_of(where)) is not None:
            super().sweep(rest)

    def result(self) -> Any:
        """The job itself, which has the layer."""
        return self

    def bounds(self, step: int, after: Successors) -> tuple[Floats, Floats]:
        """The highest of the planes beside each successor, and the chord between their cells."""
        lower, upper = self._at(step, after, after.g)
        above_lower, above_upper = self._at(step, replace(after, part=after.part - 1.0), after.g + 1)
        between = after.part > 0.0
        chord = (1.0 - after.part) * upper + after.part * above_upper
        return np.where(between, np.maximum(lower, above_lower), lower), np.where(between, chord, upper)

    def _at(self, step: int, after: Successors, g: Ints) -> tuple[Floats, Floats]:
        """The planes of the cells ``g``, moved to the true returns, and the upper bounds of the cells."""
        engine, ends, planes = self.method.engine(), self.ends, self.planes
        low, high, place = (
            engine.to_host(array[step, engine.upload(after.state)])
            for array in (self.layout.low, self.layout.high, self.layout.place)
        )
        finishing = engine.to_host(self.cells.tables.finish_cost[step, engine.upload(after.state)])
        lower, upper = ends.idle_lower - finishing, ends.idle_upper - finishing
        busy = (g >= low) & (g <= high)
        cells = engine.upload((place + g)[busy])
        above, below, slope = (engine.to_host(x[cells]) for x in (planes.upper, planes.lower, planes.slope_g))
        upper[busy] = above
        # The plane of an idle state holds for every return.
        lower[busy] = np.maximum(lower[busy], below + slope * ends.kappa * after.part[busy])
        return lower, upper


def action_values(
    method: SliceMethod, after: Curve, history: CompressedHistory, rounding: float, *, last: bool
) -> dict[int, tuple[float, float]]:
    """Bounds on what is expected in the end after each action: the best return, less the costs to come.

    Args:
        method: the problem on its lattice.
        after: the curve of the next rollout.
        history: where the choice is made.
        rounding: what floating point may have added to curves.
        last: whether no rollout comes after this one.
    """
    mdp, rest = method.mdp, Rest(method, after, history, last)
    h, s, best = history.step, history.state, rest.best
    node = int(mdp.step_layer[h]) * mdp.n_states + s
    rows = range(int(mdp.pair_start[node]), int(mdp.pair_start[node + 1]))
    begins: list[int] = mdp.outcome_start[rows.start : rows.stop + 1].tolist()
    outcomes = np.arange(begins[0], begins[-1])
    lower, upper = _outcome_values(rest, outcomes)
    error = rounding + rest.rounding
    values: dict[int, tuple[float, float]] = {}
    for row, (first, end) in zip(rows, itertools.pairwise(begins), strict=True):
        these = slice(first - begins[0], end - begins[0])
        prob, cost = mdp.row_prob[first:end], float(mdp.action_cost[row])
        low, high = float(prob @ lower[these]) - cost - error, float(prob @ upper[these]) - cost + error
        values[int(mdp.action[row])] = (low, high)
    if method.problem.may_abandon and not (last and history.best == -math.inf):
        m = float(history.best) if last else best
        values[ABANDON] = (float(after.lower(m)) - error, float(after.upper(m)) + error)
    return values


def _outcome_values(rest: Rest, outcomes: Ints) -> tuple[Floats, Floats]:
    """Bounds on what is expected after each outcome, [n] twice."""
    method, after, history, m = rest.method, rest.after, rest.history, rest.best
    mdp, h = method.mdp, rest.history.step
    so_far = float(history.so_far) + mdp.reward[outcomes]
    ends = (mdp.next_state[outcomes] == mdp.n_states) | (h == mdp.horizon - 1)
    final = np.maximum(so_far, m)
    lower, upper = after.lower(final), after.upper(final)
    if ends.all():
        return lower, upper
    going = outcomes[~ends]
    jump, part = method.lattice.jumps(mdp.reward[going])
    following = Successors(
        mdp.next_state[going].astype(np.int64), rest.place[0] + jump.astype(np.int64), part, so_far[~ends]
    )
    if rest.idle:
        finishing = method.finish_cost[h + 1, following.state]
        lower[~ends], upper[~ends] = after.lower(m) - finishing, after.upper(m) - finishing
    else:
        lower[~ends], upper[~ends] = _layer(rest).bounds(h + 1, following)
    return lower, upper


def _layer(rest: Rest) -> Layer:
    """The layer after a history, swept on the plan's engine."""
    method, task = rest.method, rest.task
    if isinstance(method, OnLattice):
        job: Any = TwoValuesJob(method, task)
    else:
        assert isinstance(method, OffLattice)
        job = PlanesJob(method, task)
    (layer,) = method.engine().run([job])
    return layer
