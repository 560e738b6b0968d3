"""Trials of a table side by side, for agents that learn: one step of all of them, and what they observe."""

import math
from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.acting import drawn_place
from maxatk.kernels.compiled import compiled


class TrialRows(NamedTuple):
    """The rows of a table, from which outcomes are drawn."""

    step_layer: Any  # [H]
    pair_start: Any  # [L * S + 1]
    action: Any  # [N]
    outcome_start: Any  # [N + 1]
    prob: Any  # [T] each row sums to 1
    next_state: Any  # [T] S where the rollout ends
    reward: Any  # [T]
    n_states: int  # S


class TrialTable(NamedTuple):
    """What trials of a table are drawn from, and how they are paid."""

    rows: TrialRows
    start_state: Any  # [B]
    start_prob: Any  # [B] sums to 1
    k: int  # rollouts of a trial
    incumbent: float  # the best before the first rollout, or -inf
    pays_steps: bool  # whether steps within a rollout are paid, and not its end alone
    potential: Any  # [1 or H, S] what is expected of a state, beside G


class Trials(NamedTuple):
    """Where trials stand, [n] each; changed in place."""

    rollout: Any  # that are over
    step: Any  # of the present rollout that are over
    state: Any
    best: Any  # M
    so_far: Any  # G
    value: Any  # what the trial has come to: rewards are its changes


class View(NamedTuple):
    """How trials are observed."""

    k: int
    horizon: int
    n_states: int
    low: float  # of returns, what -1 stands for; see shown_return
    high: float  # what 1 stands for
    features: Any  # [S, f] what is seen of a state, or empty [0, 0] where it is one-hot


class Stepped(NamedTuple):
    """What one step of all trials comes to, [n] each; filled in."""

    reward: Any
    rollout_over: Any
    returned: Any  # the return of the rollout that is over, 0 where none is
    over: Any  # whether the trial is
    best: Any  # the best return of a trial that is over, 0 where it goes on
    observed: Any  # [n, d] where trials stand; the next one where one is over
    final: Any  # [n, d] where trials ended; rows of those that go on are left as they are


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
    return table.start_state[drawn_place(table.start_prob, 0, len(table.start_prob), uniform)]


@compiled
def value_of(table: TrialTable, trials: Trials, i: int) -> float:
    """What a trial has come to: rewards are its changes, and it ends at the best return."""
    best = trials.best[i]
    if table.pays_steps and trials.rollout[i] < table.k:
        h = min(trials.step[i], table.potential.shape[0] - 1)
        return max(best, trials.so_far[i] + table.potential[h, trials.state[i]])
    return best if best > -np.inf else 0.0


@compiled
def begin_trials(table: TrialTable, trials: Trials, which: Any, uniform: Any) -> None:
    """Begin those trials anew that ``which`` [n] marks, in states drawn by ``uniform`` [n]."""
    for i in range(len(which)):
        if which[i]:
            trials.rollout[i] = 0
            trials.step[i] = 0
            trials.state[i] = drawn_start(table, uniform[i])
            trials.best[i] = table.incumbent
            trials.so_far[i] = 0.0
            trials.value[i] = table.incumbent if table.incumbent > -np.inf else 0.0


@compiled
def step_rollouts(table: TrialTable, trials: Trials, actions: Any, uniform: Any, stepped: Stepped) -> int:
    """Take one step of every trial, as :func:`step_trials` says; those that are over stay so."""
    rows, n, horizon = table.rows, len(actions), len(table.rows.step_layer)
    taken = np.empty(n, np.int64)
    for i in range(n):
        node = rows.step_layer[trials.step[i]] * rows.n_states + trials.state[i]
        taken[i] = -1
        for row in range(rows.pair_start[node], rows.pair_start[node + 1]):
            if rows.action[row] == actions[i]:
                taken[i] = row
                break
        if taken[i] < 0:
            return i
    for i in range(n):
        first, end = rows.outcome_start[taken[i]], rows.outcome_start[taken[i] + 1]
        o = drawn_place(rows.prob, first, end, uniform[i, 0])
        trials.so_far[i] += rows.reward[o]
        trials.step[i] += 1
        ended = rows.next_state[o] == rows.n_states
        if not ended:
            trials.state[i] = rows.next_state[o]
        stepped.rollout_over[i] = ended or trials.step[i] == horizon
        stepped.returned[i] = 0.0
        stepped.over[i] = False
        stepped.best[i] = 0.0
        if stepped.rollout_over[i]:
            stepped.returned[i] = trials.so_far[i]
            trials.best[i] = max(trials.best[i], trials.so_far[i])
            trials.rollout[i] += 1
            stepped.over[i] = trials.rollout[i] == table.k
            if stepped.over[i]:
                stepped.best[i] = trials.best[i]
            else:
                trials.step[i] = 0
                trials.so_far[i] = 0.0
                trials.state[i] = drawn_start(table, uniform[i, 1])
        before = trials.value[i]
        trials.value[i] = value_of(table, trials, i)
        stepped.reward[i] = trials.value[i] - before
    return -1


@compiled
def encode_trials(view: View, trials: Trials, which: Any, out: Any) -> None:
    """What is observed of those trials that ``which`` [n] marks, [n, d]: the state, then five numbers of the trial."""
    seen = view.features.shape[1] if view.features.shape[0] else view.n_states
    for i in range(len(which)):
        if not which[i]:
            continue
        state, best = trials.state[i], trials.best[i]
        if view.features.shape[0]:
            out[i, :seen] = view.features[state]
        else:
            out[i, :seen] = 0.0
            out[i, state] = 1.0
        some, goes_on = best > -np.inf, trials.rollout[i] < view.k
        out[i, seen] = 1.0 if some else 0.0
        out[i, seen + 1] = shown_return(best, view.low, view.high) if some else 0.0
        out[i, seen + 2] = shown_return(trials.so_far[i], view.low, view.high)
        out[i, seen + 3] = (view.k - trials.rollout[i]) / view.k
        out[i, seen + 4] = (view.horizon - trials.step[i]) / view.horizon if goes_on else 0.0


@compiled
def step_trials(table: Any, view: Any, trials: Any, actions: Any, uniform: Any, every: Any, stepped: Any) -> int:
    """Take one step of every trial; one that is over is followed by the next at once.

    ``uniform`` [n, 2] draws outcomes and, where a rollout is over, the start of the one that follows. The answer is the
    first trial whose state does not offer the action, or -1; nothing is changed then. ``every`` [n] is true throughout.
    The tuples are plain ones here, in the order of their fields: named ones take longer to hand over than the step.
    """
    played, seen, where, after = (
        TrialTable(TrialRows(*table[0]), *table[1:]),
        View(*view),
        Trials(*trials),
        Stepped(*stepped),
    )
    wrong = step_rollouts(played, where, actions, uniform, after)
    if wrong < 0:
        if after.over.any():
            encode_trials(seen, where, after.over, after.final)
            begin_trials(played, where, after.over, uniform[:, 1])
        encode_trials(seen, where, every, after.observed)
    return wrong
