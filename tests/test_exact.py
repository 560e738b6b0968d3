"""The exact solver against the paper's numbers, closed forms, and brute force over policies."""

import dataclasses
import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import golden
import maxatk as mk
from oracles import all_policy_values, best_of_independent_returns, history_policy_value, policy_value
from problems import problem, specs


def optimum(mdp: mk.MDP, k: int, best_so_far=-math.inf) -> Fraction:
    return mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best_so_far).exact


@pytest.mark.parametrize("name", golden.OPTIMA)
def test_golden_optima(name):
    make, values = golden.OPTIMA[name]
    assert [optimum(make(), k) for k in range(1, len(values) + 1)] == values


@pytest.mark.parametrize(("gamma", "value"), golden.FIGURE1_TWO_ROLLOUTS.items())
def test_figure1_with_two_rollouts(gamma, value):
    assert optimum(mk.instances.figure1(gamma), 2) == value
    if gamma <= Fraction(1, 2):
        assert value == Fraction(5, 8) - gamma / 8 - gamma**2 / 2


@pytest.mark.parametrize(("k", "value"), golden.PROPOSITION1_EXACT.items())
def test_proposition1_exactly(k, value):
    assert optimum(mk.instances.proposition1(k), k) == value


@pytest.mark.slow
@pytest.mark.parametrize(("k", "value"), golden.PROPOSITION1.items())
def test_proposition1_for_many_rollouts(k, value):
    assert float(optimum(mk.instances.proposition1(k), k)) == pytest.approx(value, abs=1e-12, rel=0)


def test_proposition3_curve_and_actions():
    plan = mk.solve(mk.instances.proposition3(), k=2, solver=mk.Exact())
    for (m, g), (safe, risky) in golden.PROPOSITION3_ACTIONS.items():
        values = plan.policy.action_values(rollout=1, step=2, state=3, best=m, so_far=g)
        assert values == {0: safe, 1: risky}
        assert plan.policy.action(rollout=1, step=2, state=3, best=m, so_far=g) == (0 if safe >= risky else 1)
    for m, u in golden.PROPOSITION3_CURVE.items():
        lower, upper = plan.curve(1, m)
        assert lower <= u <= upper
        assert upper <= math.nextafter(lower, math.inf)


@settings(max_examples=60)
@given(spec=specs(max_states=2, max_horizon=2), k=st.integers(1, 3))
def test_compressed_histories_lose_nothing(spec, k):
    """Proposition 2: no deterministic history-dependent policy, of all there are, beats the best on (s, M, G)."""
    mdp = problem(spec)
    try:
        values = all_policy_values(mdp, k, most=20_000)
    except OverflowError:
        assume(False)
    assert max(values) == optimum(mdp, k)


def test_brute_force_enumerates_what_it_says():
    """One state, one step, two actions with two outcomes: 2 policies for one rollout, 2 * 2**2 for two."""
    mdp = mk.instances.figure1(Fraction(1, 10))
    assert len(all_policy_values(mdp, 1)) == 2
    assert len(all_policy_values(mdp, 2)) == 2 * 2**2
    assert len(all_policy_values(mdp, 3)) == 2 * (2 * 2**2) ** 2
    assert max(all_policy_values(mdp, 3)) == golden.OPTIMA["figure1, gamma = 1/10"][1][2]


@settings(max_examples=60)
@given(spec=specs(), k=st.integers(1, 3), best=st.sampled_from([-math.inf, Fraction(-1, 3), 0.5]))
def test_the_policy_earns_the_value(spec, k, best):
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best)
    assert policy_value(mdp, plan.policy, k, best) == plan.exact
    assert plan.lower <= plan.exact <= plan.upper
    assert plan.gap <= math.ulp(max(1.0, abs(plan.lower)))
    assert plan.curve(0, best) == (plan.lower, plan.upper)


@settings(max_examples=30)
@given(spec=specs(max_states=2, max_horizon=2), k=st.integers(1, 2))
def test_the_two_evaluators_agree(spec, k):
    mdp = problem(spec)
    policy = mk.solve(mdp, k, solver=mk.Exact()).policy

    def choose(history):
        return policy.action(
            rollout=history.rollout,
            step=history.step,
            state=history.state,
            best=history.best(),
            so_far=history.so_far,
        )

    assert history_policy_value(mdp, choose, k) == policy_value(mdp, policy, k)


@settings(max_examples=30)
@given(spec=specs(), k=st.integers(1, 3))
def test_decisions_are_those_of_the_policy(spec, k):
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact())
    decisions = list(plan.decisions())
    for d in decisions:
        at = {"rollout": d.rollout, "step": d.step, "state": d.state, "best": d.best, "so_far": d.so_far}
        assert plan.policy.action(**at) == d.action
        assert plan.policy.action_values(**at)[d.action] == d.value
    for i in range(k):
        first = [d for d in decisions if (d.rollout, d.step) == (i, 0)]
        assert sum(d.prob for d in first) == 1
        assert sum(d.prob * d.value for d in first) == plan.exact  # a martingale under the optimal policy


# Closed forms.


@given(spec=specs(max_actions=1), k=st.integers(1, 4))
def test_one_action_is_the_best_of_independent_returns(spec, k):
    mdp = problem(dataclasses.replace(spec, A=1))
    assert optimum(mdp, k) == best_of_independent_returns(mdp, k)


@given(p=st.fractions(0, 1), q=st.fractions(0, 1), k=st.integers(1, 6))
def test_a_binary_reward_needs_no_adaptivity(p, q, k):
    table = {0: {a: [(x, 0, 1, True), (1 - x, 0, 0, True)] for a, x in enumerate((p, q))}}
    assert optimum(mk.MDP.from_table(table, horizon=1), k) == 1 - (1 - max(p, q)) ** k


@given(spec=specs())
def test_one_rollout_is_ordinary_backward_induction(spec):
    mdp = problem(spec)

    def value(h, s):
        if s is None or h == mdp.horizon:
            return 0
        return max(sum(p * (r + value(h + 1, t)) for p, t, r in mdp.exact_outcomes(h, s, a)) for a in mdp.actions(h, s))

    assert optimum(mdp, 1) == sum(p * value(0, s) for p, s in mdp.exact_start())


@given(spec=specs(), k=st.integers(1, 4))
def test_a_deterministic_problem_is_worth_its_best_return(spec, k):
    P = (spec.P.cumsum(axis=-1) > 0.5).cumsum(axis=-1) == 1  # the median successor, for sure
    start = [1.0] + [0.0] * (spec.S - 1)
    mdp = problem(dataclasses.replace(spec, P=P.astype(float), start=start))
    assert optimum(mdp, k) == mdp.return_range[1]


# Invariants of the optimum.


@settings(max_examples=50)
@given(spec=specs(), k=st.integers(1, 3), shift=st.integers(-(2**30), 2**30), scale=st.integers(1, 9))
def test_shift_and_scale_of_rewards(spec, k, shift, scale):
    """Shifted per step, in problems whose rollouts all have H steps."""
    full = dataclasses.replace(spec, terminal=[])
    other = dataclasses.replace(full, R=full.R * scale + shift)
    assert optimum(problem(other), k) == optimum(problem(full), k) * scale + shift * spec.H


@settings(max_examples=50)
@given(spec=specs(), k=st.integers(1, 3))
def test_more_rollouts_a_larger_incumbent_and_larger_rewards_never_lower_the_optimum(spec, k):
    mdp = problem(spec)
    least, most = mdp.return_range
    assert least <= optimum(mdp, 1) <= optimum(mdp, k) <= optimum(mdp, k + 1) <= most
    assert optimum(mdp, k) <= optimum(problem(dataclasses.replace(spec, R=spec.R + (spec.R < 1))), k)
    for m in (least - 1, least):
        assert optimum(mdp, k, m) == optimum(mdp, k)
    assert optimum(mdp, k, most) == most
    assert optimum(mdp, k, most + 1) == most + 1


@settings(max_examples=40)
@given(spec=specs(), k=st.integers(1, 2), i=st.integers(0, 2), shift=st.fractions(0, 1))
def test_curves_are_convex_rising_and_lipschitz(spec, k, i, shift):
    plan = mk.solve(problem(spec), k, solver=mk.Exact())
    i = min(i, k)
    grid = [Fraction(j, 2) + shift for j in range(-8, 9)]
    values = [plan.table.curve(i, m) for m in grid]
    slopes = [2 * (b - a) for a, b in itertools.pairwise(values)]
    assert slopes == sorted(slopes)
    assert all(0 <= slope <= 1 for slope in slopes)
    assert all(u >= m for u, m in zip(values, grid, strict=True))


# Off the table, and beyond it.


def test_histories_off_the_table_are_solved_on_request():
    mdp = mk.instances.figure1(Fraction(1, 4))
    plan = mk.solve(mdp, 2, solver=mk.Exact())
    known = plan.stats["histories"]
    assert len(plan.table) == known == 4
    third = Fraction(1, 3)
    values = plan.policy.action_values(rollout=1, step=0, state=0, best=third, so_far=0)
    assert values == {0: third / 4 + Fraction(3, 8), 1: third * Fraction(3, 4) + Fraction(1, 4)}
    assert len(plan.table) == known + 1
    # A return in hand that no rollout could have had, a rollout with a head start, a float.
    assert plan.policy.action_values(rollout=1, step=0, state=0, best=7, so_far=0) == {0: 7, 1: 7}
    assert plan.policy.action_values(rollout=1, step=0, state=0, best=0, so_far=10)[1] == Fraction(41, 4)
    assert plan.policy.action(rollout=1, step=0, state=0, best=0.5, so_far=0) == 1
    assert plan.curve(2, -math.inf) == (-math.inf, -math.inf)
    assert plan.curve(2, 0.25) == (0.25, 0.25)


def test_a_plan_does_not_wear_out():
    """The guard counts what one request needs, however many were made before."""
    plan = mk.solve(mk.instances.footnote(4), 1, solver=mk.Exact(max_histories=15))
    values = [plan.curve(0, Fraction(n, 97)) for n in range(100)]
    assert values == [
        mk.solve(mk.instances.footnote(4), 1, solver=mk.Exact()).curve(0, Fraction(n, 97)) for n in range(100)
    ]
    assert len(plan.table) <= 15
    assert plan.policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == 1


def test_a_plan_can_be_shared_by_threads_and_copied():
    plan = mk.solve(mk.instances.proposition3(), 2, solver=mk.Exact())

    def ask(n):
        return plan.policy.action_values(rollout=1, step=0, state=0, best=Fraction(n, 97), so_far=0)

    expected = [ask(n) for n in range(100)]
    plan.table._values.clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(100))) == expected
    copied = pickle.loads(pickle.dumps(plan))
    assert copied.exact == plan.exact
    assert copied.policy.action(rollout=1, step=2, state=3, best=1.5, so_far=1) == 1


def test_ties_go_to_the_lowest_action():
    same = [(1, 0, 1, True)]
    mdp = mk.MDP.from_table({0: {5: same, 2: same, 9: same}}, horizon=1)
    assert mk.solve(mdp, 1, solver=mk.Exact()).policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == 2


def test_too_many_histories_are_refused_with_their_count():
    with pytest.raises(mk.TooLargeError, match=r"more than 1000 compressed histories .*: 10\d\d or more by step \d"):
        mk.solve(mk.instances.footnote(20), 2, solver=mk.Exact(max_histories=1000))
    plan = mk.solve(mk.instances.footnote(4), 1, solver=mk.Exact(max_histories=15))
    assert plan.stats["histories"] == 15
    with pytest.raises(mk.TooLargeError):
        mk.solve(mk.instances.footnote(4), 1, solver=mk.Exact(max_histories=14))


def test_the_guard_acts_before_memory_is_gone():
    """A problem with 2**200 returns is refused as fast as one with a million."""
    with pytest.raises(mk.TooLargeError):
        mk.solve(mk.instances.footnote(200), 3, solver=mk.Exact())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"k": -3}, "k must be at least 1, not -3"),
        ({"k": 2.0}, "k must be an integer, not 2.0"),
        ({"k": True}, "k must be an integer, not True"),
        ({"k": None}, "k must be an integer, not None"),
        ({"k": 1, "best_so_far": math.nan}, "best_so_far must be finite, not nan"),
        ({"k": 1, "best_so_far": math.inf}, "best_so_far must be finite, not inf"),
        ({"k": 1, "best_so_far": "3"}, "best_so_far must be a real number, not '3'"),
        ({"k": 1, "best_so_far": 10**400}, "best_so_far is too large for a float"),
        (
            {"k": 1, "solver": mk.Exact},
            "solver must be a solver such as mk.Exact(), not <class 'maxatk.planning.exact.Exact'>",
        ),
        ({"k": 1, "solver": ""}, "solver must be a solver such as mk.Exact(), not ''"),
        ({"k": 1, "mdp": 3}, "mdp must be a maxatk.MDP, not 3"),
    ],
)
def test_bad_arguments_of_solve(arguments, message):
    with pytest.raises(mk.InputError) as error:
        mk.solve(**{"mdp": mk.instances.figure1(), **arguments})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rollout": 2}, "rollout must be between 0 and 1, not 2"),
        ({"step": 1}, "step must be between 0 and 0, not 1"),
        ({"state": 0.0}, "state must be an integer, not 0.0"),
        ({"best": math.inf}, "best must be finite, not inf"),
        ({"so_far": math.nan}, "so_far must be finite, not nan"),
        ({"so_far": -math.inf}, "so_far must be finite, not -inf"),
    ],
)
def test_bad_arguments_of_the_policy(change, message):
    policy = mk.solve(mk.instances.figure1(), 2, solver=mk.Exact()).policy
    with pytest.raises(mk.InputError) as error:
        policy.action(**{"rollout": 0, "step": 0, "state": 0, "best": -math.inf, "so_far": 0, **change})
    assert str(error.value) == message


def test_bad_guard():
    with pytest.raises(mk.InputError, match="max_histories must be at least 1"):
        mk.Exact(max_histories=0)


def test_exact_plans_are_not_saved(tmp_path):
    plan = mk.solve(mk.instances.figure1(), 2, solver=mk.Exact())
    assert repr(plan) == "ExactPlan(best of 2: 0.5625 to 0.5625, exact)"
    with pytest.raises(mk.InputError, match="ExactPlan cannot be saved"):
        plan.save(tmp_path / "x.plan")
