"""Values of actions at any moment of a trial, held to the exact solver: on lattices, off them, near ties."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.tuning import tuned
from maxatk.planning.certified.plan import evidence_of
from problems import problem, specs
from test_promises import BRANCHES, heavy

OBJECTIVES = [{}, {}, {"cost": 0.25}, {"cost": 0.25, "abandon": True}, {"abandon": True}]


def compare(plan, exact, places) -> None:
    """Every bound of ``plan`` encloses what the exact solver says, at some moments of a trial."""
    for i, h, s, m, g in places:
        at = {"rollout": i, "step": h, "state": s, "best": m, "so_far": g}
        truth = exact.policy.action_values(**at)
        bounds = plan.action_values(**at)
        assert list(bounds) == list(truth), at
        for action, (lower, upper) in bounds.items():
            assert Fraction(lower) <= truth[action] <= Fraction(upper), (at, action)
        lower, upper = plan.value(**at)
        assert Fraction(lower) <= max(truth.values()) <= Fraction(upper), at
        assert exact.action_values(**at).keys() == truth.keys()


def places_of(mdp, k, seed, n=12):
    """Moments that a rollout comes to, and others: any state, returns on the lattice and off it, far away and none."""
    random = np.random.default_rng(seed)
    least, most = mdp.return_range
    some = [-math.inf, least, most, (least + most) / 2, 0.25, 0.3, most + 1.5, least - 3.0]
    for _ in range(n):
        i, h, s = (int(random.integers(n)) for n in (k, mdp.horizon, mdp.n_states))
        m = some[random.integers(len(some))]
        g = 0 if h == 0 and random.random() < 0.7 else [0, 0.25, -0.5, 1 / 3, least, most, 7.5][random.integers(7)]
        yield i, h, s, m, g


@pytest.mark.parametrize("branch", BRANCHES)
@settings(max_examples=15)
@given(
    spec=specs(costs=True),
    real=st.sampled_from([None, None, 1]),
    k=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    objective=st.sampled_from(OBJECTIVES),
    tol=st.sampled_from([1e-6, 0.05, 3.0]),
)
def test_bounds_enclose_the_exact_values(branch, spec, real, k, seed, objective, tol):
    mdp = problem(spec, real)
    with tuned(**BRANCHES[branch]):
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1), **objective)
        exact = mk.solve(mdp, k, solver=mk.Exact(), **objective)
        compare(plan, exact, places_of(mdp, k, seed))


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), real=st.booleans(), k=st.integers(1, 3))
def test_near_ties_and_huge_losses(seed, real, k):
    """Losses that nearly level out gains, up to 10^5 times as large."""
    mdp = heavy(seed, real)
    plan = mk.solve(mdp, k, solver=mk.Certified(threads=1))
    compare(plan, mk.solve(mdp, k, solver=mk.Exact()), places_of(mdp, k, seed))


@pytest.mark.parametrize("name", ["figure1", "proposition1", "proposition3"])
def test_at_all_that_may_be_seen_they_are_as_narrow_as_the_plan(name):
    mdp = getattr(mk.instances, name)()
    plan, exact = (mk.solve(mdp, 3, solver=solver) for solver in (mk.Certified(tol=1e-6), mk.Exact()))
    decisions = list(itertools.islice(exact.decisions(), 200))
    assert len(decisions) > 3
    for one in decisions:
        at = {"rollout": one.rollout, "step": one.step, "state": one.state, "best": one.best, "so_far": one.so_far}
        lower, upper = plan.value(**at)
        assert Fraction(lower) <= one.value <= Fraction(upper)
        assert upper - lower <= 1e-6 + 1e-9


def test_off_the_lattice_they_are_about_as_narrow_as_the_plan():
    """Rewards without a common step: the interval at the start is the plan's, but for a little."""
    mdp = mk.instances.windy_cliff()
    mdp = mdp.with_rewards(mdp.reward * math.pi)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.2))
    assert not evidence_of(plan).method.exact
    lower, upper = plan.value(rollout=0, step=0, state=36)
    assert lower <= plan.upper
    assert upper >= plan.lower
    assert upper - lower <= 1.01 * plan.gap + 1e-6


def test_a_dense_problem_is_swept_by_products(tune):
    """Matrix products have a layout of their own."""
    tune(product_work=0.0)
    random = np.random.default_rng(5)
    P = random.dirichlet(np.ones(6), size=(6, 2))
    mdp = mk.MDP.from_arrays(P, random.integers(0, 4, (6, 2)), horizon=4)
    plan = mk.solve(mdp, 2)
    assert evidence_of(plan).method.multiplies
    compare(plan, mk.solve(mdp, 2, solver=mk.Exact()), places_of(mdp, 2, 7, 60))


def test_at_ten_thousand_states_it_takes_no_more_memory_than_a_slice():
    random = np.random.default_rng(0)
    S, H = 10_000, 20

    def row() -> list[tuple[float, int, float, bool]]:
        s, t, r = (int(x) for x in random.integers([S, S, 3]))
        return [(0.5, s, float(r), False), (0.5, t, 0.0, False)]

    table = {s: {a: row() for a in range(2)} for s in range(S)}
    mdp = mk.MDP.from_table(table, horizon=H)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.1))

    def peak(work):
        tracemalloc.start()
        work()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    evidence = evidence_of(plan)
    knots = [float(plan.mdp.return_range[0])] * 2
    slices = peak(lambda: evidence.method.solve(evidence.curves[1], 0.0, knots))
    assert peak(lambda: plan.action_values(rollout=0, step=1, state=3)) <= 1.2 * slices
    lower, upper = plan.value(rollout=0, step=0, state=int(mdp.start_state[0]))
    assert lower <= plan.upper
    assert upper >= plan.lower
    assert upper - lower <= plan.gap + 1e-9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rollout": 2}, "rollout must be between 0 and 1, not 2"),
        ({"step": 1}, "step must be "),
        ({"state": -1}, "state must be between 0 and 0, not -1"),
        ({"best": math.nan}, "best must"),
        ({"so_far": math.inf}, "so_far must be finite, not inf"),
        ({"so_far": "x"}, "so_far must"),
    ],
)
def test_bad_input(wrong, message):
    plan = mk.solve(mk.instances.figure1(), 2)
    with pytest.raises(mk.InputError, match=message):
        plan.value(**({"rollout": 0, "step": 0, "state": 0} | wrong))


def test_plans_without_values_say_so():
    plan = mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(0.25))
    with pytest.raises(mk.InputError, match="MidpointPlan has no values of actions"):
        plan.action_values(rollout=0, step=0, state=0)
