"""Atoms of the distribution of (M, s, G), carried one step forward; equal ones meet in tables, and none is sorted."""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled


class Followed(NamedTuple):
    """What follows some atoms, in order of tag, state and value."""

    tag: Any  # [n] which best return the rollout began with
    state: Any  # [n]
    value: Any  # [n] the return so far, in units
    prob: Any  # [n]
    ended_tag: Any  # [e] the same of rollouts that are over
    ended_value: Any  # [e]
    ended_prob: Any  # [e]
    most: int  # outcomes that became one atom, at most


@compiled
def spans(outcome_start: Any, reward: Any, rows: Any, tag: Any, value: Any, stop: Any) -> Any:
    """Where each tag's atoms begin, and between what returns they come to be: [tags + 1], [tags], [tags].

    ``tag`` [n] is in order.
    """
    n = rows.shape[0]
    begin, low, high = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    tags = 0
    for k in range(n):
        if stop[0] != 0:
            break
        if k == 0 or tag[k] != tag[k - 1]:
            begin[tags], low[tags], high[tags] = k, np.iinfo(np.int64).max, np.iinfo(np.int64).min
            tags += 1
        for o in range(outcome_start[rows[k]], outcome_start[rows[k] + 1]):
            low[tags - 1] = min(low[tags - 1], value[k] + reward[o])
            high[tags - 1] = max(high[tags - 1], value[k] + reward[o])
    begin[tags] = n
    return begin[: tags + 1].copy(), low[:tags].copy(), high[:tags].copy()


@compiled
def follow_atoms(
    outcome_start: Any,
    next_state: Any,
    row_prob: Any,
    reward: Any,
    S: int,
    last: bool,
    rows: Any,
    tag: Any,
    value: Any,
    prob: Any,
    begin: Any,
    low: Any,
    high: Any,
    first: int,
    end: int,
    stop: Any,
) -> Followed:
    """What follows the atoms of some tags that take ``rows`` [n], where returns lie between ``low`` and ``high``.

    A table by state and return holds what comes of one tag, with the end as one more state. After the last step all
    rollouts are over.
    """
    widest, cells, ends = 0, 0, 0
    for t in range(first, end):
        width = high[t] - low[t] + 1
        came = 0
        for k in range(begin[t], begin[t + 1]):
            came += outcome_start[rows[k] + 1] - outcome_start[rows[k]]
        widest = max(widest, width)
        cells += 0 if last else min(came, S * width)
        ends += min(came, width)
    mass = np.zeros((S + 1) * widest)
    count = np.zeros((S + 1) * widest, np.int32)
    out_tag, out_state = np.empty(cells, np.int64), np.empty(cells, np.int64)
    out_value, out_prob = np.empty(cells, np.int64), np.empty(cells)
    ended_tag, ended_value, ended_prob = np.empty(ends, np.int64), np.empty(ends, np.int64), np.empty(ends)
    n, e, most = 0, 0, 0
    for t in range(first, end):
        if stop[0] != 0:
            break
        width = high[t] - low[t] + 1
        for k in range(begin[t], begin[t + 1]):
            for o in range(outcome_start[rows[k]], outcome_start[rows[k] + 1]):
                to = (S if last else next_state[o]) * width + value[k] + reward[o] - low[t]
                mass[to] += prob[k] * row_prob[o]
                count[to] += 1
        for x in range(0 if not last else S * width, (S + 1) * width):
            if count[x] == 0:
                continue
            most = max(most, count[x])
            if x < S * width:
                out_tag[n], out_state[n], out_value[n] = tag[begin[t]], x // width, low[t] + x % width
                out_prob[n] = mass[x]
                n += 1
            else:
                ended_tag[e], ended_value[e], ended_prob[e] = tag[begin[t]], low[t] + x - S * width, mass[x]
                e += 1
            mass[x] = 0.0
            count[x] = 0
    going = out_tag[:n], out_state[:n], out_value[:n], out_prob[:n]
    return Followed(going[0], going[1], going[2], going[3], ended_tag[:e], ended_value[:e], ended_prob[:e], most)


def bin_outcomes(
    outcome_start: Any,
    prob: Any,
    next_state: Any,
    reward: Any,
    rows: Any,
    so_far: Any,
    mass: Any,
    low: float,
    per_bin: float,
    bins: int,
    S: int,
    splits: bool,
    stop: Any,
) -> Any:
    """What follows atoms that take ``rows`` [n], by bin of the return and next state: [(bins + 1) * (S + 1)] each.

    The mass that comes there, the sum of mass times return, and of how many outcomes. Bins start at ``low``. With
    ``splits`` an outcome is shared by both ends of its bin, its mean unchanged; else the last bin stays empty.
    """
    total = np.zeros((bins + 1) * (S + 1))
    moment = np.zeros(0 if splits else (bins + 1) * (S + 1))
    count = np.zeros((bins + 1) * (S + 1), np.int32)
    table, atoms = (outcome_start, prob, next_state, reward), (rows, so_far, mass)
    fill_bins(table, atoms, (low, per_bin, bins), S, splits, total, moment, count, stop)
    return total, moment, count


@compiled
def fill_bins(
    table: Any, atoms: Any, grid: Any, S: int, splits: bool, total: Any, moment: Any, count: Any, stop: Any
) -> None:
    """The loops of :func:`bin_outcomes`."""
    outcome_start, prob, next_state, reward = table
    rows, so_far, mass = atoms
    low, per_bin, bins = grid
    for k in range(rows.shape[0]):
        if stop[0] != 0:
            break
        for o in range(outcome_start[rows[k]], outcome_start[rows[k] + 1]):
            x = so_far[k] + reward[o]
            p = mass[k] * prob[o]
            position = (x - low) * per_bin
            place = min(int(position), bins - 1)
            to = place * (S + 1) + next_state[o]
            share = min(position - place, 1.0) if splits else 0.0
            total[to] += p * (1.0 - share)
            count[to] += 1
            if splits:
                total[to + S + 1] += p * share
                count[to + S + 1] += 1
            else:
                moment[to] += p * x
