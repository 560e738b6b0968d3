"""An advantage estimator for verl: ``algorithm.adv_estimator=max_at_k +algorithm.k=4``.

verl imports it in all of its processes if this file is on the path and is named beforehand:

    export VERL_USE_EXTERNAL_MODULES=verl_estimator

Written for verl 0.9.
"""

import numpy as np
import torch
from verl.trainer.ppo.core_algos import register_adv_est

from maxatk import attempts as at


@register_adv_est("max_at_k")
def max_at_k(token_level_rewards, response_mask, index, config, **_):
    """Advantages [B, T] of answers for the best of ``config.k``; ``index`` has each answer's prompt.

    verl averages over answers: each group's weights are multiplied by its size, so that its sum counts.
    """
    rewards = token_level_rewards.sum(-1)
    _, group, sizes = np.unique(index, return_inverse=True, return_counts=True)
    weights = at.weights(rewards, config.get("k"), config.get("baseline", "auto"), index=index)
    advantages = (weights * torch.tensor(sizes[group]).to(weights))[:, None] * response_mask
    return advantages, advantages
