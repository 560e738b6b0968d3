"""Passes over a problem that know nothing of best returns: all steps from the last to the first, or one forward.

As sweeps do, each looks at ``stop`` [1] between two states and ends early where it is not 0.
"""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.windows import Part, RowTable


@compiled
def most_ahead(where: Part, rows: RowTable, most: Any, stop: Any) -> None:
    """Fill ``most`` [H + 1, S], of zeros, with the greatest sum of rewards still possible from each step and state.

    A sum that is not a float is rounded up to the next one. The rounding error of a floating-point sum is itself a
    float, and six operations find it (Knuth's two-sum).
    """
    step_layer, pair_start, outcome_start, _, next_state, reward, _ = rows
    S = most.shape[1]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        node = step_layer[h] * S
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            best = -np.inf
            for o in range(outcome_start[pair_start[node + s]], outcome_start[pair_start[node + s + 1]]):
                a = reward[o]
                b = most[h + 1, next_state[o]] if next_state[o] < S else 0.0
                total = a + b
                b_part = total - a
                if (a - (total - b_part)) + (b - b_part) > 0.0:
                    total = np.nextafter(total, np.inf)
                best = max(best, total)
            most[h, s] = best


def best_means(where: Part, rows: RowTable, noise: float, values: Any, errors: Any, best_rows: Any, stop: Any) -> None:
    """Fill ``best_rows`` [H, S] with those that maximise the mean return of one rollout, less its costs.

    ``values`` [2, S + 1], of zeros, get what is earned from step h on in entry ``h % 2``; the end is worth 0.
    ``errors``, alike, get what may be wrong in that if each number is off by a share ``noise`` of its size. Of rows as
    good as the best, but for the errors of both, the first is taken; a row that is far worse does not count, however
    large its numbers and so its error are.
    """
    room = np.empty((2, int(np.diff(rows.pair_start).max())))  # made here, since compiling that would take long
    fill_best_means(where, rows, noise, values, errors, best_rows, room, stop)


@compiled
def fill_best_means(
    where: Part, rows: RowTable, noise: float, values: Any, errors: Any, best_rows: Any, room: Any, stop: Any
) -> None:
    """The loops of :func:`best_means`; ``room`` [2, rows of a state] is for the means and mistakes of a state's."""
    means, mistakes = room[0], room[1]
    step_layer, pair_start, outcome_start, prob, next_state, reward, action_cost = rows
    S = best_rows.shape[1]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        node = step_layer[h] * S
        here, after = values[h % 2], values[(h + 1) % 2]
        error_here, error_after = errors[h % 2], errors[(h + 1) % 2]
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            first, end = pair_start[node + s], pair_start[node + s + 1]
            best, error = -np.inf, 0.0  # of the best mean
            for row in range(first, end):
                mean, size, carried = 0.0 - action_cost[row], action_cost[row], 0.0
                for o in range(outcome_start[row], outcome_start[row + 1]):
                    ahead = after[next_state[o]]
                    mean += prob[o] * (reward[o] + ahead)
                    size += prob[o] * (abs(reward[o]) + abs(ahead))
                    carried += prob[o] * error_after[next_state[o]]
                means[row - first], mistakes[row - first] = mean, noise * size + carried
                if mean > best:
                    best, error = mean, mistakes[row - first]
            row = first
            while means[row - first] < best - (error + mistakes[row - first]):
                row += 1
            best_rows[h, s] = row
            here[s], error_here[s] = best, error  # not those of the row: errors would double at every step


@compiled
def least_costs(where: Part, rows: RowTable, least: Any, cheapest: Any, stop: Any) -> None:
    """Fill ``least`` [H + 1, S], of zeros, with the least expected cost of finishing from each step and state.

    ``cheapest`` [H, S] get the rows that have it, counted from their state's first.
    """
    step_layer, pair_start, outcome_start, prob, next_state, _, action_cost = rows
    S = cheapest.shape[1]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        node = step_layer[h] * S
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            best = np.inf
            for row in range(pair_start[node + s], pair_start[node + s + 1]):
                total = action_cost[row]
                for o in range(outcome_start[row], outcome_start[row + 1]):
                    if next_state[o] < S:
                        total += prob[o] * least[h + 1, next_state[o]]
                if total < best:
                    best = total
                    cheapest[h, s] = row - pair_start[node + s]
            least[h, s] = best
