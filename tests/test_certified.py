"""The certified planner against the exact one, closed forms and the paper's numbers; its policy against its promise."""

import dataclasses
import itertools
import math
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import golden
import maxatk as mk
from maxatk.base.tuning import tuned
from maxatk.planning.certified import slice_tables
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.slice_tables import Slice
from oracles import best_of_independent_returns, policy_value
from problems import REPRESENTATIONS, problem, specs

TOLERANCES = [1e-9, 1e-3, 0.3]


@st.composite
def real_problems(draw, max_horizon=4) -> mk.MDP:
    """Small problems with rewards that share no step."""
    spec = draw(specs(max_horizon=max_horizon))
    mdp = problem(spec)
    shake = np.random.default_rng(draw(st.integers(0, 999))).normal(0, 0.7, len(mdp.reward))
    return mdp.with_rewards(mdp.reward + shake)


def exact_of(mdp: mk.MDP, k: int, best=-math.inf) -> Fraction:
    return mk.solve(mdp, k, solver=mk.Exact(max_histories=20_000), best_so_far=best).exact


@pytest.mark.slow
@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("name", golden.OPTIMA)
def test_golden_optima_lie_inside(name, tol):
    make, values = golden.OPTIMA[name]
    for k, value in enumerate(values, 1):
        plan = mk.solve(make(), k, solver=mk.Certified(tol=tol))
        assert plan.lower <= value <= plan.upper
        assert plan.gap <= tol
        assert plan.status == "within tol"


@pytest.mark.slow
@pytest.mark.parametrize(("k", "value"), [*golden.PROPOSITION1_EXACT.items(), *golden.PROPOSITION1.items()])
def test_proposition1_lies_inside(k, value):
    plan = mk.solve(mk.instances.proposition1(k), k, solver=mk.Certified(tol=1e-9))
    assert plan.lower - 1e-12 <= value <= plan.upper + 1e-12
    assert plan.gap <= 1e-9


def test_the_windy_cliff():
    mdp = mk.instances.windy_cliff()
    for k, value in enumerate(golden.WINDY_CLIFF, 1):
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-6))
        assert round(plan.lower, 3) == round(plan.upper, 3) == value
    default = mk.solve(mdp, 5)
    added = default.lower - golden.WINDY_CLIFF[0]  # by the tries after the first
    assert default.gap <= 1e-3 * added == pytest.approx(default.stats["tol"], rel=1e-4)


@pytest.mark.parametrize("name", REPRESENTATIONS)
@settings(max_examples=10)
@given(spec=specs(), k=st.integers(1, 4))
def test_every_representation_has_the_same_plan(name, spec, k):
    a, b = (mk.solve(mdp, k) for mdp in (problem(spec), REPRESENTATIONS[name](spec)))
    assert (a.lower, a.upper, dict(a.stats, seconds=0)) == (b.lower, b.upper, dict(b.stats, seconds=0))


best_returns = st.sampled_from([-math.inf, -math.inf, 0, -1.5, 0.3, Fraction(1, 3), 2])


@pytest.mark.slow
@settings(max_examples=100)
@given(spec=specs(max_horizon=4), k=st.integers(1, 4), best=best_returns, tol=st.sampled_from([1e-8, 1e-2, 0.3, 2.0]))
def test_on_a_common_step(spec, k, best, tol):
    """The optimum lies inside, the width is met, and the policy earns what is promised: in fractions, no tolerance."""
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1), best_so_far=best)
    assert plan.stats["exact_lattice"]
    assert plan.lower <= exact_of(mdp, k, best) <= plan.upper
    assert plan.gap <= tol
    assert policy_value(mdp, plan.policy, k, best) >= Fraction(plan.lower)


@pytest.mark.slow
@settings(max_examples=100)
@given(mdp=real_problems(), k=st.integers(1, 4), best=best_returns, tol=st.sampled_from([0.02, 0.1, 0.5, 3.0]))
def test_on_real_rewards(mdp, k, best, tol):
    try:
        optimum = exact_of(mdp, k, best)
    except mk.TooLargeError:
        return
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1), best_so_far=best)
    assert plan.lower <= optimum <= plan.upper
    assert plan.gap <= tol
    assert policy_value(mdp, plan.policy, k, best) >= Fraction(plan.lower)


def off_the_lattice(mdp: mk.MDP) -> list[float]:
    """Best returns between the returns of a problem whose rewards are whole numbers, and beside them."""
    least, most = mdp.return_range
    third, half = (least + 2 * most) / 3, math.floor((least + most) / 2)
    return [third + 0.27, half + 0.5, half + 1e-9, half - 1e-9, most - 0.25, least + 0.125, least - 0.5]


def holds_off_the_lattice(mdp: mk.MDP, k: int, best: float, tol: float) -> None:
    optimum = exact_of(mdp, k, best)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1), best_so_far=best)
    assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)
    assert plan.gap <= tol
    assert policy_value(mdp, plan.policy, k, best) >= Fraction(plan.lower)


@pytest.mark.parametrize("seed", range(6))
def test_incumbents_off_the_lattice(seed):
    """Rewards are whole numbers, and the best return before the first rollout is not."""
    rewards = [range(4), range(11), [-5, 0, 1, 7]][seed % 3]
    mdp = mk.instances.random_sparse(3, 2, 3, successors=2, rewards=rewards, rng=seed)
    for best in off_the_lattice(mdp)[seed % 2 :: 2]:
        for tol in (1e-9, 0.02, 0.3):
            holds_off_the_lattice(mdp, 2 + seed % 3, best, tol)


@pytest.mark.parametrize("seed", range(20))
def test_incumbents_where_policies_cross_between_returns(seed):
    """Two arms that are equally good for a best return between two lattice points: there the curve has its kink, and a
    line that holds at lattice points alone would promise too much."""
    random = np.random.default_rng(seed)
    often, seldom = Fraction(int(random.integers(30, 60)), 100), Fraction(int(random.integers(15, 30)), 100)
    table = {0: {a: [(p, 0, 1 + a, True), (1 - p, 0, 0, True)] for a, p in enumerate((often, seldom))}}
    mdp = mk.MDP.from_table(table, horizon=1)
    # often + (1 - often) m = 2 seldom + (1 - seldom) m
    crossing = float((often - 2 * seldom) / (often - seldom))
    for k in (2, 3):
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-9, threads=1))
        for best in (crossing, crossing + 0.05, crossing - 0.05):
            holds_off_the_lattice(mdp, k, best, 1e-9)
            lower, upper = plan.curve(0, best)
            assert Fraction(lower) <= exact_of(mdp, k, best) <= Fraction(upper)
            assert upper - lower <= 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_curves_and_actions_off_the_lattice(seed):
    """Bounds at best returns that no rollout comes to; the policy is worth what they say from there on."""
    mdp = mk.instances.random_sparse(3, 2, 2, successors=2, rewards=[0, 1, 3], rng=100 + seed)
    k, tol = 3, [1e-6, 0.1][seed % 2]
    plan, exact = (mk.solve(mdp, k, solver=solver) for solver in (mk.Certified(tol=tol, threads=1), mk.Exact()))
    for m in off_the_lattice(mdp):
        for i in range(k):
            lower, upper = plan.curve(i, m)
            assert Fraction(lower) <= exact.table.curve(i, Fraction(m)) <= Fraction(upper)
            if i == 0:
                assert upper - lower <= tol + 1e-12
            else:
                promised = Fraction(float(evidence_of(plan).curves[i].lower(m))) - Fraction(evidence_of(plan).rounding)
                assert policy_value(mdp, plan.policy, k, m, first=i) >= promised


def test_a_line_of_the_last_curve_is_kept_where_rows_are_equally_good():
    """Off a whole lattice one sweep serves all best returns of the last rollout, and a slice of its own may break ties
    otherwise: here taking the sure million is as good as stopping at the very threshold, and far better below it."""
    sure, coin = (1, 1, 10**6, False), [(Fraction(1, 2), 1, 1, True), (Fraction(1, 2), 1, 0, False)]
    table = {0: {0: coin, 1: [sure]}, 1: {0: [sure], 1: [(1, 1, 1, True)]}}
    cost = {0: {0: 1e-16, 1: 1.0}, 1: {0: 0.0, 1: 0.1}}
    mdp = mk.MDP.from_table(table, horizon=3, action_cost=cost)
    with tuned(most_nodes=0):
        plan = mk.solve(mdp, 2, solver=mk.Certified(tol=3.0), best_so_far=0.3, cost=1e-16)
    assert plan.stop_at == plan.stats["lattice_step"] * 128  # the coincidence that it takes
    assert mk.evaluate(mdp, plan.policy).exact >= Fraction(plan.lower)


@settings(max_examples=100)
@given(mdp=real_problems(max_horizon=3), k=st.integers(1, 3), points=st.sampled_from([3, 5, 9]), knots=st.booleans())
def test_coarse_lattices_and_few_knots_keep_their_promise(mdp, k, points, knots):
    """One pass on a lattice far too coarse, with hardly a knot: bounds are wide, but true, and so is the policy."""
    try:
        optimum = exact_of(mdp, k)
    except mk.TooLargeError:
        return
    with tuned(coarse_points=points):
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=20.0 if knots else 6.0, threads=1))
    assert plan.lower <= optimum <= plan.upper
    assert policy_value(mdp, plan.policy, k) >= Fraction(plan.lower)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    S=st.integers(2, 4),
    H=st.integers(3, 6),
    points=st.sampled_from([3, 5, 9, 17]),
    share=st.floats(0.3, 0.9),
)
def test_what_the_policy_promises_never_falls(seed, S, H, points, share):
    """Along all true paths of a rollout: the best plane is at most the mean of the best planes that follow it."""
    random = np.random.default_rng(seed)
    mdp = mk.instances.random_sparse(S, 2, H, successors=2, rng=seed)
    mdp = mdp.with_rewards(random.normal(size=len(mdp.reward)))
    least, most = mdp.return_range
    M = least + share * (most - least)
    with tuned(coarse_points=points):
        plan = mk.solve(mdp, 1, solver=mk.Certified(tol=(most - M) * 0.2, threads=1), best_so_far=M)
    assume(not evidence_of(plan).repeats_mean)
    policy = plan.policy

    def check(h: int, s: int, G: float) -> float:
        planes = policy._slices[Slice(evidence_of(plan).curves.place(1), evidence_of(plan).start)].planes
        promised = float(planes(h, *(np.array([x]) for x in (s, M, G)))[0][0])
        action = policy.action(rollout=0, step=h, state=s, best=M, so_far=G)
        follows = 0.0
        for p, t, r in mdp.outcomes(h, s, action):
            over = t is None or h + 1 == mdp.horizon
            follows += p * (max(M, G + r) if over else check(h + 1, t, G + r))
        assert promised <= follows + 1e-9
        return promised

    check(0, int(mdp.start_state[0]), 0.0)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    spec=specs(),
    k=st.integers(1, 3),
    tol=st.sampled_from([1e-6, 0.5, 2.0]),
    real=st.booleans(),
    off=st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3)]),
)
def test_curves_bound_the_truth_and_have_its_shape(spec, k, tol, real, off):
    """On the lattice and off it."""
    mdp = problem(spec)
    if real:
        mdp = mdp.with_rewards(mdp.reward + np.random.default_rng(0).normal(0, 0.5, len(mdp.reward)))
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol))
    oracle = mk.solve(mdp, k, solver=mk.Exact())
    grid = [Fraction(j, 2) + off for j in range(-8, 9)]
    slack = 2 * plan.stats["rounding"] + 1e-12
    for i in range(k + 1):
        bounds = [plan.curve(i, m) for m in grid]
        for (lower, upper), m in zip(bounds, grid, strict=True):
            assert lower <= oracle.table.curve(i, m) <= upper
        for side in zip(*bounds, strict=True) if 0 < i < k else ():  # the stored curves; i = 0 is solved point by point
            slopes = [2 * (b - a) for a, b in itertools.pairwise(side)]
            assert all(-slack <= s <= 1 + slack for s in slopes)
            assert all(b >= a - 4 * slack for a, b in itertools.pairwise(slopes))


# Special cases that must come out exactly.


@given(p=st.floats(0.01, 0.99), q=st.floats(0.01, 0.99), k=st.integers(1, 50))
def test_a_binary_reward_needs_no_adaptivity(p, q, k):
    table = {0: {a: [(x, 0, 1, True), (1 - x, 0, 0, True)] for a, x in enumerate((p, q))}}
    plan = mk.solve(mk.MDP.from_table(table, horizon=1), k, solver=mk.Certified(tol=1e-10))
    best = max(Fraction(x) / (Fraction(x) + Fraction(1 - x)) for x in (p, q))
    assert plan.lower <= 1 - (1 - best) ** k <= plan.upper
    assert plan.gap <= 1e-10


@pytest.mark.slow
@given(spec=specs(max_actions=1), k=st.sampled_from([1, 2, 5, 30]))
def test_one_action_is_the_best_of_independent_returns(spec, k):
    mdp = problem(dataclasses.replace(spec, A=1))
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-9))
    assert plan.lower <= best_of_independent_returns(mdp, k) <= plan.upper
    assert plan.gap <= 1e-9


@given(spec=specs(), k=st.integers(1, 4))
def test_a_deterministic_problem_is_worth_its_best_return(spec, k):
    P = (spec.P.cumsum(axis=-1) > 0.5).cumsum(axis=-1) == 1
    start = [1.0] + [0.0] * (spec.S - 1)
    mdp = problem(dataclasses.replace(spec, P=P.astype(float), start=start))
    plan = mk.solve(mdp, k)
    assert plan.lower <= mdp.return_range[1] <= plan.upper
    assert plan.gap <= 1e-9


def test_many_rollouts_reach_the_best_return():
    mdp = mk.instances.proposition3()
    values = [mk.solve(mdp, k) for k in (1, 10, 100, 1000)]
    assert all(a.lower <= b.upper for a, b in itertools.pairwise(values))
    assert values[-1].upper <= 2 + 1e-9
    assert values[-1].lower >= 2 - 1e-3


# Invariants of intervals.


@settings(max_examples=60)
@given(spec=specs(), k=st.integers(1, 4))
def test_intervals_are_consistent(spec, k):
    mdp = problem(spec)
    one, more = mk.solve(mdp, k), mk.solve(mdp, k + 1)
    assert one.lower <= more.upper
    better = mk.solve(problem(dataclasses.replace(spec, R=spec.R + (spec.R < 1))), k)
    assert one.lower <= better.upper
    in_hand = mk.solve(mdp, k, best_so_far=0.5)
    assert max(one.lower, 0.5 - 1e-9) <= in_hand.upper
    most = mdp.return_range[1]
    assert mk.solve(mdp, k, best_so_far=most + 1).upper == pytest.approx(most + 1)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    spec=specs(),
    k=st.integers(1, 4),
    shift=st.sampled_from([2.0**30, -(2.0**30), 1e6, 0.1]),
    scale=st.sampled_from([1, 0.1, 7]),
)
def test_shift_and_scale(spec, k, shift, scale):
    full = dataclasses.replace(spec, terminal=[])
    moved = dataclasses.replace(full, R=full.R * scale + shift)
    tol = 1e-3
    plan, other = (mk.solve(problem(x), k, solver=mk.Certified(tol=tol)) for x in (full, moved))
    assert other.lower <= exact_of(problem(moved), k) <= other.upper
    rounding = 2.0**-40 * (abs(shift) + 1) * spec.H
    assert plan.lower * scale + shift * spec.H <= other.upper + rounding
    assert other.lower <= plan.upper * scale + shift * spec.H + rounding
    assert other.gap <= tol or other.status == "rounding"


def test_multiples_of_a_tenth_have_a_common_step():
    table = {0: {a: [(0.5, 0, 0.1 * (a + 1), False), (0.5, 0, 0.3 + 0.1 * a, False)] for a in range(3)}}
    plan = mk.solve(mk.MDP.from_table(table, horizon=4), 3)
    assert plan.stats["lattice_step"] == pytest.approx(0.1)
    assert plan.stats["exact_lattice"]
    assert plan.lower <= exact_of(plan.mdp, 3) <= plan.upper


# Threads, time, memory, interruption.


def test_threads_do_not_change_results():
    for mdp in (mk.instances.windy_cliff(), mk.instances.random_sparse(10, 2, 5, rng=1)):
        one, two, five = (mk.solve(mdp, 3, solver=mk.Certified(threads=n)) for n in (1, 2, 5))
        for other in (two, five):
            assert (one.lower, one.upper) == (other.lower, other.upper)
            assert dict(one.stats, seconds=0) == dict(other.stats, seconds=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "status"),
    [({"time_limit": 0.0}, "time limit"), ({"max_memory": 1000.0}, "memory limit")],
)
@pytest.mark.parametrize("make", [mk.instances.windy_cliff, lambda: mk.instances.random_sparse(5, 2, 4, rng=1)])
def test_limits_leave_a_true_interval_and_its_policy(make, limits, status):
    mdp = make()
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-6, **limits))
    whole = mk.solve(mdp, 3)
    assert plan.status == status
    assert plan.gap > 1e-6
    assert plan.lower <= whole.upper
    assert whole.lower <= plan.upper
    assert plan.policy.action(rollout=0, step=0, state=int(mdp.start_state[0]), best=-math.inf, so_far=0) in range(4)


def test_the_policy_of_a_stopped_search_keeps_its_promise():
    mdp = mk.instances.random_sparse(3, 2, 2, rng=2)
    for stop_after in range(6):
        calls = itertools.count()

        def report(_, calls=calls, stop_after=stop_after):
            if next(calls) == stop_after:
                raise KeyboardInterrupt

        plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.01), progress=report)
        assert plan.lower <= exact_of(mdp, 3) <= plan.upper
        assert policy_value(mdp, plan.policy, 3) >= Fraction(plan.lower)
        assert plan.status in ("interrupted", "within tol")


def test_progress_is_reported():
    seen = []
    plan = mk.solve(mk.instances.windy_cliff(), 4, progress=seen.append)
    assert [p.rollout for p in seen] == [4, 3, 2, 1, 0]
    assert seen[-1].slices == plan.stats["slices"]
    assert all(a.lower <= b.lower + 1e-9 for a, b in itertools.pairwise(seen))
    mk.solve(mk.instances.figure1(), 2, progress=True)  # a line on a terminal, nothing elsewhere


# Hard numbers.


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_tiny_and_huge_rewards(size):
    table = {0: {a: [(0.5, 0, size * (a + 1), True), (0.5, 0, size * (1 - a), True)] for a in range(2)}}
    mdp = mk.MDP.from_table(table, horizon=1)
    plan = mk.solve(mdp, 3)
    assert plan.lower <= exact_of(mdp, 3) <= plan.upper
    assert plan.gap <= 1e-2 * size


def test_tiny_probabilities():
    table = {0: {0: [(1e-300, 0, 1000, True), (1.0, 0, 0, True)], 1: [(0.5, 0, 1, True), (0.5, 0, 0, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1)
    plan = mk.solve(mdp, 2, solver=mk.Certified(tol=1e-9))
    assert plan.lower <= exact_of(mdp, 2) <= plan.upper


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1}, "tol must not be negative, but is -1"),
        ({"tol": math.nan}, "tol must be finite, not nan"),
        ({"time_limit": -1}, "time_limit must not be negative, but is -1"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"max_memory": "4G"}, "max_memory must be a real number, not '4G'"),
    ],
)
def test_bad_configuration(arguments, message):
    with pytest.raises(mk.InputError) as error:
        mk.Certified(**arguments)
    assert str(error.value) == message


def test_the_policy_answers_anywhere():
    """States and returns that no rollout meets, and a best return off the lattice."""
    for mdp in (mk.instances.windy_cliff(horizon=6), mk.instances.random_sparse(4, 2, 3, rng=0)):
        policy = mk.solve(mdp, 2).policy
        for h, s, best, so_far in itertools.product(range(3), range(4), (-math.inf, 0.123, -5), (0, -3.7, 1e3)):
            assert policy.action(rollout=1, step=h, state=s, best=best, so_far=so_far) in mdp.actions(h, s)


# Files.


@pytest.mark.slow
@pytest.mark.parametrize("make", [mk.instances.windy_cliff, lambda: mk.instances.random_sparse(5, 2, 4, rng=1)])
def test_plans_survive(make, tmp_path):
    mdp = make()
    plan = mk.solve(mdp, 3, best_so_far=-100)
    plan.save(tmp_path / "x.plan")
    loaded = mk.load_plan(tmp_path / "x.plan", make())
    assert (loaded.lower, loaded.upper, loaded.status, loaded.stats) == (
        plan.lower,
        plan.upper,
        plan.status,
        plan.stats,
    )
    for i, m in itertools.product(range(4), (-math.inf, -15.5, 0.5)):
        assert loaded.curve(i, m) == plan.curve(i, m)
    for h, s in itertools.product(range(3), range(mdp.n_states)):
        at = {"rollout": 1, "step": h, "state": s, "best": -17.0, "so_far": -float(h)}
        assert loaded.policy.action(**at) == plan.policy.action(**at)
    assert (tmp_path / "x.plan").stat().st_size < 3 * 16_000


def test_a_plan_is_refused_for_another_problem(tmp_path):
    mk.solve(mk.instances.windy_cliff(), 2).save(tmp_path / "x.plan")
    with pytest.raises(mk.InputError, match=": it was made for another problem"):
        mk.load_plan(tmp_path / "x.plan", mk.instances.windy_cliff(slip=0.3))
    with pytest.raises(mk.InputError, match="not a readable maxatk problem: its header is not that of"):
        mk.load_mdp(tmp_path / "x.plan")


def test_truncated_plans_are_refused(tmp_path):
    mk.solve(mk.instances.figure1(), 2).save(tmp_path / "x.plan")
    data = (tmp_path / "x.plan").read_bytes()
    for length in range(0, len(data), 199):
        (tmp_path / "y.plan").write_bytes(data[:length])
        with pytest.raises(mk.InputError):
            mk.load_plan(tmp_path / "y.plan", mk.instances.figure1())


# Found by a stranger.


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_tiny_rewards(seed, k):
    """Rewards of about 1e-8: bounds round by the size of returns, not by that of 1."""
    random = np.random.default_rng(seed)
    mdp = mk.instances.random_sparse(3, 2, 2, successors=2, rng=seed)
    mdp = mdp.with_rewards(1e-8 * random.normal(size=len(mdp.reward)))
    for incumbent in (-math.inf, 0.0, 3e-9):
        plan = mk.solve(mdp, k, best_so_far=incumbent)
        truth = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=incumbent).exact
        assert Fraction(plan.lower) <= truth <= Fraction(plan.upper)


@pytest.mark.parametrize(
    "table",
    [
        {0: {0: [(1, 0, 0.7, False)], 1: [(1, 0, 0.1, False)]}},
        {0: {a: [(1, 0, Fraction(r, 11), False)] for a, r in enumerate((5, 3, 0))}},
        {0: {0: [(1.0, 0, 1e8 / 3, True)]}, 1: {0: [(0.5, 0, 0.1, True), (0.5, 0, 0.2, True)]}},
        {0: {0: [(1.0, 1, 2.0**30 + 0.1, False)]}, 1: {0: [(1.0, 0, 2.0**30 + 1e-6, False)]}},
    ],
)
def test_nothing_to_plan(table):
    """The best return is certain: the planner ends at once, and its policy acts."""
    mdp = mk.MDP.from_table(table, horizon=3)
    plan = mk.solve(mdp, 3, solver=mk.Certified(time_limit=20))
    truth = mk.solve(mdp, 3, solver=mk.Exact()).exact
    assert plan.status != mk.Status.TIME_LIMIT
    assert Fraction(plan.lower) <= truth <= Fraction(plan.upper)
    assert policy_value(mdp, plan.policy, 3) >= Fraction(plan.lower)


def test_a_largest_return_that_is_certain():
    """No return at all is worth the largest one then, however many rollouts are left."""
    sure = mk.MDP.from_table([[[(1, 0, 2, False)], [(0.5, 0, 1, False), (0.5, 0, 2, False)]]], horizon=3)
    plan = mk.solve(sure, 3)
    for i in range(3):
        lower, upper = plan.curve(i, -math.inf)
        assert lower == pytest.approx(6, abs=1e-9)
        assert upper == pytest.approx(6, abs=1e-9)
    assert plan.curve(2, 7.0) == (7, 7)
    assert plan.policy.action(rollout=2, step=0, state=0, best=-math.inf, so_far=0) == 0


@pytest.mark.slow
@settings(max_examples=40)
@given(spec=specs(), k=st.integers(1, 3), tol=st.sampled_from([1e-6, 0.5, 2.0]))
def test_acting_on_knots(spec, k, tol):
    """Where slices are too large for one at every best return: the knots' slices still earn what is promised."""
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1))
    with tuned(small_slice=-1):
        earned = policy_value(mdp, plan.policy, k)
    assert earned >= Fraction(plan.lower)


def test_values_by_tries_of_any_list():
    plan = mk.solve(mk.instances.figure1(gamma=0.25), 4)
    every = plan.values_by_tries()
    assert len(every) == 4
    assert plan.values_by_tries(np.array([1, 3])) == plan.values_by_tries([1, 3]) == [every[0], every[2]]
    assert plan.values_by_tries([]) == plan.values_by_tries(np.zeros(0, int)) == []
    for numbers in ((3, 1), (2, 2)):
        with pytest.raises(mk.InputError, match=f"numbers must rise, but {numbers[1]} comes after {numbers[0]}"):
            plan.values_by_tries(numbers)
    for wrong in ([0], [5], [1.5]):
        with pytest.raises(mk.InputError):
            plan.values_by_tries(wrong)


def test_threads_that_share_a_table_lose_no_lower_best_return(monkeypatch):
    """One thread asks about a lower best return while another is about to say which is the lowest."""
    table = mk.solve(mk.instances.windy_cliff(), 2).policy._tables._table(1)
    assert type(table).__name__ == "DifferenceTable"
    served, threads = {}, []

    def ask(best):
        served[best] = table.serve(np.array([best])).knot[0]

    def slow(*numbers):
        if not threads:
            threads.append(threading.Thread(target=ask, args=(-30.0,)))
            threads[0].start()
            threads[0].join(0.2)  # it is over by then, or it has to wait
        return min(*numbers)

    monkeypatch.setattr(slice_tables, "min", slow, raising=False)
    ask(-20.0)
    threads[0].join()
    assert served[-20.0] <= -20.0
    assert served[-30.0] == -30.0
    assert table.serve(np.array([-18.0])).knot[0] == -30.0  # what was asked about before is still served
