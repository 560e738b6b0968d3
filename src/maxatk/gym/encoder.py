"""Observations of trials of a table, many at a time."""

from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Bools
from maxatk.gym.observations import number_bounds, return_scale
from maxatk.problem.mdp import MDP
from maxatk.problem.rows import array


class TrialEncoder:
    """Encodes rollout, step, state, M and G of trials of a table as observations, many trials at a time.

    The observations are those of ``BestOfK(TabularEnv(mdp), k, flat=True)`` and :class:`TabularVectorEnv`: the state,
    one-hot or by its features, then ``has_best``, ``best``, ``so_far``, ``rollouts_left`` and ``steps_left``.

    Args:
        mdp: the problem.
        k: the number of rollouts.
        returns: the least and the greatest return that matter; by default the scale is logarithmic.
        features: features of each state, ``[S, f]``, instead of one-hot vectors, which are long if there are many
            states.

    >>> import maxatk as mk
    >>> encoder = mk.gym.TrialEncoder(mk.instances.figure1(), k=2, returns=(0, 1))
    >>> encoder(rollout=[0, 1], step=[0, 0], state=[0, 0], best=[float("-inf"), 0.5], so_far=[0, 0]).tolist()
    [[1.0, 0.0, 0.0, -1.0, 1.0, 1.0], [1.0, 1.0, 0.0, -1.0, 0.5, 1.0]]
    """

    def __init__(
        self, mdp: MDP, k: int, *, returns: tuple[float, float] | None = None, features: ArrayLike | None = None
    ) -> None:
        if not isinstance(mdp, MDP):
            raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
        self.mdp = mdp  # the problem
        self.k = checks.rollouts(k)  # the number of rollouts
        scale, seen = return_scale(returns), _features(features, mdp.n_states)
        self.view = kernels.View(self.k, mdp.horizon, mdp.n_states, *scale, seen)  # the same, for compiled loops
        low, high = (np.array(ends, np.float32) for ends in number_bounds(scale))
        state_low, state_high = np.zeros(mdp.n_states, np.float32), np.ones(mdp.n_states, np.float32)
        if len(seen):
            state_low, state_high = seen.min(axis=0), seen.max(axis=0)
        self.space = spaces.Box(np.concatenate([state_low, low]), np.concatenate([state_high, high]), dtype=np.float32)
        """the space of one trial's observations"""

    def __call__(self, rollout: Any, step: Any, state: Any, best: Any, so_far: Any) -> NDArray[np.float32]:
        """The observations of trials, ``[n, d]``; ``best`` is ``-inf`` for no result yet.

        Args:
            rollout: the number of rollouts that are over, ``[n]``, or one for all.
            step: the number of steps of this rollout that are over, likewise.
            state: the states.
            best: the best returns so far, M.
            so_far: the returns of this rollout so far, G.
        """
        whole = (np.atleast_1d(np.asarray(x, np.int64)) for x in (rollout, step, state))
        real = (np.atleast_1d(np.asarray(x, np.float64)) for x in (best, so_far))
        columns = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*whole, *real)]
        trials = kernels.Trials(*columns[:5], value=columns[4])  # rewards are not observed
        if len(trials.state) and not (trials.state.min() >= 0 and trials.state.max() < self.mdp.n_states):
            raise InputError(f"state must be between 0 and {self.mdp.n_states - 1}")
        out = np.empty((len(trials.state), self.space.shape[0]), np.float32)
        kernels.encode_trials(self.view, trials, np.ones(len(out), np.bool_), out)
        return out

    def masks(self, step: Any, state: Any) -> Bools:
        """The actions that each state offers at each step, ``[n, A]`` of booleans.

        Args:
            step: the steps ``[n]``, or one for all.
            state: the states ``[n]``.
        """
        h, s = np.broadcast_arrays(np.atleast_1d(np.asarray(step, np.int64)), np.atleast_1d(np.asarray(state)))
        if self._offered is None:
            return np.ones((len(s), self.mdp.n_actions), np.bool_)
        return self._offered[self.mdp.step_layer[np.minimum(h, self.mdp.horizon - 1)], s]

    @cached_property
    def _offered(self) -> Bools | None:
        """The available actions, ``[L, S, A]`` of booleans; None if all are."""
        mdp = self.mdp
        if len(mdp.action) == mdp.n_layers * mdp.n_states * mdp.n_actions:
            return None
        table = np.zeros((mdp.n_layers * mdp.n_states, mdp.n_actions), np.bool_)
        table[np.repeat(np.arange(len(table)), np.diff(mdp.pair_start)), mdp.action] = True
        return table.reshape(mdp.n_layers, mdp.n_states, mdp.n_actions)


def _features(features: Any, n_states: int) -> NDArray[np.float32]:
    if features is None:
        return np.zeros((0, 0), np.float32)
    given = array(features, "features")
    if given.ndim != 2 or len(given) != n_states or given.dtype.kind not in "biuf":
        raise InputError(f"features must be numbers [{n_states}, f], not {given.dtype} {list(given.shape)}")
    table = np.ascontiguousarray(given, np.float32)
    if not np.isfinite(table).all():
        raise InputError(f"features[{', '.join(map(str, np.argwhere(~np.isfinite(table))[0]))}] is not finite")
    return table
