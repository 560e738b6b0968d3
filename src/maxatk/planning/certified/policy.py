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
from maxatk.planning.certified.slice_tables import Served, ServedOne, Slice, SliceTables
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
        own = ("_tables", "_slices", "_lately")  # a copy solves its own slices
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

    @cached_property
    def _lately(self) -> dict[tuple[int, float], ServedOne]:
        """What serves the best returns of each rollout that were asked about one by one."""
        return {}

    @property
    def _slice_size(self) -> int:
        """About so many bytes are kept of a slice, at most."""
        return self._tables.cells * self._method.bytes_kept

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self.mdp.n_states - 1)
        M, G = checks.nearest_return(best, "best", none=True), checks.nearest_return(so_far, "so_far")
        row = self._row(h, s, self._serve_one(i, M), G)
        return ABANDON if row < 0 else int(self.mdp.action[row])

    def _serve_one(self, rollout: int, best: float) -> ServedOne:
        """What serves one best return: a trial asks about the same one for a whole rollout."""
        one = self._lately.get((rollout, best))
        if one is None:
            if len(self._lately) >= TUNING.lately_served:
                self._lately.clear()
            one = self._lately[rollout, best] = self._tables.serve(rollout, np.array([best])).one()
        return one

    def _row(self, h: int, s: int, one: ServedOne, so_far: float) -> int:
        """:meth:`_rows` of one state."""
        if one.slice.m == -math.inf:
            return int(self.mdp.analysis.mean_optimal[0][h, s])
        method, G = self._method, so_far - one.beyond
        g = method.lattice.point(h, G)
        if not method.comes_to_one(h, s, g, G):
            return self._unusual_row(one.slice.place, h, s, one.best, G)
        return self._slices[one.slice].row(h, s, g + one.steps, one.best + one.shift, G + one.shift)

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        """The same at [n] states and returns, slice by slice."""
        bests, tag = np.unique(best, return_inverse=True)
        return self._actions_of(self._rows(step, self._tables.serve(rollout, bests), tag.ravel(), state, so_far))

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        """The same for many trials at once; where slices are large, for those of one slice after the other."""
        served = self._tables.serve(rollout, best.floats())

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            return self._actions_of(self._rows(step, served, tag, self._known(state), so_far.floats()))

        few = self._traits.repeated or self._slice_size * FEW <= TUNING.held_slices
        side_by_side = few or all(self._slices.recorded(one) is not None for one in served.slices[0])
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
            return self._method.problem.idle_row(h, s)
        if G + mdp.analysis.least[h, s] >= mdp.return_range[1]:  # whatever comes counts for itself
            return int(mdp.analysis.mean_optimal[0][h, s])
        g, phase = self._method.lattice.place(h, G)
        return self._slices[Slice(place, M, start=(h, s, g, phase))].row(h, s, g, M, G)
