"""Trials of a table side by side, for agents that learn: one step of all of them, and what they observe."""

import math
from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled


class TrialTable(NamedTuple):
    """What trials of a table are drawn from, and how they are paid."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    action: Any  # [N]
    outcome_start: Any  # [N + 1]
    prob: Any  # [T] each row sums to 1
    next_state: Any  # [T] S where the rollout ends
    reward: Any  # [T]
    start_state: Any  # [B]
    start_prob: Any  # [B] sums to 1
    n_states: int  # S
    k: int  # rollouts of a trial
    incumbent: float  # in hand at first, or -inf
    dense: bool  # whether steps within a rollout are paid
    potential: Any  # [1 or H, S] what is expected of a state, beside G


class Trials(NamedTuple):
    """Where trials stand, [n] each; changed in place."""

    rollout: Any  # that are over
    step: Any  # of the present rollout that are over
    state: Any
    best: Any  # M
    so_far: Any  # G
    worth: Any  # what was paid for already
    returned: Any  # the return of the rollout that ended last


@compiled
def shown_return(x: float, low: float, high: float) -> float:
    """A return as a network sees it; ``low`` and ``high`` are what -1 and 1 stand for, unless they are equal."""
    if low == high:
        return math.copysign(math.log1p(abs(x)), x)
    z = 2 * (x - low) / (high - low) - 1
    return z if abs(z) <= 1 else math.copysign(2 - 1 / abs(z), z)


@compiled
def drawn_start(table: TrialTable, uniform: float) -> int:
    """The start state that a uniform number in [0, 1) draws."""
    place, left = 0, uniform
    while place < len(table.start_prob) - 1 and left >= table.start_prob[place]:
        left -= table.start_prob[place]
        place += 1
    return table.start_state[place]


@compiled
def worth_of(table: TrialTable, trials: Trials, i: int) -> float:
    """What a trial has come to: rewards are its changes, and it ends at the best return."""
    best = trials.best[i]
    if table.dense and trials.rollout[i] < table.k:
        h = min(trials.step[i], table.potential.shape[0] - 1)
        return max(best, trials.so_far[i] + table.potential[h, trials.state[i]])
    return best if best > -np.inf else 0.0


@compiled
def begin_trials(table: TrialTable, trials: Trials, which: Any, uniform: Any) -> None:
    """Begin the trials ``which`` [m] anew, in states drawn by ``uniform`` [m]."""
    for j in range(len(which)):
        i = which[j]
        trials.rollout[i] = 0
        trials.step[i] = 0
        trials.state[i] = drawn_start(table, uniform[j])
        trials.best[i] = table.incumbent
        trials.so_far[i] = 0.0
        trials.worth[i] = table.incumbent if table.incumbent > -np.inf else 0.0


@compiled
def step_trials(
    table: TrialTable, trials: Trials, actions: Any, uniform: Any, reward: Any, rollout_over: Any, over: Any
) -> int:
    """Take one step of every trial: what it pays, and whether a rollout is over, and the trial.

    ``uniform`` [n, 2] draws outcomes and, where a rollout is over and another follows, its start. The answer is the
    first trial whose state does not offer the action, or -1; nothing is changed then.
    """
    n, horizon = len(actions), len(table.step_layer)
    rows = np.empty(n, np.int64)
    for i in range(n):
        node = table.step_layer[trials.step[i]] * table.n_states + trials.state[i]
        rows[i] = -1
        for row in range(table.pair_start[node], table.pair_start[node + 1]):
            if table.action[row] == actions[i]:
                rows[i] = row
                break
        if rows[i] < 0:
            return i
    for i in range(n):
        o, last = table.outcome_start[rows[i]], table.outcome_start[rows[i] + 1] - 1
        left = uniform[i, 0]
        while o < last and left >= table.prob[o]:
            left -= table.prob[o]
            o += 1
        trials.so_far[i] += table.reward[o]
        trials.step[i] += 1
        ended = table.next_state[o] == table.n_states
        if not ended:
            trials.state[i] = table.next_state[o]
        rollout_over[i] = ended or trials.step[i] == horizon
        over[i] = False
        if rollout_over[i]:
            trials.best[i] = max(trials.best[i], trials.so_far[i])
            trials.returned[i] = trials.so_far[i]
            trials.rollout[i] += 1
            over[i] = trials.rollout[i] == table.k
            if not over[i]:
                trials.step[i] = 0
                trials.so_far[i] = 0.0
                trials.state[i] = drawn_start(table, uniform[i, 1])
        before = trials.worth[i]
        trials.worth[i] = worth_of(table, trials, i)
        reward[i] = trials.worth[i] - before
    return -1


@compiled
def encode_trials(
    rollout: Any, step: Any, state: Any, best: Any, so_far: Any, sizes: Any, scale: Any, features: Any, out: Any
) -> None:
    """What is observed of trials [n, d]: the state, then five numbers of the trial.

    ``sizes`` is (k, horizon, n_states), ``scale`` (low, high) of :func:`shown_return`; ``features`` [S, f] are what is
    seen of a state, or empty [0, 0] where it is one-hot.
    """
    k, horizon, n_states = sizes
    low, high = scale
    width = features.shape[1] if features.shape[0] else n_states
    for i in range(len(state)):
        if features.shape[0]:
            out[i, :width] = features[state[i]]
        else:
            out[i, :width] = 0.0
            out[i, state[i]] = 1.0
        some = best[i] > -np.inf
        out[i, width] = 1.0 if some else 0.0
        out[i, width + 1] = shown_return(best[i], low, high) if some else 0.0
        out[i, width + 2] = shown_return(so_far[i], low, high)
        out[i, width + 3] = (k - rollout[i]) / k
        out[i, width + 4] = (horizon - step[i]) / horizon if rollout[i] < k else 0.0
