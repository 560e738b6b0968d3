"""Verdicts: what they say is true, and says why."""

import math

import pytest

import maxatk as mk
from maxatk.show.grid import find_grid
from maxatk.show.verdict import mean_repeated, sentences


def said(name, k, *, compared=False, **arguments):
    plan = mk.solve(mk.find_problem(name, **arguments), k)
    comparison = mk.compare(plan.mdp, k, plan=plan) if compared else None
    return sentences(plan, mk.contrast(plan), comparison)


def test_what_planning_gains():
    told = said("windy_cliff", 5)
    assert told == [
        "Repeating the policy with the best mean: -20.67.",
        "Planning for the best of 5: at least -15.96.",
        "On the last try with nothing in hand: up in place of right in row 2, columns 0 to 10.",
    ]


def test_where_it_is_in_the_tuning():
    told = " ".join(said("drafts", 4, compared=True))
    assert "It is all in the tuning: one policy, chosen for the best and repeated, has 97 % of the gain." in told
    told = " ".join(said("proposition3", 2, compared=True))
    assert told.endswith("Without adapting, one policy, chosen for the best and repeated, has 20 % of the gain.")


def test_where_adapting_gains_nothing():
    pytest.importorskip("gymnasium")
    told = said("FrozenLake-v1", 3, horizon=20)
    assert told[0].startswith("Adapting gains nothing here (a try succeeds or fails: its return is 0 or 1): repeat")
    assert told[1].startswith("It earns 0.4863, and no plan for the best of 3 earns ")
    told = said("FrozenLake-v1", 3, horizon=20, is_slippery=False)
    assert told[0].startswith("Adapting gains nothing here (nothing is left to chance once a try has begun): repeat")


def test_with_costs_the_rival_is_a_number_of_tries_fixed_beforehand():
    plan = mk.solve(mk.instances.speedrun(), 8, abandon=True)
    compared = mk.compare(plan.mdp, 8, plan=plan)
    told = sentences(plan, mk.contrast(plan), compared)
    assert told[0] == f"The best mean, 3 tries fixed beforehand, less what they cost: {compared.rows[0].lower:.2f}."
    assert told[1] == f"Planning, and stopping in time: at least {math.floor(1000 * plan.lower) / 1000:.3f}."
    assert told[2].startswith("One policy, repeated until enough is in hand, has ")
    mean = mk.MarkovPolicy(plan.mdp.mean_optimal_actions, k=3)
    assert mk.evaluate(plan.mdp, mean).value == pytest.approx(compared.rows[0].lower, abs=1e-9)
    assert sentences(plan) == told[:2]
    exact = mk.solve(plan.mdp, 2, solver=mk.Exact(), abandon=True)
    assert sentences(exact) == [f"Planning, and stopping in time: at least {math.floor(100 * exact.lower) / 100:.2f}."]


def test_with_costs_nothing_may_be_gained_either():
    sure = mk.MDP.from_table({0: {0: [(1.0, 0, 1, True)], 1: [(1.0, 0, 0, True)]}}, horizon=1, cost=0.25)
    plan = mk.solve(sure, 3)
    told = sentences(plan, None, mk.compare(sure, 3, plan=plan))
    assert told[0].endswith("once a try has begun): take the policy with the best mean, 1 try fixed beforehand.")


def test_one_try():
    assert said("figure1", 1) == ["One try: the best mean is all there is, at least 0.3749."]


def test_the_mean_is_what_a_comparison_says():
    plan = mk.solve(mk.instances.javelin(), 6)
    row = mk.compare(plan.mdp, 6, plan=plan).rows[0]
    lower, upper = mean_repeated(plan, None)
    assert lower <= row.exact <= upper
    assert upper - lower < 1e-9


def test_long_work_is_left_out(monkeypatch):
    monkeypatch.setattr("maxatk.show.verdict.MOST_WORK", 1)
    assert said("figure1", 2) == [
        "Planning for the best of 2: at least 0.5624.",
        "On the last try with 0.5 in hand: risky in place of safe in s.",
    ]


def test_goals_and_hazards():
    pytest.importorskip("gymnasium")
    lake = find_grid(mk.find_problem("FrozenLake-v1", horizon=20))
    assert (lake.goals, lake.hazards) == ({15}, {5, 7, 11, 12})
    cliff = find_grid(mk.instances.windy_cliff(columns=5))
    assert (cliff.goals, cliff.hazards) == ({19}, {16, 17, 18})
