"""The extended problem and values from a moment on, held to brute force over histories and to the exact solver."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from oracles import policy_value
from policies import KINDS, policies
from problems import problem, specs


@settings(max_examples=40)
@given(spec=specs(max_horizon=2), k=st.integers(1, 3))
def test_its_best_mean_is_the_value_of_all_tries(spec, k):
    mdp = problem(spec)
    whole = mdp.augmented(k)
    assert mk.solve(whole, 1, solver=mk.Exact()).exact == mk.solve(mdp, k, solver=mk.Exact()).exact
    assert whole.horizon == k * mdp.horizon


@pytest.mark.parametrize("n", [1, 2, 5])
def test_with_kappa_it_is_the_rounded_problem_of_the_paper(n):
    mdp, kappa = mk.instances.proposition1(), Fraction(1, n)
    mdp = mdp.with_rewards(mdp.reward / mdp.reward.max())
    plan = mk.solve(mdp, 2, solver=mk.Midpoint(kappa))
    exact = mk.solve(mdp.augmented(2, kappa), 1, solver=mk.Exact()).exact
    assert float(exact) == pytest.approx(plan.rounded_value, abs=1e-12)


@pytest.mark.parametrize("name", ["figure1", "proposition3"])
@pytest.mark.parametrize("kappa", [0.1, 1 / 3, 0.02, 0.3, Fraction(2, 7)])
def test_a_float_kappa_is_the_grid_of_the_planner(name, kappa):
    mdp = mk.instances.make(name)
    exact = mk.solve(mdp.augmented(2, kappa), 1, solver=mk.Exact()).exact
    rounded = mk.solve(mdp, 2, solver=mk.Midpoint(kappa)).rounded_value
    assert float(exact) == pytest.approx(rounded, abs=1e-12)


@settings(max_examples=30)
@given(spec=specs(max_horizon=3), k=st.integers(1, 3))
def test_states_are_counted_before_any_is_made(spec, k):
    mdp = problem(spec)
    n = mdp.augmented(k).n_states
    assert mdp.augmented(k, max_states=n).n_states == n
    if n > 1:
        with pytest.raises(mk.TooLargeError, match=rf"more than {n - 1} states can be reached \(at least {n}\)"):
            mdp.augmented(k, max_states=n - 1)


def test_what_is_far_too_large_is_refused_at_once():
    """Without the count a million states were made first, in minutes."""
    with pytest.raises(mk.TooLargeError, match="at least 8670480"):
        mk.instances.windy_cliff().augmented(2)


def test_what_it_refuses():
    mdp = mk.instances.windy_cliff()
    with pytest.raises(mk.InputError, match="kappa needs rewards in"):
        mdp.augmented(2, 0.5)
    with pytest.raises(mk.InputError, match="kappa must be above 0, not 0"):
        mk.instances.figure1().augmented(2, 0)
    with pytest.raises(mk.InputError, match="no costs"):
        mdp.with_action_costs(1).augmented(2)
    with pytest.raises(mk.InputError, match="k must be"):
        mdp.augmented(0)
    with pytest.raises(mk.TooLargeError, match="more than 1000 states"):
        mdp.augmented(3, max_states=1000)


@settings(max_examples=40)
@given(spec=specs(), k=st.integers(1, 3), seed=st.integers(0, 10**6), first=st.integers(0, 2))
def test_a_policy_from_the_start_of_a_rollout(spec, k, seed, first):
    """Any policy, by the oracle that walks all histories."""
    mdp, i = problem(spec), min(first, k - 1)
    policy = policies(mdp, k, seed)[KINDS[seed % len(KINDS)]]
    m = Fraction(1, 4)
    value = sum(
        p * mk.evaluate_from(mdp, policy, rollout=i, step=0, state=s, best=m) for p, s in mdp.exact_start()
    )  # fmt: skip
    assert value == policy_value(mdp, policy, k, m, first=i)


@settings(max_examples=40)
@given(
    spec=specs(costs=True),
    k=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    objective=st.sampled_from([{}, {"cost": 0.25}, {"cost": 0.25, "abandon": True}]),
)
def test_the_optimal_policy_earns_what_exact_says_everywhere(spec, k, seed, objective):
    mdp, random = problem(spec), np.random.default_rng(seed)
    plan = mk.solve(mdp, k, solver=mk.Exact(), **objective)
    for _ in range(5):
        i, h, s = (int(random.integers(n)) for n in (k, mdp.horizon, mdp.n_states))
        m = [-math.inf, 0.5, -0.3][random.integers(3)]
        at = {"rollout": i, "step": h, "state": s, "best": m, "so_far": 0.25 * h}
        assert mk.evaluate_from(mdp, plan.policy, **at) == max(plan.policy.action_values(**at).values())


def test_what_cannot_be_evaluated():
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 2)
    with pytest.raises(mk.TooLargeError, match="more than 10 outcomes"):
        mk.evaluate_from(mdp, plan.policy, rollout=0, step=0, state=36, max_outcomes=10)
    for policy in (
        mk.HistoryPolicy(lambda _: 0, 2, 40),
        mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(0.3)).policy,
    ):
        with pytest.raises(mk.InputError, match="is not a function of rollout"):
            mk.evaluate_from(
                mdp if policy.horizon == 40 else mk.instances.figure1(), policy, rollout=0, step=0, state=0
            )
    with pytest.raises(mk.InputError, match="expected one of"):
        mk.evaluate_from(mdp, mk.AdaptivePolicy(lambda *_: 9, 2, 40), rollout=0, step=0, state=36)
    with pytest.raises(mk.InputError, match="rollout must be between 0 and 1"):
        mk.evaluate_from(mdp, plan.policy, rollout=2, step=0, state=36)
