"""What rows and tries cost: as problems hold it, and as the exact solver plans it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from cost_oracles import earned, net_optimum
from problems import REPRESENTATIONS, costs_of, problem, specs, table_of

F = Fraction
COIN = {0: {0: [(0.5, 0, 0, True), (0.5, 0, 1, True)], 1: [(1, 0, 0.25, True)]}}


# In problems.


@pytest.mark.slow
@given(spec=specs(costs=True))
def test_one_problem_however_its_costs_are_written(spec):
    found = {name: make(spec) for name, make in REPRESENTATIONS.items()}
    assert len({mdp.fingerprint for mdp in found.values()}) == 1
    for h in range(spec.H):
        for s in range(spec.S):
            for a in np.flatnonzero(spec.available[s]).tolist():
                meant = 0 if spec.cost is None else F(spec.cost[h if len(spec.cost) > 1 else 0, s, a])
                assert {mdp.exact_action_cost_of(h, s, a) for mdp in found.values()} == {meant}


def test_costs_of_zero_are_no_costs():
    free = mk.MDP.from_table(COIN, horizon=2)
    for cost in (0, 0.0, F(0), {}, {0: {}}, {0: {1: 0}}, [[0, 0]], np.zeros((2, 1, 2))):
        mdp = mk.MDP.from_table(COIN, horizon=2, action_cost=cost)
        assert mdp == free
        assert mdp.fingerprint == free.fingerprint
        assert not mdp.has_costs
    assert free.action_cost.tolist() == [0, 0]


def test_a_cost_makes_another_problem():
    free = mk.MDP.from_table(COIN, horizon=2)
    one, other = (mk.MDP.from_table(COIN, horizon=2, action_cost={0: {0: c}}) for c in (0.5, 0.25))
    assert len({free, one, other}) == 3
    assert repr(one) == "MDP(1 state, 2 actions, horizon 2, 3 outcomes, with costs)"
    assert one.action_cost.tolist() == [0.5, 0.0]
    assert free.with_action_costs([0.5, 0]) == one
    assert free.with_action_costs(0.25) == mk.MDP.from_table(COIN, horizon=2, action_cost=0.25)
    assert free.with_action_costs(F(1, 3)).exact_action_cost == (F(1, 3), F(1, 3))


def test_steps_that_cost_alike_share_a_layer():
    costs = [{0: {0: 1}}, {0: {0: 2}}, {0: {0: 1}}]
    mdp = mk.MDP.from_table(COIN, horizon=3, action_cost=costs)
    assert mdp.n_layers == 2
    assert mdp.step_layer.tolist() == [0, 1, 0]
    assert [mdp.exact_action_cost_of(h, 0, 0) for h in range(3)] == [1, 2, 1]
    assert mk.MDP.from_table(COIN, horizon=3, action_cost=[{0: {0: 1}}] * 3).homogeneous


def test_other_rewards_leave_costs_as_they_are():
    mdp = mk.MDP.from_table(COIN, horizon=2, action_cost={0: {1: F(1, 3)}})
    other = mdp.with_rewards(mdp.reward + 1)
    assert other.exact_action_cost == mdp.exact_action_cost
    assert (other.reward == mdp.reward + 1).all()
    assert other.with_rewards(mdp.reward) == mdp


@given(spec=specs(costs=True), part=st.sampled_from([1, 3, 10**25 + 1]))
def test_files_keep_costs(spec, part, tmp_path_factory):
    costs = costs_of(spec, lambda x: F(x) / part)
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start, action_cost=costs)
    path = tmp_path_factory.mktemp("x") / "x.npz"
    mdp.save(path)
    again = mk.load_mdp(path)
    assert again == mdp
    assert again.exact_action_cost == mdp.exact_action_cost
    assert (again.action_cost == mdp.action_cost).all()


REFUSED = [
    ({"action_cost": -1}, "row (state 0, action 0, step 0): cost -1.0 is negative"),
    ({"action_cost": {0: {1: -F(1, 3)}}}, "row (state 0, action 1, step 0): cost -1/3 is negative"),
    ({"action_cost": math.nan}, "row (state 0, action 0, step 0): cost is nan"),
    ({"action_cost": {0: {0: math.inf}}}, "row (state 0, action 0, step 0): cost is inf"),
    ({"action_cost": {0: {0: "dear"}}}, "row (state 0, action 0, step 0): cost is 'dear', not a real number"),
    (
        {"action_cost": {0: {0: 1e308}}},
        "row (state 0, action 0, step 0): cost 1e+308 over 2 steps is too large for floats",
    ),
    ({"action_cost": {0: {0: 1e-308}}}, "row (state 0, action 0, step 0): the cost is above 0, but below 1e-300"),
    ({"action_cost": {0: {7: 1}}}, "action_cost[0][7]: there is no such row"),
    ({"action_cost": {3: {0: 1}}}, "action_cost[3][0]: there is no such row"),
    ({"action_cost": {"x": {0: 1}}}, "action_cost: key must be an integer, not 'x'"),
    ({"action_cost": {0: 1}}, "action_cost[0] must be a dict or a list, not 1"),
    ({"action_cost": [{0: {0: 1}}] * 3}, "action_cost lists 3 steps, but the horizon is 2"),
    (
        {"action_cost": np.zeros((3, 1, 2))},
        "action_cost has shape (3, 1, 2): expected a number, (1, 2), or that for each of the 2 steps",
    ),
    ({"action_cost": "1"}, "action_cost must be a number or an array of numbers, not '1'"),
]


@pytest.mark.parametrize(("arguments", "line"), REFUSED)
def test_what_is_no_cost_is_named(arguments, line):
    with pytest.raises(mk.InputError) as caught:
        mk.MDP.from_table(COIN, horizon=2, **arguments)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"cost": -0.5}, "cost must not be negative, but is -0.5"),
        ({"cost": math.inf}, "cost must be finite, not inf"),
        ({"cost": "1"}, "cost must be a real number, not '1'"),
        ({"cost": 1e-308}, "cost must be 0 or at least 1e-300, not 1e-308"),
        ({"cost": 1e308}, "costs of up to 1e+308 in each of 2 rollouts are too large for floats"),
        ({"abandon": 1}, "abandon must be true or false, not 1"),
    ],
)
def test_what_is_no_cost_of_a_try_is_named(arguments, line):
    with pytest.raises(mk.InputError) as caught:
        mk.solve(mk.MDP.from_table(COIN, horizon=2), k=2, **arguments)
    assert str(caught.value) == line


def test_pairs_that_are_no_pairs_are_named_as_ever():
    with pytest.raises(mk.InputError, match="state 9 is out of range"):
        mk.MDP.from_pairs([1.0, 1.0], [[1.0], [1.0]], [0, 9], [0, 0], horizon=1, action_cost=[1, 1])


# Exactly.

prices = st.sampled_from([F(0), F(1, 3), F(1), F(5, 2)])
hands = st.sampled_from([-math.inf, F(-3), F(-1, 2), F(0), F(3, 4), F(2)])


@settings(max_examples=80)
@given(
    spec=specs(max_states=2, max_horizon=2, costs=True),
    k=st.integers(1, 2),
    cost=prices,
    abandon=st.booleans(),
    m=hands,
)
def test_the_optimum_is_that_of_all_histories(spec, k, cost, abandon, m):
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, abandon=abandon, best_so_far=m)
    assert plan.exact == net_optimum(mdp, k, cost=cost, abandon=abandon, in_hand=m)
    assert earned(mdp, plan.policy, k, cost=cost, in_hand=m).net == plan.exact
    assert plan.lower <= plan.exact <= plan.upper


@settings(max_examples=40)
@given(spec=specs(max_horizon=2, costs=True), k=st.integers(1, 3), cost=prices, abandon=st.booleans())
def test_one_threshold_for_all_tries(spec, k, cost, abandon):
    """Theorem 2 of docs/theory/costs.md, and that it does not depend on K."""
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, abandon=abandon)
    z = plan.stop_at
    if not cost and not mdp.has_costs:
        assert z == math.inf
        return
    assert z == mk.solve(mdp, 1, solver=mk.Exact(), cost=cost, abandon=abandon).stop_at
    least, most = (F(x) for x in mdp.return_range)
    for m in (z, z - F(1, 10**9), z + 1, least - 1, (least + most) / 2, most):
        assert all(plan.policy.stops(rollout=i, best=m) == (m >= z) for i in range(k))
    assert not plan.policy.stops(rollout=0, best=-math.inf)
    for i in range(k):
        for m in (least, (least + z) / 2, z, z + 1):
            lower, _ = plan.curve(i, m)
            assert m - 1e-12 <= lower <= max(m, z)


@settings(max_examples=30)
@given(spec=specs(max_horizon=2), k=st.integers(1, 3), abandon=st.booleans(), m=hands)
def test_without_costs_nothing_changes(spec, k, abandon, m):
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=m)
    same = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=m, cost=0, abandon=abandon)
    assert plan.exact == same.exact
    assert plan.stop_at == same.stop_at == math.inf
    assert list(plan.decisions()) == list(same.decisions())


@settings(max_examples=40)
@given(spec=specs(max_actions=1, costs=True), k=st.sampled_from([1, 2, 5, 9]), cost=prices, m=hands)
def test_one_action_is_capped_draws(spec, k, cost, m):
    """``U_0(m) = E max(m, min(R_1, z), ..., min(R_K, z))``: Kleinberg, Waggoner and Weyl's amortisation."""
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Exact(), cost=cost, best_so_far=m)
    if plan.stop_at == math.inf:
        return
    law: dict[F, F] = {}
    one = mk.HistoryPolicy(lambda seen: mdp.actions(seen.step, seen.state)[0], k=1, horizon=mdp.horizon)
    for value, p in mk.evaluate(mdp, one).exact_law.items():
        capped = min(F(value), plan.stop_at)
        law[capped] = law.get(capped, F(0)) + p
    if m == -math.inf:  # the first draw must be made, and what it is worth to have made it is not capped
        return
    below = expected = F(0)
    for value in sorted({*law, m}):
        now = sum((p for v, p in law.items() if v <= value), F(0)) ** k if value >= m else F(0)
        expected, below = expected + value * (now - below), now
    assert plan.exact == expected


def pass_or_fail(p) -> mk.MDP:
    return mk.MDP.from_table({0: {0: [(p, 0, 1, True), (1 - p, 0, 0, True)]}}, horizon=1)


@pytest.mark.parametrize("p", [F(1, 2), F(1, 10), F(1)])
@pytest.mark.parametrize("share", [F(1, 9), F(1, 2), F(1)])
def test_pass_or_fail(p, share):
    plan = mk.solve(pass_or_fail(p), k=3, solver=mk.Exact(), cost=p * share, best_so_far=0)
    assert plan.stop_at == 1 - share
    assert plan.exact == (1 - share) * (1 - (1 - p) ** 3)


def test_the_cost_of_a_try_is_not_that_of_its_first_step_where_tries_are_given_up():
    """Repair R8: starts worth 10 or 0 evenly, 0 in hand, two tries."""
    table = {0: {0: [(1, 0, 10, True)]}, 1: {0: [(1, 1, 0, True)]}}
    by_try = mk.MDP.from_table(table, horizon=1, start=[F(1, 2), F(1, 2)])
    by_step = mk.MDP.from_table(table, horizon=1, start=[F(1, 2), F(1, 2)], action_cost=1)
    arguments = {"k": 2, "solver": mk.Exact(), "best_so_far": 0}
    assert mk.solve(by_try, cost=1, abandon=True, **arguments).exact == 6
    assert mk.solve(by_step, abandon=True, **arguments).exact == F(27, 4)
    assert mk.solve(by_try, cost=1, **arguments).exact == mk.solve(by_step, **arguments).exact == 6


def test_giving_up_can_pay_far_below_the_least_return():
    """Repair R9: a coin for 4 or 0, then a step of cost 1; two tries, -10 in hand."""
    table = {0: {0: [(F(1, 2), 1, 4, False), (F(1, 2), 1, 0, False)]}, 1: {0: [(1, 1, 0, True)]}}
    mdp = mk.MDP.from_table(table, horizon=2, action_cost={1: {0: 1}})
    arguments = {"k": 2, "solver": mk.Exact(), "best_so_far": -10}
    assert mk.solve(mdp, abandon=True, **arguments).exact == 2
    assert mk.solve(mdp, **arguments).exact == F(3, 2)


# Trials.


def test_a_trial_stops_and_then_refuses_to_act():
    plan = mk.solve(pass_or_fail(F(1, 2)), k=3, solver=mk.Exact(), cost=F(1, 10))
    trial = plan.policy.begin()
    assert not trial.finished
    trial.act(0)
    trial.observe(0, True)
    assert not trial.finished
    assert trial.rollout == 1
    trial.act(0)
    trial.observe(1, True)
    assert trial.finished
    assert trial.rollout == 2
    assert trial.best == 1
    with pytest.raises(mk.InputError, match=r"^act: the policy stops with 1 as the best so far$"):
        trial.act(0)


def test_a_trial_that_gives_a_try_up_keeps_what_is_in_hand():
    table = {0: {0: [(F(1, 2), 1, 4, False), (F(1, 2), 1, 0, False)]}, 1: {0: [(1, 1, 0, True)]}}
    mdp = mk.MDP.from_table(table, horizon=2, action_cost={1: {0: 1}})
    policy = mk.solve(mdp, k=2, solver=mk.Exact(), best_so_far=0, abandon=True).policy
    trial = policy.begin()
    assert trial.act(0) == 0
    trial.observe(0)
    assert trial.act(1) == mk.ABANDON
    trial.observe(99, done=True)  # whatever comes of it
    assert (trial.rollout, trial.step, trial.best, trial.so_far) == (1, 0, 0, 0)


@pytest.mark.parametrize("kind", ["adaptive", "history", "markov"])
def test_policies_of_ones_own_may_stop(kind):
    policy = {
        "adaptive": lambda: mk.AdaptivePolicy(lambda *seen: 0, k=3, horizon=1, stop_at=F(1, 3)),
        "history": lambda: mk.HistoryPolicy(lambda seen: 0, k=3, horizon=1, stop_at=F(1, 3)),
        "markov": lambda: mk.MarkovPolicy([[0]], k=3, stop_at=F(1, 3)),
    }[kind]()
    assert not policy.stops(rollout=0, best=-math.inf)
    assert [policy.stops(rollout=1, best=m) for m in (0, F(1, 3), 0.4)] == [False, True, True]
    trial = policy.begin()
    trial.act(0)
    trial.observe(F(1, 3), True)
    assert trial.finished


def test_histories_do_not_count_what_was_given_up():
    seen: list = []

    def choose(history):
        seen.append(history.best)
        return mk.ABANDON if history.rollout == 0 else 0

    trial = mk.HistoryPolicy(choose, k=2, horizon=1).begin()
    assert trial.act(0) == mk.ABANDON
    trial.observe(5)
    assert trial.best == -math.inf
    trial.act(0)
    assert seen == [-math.inf, -math.inf]
