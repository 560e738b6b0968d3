"""Windows: the returns that a slice needs at each step and state, and where their cells lie.

Returns lie on a lattice, and ``g`` counts its steps: at step ``h`` it stands for ``kappa * (g + drift * h)``, where
``drift`` keeps numbers small even if all rewards are large. A state at a step needs only the *window* of ``g`` that can
be reached and from which ``m`` can still be beaten: below it the state is *idle*, and worth what the curve pays at
``m``. Before its window each state has some idle cells, the *pad*, so that whatever a row reaches lies in the buffer
and inner loops have no cases to tell apart. Layer ``H`` and next state ``S`` are finished rollouts.

What takes a pass over all outcomes is known once per lattice. The windows of a slice follow from it cell by cell: a pad
starts at the least return that any row of a window can lead to, or somewhat below it.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled

NEVER = 2**30  # beyond any index: no state is reached with such a return
WIDEST = NEVER // 4  # returns and shifts in lattice steps stay below, so that no sum of some leaves 32 bits
FAR = 2**62  # beyond any return, drift included


class Part(NamedTuple):
    """Some layers and some states of each: what one call of a sweep does, from the last layer to the first."""

    first_step: int
    end_step: int
    first_state: int
    end_state: int


class Reach(NamedTuple):
    """With what returns, on the lattice, states are entered and rollouts end."""

    first: Any  # [H, S] the least return with which a state can be reached
    last: Any  # [H, S] the greatest; less than the least where it cannot be reached
    lead: Any  # [H, S] the most that could still be gained where a state was entered from, less what led to it
    end_first: Any  # [H] the least return of rollouts that end with each step; FAR where none does
    end_last: Any  # [H] the greatest
    end_lead: Any  # [H] as ``lead``, for the end


class RowTable(NamedTuple):
    """A problem's rows and their outcomes."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    outcome_start: Any  # [N + 1]
    prob: Any  # [T] each row sums to 1
    next_state: Any  # [T] S where the rollout ends
    reward: Any  # [T]
    action_cost: Any  # [N] what taking each row costs


class Moves(NamedTuple):
    """What outcomes add to returns on a lattice of step ``kappa``: ``reward = kappa * (drift + jump + part)``."""

    jump: Any  # [T] whole lattice steps beyond the drift, rounded down
    part: Any  # [T] what is left, 0 <= part < 1
    most_left: Any  # [H + 1, S] jumps that can still be gained if the rollout is not cut short, rounded up
    drift: int  # lattice steps that every step adds beside its jump


class Tables(NamedTuple):
    """A problem on a lattice: its outcomes, and the returns with which states can be reached."""

    rows: RowTable
    moves: Moves
    reach: Reach
    finish_cost: Any  # [H + 1, S] the least expected cost of finishing; 0 where a rollout may be given up
    abandon: bool  # whether a rollout may be given up at any step


class Layout(NamedTuple):
    """Where the cells of a slice lie in its buffer."""

    low: Any  # [H, S] where the window starts
    pad: Any  # [H, S] where the idle cells before it start
    high: Any  # [H, S] where it ends, inclusively
    place: Any  # [H + 1, S + 1] where the cell of return 0 lies


def reachable(rows: RowTable, moves: Moves, h0: int, start: Any, stop: Any) -> Reach:
    """The returns with which states are entered and rollouts end, from a return of 0 in the ``start`` states at ``h0``.

    Looks at ``stop`` [1] between two states, and ends early where it is not 0.
    """
    # Arrays are made here, since compiling that would take long.
    H, S = rows.step_layer.shape[0], moves.most_left.shape[1]
    first, last = np.full((H, S), NEVER, np.int32), np.full((H, S), -NEVER, np.int32)
    first[h0, start] = last[h0, start] = 0
    reach = Reach(first, last, moves.most_left[:H].copy(), np.full(H, FAR), np.full(H, -FAR), np.full(H, -FAR))
    fill_reach(rows, moves, h0, reach, stop)
    return reach


@compiled
def fill_reach(rows: RowTable, moves: Moves, h0: int, reach: Reach, stop: Any) -> None:
    """The loops of :func:`reachable`."""
    first, last, lead, end_first, end_last, end_lead = reach
    jump, part, most_left, outcome_start = moves.jump, moves.part, moves.most_left, rows.outcome_start
    H, S = first.shape
    for h in range(h0, H):
        node = rows.step_layer[h] * S
        for s in range(S):
            if stop[0] != 0:
                return
            if first[h, s] > last[h, s]:
                continue
            for o in range(outcome_start[rows.pair_start[node + s]], outcome_start[rows.pair_start[node + s + 1]]):
                t = rows.next_state[o]
                low, up = first[h, s] + jump[o], last[h, s] + jump[o] + (1 if part[o] > 0.0 else 0)
                left = most_left[h, s] - jump[o]
                if t == S or h == H - 1:
                    end_first[h] = min(end_first[h], low)
                    end_last[h] = max(end_last[h], up)
                    end_lead[h] = max(end_lead[h], left)
                else:
                    first[h + 1, t] = min(first[h + 1, t], low)
                    last[h + 1, t] = max(last[h + 1, t], up)
                    lead[h + 1, t] = max(lead[h + 1, t], left)


def windows(tables: Tables, shift_low: int, shift_high: int, m: int, stop: Any) -> Any:
    """The windows of a slice, [H, S] each: ``low``, ``pad``, ``high`` and the number of cells of earlier states.

    The last result is how many cells each layer has, [H]. The reachable returns are widened by the shifts. A window
    starts where ``m`` can be beaten.
    """
    H, S = tables.reach.first.shape
    low, pad, high = np.empty((3, H, S), np.int32)
    before, sizes = np.zeros((H, S), np.int64), np.zeros(H, np.int64)
    fill_windows(tables.reach, tables.moves, (shift_low, shift_high, m), low, pad, high, before, sizes, stop)
    return low, pad, high, before, sizes


@compiled
def fill_windows(
    reach: Reach, moves: Moves, held: Any, low: Any, pad: Any, high: Any, before: Any, sizes: Any, stop: Any
) -> None:
    """The loops of :func:`windows`; ``held`` are the two shifts and ``m``."""
    shift_low, shift_high, m = held
    most_left = moves.most_left
    H, S = low.shape
    beaten = m - moves.drift * H + 1  # from here on, with nothing left to gain
    for h in range(H):
        if stop[0] != 0:
            break
        for s in range(S):
            least = reach.first[h, s] + shift_low
            low[h, s] = max(least, min(beaten - most_left[h, s], NEVER))
            pad[h, s] = max(least, min(beaten - reach.lead[h, s], NEVER))
            high[h, s] = reach.last[h, s] + shift_high
            before[h, s] = sizes[h]
            sizes[h] += max(high[h, s] - pad[h, s] + 1, 0)
