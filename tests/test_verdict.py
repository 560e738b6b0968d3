"""Verdicts: what they say is true, and says why."""

import math

import pytest

import maxatk as mk
from maxatk.problem.grid import find_grid
from maxatk.report.words.verdict import sentences


def said(name, k, *, compared=False, tol=None, best=-math.inf, **arguments):
    plan = mk.solve(mk.find_problem(name, **arguments), k, solver=mk.Certified(tol=tol), best_so_far=best)
    comparison = mk.compare(plan.mdp, k, plan=plan) if compared else None
    return sentences(plan, mk.contrast(plan), comparison)


def test_what_planning_gains():
    assert said("windy_cliff", 5) == [
        "Repeating a policy with the best mean: -20.67.",
        "Planning for the best of 5: at least -15.96, a gain of 4.71 to 4.73 steps.",
        'On the last try with no result yet: "up" instead of "right" (row 2, columns 0 to 10).',
    ]


def test_a_wide_interval_proves_no_lack_of_gain():
    """The true gain is 4.7; the interval allows anything from 0 to 7.7."""
    told = said("windy_cliff", 5, tol=10)
    assert told == [
        "It is not known whether adapting gains anything here: between 0 and 7.7. Ask for a smaller tol.",
        "Repeating a policy with the best mean: -20.67.",
        "Planning for the best of 5: at least -20.68.",
    ]


@pytest.mark.parametrize(("jackpot", "chance"), [(1e4, 6.5e-6), (1e6, 6.5e-8)])
@pytest.mark.parametrize("tol", [None, 1e-3])
def test_a_rare_jackpot_is_seen(jackpot, chance, tol):
    """What it adds counts by its expectation, not by its size: 0.886 becomes 1.240."""
    arms = [[(0.195, 0, 1, True), (0.805, 0, 0, True)], [(chance, 0, jackpot, True), (1 - chance, 0, 0, True)]]
    plan = mk.solve(mk.MDP.from_table([arms], horizon=1), 10, solver=mk.Certified(tol=tol))
    assert plan.gap <= 1.1e-3
    told = sentences(plan)
    assert told[0] == "Repeating a policy with the best mean: 0.8857."
    assert told[1].startswith("Planning for the best of 10: at least 1.240")
    assert 0.354 < plan.gain.lower <= plan.gain.upper < 0.356


def test_where_it_is_in_the_tuning():
    told = " ".join(said("drafts", 4, compared=True))
    one = "one policy, chosen for the best of all tries and repeated, has"
    assert f"It is all in the tuning: {one} 96 to 97 % of the gain." in told
    told = " ".join(said("proposition3", 2, compared=True))
    assert f"{one.capitalize()} 19 to 21 % of the gain." in told


def test_where_adapting_gains_nothing():
    pytest.importorskip("gymnasium")
    told = said("FrozenLake-v1", 3, horizon=20)
    why = "a try succeeds or fails: its return is 0 or 1"
    assert told[0].startswith(f"Adapting gains next to nothing here ({why}): less than 0.0001")
    assert told[1:] == ["Repeat a policy with the best mean: at least 0.4863."]
    told = said("FrozenLake-v1", 3, horizon=20, is_slippery=False)
    assert told[0] == "Adapting gains nothing here (nothing is left to chance once a try has begun)."


def test_with_costs_the_rival_is_a_number_of_tries_fixed_beforehand():
    plan = mk.solve(mk.instances.speedrun(), 8, abandon=True)
    compared = mk.compare(plan.mdp, 8, plan=plan)
    told = sentences(plan, mk.contrast(plan), compared)
    mean = "A policy with the best mean, 3 tries fixed beforehand, less costs:"
    assert told[0] == f"{mean} {compared.rows[0].lower:.2f}."
    assert told[1].startswith("Planning, and stopping in time: at least -8.311, a gain of 10.6 to 10.7 seconds.")
    assert told[2].startswith("One policy, repeated until its threshold is reached, has at least ")
    policy = mk.MarkovPolicy(plan.mdp.mean_optimal_actions, k=3)
    assert mk.evaluate(plan.mdp, policy).value == pytest.approx(compared.rows[0].lower, abs=1e-9)
    assert sentences(plan) == told[:2]
    exact = mk.solve(plan.mdp, 2, solver=mk.Exact(), abandon=True)
    assert sentences(exact)[0].startswith("A policy with the best mean, 2 tries fixed beforehand, less costs: ")


def test_with_costs_nothing_may_be_gained_either():
    sure = mk.MDP.from_table({0: {0: [(1.0, 0, 1, True)], 1: [(1.0, 0, 0, True)]}}, horizon=1, action_cost=0.25)
    plan = mk.solve(sure, 3)
    told = sentences(plan, None, mk.compare(sure, 3, plan=plan))
    assert told[0].startswith("Adapting gains n")
    assert told[1] == "Take a policy with the best mean, 1 try fixed beforehand, less costs: at least 0.7500."


def test_one_try():
    assert said("figure1", 1) == ["One try: maximise its mean, which is 0.3750."]


def test_one_try_beside_a_best_so_far():
    """Then the best mean is not all that counts: it earns -16.984, and planning for the best so far -16.532."""
    told = said("windy_cliff", 1, best=-17)
    assert told[0] == "A policy with the best mean: -16.984."
    assert told[1] == "Planning for the best so far: at least -16.533, a gain of 0.451 to 0.452 steps."


def test_the_mean_is_what_a_comparison_says():
    plan = mk.solve(mk.instances.javelin(), 6)
    row = mk.compare(plan.mdp, 6, plan=plan).rows[0]
    assert plan.gain.rival_lower <= row.exact <= plan.gain.rival_upper
    assert plan.gain.rival_upper - plan.gain.rival_lower < 1e-9


def test_where_the_rival_takes_long_to_evaluate_it_is_bounded(tune):
    tune(rival_work=1)
    told = said("figure1", 2)
    assert told[0].startswith("It is not known whether adapting gains anything here: between 0 and 0.09")


def test_goals_and_hazards():
    pytest.importorskip("gymnasium")
    lake = find_grid(mk.find_problem("FrozenLake-v1", horizon=20))
    assert (lake.goals, lake.hazards) == ({15}, {5, 7, 11, 12})
    cliff = find_grid(mk.instances.windy_cliff(columns=5))
    assert (cliff.goals, cliff.hazards) == ({19}, {16, 17, 18})


def test_the_rival_has_the_best_mean_over_many_steps():
    """What rounding may hide does not grow from step to step until a far worse policy counts as tied."""
    mdp = mk.instances.windy_cliff(horizon=80)
    rival = mk.evaluate(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=1))
    assert rival.upper >= mk.solve(mdp, 1).lower - 1e-6
