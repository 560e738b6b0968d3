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
    midpoints = [Fraction(2 * cell(Fraction(r), Fraction(1, n)) + 1, 2 * n) for r in mdp.reward.tolist()]
    rounded = mdp.with_rewards(np.array(midpoints, object))
    plan = mk.solve(mdp, k, solver=mk.Midpoint(Fraction(1, n)))
    assert plan.rounded_value == pytest.approx(float(mk.solve(rounded, k, solver=mk.Exact()).exact), abs=1e-11)


@pytest.mark.parametrize("n", [2, 5, 100])
def test_golden_optima_lie_inside(n):
    make, values = golden.OPTIMA["figure1, gamma = 1/4"]
    for k, value in enumerate(values, 1):
        plan = mk.solve(make(), k, solver=mk.Midpoint(1 / n))
        assert plan.lower <= value <= plan.upper


def test_the_rule_for_ties():
    """On the border of two cells the upper one, but for the reward 1."""
    quarter = Fraction(1, 4)
    assert [cell(Fraction(j, 4), quarter) for j in range(5)] == [0, 1, 2, 3, 3]
    assert cell(quarter - Fraction(1, 10**30), quarter) == 0
    assert cell(Fraction(0.1) * 3, Fraction(1, 10)) == 3  # the float is above 3/10 as a fraction


# Theorem 1 for every kappa > 0.

STEPS = [Fraction(3, 10), 0.3, Fraction(2, 3), 0.7, Fraction(3, 1000), 1, Fraction(4, 3), 1.5, 2.5, Fraction(10)]


@pytest.mark.parametrize("kappa", STEPS)
def test_every_reward_moves_by_at_most_half_a_step(kappa):
    """The paper's grid: the nearest of its ``ceil(1/kappa)`` points, the last of which may lie beyond 1."""
    solver = mk.Midpoint(kappa)
    step = Fraction(kappa)
    grid = [step * (j - Fraction(1, 2)) for j in range(1, math.ceil(1 / step) + 1)]
    assert solver.step == step
    assert solver.cells == len(grid)
    near_borders = [step * j + off for j in range(len(grid) + 1) for off in (0, Fraction(1, 10**30))]
    rewards = [Fraction(j, 97) for j in range(98)] + [r for r in near_borders if r <= 1]
    for r in rewards:
        moved = abs(step * (cell(r, step) + Fraction(1, 2)) - r)
        assert moved == min(abs(point - r) for point in grid)
        assert moved <= step / 2


@settings(max_examples=40)
@given(
    spec=specs(max_states=2, max_horizon=2),
    kappa=st.sampled_from(STEPS),
    k=st.integers(1, 2),
    seed=st.integers(0, 99),
    ties=st.booleans(),
)
def test_theorem_1_for_every_step(spec, kappa, k, seed, ties):
    """Against the exact planner, on random rewards and on fractions at, just below and just above borders of cells."""
    mdp, step = unit_problem(spec, seed), Fraction(kappa)
    if ties:
        random = np.random.default_rng(seed)
        tiny = Fraction(1, 10**20)
        borders = [step * j + off for j in (1, 2, 3) for off in (-tiny, 0, tiny)]
        some = [b for b in borders if 0 <= b <= 1] + [Fraction(0), Fraction(1), 1 - tiny]
        mdp = mdp.with_rewards(np.array([some[i] for i in random.integers(len(some), size=len(mdp.reward))], object))
    plan = mk.solve(mdp, k, solver=mk.Midpoint(kappa))
    optimum = mk.solve(mdp, k, solver=mk.Exact()).exact
    earned = mk.evaluate(mdp, plan.policy).exact
    rounding = Fraction(1, 10**12) * max(step, 1)
    assert plan.kappa == step
    assert abs(optimum - Fraction(plan.rounded_value)) <= step * mdp.horizon / 2 + rounding
    assert plan.lower <= earned <= optimum <= plan.upper
    assert optimum - earned <= step * mdp.horizon


def test_where_a_grid_point_exceeds_1():
    """kappa = 3/10 has points up to 21/20. Both actions round to it, and the policy may lose their difference."""
    step = Fraction(3, 10)
    mdp = mk.MDP.from_table([[[(1, 0, Fraction(9, 10), False)], [(1, 0, 1, False)]]], horizon=3)
    plan = mk.solve(mdp, 2, solver=mk.Midpoint(step))
    assert plan.rounded_value == pytest.approx(3 * 21 / 20)
    assert plan.upper == 3  # no return is more
    assert 3 - mk.evaluate(mdp, plan.policy).exact == Fraction(3, 10)
    assert plan.curve(1, 2.9)[0] <= 3 <= plan.curve(1, 2.9)[1]


def test_a_return_in_hand_on_any_grid():
    mdp = mk.instances.figure1()
    for kappa in (Fraction(3, 10), 0.3, 1.5):
        plan = mk.solve(mdp, 2, solver=mk.Midpoint(kappa), best_so_far=Fraction(1, 3))
        optimum = mk.solve(mdp, 2, solver=mk.Exact(), best_so_far=Fraction(1, 3)).exact
        assert plan.lower <= mk.evaluate(mdp, plan.policy).exact <= optimum <= plan.upper
        assert plan.policy.best_so_far == Fraction(1, 3)
        lower, upper = plan.curve(0, Fraction(1, 3))
        assert lower <= optimum <= upper


def test_floats_near_one_over_n_mean_that():
    assert [mk.Midpoint(1 / n).cells for n in range(1, 2000)] == list(range(1, 2000))
    assert mk.Midpoint(0.1).step == Fraction(1, 10)
    assert mk.Midpoint(Fraction(0.1)).step == Fraction(0.1)  # a fraction means itself
    assert mk.Midpoint(Fraction(1, 10) - Fraction(1, 10**20)).cells == 11


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
        (lambda: mk.Midpoint(-1), "kappa must be above 0, not -1"),
        (lambda: mk.Midpoint(0), "kappa must be above 0, not 0"),
        (lambda: mk.Midpoint(1e-16), "kappa must be at least 2^-50, not 1e-16"),
        (lambda: mk.Midpoint(math.nan), "kappa must be finite, not nan"),
        (
            lambda: mk.solve(mk.instances.proposition3(), 2, solver=mk.Midpoint(1e308)),
            "kappa = 1e+308 is too large for a horizon of 3: floats do not hold kappa H",
        ),
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
