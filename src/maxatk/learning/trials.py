"""Trying a policy out in a generative model: many trials at once, each exactly as a user would run it."""

import copy
from typing import Any

import numpy as np

from maxatk.learning.run import Run
from maxatk.policies import Policy, Trial
from maxatk.rows import Floats, Ints


def try_policy(run: Run, policy: Policy, n: int) -> Floats:
    """The best returns of ``n`` independent trials: [n]. Each step of each trial is a sample of its own."""
    model, met = run.model, _Histories(run, policy)
    start_prob = model.start_prob / model.start_prob.sum()

    def begin_rollouts(trials: Ints) -> None:
        states = run.rng.choice(model.start_state, size=len(trials), p=start_prob).tolist()
        for t, state in zip(trials.tolist(), states, strict=True):
            decision[t] = met.decision(int(moment[t]), state)

    moment = np.zeros(n, np.int64)  # [n] where each trial stands, as a number of ``met.trials``
    decision = np.zeros(n, np.int64)  # [n] what it is about to do, as a number of ``met.row``
    begin_rollouts(np.arange(n))
    going = np.arange(n)
    while going.size:
        rows = np.array(met.row)[decision[going]]
        order = np.argsort(rows, kind="stable")
        reset: list[int] = []
        for members in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):  # those that ask the same question
            next_states, rewards = run.try_out(int(rows[members[0]]), len(members))
            for t, s, r in zip(going[members].tolist(), next_states.tolist(), rewards.tolist(), strict=True):
                moment[t] = after = met.after(int(decision[t]), s, r)
                if met.trials[after].step:
                    decision[t] = met.decision(after, s)
                elif not met.trials[after].finished:
                    reset.append(t)
        begin_rollouts(np.array(reset, np.int64))
        stand: list[int] = moment[going].tolist()
        going = going[[not met.trials[i].finished for i in stand]]
    final: list[int] = moment.tolist()
    return np.array([float(met.trials[i].best) for i in final])


class _Histories:
    """The compressed histories that trials meet. Trials that agree on theirs share what the policy does."""

    def __init__(self, run: Run, policy: Policy) -> None:
        self._model = run.model
        self.trials: list[Trial] = [policy.begin()]  # by moment; the first is the beginning of them all
        self.row: list[int] = []  # by decision
        self._acting: list[Trial] = []
        self._moments: dict[Any, int] = {}
        self._decisions: dict[tuple[int, int], int] = {}
        self._afters: dict[tuple[int, int, float], int] = {}

    def decision(self, moment: int, state: int) -> int:
        """What the policy does at a moment in a state."""
        key = (moment, state)
        found = self._decisions.get(key)
        if found is None:
            trial = copy.copy(self.trials[moment])
            action = trial.act(state)
            found = self._decisions[key] = len(self.row)
            self.row.append(self._model.row_at(trial.step, state, action))
            self._acting.append(trial)
        return found

    def after(self, decision: int, next_state: int, reward: float) -> int:
        """The moment that follows a decision."""
        key = (decision, next_state, reward)
        found = self._afters.get(key)
        if found is None:
            trial = copy.copy(self._acting[decision])
            trial.observe(reward, next_state == self._model.n_states)
            same = (trial.rollout, trial.step, trial.best, trial.so_far)
            found = self._moments.setdefault(same, len(self.trials))
            if found == len(self.trials):
                self.trials.append(trial)
            self._afters[key] = found
        return found
