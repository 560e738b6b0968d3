"""Networks as policies: called for many trials at a time, so that they can be evaluated, simulated and compared."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Number
from maxatk.gym.encoder import TrialEncoder
from maxatk.policies import CompressedPolicy, Traits
from maxatk.policies.arguments import checked_function

BATCH = 16_384  # observations in one call of a network


class NetworkPolicy(CompressedPolicy):
    """A policy that calls a network for its actions, for many trials at a time.

    Like any policy of a table it can be given to :func:`maxatk.evaluate`, which computes its value without sampling, to
    :func:`maxatk.simulate` and to :func:`maxatk.compare`. The network must be deterministic: take the most likely
    action instead of drawing one. (Rounding may break near ties differently in batches of different size.)

    Args:
        choose: a function from observations ``[n, d]`` to actions ``[n]``, such as
            ``lambda observations: model.predict(observations, deterministic=True)[0]`` with Stable-Baselines3.
        encoder: the encoder of observations.
        masked: whether ``choose`` also takes masks of the available actions, ``[n, A]``, as ``MaskablePPO`` does.
        repeat: the number of rollouts, for a network of a single one (an encoder for ``k=1``) that is to be
            repeated; it does not observe the best so far.
        best_so_far: the incumbent, or ``-inf`` for no result yet.

    >>> import maxatk as mk
    >>> mdp = mk.instances.figure1(gamma=0.25)
    >>> encoder = mk.gym.TrialEncoder(mdp, k=2, returns=(0, 1))
    >>> net = lambda observations: (observations[:, 1] * (observations[:, 2] >= 0)).astype(int)   # a small one
    >>> str(mk.evaluate(mdp, mk.gym.NetworkPolicy(net, encoder)).exact)      # safe; then risky if that has paid
    '9/16'
    """

    def __init__(
        self,
        choose: Callable[..., Any],
        encoder: TrialEncoder,
        *,
        masked: bool = False,
        repeat: int | None = None,
        best_so_far: Number = -math.inf,
    ) -> None:
        if not isinstance(encoder, TrialEncoder):
            raise InputError(f"encoder must be a maxatk.gym.TrialEncoder, not {checks.shown(encoder)}")
        if repeat is not None and encoder.k != 1:
            raise InputError(f"repeat is for a network of a single rollout, but the encoder is for {encoder.k}")
        super().__init__(encoder.k if repeat is None else repeat, encoder.mdp.horizon, best_so_far)
        again = repeat is not None
        self._traits = Traits(independent=again, repeated=again, in_floats=True, n_states=encoder.mdp.n_states)
        self.mdp = encoder.mdp  # the problem
        self.encoder = encoder  # of observations
        self._choose, self._masked = checked_function(choose), bool(masked)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action that the network chooses."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=self.mdp.n_states - 1)
        asked = np.array([float(checks.incumbent(best, "best"))]), np.array([float(so_far)])
        return int(self._asked(i, h, np.array([s]), *asked)[0])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        parts = [slice(n, n + BATCH) for n in range(0, max(len(state), 1), BATCH)]
        return np.concatenate([self._asked(rollout, step, state[part], best[part], so_far[part]) for part in parts])

    def _asked(self, rollout: int, step: int, state: Any, best: Any, so_far: Any) -> Ints:
        seen = (0, step, state, -math.inf, so_far) if self._traits.repeated else (rollout, step, state, best, so_far)
        observations = self.encoder(*seen)
        if not len(observations):
            return np.zeros(0, np.int64)
        masks = (self.encoder.masks(step, state),) if self._masked else ()
        actions = np.asarray(self._choose(observations, *masks))
        if actions.shape != (len(observations),) or actions.dtype.kind not in "iu":
            raise InputError(
                f"the network must return {len(observations)} integers for {len(observations)} observations, "
                f"not {actions.dtype} {list(actions.shape)}"
            )
        return actions.astype(np.int64)
