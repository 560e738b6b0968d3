"""Which slice serves which best return: one table for each rollout, whose class says how that is decided.

A policy asks a table once for all best returns that its trials have in a rollout. The table says at which best return
the slice is held and where in it each of them lies.
"""

import math
import threading
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxatk.base.types import Bools, Floats, Ints
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import Curve, Curves
from maxatk.planning.certified.on_lattice import OnLattice
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.tuning import TUNING

_LOWERING = threading.Lock()  # trials on several threads share the tables of a policy


class Slice(NamedTuple):
    """A slice of a rollout: what it is kept under, and all that is needed to sweep it."""

    place: int  # of the next rollout's curve in the tail
    m: float  # the best return that it is held at; -inf stands for no slice: the mean is maximised
    shared: bool = False  # whether it serves all best returns from ``m`` on
    start: tuple[int, int, int, float] | None = None  # (step, state, lattice point, phase), if not the rollout's start

    def task(self, method: SliceMethod, curves: Curves) -> Task:
        """What is to be swept."""
        after = curves.tail[self.place]
        if self.start is not None:
            h, s, g, phase = self.start
            return Task(after, (self.m,), shifts=(g, g), phase=phase, start=(h, s))
        if not self.shared:
            return Task(after, (self.m,))
        lattice, middle = method.lattice, method.middle
        ends = lattice.last_index(method.problem.most), lattice.index(self.m)
        return Task(after, (lattice.kappa * middle,), shifts=(middle - ends[0], middle - ends[1]))


class ServedOne(NamedTuple):
    """What serves one best return: its entry in each column of :class:`Served`."""

    slice: Slice
    best: float
    beyond: float
    steps: int
    shift: float


@dataclass(frozen=True)
class Served:
    """What serves best returns, [n] each."""

    place: Ints  # of the next rollout's curve in the tail
    knot: Floats  # the best return that the slice is held at; -inf to maximise the mean
    shared: Bools  # whether the slice serves all best returns from there on
    best: Floats  # M, no less than makes a difference and no more than the greatest return
    beyond: Floats  # how far M lies beyond all returns: there only the difference to the return so far matters
    steps: Ints  # lattice steps that are added to G to find it in the slice
    shift: Floats  # what is added to M and G to find them in the slice

    def replace(self, these: Bools, others: "Served") -> None:
        """Let others serve ``these``."""
        for column in fields(self):
            getattr(self, column.name)[these] = getattr(others, column.name)

    @cached_property
    def slices(self) -> tuple[list[Slice], Ints]:
        """The different slices, in order of curve and knot, and which of them serves each best return."""
        pairs: Floats = np.stack([self.place.astype(np.float64), self.knot, self.shared.astype(np.float64)])
        different, places = np.unique(pairs, axis=1, return_inverse=True)
        return [Slice(int(place), m, bool(shared)) for place, m, shared in different.T.tolist()], places.ravel()

    def one(self) -> ServedOne:
        """What serves the first best return."""
        place, knot, shared, *rest = (getattr(self, column.name)[0].item() for column in fields(self))
        return ServedOne(Slice(place, knot, shared), *rest)


@dataclass
class SliceTable:
    """Which slice serves each best return of one rollout: its own, whose value is at least that of every tangent.

    The last rollout on a whole lattice has no other: where rows are equally good, rounding decides which of them a
    slice takes, and the table that its tangents are taken from need not take the same. Nor need a matrix product on
    another machine.
    """

    place: int  # of the next rollout's curve in the tail
    flat_to: float  # up to here a best return is as good as none: below every return, or where the next curve is flat
    most: float  # the greatest return
    mean_to: float | None = None  # up to here the mean is maximised; None where that is left to the curves

    def serve(self, M: Floats) -> Served:
        """What serves the best returns [n]."""
        raised = np.maximum(M, self.flat_to)
        best = np.minimum(raised, self.most)
        knots = self._knots(best)
        if self.mean_to is not None:
            knots[self.mean_to >= M] = -math.inf
        n = len(M)
        served = Served(
            place=np.full(n, self.place),
            knot=knots,
            shared=np.zeros(n, np.bool_),
            best=best,
            beyond=raised - best,
            steps=np.zeros(n, np.int64),
            shift=np.zeros(n),
        )
        return self._shared(served)

    def _knots(self, best: Floats) -> Floats:
        """The best return of the slice that serves each of ``best`` [n]: a new array."""
        return best.copy()

    def _shared(self, served: Served) -> Served:
        """The same, with those put together that one slice serves."""
        return served

    def left_to_last(self, M: Floats) -> Bools:
        """Which best returns [n] are served as in the last rollout."""
        return np.zeros(len(M), np.bool_)


class _Lowest:
    """The lowest of all best returns that were asked about so far, by whatever thread."""

    def __init__(self, lowest: float = math.inf) -> None:
        self._lowest = lowest

    def with_these(self, best: Floats) -> float:
        """The lowest, now that ``best`` [n] are asked about."""
        with _LOWERING:
            self._lowest = min(float(best.min(initial=math.inf)), self._lowest)
            return self._lowest


class MeanTable(SliceTable):
    """No slice: the mean is maximised, whatever the best return."""

    def _knots(self, best: Floats) -> Floats:
        return np.full(len(best), -math.inf)


@dataclass
class DifferenceTable(SliceTable):
    """The last rollout where only ``G - M`` matters: one slice serves all best returns on the lattice (planner.md, 4).

    It is held at the lowest of those that were asked about so far.
    """

    method: OnLattice = field(kw_only=True)
    lowest: _Lowest = field(default_factory=_Lowest)

    def _shared(self, served: Served) -> Served:
        lattice = self.method.lattice
        on = lattice.are_points(served.best) & (served.knot > -math.inf)
        served.knot[on], served.shared[on] = self.lowest.with_these(served.best[on]), True
        served.steps[on] = self.method.middle - lattice.points(0, served.best[on])
        return served


@dataclass
class TangentTable(SliceTable):
    """The slice of the tangent that is active serves a best return: the curve's lower bound is its promise."""

    curve: Curve = field(kw_only=True)
    start: float | None = None  # the one knot of the first rollout
    stops: bool = False  # whether the policy may stop before a rollout in the middle

    def _knots(self, best: Floats) -> Floats:
        curve = self.curve
        knots = curve.knots(best) if self.start is None else np.full(len(best), self.start)
        # The line that promises M itself has no slice of its own; any keeps that promise, and the highest is nearest.
        inner = curve.line_knot[curve.line_knot < curve.point[-1]]
        return np.where(knots >= curve.point[-1], inner[-1], knots) if len(inner) else knots

    def left_to_last(self, M: Floats) -> Bools:
        """Those for which no more than M is promised, which only stopping keeps.

        Below the threshold the value of the last rollout is more than M, and that is a promise that any rollout can
        keep (docs/theory/costs.md, 5).
        """
        return self.curve.knots(M) >= self.curve.point[-1] if self.stops else super().left_to_last(M)


@dataclass
class SweptTable(TangentTable):
    """The last rollout off the lattice, where one sweep bounded its curve at all knots that are lattice points.

    Where rows are equally good, rounding decides which of them a sweep takes: a line of the curve is a promise of the
    very sweep that it was taken from.
    """

    method: SliceMethod = field(kw_only=True)
    incumbent: float = field(kw_only=True)  # a knot that has a slice of its own
    lowest: _Lowest = field(default_factory=_Lowest)

    def _shared(self, served: Served) -> Served:
        kappa, knots = self.method.lattice.kappa, served.knot
        on = _multiples(knots, kappa) & (knots >= self.curve.floor) & (knots != self.incumbent)
        served.shift[on] = kappa * self.method.middle - knots[on]
        knots[on], served.shared[on] = self.lowest.with_these(knots[on]), True
        return served


@dataclass
class SliceTables:
    """The tables of all rollouts, each made when it is first asked for."""

    method: SliceMethod  # the problem on its lattice
    curves: Curves  # U_0 to U_K
    start: float  # the best return that stands for the incumbent in the first rollout
    incumbent: float  # the knot of every curve that stands for the best return before the first rollout
    stop_at: float  # the best return at which the policy stops
    repeats_mean: bool  # whether the mean is maximised in every rollout
    tables: dict[int, SliceTable] = field(default_factory=dict[int, SliceTable])  # that were made

    @cached_property
    def first(self) -> int:
        """The first rollout after which the largest return is not as good as certain.

        Before it nothing that is done makes a difference to what the next curve says. Those rollouts are acted in as
        this one is, so that nothing is put off for ever.
        """
        curves, most = self.curves, min(self.method.problem.most, self.stop_at)
        start = max(curves.k - len(curves.tail), 0)  # no curve differs before
        return next((i for i in range(start, curves.k) if curves[i + 1].flat_to < most), curves.k - 1)

    @cached_property
    def cells(self) -> int:
        """The cells of the slice of no return at all, which has the most."""
        return self.method.cells(Task(self.curves[1], (self._flat_to(0),))).without_idle()[1]

    def serve(self, rollout: int, M: Floats) -> Served:
        """What serves the best returns [n] of a rollout."""
        table = self._table(max(rollout, self.first))
        served, last = table.serve(M), table.left_to_last(M)
        if last.any():
            served.replace(last, self._table(self.curves.k - 1).serve(M[last]))
        return served

    def _table(self, i: int) -> SliceTable:
        if i not in self.tables:
            self.tables.setdefault(i, self._made(i))  # or another thread's
        return self.tables[i]

    @property
    def _may_stop(self) -> bool:
        return self.stop_at < math.inf

    def _flat_to(self, i: int) -> float:
        flat = self.curves[i + 1].flat_to
        if self._may_stop:
            return flat if math.isfinite(flat) else self.method.lattice.floor
        return max(self.method.problem.least, flat if flat < math.inf else -math.inf)

    def _made(self, i: int) -> SliceTable:
        method, problem, curve = self.method, self.method.problem, self.curves[i]
        first, last = i == 0, i == self.curves.k - 1
        mean_to = problem.flat_below if last and problem.may_abandon else None  # no rollout is given up for nothing
        base = self.curves.place(i + 1), self._flat_to(i), problem.most, mean_to
        if self.repeats_mean:
            return MeanTable(*base)
        if isinstance(method, OnLattice):
            if last and self._only_difference_matters:
                return self._difference(DifferenceTable(*base, method=method))
            if last or 8 * self.cells <= TUNING.small_slice or method.multiplies:
                return SliceTable(*base)
        start = self.start if first else None
        if last and self._was_swept_at_once(curve):
            return SweptTable(*base, curve=curve, start=start, method=method, incumbent=self.incumbent)
        return TangentTable(*base, curve=curve, start=start, stops=self._may_stop and not first and not last)

    def _difference(self, table: "DifferenceTable") -> "DifferenceTable":
        """The table of the last rollout, with the slice that was recorded with its curve, if it was.

        Below that slice the curve promises the mean.
        """
        floor = self.curves[self.curves.k - 1].floor
        recorded = table.method.recorded(Slice(table.place, floor, shared=True).task(table.method, self.curves))
        below = math.nextafter(floor, -math.inf)
        return table if recorded is None else replace(table, lowest=_Lowest(floor), mean_to=below)

    @property
    def _ends_with_best(self) -> bool:
        """Whether the best return itself is the payoff of the last rollout, as plans have it."""
        last = self.curves[self.curves.k]
        return last.line_slope.tolist() == [1.0] and last.line_height.tolist() == [0.0]

    @cached_property
    def _only_difference_matters(self) -> bool:
        """Whether in the last rollout only ``G - M`` matters, on a whole lattice.

        Not where returns are so far apart that most lattice points are empty.
        """
        method, problem = self.method, self.method.problem
        if not method.tabulates or problem.may_abandon or self._may_stop or not self._ends_with_best:
            return False
        ends = (problem.least, problem.most)
        return all(abs(m / method.lattice.kappa - method.middle) <= TUNING.table_points for m in ends)

    def _was_swept_at_once(self, curve: Curve) -> bool:
        """Whether one sweep may have bounded the last curve at all lattice points."""
        lattice, most = self.method.lattice, self.method.problem.most
        if not self._ends_with_best or not _multiples(np.array([curve.floor]), lattice.kappa)[0]:
            return False
        return self.method.table_fits(lattice.index(curve.floor), lattice.last_index(most))


def _multiples(amounts: Floats, step: float) -> Bools:
    """Which amounts [n] are multiples of a step, to the bit."""
    return np.isfinite(amounts) & (amounts == step * np.rint(amounts / step))
