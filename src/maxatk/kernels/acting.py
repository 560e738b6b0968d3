"""Acting for many trials at once: rows to take on a slice, and outcomes of rows."""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.slices import Layout, Tables


@compiled
def rows_of_actions(pair_start: Any, action: Any, node: int, state: Any, wanted: Any) -> Any:
    """The row of each state's wanted action [n], or -1 where the state does not offer it.

    ``node`` is where the layer's states start in ``pair_start``.
    """
    found = np.full(state.shape[0], -1, np.int64)
    for k in range(state.shape[0]):
        for row in range(pair_start[node + state[k]], pair_start[node + state[k] + 1]):
            if action[row] == wanted[k]:
                found[k] = row
                break
    return found


@compiled
def draw_outcomes(outcome_start: Any, prob: Any, row: Any, uniform: Any) -> Any:
    """The outcome that a uniform number in [0, 1) draws from each row [n]; rows sum to 1 but for rounding."""
    found = np.empty(row.shape[0], np.int64)
    for k in range(row.shape[0]):
        o, last = outcome_start[row[k]], outcome_start[row[k] + 1] - 1
        left = uniform[k]
        while o < last and left >= prob[o]:
            left -= prob[o]
            o += 1
        found[k] = o
    return found


@compiled
def greedy_rows(tables: Tables, layout: Layout, value: Any, h: int, state: Any, g: Any) -> Any:
    """The best row at each (state, g) [n] of step ``h`` by the values of an exact slice; of equals, the first."""
    S = layout.pad.shape[1]
    node = tables.step_layer[h] * S
    found = np.empty(state.shape[0], np.int64)
    for k in range(state.shape[0]):
        s = state[k]
        first, end = tables.pair_start[node + s], tables.pair_start[node + s + 1]
        found[k] = first
        if g[k] < layout.low[h, s] or end == first + 1:  # idle, or no choice
            continue
        best = -np.inf
        for row in range(first, end):
            worth = 0.0
            for o in range(tables.outcome_start[row], tables.outcome_start[row + 1]):
                worth += tables.prob[o] * value[layout.place[h + 1, tables.next_state[o]] + g[k] + tables.jump[o]]
            if worth > best:
                best = worth
                found[k] = row
    return found


@compiled
def best_planes(
    tables: Tables,
    layout: Layout,
    kappa: float,
    phase: float,
    idle_value: float,
    idle_slope: float,
    planes: tuple[Any, Any, Any, Any],
    h: int,
    state: Any,
    off_m: Any,
    so_far: Any,
) -> Any:
    """The best plane at each true (M, G) [n] among all that the lattice walk may have drifted to: value and row.

    The row is -1 where the plane of an idle state is the best. ``off_m`` is how far each M is from that of the slice;
    ``planes`` are the lower bounds, their slopes in g and in m, and the rows they follow.
    """
    lower, slope_g, slope_m, choice = planes
    promised = np.empty(state.shape[0])
    found = np.empty(state.shape[0], np.int64)
    at_step = kappa * tables.drift * h + phase
    for k in range(state.shape[0]):
        s = state[k]
        near = int(np.floor((so_far[k] - at_step) / kappa))
        promised[k] = idle_value + idle_slope * off_m[k]
        found[k] = -1
        low = max(near - h, layout.low[h, s])
        for g in range(low, min(near + 1 + h, layout.high[h, s]) + 1):
            cell = layout.place[h, s] + g
            if choice[cell] >= 0:
                off = so_far[k] - at_step - kappa * g
                plane = lower[cell] + slope_g[cell] * off + slope_m[cell] * off_m[k]
                if plane > promised[k]:
                    promised[k] = plane
                    found[k] = choice[cell]
    return promised, found
