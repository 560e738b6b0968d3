"""Slices under a given policy: where its rollouts go, and how a policy that ignores the return can be bettered.

The cells are those of a whole slice (see ``windows``); ``choice`` [cells] holds the row taken in each cell of a window.
As sweeps do, all of these look at ``stop`` [1] between two states and end early where it is not 0.
"""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.windows import Layout, Tables


@compiled
def choose_greedily(tables: Tables, layout: Layout, value: Any, choice: Any, stop: Any) -> None:
    """Fill ``choice`` with the best row of each cell by the values of an exact slice; of equals, the first."""
    table, jump = tables.rows, tables.moves.jump
    place = layout.place
    H, S = layout.pad.shape
    for h in range(H):
        node = table.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return
            for g in range(layout.low[h, s], layout.high[h, s] + 1):
                best = -np.inf
                for row in range(table.pair_start[node + s], table.pair_start[node + s + 1]):
                    mean = 0.0
                    for o in range(table.outcome_start[row], table.outcome_start[row + 1]):
                        mean += table.prob[o] * value[place[h + 1, table.next_state[o]] + g + jump[o]]
                    if mean > best:
                        best = mean
                        choice[place[h, s] + g] = row


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
    table, jump = tables.rows, tables.moves.jump
    place = layout.place
    H, S = layout.pad.shape
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
            kept = rows[h, s]
            best, held = -np.inf, 0.0
            for row in range(table.pair_start[node + s], table.pair_start[node + s + 1]):
                mean = 0.0
                for o in range(table.outcome_start[row], table.outcome_start[row + 1]):
                    shift = place[h + 1, table.next_state[o]] + jump[o]
                    for g in range(low, high + 1):
                        mean += mass[place[h, s] + g] * table.prob[o] * value[shift + g]
                if row == kept:
                    held = mean
                if mean > best:
                    best = mean
                    rows[h, s] = row
            if best <= held + 1e-13 * abs(held):
                rows[h, s] = kept
            else:
                gained += best - held
            for g in range(low, high + 1):
                total = 0.0
                for o in range(table.outcome_start[rows[h, s]], table.outcome_start[rows[h, s] + 1]):
                    total += table.prob[o] * value[place[h + 1, table.next_state[o]] + g + jump[o]]
                value[place[h, s] + g] = total
    return gained
