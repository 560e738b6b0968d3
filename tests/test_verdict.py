"""Verdicts: what they say is true, and says why."""

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
