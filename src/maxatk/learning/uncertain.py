"""Plans under uncertain rows: curves at all best returns, and slices with what to do, solved when they are needed."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Bools, Floats, Ints, Ints32, Number, Seed
from maxatk.base.workers import Workers
from maxatk.learning.belief import Belief
from maxatk.learning.grid import STAKES, ReturnGrid
from maxatk.learning.tuning import TUNING
from maxatk.policies import CompressedPolicy, Policy, Traits, Trial
from maxatk.problem.rows import offsets

BELOW, MEAN, ABOVE = -1, 0, 1  # the side from which rows are bounded


class UncertainPlan:
    """The value of ``k`` rollouts under a belief: from above, from below, or as if it were the truth.

    Args:
        grid: the grid of returns.
        k: the number of rollouts.
        belief: what is believed of the rows.
        side: from where rows are bounded.
        jumps: the rewards that can occur as far as was seen, in steps; those of the belief by default.
        knots: the best returns, in steps, at which the curve of a rollout is computed; the grid's own by default.
    """

    def __init__(
        self,
        grid: ReturnGrid,
        k: int,
        belief: Belief,
        side: int,
        *,
        jumps: Ints | None = None,
        knots: Callable[[int], Ints] | None = None,
    ) -> None:
        self.grid, self.k, self.belief, self._side = grid, k, belief, side
        known = grid.known
        cells = known.horizon * known.n_states * grid.width
        checks.fits_in_memory(4 * cells + 16 * known.n_states * grid.width, f"a slice of {cells} cells")
        if jumps is None:
            jumps = np.concatenate([belief.jump, belief.jump[belief.part > 0] + 1])
        self._rows = kernels.UncertainRows(
            step_layer=known.step_layer,
            pair_start=known.pair_start,
            sampled=kernels.Sampled(
                first=offsets(np.bincount(belief.row, minlength=known.n_rows)),
                prob=belief.prob,
                next_state=belief.next_state,
                jump=belief.jump,
                part=belief.part,
            ),
            risk=belief.risk,
            rise=grid.rises,
            start_state=belief.start_state,
            start_prob=belief.start_prob,
            can_terminate=known.can_terminate,
            last_is_certain=known.rewards is not None,
            cells=grid.cells(jumps),
        )
        span = grid.kappa * (grid.top - grid.first)
        self._stakes = (
            grid.kappa * grid.top + span * STAKES if side == ABOVE else np.sort(grid.kappa * grid.first - span * STAKES)
        )
        self.used: Bools = np.zeros((known.horizon, known.n_rows), np.bool_)  # [H, N] rows that some cell takes
        self._shape = known.horizon, known.n_states, grid.width
        self._slices: dict[tuple[int, int], Ints32] = {}  # by the curve that follows and the best return
        self._lows: dict[int, list[int]] = {}  # by best return
        self._standing: list[Ints] = []  # [top - first + 1] by the curve that follows: where a policy from below stands
        # From the last rollout's on, until they no longer differ:
        self._curves: list[Floats] = [grid.kappa * np.arange(grid.first, grid.last + 1, dtype=np.float64)]
        for i in range(k - 1, 0, -1):
            curve = self._curve(grid.knots() if knots is None else knots(i))
            if np.array_equal(curve, self._curves[-1]):
                break
            if len(self._curves) == TUNING.most_curves:
                raise InputError(
                    f"k {k} is too large to learn by playing: more than {TUNING.most_curves} rollouts differ"
                )
            self._curves.append(curve)
        self.value = self._solve(0, grid.first)[1]

    def _curve(self, knots: Ints) -> Floats:
        """The curve before the last one, at all points: computed at knots, and bounded between them."""
        grid, after = self.grid, self._curves[-1]
        lows = np.array([grid.low(m) for m in knots.tolist()])

        def values(some: slice) -> Floats:
            ms = (lows[some], knots[some], grid.first)
            return stopping.run(kernels.uncertain_curve, self._side, self._rows, *ms, after, self._stakes, self.used)

        if len(knots) * math.prod(self._shape) < TUNING.large_curve:
            bounds = values(slice(None))
        else:
            bounds = np.concatenate(Workers().map(values, [slice(n, n + 1) for n in range(len(knots))]))
        ends = np.append(knots, grid.top), np.append(bounds, grid.kappa * grid.top)
        every = np.arange(grid.first, grid.top + 1)
        curve = self._curves[0].copy()  # beyond the top a best return is its own value
        curve[: len(every)] = np.interp(every, *ends)
        if self._side == BELOW:
            # A chord does not bound from below. The best of the knots before does, if the policy takes the best return
            # for that knot: what follows is then at least what follows from there.
            best = np.maximum.accumulate(ends[1])
            rises = np.maximum.accumulate(np.where(ends[1] == best, np.arange(len(best)), 0))
            before = rises[np.searchsorted(ends[0], every, side="right") - 1]
            curve[: len(every)] = ends[1][before]
            self._standing.append(ends[0][before])
        return curve

    def _following(self, i: int) -> int:
        """Which curve follows rollout ``i``: one stands for all that no longer differ."""
        return min(self.k - 1 - i, len(self._curves) - 1)

    def _solve(self, i: int, m: int) -> tuple[Ints32, float]:
        choice = np.empty(self._shape, np.int32)
        value = self._swept(False, m, self._curves[self._following(i)], choice)
        self._slices[self._following(i), m] = choice
        return choice, value

    def _swept(self, follow: bool, m: int, after: Floats, choice: Ints32) -> float:
        """The value of a rollout from best return ``m``, with the curve that follows it."""
        cells = (self.grid.low(m), m, after[m - self.grid.first :])
        return float(
            stopping.run(
                *(kernels.uncertain_slice, self._side, follow, self._rows, *cells, self._stakes, self.used, choice)
            )
        )

    def slice(self, i: int, m: int) -> Ints32:
        """The rows to take in rollout ``i`` with best return ``m``, in steps: [H, S, width]."""
        choice = self._slices.get((self._following(i), m))
        return self._solve(i, m)[0] if choice is None else choice

    def value_of(self, policy: "UncertainPlan") -> float:
        """The value of another plan's policy under this one's belief, whatever ``k`` this one is for.

        That one is not from below, so that it takes every best return for itself. The value is computed at all best
        returns, since it may be anything between two.
        """
        grid, after = self.grid, self._curves[0]
        for i in range(policy.k - 1, -1, -1):
            values = after.copy()
            for m in range(grid.first, grid.top if i else grid.first + 1):
                values[m - grid.first] = self._swept(True, m, after, policy.slice(i, m).copy())
            if i and np.array_equal(values, after) and policy._following(i) == policy._following(0):
                break  # and so on, whatever the number of rollouts before
            after = values
        return float(after[0])

    def _stands(self, i: int, m: int) -> int:
        """What the policy takes the best return ``m`` for in rollout ``i``: from below, a knot that promises most."""
        following = self._following(i)
        if i == 0 or following >= len(self._standing):
            return m
        return int(self._standing[following][m - self.grid.first])

    def _low(self, m: int, h: int) -> int:
        """The least return at step ``h`` that can still beat ``m``, in steps."""
        lows = self._lows.get(m)
        if lows is None:
            lows = self._lows[m] = self.grid.low(m).tolist()
        return lows[h]

    def row(self, i: int, h: int, s: int, m: int, g: int) -> int:
        """The row to take at best return ``m`` and return so far ``g``, in steps; -1 where nothing can be improved."""
        if m >= self.grid.top:
            return -1
        m = self._stands(i, max(m, self.grid.first))
        low = self._low(m, h)
        if g < low:
            return -1
        return int(self.slice(i, m)[h, s, min(g, int(self.grid.high[h])) - low])


class UncertainPolicy(CompressedPolicy):
    """Acts as a plan under uncertain rows says; where nothing can be improved it takes a state's first action."""

    def __init__(self, plan: UncertainPlan) -> None:
        known = plan.grid.known
        super().__init__(plan.k, known.horizon, known.best_so_far)
        self._plan, self._checked = plan, known
        self._traits = Traits(in_floats=True, n_states=known.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self._checked.n_states - 1)
        M, G = checks.incumbent(best, "best"), checks.exact_number(so_far, "so_far")
        grid = self._plan.grid
        row = self._plan.row(i, h, s, grid.first if -math.inf == M else grid.index(M), grid.index(G))
        return int(self._checked.action[self._checked.row_at(h, s, -1) if row < 0 else row])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        grid, known = self._plan.grid, self._checked
        steps = np.clip(np.stack([best, so_far]) / grid.kappa, -(2.0**62), 2.0**62)  # whatever is asked
        m, g = np.floor(steps + 1e-9).astype(np.int64)
        m[best == -math.inf] = grid.first
        alike, places = np.unique(np.stack([m, state, g]), axis=1, return_inverse=True)
        cells: list[list[int]] = alike.T.tolist()
        rows = [self._plan.row(rollout, step, s, m, g) for m, s, g in cells]
        first = [known.row_at(step, s, -1) for _, s, _ in cells]
        return known.action[np.where(np.array(rows) < 0, first, rows)][places.ravel()].astype(np.int64)


def policy_of(plan: UncertainPlan) -> Policy:
    """What a plan does, as a policy: it remembers returns as the plan counts them."""
    return DrawnMemoryPolicy(plan) if plan.grid.rounds else UncertainPolicy(plan)


class DrawnMemoryPolicy(Policy):
    """Acts as a plan under uncertain rows says, and remembers rewards rounded at random to the plan's grid.

    So it plays the very problem that the plan is about. It is asked by its trials alone: M and G do not say what it
    remembers.
    """

    def __init__(self, plan: UncertainPlan) -> None:
        known = plan.grid.known
        super().__init__(plan.k, known.horizon, known.best_so_far)
        self._plan = plan
        self._traits = Traits(n_states=known.n_states)

    def begin(self, rng: Seed = None) -> "DrawnMemoryTrial":
        """A new trial, which rounds rewards by what it draws from ``rng``, or from a fresh generator."""
        return DrawnMemoryTrial(self, self._plan, checks.generator(rng))


class DrawnMemoryTrial(Trial):
    """A trial that remembers M and G in steps of a grid."""

    def __init__(self, policy: DrawnMemoryPolicy, plan: UncertainPlan, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self._plan, self._rng = plan, rng
        self._m, self._g = plan.grid.first, 0

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as they are remembered."""
        return self._plan.grid.kappa * self._m, self._plan.grid.kappa * self._g

    def _choose(self, state: Any) -> int:
        known = self._plan.grid.known
        s = checks.integer(state, "state", most=known.n_states - 1)
        row = self._plan.row(self.rollout, self.step, s, self._m, self._g)
        return int(known.action[known.row_at(self.step, s, -1) if row < 0 else row])

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._g += self._plan.grid.rounded(float(reward), 1, self._rng)[0][0]
        if over:
            self._m, self._g = max(self._m, min(self._g, self._plan.grid.top)), 0
