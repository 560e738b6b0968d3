"""Sentences and tables that a reader of odd commands found to be false: each is held to what was computed."""

import dataclasses
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from maxatk.base import text as bounds
from maxatk.base.findings import Loss
from maxatk.cli import main
from maxatk.kernels import compiled
from maxatk.planning.certified.plan import evidence_of
from maxatk.report.data.plans import simulation_data
from maxatk.report.tables import plans as tables
from maxatk.report.words import plans as words
from maxatk.report.words.verdict import sentences


def table(outcomes):
    return mk.MDP.from_table({0: {a: [(p, 0, r, True) for p, r in law] for a, law in outcomes.items()}}, horizon=1)


def test_a_plan_stops_where_the_sentence_says():
    """The threshold is 5.0000001 on returns that are multiples of 5: with 5 the plan goes on."""
    plan = mk.solve(table({0: [(0.5, 10), (0.25, 5), (0.25, 0)]}), 5, cost=2.49999995)
    found = plan.stop
    assert not plan.policy.stops(rollout=1, best=5)
    assert found.at == 10
    assert "as soon as your best is 10 or more" in words.stop(found)
    rough = words.stop(dataclasses.replace(found, at=1000.04006, on_step=False))
    assert "about 1000.05 or more" in rough  # rounded up: there it stops


def test_a_plan_stops_at_sums_of_floats():
    """0.1 is a step of these returns but for rounding: 0.7000000000000001 counts as 0.7."""
    plan = mk.solve(table({0: [(1.0, 0.7000000000000001)], 1: [(1.0, -0.2)]}), 1, cost=1e-70)
    assert plan.policy.stops(rollout=0, best=0.7000000000000001)
    assert plan.stop.at <= 0.7000000000000001


def test_what_further_tries_add_is_told_on_the_scale_of_what_they_add():
    plan = mk.solve(table({0: [(0.5, 3), (0.5, 0)], 1: [(1e-7, 10**6), (1 - 1e-7, 0)]}), 5, cost=0.3)
    assert plan.stop.tol <= 0.01


def test_several_policies_may_have_the_best_mean():
    mine, coin = [(1.0, 1)], [(0.5, 0), (0.5, 2)]
    for outcomes in ({0: mine, 1: coin}, {0: coin, 1: mine}):
        plan = mk.solve(table(outcomes), 2)
        assert plan.gain.tied
        assert "one of the policies with the best mean" in " ".join(sentences(plan))
        assert "Several policies have the best mean" in str(mk.compare(plan.mdp, 2, plan=plan))
    assert not mk.solve(table({0: coin, 1: coin}), 2).gain.tied  # they are alike
    assert not mk.solve(mk.instances.windy_cliff(), 2).gain.tied


def test_a_rival_is_not_said_to_earn_more_than_the_optimum():
    """Exactly 29.99997, which rounds to 30."""
    plan = mk.solve(table({0: [(1e-6, 10**7), (1 - 1e-6, 0)], 1: [(1.0, 0)]}), 3)
    assert "at least 29.99." in " ".join(sentences(plan))


@pytest.mark.parametrize("seed", range(3))
def test_trials_that_miss_what_is_rare_do_not_contradict_a_certificate(seed):
    plan = mk.solve(table({0: [(1e-6, 10**7), (1 - 1e-6, 0.5)]}), 3)
    runs = mk.simulate(plan.mdp, plan.policy, trials=1000, rng=seed)
    assert runs.interval()[1] < plan.lower  # by Student's t it would
    told = simulation_data(plan, runs)["findings"]
    assert [one["kind"] for one in told] == ["value", "agreement"]
    assert told[1]["outcome"] == "unknown"
    lower, upper = runs.proved_interval(*plan.mdp.return_range)
    assert lower <= plan.lower <= plan.upper <= upper


def test_trials_of_another_policy_contradict_a_certificate():
    mdp = table({0: [(1.0, 1)], 1: [(1.0, 0)]})
    plan = mk.solve(mdp, 1)
    runs = mk.simulate(mdp, mk.MarkovPolicy([[1]], k=1), trials=1000, rng=0)
    (finding,) = [one for one in simulation_data(plan, runs)["findings"] if one["kind"] == "agreement"]
    assert finding["outcome"] == "disproved"


def test_a_comparison_may_know_what_a_plan_does_not(capsys):
    """With a wide tolerance the plan knows nothing of the gain, and the rows prove it."""
    assert main(["solve", "drafts", "-k", "3", "--tol", "100", "--compare"]) == 0
    shown = capsys.readouterr().out
    assert "It is not known" not in shown
    assert "a gain of" in shown


def test_a_question_that_time_left_open_is_not_settled_by_a_smaller_tol(capsys):
    assert main(["solve", "windy_cliff", "-k", "3", "--time-limit", "0"]) == 0
    shown = capsys.readouterr().out
    assert "Ask for a smaller tol" not in shown
    assert "inf" not in shown


def test_a_risk_is_not_rounded_away(capsys):
    assert [bounds.probability(x) for x in (0.05, 1e-7, 0.5)] == ["0.95", "0.9999999", "0.5"]
    assert bounds.probability(1e-20) == "1 - 1.0e-20"
    met = Loss(lower=0, upper=0.12345669, target=0.1234567, delta=0.1, samples=3)
    assert "within 0.1234567 of" in words.loss(met)


def test_numbers_of_any_size_are_short_and_true():
    for x in (5e-324, 1.5e-30, 1e300, 123456789e20):
        low, high = bounds.at_least(x, bounds.decimals_of(x)), bounds.at_most(x, bounds.decimals_of(x))
        assert Fraction(low) <= Fraction(x) <= Fraction(high)
        assert max(map(len, (low, high))) < 20
        low, high = bounds.at_least(-x, bounds.decimals_of(x)), bounds.at_most(-x, bounds.decimals_of(x))
        assert Fraction(low) <= Fraction(-x) <= Fraction(high)


def test_percentages_of_small_problems_and_large_returns():
    """Percentages are not measured by the range of returns."""
    plan = mk.solve(table({0: [(0.05, 3 * 10**10), (0.95, 10**9)], 1: [(1.0, 0)]}), 2)
    assert "beats that in 5 % of all cases" in str(mk.contrast(plan))


def test_giving_up_counts_as_acting_otherwise():
    rows = {0: {0: [(0.5, 1, 0, False), (0.5, 2, 0, False)]}, 1: {0: [(1, 1, 5, True)]},
            2: {0: [(0.1, 2, 9, True), (0.9, 2, 0, True)]}}  # fmt: skip
    mdp = mk.MDP.from_table(rows, horizon=2, action_cost={0: {0: 0.1}, 1: {0: 0.2}, 2: {0: 3}})
    said = str(mk.contrast(mk.solve(mdp, 4, abandon=True)))
    assert '"0" instead of giving up (state 2)' in said
    assert "it is given up in 50 % of all cases; if not, the mean return is 5;" in said


def test_nothing_is_said_of_states_where_nothing_is_left_to_win():
    """In state 0 the tries act differently; on the first one its return is worth nothing."""
    mdp = mk.MDP.from_table(
        {0: {0: [(1, 0, 1, True)], 1: [(1, 0, 2, True)]}, 1: {0: [(1, 1, 5, True)]}}, horizon=1, start=[0.5, 0.5]
    )
    said = str(mk.contrast(mk.solve(mdp, 2)))
    assert "mostly acts like the first try" not in said


def test_a_class_is_not_shown_below_one_inside_it():
    """7.815 is no float: the adaptive row's own lower bound is a little less."""
    compared = mk.compare(mk.instances.drafts(), 3, solver=mk.Certified(tol=100))
    shown = {line[:27].strip(): line.split() for line in str(compared).splitlines()[3:9]}
    earns = {name: float(line[len(name.split())]) for name, line in shown.items()}
    assert earns["adaptive"] == max(earns.values())
    assert earns["one policy, sampled k times"] >= earns["mean-optimal, repeated"]


def test_tables_of_tries_are_monotone():
    for plan in (
        mk.solve(mk.instances.windy_cliff(), 3, cost=100),
        mk.solve(mk.instances.speedrun(), 6, abandon=True, solver=mk.Certified(tol=50)),
    ):
        lower, upper = zip(*((low, high) for _, low, high in tables.tries(plan)), strict=True)
        assert list(lower) == sorted(lower)
        assert list(upper) == sorted(upper)


def test_compiling_is_told_of_the_first_run_alone(tmp_path, monkeypatch):
    compiled.at_work.cache_clear()
    monkeypatch.setattr(compiled, "kept", lambda: (tmp_path, 0))
    assert compiled.at_work("planning") == "planning: compiling for some seconds, on this first run alone"
    compiled.at_work.cache_clear()
    monkeypatch.setattr(compiled, "kept", lambda: (tmp_path, 7))
    assert compiled.at_work("planning") == "planning"


def test_a_comparison_of_a_plan_keeps_to_its_time_limit():
    plan = mk.solve(mk.instances.windy_cliff(), 4)
    compared = mk.compare(plan.mdp, 4, plan=plan, time_limit=0)
    assert compared.stopped == "time limit"
    assert [row.searched for row in compared.rows] == [False] * 5 + [True]
    assert compared.rows[-1].lower >= plan.lower


# What a second reader found.


def test_returns_beside_a_jackpot_are_told_as_they_are():
    rows = {0: {0: [(1.0, 0, 1, False)], 1: [(1e-12, 0, 10**9, False), (1 - 1e-12, 0, 0, False)]}}
    plan = mk.solve(mk.MDP.from_table(rows, horizon=3), 2, solver=mk.Certified(tol=10))
    said = str(mk.contrast(plan))
    assert "the mean return is 3; at least 80 % of tries return 3." in said
    assert "Try 2 of 2, best so far 3: it beats that in 0.0000000003 % of all cases" in said
    mdp = table({0: [(1.0, 0.1)], 1: [(1e-12, 10**9), (1 - 1e-12, 0)]})
    alone = mk.contrast(mk.solve(mdp, 1))
    assert "the mean return is 0.1" in str(alone)


def test_the_largest_return_is_beaten_in_no_case():
    mdp = table({0: [(0.5, 0.1 * 16), (0.5, 0.2)], 1: [(1.0, 0.3)]})
    for best in (1.6, 1.5999999999999994):
        said = str(mk.contrast(mk.solve(mdp, 2, best_so_far=best)))
        assert "e-" not in said


def test_a_plan_that_never_stops_is_not_said_to():
    """1.8 on a lattice of tenths, and 1.7999999999999998 in floats: tries go on, at no cost."""
    rows = {0: {0: [(1.0, 0, 0.4, False)], 1: [(0.5, 0, 0.2, False), (0.5, 0, 0.6, False)]}}
    mdp = mk.MDP.from_table(rows, horizon=3, action_cost={0: {0: 0.5, 1: 0}})
    plan = mk.solve(mdp, 3, abandon=True)
    found = plan.stop
    told = words.stop(found)
    assert not plan.policy.stops(rollout=1, best=0.6 + 0.6 + 0.6)
    assert found.tries_lower > 2.9
    assert told.startswith("This plan makes all its tries")


def test_ties_are_told_by_laws_and_by_means():
    skewed, even = [(0.2, 2), (0.8, -0.5)], [(0.5, 1), (0.5, -1)]  # the same mean and variance
    assert mk.solve(table({0: skewed, 1: even}), 2).gain.tied
    near = table({0: [(1.0, 1000)], 1: [(0.5, 2000 - 1e-9), (0.5, 0)]})
    assert not mk.solve(near, 2).gain.tied
    apart = table({0: [(1.0, 0.1)], 1: [(0.5, 10**12), (0.5, -(10**12))]})
    assert not mk.solve(apart, 2).gain.tied


def test_rounding_is_not_taken_for_no_gain():
    """Returns of 4 * 10^12 and some: rounding leaves open more than the gain of 0.05, which is not nothing."""
    law = [(0.4, 4 * 10**12), (0.3, 4 * 10**12 + 1), (0.2, 4 * 10**12 + 2), (0.1, 4 * 10**12 + 7)]
    plan = mk.solve(table({0: law}), 2, cost=0.5)
    assert plan.gain.upper < 4 * evidence_of(plan).rounding
    assert plan.gain.upper > 2e-3 * plan.gain.added > 0
    assert plan.gain.outcome == "unknown"


def test_a_plan_is_not_said_to_earn_what_another_policy_does():
    mdp = mk.instances.drafts()
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=100))
    compared = mk.compare(mdp, 3, plan=plan)
    said = " ".join(sentences(plan, comparison=compared))
    assert compared["adaptive"].lower > plan.lower + 0.1
    assert "This plan earns at least" in said


def test_a_try_that_does_one_thing_and_another_is_shown_to():
    from maxatk.report.views import panels

    rows = {0: {0: [(0.5, 1, 0, False), (0.5, 2, 0, False)]}, 1: {0: [(0.5, 1, 1, True), (0.5, 1, 0, True)]},
            2: {0: [(0.5, 2, 1, True), (0.5, 2, 0, True)]}}  # fmt: skip
    found = mk.contrast(mk.solve(mk.MDP.from_table(rows, horizon=2), 2))
    assert panels(found)[0].mixed == [False] * 3
    visits = np.array([[1.0, 1.0], [1.0, 0.2], [0.0, 0.0]])
    both = dataclasses.replace(found, first=dataclasses.replace(found.first, visits=visits))
    assert panels(both)[0].mixed == [True, False, False]


def test_rounded_numbers_do_not_stand_for_exact_ones():
    compared = mk.compare(table({0: [(0.5, 3 + 2e-9), (0.5, 1)], 1: [(1.0, 2)]}), 3)
    assert "enumeration: exact" in str(compared)


# What the hunt found.


def test_a_dear_action_does_not_make_others_equal():
    """Its mean is off by more than all others together, and it is not among the best all the same."""
    rows = {0: {0: [(1.0, 0, -0.3, False)], 1: [(1.0, 0, 0.6, False)], 2: [(1.0, 0, 0.6, False)]}}
    mdp = mk.MDP.from_table(rows, horizon=1, action_cost={0: {0: 0, 1: 2**90, 2: 0}})
    assert mdp.mean_optimal_actions.tolist() == [[2]]
    assert not mk.solve(mdp, 2).gain.tied


def test_a_plan_stops_where_no_try_pays_though_giving_up_is_free(tune):
    """By slices one by one, a try that is given up at once is worth what it is made with, but for rounding."""
    tune(table_points=1)
    third = 0.3333333333333333
    rows = {
        0: {0: [(0.12094529722967363, 2, 8, False), (0.8790547027703264, 1, -3, True)]},
        1: {0: [(third, 2, -3, True), (third, 2, -3, True), (third, 0, 8, False)]},
        2: {0: [(1.0, 0, -2, True)]},
    }  # fmt: skip
    costs = {0: {0: 0.9038875450418907}, 1: {0: 1.072948755838765}, 2: {0: 0.9038875450418907}}
    start = [0.23829479441720958, 0.3993053509089512, 0.36239985467383934]
    mdp = mk.MDP.from_table(rows, horizon=1, start=start, action_cost=costs)
    plan = mk.solve(mdp, 4, best_so_far=0, abandon=True)
    truth = mk.solve(mdp, 4, best_so_far=0, abandon=True, solver=mk.Exact())
    assert plan.lower <= truth.exact <= plan.upper
    assert plan.stop_at == pytest.approx(float(truth.stop_at), abs=1e-9)


def test_pages_use_the_words_of_the_field():
    """A thing has one name, which is the usual one where there is one."""
    root = Path(__file__).parents[1]
    paraphrases = re.compile(r"\b(in hand|other\s+eyes|of\s+the\s+processor|monotony|adds\s+up\s+otherwise)\b(?!-)")
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "docs").glob("*.py")]
    found = [(page.name, one) for page in pages for one in paraphrases.findall(page.read_text())]
    assert found == []
