"""Gymnasium (extra ``gym``): trials of K rollouts as one environment, tables as environments, networks as policies."""

from maxatk.base.errors import MissingExtraError

try:
    import gymnasium as _installed
except ImportError:
    raise MissingExtraError("Gymnasium is not installed: pip install 'maxatk[gym]'") from None

from maxatk.gym.best_of_k import BestOfK, TabularEnv
from maxatk.gym.encoder import TrialEncoder
from maxatk.gym.explore import explore
from maxatk.gym.network import NetworkPolicy
from maxatk.gym.vector import TabularVectorEnv
from maxatk.learning.gym_episodes import EnvEpisodes

del _installed

__all__ = ["BestOfK", "EnvEpisodes", "NetworkPolicy", "TabularEnv", "TabularVectorEnv", "TrialEncoder", "explore"]
