"""The extended problem and values from a moment on, held to brute force over histories and to the exact solver."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.tuning import tuned
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


@pytest.mark.slow
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
        p * mk.evaluate_from(mdp, policy, rollout=i, step=0, state=s, best=m).exact for p, s in mdp.exact_start()
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
        assert mk.evaluate_from(mdp, plan.policy, **at).exact == max(plan.policy.action_values(**at).values())


@pytest.mark.slow
@settings(max_examples=60)
@given(
    spec=specs(costs=True),
    k=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    objective=st.sampled_from([{}, {"cost": 0.25}, {"utility": [(0, 0), (0.5, 0.1), (1, 1)]}]),
)
def test_bounds_in_floats_hold_the_exact_value(spec, k, seed, objective):
    """From anywhere, for policies of every kind; with an unusual M and G, on and off the grid of rewards."""
    mdp, random = problem(spec), np.random.default_rng(seed)
    assume(not (mdp.has_costs and "utility" in objective))
    known = policies(mdp, k, seed)
    for kind in KINDS:
        i, h, s = (int(random.integers(n)) for n in (k, mdp.horizon, mdp.n_states))
        m = [-math.inf, 0.5, -0.3, 7, -7, Fraction(1, 3)][random.integers(6)]
        at = {"rollout": i, "step": h, "state": s, "best": m, "so_far": [0, 0.25, -3, Fraction(2, 7)][seed % 4]}
        exact = mk.evaluate_from(mdp, known[kind], **at, **objective).exact
        with tuned(few_outcomes=0):
            bounds = mk.evaluate_from(mdp, known[kind], **at, **objective)
        assert bounds.exact is None
        assert bounds.lower <= exact <= bounds.upper <= bounds.lower + 1e-8


def test_dropped_atoms_widen_the_bounds(tune):
    mdp = mk.instances.random_sparse(5, 2, 4, rng=3)
    plan, at = mk.solve(mdp, 3), {"rollout": 0, "step": 1, "state": 0, "so_far": 0.5}
    whole = mk.evaluate_from(mdp, plan.policy, **at)
    tune(few_outcomes=0)
    few = mk.evaluate_from(mdp, plan.policy, **at, max_atoms=20)
    assert few.lower <= whole.lower <= whole.upper <= few.upper
    assert few.upper - few.lower > 1e-3


def test_the_windy_cliff_from_its_first_moves():
    """Fractions alone took 73 s, and then refused. No policy beats the plan's bounds; its own comes within them."""
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 5)
    for i in (0, 3):
        at = {"rollout": i, "step": 0, "state": 36, "best": -25 if i else -math.inf}
        earned = mk.evaluate_from(mdp, plan.policy, **at)
        low, high = plan.value(**at)
        assert low <= earned.upper
        assert earned.lower <= high
        assert earned.upper - earned.lower < 1e-4


def test_what_cannot_be_evaluated():
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 2)
    digits = mdp.with_rewards(mdp.reward * np.random.default_rng(1).random(len(mdp.reward)))
    fresh = mk.AdaptivePolicy(lambda *_: 0, 2, 40)
    with pytest.raises(mk.TooLargeError, match="more digits than 64 bits hold"):
        mk.evaluate_from(digits, fresh, rollout=0, step=0, state=36, so_far=1e-9)
    with pytest.raises(mk.InputError, match="tol must not be negative"):
        mk.evaluate_from(mdp, plan.policy, rollout=0, step=0, state=36, tol=-1)
    with pytest.raises(mk.InputError, match="max_atoms must be at least 1"):
        mk.evaluate_from(mdp, plan.policy, rollout=0, step=0, state=36, max_atoms=0)
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
