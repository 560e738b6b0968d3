"""A floor under every plan: what the policy that maximises the mean earns if it is repeated."""

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.types import Floats, Ints, Ints32, Number
from maxatk.planning.tuning import TUNING
from maxatk.problem.mdp import MDP

MOST_OUTCOMES = 2**23  # that one step of all of them has, where each row is taken equally often
ROUNDING = 2.0**-53


def repeated_mean(mdp: MDP, k: int, best_so_far: Number) -> float:
    """At most what ``k`` rollouts of the mean-optimal policy earn (docs/theory/planner.md, 9).

    The law of one rollout's return is carried forward. Where atoms ``(state, return)`` become too many, those of one
    state that lie close together are merged into their mean: the expected best is convex in each return, so by Jensen's
    inequality it can only fall.
    """
    rows, _ = mdp.analysis.mean_optimal
    state, so_far, mass = mdp.start_state, np.zeros(len(mdp.start_state)), mdp.reset_prob
    ended: list[tuple[Floats, Floats]] = []
    error = len(mass) + 4.0  # of masses, relative, and of returns, as a share of the largest: in units of rounding
    for h in range(mdp.horizon):
        stopping.check()
        taken = rows[h, state].astype(np.int64)
        sizes = mdp.outcome_start[taken + 1] - mdp.outcome_start[taken]
        follow = _one_by_one if sizes.sum() <= TUNING.floor_atoms else _in_bins
        state, so_far, mass, merged = follow(mdp, taken, sizes, so_far, mass)
        error += merged + 8
        over = state == mdp.n_states
        ended.append((so_far[over], mass[over]))
        state, so_far, mass = state[~over], so_far[~over], mass[~over]
        if not len(state):
            break
    ended.append((so_far, mass))
    returns, chances = (np.concatenate(column) for column in zip(*ended, strict=True))
    order = np.argsort(returns, kind="stable")
    least, most = mdp.return_range
    in_hand = max(float(best_so_far), least)
    value = np.maximum(returns[order], in_hand)
    below = np.minimum(np.cumsum(chances[order])[:-1], 1.0)
    mean = float(value[-1] - (np.diff(value) * below**k).sum())  # the greatest, less what the best falls short of it
    # A chance of falling short that is off by a share counts k times that share; returns are off by their size.
    error = (error + len(value)) * ROUNDING
    largest = float(np.abs(mdp.reward).max()) * mdp.horizon + abs(in_hand)
    return mean - 4 * k * error * max(most - mean, 0.0) - (error + 16 * ROUNDING) * largest


def _one_by_one(mdp: MDP, rows: Ints, sizes: Ints, so_far: Floats, mass: Floats) -> tuple[Ints32, Floats, Floats, int]:
    """The atoms (state, return, mass) that follow these, equal ones as one; and how many became one at most."""
    atom = np.repeat(np.arange(len(rows)), sizes)
    o = np.arange(len(atom)) + np.repeat(mdp.outcome_start[rows] - (np.cumsum(sizes) - sizes), sizes)
    state, so_far, mass = mdp.next_state[o], so_far[atom] + mdp.reward[o], mass[atom] * mdp.row_prob[o]
    order = np.lexsort((so_far, state))
    same = (np.diff(state[order]) == 0) & (np.diff(so_far[order]) == 0)
    starts = np.flatnonzero(np.append(True, ~same))
    counts = np.diff(np.append(starts, len(order)))
    return state[order[starts]], so_far[order[starts]], np.add.reduceat(mass[order], starts), int(counts.max())


def _in_bins(mdp: MDP, rows: Ints, sizes: Ints, so_far: Floats, mass: Floats) -> tuple[Ints32, Floats, Floats, int]:
    """The same, with atoms of one state in one bin of returns merged into their mean."""
    bins = max(min(TUNING.floor_bins // (mdp.n_states + 1), MOST_OUTCOMES * mdp.n_layers // len(mdp.prob), 128), 1)
    low = float(so_far.min() + mdp.reward.min())
    per_bin = bins / max(float(so_far.max() + mdp.reward.max()) - low, 1e-300)
    total, moment, count = stopping.run(
        *(kernels.merge_outcomes, mdp.outcome_start, mdp.row_prob, mdp.next_state, mdp.reward),
        *(rows, so_far, mass, low, per_bin, bins, mdp.n_states),
    )
    kept = np.flatnonzero(total)
    return (kept % (mdp.n_states + 1)).astype(np.int32), moment[kept] / total[kept], total[kept], int(count.max())
