"""Gymnasium environments to be learned from by playing: :class:`maxatk.gym.EnvEpisodes`."""

import math
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.learning.spec import EpisodeSpec
from maxatk.problem import readers


class EnvEpisodes:
    """A Gymnasium environment with finitely many states and actions, to be learned from by playing alone.

    It is reset before every rollout, with a seed of its own, so that a run that is continued from a checkpoint sees
    what it would have seen. The horizon must not be longer than the environment's own time limit.

    Args:
        env: an environment or its id; ``make_arguments`` are those of ``gymnasium.make``.
        horizon: the number of steps of a rollout; by default the environment's own time limit.
        reward_range: bounds on a single reward.
        return_range: bounds on the return of a rollout, if they are narrower than what rewards add up to.
        best_so_far: the best return before the first rollout.
        start: the state that rollouts start in, or a distribution over states; estimated if it is not known.
        can_terminate: whether rollouts may end before the horizon.
        max_outcomes: a bound on the number of different outcomes of a state and action, if one is known.
        homogeneous: whether all steps behave alike.

    >>> import maxatk as mk
    >>> episodes = mk.gym.EnvEpisodes("FrozenLake-v1", horizon=30, return_range=(0, 1))
    >>> episodes.spec.n_states, episodes.spec.n_actions
    (16, 4)
    """

    def __init__(
        self,
        env: Any,
        *,
        horizon: int | None = None,
        reward_range: tuple[Number, Number] = (0, 1),
        return_range: tuple[Number, Number] | None = None,
        best_so_far: Number = -math.inf,
        start: Any = None,
        can_terminate: bool = True,
        max_outcomes: int | None = None,
        homogeneous: bool = True,
        **make_arguments: Any,
    ) -> None:
        made, _, name = readers.open_gymnasium(env, make_arguments)
        for space, what in ((made.observation_space, "states"), (made.action_space, "actions")):
            if not hasattr(space, "n"):
                raise InputError(
                    f"the {what} of {name} are not numbered (a Discrete space), so there are no rows to count"
                )
        self._first = tuple(int(getattr(x, "start", 0)) for x in (made.observation_space, made.action_space))
        spec = EpisodeSpec(
            n_states=int(made.observation_space.n),
            n_actions=int(made.action_space.n),
            horizon=readers.gymnasium_horizon(made, name, horizon),
            homogeneous=homogeneous,
            reward_range=reward_range,
            return_range=return_range,
            best_so_far=best_so_far,
            start=start,
            can_terminate=can_terminate,
            max_outcomes=max_outcomes,
        )
        self.spec = spec  # what is known of it
        self._env, self._name, self._step = made, name, 0

    def reset(self, rng: np.random.Generator) -> int:
        """Begin a rollout, with a seed drawn from ``rng``: its first state."""
        observation, _ = self._ask(self._env.reset, 2, seed=int(rng.integers(2**31)))
        self._step = 0
        return self._state(observation)

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an ``action``: the next state, the reward, and whether the rollout has ended."""
        observation, reward, terminated, truncated, _ = self._ask(self._env.step, 5, action + self._first[1])
        self._step += 1
        if truncated and not terminated and self._step < self.spec.horizon:
            raise InputError(
                f"{self._name} cuts rollouts off after {self._step} steps, before the horizon of {self.spec.horizon}: "
                f"horizon={self._step} says so"
            )
        return self._state(observation), _item(reward), _item(terminated)

    def _state(self, observation: Any) -> int:
        number, first = _item(observation), self._first[0]
        return (
            checks.integer(number, f"a state of {self._name}", least=first, most=first + self.spec.n_states - 1) - first
        )

    def _ask(self, function: Any, size: int, *arguments: Any, **named: Any) -> Any:
        """What the environment answers, which may raise anything."""
        try:
            answer = function(*arguments, **named)
        except Exception as error:
            said = " ".join(str(error).split())
            raise InputError(f"{self._name} cannot {function.__name__}: {type(error).__name__}: {said}") from error
        if not checks.is_list(answer) or len(answer) != size:
            raise InputError(f"{function.__name__} of {self._name} must return {size} things, not {shown(answer)}")
        return answer


def _item(value: Any) -> Any:
    """A number out of an array that holds one."""
    return value if type(value) is not np.ndarray or np.ndim(value) else value.item()
