"""The sweep of a slice under uncertain rows, for learning from episodes: what a rollout is worth, and what to do in it.

Returns are whole numbers of lattice steps. A state at step ``h`` with return ``j < low[h]`` cannot beat ``m`` any more
and is *idle*: worth what the next curve gives at ``m``. A row is judged in one of three ways: by its mean; from above,
by the bet ``x - e^-risk G(x - V)``, where ``G`` is the geometric mean over the sample and ``x`` is *above* all that can
happen, seen or not; from below, by its mirror image ``y + e^-risk G(V - y)``. docs/theory/online.md, 2 and 6.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled


class UncertainRows(NamedTuple):
    """What is believed of every row, on a lattice of returns."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    outcome_start: Any  # [N + 1]
    prob: Any  # [T] each row's sum to 1, or there are none
    next_state: Any  # [T] S where the rollout ends
    jump: Any  # [T] the reward in lattice steps
    risk: Any  # [N + 1] ln(1/delta') / n, of starts at the end; infinite where nothing was seen
    start_state: Any  # [n]
    start_prob: Any  # [n]
    rise: int  # the greatest reward, in lattice steps
    can_terminate: bool  # whether a rollout may end before the last step
    highest: int  # what no return exceeds at any time
    reached: Any  # [H + 1, width] which returns rollouts can come to with rewards that were seen, or the greatest
    base: Any  # [H + 1] the return that the first of them stands for


@compiled
def judged(way: int, worth: Any, prob: Any, n: int, risk: float, least: float, most: float, stakes: Any) -> float:
    """What a row with ``n`` outcomes of these worths is worth: its mean (0), at most (1) or at least (-1).

    ``least`` and ``most`` bound all that can happen; ``stakes`` rise.
    """
    if risk == np.inf:
        return most if way == 1 else least
    mean = 0.0
    for k in range(n):
        mean += prob[k] * worth[k]
    if way == 0 or risk == 0.0:
        return mean
    variance = 0.0
    for k in range(n):
        variance += prob[k] * (worth[k] - mean) ** 2
    far = np.sqrt(0.5 * variance / risk)
    total = -risk
    if way == 1:
        # Above what can happen by a tenth of what is missing: a stake that a seen outcome reaches would say nothing.
        wanted = max(most + 0.1 * (most - mean), mean + far)
        stake = stakes[min(np.searchsorted(stakes, wanted), stakes.shape[0] - 1)]
        for k in range(n):
            total += prob[k] * np.log(stake - worth[k])
        return min(stake - np.exp(total), most)
    wanted = min(least - 0.1 * (mean - least), mean - far)
    stake = stakes[max(np.searchsorted(stakes, wanted, side="right") - 1, 0)]
    for k in range(n):
        total += prob[k] * np.log(worth[k] - stake)
    return max(stake + np.exp(total), least)


@compiled
def uncertain_slice(
    way: int,
    follow: bool,
    rows: UncertainRows,
    low: Any,
    high: Any,
    m: int,
    end: Any,
    stakes: Any,
    choice: Any,
    stop: Any,
) -> float:
    """What a rollout is worth that starts with best return ``m``; the rows to take go to ``choice`` [H, S, width].

    With ``follow`` they are taken from there: what a given policy is worth.

    ``end[j - m]`` is what a rollout that ends with return ``j >= m`` is worth, up to the greatest best return. Step
    ``h`` has the cells ``low[h] .. high[h]`` [H + 1], of which those that cannot be reached are left out: -1. Of equal
    rows the one that was seen least is taken.
    """
    pair_start, outcome_start, next_state, jump = rows.pair_start, rows.outcome_start, rows.next_state, rows.jump
    H = rows.step_layer.shape[0]
    S = (pair_start.shape[0] - 1) // (np.max(rows.step_layer) + 1)
    widest, longest, last_end = 1, rows.start_state.shape[0], end.shape[0] - 1
    for h in range(H):
        widest = max(widest, high[h] - low[h] + 1)
    for row in range(outcome_start.shape[0] - 1):
        longest = max(longest, outcome_start[row + 1] - outcome_start[row])
    idle = end[0]
    here, after = np.empty((S, widest)), np.empty((S, widest))
    best_after, worth = np.empty(widest), np.empty(max(longest, 1))
    for h in range(H - 1, -1, -1):
        last = h == H - 1
        node, following = rows.step_layer[h] * S, low[h + 1]
        for j in range(low[h], high[h] + 1):
            if stop[0] != 0:
                return 0.0
            if not rows.reached[h, j - rows.base[h]]:
                for s in range(S):
                    choice[h, s, j - low[h]] = -1
                continue
            peak = min(j + rows.rise, rows.highest)
            most = idle
            if last or rows.can_terminate:
                most = end[min(max(peak - m, 0), last_end)]
            if not last and peak >= following:
                most = max(most, best_after[peak - following])
            most = min(most, end[last_end])
            for s in range(S):
                best, taken = -np.inf, -1
                given = choice[h, s, j - low[h]]
                for row in range(pair_start[node + s], pair_start[node + s + 1]):
                    if follow and row != given:
                        continue
                    first = outcome_start[row]
                    n = outcome_start[row + 1] - first
                    for k in range(n):
                        at = min(j + jump[first + k], rows.highest)
                        t = next_state[first + k]
                        if last or t == S:
                            value = end[min(max(at - m, 0), last_end)]
                        else:
                            value = after[t, at - following] if at >= following else idle
                        worth[k] = min(value, most)
                    risk = rows.risk[row]
                    bound = judged(way, worth, rows.prob[first:], n, risk, idle, most, stakes)
                    if bound > best or (bound == best and risk > rows.risk[taken]):
                        best, taken = bound, row
                here[s, j - low[h]] = best
                choice[h, s, j - low[h]] = taken
        here, after = after, here
        for j in range(low[h], high[h] + 1):
            if rows.reached[h, j - rows.base[h]]:
                most = idle
                for s in range(S):
                    most = max(most, after[s, j - low[h]])
                best_after[j - low[h]] = most
    most = idle
    for s in range(S):
        if low[0] <= 0:
            most = max(most, after[s, -low[0]])
    for k in range(rows.start_state.shape[0]):
        worth[k] = after[rows.start_state[k], -low[0]] if low[0] <= 0 else idle
    return judged(way, worth, rows.start_prob, rows.start_state.shape[0], rows.risk[-1], idle, most, stakes)


@compiled
def uncertain_curve(
    way: int, rows: UncertainRows, lows: Any, high: Any, ms: Any, after: Any, stakes: Any, choice: Any, stop: Any
) -> Any:
    """What rollouts are worth that start with each best return of ``ms`` [n]: [n].

    ``after`` holds the next curve from the least of all best returns on, which is the first of ``ms``; ``lows`` are the
    windows [n, H + 1]; ``choice`` is written over.
    """
    values = np.empty(ms.shape[0])
    for n in range(ms.shape[0]):
        end = after[ms[n] - ms[0] :]
        values[n] = uncertain_slice(way, False, rows, lows[n], high, ms[n], end, stakes, choice, stop)
    return values
