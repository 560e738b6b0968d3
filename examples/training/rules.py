"""Rules that turn the rewards of groups [G, n] into advantages [G, n]: ours, and those that are about.

Each is scaled so that a sum over samples is meant, as in ``(advantages * log_probs).sum()``.
"""

from typing import Any

from maxatk import attempts as at


def max_at_4(rewards: Any) -> Any:
    """The unbiased weights."""
    return at.weights(rewards, 4)


def mean(rewards: Any) -> Any:
    """The same for one try: the mean, with the leave-one-out baseline."""
    return at.weights(rewards, 1)


def grpo(rewards: Any) -> Any:
    """GRPO's: the reward less the group's mean, over the group's deviation."""
    centred = rewards - rewards.mean(-1, keepdims=True)
    return centred / (rewards.std(-1, keepdims=True) + 1e-4) / rewards.shape[-1]


def max_at_4_over_deviation(rewards: Any) -> Any:
    """The unbiased weights over the group's deviation, as pass@k training divides them."""
    return at.weights(rewards, 4) / (rewards.std(-1, keepdims=True) + 1e-4)


def best_over_second(rewards: Any) -> Any:
    """The best sample gets its lead over the second, the others nothing; no k. (verl's "grpo_passk", undivided.)

    But for a factor, these are the unbiased weights for as many tries as there are samples.
    """
    return at.weights(rewards, rewards.shape[-1], "marginal") / rewards.shape[-1]


def scores_left_over(rewards: Any) -> Any:
    """The same, but that the others keep their rewards as advantages: a slip that was about for a while."""
    lead = best_over_second(rewards)
    return lead + rewards * (lead == 0) / rewards.shape[-1]


RULES = {
    "max@4": max_at_4,
    "mean": mean,
    "GRPO": grpo,
    "max@4 / deviation": max_at_4_over_deviation,
    "best over second": best_over_second,
    "scores left over": scores_left_over,
}
