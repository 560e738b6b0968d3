"""Plans under uncertain rows: curves at all best returns, and slices with what to do, solved when they are needed."""

import math
from typing import NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Ints32, Number
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.online.points import Points
from maxatk.learning.optimism import STAKES
from maxatk.learning.tuning import TUNING
from maxatk.policies import CompressedPolicy, Traits
from maxatk.problem.rows import offsets

BELOW, MEAN, ABOVE = -1, 0, 1  # ways of judging a row


class Belief(NamedTuple):
    """What is believed of all rows: shares of a sample, or a draw from a posterior, and how uncertain they are."""

    row: Ints  # [T] rising
    next_state: Ints  # [T] n_states where the rollout ends
    jump: Ints  # [T] rewards in lattice steps
    prob: Floats  # [T] each row's sum to 1
    start_state: Ints  # [n]
    start_prob: Floats  # [n]
    risk: Floats  # [N + 1] ln(1/delta') / n of each row, and of starts; infinite where nothing was seen


class Swept:
    """What ``k`` rollouts are worth under a belief: from above, from below, or as if it were the truth.

    Args:
        points: the lattice of returns.
        k: the number of rollouts.
        belief: what is believed of the rows.
        way: how rows are judged.
        jumps: the rewards that can occur as far as was seen, in lattice steps; those of the belief by default.
    """

    def __init__(self, points: Points, k: int, belief: Belief, way: int, jumps: Ints | None = None) -> None:
        self.points, self.k, self.belief, self._way = points, k, belief, way
        setting = points.setting
        cells = setting.horizon * setting.n_states * points.width
        checks.fits_in_memory(4 * cells + 16 * setting.n_states * points.width, f"a slice of {cells} cells")
        self._rows = kernels.UncertainRows(
            step_layer=setting.step_layer,
            pair_start=setting.pair_start,
            outcome_start=offsets(np.bincount(belief.row, minlength=setting.n_rows)),
            prob=belief.prob,
            next_state=belief.next_state,
            jump=belief.jump,
            risk=belief.risk,
            start_state=belief.start_state,
            start_prob=belief.start_prob,
            rise=points.rise,
            can_terminate=setting.can_terminate,
            highest=points.highest,
            reached=points.reached(belief.jump if jumps is None else jumps),
            base=points.low(points.first),
        )
        self._high = points.high
        span = points.kappa * (points.top - points.first)
        self._stakes = (
            points.kappa * points.top + span * STAKES
            if way == ABOVE
            else np.sort(points.kappa * points.first - span * STAKES)
        )
        self._shape = setting.horizon, setting.n_states, points.width
        self._slices: dict[tuple[int, int], Ints32] = {}  # by the curve that follows and the best return
        every = np.arange(points.first, points.top + 1)
        self._curves = [points.kappa * every]  # from the last to the first, until they no longer differ
        knots = points.knots()
        lows, scratch = np.array([points.low(m) for m in knots.tolist()]), np.empty(self._shape, np.int32)
        for _ in range(k - 1):
            values = stopping.run(
                *(kernels.uncertain_curve, way, self._rows, lows, self._high, knots, self._curves[-1], self._stakes),
                scratch,
            )
            ends = np.append(knots, points.top), np.append(values, points.kappa * points.top)
            curve = np.interp(every, *ends)
            if way == BELOW:  # a chord is no lower bound; the knot before is
                curve = ends[1][np.searchsorted(ends[0], every, side="right") - 1]
            if np.array_equal(curve, self._curves[-1]):
                break
            if len(self._curves) == TUNING.most_curves:
                raise InputError(
                    f"k {k} is too large to learn by playing: more than {TUNING.most_curves} rollouts differ"
                )
            self._curves.append(curve)
        self.value = self._solve(0, points.first)[1]

    def _following(self, i: int) -> int:
        """Which curve follows rollout ``i``: one stands for all that no longer differ."""
        return min(self.k - 1 - i, len(self._curves) - 1)

    def _solve(self, i: int, m: int) -> tuple[Ints32, float]:
        choice = np.empty(self._shape, np.int32)
        end = self._curves[self._following(i)][m - self.points.first :]
        value = stopping.run(
            *(
                kernels.uncertain_slice,
                self._way,
                False,
                self._rows,
                self.points.low(m),
                self._high,
                m,
                end,
                self._stakes,
            ),
            choice,
        )
        self._slices[self._following(i), m] = choice
        return choice, float(value)

    def slice(self, i: int, m: int) -> Ints32:
        """The rows to take in rollout ``i`` with best return ``m``, in steps: [H, S, width]."""
        choice = self._slices.get((self._following(i), m))
        return self._solve(i, m)[0] if choice is None else choice

    def value_of(self, policy: "Swept") -> float:
        """What another plan's policy is worth under this one's belief: at all best returns, since it may be anything
        between two."""
        points = self.points
        after = self._curves[0]
        for i in range(self.k - 1, -1, -1):
            values = after.copy()
            for m in range(points.first, points.top if i else points.first + 1):
                values[m - points.first] = stopping.run(
                    *(kernels.uncertain_slice, self._way, True, self._rows, points.low(m), self._high, m),
                    *(after[m - points.first :], self._stakes, policy.slice(i, m).copy()),
                )
            if i and np.array_equal(values, after) and policy._following(i) == policy._following(0):
                break  # and so on, whatever the number of rollouts before
            after = values
        return float(after[0])

    def row(self, i: int, h: int, s: int, m: int, g: int) -> int:
        """The row to take at best return ``m`` and return so far ``g``, in steps; -1 where nothing can be improved."""
        if m >= self.points.top:
            return -1
        m = max(m, self.points.first)
        low = int(self.points.low(m)[h])
        if g < low:
            return -1
        return int(self.slice(i, m)[h, s, min(g, int(self._high[h])) - low])


class SweptPolicy(CompressedPolicy):
    """Acts as a swept plan says; where nothing can be improved it takes a state's first action."""

    def __init__(self, swept: Swept) -> None:
        setting = swept.points.setting
        super().__init__(swept.k, setting.horizon, setting.best_so_far)
        self._swept, self._setting = swept, setting
        self._traits = Traits(in_floats=True, n_states=setting.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self._setting.n_states - 1)
        M, G = checks.incumbent(best, "best"), checks.exact_number(so_far, "so_far")
        m = self._swept.points.first if -math.inf == M else self._swept.points.index(M)
        row = self._swept.row(i, h, s, m, self._swept.points.index(G))
        if row < 0:
            row = self._setting.row_at(h, s, -1)
        return int(self._setting.action[row])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        points, setting = self._swept.points, self._setting
        steps = np.clip(np.stack([best, so_far]) / points.kappa, -(2.0**62), 2.0**62)  # whatever is asked
        m, g = np.floor(steps + 1e-9).astype(np.int64)
        m[best == -math.inf] = points.first
        alike, places = np.unique(np.stack([m, state, g]), axis=1, return_inverse=True)
        cells: list[list[int]] = alike.T.tolist()
        rows = [self._swept.row(rollout, step, s, m, g) for m, s, g in cells]
        first = [setting.row_at(step, s, -1) for _, s, _ in cells]
        return setting.action[np.where(np.array(rows) < 0, first, rows)][places.ravel()].astype(np.int64)


def shares(setting: CheckedEpisodes, counts: Ints, starts: Ints) -> tuple[Floats, Ints, Floats]:
    """How often each row and the start were seen [N + 1], and the start: known, or as it was seen."""
    if setting.start is not None:
        return np.append(counts, math.inf).astype(np.float64), *setting.start
    seen = np.flatnonzero(starts)
    total = int(starts.sum())
    return np.append(counts, total).astype(np.float64), seen, starts[seen] / max(total, 1)
