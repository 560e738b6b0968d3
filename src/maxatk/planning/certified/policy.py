"""Acting on slices that are solved again from curves."""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.returns import Amounts
from maxatk.base.types import Floats, Ints, Number
from maxatk.planning.certified.curves import Curves
from maxatk.planning.certified.kept_slices import KeptSlices
from maxatk.planning.certified.slice_tables import Served, Slice, SliceTables
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.tuning import TUNING
from maxatk.policies import ABANDON, CompressedPolicy, Rule, Traits
from maxatk.problem.mdp import MDP

FEW = 16  # slices that are kept for sure, so that trials on them may go side by side


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
        self._method, self._curves, self._start = method, curves, start
        self._traits = Traits(
            independent=repeats_mean,
            repeated=repeats_mean,
            in_floats=True,
            resolution=Fraction(0) if method.exact else Fraction(method.lattice.kappa) / 10**6,
            n_states=method.mdp.n_states,
        )

    @property
    def mdp(self) -> MDP:
        """The problem that the policy was planned for."""
        return self._method.mdp

    def __getstate__(self) -> dict[str, Any]:
        own = ("_tables", "_slices")  # a copy solves its own slices
        return {name: value for name, value in vars(self).items() if name not in own}

    @cached_property
    def _tables(self) -> SliceTables:
        """Which slice serves which best return."""
        return SliceTables(
            *(self._method, self._curves, self._start),
            max(float(self.best_so_far), self._method.problem.flat_below),
            float(self.stop_at),
            repeats_mean=self._traits.repeated,
        )

    @cached_property
    def _slices(self) -> KeptSlices:
        return KeptSlices(self._method, self._curves, self._slice_size)

    @property
    def _slice_size(self) -> int:
        """About so many bytes are kept of a slice, at most."""
        return self._tables.cells * self._method.bytes_kept

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self.mdp.n_states - 1)
        M, G = float(checks.incumbent(best, "best")), float(checks.exact_number(so_far, "so_far"))
        return int(self._answers(i, h, np.array([s]), np.array([M]), np.array([G]))[0])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        """The same at [n] states and returns, slice by slice."""
        bests, tag = np.unique(best, return_inverse=True)
        return self._actions_of(self._rows(step, self._tables.serve(rollout, bests), tag.ravel(), state, so_far))

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        """The same for many trials at once; where slices are large, for those of one slice after the other."""
        served = self._tables.serve(rollout, best.floats())

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            return self._actions_of(self._rows(step, served, tag, self._known(state), so_far.floats()))

        side_by_side = self._traits.repeated or self._slice_size * FEW <= TUNING.held_slices
        return Rule(act, None if side_by_side else served.slices[1])

    def _actions_of(self, rows: Ints) -> Ints:
        """The actions of rows [n], where -1 is to give up."""
        return np.where(rows < 0, ABANDON, self.mdp.action[rows]).astype(np.int64)

    def _rows(self, h: int, served: Served, tag: Ints, s: Ints, so_far: Floats) -> Ints:
        """The row to take at each (tag, s, G) [n]; -1 where to give up."""
        M = served.best[tag]
        with np.errstate(over="ignore"):
            G = so_far - served.beyond[tag]
        # Trials whose best returns share a slice are asked together.
        slices, places = served.slices
        group: Ints = places[tag]
        rows = np.empty(len(s), np.int64)
        means = served.knot[tag] == -math.inf
        rows[means] = self.mdp.analysis.mean_optimal[0][h, s[means]]
        g = self._method.lattice.points(h, G)
        usual = self._method.comes_to(h, s, g, G)
        for n in np.flatnonzero(~usual & ~means).tolist():
            rows[n] = self._unusual_row(int(served.place[tag[n]]), h, int(s[n]), float(M[n]), float(G[n]))
        order = np.flatnonzero(usual & ~means)
        order = order[np.argsort(group[order], kind="stable")]
        cuts = np.searchsorted(group[order], np.arange(len(slices) + 1))
        needed = np.flatnonzero(np.diff(cuts)).tolist()
        self._slices.prepare([slices[j] for j in needed])
        for j in needed:
            these = order[cuts[j] : cuts[j + 1]]
            at, shift = g[these] + served.steps[tag[these]], served.shift[tag[these]]
            rows[these] = self._slices[slices[j]].rows(h, s[these], at, M[these] + shift, G[these] + shift)
        return rows

    def _unusual_row(self, place: int, h: int, s: int, M: float, G: float) -> int:
        """The row at a return that no rollout comes there with."""
        mdp = self.mdp
        if G + mdp.analysis.most[h, s] <= M:  # nothing can be improved
            return int(self._method.problem.idle_rows(h, np.array([s]))[0])
        if G + mdp.analysis.least[h, s] >= mdp.return_range[1]:  # whatever comes counts for itself
            return int(mdp.analysis.mean_optimal[0][h, s])
        g, phase = self._method.lattice.place(h, G)
        acting = self._slices[Slice(place, M, start=(h, s, g, phase))]
        return int(acting.rows(h, *(np.array([x]) for x in (s, g, M, G)))[0])
