"""The sweeps in plain Python, cell by cell, as the equations say: what the compiled loops are held to.

No windows but the idle rule, no pads, no buffers. ``end(x)`` gives upper bound, lower bound and slope of the next curve
at a final return ``x`` above ``m``; ``idle`` is the same at ``m``.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from maxatk.kernels.uncertain import UncertainRows
from maxatk.kernels.windows import Tables

Cell: TypeAlias = tuple[int, int, int]  # (step, state, g)
Triple: TypeAlias = tuple[float, float, float]


def rows_of(tables: Tables, h: int, s: int) -> list[list[int]]:
    """The outcomes of every action of a state."""
    S = tables.moves.most_left.shape[1]
    node = int(tables.rows.step_layer[h]) * S + s
    rows = range(int(tables.rows.pair_start[node]), int(tables.rows.pair_start[node + 1]))
    return [list(range(int(tables.rows.outcome_start[r]), int(tables.rows.outcome_start[r + 1]))) for r in rows]


def is_idle(tables: Tables, m: int, h: int, s: int, g: int) -> bool:
    """Whether ``m`` (in lattice steps) cannot be beaten any more."""
    H = len(tables.rows.step_layer)
    return g + int(tables.moves.most_left[h, s]) + tables.moves.drift * H <= m


def exact_cells(
    tables: Tables, kappa: float, m: int, idle: Triple, end: Callable[[float], Triple], cells: list[Cell]
) -> dict[Cell, tuple[float, float]]:
    """Value and slope in ``m`` of the given cells, where all rewards lie on the lattice."""
    H, S = len(tables.rows.step_layer), tables.moves.most_left.shape[1]
    known: dict[Cell, tuple[float, float]] = {}

    def worth(h: int, s: int, g: int) -> tuple[float, float]:
        """At the start of step ``h``; ``s = S`` is a finished rollout."""
        if s == S or h == H:
            final = g + tables.moves.drift * h
            return (idle[1], idle[2]) if final <= m else (end(kappa * final)[1], 0.0)
        if is_idle(tables, m, h, s, g):
            return idle[1], idle[2]
        if (h, s, g) not in known:
            options: list[tuple[float, float]] = []
            for row in rows_of(tables, h, s):
                after = [worth(h + 1, int(tables.rows.next_state[o]), g + int(tables.moves.jump[o])) for o in row]
                p = [float(tables.rows.prob[o]) for o in row]
                value = sum(x * v for x, (v, _) in zip(p, after, strict=True))
                options.append((value, sum(x * w for x, (_, w) in zip(p, after, strict=True))))
            known[h, s, g] = max(options, key=lambda option: option[0])
        return known[h, s, g]

    return {cell: worth(*cell) for cell in cells}


def bound_cells(
    tables: Tables, kappa: float, m: float, mi: int, idle: Triple, end: Callable[[float], Triple], cells: list[Cell]
) -> dict[Cell, tuple[float, float, float, float]]:
    """Upper bound, and value, slope in G and slope in M of the plane below, of the given cells."""
    H, S = len(tables.rows.step_layer), tables.moves.most_left.shape[1]
    known: dict[Cell, tuple[float, float, float, float]] = {}

    def worth(h: int, s: int, g: int) -> tuple[float, float, float, float]:
        if is_idle(tables, mi, h, s, g):
            return idle[0], idle[1], 0.0, idle[2]
        if (h, s, g) not in known:
            options = [option(h, row, g) for row in rows_of(tables, h, s)]
            upper = max(four[0] for four in options)
            best = max([(idle[0], idle[1], 0.0, idle[2]), *options], key=lambda four: four[1])
            known[h, s, g] = (upper, *best[1:])
        return known[h, s, g]

    def option(h: int, row: list[int], g: int) -> tuple[float, float, float, float]:
        total = [0.0] * 4
        for o in row:
            for i, x in enumerate(outcome(h, o, g)):
                total[i] += float(tables.rows.prob[o]) * x
        return total[0], total[1], total[2], total[3]

    def outcome(h: int, o: int, g: int) -> tuple[float, float, float, float]:
        t, reward, theta = int(tables.rows.next_state[o]), float(tables.rows.reward[o]), float(tables.moves.part[o])
        if t == S or h + 1 == H:  # the return is known: no rounding
            x = kappa * (g + tables.moves.drift * h) + reward
            if x <= m:
                return idle[0], idle[1], 0.0, idle[2]
            upper, lower, slope = end(x)
            return upper, lower, slope, 0.0
        here: Any = worth(h + 1, t, g + int(tables.moves.jump[o]))
        if theta == 0.0:
            return here
        there = worth(h + 1, t, g + int(tables.moves.jump[o]) + 1)
        upper = (1 - theta) * here[0] + theta * there[0]
        from_below = here[1] + here[2] * kappa * theta
        from_above = there[1] - there[2] * kappa * (1 - theta)
        return (upper, from_below, *here[2:]) if from_below >= from_above else (upper, from_above, *there[2:])

    return {cell: worth(*cell) for cell in cells}


def optimistic_start(
    rows: UncertainRows, low: list[int], m: int, end: Callable[[int], float], stakes: list[float]
) -> tuple[list[float], set[tuple[int, int]]]:
    """Upper bounds at step 0 with return 0, by state: the betting bound of each row, cell by cell.

    And the steps and rows that are clearly the best of their cell, where a cell was needed.

    Of ``stakes`` the least is taken that covers all that can happen, lies above what was seen by a tenth of what the
    mean lacks of that and, if one does, covers the best stake in theory.
    """
    H = len(rows.step_layer)
    S = (len(rows.pair_start) - 1) // (int(max(rows.step_layer)) + 1)
    known: dict[Cell, float] = {}
    used: set[tuple[int, int]] = set()

    def worth(h: int, s: int, j: int) -> float:
        """At the start of step ``h``; ``s = S`` is a finished rollout."""
        if s == S or h == H:
            return end(max(j, m))
        if j < low[h]:
            return end(m)
        if (h, s, j) not in known:
            node = int(rows.step_layer[h]) * S + s
            options = {
                row: backup(h, row, j) for row in range(int(rows.pair_start[node]), int(rows.pair_start[node + 1]))
            }
            best = max(options, key=lambda row: options[row])
            known[h, s, j] = options.pop(best)
            if all(other < known[h, s, j] - 1e-9 for other in options.values()):
                used.add((h, best))
        return known[h, s, j]

    def backup(h: int, row: int, j: int) -> float:
        peak = j + int(rows.rise[row])
        states = [S] if h == H - 1 else [*range(S), *([S] if rows.can_terminate else [])]
        top = max(worth(h + 1, t, peak) for t in states)
        risk = float(rows.risk[row])
        if risk == math.inf:
            return top
        sample: list[tuple[float, float]] = []
        for o in range(int(rows.sampled.first[row]), int(rows.sampled.first[row + 1])):
            t, at, theta = (
                int(rows.sampled.next_state[o]),
                j + int(rows.sampled.jump[o]),
                float(rows.sampled.part[o]),
            )
            value = (1 - theta) * worth(h + 1, t, at) + (theta * worth(h + 1, t, at + 1) if theta else 0.0)
            sample.append((float(rows.sampled.prob[o]), min(value, top)))
        mean = sum(p * v for p, v in sample)
        if h == H - 1 and rows.last_is_certain:
            return mean
        variance = sum(p * (v - mean) ** 2 for p, v in sample)
        seen = max(v for _, v in sample)
        wanted = max(top, seen + (top - mean) / 10, mean + math.sqrt(variance / risk / 2))
        stake = min([x for x in stakes if x >= wanted], default=stakes[-1])
        shortfall = math.prod((stake - v) ** p for p, v in sample)
        return min(stake - math.exp(-risk) * shortfall, top)

    return [worth(0, s, 0) for s in range(S)], used
