"""Acting on slices that are solved again from curves."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts
from maxatk.base.types import Bools, Floats, Ints, Number
from maxatk.planning.curves import Curves
from maxatk.planning.lattice import Lattice, Slice
from maxatk.policies import CompressedPolicy, Rule
from maxatk.problem.mdp import MDP

SMALL_SLICE = 2**23  # bytes
FAR = 2.0**62  # beyond any index of a lattice point


class SlicePolicy(CompressedPolicy):
    """Acts on the slice of the tangent that is active at the true best return.

    So it earns, from every rollout and best return on, what the lower bound of that rollout's curve promises there
    (docs/theory/planner.md, 8). Each slice is solved when it is first needed, and kept while there is room; one that
    would take more than half of the memory is refused with :class:`maxatk.TooLargeError`.

    M and G may be any numbers. Where no rollout of the problem comes to, what is best with them follows from what they
    leave open: nothing, the mean alone, or a slice of their own.

    Args:
        lattice: the problem.
        curves: ``U_0`` to ``U_K``.
        start: the best return that stands for the incumbent in the first rollout.
        best_so_far: the incumbent, or ``-inf``.
        repeats_mean: whether to maximise the mean in every rollout, and nothing else.
    """

    def __init__(
        self,
        lattice: Lattice,
        curves: Curves,
        start: float,
        best_so_far: Number = -math.inf,
        *,
        repeats_mean: bool = False,
    ) -> None:
        super().__init__(curves.k, lattice.mdp.horizon, best_so_far)
        self._lattice, self._curves, self._start = lattice, curves, start
        self.independent = self.repeated = repeats_mean
        self._slices: dict[tuple[Any, ...], Slice] = {}
        self._held = 0  # bytes of the slices kept

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
        i = max(i, self._first_that_matters)
        (row,) = self._rows(i, h, self._tags(i, np.array([M])), np.array([0]), np.array([s]), np.array([G]))
        return int(self.mdp.action[row])

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """The same for many trials at once, slice by slice."""
        mdp, S = self.mdp, self.mdp.n_states
        i = max(rollout, self._first_that_matters)
        tags = self._tags(i, best.floats())

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            if state.max(initial=0) >= S:
                raise InputError(f"the policy was planned for {S} states, and is asked about state {state.max()}")
            rows = self._rows(i, step, tags, tag, state, so_far.floats())
            return mdp.action[rows].astype(np.int64)

        return act

    # Best returns.

    @cached_property
    def _first_that_matters(self) -> int:
        """The first rollout after which the largest return is not as good as certain.

        Before it nothing that is done makes a difference to what the next curve says. Those rollouts are acted in as
        this one is, so that nothing is put off for ever.
        """
        curves, most = self._curves, self.mdp.return_range[1]
        start = curves.k - len(curves.tail)  # no curve differs before
        return next((i for i in range(max(start, 0), self.k) if curves[i + 1].flat_to < most), self.k - 1)

    def _tags(self, i: int, M: Floats) -> tuple[Floats, Floats, Floats]:
        """What best returns [n] mean in rollout ``i``: how far they lie beyond all returns, the rest, and the knots of
        the slices to act on.

        Beyond every return a best return is worth itself, so that only its difference to the return so far matters.
        """
        raised = np.maximum(M, self._as_good_as_none(i))
        best = np.minimum(raised, self.mdp.return_range[1])
        return raised - best, best, self._knots(i, best)

    def _as_good_as_none(self, i: int) -> float:
        """Up to here a best return is as good as none: below every return, or where the next curve is flat."""
        flat = self._curves[i + 1].flat_to
        return max(self.mdp.return_range[0], flat if flat < math.inf else -math.inf)

    def _knots(self, i: int, M: Floats) -> Floats:
        """The best returns of the slices to act on [n]: the knots whose tangents are active.

        On an exact lattice they are the true ones while slices are small: the slice there is worth at least every
        tangent, but there are more of them. ``-inf`` stands for the mean.
        """
        if self.repeated:
            return np.full(len(M), -math.inf)
        if self._acts_on_true_best:
            return M
        curve = self._curves[i]
        knots = np.full(len(M), self._start) if i == 0 else curve.knots(M)
        # The line that promises M itself has no slice of its own; any keeps that promise, and the highest is nearest.
        inner = curve.line_knot[curve.line_knot < curve.point[-1]]
        return np.where(knots >= curve.point[-1], inner[-1], knots) if len(inner) else knots

    @cached_property
    def _acts_on_true_best(self) -> bool:
        if not self._lattice.exact:
            return False
        least = self._lattice.index(self._as_good_as_none(0))
        low, _, high, *_ = stopping.run(kernels.windows, self._lattice.tables, 0, 0, least)
        return 8 * int(np.maximum(high.astype(np.int64) - low + 1, 0).sum()) <= SMALL_SLICE

    # Rows.

    def _rows(self, i: int, h: int, tags: tuple[Floats, Floats, Floats], tag: Ints, s: Ints, so_far: Floats) -> Ints:
        """The row to take at each (tag, s, G) [n]."""
        beyond, best, knots = tags
        M = best[tag]
        with np.errstate(over="ignore"):
            G = so_far - beyond[tag]
        # Trials whose best returns share a slice are asked together.
        shared, group = np.unique(knots, return_inverse=True)
        group = group[tag]
        rows = np.empty(len(s), np.int64)
        means = (shared == -math.inf)[group]
        if means.any():
            rows[means] = self.mdp.mean_optimal[0][h, s[means]]
        g = self._points(h, G)
        usual = self._is_usual(h, s, g, G)
        for n in np.flatnonzero(~usual & ~means).tolist():
            rows[n] = self._unusual_row(i, h, int(s[n]), float(M[n]), float(G[n]))
        order = np.flatnonzero(usual & ~means)
        order = order[np.argsort(group[order], kind="stable")]
        cuts = np.searchsorted(group[order], np.arange(len(shared) + 1))
        for j in np.flatnonzero(np.diff(cuts)).tolist():
            these = order[cuts[j] : cuts[j + 1]]
            found = self._slice(i, float(shared[j]))
            rows[these] = self._rows_on(found, h, s[these], g[these], M[these], G[these])
        return rows

    def _unusual_row(self, i: int, h: int, s: int, M: float, G: float) -> int:
        """The row at a return that no rollout comes there with."""
        mdp, lattice = self.mdp, self._lattice
        if G + mdp.most[h, s] <= M:  # nothing can be improved
            return int(self._first_rows(h, np.array([s]))[0])
        if G + mdp.least[h, s] >= mdp.return_range[1]:  # whatever comes is worth itself
            return int(mdp.mean_optimal[0][h, s])
        g = int(self._points(h, np.array([G]))[0])
        below = math.floor(G / lattice.kappa)
        phase = 0.0 if lattice.exact and lattice.is_point(G) else G - lattice.kappa * below
        g = g if phase == 0.0 else below - lattice.tables.drift * h
        found = self._slice(i, M, (h, s, g, phase))
        return int(self._rows_on(found, h, *(np.array([x]) for x in (s, g, M, G)))[0])

    def _points(self, h: int, G: Floats) -> Ints:
        """The lattice points of returns ``G`` [n] at step ``h``: on an exact lattice the nearest, else that below."""
        lattice = self._lattice
        with np.errstate(over="ignore"):
            steps = np.clip(G / lattice.kappa, -FAR, FAR)
        whole = np.rint(steps) if lattice.exact else np.floor(steps)
        return whole.astype(np.int64) - lattice.tables.drift * h

    def _is_usual(self, h: int, s: Ints, g: Ints, G: Floats) -> Bools:
        """Whether the lattice walk of a rollout comes to each state with such a return [n], or drifts there."""
        lattice = self._lattice
        first, last = (ends[h, s].astype(np.int64) for ends in (lattice.tables.first, lattice.tables.last))
        if not lattice.exact:
            return np.maximum(g - h, first) <= np.minimum(g + 1 + h, last)
        inside = (first <= g) & (g <= last)
        inside[inside] = lattice.are_points(G[inside])
        return inside

    def _rows_on(self, found: Slice, h: int, s: Ints, g: Ints, M: Floats, G: Floats) -> Ints:
        """The row to take at each (s, M, G) [n], by a slice on which ``g`` is G's lattice point."""
        if found.lattice.exact:
            return kernels.greedy_rows(found.tables, found.layout, found.lower, h, s, g)
        _, rows = self._planes(found, h, s, M, G)
        return np.where(rows < 0, self._first_rows(h, s), rows)

    def _first_rows(self, h: int, s: Ints) -> Ints:
        """The first row of each state [n]."""
        return self.mdp.pair_start[int(self.mdp.step_layer[h]) * self.mdp.n_states + s]

    def _planes(self, found: Slice, h: int, s: Ints, M: Floats, G: Floats) -> tuple[Floats, Ints]:
        """The value and the row of the best plane at each true (s, M, G) [n]; -1 where nothing is to be done."""
        return kernels.best_planes(
            *(found.tables, found.layout, found.lattice.kappa, found.phase, found.idle[1], found.idle[2]),
            *((found.lower, found.slope_g, found.slope_m, found.choice), h, s, M - found.m, G),
        )

    def _slice(self, i: int, m: float, start: tuple[int, int, int, float] | None = None) -> Slice:
        """The slice at ``m``, from the start of the rollout or from (step, state, lattice point, phase)."""
        key = (self._curves.place(i + 1), m, start)
        found = self._slices.get(key)
        if found is None:
            lattice, after, memory = self._lattice, self._curves[i + 1], checks.memory()
            if start is None:
                found = Slice(lattice, lattice.tables, after, m, keep=True, memory=memory / 2)
            else:
                h, s, g, phase = start
                found = Slice(
                    *(lattice, lattice.tables_from(h, s), after, m),
                    shifts=(g, g), phase=phase, keep=True, memory=memory / 2,
                )  # fmt: skip
            found.keep_for_acting()
            while self._slices and self._held + found.size > memory / 4:  # the oldest goes first
                self._held -= self._slices.pop(next(iter(self._slices))).size
            self._slices[key] = found
            self._held += found.size
        return found
