"""Trying a policy out in a generative model: many trials at once, each exactly as a user would run it."""

import copy
from typing import Any

import numpy as np

from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints
from maxatk.learning.rows import RowLedger
from maxatk.policies import CompressedPolicy, Policy, Trial


class TryOut:
    """Independent trials of one policy. Each step of each trial is a sample of its own.

    Trials that agree on their compressed histories share what the policy does, so that it is asked once. A *moment* is
    where a trial stands between two steps, a *decision* what it is about to do in the state that it is in.
    """

    def __init__(self, ledger: RowLedger, policy: Policy) -> None:
        if not isinstance(policy, CompressedPolicy):
            raise InputError(f"{type(policy).__name__} remembers more than M and G: it cannot be tried out in bulk")
        self._ledger, self._model = ledger, ledger.model
        assert ledger.model.start is not None
        self._start_state, self._start_prob = ledger.model.start
        self._trials: list[Trial] = [policy.begin()]  # by moment; the first is the beginning of them all
        self._acting: list[Trial] = []  # by decision
        self._row: list[int] = []  # by decision
        self._moments: dict[Any, int] = {}
        self._decisions: dict[tuple[int, int], int] = {}
        self._afters: dict[tuple[int, int, float], int] = {}

    def best_returns(self, n: int) -> Floats:
        """The best returns of ``n`` more trials: [n]."""
        moment = np.zeros(n, np.int64)  # [n] where each trial stands
        decision = np.zeros(n, np.int64)  # [n] what it is about to do
        going = np.arange(n)
        self._reset(going, moment, decision)
        while going.size:
            rows = np.array(self._row)[decision[going]]
            order = np.argsort(rows, kind="stable")
            over: list[int] = []  # trials whose rollout is over, but not their last
            for members in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):  # those with the same question
                next_states, rewards = self._ledger.try_out(int(rows[members[0]]), len(members))
                for t, s, r in zip(going[members].tolist(), next_states.tolist(), rewards.tolist(), strict=True):
                    moment[t] = after = self._after(int(decision[t]), s, r)
                    if self._trials[after].step:
                        decision[t] = self._decision(after, s)
                    elif not self._trials[after].finished:
                        over.append(t)
            self._reset(np.array(over, np.int64), moment, decision)
            stand: list[int] = moment[going].tolist()
            going = going[[not self._trials[i].finished for i in stand]]
        final: list[int] = moment.tolist()
        return np.array([float(self._trials[i].best) for i in final])

    def _reset(self, trials: Ints, moment: Ints, decision: Ints) -> None:
        """Begin a rollout in each of these trials."""
        states = self._ledger.rng.choice(self._start_state, size=len(trials), p=self._start_prob)
        for t, state in zip(trials.tolist(), states.tolist(), strict=True):
            decision[t] = self._decision(int(moment[t]), state)

    def _decision(self, moment: int, state: int) -> int:
        """What the policy does at a moment in a state."""
        key = (moment, state)
        decision = self._decisions.get(key)
        if decision is None:
            trial = copy.copy(self._trials[moment])
            action = trial.act(state)
            decision = self._decisions[key] = len(self._row)
            self._row.append(self._model.row_at(trial.step, state, action))
            self._acting.append(trial)
        return decision

    def _after(self, decision: int, next_state: int, reward: float) -> int:
        """The moment that follows a decision."""
        key = (decision, next_state, reward)
        moment = self._afters.get(key)
        if moment is None:
            trial = copy.copy(self._acting[decision])
            trial.observe(reward, next_state == self._model.n_states)
            same = (trial.rollout, trial.step, trial.exact_best, trial.exact_so_far, trial.remembered)
            moment = self._moments.setdefault(same, len(self._trials))
            if moment == len(self._trials):
                self._trials.append(trial)
            self._afters[key] = moment
        return moment
