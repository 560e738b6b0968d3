"""Acting for many trials at once: rows of actions, planes of a slice, and outcomes of rows."""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.sweeps import Ends, Planes, nothing_of
from maxatk.kernels.windows import Layout, Tables


@compiled
def rows_of_actions(first_row: Any, action: Any, state: Any, wanted: Any) -> Any:
    """The row of each state's wanted action [n], or -1 where the state does not offer it.

    The rows of state ``s`` are ``first_row[s] : first_row[s + 1]``.
    """
    rows = np.full(state.shape[0], -1, np.int64)
    for k in range(state.shape[0]):
        for row in range(first_row[state[k]], first_row[state[k] + 1]):
            if action[row] == wanted[k]:
                rows[k] = row
                break
    return rows


@compiled
def drawn_place(prob: Any, first: int, end: int, uniform: float) -> int:
    """The place in ``prob[first:end]`` that a uniform number in [0, 1) draws, as a search in its cumulative sum."""
    place, below = first, prob[first]
    while place < end - 1 and uniform >= below:
        place += 1
        below += prob[place]
    return place


@compiled
def draw_outcomes(outcome_start: Any, prob: Any, row: Any, uniform: Any) -> Any:
    """The outcome that a uniform number in [0, 1) draws from each row [n]; rows sum to 1 but for rounding."""
    drawn = np.empty(row.shape[0], np.int64)
    for k in range(row.shape[0]):
        drawn[k] = drawn_place(prob, outcome_start[row[k]], outcome_start[row[k] + 1], uniform[k])
    return drawn


@compiled
def best_planes(
    tables: Tables, layout: Layout, ends: Ends, planes: Planes, h: int, state: Any, off_m: Any, so_far: Any
) -> Any:
    """The best plane at each true (M, G) [n] among all that the lattice walk may have drifted to: value and row.

    The row is counted from its state's first; it is -1 where the plane of an idle state is the best. ``off_m`` is how
    far each M is from that of the slice.
    """
    kappa, lower, slope_g, slope_m, choice = ends.kappa, planes.lower, planes.slope_g, planes.slope_m, planes.choice
    nothing = nothing_of(choice)
    promised = np.empty(state.shape[0])
    rows = np.empty(state.shape[0], np.int64)
    at_step = kappa * tables.moves.drift * h + ends.phase
    for k in range(state.shape[0]):
        s = state[k]
        near = int(np.floor((so_far[k] - at_step) / kappa))
        promised[k] = ends.idle_lower - tables.finish_cost[h, s] + ends.idle_slope * off_m[k]
        rows[k] = -1
        low = max(near - h, layout.low[h, s])
        for g in range(low, min(near + 1 + h, layout.high[h, s]) + 1):
            cell = layout.place[h, s] + g
            if choice[cell] != nothing:
                off = so_far[k] - at_step - kappa * g
                plane = lower[cell] + slope_g[cell] * off + slope_m[cell] * off_m[k]
                if plane > promised[k]:
                    promised[k] = plane
                    rows[k] = choice[cell]
    return promised, rows
