"""A floor under every plan: what the policy that maximises the mean earns if it is repeated."""

import numpy as np

from maxatk.base.types import Number
from maxatk.laws.bins import merged_returns
from maxatk.laws.law import expected_best
from maxatk.laws.pruning import ROUNDING
from maxatk.planning.tuning import TUNING
from maxatk.problem.mdp import MDP

MOST_OUTCOMES = 2**23  # that one step of all bins has, where each row is taken equally often


def repeated_mean(mdp: MDP, k: int, best_so_far: Number) -> float:
    """At most what ``k`` rollouts of the mean-optimal policy earn (docs/theory/planner.md, 9)."""
    bins = max(min(TUNING.floor_bins // (mdp.n_states + 1), MOST_OUTCOMES * mdp.n_layers // len(mdp.prob), 128), 1)
    values, probs, error, drift = mdp.analysis.once(
        ("returns of the mean-optimal policy", bins), lambda: merged_returns(mdp, mdp.analysis.mean_optimal[0], bins)
    )
    least, most = mdp.return_range
    incumbent = max(float(best_so_far), least)
    mean = expected_best(values, probs, k, incumbent)
    # A chance of falling short that is off by a share counts k times that share.
    error += len(values) * ROUNDING
    largest = float(np.abs(mdp.reward).max()) * mdp.horizon + abs(incumbent)
    return mean - 4 * k * error * max(most - mean, 0.0) - drift - 16 * ROUNDING * largest
