"""Trials of a table, many at a time, for agents that learn from millions of steps."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Bools, Floats, Ints, Number
from maxatk.gym.best_of_k import positive
from maxatk.gym.encoder import TrialEncoder
from maxatk.problem.mdp import MDP
from maxatk.problem.rows import array


class TabularVectorEnv(VectorEnv[Any, Any, Any]):
    """Trials of ``k`` rollouts of a table, ``num_envs`` of them side by side, as Gymnasium's ``VectorEnv``.

    It behaves as ``num_envs`` copies of ``BestOfK(TabularEnv(mdp), k, flat=True)``, in one compiled loop. When a trial
    is over the next one begins at once (``AutoresetMode.SAME_STEP``): the observation is its first, and the last one of
    the old trial is ``infos["final_obs"]``. Costs of rows are ignored.

    **infos** has ``rollout_over`` and ``rollout_return`` (of the rollout that ended, if one did); and, if trials are
    over, ``best_return``, with Gymnasium's ``_best_return`` to mark them.

    ``maxatk.gym.sb3.TabularVecEnv`` is the same for Stable-Baselines3.

    Args:
        mdp: the problem.
        k: the number of rollouts.
        num_envs: the number of trials at a time.
        best_so_far: the incumbent, a best return before each trial.
        returns: the least and the greatest return that matter, as in :class:`maxatk.BestOfK`.
        features: the features of each state, as in :class:`TrialEncoder`.
        dense: whether steps within a rollout have rewards.
        potential: an estimate of the rest of a rollout's return, ``[S]`` or by step ``[H, S]``; it implies ``dense``.
        reward_scale: the factor of all rewards.

    >>> import maxatk as mk
    >>> envs = mk.gym.TabularVectorEnv(mk.instances.windy_cliff(), k=5, num_envs=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (3, 53)
    >>> observations, rewards, terminations, truncations, infos = envs.step([0, 0, 1])
    >>> infos["rollout_over"]
    array([False, False, False])
    """

    def __init__(
        self,
        mdp: MDP,
        k: int,
        num_envs: int,
        *,
        best_so_far: Number = -math.inf,
        returns: tuple[float, float] | None = None,
        features: ArrayLike | None = None,
        dense: bool = False,
        potential: ArrayLike | None = None,
        reward_scale: Number = 1,
    ) -> None:
        self.encoder = TrialEncoder(mdp, k, returns=returns, features=features)  # what is observed
        self.num_envs = checks.integer(num_envs, "num_envs", least=1)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # the next trial begins in the step that ends one
        self.single_observation_space, self.single_action_space = self.encoder.space, spaces.Discrete(mdp.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)  # of all trials
        self.action_space = batch_space(self.single_action_space, num_envs)  # an action for each
        self.mdp = mdp  # the problem
        self.k = self.encoder.k  # the number of rollouts
        self._scale = positive(reward_scale, "reward_scale")
        rows = kernels.TrialRows(
            *(mdp.step_layer, mdp.pair_start, mdp.action, mdp.outcome_start, mdp.row_prob, mdp.next_state, mdp.reward),
            mdp.n_states,
        )
        self._table = kernels.TrialTable(
            *(rows, mdp.start_state, mdp.reset_prob, self.k, float(checks.incumbent(best_so_far))),
            *(bool(dense) or potential is not None, _potential(potential, mdp)),
        )
        whole, real = (lambda: np.zeros(num_envs, np.int64)), (lambda: np.zeros(num_envs))
        self._trials = kernels.Trials(whole(), whole(), whole(), real(), real(), real())
        self._final = np.zeros((num_envs, *self.encoder.space.shape), np.float32)  # where trials last ended
        self._every = np.ones(num_envs, np.bool_)
        self._plain = (tuple(rows), *self._table[1:]), tuple(self.encoder.view), tuple(self._trials)
        self._open, self._stream = False, np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin all trials, which draw from one stream with one ``seed``; ``options`` are ignored."""
        if checks.is_list(seed):
            raise InputError(f"seed must be one number for all trials, not the list {checks.shown(seed)}")
        if seed is not None or not self._open:
            self._stream = np.random.default_rng(None if seed is None else checks.integer(seed, "seed"))
            self._np_random = self._stream  # where Gymnasium looks for it
        self._open = True
        kernels.begin_trials(self._table, self._trials, self._every, self._stream.random(self.num_envs))
        observed = np.empty_like(self._final)
        kernels.encode_trials(self.encoder.view, self._trials, self._every, observed)
        return observed, {}

    def step(self, actions: Any) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """Take one step of every trial, with ``actions`` ``[num_envs]``."""
        if not self._open:
            raise InputError("step: no trials have begun: call reset first")
        n = self.num_envs
        taken = np.ascontiguousarray(actions)
        if taken.shape != (n,) or taken.dtype.kind not in "iu":
            raise InputError(f"actions must be {n} integers, not {taken.dtype} {list(taken.shape)}")
        done = kernels.Stepped(
            *(np.empty(n), np.empty(n, np.bool_), np.empty(n), np.empty(n, np.bool_), np.empty(n)),
            *(np.empty(self._final.shape, np.float32), self._final),
        )
        drawn = self._stream.random((n, 2))
        wrong = kernels.step_trials(*self._plain, taken, drawn, self._every, tuple(done))
        if wrong >= 0:
            state, step = int(self._trials.state[wrong]), int(self._trials.step[wrong])
            raise InputError(f"trial {wrong}: state {state} does not offer action {taken[wrong]} at step {step}")
        infos: dict[str, Any] = {"rollout_over": done.rollout_over, "rollout_return": done.returned}
        if done.over.any():
            final = np.where(done.over[:, None], self._final, np.float32(0))
            infos |= {"final_obs": final, "_final_obs": done.over.copy()}
            infos |= {"best_return": done.best, "_best_return": done.over.copy()}
        if self._scale != 1:
            np.multiply(done.reward, self._scale, out=done.reward)
        return done.observed, done.reward, done.over, np.zeros(n, np.bool_), infos

    @property
    def rollouts(self) -> Ints:
        """The number of finished rollouts of each trial, ``[num_envs]``."""
        return self._trials.rollout.copy()

    def action_masks(self) -> Bools:
        """The available actions, ``[num_envs, A]`` of booleans."""
        return self.encoder.masks(self._trials.step, self._trials.state)


def _potential(potential: Any, mdp: MDP) -> Floats:
    """The potential of states, ``[1 or H, S]``."""
    if potential is None:
        return np.zeros((1, mdp.n_states))
    given = array(potential, "potential")
    shapes = (mdp.n_states,), (mdp.horizon, mdp.n_states)
    if given.shape not in shapes or given.dtype.kind not in "biuf":
        raise InputError(f"potential must be numbers {shapes[0]} or {shapes[1]}, not {given.dtype} {given.shape}")
    table = np.ascontiguousarray(np.atleast_2d(given), np.float64)
    if not np.isfinite(table).all():
        raise InputError(f"potential[{', '.join(map(str, np.argwhere(~np.isfinite(given))[0]))}] is not finite")
    return table
