"""The sweep of a slice under uncertain rows: what a rollout is expected to come to, and what to do in it.

Returns are counted in steps of a grid. A state at step ``h`` with return ``j < low[h]`` cannot beat ``m`` any more and
is *idle*: its value is what the next curve gives at ``m``. A row has one of three values: its mean; a bound from above,
the bet ``x - e^-risk G(x - V)``, where ``G`` is the geometric mean over the sample and no value exceeds ``x``, seen or
not; or one from below, the mirror image ``y + e^-risk G(V - y)``. A reward between two points of the
grid has the chord of the values at both, which bounds convex values from above. docs/theory/learning.md, 3, and
docs/theory/online.md, 2 and 6.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled


class Sampled(NamedTuple):
    """Shares of outcomes by row: those of row ``n`` stand from ``first[n]`` to ``first[n + 1]``."""

    first: Any  # [N + 1]
    prob: Any  # [T] each row's sum to 1, or there are none
    next_state: Any  # [T] S where the rollout ends
    jump: Any  # [T] the reward in steps of the grid, rounded down
    part: Any  # [T] what is left of it, 0 <= part < 1


class Cells(NamedTuple):
    """The partial returns that a sweep visits: by step, up to ``high``, those that are ``reached``."""

    high: Any  # [H + 1]
    highest: int  # what no partial return exceeds at any step
    base: Any  # [H + 1] the return that the first column of ``reached`` stands for
    reached: Any  # [H + 1, width] which returns rollouts can come to with rewards that were seen, or the greatest


class UncertainRows(NamedTuple):
    """What is believed of every row, on a grid of returns."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    sampled: Sampled
    risk: Any  # [N + 1] ln(1/delta') / n, of starts at the end; infinite where nothing was seen
    rise: Any  # [N] the greatest reward that the row can bring, in steps, rounded up
    start_state: Any  # [n]
    start_prob: Any  # [n]
    can_terminate: bool  # whether a rollout may end before the last step
    last_is_certain: bool  # whether the reward of the last step is known
    cells: Cells


@compiled
def betting_value(value: Any, prob: Any, n: int, stake: float, risk: float, sign: float) -> float:
    """The betting bound on a mean from above (``sign`` 1) or from below (-1): as ``base.betting.betting_bound``."""
    total = -risk
    for k in range(n):
        total += prob[k] * np.log(max(sign * (stake - value[k]), 0.0))
    return stake - sign * np.exp(total)


@compiled
def row_value(side: int, value: Any, prob: Any, n: int, risk: float, least: float, most: float, stakes: Any) -> float:
    """The value of a row with ``n`` outcomes of these values: its mean (0), at most (1) or at least (-1).

    ``least`` and ``most`` bound all that can happen; ``stakes`` rise.
    """
    if risk == np.inf:
        return most if side == 1 else least
    mean = 0.0
    for k in range(n):
        mean += prob[k] * value[k]
    if side == 0 or risk == 0.0:
        return mean
    variance, highest, lowest = 0.0, mean, mean  # of what was seen
    for k in range(n):
        variance += prob[k] * (value[k] - mean) ** 2
        highest, lowest = max(highest, value[k]), min(lowest, value[k])
    far = np.sqrt(0.5 * variance / risk)
    if side == 1:
        # Above what was seen by a tenth of what the mean lacks: a stake that a seen outcome reaches would say nothing.
        wanted = max(most, highest + 0.1 * (most - mean), mean + far)
        stake = stakes[min(np.searchsorted(stakes, wanted), stakes.shape[0] - 1)]
        return min(betting_value(value, prob, n, stake, risk, 1.0), most)
    wanted = min(least, lowest - 0.1 * (mean - least), mean - far)
    stake = stakes[max(np.searchsorted(stakes, wanted, side="right") - 1, 0)]
    return max(betting_value(value, prob, n, stake, risk, -1.0), least)


@compiled
def uncertain_slice(
    side: int,
    follow: bool,
    rows: UncertainRows,
    low: Any,
    m: int,
    end: Any,
    stakes: Any,
    used: Any,
    choice: Any,
    stop: Any,
) -> float:
    """The value of a rollout that starts with best return ``m``; the rows to take go to ``choice`` [H, S, width].

    Where ``choice`` is empty they go nowhere; with ``follow`` they are taken from there: the value of a given policy.
    The rows taken anywhere are marked in ``used`` [H, N].

    ``end[j - m]`` is the value of a rollout that ends with return ``j >= m``, up to the greatest best return. Step
    ``h`` has the cells ``low[h] .. high[h]`` [H + 1], of which those that cannot be reached are left out: -1. Of equal
    rows the one that was seen least is taken.
    """
    pair_start, cells = rows.pair_start, rows.cells
    first_of, prob, next_state, jump, part = rows.sampled
    high, highest = cells.high, cells.highest
    H = rows.step_layer.shape[0]
    S = (pair_start.shape[0] - 1) // (np.max(rows.step_layer) + 1)
    records = choice.shape[0] > 0
    widest, longest, last_end = 1, rows.start_state.shape[0], end.shape[0] - 1
    for h in range(H):
        widest = max(widest, high[h] - low[h] + 1)
    for row in range(first_of.shape[0] - 1):
        longest = max(longest, first_of[row + 1] - first_of[row])
    idle = end[0]
    least = np.min(end) if side == -1 else idle  # a given policy may be worse with a better return in hand
    here, after = np.empty((S, widest)), np.empty((S, widest))
    best_after, value = np.empty(widest), np.empty(max(longest, 1))
    for h in range(H - 1, -1, -1):
        last = h == H - 1
        node, following = rows.step_layer[h] * S, low[h + 1]
        for j in range(low[h], high[h] + 1):
            if stop[0] != 0:
                return 0.0
            if not cells.reached[h, j - cells.base[h]]:
                if records:
                    choice[h, :, j - low[h]] = -1
                continue
            for s in range(S):
                best, taken = -np.inf, -1
                for row in range(pair_start[node + s], pair_start[node + s + 1]):
                    if follow and row != choice[h, s, j - low[h]]:
                        continue
                    # All that can happen at all: the best state, or an end, with the greatest reward.
                    peak = min(j + rows.rise[row], highest)
                    most = idle
                    if last or rows.can_terminate:
                        most = end[min(max(peak - m, 0), last_end)]
                    if not last and peak >= following:
                        most = max(most, best_after[peak - following])
                    most = min(most, end[last_end])
                    first = first_of[row]
                    n = first_of[row + 1] - first
                    for k in range(n):
                        t, theta = next_state[first + k], part[first + k]
                        at = min(j + jump[first + k], highest)
                        above = min(at + 1, highest)
                        v, w = idle, idle
                        if last or t == S:
                            v = end[min(max(at - m, 0), last_end)]
                            if theta > 0.0:
                                w = end[min(max(above - m, 0), last_end)]
                        else:
                            if at >= following:
                                v = after[t, at - following]
                            if theta > 0.0 and above >= following:
                                w = after[t, above - following]
                        value[k] = min(v if theta == 0.0 else (1.0 - theta) * v + theta * w, most)
                    risk = rows.risk[row]
                    known = 0.0 if last and rows.last_is_certain and risk < np.inf else risk
                    bound = row_value(side, value, prob[first:], n, known, least, most, stakes)
                    if bound > best or (bound == best and risk > rows.risk[taken]):
                        best, taken = bound, row
                here[s, j - low[h]] = best
                if taken >= 0:
                    used[h, taken] = True
                if records:
                    choice[h, s, j - low[h]] = taken
        here, after = after, here
        for j in range(low[h], high[h] + 1):
            if cells.reached[h, j - cells.base[h]]:
                most = idle
                for s in range(S):
                    most = max(most, after[s, j - low[h]])
                best_after[j - low[h]] = most
    most = idle
    for s in range(S):
        if low[0] <= 0:
            most = max(most, after[s, -low[0]])
    for k in range(rows.start_state.shape[0]):
        value[k] = after[rows.start_state[k], -low[0]] if low[0] <= 0 else idle
    return row_value(side, value, rows.start_prob, rows.start_state.shape[0], rows.risk[-1], least, most, stakes)


@compiled
def uncertain_curve(
    side: int, rows: UncertainRows, lows: Any, ms: Any, first: int, after: Any, stakes: Any, used: Any, stop: Any
) -> Any:
    """The values of rollouts that start with each best return of ``ms`` [n]: [n].

    ``after`` holds the next curve from the best return ``first`` on; ``lows`` are the windows [n, H + 1].
    """
    values, nowhere = np.empty(ms.shape[0]), np.empty((0, 0, 0), np.int32)
    for n in range(ms.shape[0]):
        values[n] = uncertain_slice(
            side, False, rows, lows[n], ms[n], after[ms[n] - first :], stakes, used, nowhere, stop
        )
    return values
