"""Slices under a given policy: where its rollouts go, and how a policy that ignores the return can be bettered.

The cells are those of a whole slice (see ``windows``); ``choice`` [cells] holds the row taken in each cell of a window.
As sweeps do, all of these look at ``stop`` [1] between two states and end early where it is not 0.
"""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.windows import Layout, Tables


@compiled
def widest_window(layout: Layout) -> int:
    """The greatest number of cells that any window has, 1 at least."""
    H, S = layout.pad.shape
    widest = 1
    for h in range(H):
        for s in range(S):
            widest = max(widest, layout.high[h, s] - layout.low[h, s] + 1)
    return widest


@compiled
def mean_values(tables: Tables, layout: Layout, h: int, row: int, g: int, value: Any, total: Any) -> None:
    """Fill ``total`` [n] with what a row of step ``h`` is worth on average from returns ``g`` on, by later values."""
    table = tables.rows
    n = total.shape[0]
    for k in range(n):
        total[k] = 0.0
    for o in range(table.outcome_start[row], table.outcome_start[row + 1]):
        p, first = table.prob[o], layout.place[h + 1, table.next_state[o]] + g + tables.moves.jump[o]
        after = value[first : first + n]
        for k in range(n):
            total[k] += p * after[k]


@compiled
def weighted_sum(weight: Any, value: Any) -> float:
    """The sum of weights times values [n]: in four sums, so that no addition waits for the one before."""
    n = weight.shape[0]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, n - 3, 4):
        a += weight[k] * value[k]
        b += weight[k + 1] * value[k + 1]
        c += weight[k + 2] * value[k + 2]
        d += weight[k + 3] * value[k + 3]
    for k in range(n - n % 4, n):
        a += weight[k] * value[k]
    return (a + b) + (c + d)


@compiled
def choose_greedily(tables: Tables, layout: Layout, value: Any, choice: Any, stop: Any) -> None:
    """Fill ``choice`` with the best row of each cell by the values of an exact slice; of equals, the first."""
    pair_start, place = tables.rows.pair_start, layout.place
    H, S = layout.pad.shape
    widest = widest_window(layout)
    sums, highest = np.empty(widest), np.empty(widest)
    for h in range(H):
        node = tables.rows.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return
            low, n = layout.low[h, s], layout.high[h, s] - layout.low[h, s] + 1
            if n <= 0:
                continue
            total, best = sums[:n], highest[:n]
            taken = choice[place[h, s] + low : place[h, s] + low + n]
            first_row = pair_start[node + s]
            mean_values(tables, layout, h, first_row, low, value, best)
            for k in range(n):
                taken[k] = first_row
            for row in range(first_row + 1, pair_start[node + s + 1]):
                mean_values(tables, layout, h, row, low, value, total)
                for k in range(n):
                    mean, old, before = total[k], best[k], taken[k]
                    better = mean > old
                    best[k] = mean if better else old
                    taken[k] = row if better else before


@compiled
def choose_by_state(layout: Layout, rows: Any, choice: Any) -> None:
    """Fill ``choice`` with a Markov policy's rows [H, S]."""
    H, S = layout.pad.shape
    for h in range(H):
        for s in range(S):
            for g in range(layout.low[h, s], layout.high[h, s] + 1):
                choice[layout.place[h, s] + g] = rows[h, s]


@compiled
def carry_forward(tables: Tables, layout: Layout, choice: Any, mass: Any, stop: Any) -> None:
    """Carry the mass [cells] in the cells of step 0 forward; it ends in the cells of finished rollouts.

    Mass that comes to an idle cell stays there: it cannot beat ``m``.
    """
    table, jump = tables.rows, tables.moves.jump
    place = layout.place
    H, S = layout.pad.shape
    for h in range(H):
        for s in range(S):
            if stop[0] != 0:
                return
            for g in range(layout.low[h, s], layout.high[h, s] + 1):
                x = place[h, s] + g
                if mass[x] > 0.0:
                    for o in range(table.outcome_start[choice[x]], table.outcome_start[choice[x] + 1]):
                        y = place[h + 1, table.next_state[o]] + g + jump[o]
                        mass[y] += mass[x] * table.prob[o]


@compiled
def carry_choices(tables: Tables, layout: Layout, place: Any, choice: Any, mass: Any, stop: Any) -> None:
    """The same with a ``choice`` that counts rows from the first of their state, and lies at ``place`` [H, S]."""
    table, jump = tables.rows, tables.moves.jump
    H, S = layout.pad.shape
    for h in range(H):
        node = table.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return
            first_row = table.pair_start[node + s]
            for g in range(layout.low[h, s], layout.high[h, s] + 1):
                amount = mass[layout.place[h, s] + g]
                if amount > 0.0:
                    row = first_row + choice[place[h, s] + g]
                    for o in range(table.outcome_start[row], table.outcome_start[row + 1]):
                        mass[layout.place[h + 1, table.next_state[o]] + g + jump[o]] += amount * table.prob[o]


@compiled
def usual_rows(tables: Tables, layout: Layout, choice: Any, mass: Any, rows: Any, stop: Any) -> None:
    """Fill rows [H, S] with the one that is taken most often at each step and state, where any mass [cells] comes."""
    table = tables.rows
    H, S = layout.pad.shape
    for h in range(H):
        node = table.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return
            first = table.pair_start[node + s]
            often = np.zeros(table.pair_start[node + s + 1] - first)
            for x in range(layout.place[h, s] + layout.low[h, s], layout.place[h, s] + layout.high[h, s] + 1):
                often[choice[x] - first] += mass[x]
            if often.max() > 0.0:
                rows[h, s] = first + np.argmax(often)


@compiled
def improve_rows(tables: Tables, layout: Layout, idle: float, mass: Any, value: Any, rows: Any, stop: Any) -> Any:
    """Better a Markov policy's rows [H, S] in place, from the last step to the first; how much is gained.

    ``mass`` says where the policy goes. At each step and state the row is taken that is worth the most on average over
    the returns met there, with later steps as already bettered and earlier ones as they were: no change lowers the
    policy's value. Fills ``value`` [cells] but for finished rollouts, which it is given.
    """
    table, place = tables.rows, layout.place
    H, S = layout.pad.shape
    sums = np.empty(widest_window(layout))
    gained = 0.0
    for h in range(H - 1, -1, -1):
        node = table.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return gained
            low, high = layout.low[h, s], layout.high[h, s]
            for x in range(place[h, s] + layout.pad[h, s], place[h, s] + min(low, high + 1)):
                value[x] = idle
            if low > high:
                continue
            n = high - low + 1
            total = sums[:n]
            weight = mass[place[h, s] + low : place[h, s] + low + n]
            kept = rows[h, s]
            best, held = -np.inf, 0.0
            for row in range(table.pair_start[node + s], table.pair_start[node + s + 1]):
                mean_values(tables, layout, h, row, low, value, total)
                mean = weighted_sum(weight, total)
                if row == kept:
                    held = mean
                if mean > best:
                    best = mean
                    rows[h, s] = row
            if best <= held + 1e-13 * abs(held):
                rows[h, s] = kept
            else:
                gained += best - held
            mean_values(tables, layout, h, rows[h, s], low, value, value[place[h, s] + low : place[h, s] + low + n])
    return gained
