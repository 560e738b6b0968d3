"""Acting: what to do, given the rollout, the step, the state, the best return so far and the return of this rollout.

That is all a best-of-K policy must remember (Proposition 2). A :class:`Policy` answers from these numbers; a
:class:`Trial` keeps them for a caller who only has states and rewards.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk import checks
from maxatk.checks import Number
from maxatk.errors import InputError


class Policy(ABC):
    """What to do at every step of every one of ``k`` rollouts. Rollouts, steps, states and actions count from 0."""

    def __init__(self, k: int, horizon: int, best_so_far: Number = -math.inf) -> None:
        self.k = k
        self.horizon = horizon
        self.best_so_far = best_so_far

    @abstractmethod
    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take.

        Args:
            rollout: the number of rollouts that are over.
            step: the number of steps of this rollout that are over.
            state: the present state.
            best: the best return of the earlier rollouts, ``M``; ``-inf`` where there is none.
            so_far: the return of this rollout so far, ``G``.
        """

    def begin(self) -> "Trial":
        """A new trial of ``k`` rollouts that keeps count of itself."""
        return Trial(self)


class Trial:
    """One trial of ``k`` rollouts under a policy: ask with :meth:`act`, tell with :meth:`observe`, in turn.

    Returns are summed exactly, so that nothing drifts from what was observed.

    >>> import maxatk as mk
    >>> trial = mk.solve(mk.instances.figure1(gamma=0.25), k=2).policy.begin()
    >>> trial.act(state=0)
    0
    >>> trial.observe(reward=0.5, done=True)
    >>> trial.rollout, float(trial.best)
    (1, 0.5)
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._awaits_outcome = False
        self.rollout = 0
        self.step = 0
        self.best: Number = policy.best_so_far
        self.so_far = Fraction(0)

    @property
    def finished(self) -> bool:
        """Whether all rollouts are over."""
        return self.rollout == self._policy.k

    def act(self, state: int) -> int:
        """The action to take in ``state``, at the point where the trial stands."""
        if self.finished:
            raise InputError(f"act: all {self._policy.k} rollouts are over")
        if self._awaits_outcome:
            raise InputError("act: the outcome of the last action was not observed yet")
        action = self._policy.action(
            rollout=self.rollout, step=self.step, state=state, best=self.best, so_far=self.so_far
        )
        self._awaits_outcome = True
        return action

    def observe(self, reward: Any, done: bool = False) -> None:
        """Take in what the last action brought; ``done`` says that this rollout is over.

        A rollout is over after ``horizon`` steps even if nobody says so.
        """
        if not self._awaits_outcome:
            raise InputError("observe: no action was taken since the last outcome")
        if not isinstance(done, bool | np.bool_):
            raise InputError(f"done must be true or false, not {checks.shown(done)}")
        self.so_far += checks.exact_number(reward, "reward")
        self._awaits_outcome = False
        self.step += 1
        if done or self.step == self._policy.horizon:
            self.best = max(self.best, self.so_far)
            self.rollout, self.step, self.so_far = self.rollout + 1, 0, Fraction(0)
