"""Policies that remember the best return so far and the return so far, M and G, at most."""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np

from maxatk.base import checks
from maxatk.base.returns import Amounts
from maxatk.base.types import Ints, Number
from maxatk.policies.policy import Lot, Policy, Trial


class Rule(Protocol):
    """What a policy does within one rollout, for many trials at once: actions [n] for states and returns [n].

    ``tag`` [n] says which of the best returns the rule was made for each trial has.
    """

    def __call__(self, step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
        """The actions to take."""
        ...


class CompressedPolicy(Policy):
    """A policy that answers from the rollout, the step, the state, the best return so far and the return so far."""

    independent = False  # whether the best return so far is ignored, so that rollouts are independent of each other
    repeated = False  # whether, besides, all rollouts are alike
    memory: Literal["rewards", "rounded rewards", "nothing"] = "rewards"  # what :meth:`remembered` adds up

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

    def remembered(self, reward: Fraction) -> Fraction:
        """What the policy adds to G for a reward: the reward itself, but for policies that round."""
        return reward

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """What the policy does in ``rollout``, for trials whose best return is one of ``best``."""

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            # One question for all trials that agree in everything.
            alike, first, places = np.unique(
                np.stack([tag, state, so_far.units]), axis=1, return_index=True, return_inverse=True
            )
            answers = [
                checks.integer(
                    self.action(rollout=rollout, step=step, state=s, best=best[t], so_far=so_far[i]),
                    "the policy's action",
                    most=2**31,
                )
                for (t, s, _), i in zip(alike.T.tolist(), first.tolist(), strict=True)
            ]
            return np.array(answers, np.int64)[places.ravel()]

        return act

    @property
    def parts(self) -> Sequence["CompressedPolicy"]:
        """The policy itself."""
        return (self,)

    def lots(self) -> Sequence[Lot] | None:
        """The policy's own rollouts, where it ignores the best return; one where all are alike."""
        if not self.independent:
            return None
        different = 1 if self.repeated else self.k
        return [Lot([(self, i)], None, self.k // different) for i in range(different)]

    def shared_out(self, rollout: int, trials: int, stream: np.random.Generator) -> list[tuple[int, int, Ints]]:
        """Which part each of so many trials follows: (part, which of its rollouts, trials), here all the only one."""
        return [(0, rollout, np.arange(trials))]

    def begin(self) -> "CompressedTrial":
        """A new trial, which remembers M and G alone."""
        return CompressedTrial(self)


class CompressedTrial(Trial):
    """A trial that remembers M and G, as the policy wants them."""

    def __init__(self, policy: CompressedPolicy) -> None:
        super().__init__(policy)
        self._policy = policy
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
        self._so_far += self._policy.remembered(reward)
        if over:
            self._best, self._so_far = max(self._best, self._so_far), Fraction(0)
