"""Stable-Baselines3 (extra ``sb3``): trials of a table as its ``VecEnv``, models as policies, returns in its logs."""

import math
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from maxatk.base.errors import MissingExtraError
from maxatk.base.types import Number
from maxatk.gym.encoder import TrialEncoder
from maxatk.gym.network import NetworkPolicy
from maxatk.gym.vector import TabularVectorEnv

try:  # typed as Any: it need not be installed where types are checked
    _callbacks: Any = import_module("stable_baselines3.common.callbacks")
    _vec_env: Any = import_module("stable_baselines3.common.vec_env")
except ImportError:
    raise MissingExtraError("Stable-Baselines3 is not installed: pip install 'maxatk[sb3]'") from None

__all__ = ["TabularVecEnv", "TrialCallback", "network_policy"]


class TabularVecEnv(_vec_env.VecEnv):  # pyright: ignore[reportUntypedBaseClass]
    """:class:`maxatk.gym.TabularVectorEnv` as a ``VecEnv``: give it to ``PPO("MlpPolicy", ..., gamma=1.0)``.

    Infos of a step that ends a rollout have the entries of :class:`maxatk.BestOfK`, without the environment's own.
    ``ep_rew_mean`` in the logs is the mean best return, regardless of ``reward_scale``. ``MaskablePPO`` gets masks.

    Args:
        envs: the trials.

    >>> import maxatk as mk
    >>> from maxatk.gym.sb3 import TabularVecEnv
    >>> env = TabularVecEnv(mk.gym.TabularVectorEnv(mk.instances.windy_cliff(), k=5, num_envs=64))
    >>> env.reset().shape
    (64, 53)
    """

    def __init__(self, envs: TabularVectorEnv) -> None:
        self.envs = envs  # the trials
        self.render_mode = None  # it cannot be rendered
        self._actions: Any = None
        self._lengths = np.zeros(envs.num_envs, np.int64)
        self._seed: int | None = None
        one: Any = envs
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            one.num_envs, one.single_observation_space, one.single_action_space
        )

    def reset(self) -> Any:
        """Begin all trials."""
        observations, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        self._lengths[:] = 0
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: Any) -> None:
        """Take these ``actions`` at the next :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take a step of every trial."""
        observations, rewards, over, _, told = self.envs.step(self._actions)
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = told["rollout_over"].nonzero()[0]
        tried: list[int] = np.where(over, self.envs.k, self.envs.rollouts)[ended].tolist() if len(ended) else []
        for i, rollout, returned in zip(ended.tolist(), tried, told["rollout_return"][ended].tolist(), strict=True):
            infos[i] = {"rollout_over": True, "rollout_return": returned, "trial": {"rollout": rollout}}
            if over[i]:
                best = float(told["best_return"][i])
                infos[i] |= {
                    "terminal_observation": told["final_obs"][i],
                    "TimeLimit.truncated": False,
                    "best_return": best,
                    "episode": {"r": best, "l": int(self._lengths[i]), "t": 0.0},
                }
                self._lengths[i] = 0
        return observations, rewards.astype(np.float32), over, infos

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next :meth:`reset` with ``seed``."""
        self._seed = seed
        return [seed] * self.num_envs

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute ``attr_name`` of the trials, once for each of the ``indices``."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set ``attr_name`` to ``value`` for all trials, which share it; ``indices`` are ignored."""
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """The result of ``method_name``, called with ``method_args`` and ``method_kwargs``, for ``indices``."""
        answer = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [answer[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False for each of the ``indices``: trials are not wrapped, so not in ``wrapper_class``."""
        return [False for _ in self._get_indices(indices)]


class TrialCallback(_callbacks.BaseCallback):  # pyright: ignore[reportUntypedBaseClass]
    """Logs the mean return of each try, and of the best, for TensorBoard and the terminal.

    ``trial/best`` and ``trial/return_1`` to ``trial/return_k`` are means over all that ended since the last log entry.
    It works with :class:`maxatk.BestOfK` in any of Stable-Baselines3's environments, and with :class:`TabularVecEnv`.

    >>> from maxatk.gym.sb3 import TrialCallback
    >>> callback = TrialCallback()              # model.learn(100_000, callback=callback)
    """

    def _on_step(self) -> bool:
        infos: Iterable[dict[str, Any]] = self.locals.get("infos", ())
        for info in infos:
            if info.get("rollout_over"):
                self.logger.record_mean(f"trial/return_{info['trial']['rollout']}", info["rollout_return"])
            if "best_return" in info:
                self.logger.record_mean("trial/best", info["best_return"])
        return True


def network_policy(
    model: Any, encoder: TrialEncoder, *, repeat: int | None = None, best_so_far: Number = -math.inf
) -> NetworkPolicy:
    """A policy that takes the most likely action of a model of Stable-Baselines3 or sb3-contrib, with masks if it is
    maskable.

    Args:
        model: the model, trained on observations of ``encoder``.
        encoder: the encoder of observations: ``envs.encoder`` of the trials that the model was trained in.
        repeat: the number of rollouts, for a model of a single one that is to be repeated.
        best_so_far: the incumbent, or ``-inf`` for no result yet.

    >>> import maxatk as mk
    >>> from stable_baselines3 import PPO
    >>> from maxatk.gym.sb3 import TabularVecEnv, network_policy
    >>> mdp = mk.instances.figure1(gamma=0.25)
    >>> envs = mk.gym.TabularVectorEnv(mdp, k=2, num_envs=8)
    >>> model = PPO("MlpPolicy", TabularVecEnv(envs), gamma=1.0, device="cpu", seed=0)
    >>> mk.evaluate(mdp, network_policy(model, envs.encoder)).upper <= mk.solve(mdp, k=2).upper   # not trained yet
    True
    """
    masked = type(model).__name__.startswith("Maskable")

    def choose(observations: Any, *masks: Any) -> Any:
        asked = {"action_masks": masks[0]} if masked else {}
        return model.predict(observations, deterministic=True, **asked)[0]

    return NetworkPolicy(choose, encoder, masked=masked, repeat=repeat, best_so_far=best_so_far)
