"""The certified planner, evaluation, simulation and comparison where rollouts cost something, held to brute force."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from cost_oracles import Follow, earned
from maxatk.base.tuning import tuned
from maxatk.planning.certified.plan import evidence_of
from maxatk.report.words.verdict import stopping
from problems import problem, specs

F = Fraction
prices = st.sampled_from([F(0), F(1, 30), F(1, 3), F(1), F(5, 2)])
hands = st.sampled_from([-math.inf, -math.inf, F(-9), F(-1, 2), F(0), F(3, 4), F(2), F(30)])


def holds(mdp: mk.MDP, plan, known, cost) -> None:
    """The interval, the threshold and, from every try and many best returns on, the promise."""
    assert F(plan.lower) <= known.exact <= F(plan.upper)
    follow = Follow(mdp, plan.policy, plan.k, F(cost))
    assert follow.before(0, plan.best_so_far).net >= F(plan.lower)
    least, most = (F(x) for x in mdp.return_range)
    assert plan.stop_at <= most or plan.stop_at == math.inf
    some = [least - 3, least, (least + most) / 2, most, most + 1]
    some += [F(plan.stop_at), F(plan.stop_at) - F(1, 1000)] if plan.stop_at < math.inf else []
    for i in range(plan.k):
        for m in (-math.inf, *some):
            lower, upper = plan.curve(i, m)
            assert F(lower) <= known.table.curve(i, m) <= F(upper)
            assert plan.policy.stops(rollout=i, best=m) == (m >= plan.stop_at)
            if i > 0 and m > -math.inf:
                assert follow.before(i, m).net >= F(lower)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    spec=specs(max_horizon=2, costs=True),
    k=st.integers(1, 4),
    cost=prices,
    abandon=st.booleans(),
    m=hands,
    tol=st.sampled_from([None, 1e-8, 0.5]),
    small=st.booleans(),
)
def test_plans_on_a_lattice(spec, k, cost, abandon, m, tol, small):
    mdp = problem(spec)
    known = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    with tuned(small_slice=2**23 if small else -1):  # as where slices are large: act on those of knots
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol), cost=cost, abandon=abandon, best_so_far=m)
        holds(mdp, plan, known, cost)
    if plan.stop_at < math.inf and plan.stop_at != float(m):
        assert abs(plan.stop_at - float(known.stop_at)) <= 1e-9


@settings(max_examples=25)
@given(
    spec=specs(max_states=2, max_horizon=2, costs=True),
    k=st.integers(1, 3),
    cost=prices,
    abandon=st.booleans(),
    m=hands,
    tol=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 99),
)
def test_plans_off_lattices(spec, k, cost, abandon, m, tol, seed):
    mdp = problem(spec, real_seed=seed)
    known = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol), cost=cost, abandon=abandon, best_so_far=m)
    holds(mdp, plan, known, cost)
    assert plan.stop_at <= float(known.stop_at) + 1e-9  # lower bounds cross m sooner


def test_a_threshold_is_known_but_for_rounding():
    """The optimum is the float 0.5 and a little more, since 3 * 0.1 and 7 * 0.1 are no tenths."""
    table = {
        0: {0: [(1, 1, 3 * 0.1, False)], 1: [(1, 0, -0.4, False)]},
        1: {0: [(1, 1, 7 * 0.1, False)], 1: [(1, 0, -0.5, False)]},
    }
    mdp = mk.MDP.from_table(table, horizon=2, action_cost={0: {0: F(1, 4), 1: F(1, 4)}})
    known, plan = (mk.solve(mdp, 3, cost=F(1, 4), abandon=True, solver=solver) for solver in (mk.Exact(), None))
    assert plan.lower <= F(1, 2) < known.exact
    holds(mdp, plan, known, F(1, 4))


@pytest.mark.slow
@pytest.mark.parametrize("reward", [2, 2.5418610070740226, -0.75])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("m", [-9, 0, F(-3, 4)])
def test_nothing_is_given_up_for_what_is_worth_nothing(reward, k, m):
    """Giving up and finishing are equally good at the floor of slices, and only there."""
    mdp = mk.MDP.from_table({0: {0: [(1, 0, reward, True)]}}, horizon=1, action_cost=0.010946715853047902)
    known = mk.solve(mdp, k, solver=mk.Exact(), abandon=True, best_so_far=m)
    holds(mdp, mk.solve(mdp, k, abandon=True, best_so_far=m), known, 0)


@settings(max_examples=25)
@given(spec=specs(), k=st.integers(1, 3), abandon=st.booleans(), m=hands)
def test_without_costs_nothing_changes(spec, k, abandon, m):
    mdp = problem(spec)
    plain, same = (mk.solve(mdp, k, best_so_far=m, abandon=a, cost=0) for a in (False, abandon))
    assert (plain.lower, plain.upper, plain.stop_at) == (same.lower, same.upper, math.inf)
    assert [plain.curve(i, 0.25) for i in range(k)] == [same.curve(i, 0.25) for i in range(k)]


@pytest.mark.slow
def test_saved_plans_stop_as_before(tmp_path):
    mdp = mk.instances.windy_cliff().with_action_costs(F(3, 10))
    plan = mk.solve(mdp, k=4, cost=F(1, 5), abandon=True)
    plan.save(tmp_path / "x.plan", with_problem=True)
    again = mk.load_plan(tmp_path / "x.plan")
    assert (again.lower, again.upper, again.stop_at, again.objective) == (
        plan.lower, plan.upper, plan.stop_at, plan.objective,
    )  # fmt: skip
    asked = {"rollout": 1, "step": 6, "state": 28, "best": -20, "so_far": -9}
    for other in (again, pickle.loads(pickle.dumps(plan))):
        assert other.policy.action(**asked) == plan.policy.action(**asked)
        assert [other.curve(i, -20) for i in (0, 2)] == [plan.curve(i, -20) for i in (0, 2)]
        assert mk.evaluate(mdp, other.policy).value == mk.evaluate(mdp, plan.policy).value


def test_plans_are_read_whose_first_knot_is_the_least_return(tmp_path):
    """But for rounding, which took it below."""
    table = {0: {0: [(1, 0, 2.7852049801957843, True)]}, 1: {0: [(1, 0, 0.8944240609833721, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1, start=[0.5426082492653725, 0.45739175073462734])
    plan = mk.solve(mdp, 2, cost=0.09761370083675298)
    plan.save(tmp_path / "x.plan")
    assert evidence_of(mk.load_plan(tmp_path / "x.plan", mdp)).start == evidence_of(plan).start == mdp.return_range[0]


# Closed forms.


def pass_or_fail(p) -> mk.MDP:
    return mk.MDP.from_table({0: {0: [(p, 0, 1, True), (1 - p, 0, 0, True)]}}, horizon=1)


@pytest.mark.parametrize(("p", "c"), [(0.5, 0.1), (0.1, 0.05), (1.0, 0.3), (0.3, 0.3)])
def test_pass_or_fail(p, c):
    plan = mk.solve(pass_or_fail(p), k=4, cost=c, best_so_far=0)
    assert plan.stop_at == pytest.approx(1 - c / p, abs=1e-12)
    assert plan.lower == pytest.approx((1 - c / p) * (1 - (1 - p) ** 4), abs=1e-9)


def arm(quantile, n: int, cost: float) -> list:
    """Outcomes of a return that has this quantile function, at the middle of ``n`` equal shares."""
    return [(1 / n, 0, quantile((j + 0.5) / n), True) for j in range(n)]


@pytest.mark.parametrize("c", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(
    ("quantile", "z", "slack"),
    [
        (lambda u: u, lambda c: 1 - math.sqrt(2 * c), 1e-3),
        (lambda u: -math.log(1 - u), lambda c: math.log(1 / c), 2e-2),
    ],
    ids=["uniform", "exponential"],
)
def test_laws_with_closed_forms(quantile, z, slack, c):
    n = 2000
    mdp = mk.MDP.from_table({0: {0: arm(quantile, n, c)}}, horizon=1)
    plan = mk.solve(mdp, k=2, cost=c)
    assert abs(plan.stop_at - z(c)) <= slack  # of the discretisation, which moves E (R - z)+ by 1/n at most


@pytest.mark.parametrize("seed", range(6))
def test_weitzmans_indices_with_unlimited_tries(seed):
    """The plan takes the arm of the greatest index until that is in hand: Theorem 3, with arms as actions."""
    random = np.random.default_rng(seed)
    arms = {a: [(F(1, 4), 0, int(random.integers(0, 12)), True) for _ in range(4)] for a in range(3)}
    costs = {a: F(int(random.integers(1, 8)), 4) for a in range(3)}
    index = {}
    for a, outcomes in arms.items():
        alone = mk.MDP.from_table({0: {0: outcomes}}, horizon=1, action_cost=costs[a])
        index[a] = mk.solve(alone, k=1, solver=mk.Exact(), best_so_far=-99).stop_at
    mdp = mk.MDP.from_table({0: arms}, horizon=1, action_cost={0: costs})
    plan = mk.solve(mdp, k=400, best_so_far=-99)
    best = max(index.values())
    assert plan.stop_at == pytest.approx(float(best), abs=1e-9)
    assert index[plan.policy.action(rollout=0, step=0, state=0, best=best - F(1, 100), so_far=0)] == best
    assert plan.lower - 1e-9 <= best <= plan.upper + 1e-9
    assert plan.gap <= evidence_of(plan).tol


@settings(max_examples=25)
@given(
    spec=specs(max_horizon=2, costs=True), cost=prices, abandon=st.booleans(), m=hands, tol=st.sampled_from([0.5, 0.05])
)
def test_more_tries_than_enough_are_worth_no_more(spec, cost, abandon, m, tol):
    mdp = problem(spec)
    plan = mk.solve(mdp, k=1, solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    n = plan.useful_tries(tol)
    if n is None or n > 6:
        return
    few = mk.solve(mdp, max(n, 1), solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    assert max(plan.stop_at, m) - few.exact <= F(tol) + F(1, 10**9)
    assert mk.solve(mdp, 1, cost=cost, abandon=abandon, best_so_far=m).useful_tries(tol) in (None, n, n + 1)


@pytest.mark.parametrize("cost", [1e-300, 0.5, 1e3, 1e100, 1e300])
@pytest.mark.parametrize("k", [1, 2, 1000])
def test_costs_of_any_size(cost, k):
    plan = mk.solve(pass_or_fail(0.5), k, cost=cost)
    assert plan.stop_at == (1.0 if cost < 1e-16 else 0.5 - cost)
    earned = mk.evaluate(plan.mdp, plan.policy)
    assert plan.lower <= earned.value <= plan.upper
    assert plan.useful_tries(2.0**-9) == (10 if cost < 1e-16 else 1)
    assert stopping(plan).startswith("Stop as soon" if cost < 1e-16 else "Stop after the first try, whatever")


@pytest.mark.parametrize("cost", [1e3, 1e12, 4e29, 1e299])
@pytest.mark.parametrize(("reward", "k"), [(4, 1), (4.329381600685357, 1), (4, 3)])
def test_what_is_too_dear_is_given_up(cost, reward, k):
    """Of two starts one cannot be paid for."""
    table = {0: {0: [(1, 0, reward, True)]}, 1: {0: [(1, 0, -0.25, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1, start=[0.75, 0.25], action_cost={0: {0: cost}})
    plan, known = (mk.solve(mdp, k, best_so_far=-3, abandon=True, solver=solver) for solver in (None, mk.Exact()))
    holds(mdp, plan, known, 0)


def test_no_number_of_tries_is_enough_where_rounding_hides_the_threshold():
    """One try in 10^15 passes, at a third of what that is worth: with unlimited tries there are 2/3 to be had."""
    p = F(1, 10**15)
    plan, known = (
        mk.solve(pass_or_fail(p), 5, cost=p / 3, best_so_far=0, solver=solver) for solver in (None, mk.Exact())
    )
    assert plan.useful_tries(0.01) is None
    assert known.stop_at == F(2, 3)
    assert known.useful_tries(0.01) == pytest.approx(1e15 * math.log(2 / 3 / 0.01))


# Evaluation, simulation, comparison.


@settings(max_examples=40)
@given(
    spec=specs(max_horizon=2, costs=True),
    k=st.integers(1, 3),
    cost=prices,
    m=st.sampled_from([-math.inf, F(0), F(3, 4), F(30)]),
    stop_at=st.sampled_from([math.inf, F(0), F(1, 2)]),
    gives_up=st.booleans(),
    salt=st.integers(0, 99),
    max_atoms=st.sampled_from([3, 100_000]),
)
def test_what_policies_pay(spec, k, cost, m, stop_at, gives_up, salt, max_atoms):
    mdp = problem(spec)

    def choose(rollout, step, state, best, so_far):
        drawn = np.random.default_rng(abs(hash((salt, rollout, step, state, best, so_far))))
        if gives_up and m > -math.inf and drawn.random() < 0.2:
            return mk.ABANDON
        return int(drawn.choice(mdp.actions(step, state)))

    policy = mk.AdaptivePolicy(choose, k, mdp.horizon, m, stop_at=stop_at)
    true = earned(mdp, policy, k, cost=cost, in_hand=m)
    said = mk.evaluate(mdp, policy, cost=cost)
    assert (said.exact, said.best.exact, said.cost.exact, said.tries.exact) == tuple(true)
    with tuned(most_outcomes=-1, few_outcomes=-1):
        try:
            said = mk.evaluate(mdp, policy, cost=cost, max_atoms=max_atoms)
        except mk.TooLargeError:
            return
    for part, amount in zip((said, said.best, said.cost, said.tries), true, strict=True):
        assert F(part.lower) <= amount <= F(part.upper)
        assert max_atoms == 3 or part.upper - part.lower < 1e-6


@pytest.mark.slow
def test_parts_of_what_only_a_certificate_bounds(tune):
    """Rewards with too many digits for 64 bits: what is paid is what the best return exceeds the certificate by."""
    table = {0: {0: [(0.75, 0, -0.011436388051677033, False), (0.25, 0, -4.032954685594672e-9, False)]}}
    mdp = mk.MDP.from_table(table, horizon=2, action_cost=0.5)
    plan = mk.solve(mdp, 1)
    tune(most_outcomes=-1, few_outcomes=-1)
    said = mk.evaluate(mdp, plan.policy)
    true = earned(mdp, plan.policy, 1)
    for part, amount in zip((said, said.best, said.cost, said.tries), true, strict=True):
        assert -math.inf < part.lower <= amount <= part.upper < math.inf
    assert said.cost.upper > said.cost.lower + 0.5  # it is not known better


@pytest.mark.slow
@pytest.mark.parametrize("abandon", [False, True])
def test_trials_agree_with_the_certificate(abandon):
    mdp = mk.instances.windy_cliff().with_action_costs(0.3)
    plan = mk.solve(mdp, k=5, cost=0.2, abandon=abandon)
    said = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= said.lower <= said.upper <= plan.upper
    runs = mk.simulate(mdp, plan.policy, trials=4000, rng=0)
    in_env = mk.simulate(mk.gym.TabularEnv(mdp), plan.policy, trials=100, rng=0)
    for found, n in ((runs, 4000), (in_env, 100)):
        for drawn, part in (
            (found.net, said),
            (found.best, said.best),
            (found.cost, said.cost),
            (found.tries, said.tries),
        ):
            assert abs(drawn.mean() - part.value) <= 5 * drawn.std() / math.sqrt(n)
    assert (runs.net == runs.best - runs.cost).all()
    assert (np.isfinite(runs.returns).sum(axis=1) <= runs.tries).all()
    again = mk.simulate(mdp, plan.policy, trials=4000, rng=0, threads=2)
    assert (again.net == runs.net).all()


@settings(max_examples=15)
@given(spec=specs(max_horizon=2, costs=True), k=st.integers(1, 3), cost=prices, abandon=st.booleans(), m=hands)
def test_rows_of_a_comparison_are_true(spec, k, cost, abandon, m):
    mdp = problem(spec)
    if not cost and not mdp.has_costs:
        return
    known = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    table = mk.compare(mdp, k, cost=cost, abandon=abandon, best_so_far=m)
    assert [row.name for row in table] == [
        "mean-optimal, fixed number", "one policy, fixed number", "one policy, until enough", "adaptive",
    ]  # fmt: skip
    lowers = [row.lower for row in table]
    assert lowers == sorted(lowers)
    for row in table:
        assert F(row.lower) <= earned(mdp, row.policy, row.policy.k, cost=cost, in_hand=m).net
        assert F(row.lower) <= known.exact <= F(row.upper)
    assert "tries" in str(table)


def test_a_threshold_must_be_one_number():
    for wrong in (math.nan, -math.inf, "1", np.array([1.0, 2.0])):
        with pytest.raises(mk.InputError, match="stop_at must be"):
            mk.MarkovPolicy([[0]], k=2, stop_at=wrong)


def test_what_is_refused():
    mdp = mk.instances.figure1()
    with pytest.raises(mk.InputError, match="Midpoint knows of no costs"):
        mk.solve(mdp, 2, solver=mk.Midpoint(kappa=1 / 10), cost=0.1)
    with pytest.raises(mk.InputError, match="learners know of no costs"):
        mk.TabularModel(mdp.with_action_costs(0.1))
    with pytest.raises(mk.InputError, match="tol must be above 0"):
        mk.solve(mdp, 2, cost=0.1).useful_tries(0)
    policy = mk.AdaptivePolicy(lambda *seen: mk.ABANDON, k=2, horizon=1)
    with pytest.raises(mk.InputError, match="may end without any return"):
        mk.evaluate(mdp, policy)


def test_an_interrupted_search_keeps_its_promise():
    mdp = mk.instances.random_sparse(n_states=12, horizon=6, rng=0)
    plan = mk.solve(mdp, k=4, cost=0.05, solver=mk.Certified(tol=0.0, time_limit=0.0))
    said = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= said.upper
    assert plan.stop_at < math.inf


def degenerate(cost: float, reward: float, rows: int, horizon: int) -> mk.MDP:
    """One return, whatever is done; rows cost something."""
    table = {0: {a: [(1, 0, reward, False)] for a in range(rows)}}
    return mk.MDP.from_table(table, horizon=horizon, action_cost={0: {a: cost * (1 + a) for a in range(rows)}})


@pytest.mark.slow
@pytest.mark.parametrize("reward", [0.0, 0.5])
@pytest.mark.parametrize("cost", [0.0, 1e-16, 0.25, 0.5, 3.0])
def test_degenerate_problems_are_tight(reward, cost):
    """All rewards alike, also all of them 0, and costs of any size: intervals are true, and no wider than rounding."""
    for row_cost, rows, horizon, k in itertools.product((0.0, 1e-16, 0.1), (2,), (1, 2), (1, 3)):
        mdp = degenerate(row_cost, reward, rows, horizon)
        for abandon, best in itertools.product((False, True), (-math.inf, -2.0, F(1, 3))):
            objective = {"cost": cost, "abandon": abandon, "best_so_far": best}
            plan = mk.solve(mdp, k, solver=mk.Certified(threads=1), **objective)
            exact = mk.solve(mdp, k, solver=mk.Exact(), **objective).exact
            assert F(plan.lower) <= exact <= F(plan.upper)
            assert plan.gap <= 1e-10 * max(reward * horizon, cost + horizon * row_cost, abs(best) if best > -9 else 0)


def test_a_threshold_at_the_least_return_is_tight():
    """A try earns the least return, less its costs: whatever is in hand, another is not worth making."""
    table = {0: {0: [(1, 0, 0.3, True)], 1: [(1, 0, 0.4, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1, action_cost={0: {0: 3.0, 1: 0.0}})
    plan = mk.solve(mdp, 2, cost=0.1)
    exact = mk.solve(mdp, 2, cost=0.1, solver=mk.Exact()).exact
    assert F(plan.lower) <= exact <= F(plan.upper)
    assert plan.gap <= 1e-12


@pytest.mark.parametrize("k", [1, 2, 4])
def test_returns_far_from_the_middle_of_all(k):
    """Rollouts that end early, a thousand million below the others: no sweep holds all best returns at once."""
    table = {0: {0: [(0.5, 1, 1e9, True), (0.5, 1, 1e9 + 1, True)]}, 1: {0: [(1, 1, 1e9, True)]}}
    mdp = mk.MDP.from_table(table, horizon=3)
    for cost, best in ((0.25, -math.inf), (0.25, 1e9 + 0.5), (0, 1e9 + 0.5)):
        plan = mk.solve(mdp, k, cost=cost, best_so_far=best, solver=mk.Certified(tol=0.01))
        exact = mk.solve(mdp, k, cost=cost, best_so_far=best, solver=mk.Exact()).exact
        assert F(plan.lower) <= exact <= F(plan.upper)
        assert plan.gap <= 0.01


def test_costs_make_fewer_slices():
    mdp = mk.instances.windy_cliff()
    slices = [mk.solve(mdp, k=5, cost=c, solver=mk.Certified(tol=1e-6)).stats["slices"] for c in (0, 0.5, 2, 8)]
    assert slices == sorted(slices, reverse=True)


@pytest.mark.slow
def test_words_and_numbers():
    plan = mk.solve(mk.instances.windy_cliff(), k=9, cost=0.5)
    assert stopping(plan) == "Stop as soon as your best is -17 or more; 3.5 tries on average."
    told = str(mk.contrast(plan))
    assert "Try 9 of 9, best so far -15: the policy stops before it." in told
    assert not plan.problem.changed(cost=F(0)).costly


def test_a_mean_that_rounds_above_every_return_is_no_threshold():
    """With the most there is in hand the policy stops, however little a try costs."""
    most = 7.549231898837366
    table = {s: {0: [(1.0, min(s, 1), most, False)]} for s in range(3)}
    start = [0.6483381907906139, 0.07576293454655143, 0.2758988746628347]
    mdp = mk.MDP.from_table(table, horizon=1, start=start)
    plan = mk.solve(mdp, 2, cost=5.86991190281244e-106)
    assert plan.stop_at <= most
    assert plan.curve(1, most) == (most, most)


@pytest.mark.slow
def test_nothing_is_said_of_tries_that_a_plan_does_not_have():
    """24 tries are useful on this cliff: a plan of 20 has none beyond them."""
    cliff = mk.instances.windy_cliff()
    for k, beyond in ((20, None), (24, 24), (30, 24)):
        plan = mk.solve(cliff, k, cost=0.5)
        assert plan.stop.useful_tries == beyond
        assert ("all tries beyond" in str(plan)) == (beyond is not None)
