"""Acting on slices that are solved again from curves."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import checks, kernels
from maxatk.checks import Number
from maxatk.errors import InputError
from maxatk.mdp import MDP
from maxatk.planning.curves import Curve
from maxatk.planning.lattice import Lattice, Slice
from maxatk.policies import CompressedPolicy, Rule
from maxatk.returns import Amounts
from maxatk.rows import Floats, Ints

SMALL_SLICE = 2**23  # bytes


class SlicePolicy(CompressedPolicy):
    """Acts on the slice of the tangent that is active at the true best return.

    Each slice is solved when it is first needed, and kept while there is room; one that would take more than half of
    this machine's memory is refused with :class:`maxatk.TooLargeError`.

    Args:
        lattice: the problem.
        curves: ``U_0`` to ``U_K``, of which the first is only a stand-in.
        start: the best return that stands for the incumbent in the first rollout.
        best_so_far: the incumbent, or ``-inf``.
    """

    def __init__(
        self, lattice: Lattice, curves: Sequence[Curve], start: float, best_so_far: Number = -math.inf
    ) -> None:
        super().__init__(len(curves) - 1, lattice.mdp.horizon, best_so_far)
        self._lattice, self._curves, self._start = lattice, curves, start
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
        s = checks.integer(state, "state", most=self._lattice.mdp.n_states - 1)
        G = float(checks.exact_number(so_far, "so_far"))
        row = self._row(i, h, s, float(self._effective(i, float(checks.incumbent(best, "best")))), G)
        return int(self._lattice.mdp.action[row])

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """The same for many trials at once, slice by slice."""
        mdp, S = self._lattice.mdp, self._lattice.mdp.n_states
        bests = self._effective(rollout, best.floats())
        # Trials whose best returns share a slice are asked together.
        shared, group_of_tag = np.unique(self._knots(rollout, bests), return_inverse=True)

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            if state.max(initial=0) >= S:
                raise InputError(f"the policy was planned for {S} states, and is asked about state {state.max()}")
            M, G, group = bests[tag], so_far.floats(), group_of_tag[tag]
            g = self._points(step, G)
            usual = self._is_usual(step, state, g, G)
            rows = np.empty(len(state), np.int64)
            for k in np.flatnonzero(~usual).tolist():
                rows[k] = self._row(rollout, step, int(state[k]), float(M[k]), float(G[k]))
            order = np.flatnonzero(usual)
            order = order[np.argsort(group[order], kind="stable")]
            cuts = np.searchsorted(group[order], np.arange(len(shared) + 1))
            for j in np.flatnonzero(np.diff(cuts)).tolist():
                these = order[cuts[j] : cuts[j + 1]]
                found = self._slice(rollout, float(shared[j]))
                rows[these] = self._rows(found, step, state[these], g[these], M[these], G[these])
            return mdp.action[rows].astype(np.int64)

        return act

    def best_plane(self, i: int, h: int, s: int, M: float, G: float) -> tuple[float, int]:
        """Off an exact lattice: what the plane that the policy follows promises at the true (M, G), and its row or -1.

        The winner's value is an average of planes at what may come next, each at most the best plane there: what is
        promised never falls, and at the end of the rollout it is at most the next curve (docs/theory/planner.md, 8).
        """
        found, _ = self._slice_at(i, h, s, M, G)
        promised, rows = self._planes(found, h, np.array([s]), np.array([M]), np.array([G]))
        return float(promised[0]), int(rows[0])

    def _effective(self, i: int, M: Any) -> Any:
        """A best return that no rollout can fall short of, or on which the next curve is flat, is as good as none."""
        flat = self._curves[i + 1].flat_to
        return np.maximum(M, max(self._lattice.mdp.return_range[0], flat if flat < math.inf else -math.inf))

    def _knots(self, i: int, M: Floats) -> Floats:
        """The best returns of the slices to act on [n]: the knots whose tangents are active.

        On an exact lattice they are the true ones while slices are small: the slice there is worth at least every
        tangent, but there are more of them.
        """
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
        tables = self._lattice.tables
        least = self._lattice.index(float(self._effective(0, -math.inf)))
        low, _, high, *_ = kernels.windows(tables, 0, 0, least)
        return 8 * int(np.maximum(high.astype(np.int64) - low + 1, 0).sum()) <= SMALL_SLICE

    def _row(self, i: int, h: int, s: int, M: float, G: float) -> int:
        found, g = self._slice_at(i, h, s, M, G)
        return int(self._rows(found, h, *(np.array([x]) for x in (s, g, M, G)))[0])

    def _slice_at(self, i: int, h: int, s: int, M: float, G: float) -> tuple[Slice, int]:
        """The slice that holds a return ``G`` of state ``s`` at step ``h``, and the lattice point of ``G`` on it.

        Where no rollout comes there with such a return, a slice is solved from there alone: answer all the same.
        """
        lattice = self._lattice
        g = int(self._points(h, np.array([G]))[0])
        if self._is_usual(h, np.array([s]), np.array([g]), np.array([G]))[0]:
            return self._slice(i, float(self._knots(i, np.array([M]))[0])), g
        below = math.floor(G / lattice.kappa)
        phase = 0.0 if lattice.exact and lattice.is_point(G) else G - lattice.kappa * below
        g = g if phase == 0.0 else below - lattice.tables.drift * h
        return self._slice(i, M, (h, s, g, phase)), g

    def _points(self, h: int, G: Any) -> Any:
        """The lattice points of returns ``G`` [n] at step ``h``: on an exact lattice the nearest, else that below."""
        lattice = self._lattice
        steps = np.rint(G / lattice.kappa) if lattice.exact else np.floor(G / lattice.kappa)
        return steps.astype(np.int64) - lattice.tables.drift * h

    def _is_usual(self, h: int, s: Any, g: Any, G: Any) -> Any:
        """Whether the lattice walk of a rollout comes to each state with such a return [n], or drifts there."""
        lattice = self._lattice
        first, last = lattice.tables.first[h, s], lattice.tables.last[h, s]
        if lattice.exact:
            return (first <= g) & (g <= last) & lattice.are_points(G)
        return np.maximum(g - h, first) <= np.minimum(g + 1 + h, last)

    def _rows(self, found: Slice, h: int, s: Any, g: Any, M: Any, G: Any) -> Any:
        """The row to take at each (s, M, G) [n], by a slice on which ``g`` is G's lattice point."""
        if found.lattice.exact:
            return kernels.greedy_rows(found.tables, found.layout, found.lower, h, s, g)
        _, rows = self._planes(found, h, s, M, G)
        mdp = self._lattice.mdp
        return np.where(rows < 0, mdp.pair_start[int(mdp.step_layer[h]) * mdp.n_states + s], rows)

    def _planes(self, found: Slice, h: int, s: Any, M: Any, G: Any) -> Any:
        """The value and the row of the best plane at each true (s, M, G) [n]."""
        return kernels.best_planes(
            *(found.tables, found.layout, found.lattice.kappa, found.phase, found.idle[1], found.idle[2]),
            *((found.lower, found.slope_g, found.slope_m, found.choice), h, s, M - found.m, G),
        )

    def _slice(self, i: int, m: float, start: tuple[int, int, int, float] | None = None) -> Slice:
        """The slice at ``m``, from the start of the rollout or from (step, state, lattice point, phase)."""
        key = (i, m, start)
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
