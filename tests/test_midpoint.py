"""The paper's algorithm: within kappa H/2 of the optimum, its policy within kappa H, with the paper's own memory."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
import maxatk as mk
from maxatk.planning.midpoint import cell
from problems import problem, specs


def unit_problem(spec, seed) -> mk.MDP:
    mdp = problem(spec)
    return mdp.with_rewards(np.random.default_rng(seed).random(len(mdp.reward)))


def value_of_trials(mdp: mk.MDP, policy: mk.CompressedPolicy, k: int) -> Fraction:
    """The exact value of a policy run through its trials, with the true rewards: a trial per path."""

    def replay(path):
        trial = policy.begin()
        for state, reward, done in path:
            trial.act(state)
            trial.observe(reward, done)
        return trial

    def value(path, state, h, g, best) -> Fraction:
        trial = replay(path)
        if trial.finished:
            return best
        action = trial.act(state)
        total = Fraction(0)
        for p, t, r in mdp.exact_outcomes(h, state, action):
            over = t is None or h + 1 == mdp.horizon
            if not over:
                total += p * value([*path, (state, r, False)], t, h + 1, g + r, best)
                continue
            after = [*path, (state, r, True)]
            final = max(best, g + r)
            starts = mdp.exact_start()
            total += p * sum((q * value(after, s, 0, Fraction(0), final) for q, s in starts), Fraction(0))
        return total

    starts = mdp.exact_start()
    return sum((q * value([], s, 0, Fraction(0), Fraction(-(10**9))) for q, s in starts), Fraction(0))


@settings(max_examples=40)
@given(
    spec=specs(max_states=2, max_horizon=2),
    n=st.sampled_from([1, 2, 3, 7, 50]),
    k=st.integers(1, 2),
    seed=st.integers(0, 99),
)
def test_theorem_1(spec, n, k, seed):
    mdp = unit_problem(spec, seed)
    plan = mk.solve(mdp, k, solver=mk.Midpoint(1 / n))
    optimum = mk.solve(mdp, k, solver=mk.Exact()).exact
    assert plan.lower <= optimum <= plan.upper
    assert plan.gap <= mdp.horizon / n * (1 + 1e-6)  # less where no return is as great
    earned = value_of_trials(mdp, plan.policy, k)
    assert earned >= Fraction(plan.lower)
    assert optimum - earned <= Fraction(mdp.horizon, n)


@settings(max_examples=40)
@given(spec=specs(max_states=2, max_horizon=2), n=st.integers(1, 9), k=st.integers(1, 3), seed=st.integers(0, 99))
def test_its_value_is_that_of_the_rounded_problem(spec, n, k, seed):
    mdp = unit_problem(spec, seed)
    midpoints = [Fraction(2 * cell(Fraction(r), n) + 1, 2 * n) for r in mdp.reward.tolist()]
    rounded = mdp.with_rewards(np.array(midpoints, object))
    plan = mk.solve(mdp, k, solver=mk.Midpoint(Fraction(1, n)))
    assert plan.value == pytest.approx(float(mk.solve(rounded, k, solver=mk.Exact()).exact), abs=1e-11)


@pytest.mark.parametrize("n", [2, 5, 100])
def test_golden_optima_lie_inside(n):
    make, values = golden.OPTIMA["figure1, gamma = 1/4"]
    for k, value in enumerate(values, 1):
        plan = mk.solve(make(), k, solver=mk.Midpoint(1 / n))
        assert plan.lower <= value <= plan.upper


def test_the_rule_for_ties():
    """On the border of two cells the upper one, but for the reward 1."""
    assert [cell(Fraction(j, 4), 4) for j in range(5)] == [0, 1, 2, 3, 3]
    assert cell(Fraction(1, 4) - Fraction(1, 10**30), 4) == 0
    assert cell(Fraction(0.1) * 3, 10) == 3  # the float 0.30000000000000004...; as a fraction it is above 3/10


def test_trials_remember_rounded_rewards():
    trial = mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(0.25)).policy.begin()
    trial.act(0)
    trial.observe(0.5, done=True)
    assert trial.best == Fraction(1, 2)  # the truth is for the caller
    assert trial._best == Fraction(5, 8)
    trial.act(0)
    with pytest.raises(mk.InputError, match=r"reward must be in \[0, 1\], not 2"):
        trial.observe(2)


def test_curves():
    plan = mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(0.01))
    lower, upper = plan.curve(1, 0.5)
    assert lower <= Fraction(5, 8) <= upper
    assert plan.curve(2, 0.3) == (0.3, 0.3)
    assert plan.curve(0, -math.inf)[0] == pytest.approx(plan.lower, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mk.Midpoint(0.3), "kappa must be 1/n for a whole number n up to 2^50, not 0.3"),
        (lambda: mk.Midpoint(-1), "kappa must be 1/n for a whole number n up to 2^50, not -1"),
        (lambda: mk.Midpoint(0), "kappa must be 1/n for a whole number n up to 2^50, not 0"),
        (
            lambda: mk.solve(mk.instances.windy_cliff(), 2, solver=mk.Midpoint(0.5)),
            "Midpoint needs rewards in [0, 1], as the paper does, but one is -1",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(mk.InputError) as error:
        make()
    assert str(error.value).startswith(message)
