"""The sweep of one slice under uncertain rows: an upper bound on what is still to be had, from sampled outcomes.

Returns are counted in lattice steps. A state at step ``h`` with return ``j < low[h]`` cannot beat ``m`` any more and is
*idle*: worth what the next curve gives at ``m``. The backup of a row bounds its true mean by the betting bound
``x - e^-risk * G(x - v)``, with ``G`` the geometric mean over the sample and ``x`` a stake from a fixed list, no less
than all that can happen (docs/theory/learning.md says why that holds for every stake on the list). As other sweeps do,
it looks at ``stop`` [1] now and then and ends early where it is not 0.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled


class SampledRows(NamedTuple):
    """What was sampled, on a lattice of returns."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    outcome_start: Any  # [N + 1]
    prob: Any  # [T] shares of the sample
    next_state: Any  # [T] S where the rollout ends
    jump: Any  # [T] the reward in lattice steps, rounded down
    part: Any  # [T] what is left, 0 <= part < 1
    risk: Any  # [N] ln(1/delta') / n; infinite where nothing was sampled
    rise: Any  # [N] the greatest reward that the row can bring, in lattice steps, rounded up
    can_terminate: bool  # whether a rollout may end before the last step
    last_is_certain: bool  # whether the reward of the last step is known


@compiled
def optimistic_slice(
    rows: SampledRows, low: Any, high: Any, m: int, end: Any, stakes: Any, used: Any, stop: Any
) -> Any:
    """Upper bounds on the values of all states at step 0 with return 0, the best return held at ``m``: [S].

    ``end[j - m]`` is what a rollout that ends with return ``j >= m`` is worth; one that ends below is worth ``end[0]``.
    Step ``h`` has the cells ``low[h] .. high[h]`` [H + 1]. In ``used`` [H, N] the best row of each cell is marked.
    """
    pair_start, outcome_start, next_state = rows.pair_start, rows.outcome_start, rows.next_state
    prob, jump, part = rows.prob, rows.jump, rows.part
    H = rows.step_layer.shape[0]
    S = (pair_start.shape[0] - 1) // (np.max(rows.step_layer) + 1)
    widest, longest = 1, 1
    for h in range(H):
        widest = max(widest, high[h] - low[h] + 1)
    for row in range(outcome_start.shape[0] - 1):
        longest = max(longest, outcome_start[row + 1] - outcome_start[row])
    idle = end[0]
    here = np.empty((S, widest))
    after = np.empty((S, widest))  # of step h + 1
    best_after = np.empty(widest)
    worth = np.empty(longest)
    for h in range(H - 1, -1, -1):
        last = h == H - 1
        node = rows.step_layer[h] * S
        for j in range(low[h], high[h] + 1):
            if stop[0] != 0:
                return np.empty(S)
            for s in range(S):
                best, best_row = -np.inf, -1
                for row in range(pair_start[node + s], pair_start[node + s + 1]):
                    # All that can happen at all: the best state, or an end, with the greatest reward.
                    top = -np.inf
                    peak = j + rows.rise[row]
                    if last or rows.can_terminate:
                        top = end[max(peak - m, 0)]
                    if not last:
                        top = max(top, best_after[peak - low[h + 1]] if peak >= low[h + 1] else idle)
                    risk = rows.risk[row]
                    if risk == np.inf:
                        if top > best:
                            best, best_row = top, row
                        continue
                    o = outcome_start[row]
                    n = outcome_start[row + 1] - o
                    mean = 0.0
                    for k in range(n):
                        at = j + jump[o + k]
                        theta = part[o + k]
                        t = next_state[o + k]
                        if last or t == S:
                            v = end[max(at - m, 0)]
                            if theta > 0.0:
                                v = (1.0 - theta) * v + theta * end[max(at + 1 - m, 0)]
                        else:
                            v = after[t, at - low[h + 1]] if at >= low[h + 1] else idle
                            if theta > 0.0:
                                at += 1
                                v = (1.0 - theta) * v + theta * (
                                    after[t, at - low[h + 1]] if at >= low[h + 1] else idle
                                )
                        worth[k] = min(v, top)
                        mean += prob[o + k] * worth[k]
                    if last and rows.last_is_certain:
                        if mean > best:
                            best, best_row = mean, row
                        continue
                    variance = 0.0
                    for k in range(n):
                        variance += prob[o + k] * (worth[k] - mean) ** 2
                    # The best stake in theory, or what must be covered: the next on the list, which rises.
                    wanted = max(top, mean + np.sqrt(0.5 * variance / risk))
                    stake = stakes[min(np.searchsorted(stakes, wanted), stakes.shape[0] - 1)]
                    total = -risk
                    for k in range(n):
                        total += prob[o + k] * np.log(stake - worth[k])
                    bound = min(stake - np.exp(total), top)
                    if bound > best:
                        best, best_row = bound, row
                here[s, j - low[h]] = best
                used[h, best_row] = True
        here, after = after, here
        for j in range(low[h], high[h] + 1):
            most = idle
            for s in range(S):
                most = max(most, after[s, j - low[h]])
            best_after[j - low[h]] = most
    values = np.empty(S)
    for s in range(S):
        values[s] = after[s, -low[0]] if low[0] <= 0 else idle
    return values
