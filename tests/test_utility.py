"""Utilities of the final best return: planner, exact solver, evaluation and comparison, held to enumeration."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.problem.utility import Utility
from problems import one_line, problem, specs

FIGURE1 = mk.instances.figure1(gamma=Fraction(1, 4))
QUARTER = Fraction(1, 4)
ARMS = [{2 * QUARTER: 3 * QUARTER, Fraction(0): QUARTER}, {Fraction(1): QUARTER, Fraction(0): 3 * QUARTER}]
PRIZE = [(0, 0), (Fraction(1, 2), 0), (1, 1)]


@st.composite
def utilities(draw):
    """Knots of a convex nondecreasing function; turns at returns, between them and beyond all of them."""
    n = draw(st.integers(2, 5))
    x = Fraction(draw(st.integers(-20, 4)), 4)
    some = st.sampled_from([0, 0, Fraction(1, 3), 1, Fraction(7, 2), 40])
    slopes = sorted(draw(st.lists(some, min_size=n, max_size=n)))
    knots = [(x, Fraction(draw(st.integers(-9, 9)), 3))]
    for slope in slopes[1:]:
        step = Fraction(draw(st.integers(1, 12)), draw(st.sampled_from([1, 4, 3])))
        knots.append((knots[-1][0] + step, knots[-1][1] + slope * step))
    return knots


def by_hand(arms, k, u, m=None):
    """The optimum of one-step problems by plain recursion over arms."""
    if k == 0:
        return u(m)
    return max(sum(p * by_hand(arms, k - 1, u, x if m is None else max(m, x)) for x, p in arm.items()) for arm in arms)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "knots", [PRIZE, [(0, 1), (1, 3)], [(0, 0), (5, 0)], [(-3, -1), (0, 0), (Fraction(1, 3), 1), (Fraction(2, 3), 4)]]
)
def test_arms_by_hand(k, knots):
    def u(x):  # by its lines: a convex function is the greatest of them
        lines = [(b[1] - a[1]) / Fraction(b[0] - a[0]) for a, b in itertools.pairwise(knots)]
        return max(a[1] + slope * (x - a[0]) for a, slope in zip(knots, lines, strict=False))

    expected = by_hand(ARMS, k, u)
    exact = mk.solve(FIGURE1, k, utility=knots, solver=mk.Exact())
    plan = mk.solve(FIGURE1, k, utility=knots, solver=mk.Certified(tol=1e-9))
    assert exact.exact == expected
    assert plan.lower <= expected <= plan.upper <= plan.lower + 1e-9
    assert mk.evaluate(FIGURE1, exact.policy).exact == mk.evaluate(FIGURE1, plan.policy).exact == expected
    runs = mk.simulate(FIGURE1, plan.policy, trials=4000, rng=0)
    assert abs(runs.mean - expected) <= 5 * runs.stderr + 1e-12


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(specs(), utilities(), st.integers(1, 3), st.sampled_from([-math.inf, -1, Fraction(1, 3), 2, 50]), st.data())
def test_planner_and_exact_solver_agree(spec, knots, k, best, data):
    real = data.draw(st.sampled_from([None, None, 1]))  # rewards without a common step, too
    mdp = problem(spec, real)
    exact = mk.solve(mdp, k, utility=knots, best_so_far=best, solver=mk.Exact())
    plan = mk.solve(mdp, k, utility=knots, best_so_far=best, solver=mk.Certified(tol=1e-3))
    steepest = max(1.0, *(float(s) for s in Utility(knots).slopes))
    assert plan.lower <= exact.exact <= plan.upper
    assert plan.gap <= 1e-3 * steepest + 1e-9
    earned = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= earned.ends[1]
    assert earned.ends[0] <= exact.exact
    assert mk.evaluate(mdp, exact.policy).exact == exact.exact
    u = Utility(knots)
    for i in range(k + 1):
        for m in (-2, Fraction(1, 3), 1, 60):
            low, high = plan.curve(i, m)
            true = exact.table.curve(i, Fraction(m))
            assert low <= true <= high
            assert true >= u(m)


@pytest.mark.slow
def test_large_problem_in_floats():
    """Evaluation in floats, by the law: the same as by the exact law of the same policy's best return."""
    mdp = mk.instances.windy_cliff()
    knots = [(-20, 0), (-14, 0), (-13, 1)]
    plan = mk.solve(mdp, 5, utility=knots)
    earned = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= earned.lower <= earned.upper <= plan.upper
    law = mk.evaluate(mdp, plan.policy, utility=[(0, 0), (1, 1)])
    u = Utility(knots)
    by_law = sum(p * float(u(x)) for x, p in zip(law.law.values.tolist(), law.law.probs.tolist(), strict=True))
    assert abs(by_law - earned.value) < 1e-6
    assert law.value > -100  # the expected best return itself
    # Whoever plans for the mean of the best has less of it.
    plain = mk.evaluate(mdp, mk.solve(mdp, 5).policy, utility=knots)
    assert plain.upper < plan.lower
    low, high = mk.simulate(mdp, plan.policy, trials=20_000, rng=0).interval(0.999)
    assert low < plan.lower < high


def test_compare_in_units_of_the_utility():
    knots = [(0, 0), (Fraction(1, 2), 0), (1, 1)]
    table = mk.compare(FIGURE1, 3, utility=knots)
    exact = mk.solve(FIGURE1, 3, utility=knots, solver=mk.Exact()).exact
    assert table["adaptive"].lower <= exact <= table["adaptive"].upper
    for row in table:
        earned = mk.evaluate(FIGURE1, row.policy, utility=knots)
        assert row.lower <= earned.ends[1] + 1e-15
        assert earned.ends[0] <= row.upper
    # Only the risky arm reaches beyond 1/2: never looking loses nothing.
    assert table["without M"].upper >= exact - 1e-9
    assert table["one policy, sampled k times"].lower >= float(exact) - 1e-6


def test_an_affine_utility_is_the_plain_plan():
    plain, affine = mk.solve(FIGURE1, 3), mk.solve(FIGURE1, 3, utility=[(0, 5), (1, 8)])
    assert affine.lower == pytest.approx(5 + 3 * plain.lower, abs=1e-12)
    assert affine.upper == pytest.approx(5 + 3 * plain.upper, abs=1e-12)


def test_files(tmp_path):
    plan = mk.solve(FIGURE1, 3, utility=PRIZE)
    plan.save(tmp_path / "x.plan", with_problem=True)
    read = mk.load_plan(tmp_path / "x.plan")
    assert (read.lower, read.upper, read.objective) == (plan.lower, plan.upper, plan.objective)
    assert read.curve(1, 0.25) == plan.curve(1, 0.25)
    assert mk.evaluate(FIGURE1, read.policy).exact == mk.evaluate(FIGURE1, plan.policy).exact


@pytest.mark.parametrize(
    ("knots", "said"),
    [
        ([(0, 0), (1, 2), (2, 3)], "utility[1]: a utility must be convex"),
        ([(0, 0), (0, 1)], "utility[1]: best returns must rise"),
        ([(1, 0), (0, 1)], "utility[1]: best returns must rise"),
        ([(0, 1), (1, 0)], "utility[1]: a utility must not fall"),
        ([(0, 0), (1, math.nan)], "utility[1][1] must be finite"),
        ([(0, 0), (math.inf, 1)], "utility[1][0] must be finite"),
        ([(0, 0)], "utility must have 2 to"),
        ([(0, 0), 1], "utility[1] must be a pair"),
        ([(0, 0), (1, "x")], "utility[1][1] must be a real number"),
        (np.sqrt, "utility must be a list of knots"),
        ("ab", "utility must be a list of knots"),
    ],
)
def test_what_is_refused(knots, said):
    with pytest.raises(mk.InputError, match=re.escape(said)) as error:
        mk.solve(FIGURE1, 2, utility=knots)
    one_line(error.value)


def test_who_refuses_it():
    with pytest.raises(mk.InputError, match="utility: there must be no costs beside it"):
        mk.solve(FIGURE1, 2, utility=PRIZE, cost=0.1)
    with pytest.raises(mk.InputError, match="utility: Midpoint plans without it"):
        mk.solve(FIGURE1, 2, utility=PRIZE, solver=mk.Midpoint(0.5))
    with pytest.raises(mk.InputError, match="too large for floats"):
        mk.solve(FIGURE1, 2, utility=[(0, 0), (1e-300, 1e300)])
    with pytest.raises(mk.InputError, match="page: a plan for a utility has no page"):
        mk.solve(FIGURE1, 2, utility=PRIZE).page("x.html")


def test_arrays_are_knots():
    assert mk.solve(FIGURE1, 2, utility=np.array([[0, 0], [0.5, 0], [1, 1]])).objective.utility == Utility(PRIZE)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_values_of_actions_are_utilities(k):
    """At every moment of a trial they enclose those of the exact solver."""
    mdp, knots = mk.instances.proposition3(), [(0, 0), (1, Fraction(1, 2)), (2, 3)]
    plan = mk.solve(mdp, k, utility=knots)
    exact = mk.solve(mdp, k, utility=knots, solver=mk.Exact())
    for at in exact.decisions():
        moment = {"rollout": at.rollout, "step": at.step, "state": at.state, "best": at.best, "so_far": at.so_far}
        true = exact.policy.action_values(**moment)
        for action, (lower, upper) in plan.action_values(**moment).items():
            assert lower <= true[action] <= upper
            assert upper - lower <= 1e-6


def test_exact_plans_in_rounds_say_what_they_gain():
    plan = mk.solve(mk.instances.figure1(gamma=0.25), 2, width=2, solver=mk.Exact())
    assert plan.gain.lower >= 0
    assert "best of 2" in str(plan)


def test_sentences_name_the_utility_and_no_unit():
    """Steps are the unit of returns, not of a utility of them."""
    mdp = mk.instances.windy_cliff()
    told = str(mk.solve(mdp, 5, utility=[(-20, 0), (-14, 0), (-13, 1)]))
    assert "steps" not in told
    assert "(utility of the best of 5, within tol)" in told
    assert "Planning for the utility of the best of 5: at least 0.246" in told
    assert "maximise its mean" not in str(mk.solve(mdp, 1, utility=[(-20, 0), (-14, 0), (-13, 1)]))
    assert "steps" in str(mk.solve(mdp, 5))
