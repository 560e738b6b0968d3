"""Trials one step at a time, in the exact numbers that evaluation asks a policy with: in a table, or an environment."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.laws.sampling import RowSampler, Uniform
from maxatk.policies import ABANDON, Policy
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import try_cost


class TrialStep(NamedTuple):
    """One step of a trial: where it stood, what was done, and what that brought."""

    rollout: int
    step: int
    state: Any
    best: Number  # M
    so_far: Fraction  # G, before the reward
    remembered: tuple[Number, Number]  # both, as the policy knows them
    action: int
    reward: Fraction
    over: bool  # whether this step ended the rollout
    cost: float  # of the action


def trial_steps(world: "World", policy: Policy, stream: np.random.Generator) -> Iterator[TrialStep]:
    """One trial, step by step; what the policy draws comes from ``stream``."""
    trial = policy.begin(stream)
    while not trial.finished:
        i, observation = trial.rollout, world.start()
        while trial.rollout == i:
            stopping.check()
            state = world.state_of(observation)
            stood = i, trial.step, state, trial.exact_best, trial.exact_so_far, trial.remembered
            action, reward, ended, cost = trial.act(state), 0, True, 0.0
            if action != ABANDON:
                observation, reward, ended, cost = world.step(trial.step, state, action)
            trial.observe(reward, ended)
            yield TrialStep(*stood, action, checks.exact_number(reward, "reward"), trial.rollout > i, cost)


class Table:
    """A table.

    Args:
        mdp: the problem.
        streams: what outcomes are drawn from: one stream, or one for each rollout.
    """

    def __init__(self, mdp: MDP, streams: Uniform | Iterator[Uniform]) -> None:
        self._mdp, self._sampler = mdp, RowSampler(mdp)
        self._streams = streams if isinstance(streams, Iterator) else itertools.repeat(streams)
        self._stream: Uniform | None = None

    def start(self) -> int:
        """A state that is drawn."""
        self._stream = next(self._streams)
        return self._sampler.start(self._stream)

    def state_of(self, observation: int) -> int:
        """The state itself."""
        return observation

    def step(self, h: int, state: int, action: int) -> tuple[int, Fraction, bool, float]:
        """An outcome that is drawn, with its exact reward."""
        mdp, row = self._mdp, self._sampler.row(h, state, action)
        assert self._stream is not None  # a rollout was begun
        drawn = self._sampler.outcome(row, self._stream)
        reward = mdp.exact_reward[drawn] if mdp.exact_reward else Fraction(float(mdp.reward[drawn]))
        after = int(mdp.next_state[drawn])
        return after, reward, after == mdp.n_states, float(mdp.action_cost[row])


class Environment:
    """A Gymnasium environment; its steps cost what its infos say, if anything does.

    Args:
        env: the environment.
        seeds: of resets: one, for the first of them, or one for each rollout.
        state_of: the state that an observation stands for.
        costly: whether infos are asked for costs.
    """

    def __init__(
        self, env: Any, seeds: int | Iterator[int | None], state_of: Callable[[Any], Any], costly: bool
    ) -> None:
        self._env, self.state_of, self._costly = env, state_of, costly
        self._seeds = seeds if isinstance(seeds, Iterator) else itertools.chain([seeds], itertools.repeat(None))

    def start(self) -> Any:
        """What a reset shows."""
        observation, _ = self._env.reset(seed=next(self._seeds))
        return observation

    def step(self, h: int, state: Any, action: int) -> tuple[Any, Any, bool, float]:
        """A step of the environment."""
        if not self._env.action_space.contains(action):
            raise InputError(f"the policy's action {checks.shown(action)} is none of {self._env.action_space}")
        observation, reward, terminated, truncated, info = self._env.step(action)
        cost = float(try_cost(info.get("cost", 0.0), 'info["cost"]')) if self._costly else 0.0
        return observation, reward, bool(terminated or truncated), cost


World: TypeAlias = Table | Environment


def plain_state(observation: Any) -> Any:
    """An observation as a state: a NumPy integer as Python's own."""
    whole = np.ndim(observation) == 0 and getattr(getattr(observation, "dtype", None), "kind", "") in ("i", "u")
    return int(observation) if whole else observation
