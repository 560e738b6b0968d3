"""The lower bound on samples (Theorem 3): its regret inequality, exactly, and samples that grow with K."""

from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from oracles import policy_value


class Masses(mk.CompressedPolicy):
    """Takes the better action of the start state at given moments, as long as the goal was not reached."""

    def __init__(self, k, horizon, better):
        super().__init__(k, horizon)
        self._better = better  # [K, H] of booleans

    def action(self, *, rollout, step, state, best, so_far):
        return int(self._better[rollout, step])


def regret_bound(k, horizon, epsilon, better):
    """Step 2 of the proof: ``(1/4)(47/64) Delta H (K L - sum of the first L alphas)``, L = H/4."""
    delta = 8192 * epsilon / (k * horizon**2)
    L = horizon // 4
    return Fraction(47, 256) * delta * horizon * (k * L - int(better[:, :L].sum()))


@pytest.mark.parametrize(("k", "horizon"), [(1, 4), (2, 4), (3, 4), (1, 8), (2, 8)])
def test_the_regret_inequality(k, horizon):
    epsilon = Fraction(horizon, 192 * 8192)  # the largest
    mdp = mk.instances.lower_bound(3, 2, horizon, k, epsilon, alternative=(0, 1))
    best = mk.solve(mdp, k, solver=mk.Exact()).exact
    always = np.ones((k, horizon), bool)
    assert policy_value(mdp, Masses(k, horizon, always), k) == best
    random = np.random.default_rng(k * horizon)
    tight = False
    for share in (0.0, 0.2, 0.5, 0.5, 0.8, 1.0):
        better = random.random((k, horizon)) < share
        loss = best - policy_value(mdp, Masses(k, horizon, better), k)
        bound = regret_bound(k, horizon, epsilon, better)
        assert loss >= bound
        tight |= 0 < loss < 12 * bound
        # Hence an epsilon-optimal policy has three quarters of the mass, which two actions cannot both have.
        if loss <= epsilon:
            assert better[:, : horizon // 4].sum() >= Fraction(3, 4) * k * (horizon // 4)
    assert tight
    never = best - policy_value(mdp, Masses(k, horizon, ~always), k)
    assert never > epsilon


def test_samples_for_a_fixed_error_grow_with_k():
    """With p = 1/K and a gap of epsilon/K: to see which action is better takes about K times the samples."""
    needed = []
    for k in (8, 32):
        p, gap = Fraction(1, k), Fraction(1, 4 * k)
        mdp = mk.MDP.from_table(
            [[[(p, 0, 1, True), (1 - p, 0, 0, True)], [(p + gap, 0, 1, True), (1 - p - gap, 0, 0, True)]]], horizon=1
        )
        best = mk.solve(mdp, k, solver=mk.Exact()).exact
        wrong = policy_value(mdp, Masses(k, 1, np.zeros((k, 1), bool)), k)
        assert Fraction(1, 20) < best - wrong < Fraction(1, 5)  # the error does not change with K
        random = np.random.default_rng(k)
        n = 4
        while True:  # the least n on a grid with which nine of ten samples show which is better
            draws = random.binomial(n, [[float(p)], [float(p + gap)]], size=(2, 4000))
            if (draws[1] > draws[0]).mean() >= 0.9:
                break
            n = int(n * 1.1) + 1
        needed.append(n)
    assert 3 < needed[1] / needed[0] < 5.5
