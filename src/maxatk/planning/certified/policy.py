"""Acting on slices that are solved again from curves."""

import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import checks
from maxatk.base.returns import Amounts
from maxatk.base.types import Bools, Floats, Ints, Number
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import Curves
from maxatk.planning.certified.lattice import WholeLattice
from maxatk.planning.certified.on_lattice import OnLattice
from maxatk.planning.certified.slices import Acting, SliceMethod
from maxatk.planning.tuning import TUNING
from maxatk.policies import ABANDON, CompressedPolicy, Rule, Traits
from maxatk.problem.mdp import MDP

_KEEPING = threading.Lock()  # trials on several threads share what a policy keeps
FEW = 16  # slices that are kept for sure, so that trials on them may go side by side


class _Tags(NamedTuple):
    """What best returns mean in a rollout, [n] each."""

    beyond: Floats  # how far they lie beyond all returns: there only the difference to the return so far matters
    best: Floats  # the rest
    knot: Floats  # the best return of the slice to act on; -inf to maximise the mean
    shift: Floats  # what is added to M and G to find them in that slice
    rollout: Ints  # which to act as


class SlicePolicy(CompressedPolicy):
    """Acts on the slice of the tangent that is active at the true best return.

    So it earns, from every rollout and best return on, what the lower bound of that rollout's curve promises there
    (docs/theory/planner.md, 8). Each slice is solved when it is first needed, and kept while there is room; one that
    would take more than half of the memory is refused with :class:`maxatk.TooLargeError`.

    M and G may be any numbers. Where no rollout of the problem comes to, what is best with them follows from what they
    leave open: nothing, the mean alone, or a slice of their own.

    Args:
        method: the problem on its lattice.
        curves: ``U_0`` to ``U_K``.
        start: the best return that stands for the incumbent in the first rollout.
        best_so_far: the incumbent, or ``-inf``.
        repeats_mean: whether to maximise the mean in every rollout, and nothing else.
        stop_at: the best return at which to stop.
    """

    def __init__(
        self,
        method: SliceMethod,
        curves: Curves,
        start: float,
        best_so_far: Number = -math.inf,
        *,
        repeats_mean: bool = False,
        stop_at: float = math.inf,
    ) -> None:
        super().__init__(curves.k, method.mdp.horizon, best_so_far, stop_at=stop_at)
        self._method, self._lattice = method, method.lattice
        self._curves, self._start = curves, start
        self._traits = Traits(
            independent=repeats_mean,
            repeated=repeats_mean,
            in_floats=True,
            resolution=Fraction(0) if method.exact else Fraction(method.lattice.kappa) / 10**6,
            n_states=method.mdp.n_states,
        )
        self._slices: dict[tuple[Any, ...], Acting] = {}
        self._held = 0  # bytes of what is kept of them
        self._lowest = math.inf  # best return that the last rollout was asked about

    @property
    def mdp(self) -> MDP:
        """The problem that the policy was planned for."""
        return self._lattice.mdp

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_slices": {}, "_held": 0}  # a copy solves its own slices

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self.mdp.n_states - 1)
        M, G = float(checks.incumbent(best, "best")), float(checks.exact_number(so_far, "so_far"))
        tags = self._tags(max(i, self._first_that_matters), np.array([M]))
        return int(self._actions_of(self._rows(h, tags, np.array([0]), np.array([s]), np.array([G])))[0])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        """The same at [n] states and returns, slice by slice."""
        bests, tag = np.unique(best, return_inverse=True)
        tags = self._tags(max(rollout, self._first_that_matters), bests)
        return self._actions_of(self._rows(step, tags, tag.ravel(), state, so_far))

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        """The same for many trials at once, slice by slice."""
        i = max(rollout, self._first_that_matters)
        tags = self._tags(i, best.floats())

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            return self._actions_of(self._rows(step, tags, tag, self._known(state), so_far.floats()))

        return Rule(act, None if self._keeps_several else self._slice_of(tags)[1])

    def _actions_of(self, rows: Ints) -> Ints:
        """The actions of rows [n], where -1 is to give up."""
        return np.where(rows < 0, ABANDON, self.mdp.action[rows]).astype(np.int64)

    # Best returns.

    @cached_property
    def _first_that_matters(self) -> int:
        """The first rollout after which the largest return is not as good as certain.

        Before it nothing that is done makes a difference to what the next curve says. Those rollouts are acted in as
        this one is, so that nothing is put off for ever.
        """
        curves, most = self._curves, min(self.mdp.return_range[1], float(self.stop_at))
        start = curves.k - len(curves.tail)  # no curve differs before
        return next((i for i in range(max(start, 0), self.k) if curves[i + 1].flat_to < most), self.k - 1)

    def _tags(self, i: int, M: Floats) -> "_Tags":
        """What best returns [n] mean in rollout ``i``."""
        rollout = np.full(len(M), i)
        if 0 < i < self.k - 1 and self._may_stop and not self._traits.repeated and not self._acts_on_true_best:
            # No more than M is promised, and only stopping keeps that. But below the threshold the last rollout is
            # worth more than M, and is a promise that any rollout can keep (docs/theory/costs.md, 5).
            rollout[self._curves[i].knots(M) >= self._curves[i].point[-1]] = self.k - 1
        beyond, best, knots, shift = np.empty(len(M)), np.empty(len(M)), np.empty(len(M)), np.zeros(len(M))
        for j in np.unique(rollout).tolist():
            these = rollout == j
            raised = np.maximum(M[these], self._as_good_as_none(j))
            best[these] = np.minimum(raised, self.mdp.return_range[1])
            beyond[these] = raised - best[these]
            knots[these] = self._knots(j, best[these])
        if self._method.problem.may_abandon:  # what is worth nothing must not be what a rollout is given up for
            knots[(rollout == self.k - 1) & (self._method.problem.flat_below >= M)] = -math.inf
        if not self._method.exact:
            swept = (rollout == self.k - 1) & self._in_table(knots)
            shift[swept] = self._lattice.kappa * self._middle - knots[swept]
            knots[swept] = min(float(knots[swept].min(initial=math.inf)), self._lowest)
        return _Tags(beyond, best, knots, shift, rollout)

    def _in_table(self, knots: Floats) -> Bools:
        """Which knots [n] of the last curve were bounded by one sweep for all of them, off a whole lattice.

        Where rows are equally good, rounding decides which of them a sweep takes: a line of the curve is a promise of
        the very sweep that it was taken from.
        """
        lattice, curve = self._lattice, self._curves[self.k - 1]
        none = np.zeros(len(knots), np.bool_)
        if self._traits.repeated or not self._pays_itself or not _multiples(np.array([curve.floor]), lattice.kappa)[0]:
            return none
        if not self._method.table_fits(lattice.index(curve.floor), lattice.last_index(self.mdp.return_range[1])):
            return none
        return _multiples(knots, lattice.kappa) & (knots >= curve.floor) & (knots != self._incumbent)

    @cached_property
    def _incumbent(self) -> float:
        """The knot of every curve that stands for the best return before the first rollout."""
        return max(float(self.best_so_far), self._method.problem.flat_below)

    @cached_property
    def _pays_itself(self) -> bool:
        """Whether the last rollout is paid the best return itself, as plans have it."""
        last = self._curves[self.k]
        return last.line_slope.tolist() == [1.0] and last.line_height.tolist() == [0.0]

    def _as_good_as_none(self, i: int) -> float:
        """Up to here a best return is as good as none: below every return, or where the next curve is flat."""
        flat = self._curves[i + 1].flat_to
        if self._may_stop:
            return flat if math.isfinite(flat) else self._lattice.floor
        return max(self.mdp.return_range[0], flat if flat < math.inf else -math.inf)

    def _knots(self, i: int, M: Floats) -> Floats:
        """The best returns of the slices to act on [n]: the knots whose tangents are active.

        On a whole lattice they are the true ones while slices are small: the slice there is worth at least every
        tangent, but there are more of them. So they are in the last rollout, whose tangents are taken from a table:
        where rows are equally good, rounding decides which of them a slice takes, and a table need not take the same.
        Nor need a matrix product on another machine: dense problems are always acted on at the true ones. ``-inf``
        stands for the mean.

        Where one slice serves all best returns of the last rollout, its knot is the lowest of them.
        """
        if self._traits.repeated:
            return np.full(len(M), -math.inf)
        if i == self.k - 1 and self._only_difference_matters:
            points = self._are_points(M)
            lowest = min(float(M[points].min(initial=math.inf)), self._lowest)
            return np.where(points, lowest, M)
        if self._acts_on_true_best or (self._method.exact and i == self.k - 1):
            return M
        curve = self._curves[i]
        knots = np.full(len(M), self._start) if i == 0 else curve.knots(M)
        # The line that promises M itself has no slice of its own; any keeps that promise, and the highest is nearest.
        inner = curve.line_knot[curve.line_knot < curve.point[-1]]
        return np.where(knots >= curve.point[-1], inner[-1], knots) if len(inner) else knots

    @cached_property
    def _only_difference_matters(self) -> bool:
        """Whether in the last rollout only ``G - M`` matters: it is paid the best return itself (planner.md, 4).

        Not where returns are so far apart that most lattice points are empty.
        """
        lattice = self._lattice
        if not self._method.exact or self._method.problem.may_abandon or self._may_stop:
            return False
        if any(abs(m / lattice.kappa - self._middle) > TUNING.table_points for m in self.mdp.return_range):
            return False
        return self._pays_itself

    def _for_all(self, i: int, m: float) -> bool:
        """Whether the slice at ``m`` is for all best returns of the last rollout from ``m`` on."""
        if i < self.k - 1:
            return False
        at = np.array([m])
        on = self._are_points(at) if self._only_difference_matters else self._in_table(at)
        return (self._only_difference_matters or not self._method.exact) and bool(on[0])

    def _are_points(self, m: Floats) -> Bools:
        """Whether returns [n] are lattice points."""
        return self._lattice.are_points(m) if isinstance(self._lattice, WholeLattice) else np.zeros(len(m), np.bool_)

    @cached_property
    def _acts_on_true_best(self) -> bool:
        return self._method.exact and (8 * self._cells <= TUNING.small_slice or _is_dense(self._method))

    @cached_property
    def _cells(self) -> int:
        """The cells of the slice of no return at all, which has the most."""
        return self._method.cells(Task(self._curves[1], (self._as_good_as_none(0),))).without_idle()[1]

    # Rows.

    def _rows(self, h: int, tags: "_Tags", tag: Ints, s: Ints, so_far: Floats) -> Ints:
        """The row to take at each (tag, s, G) [n]; -1 where to give up."""
        M = tags.best[tag]
        with np.errstate(over="ignore"):
            G = so_far - tags.beyond[tag]
        # Trials whose best returns share a slice are asked together.
        shared, slices = self._slice_of(tags)
        group: Ints = slices[tag]
        rows = np.empty(len(s), np.int64)
        means = (shared[1] == -math.inf)[group]
        if means.any():
            rows[means] = self.mdp.analysis.mean_optimal[0][h, s[means]]
        g = self._lattice.points(h, G)
        usual = self._method.comes_to(h, s, g, G)
        for n in np.flatnonzero(~usual & ~means).tolist():
            rows[n] = self._unusual_row(int(tags.rollout[tag[n]]), h, int(s[n]), float(M[n]), float(G[n]))
        order = np.flatnonzero(usual & ~means)
        order = order[np.argsort(group[order], kind="stable")]
        cuts = np.searchsorted(group[order], np.arange(int(shared.shape[1]) + 1))
        needed = [(j, int(shared[0, j]), float(shared[1, j])) for j in np.flatnonzero(np.diff(cuts)).tolist()]
        new = [(i, m, None) for _, i, m in needed if self._key(i, m, None) not in self._slices]
        if 1 < len(new) * self._slice_size <= self._may_hold:
            self._swept(new)
        for j, i, m in needed:
            these = order[cuts[j] : cuts[j + 1]]
            at, shift = g[these], tags.shift[tag[these]]
            if self._for_all(i, m) and self._method.exact:
                at = at + self._middle - self._lattice.points(0, M[these])
            rows[these] = self._acting(i, m).rows(h, s[these], at, M[these] + shift, G[these] + shift)
        return rows

    @staticmethod
    def _slice_of(tags: "_Tags") -> tuple[Floats, Ints]:
        """The different slices, as (rollout, knot) [2, n], and which of them each best return needs."""
        pairs: Floats = np.stack([tags.rollout.astype(np.float64), tags.knot])
        slices, places = np.unique(pairs, axis=1, return_inverse=True)
        return slices, places.ravel()

    def _unusual_row(self, i: int, h: int, s: int, M: float, G: float) -> int:
        """The row at a return that no rollout comes there with."""
        mdp = self.mdp
        if G + mdp.analysis.most[h, s] <= M:  # nothing can be improved
            return int(self._method.problem.idle_rows(h, np.array([s]))[0])
        if G + mdp.analysis.least[h, s] >= mdp.return_range[1]:  # whatever comes is worth itself
            return int(mdp.analysis.mean_optimal[0][h, s])
        g, phase = self._lattice.place(h, G)
        acting = self._acting(i, M, (h, s, g, phase))
        return int(acting.rows(h, *(np.array([x]) for x in (s, g, M, G)))[0])

    def _acting(self, i: int, m: float, start: tuple[int, int, int, float] | None = None) -> Acting:
        """What the slice at ``m`` says, from the start of the rollout or from (step, state, lattice point, phase)."""
        key = self._key(i, m, start)
        acting = self._slices.get(key)
        return self._swept([(i, m, start)])[0] if acting is None else acting

    def _key(self, i: int, m: float, start: tuple[int, int, int, float] | None) -> tuple[Any, ...]:
        return self._curves.place(i + 1), m, start

    def _swept(self, wanted: Sequence[tuple[int, float, tuple[int, int, int, float] | None]]) -> list[Acting]:
        """Some slices, as :meth:`_acting` is asked for them, swept side by side and kept; the oldest go first."""
        tasks: list[Task] = []
        for i, m, start in wanted:
            after, lattice = self._curves[i + 1], self._lattice
            if start is None and self._for_all(i, m):
                self._lowest = min(self._lowest, m)
                top, bottom = lattice.last_index(self.mdp.return_range[1]), lattice.index(m)
                shifts = self._middle - top, self._middle - bottom
                tasks.append(Task(after, (lattice.kappa * self._middle,), shifts=shifts))
            elif start is None:
                tasks.append(Task(after, (m,)))
            else:
                h, s, g, phase = start
                tasks.append(Task(after, (m,), shifts=(g, g), phase=phase, start=(h, s)))
        room = self._may_hold - len(tasks) * self._slice_size
        with _KEEPING:
            while self._slices and self._held > room:
                self._held -= self._slices.pop(next(iter(self._slices))).size
        swept = self._method.decisions(tasks)
        with _KEEPING:
            for one, acting in zip(wanted, swept, strict=True):
                before = self._slices.pop(self._key(*one), None)  # of another thread
                self._slices[self._key(*one)] = acting
                self._held += acting.size - (before.size if before is not None else 0)
        return swept

    @property
    def _middle(self) -> int:
        """The best return of a slice for all of them, in lattice steps: one that keeps the numbers small."""
        return self._lattice.drift * self.horizon

    @property
    def _may_hold(self) -> float:
        return min(checks.memory() / 4, TUNING.held_slices)

    @property
    def _keeps_several(self) -> bool:
        """Whether slices are so small that trials on several of them may go side by side."""
        return self._traits.repeated or self._slice_size * FEW <= TUNING.held_slices

    @property
    def _slice_size(self) -> int:
        """About so many bytes are kept of a slice, at most."""
        return self._cells * self._method.bytes_kept


def _is_dense(method: SliceMethod) -> bool:
    return isinstance(method, OnLattice) and method.dense is not None


def _multiples(amounts: Floats, step: float) -> Bools:
    """Which amounts [n] are multiples of a step, to the bit."""
    return np.isfinite(amounts) & (amounts == step * np.rint(amounts / step))
