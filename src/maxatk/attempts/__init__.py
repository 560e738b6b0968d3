"""Attempts of a model at a task: weights that train it for the best of ``k`` samples."""

from maxatk.attempts.off_policy import off_policy_weights
from maxatk.attempts.on_policy import weights

__all__ = ["off_policy_weights", "weights"]
