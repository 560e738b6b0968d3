"""Trials: a policy at work, one step at a time, for a caller who only has states and rewards."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Rational
from typing import TYPE_CHECKING, Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import nearest_float
from maxatk.base.types import Number

if TYPE_CHECKING:
    from maxatk.policies.policy import CompressedPolicy, Policy

ABANDON = -1
"""What :meth:`CompressedPolicy.action` and :meth:`Trial.act` answer where the rollout is to be given up."""


class Trial(ABC):
    """One trial of ``k`` rollouts under a policy: ask with :meth:`act`, tell with :meth:`observe`, in turn.

    Rewards are summed exactly, so that nothing drifts from what was observed, and the policy is asked with these sums,
    as :func:`maxatk.evaluate` asks it. What a caller reads, :attr:`best` and :attr:`so_far`, is in the caller's own
    numbers: floats, or fractions once a reward was given as one.

    >>> import maxatk as mk
    >>> trial = mk.solve(mk.instances.figure1(gamma=0.25), k=2).policy.begin()
    >>> trial.act(state=0)
    0
    >>> trial.observe(reward=0.5, done=True)
    >>> trial.rollout, trial.best
    (1, 0.5)
    """

    def __repr__(self) -> str:
        where = f"try {min(self.rollout + 1, self._k)} of {self._k}, step {self.step}"
        return f"{type(self).__name__}({'over' if self.finished else where}, best so far {float(self.exact_best):.6g})"

    def __init__(self, policy: "Policy") -> None:
        self._k, self._horizon, self._stops = policy.k, policy.horizon, policy.stops
        self._stopped: bool | None = None  # whether the policy stops before this rollout, once it was asked
        self._taken: tuple[Any, int] | None = None  # state and action whose outcome was not observed yet
        self.rollout = 0  # the number of rollouts that are over
        self.step = 0  # the number of steps of this rollout that are over
        self.exact_best = policy.best_so_far  # M itself, ``-inf`` where there is none: what the policy is asked with
        self.exact_so_far = Fraction(0)  # G itself
        self._in_floats = _is_float(policy.best_so_far)  # whether no fraction was given yet

    @property
    def best(self) -> Number:
        """The best return of the earlier rollouts, M: the nearest float, or a fraction where fractions were given."""
        return self._readable(self.exact_best)

    @property
    def so_far(self) -> Number:
        """The return of this rollout so far, G: the nearest float, or a fraction where fractions were given."""
        return self._readable(self.exact_so_far)

    def _readable(self, amount: Number) -> Number:
        return nearest_float(amount) if self._in_floats else amount

    @property
    def finished(self) -> bool:
        """Whether all rollouts are over, or the policy stops with what is in hand."""
        if self.rollout == self._k:
            return True
        if self._stopped is None:
            self._stopped = self._stops(rollout=self.rollout, best=self.exact_best)
        return self._stopped

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as the policy remembers them: the true ones, but for policies that round."""
        return self.exact_best, self.exact_so_far

    def act(self, state: Any) -> int:
        """The action to take in ``state``, where the trial stands; ``ABANDON`` if the rollout is to be given up."""
        if self.finished:
            over = self.rollout == self._k
            why = (
                f"all {self._k} rollouts are over"
                if over
                else f"the policy stops with {float(self.best):g} as the best so far"
            )
            raise InputError(f"act: {why}")
        if self._taken:
            raise InputError("act: the outcome of the last action was not observed yet")
        action = self._choose(state)
        self._taken = state, action
        return action

    def observe(self, reward: Any, done: bool = False) -> None:
        """Take in the ``reward`` that the last action brought; ``done`` says that this rollout is over.

        A rollout is over after ``horizon`` steps even if nobody says so, and when it was given up: its return, and the
        reward of that step, do not count then.
        """
        if not self._taken:
            raise InputError("observe: no action was taken since the last outcome")
        if not isinstance(done, bool | np.bool_):
            raise InputError(f"done must be true or false, not {checks.shown(done)}")
        amount = checks.exact_number(reward, "reward")
        self._in_floats = self._in_floats and _is_plain(reward)
        self._take_in(amount, bool(done))

    def _take_in(self, amount: Fraction, done: bool) -> None:
        """The same, of what was checked."""
        assert self._taken is not None
        given_up = self._taken[1] == ABANDON
        over = done or given_up or self.step + 1 == self._horizon
        self._remember(*self._taken, amount, over)
        self._taken = None
        self.exact_so_far += amount
        self.step += 1
        if over:
            self.exact_best = self.exact_best if given_up else max(self.exact_best, self.exact_so_far)
            self.rollout, self.step, self.exact_so_far, self._stopped = self.rollout + 1, 0, Fraction(0), None

    @abstractmethod
    def _choose(self, state: Any) -> int:
        """Ask the policy, with what it remembers."""

    @abstractmethod
    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        """Add one step to what the policy remembers; ``over`` where it is the last of its rollout."""


class CompressedTrial(Trial):
    """A trial that remembers M and G, as the policy wants them."""

    def __init__(self, policy: "CompressedPolicy", memory: Callable[[Fraction], Fraction] | None) -> None:
        super().__init__(policy)
        self._policy, self._memory = policy, memory
        self._best, self._so_far = policy.best_so_far, Fraction(0)

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as the policy remembers them: the true ones, but for policies that round."""
        return self._best, self._so_far

    def _choose(self, state: Any) -> int:
        return self._policy.action(
            rollout=self.rollout, step=self.step, state=state, best=self._best, so_far=self._so_far
        )

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._so_far += reward if self._memory is None else self._memory(reward)
        if over:
            kept = self._best if action == ABANDON else max(self._best, self._so_far)
            self._best, self._so_far = kept, Fraction(0)


def _is_plain(reward: Any) -> bool:
    """Whether a reward was not given as a fraction."""
    return type(reward) is float or not isinstance(reward, Rational) or isinstance(reward, Integral)


def _is_float(amount: Number) -> bool:
    """Whether a float says exactly this: what is in hand is kept as a fraction, whatever it was given as."""
    return amount == nearest_float(amount)
