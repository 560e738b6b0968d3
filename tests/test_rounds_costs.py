"""Rounds with costs: all rollouts of a round are paid, and the trial may stop between rounds. Held to enumeration."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.cli import main
from maxatk.report.words.plans import round_stops
from problems import one_line

NONE = -math.inf


def courses(mdp):
    """The law and the cost of every deterministic policy of (step, state, return so far), by listing them all."""

    @cache
    def ways(h, s, g):
        if h == mdp.horizon or s is None:
            return ((((g, Fraction(1)),), Fraction(0)),)
        found = []
        for a in mdp.actions(h, s):
            places = {}
            for p, t, r in mdp.exact_outcomes(h, s, a):
                places[t, g + r] = places.get((t, g + r), Fraction(0)) + p
            for some in itertools.product(*(ways(h + 1, t, x) for t, x in places)):
                law, cost = {}, mdp.exact_action_cost_of(h, s, a)
                for p, (ends, dear) in zip(places.values(), some, strict=True):
                    cost += p * dear
                    for x, q in ends:
                        law[x] = law.get(x, Fraction(0)) + p * q
                found.append((tuple(sorted(law.items())), cost))
        return tuple(set(found))

    ((_, start),) = mdp.exact_start()
    return ways(0, start, Fraction(0))


def optimum(mdp, rounds, price, m=NONE, *, must_go_on=False):
    """The value of a best return before rounds: stopping, or the best tuple of courses, over all their outcomes."""
    options = courses(mdp)

    @cache
    def value(b, m):
        ends = [] if m == NONE or (must_go_on and b == 0) else [m]
        if b == len(rounds):
            return m
        for chosen in itertools.combinations_with_replacement(options, rounds[b]):
            worth = -sum((cost for _, cost in chosen), rounds[b] * price)
            for outcome in itertools.product(*(law for law, _ in chosen)):
                worth += math.prod(q for _, q in outcome) * value(b + 1, max(m, *(x for x, _ in outcome)))
            ends.append(worth)
        return max(ends)

    return value(0, m)


def drawn(seed, steps):
    """A problem of two states and two actions, with costs of actions or without."""
    random = np.random.default_rng(seed)

    def half(most):
        return Fraction(int(random.integers(most)), 2)

    def outcomes():
        weights = (1, 3) if random.random() < 0.5 else (2, 2)
        return [(Fraction(w, 4), int(random.integers(2)), half(5), bool(random.random() < 0.3)) for w in weights]

    table = {s: {a: outcomes() for a in range(2)} for s in range(2 if steps > 1 else 1)}
    if steps == 1:
        table = {0: {a: [(p, 0, r, True) for p, _, r, _ in some] for a, some in table[0].items()}}
    costs = {s: {a: Fraction(int(random.integers(4)), 16) for a in range(2)} for s in table}
    return mk.MDP.from_table(table, horizon=steps, action_cost=costs if random.random() < 0.6 else None)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(1, 2),
    rounds=st.sampled_from([(2, 1), (1, 2), (2, 2), (3,), (1, 1, 2)]),
    price=st.sampled_from([0, 1, 3, 7]),
    held=st.sampled_from([NONE, Fraction(0), Fraction(1), Fraction(3, 2)]),
)
def test_exact_and_certified_against_enumeration(seed, steps, rounds, price, held):
    mdp, price = drawn(seed, steps), Fraction(price, 16)
    if not price and not mdp.has_costs:
        return
    if steps == 2 and len(courses(mdp)) > 12:
        return
    expected = optimum(mdp, rounds, price, held)
    asked = {"rounds": rounds, "cost": price, "best_so_far": held}
    exact = mk.solve(mdp, sum(rounds), solver=mk.Exact(), **asked)
    assert exact.exact == expected
    assert mk.evaluate(mdp, exact.policy).exact == expected
    plan = mk.solve(mdp, sum(rounds), **asked)
    assert plan.lower <= mk.evaluate(mdp, plan.policy).upper
    assert plan.lower <= float(expected) + 1e-12 <= plan.upper + 2e-12
    sequential = mk.solve(mdp, sum(rounds), solver=mk.Exact(), cost=price, best_so_far=held).exact
    assert expected <= sequential <= Fraction(plan.upper) + Fraction(1, 10**12)
    first = mk.solve(mdp, 1, solver=mk.Exact(), cost=price, best_so_far=held).exact
    if first < sequential:
        assert exact.kept.upper == pytest.approx(max(float((expected - first) / (sequential - first)), 0.0))
    else:
        assert exact.kept is None
    for i in range(sum(rounds) + 1):  # also in the midst of a round
        rest = [max(min(end - i, w), 0) for end, w in zip(itertools.accumulate(rounds), rounds, strict=True)]
        whole = i in itertools.accumulate(rounds, initial=0)
        value = optimum(mdp, tuple(w for w in rest if w), price, Fraction(1), must_go_on=not whole)
        assert exact.curve(i, Fraction(1)) == pytest.approx((float(value), float(value)))
    for i, m in itertools.product(range(sum(rounds)), (Fraction(0), Fraction(1))):
        if i in itertools.accumulate(rounds, initial=0):
            b = list(itertools.accumulate(rounds, initial=0)).index(i)
            lower, upper = plan.curve(i, m)
            assert lower <= float(optimum(mdp, rounds[b:], price, m)) + 1e-12 <= upper + 2e-12


CLIFF = mk.instances.windy_cliff(horizon=20)


def test_the_plan_stops_between_rounds_and_pays_whole_rounds():
    plan = mk.solve(CLIFF, 6, width=3, cost=0.5)
    assert plan.stops_at == plan.policy.stops_at
    assert plan.stops_at[0] == math.inf
    threshold = plan.stops_at[1]
    assert plan.stop_at == threshold
    assert plan.policy.stops(rollout=3, best=threshold)
    assert not plan.policy.stops(rollout=3, best=threshold - 1)
    assert not plan.policy.stops(rollout=4, best=threshold)  # in the midst of a round nothing stops
    earned = mk.evaluate(CLIFF, plan.policy)
    assert 3 < earned.tries.value < 6
    assert earned.cost.value == pytest.approx(earned.tries.value / 2)
    assert earned.lower <= plan.upper
    assert plan.lower <= earned.upper
    sampled = mk.simulate(CLIFF, plan.policy, trials=4000, rng=0)
    assert sampled.mean == pytest.approx(earned.lower, abs=5 * sampled.stderr)
    assert set(np.unique(sampled.tries)) == {3, 6}


@pytest.mark.parametrize("rounds", [(3,), (2, 1), (1, 2)])
@pytest.mark.parametrize("held", [NONE, 0, 2, 3])
@pytest.mark.parametrize("price", [Fraction(4, 9), 5])
def test_one_return_alone(rounds, held, price):
    """Where only one return is possible, the first try may be worth its cost, and no later one is."""
    mdp = mk.MDP.from_table({0: {0: [(1, 0, 2, False)]}}, horizon=1)
    asked = {"rounds": rounds, "cost": price, "best_so_far": held}
    plan, exact = mk.solve(mdp, 3, **asked), mk.solve(mdp, 3, solver=mk.Exact(), **asked).exact
    assert exact == optimum(mdp, rounds, Fraction(price), held)
    assert plan.lower <= exact <= plan.upper
    assert plan.lower == pytest.approx(float(exact))
    assert mk.evaluate(mdp, plan.policy).exact == exact


@pytest.mark.parametrize("seed", range(6))
def test_costs_of_actions_off_the_lattice(seed):
    """Rewards that no lattice holds, with costs of actions: the optimum is found, but for rounding rewards."""
    random = np.random.default_rng(seed)
    mdp = drawn(seed, 1 + seed % 2)
    mdp = mdp.with_rewards(mdp.reward + random.uniform(0, 0.4, len(mdp.reward)))
    mdp = mdp.with_action_costs(np.round(random.uniform(0, 0.1, len(mdp.action_cost)), 3))
    plan = mk.solve(mdp, 3, rounds=(2, 1), cost=0.02)
    exact = mk.solve(mdp, 3, rounds=(2, 1), cost=0.02, solver=mk.Exact()).exact
    assert plan.lower <= exact <= plan.upper
    assert plan.lower > exact - Fraction(1, 100)
    earned = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= earned.upper
    assert plan.upper == mk.solve(mdp, 3, cost=0.02).upper


def test_no_share_is_promised_with_costs():
    """A round of two cannot stop after a success: here it keeps nothing of what one at a time adds."""
    coin = mk.MDP.from_table({0: {0: [(Fraction(1, 2), 0, 1, True), (Fraction(1, 2), 0, 0, True)]}}, horizon=1)
    price = Fraction(2, 5)
    one = mk.solve(coin, 2, cost=price, solver=mk.Exact()).exact
    both = mk.solve(coin, 2, width=2, cost=price, solver=mk.Exact()).exact
    assert (one, both) == (Fraction(3, 20), Fraction(-1, 20))
    assert both < one * Fraction(3, 4)
    with pytest.raises(mk.InputError, match="with costs no share is always kept") as error:
        _ = mk.solve(coin, 2, width=2, cost=price).guarantee
    one_line(error.value)
    table = mk.compare(CLIFF, 4, widths=(2, 4), cost=0.5)
    assert "correlation gap" not in str(table)
    assert "≥ 75.0 %" not in str(table)
    names = [row.name for row in table if row.in_rounds is not None]
    assert names == ["4 at a time", "2 at a time"]
    assert table["4 at a time"].lower <= table["2 at a time"].upper <= table["adaptive"].upper
    assert mk.figures.rounds(table).axes[0].get_xlabel() == "rounds"


def test_files_keep_where_to_stop(tmp_path):
    plan = mk.solve(CLIFF, 4, rounds=(1, 3), cost=0.5)
    plan.save(tmp_path / "x.plan", with_problem=True)
    read = mk.load_plan(tmp_path / "x.plan")
    assert (read.stops_at, read.lower, read.upper, read.objective) == (
        plan.stops_at, plan.lower, plan.upper, plan.objective,
    )  # fmt: skip
    assert read.policy.cost == plan.policy.cost == Fraction(1, 2)
    cached = mk.cached(tmp_path / "plans")
    first, second = (mk.solve(CLIFF, 4, rounds=(1, 3), cost=0.5, solver=cached) for _ in range(2))
    assert first.stops_at == second.stops_at == plan.stops_at


@pytest.mark.parametrize(
    ("stops_at", "said"),
    [
        ((math.inf, -17.0), "After a round it stops if the best so far is at least -17."),
        ((math.inf, Fraction(1, 3), 0.5, math.inf), "at least 0.333334 before round 2, 0.5 before round 3."),
        ((0.5, 1.0), "It makes no try: the best so far is enough."),
        ((math.inf,), "It makes all rounds."),
        ((math.inf, 10.0**6, 10.0**6), "at least 1000000."),
    ],
)
def test_words_on_stopping(stops_at, said):
    assert round_stops(stops_at).endswith(said)


def test_at_the_command_line(capsys):
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--cost", "0.05"]) == 0
    told = capsys.readouterr().out
    assert "After a round it stops if the best so far is at least 1." in told
    assert "of what up to 4 tries, one after another, add" in told
    assert main(["compare", "figure1", "-k", "4", "--width", "2", "--cost", "0.05"]) == 0
    told = capsys.readouterr().out
    assert "2 at a time" in told
    assert "alike" not in told


def test_a_file_without_costs_stops_nowhere(tmp_path):
    plan = mk.solve(mk.instances.figure1(), 4, width=2)
    tables = (plan.tables[0], replace(plan.tables[1], stop_at=0.5))
    replace(plan, tables=tables).save(tmp_path / "x.plan", with_problem=True)
    with pytest.raises(mk.InputError, match="where it stops before round 1 makes no sense") as error:
        mk.load_plan(tmp_path / "x.plan")
    one_line(error.value)
