"""verl (extra ``verl``): an advantage estimator for max@k, and validation metrics that are unbiased. Tested with 0.9.1.

Naming the module is all that is needed, since verl imports it in all of its processes::

    export VERL_USE_EXTERNAL_MODULES=maxatk.integrations.verl
    ... algorithm.adv_estimator=max_at_k +algorithm.k=4

When it is imported, verl's ``best@N``, ``worst@N`` and ``maj@N`` of validation become exact, too: verl draws the N
answers *with* replacement from those of a prompt, so that one answer may be drawn twice, and its best@N is too low.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from maxatk.attempts.estimates.estimators import order_weights
from maxatk.attempts.judges.votes import majority_of
from maxatk.attempts.training.on_policy import weights
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.integrations.extras import member, required

_algorithms: Any = required("verl.trainer.ppo.core_algos", "verl", "verl")
_metrics: Any = required("verl.trainer.ppo.metric_utils", "verl", "verl")
_torch: Any = required("torch", "torch", "verl")
_majority: Any = member(_metrics, "calc_maj_val", "verl")
_resampled: Any = member(_metrics, "bootstrap_metric", "verl")


@member(_algorithms, "register_adv_est", "verl")("max_at_k")
def max_at_k(token_level_rewards: Any, response_mask: Any, index: Any, config: Any, **options: Any) -> Any:
    """Advantages [B, T] of answers for the best of ``algorithm.k``, and the same as returns.

    verl averages over answers: each group's weights are multiplied by its size, so that its sum counts.

    Args:
        token_level_rewards: [B, T], whose sum is the reward of an answer.
        response_mask: [B, T], 1 for tokens of the answer.
        index: the prompt of each answer [B].
        config: verl's ``algorithm``, with ``k`` and, if wanted, ``baseline``.
        options: what verl hands to other estimators.
    """
    settings: Any = config or {}
    k = settings.get("k")
    if k is None:
        raise InputError("algorithm.k is missing, the number of tries in use: +algorithm.k=4, for example")
    rewards = token_level_rewards.sum(-1)
    _, group, sizes = np.unique(index, return_inverse=True, return_counts=True)
    by_answer: Any = weights(rewards, k, settings.get("baseline", "auto"), index=index)
    advantages = (by_answer * _torch.tensor(sizes[group]).to(by_answer))[:, None] * response_mask
    return advantages, advantages


def subset_metric(
    data: Sequence[Any], subset_size: int, reduce_fns: Sequence[Callable[..., Any]], n_bootstrap: int = 1000,
    seed: int = 42,
) -> list[tuple[float, float]]:  # fmt: skip
    """The mean and the deviation of each function over all sets of answers of one size: exact, nothing is drawn.

    It has the arguments of verl's ``bootstrap_metric``, in whose place it is called. The mean is unbiased for fresh
    answers. Ties of a vote are split evenly. Functions other than the best, the worst and the majority are left to
    verl.

    Args:
        data: the answers of a prompt: numbers, or dictionaries with a number and a vote.
        subset_size: the number of answers in a set.
        reduce_fns: ``np.max``, ``np.min``, or verl's ``calc_maj_val`` with its keys.
        n_bootstrap: is not used, unless by verl.
        seed: likewise.
    """
    k = checks.integer(subset_size, "subset_size", least=1, most=len(data))

    def one(reduce: Any) -> tuple[float, float]:
        if reduce is np.max or reduce is np.min:
            ordered = np.sort(np.array(data, float))
            return _moments(order_weights(len(data), k), ordered if reduce is np.max else ordered[::-1])
        if isinstance(reduce, partial) and reduce.func is _majority:
            value = np.array([entry[reduce.keywords["val_key"]] for entry in data], float)
            votes = {vote: number for number, vote in enumerate(dict.fromkeys(_votes(data, reduce)))}
            answer = np.array([votes[vote] for vote in _votes(data, reduce)])
            mean, square = (float(majority_of(x, answer, [k], 0.0)[0]) for x in (value, value**2))
            return mean, math.sqrt(max(square - mean**2, 0.0))
        return _resampled(data, subset_size, [reduce], n_bootstrap, seed)[0]

    return [one(reduce) for reduce in reduce_fns]


def _votes(data: Sequence[Any], reduce: Any) -> list[Any]:
    return [entry[reduce.keywords["vote_key"]] for entry in data]


def _moments(chances: Any, values: Any) -> tuple[float, float]:
    mean = float(chances @ values)
    return mean, math.sqrt(max(float(chances @ (values - mean) ** 2), 0.0))


_metrics.bootstrap_metric = subset_metric
