"""Policies that remember everything."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from maxatk.base.types import Number, Seed
from maxatk.policies.arguments import checked_function
from maxatk.policies.policy import Policy
from maxatk.policies.trial import ABANDON, Trial


class PastStep(NamedTuple):
    """One step of the past."""

    state: Any  # the state stepped from
    action: int  # the action taken
    reward: Fraction  # what it paid


@dataclass(frozen=True)
class History:
    """All that was seen in a trial: the rollouts that are over, the present one, and the present state."""

    past: tuple[tuple[PastStep, ...], ...]  # the steps of the rollouts that are over
    present: tuple[PastStep, ...]  # the steps of this one
    state: Any  # the present state
    best_so_far: Number = -math.inf  # the incumbent

    @property
    def rollout(self) -> int:
        """The number of rollouts that are over."""
        return len(self.past)

    @property
    def step(self) -> int:
        """The number of steps of this rollout that are over."""
        return len(self.present)

    @property
    def so_far(self) -> Fraction:
        """The return of this rollout so far, ``G``."""
        return _total(self.present)

    @property
    def best(self) -> Number:
        """The best return of the earlier rollouts, ``M``."""
        return max([self.best_so_far, *(_total(one) for one in self.past if one[-1].action != ABANDON)])


class HistoryPolicy(Policy):
    """Any function of the whole :class:`History`: ``Π_H``.

    Args:
        choose: the function, of a :class:`History`.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> policy = mk.HistoryPolicy(lambda seen: len(seen.past) % 2, k=2, horizon=1)
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), policy).exact)
    '17/32'
    """

    def __init__(
        self,
        choose: Callable[[History], int],
        k: int,
        horizon: int,
        best_so_far: Number = -math.inf,
        *,
        stop_at: Number = math.inf,
    ) -> None:
        super().__init__(k, horizon, best_so_far, stop_at=stop_at)
        self.choose = checked_function(choose)

    def begin(self, rng: Seed = None) -> "HistoryTrial":
        """A new trial, which remembers everything, and draws nothing."""
        return HistoryTrial(self)


class HistoryTrial(Trial):
    """A trial that remembers everything."""

    def __init__(self, policy: HistoryPolicy) -> None:
        super().__init__(policy)
        self._policy = policy
        self._past: tuple[tuple[PastStep, ...], ...] = ()
        self._present: tuple[PastStep, ...] = ()

    def _choose(self, state: Any) -> int:
        return self._policy.choose(History(self._past, self._present, state, self._policy.best_so_far))

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._present = (*self._present, PastStep(state, action, reward))
        if over:
            self._past, self._present = (*self._past, self._present), ()


def _total(rollout: tuple[PastStep, ...]) -> Fraction:
    return sum((seen.reward for seen in rollout), Fraction(0))
