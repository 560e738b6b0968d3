"""Five flights along a wall, a task that no table holds: the agent of ``mk.BestOfK`` against the same for the mean.

A drone flies along a wall into a headwind that is weaker near the wall. Gusts may throw it against the wall, which ends
the try with nothing. Position, distance and speed are real numbers. The score of a try is minus the steps it took.
"""

import math
import time

import gymnasium
import numpy as np
import recipe  # before torch: it sets the number of threads
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

import maxatk as mk

K = 5
METHODS = ("for_the_mean", "best_of_k")


class Headwind(gymnasium.Env):
    """The flight: actions are towards the wall, on, and away from it."""

    horizon = 60
    length = 5.0
    observation_space = spaces.Box(np.array([0, -1, -2], np.float32), np.array([1.1, 2, 2], np.float32))
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        """Begin at one end, somewhat away from the wall."""
        super().reset(seed=seed)
        self._along, self._off, self._speed, self._steps = 0.0, 0.6 + 0.1 * self.np_random.standard_normal(), 0.0, 0
        return self._seen(), {}

    def step(self, action):
        """Push, be pushed, and fly on."""
        self._speed = 0.5 * self._speed + 0.05 * (action - 1) + 0.1 * self.np_random.standard_normal()
        self._off = min(self._off + self._speed, 2.0)
        self._along += 0.25 * (1 - 0.5 * max(self._off, 0.0))
        self._steps += 1
        if self._off < 0:  # the wall: as bad as not arriving in time
            return self._seen(), float(self._steps - 1 - self.horizon), True, False, {}
        return self._seen(), -1.0, self._along >= self.length, self._steps == self.horizon, {}

    def _seen(self):
        seen = np.array([self._along / self.length, self._off, 4 * self._speed], np.float32)
        return np.clip(seen, self.observation_space.low, self.observation_space.high)


def steps_to_go(observation):
    """The potential: minus the steps that are left at half of the wind."""
    return -max(1 - float(observation[0]), 0.0) * Headwind.length / 0.2


def trials(k, n):
    """Trials of ``k`` flights, ``n`` side by side."""

    def one():
        return mk.BestOfK(Headwind(), k, flat=True, returns=(-60, -20), potential=steps_to_go, reward_scale=0.1)

    return DummyVecEnv([one] * n)


def best_of(model, k, tries, deterministic, seed):
    """The best returns of trials of K flights [trials]; those of an agent for single flights are put together."""
    env = trials(k, recipe.ENVS)
    env.seed(seed)
    torch.manual_seed(seed)
    observations = env.reset()
    wanted = math.ceil(tries * K / k / recipe.ENVS)  # of each environment, so that short ones are not preferred
    best = [[] for _ in range(recipe.ENVS)]
    while min(map(len, best)) < wanted:
        actions, _ = model.predict(observations, deterministic=deterministic)
        observations, _, over, infos = env.step(actions)
        for i in np.flatnonzero(over):
            best[i].append(infos[i]["best_return"])
    return np.array([found[:wanted] for found in best]).ravel()[: tries * K // k].reshape(tries, -1).max(axis=1)


def train(method, seed, steps, tries):
    """Train one agent; what it earns in fresh trials, taking its likeliest actions or drawing them."""
    began = time.perf_counter()
    k = K if method == "best_of_k" else 1
    model = recipe.ppo(trials(k, recipe.ENVS), seed)
    model.learn(steps, callback=recipe.FadingEntropy())
    found = {"method": method, "seed": seed, "steps": steps, "trials": tries}
    for how, deterministic in (("likeliest", True), ("drawn", False)):
        best = best_of(model, k, tries, deterministic, 10_000 + seed)
        found[how], found[f"{how}_stderr"] = float(best.mean()), float(best.std(ddof=1) / math.sqrt(len(best)))
    return found | {"seconds": round(time.perf_counter() - began, 1)}
