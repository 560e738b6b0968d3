"""Slices: one rollout with the best return so far held at ``m``, swept backwards on a lattice of returns.

A slice is the one-rollout problem whose end pays a curve at ``max(m, G)``; its cells are those of ``windows``. All
values lie in one buffer: first those of finished rollouts, by return; then, layer by layer, the window of each state
with some idle cells before it. ``pad[h, s]`` is the first ``g`` of state ``s`` in layer ``h``, ``place[h, s]`` where
the cell with ``g = 0`` lies. Slices at several ``m`` can be swept together: each cell then holds a value for each of
them, side by side, and the inner loops are as many times longer.

The states of a layer do not depend on each other, so any part of a layer can be swept by itself: all sweeps take the
layers and states that they are to do, ``where``, with all layers behind those done before. Every sweep looks at
``stop`` [1] between two states, and ends early where it is not 0: what it has filled by then is of no use.

Inner loops count in unsigned numbers and read what a choice is between before they choose: only so are they vectorised.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.windows import Layout, Part, Tables


@compiled
def nothing_of(choice: Any) -> int:
    """What stands for "nothing is to be done" among choices of this kind: more than any row."""
    return 255 if choice.itemsize == 1 else (65_535 if choice.itemsize == 2 else 2**31 - 1)


class Values(NamedTuple):
    """The buffers of slices on the lattice: cell ``x`` of slice ``b`` is entry ``x * B + b``."""

    idle_value: Any  # [B] of idle states, by ``m``
    idle_slope: Any  # [B]
    value: Any  # [cells * B]
    slope: Any  # [cells * B] in ``m``
    choice: Any = None  # [cells * B] the row taken, counted from the state's first; None where that is not recorded


class Choices(NamedTuple):
    """The buffers of a slice on the lattice that keeps what is done, and not what that earns."""

    place: Any  # [H + 1, S + 1] where the choice at return 0 lies
    idle_value: float
    value: Any  # [cells] of two layers
    choice: Any  # [all cells but idle ones] the row taken, counted from the state's first


def sweep_values(where: Part, tables: Tables, layout: Layout, values: Values, stop: Any) -> None:
    """Sweep slices whose rewards all lie on the lattice, filling ``value`` and ``slope`` (in ``m``) layer by layer.

    ``V_h(s, g) = max_a sum p V_{h+1}(s', g + jump) - cost``. The value of an idle state is the idle value less the
    cost of finishing; where rollouts may be given up, no state has less.
    """
    idle_value, idle_slope, value, slope, choice = values
    sums = sums_of(where, layout, 2, len(idle_value))
    fill_values(where, tables, layout, (idle_value, idle_slope, value, slope), choice, sums, stop)


def sums_of(where: Part, layout: Layout, columns: int, together: int = 1) -> tuple[Any, ...]:
    """Room for the sums of a row's cells, in so many columns: arrays made here need not be compiled."""
    steps, states = slice(where.first_step, where.end_step), slice(where.first_state, where.end_state)
    widest = np.max(layout.high[steps, states] - layout.low[steps, states], initial=0) + 1
    return tuple(np.empty((columns, int(widest) * together)))


@compiled
def fill_values(where: Part, tables: Tables, layout: Layout, values: Any, choice: Any, sums: Any, stop: Any) -> None:
    """The loops of :func:`sweep_values`: what is done only where choices are recorded is compiled only for that."""
    idle_value, idle_slope, value, slope = values
    pair_start, outcome_start, next_state = tables.rows.pair_start, tables.rows.outcome_start, tables.rows.next_state
    prob, jump = tables.rows.prob, tables.moves.jump
    S = layout.pad.shape[1]
    B = idle_value.shape[0]
    sum_value, sum_slope = sums
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        here, after = layout.place[h], layout.place[h + 1]
        node = tables.rows.step_layer[h] * S
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            g, high = layout.low[h, s], layout.high[h, s]
            for x in range(here[s] + layout.pad[h, s], here[s] + min(g, high + 1)):
                for b in range(B):
                    value[x * B + b] = idle_value[b] - tables.finish_cost[h, s]
                    slope[x * B + b] = idle_slope[b]
            if g > high:
                continue
            n, to = np.uint64((high - g + 1) * B), np.uint64((here[s] + g) * B)
            for row in range(pair_start[node + s], pair_start[node + s + 1]):
                o, end = outcome_start[row], outcome_start[row + 1]
                new = row == pair_start[node + s]
                begun, cost = False, tables.rows.action_cost[row]
                while o < end:
                    # Three outcomes at a time, the missing ones with weight 0: fewer passes over the sums.
                    i0 = np.uint64((after[next_state[o]] + g + jump[o]) * B)
                    i1, i2 = i0, i0
                    p0, p1, p2 = prob[o], 0.0, 0.0
                    if o + 1 < end:
                        i1, p1 = np.uint64((after[next_state[o + 1]] + g + jump[o + 1]) * B), prob[o + 1]
                    if o + 2 < end:
                        i2, p2 = np.uint64((after[next_state[o + 2]] + g + jump[o + 2]) * B), prob[o + 2]
                    o += 3
                    if o < end or begun:
                        if not begun:
                            for k in range(n):
                                sum_value[k] = p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k] - cost
                                sum_slope[k] = p0 * slope[i0 + k] + p1 * slope[i1 + k] + p2 * slope[i2 + k]
                        else:
                            for k in range(n):
                                sum_value[k] += p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k]
                                sum_slope[k] += p0 * slope[i0 + k] + p1 * slope[i1 + k] + p2 * slope[i2 + k]
                        begun = True
                        if o >= end:
                            if choice is not None:
                                number = choice.dtype.type(row - pair_start[node + s])
                                for k in range(n):
                                    better, taken = new or sum_value[k] > value[to + k], choice[to + k]
                                    choice[to + k] = number if better else taken
                            for k in range(n):
                                v, w, best, best_slope = sum_value[k], sum_slope[k], value[to + k], slope[to + k]
                                better = new or v > best
                                value[to + k] = v if better else best
                                slope[to + k] = w if better else best_slope
                    elif new:
                        for k in range(n):
                            value[to + k] = p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k] - cost
                            slope[to + k] = p0 * slope[i0 + k] + p1 * slope[i1 + k] + p2 * slope[i2 + k]
                        if choice is not None:
                            for k in range(n):
                                choice[to + k] = 0
                    elif choice is not None:
                        number = choice.dtype.type(row - pair_start[node + s])
                        for k in range(n):
                            v = p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k] - cost
                            w = p0 * slope[i0 + k] + p1 * slope[i1 + k] + p2 * slope[i2 + k]
                            best, best_slope, taken = value[to + k], slope[to + k], choice[to + k]
                            better = v > best
                            value[to + k] = v if better else best
                            slope[to + k] = w if better else best_slope
                            choice[to + k] = number if better else taken
                    else:
                        for k in range(n):
                            v = p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k] - cost
                            w = p0 * slope[i0 + k] + p1 * slope[i1 + k] + p2 * slope[i2 + k]
                            best, best_slope = value[to + k], slope[to + k]
                            better = v > best
                            value[to + k] = v if better else best
                            slope[to + k] = w if better else best_slope
            if tables.abandon:
                if choice is not None:
                    for k in range(n):
                        better, taken = idle_value[k % B] > value[to + k], choice[to + k]
                        choice[to + k] = nothing_of(choice) if better else taken
                for k in range(n):
                    best, best_slope, idle = value[to + k], slope[to + k], idle_value[k % B]
                    better = idle > best
                    value[to + k] = idle if better else best
                    slope[to + k] = idle_slope[k % B] if better else best_slope


def sweep_decisions(where: Part, tables: Tables, layout: Layout, choices: Choices, stop: Any) -> None:
    """:func:`sweep_values` for one ``m``, keeping what is done in each cell.

    Of equal rows the first is taken. Where the rollout is to be given up the choice is that of "nothing".
    """
    (total,) = sums_of(where, layout, 1)
    fill_decisions(where, tables, layout, choices, total, stop)


@compiled
def fill_decisions(where: Part, tables: Tables, layout: Layout, choices: Choices, total: Any, stop: Any) -> None:
    """The loops of :func:`sweep_decisions`."""
    choice_place, idle_value, value, choice = choices
    pair_start, outcome_start, next_state = tables.rows.pair_start, tables.rows.outcome_start, tables.rows.next_state
    prob, jump = tables.rows.prob, tables.moves.jump
    S = layout.pad.shape[1]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        node, here, after = tables.rows.step_layer[h] * S, layout.place[h], layout.place[h + 1]
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            low, high = layout.low[h, s], layout.high[h, s]
            for x in range(here[s] + layout.pad[h, s], here[s] + min(low, high + 1)):
                value[x] = idle_value - tables.finish_cost[h, s]
            if low > high:
                continue
            n, to = np.uint64(high - low + 1), np.uint64(here[s] + low)
            taken = choice[choice_place[h, s] + low : choice_place[h, s] + high + 1]
            first_row = pair_start[node + s]
            for row in range(first_row, pair_start[node + s + 1]):
                o, end = outcome_start[row], outcome_start[row + 1]
                begun, cost = False, tables.rows.action_cost[row]
                while o < end:
                    # Three at a time as in sweep_values, so that what is decided is what was valued there.
                    i0 = np.uint64(after[next_state[o]] + low + jump[o])
                    i1, i2 = i0, i0
                    p0, p1, p2 = prob[o], 0.0, 0.0
                    if o + 1 < end:
                        i1, p1 = np.uint64(after[next_state[o + 1]] + low + jump[o + 1]), prob[o + 1]
                    if o + 2 < end:
                        i2, p2 = np.uint64(after[next_state[o + 2]] + low + jump[o + 2]), prob[o + 2]
                    o += 3
                    if not begun:
                        for k in range(n):
                            total[k] = p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k] - cost
                    else:
                        for k in range(n):
                            total[k] += p0 * value[i0 + k] + p1 * value[i1 + k] + p2 * value[i2 + k]
                    begun = True
                if row == first_row:
                    for k in range(n):
                        value[to + k] = total[k]
                        taken[k] = 0
                else:
                    for k in range(n):
                        v, best, number = total[k], value[to + k], taken[k]
                        better = v > best
                        value[to + k] = v if better else best
                        taken[k] = row - first_row if better else number
            if tables.abandon:
                nothing = nothing_of(choice)
                for k in range(n):
                    better = idle_value > value[to + k]
                    value[to + k] = idle_value if better else value[to + k]
                    taken[k] = nothing if better else taken[k]


class CurveTable(NamedTuple):
    """A curve's two bounds."""

    line_end: Any  # [n - 1] the lower bound is line_height[i] + line_slope[i] * x up to line_end[i]
    line_height: Any  # [n]
    line_slope: Any  # [n]
    point: Any  # [p] the upper bound runs through (point, point_value), flat before the first and x beyond the last
    point_value: Any  # [p]


class Ends(NamedTuple):
    """The payoff of a slice off the lattice: the next curve's two bounds, beyond ``m`` and at it."""

    kappa: float  # the lattice's step
    phase: float  # a return that is added to every lattice point
    m: float  # the best return so far
    idle_upper: float  # the curve at m: its bound above,
    idle_lower: float  # below,
    idle_slope: float  # and the slope of the latter
    curve: CurveTable


class Planes(NamedTuple):
    """The buffers of a slice off the lattice, by cell: an upper bound, and a plane below with what is done for it."""

    upper: Any
    lower: Any  # the plane's value at the cell
    slope_g: Any  # its slope in G
    slope_m: Any  # and in M
    choice: Any  # the row that the plane follows, counted from its state's first; NOTHING where no row matters


def sweep_planes(where: Part, tables: Tables, layout: Layout, ends: Ends, planes: Planes, stop: Any) -> None:
    """Sweep a slice whose rewards may lie between lattice points, bounding its value on both sides (planner.md, 7).

    *Above*, the value between two lattice points is at most that on the chord, by convexity. *Below*, each cell holds a
    plane ``lower + slope_g * (G - g) + slope_m * (M - m)`` that lies below the value everywhere; a row is backed up
    through the better of the two planes beside each outcome. Where a rollout ends its return is known, so the curves
    are evaluated there.
    """
    fill_planes(where, tables, layout, ends, planes, sums_of(where, layout, 4), stop)


@compiled
def fill_planes(where: Part, tables: Tables, layout: Layout, ends: Ends, planes: Planes, sums: Any, stop: Any) -> None:
    """The loops of :func:`sweep_planes`."""
    sum_upper, sum_lower, sum_g, sum_m = sums
    pair_start, outcome_start, next_state = tables.rows.pair_start, tables.rows.outcome_start, tables.rows.next_state
    prob, reward, place = tables.rows.prob, tables.rows.reward, layout.place
    jump, part, drift = tables.moves.jump, tables.moves.part, tables.moves.drift
    kappa, phase, m = ends.kappa, ends.phase, ends.m
    idle_upper, idle_lower, idle_slope = ends.idle_upper, ends.idle_lower, ends.idle_slope
    line_end, line_height, line_slope, point, point_value = ends.curve
    upper, lower, slope_g, slope_m, choice = planes
    nothing = nothing_of(choice)
    H, S = layout.pad.shape
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        node, after_place = tables.rows.step_layer[h] * S, place[h + 1]
        for s in range(where.first_state, where.end_state):
            if stop[0] != 0:
                return
            g, high = layout.low[h, s], layout.high[h, s]
            cell = place[h, s]
            cheap = tables.finish_cost[h, s]
            for x in range(cell + layout.pad[h, s], cell + high + 1):
                upper[x] = idle_upper - cheap if x < cell + g or tables.abandon else -np.inf
                lower[x] = idle_lower - cheap
                slope_g[x] = 0.0
                slope_m[x] = idle_slope
                choice[x] = nothing
            if g > high:
                continue
            n, to = np.uint64(high - g + 1), np.uint64(cell + g)
            for row in range(pair_start[node + s], pair_start[node + s + 1]):
                for k in range(n):
                    sum_upper[k] = 0.0 - tables.rows.action_cost[row]
                    sum_lower[k] = 0.0 - tables.rows.action_cost[row]
                    sum_g[k] = 0.0
                    sum_m[k] = 0.0
                for o in range(outcome_start[row], outcome_start[row + 1]):
                    p = prob[o]
                    if next_state[o] == S or h == H - 1:
                        line = 0
                        after = 0
                        for k in range(high - g + 1):
                            x = kappa * (g + k + drift * h) + phase + reward[o]
                            if x <= m:
                                sum_upper[k] += p * idle_upper
                                sum_lower[k] += p * idle_lower
                                sum_m[k] += p * idle_slope
                                continue
                            while line < line_end.shape[0] and line_end[line] < x:
                                line += 1
                            sum_lower[k] += p * (line_height[line] + line_slope[line] * x)
                            sum_g[k] += p * line_slope[line]
                            while after < point.shape[0] and point[after] < x:
                                after += 1
                            if after == 0:
                                sum_upper[k] += p * point_value[0]
                            elif after == point.shape[0]:
                                sum_upper[k] += p * max(x, point_value[after - 1])
                            else:
                                share = (x - point[after - 1]) / (point[after] - point[after - 1])
                                sum_upper[k] += p * (
                                    (1.0 - share) * point_value[after - 1] + share * point_value[after]
                                )
                        continue
                    x0, theta = np.uint64(after_place[next_state[o]] + g + jump[o]), part[o]
                    x1 = x0 + np.uint64(1)
                    if theta == 0.0:
                        for k in range(n):
                            sum_upper[k] += p * upper[x0 + k]
                            sum_lower[k] += p * lower[x0 + k]
                            sum_g[k] += p * slope_g[x0 + k]
                            sum_m[k] += p * slope_m[x0 + k]
                        continue
                    up, down = kappa * theta, kappa * (1.0 - theta)
                    for k in range(n):
                        sum_upper[k] += p * ((1.0 - theta) * upper[x0 + k] + theta * upper[x1 + k])
                    for k in range(n):
                        g0, g1, m0, m1 = slope_g[x0 + k], slope_g[x1 + k], slope_m[x0 + k], slope_m[x1 + k]
                        from_below = lower[x0 + k] + g0 * up
                        from_above = lower[x1 + k] - g1 * down
                        below = from_below >= from_above
                        sum_lower[k] += p * (from_below if below else from_above)
                        sum_g[k] += p * (g0 if below else g1)
                        sum_m[k] += p * (m0 if below else m1)
                number = choice.dtype.type(row - pair_start[node + s])
                for k in range(n):
                    upper[to + k] = max(upper[to + k], sum_upper[k])
                for k in range(n):
                    v, v_g, v_m, best = sum_lower[k], sum_g[k], sum_m[k], lower[to + k]
                    best_g, best_m, taken = slope_g[to + k], slope_m[to + k], choice[to + k]
                    better = v > best
                    lower[to + k] = v if better else best
                    slope_g[to + k] = v_g if better else best_g
                    slope_m[to + k] = v_m if better else best_m
                    choice[to + k] = number if better else taken
