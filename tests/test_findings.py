"""Findings: what is said of a statement follows from its interval, and the interval contains the truth."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.findings import (
    Advice,
    Aim,
    Basis,
    ChosenPlan,
    Difference,
    Gain,
    Loss,
    Measured,
    NoAdvice,
    Reason,
    Share,
    Stop,
)
from maxatk.base.intervals import gap_between
from maxatk.base.text import threshold
from maxatk.cli import main
from maxatk.report.words import attempts as words
from oracles import policy_value
from problems import problem, specs


def jackpot(size=10**4, chance=6.5e-6, often=0.195):
    arms = [[(often, 0, 1, True), (1 - often, 0, 0, True)], [(chance, 0, size, True), (1 - chance, 0, 0, True)]]
    return mk.MDP.from_table([arms], horizon=1)


# What outcomes mean.


def gain(lower, upper, negligible=0.0):
    return Gain(lower=lower, upper=upper, k=2, rival_lower=0.0, rival_upper=0.0, negligible=negligible)


@pytest.mark.parametrize(
    ("finding", "outcome"),
    [
        (gain(0.1, 0.2), "proved"),
        (gain(0.0, 0.2), "unknown"),
        (gain(0.0, 0.0), "disproved"),
        (gain(0.1, 0.2, negligible=0.2), "disproved"),
        (Share(name="x", lower=0.95, upper=1), "proved"),
        (Share(name="x", lower=0.1, upper=0.94), "disproved"),
        (Share(name="x", lower=0.1, upper=0.96), "unknown"),
        (Loss(lower=0, upper=0.1, target=0.1, delta=0.1, samples=9), "proved"),
        (Loss(lower=0, upper=0.2, target=0.1, delta=0.1, samples=9), "unknown"),
        (Stop(lower=1, upper=1.001, at=1, on_step=True, now=False, tol=0.01), "proved"),
        (Stop(lower=-math.inf, upper=math.inf, at=1, on_step=True, now=False, tol=0.01), "unknown"),
    ],
)
def test_outcomes(finding, outcome):
    assert finding.outcome == outcome
    assert json.loads(json.dumps(finding.data(), allow_nan=False))["outcome"] == outcome


@pytest.mark.parametrize(
    ("lower", "upper", "level", "outcome"),
    [
        (0.1, 0.2, 0.95, "proved"),
        (-0.2, -0.1, 0.95, "disproved"),
        (-0.1, 0.1, 0.95, "unknown"),
        (1, 2, None, "unknown"),
    ],
)
def test_outcomes_of_logs(lower, upper, level, outcome):
    """An interval without a level proves nothing."""
    about = {"lower": lower, "upper": upper, "basis": Basis(level=level, method="t", tasks=9)}
    assert Difference(first="a", second="b", of="score", value=0.1, **about).outcome == outcome
    one = Measured(value=1.0, lower=0.5, upper=1.5, level=level)
    chosen = ChosenPlan(plan="a", stop_at=1, built=9)
    advice = Advice(chosen=chosen, aim=Aim(price=1), score=one, cost=one, alternative="b", **about)
    assert advice.outcome == outcome


def test_differences_of_bounds_are_exact():
    assert gap_between((0.1, 0.1), (0.1, 0.1)) == (0.0, 0.0)
    third = Fraction(1, 3)
    low, high = gap_between((0, third), (third, 1))
    assert low == 0
    assert high == 1
    assert gap_between((-math.inf, 1), (2, 3)) == (1, math.inf)
    assert gap_between((5, 6), (1, 2)) == (0, 0)  # what is known to be no less


# Gains.


@settings(max_examples=60)
@given(
    spec=specs(max_horizon=3),
    k=st.integers(1, 4),
    best=st.sampled_from([-math.inf, -math.inf, 0, Fraction(1, 3)]),
    tol=st.sampled_from([None, 1e-9, 0.3, 5.0]),
)
def test_the_true_gain_lies_inside(spec, k, best, tol):
    mdp = problem(spec)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, threads=1), best_so_far=best)
    optimum = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best)
    rival = policy_value(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=k, best_so_far=best), k, best)
    true = optimum.exact - rival
    assert 0 <= Fraction(plan.gain.lower) <= true <= Fraction(plan.gain.upper)
    assert optimum.gain.lower <= true <= optimum.gain.upper <= math.nextafter(optimum.gain.lower, math.inf)
    if plan.gain.outcome == "disproved":
        assert true <= plan.gain.negligible


@pytest.mark.parametrize("cost", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("best", [-math.inf, 0.75])
def test_with_costs_the_rival_is_the_best_number_of_tries(cost, best):
    mdp = mk.MDP.from_table({0: {0: [(0.25, 0, 2, True), (0.75, 0, 0, True)], 1: [(1, 0, 0.4, True)]}}, horizon=1)
    plan = mk.solve(mdp, 6, cost=cost, best_so_far=best)

    def fixed(n):
        if n == 0:
            return Fraction(best)
        short = Fraction(3, 4) ** n
        return 2 * (1 - short) + max(Fraction(best) if best > -1 else Fraction(0), 0) * short - n * Fraction(cost)

    numbers = range(0 if best > -1 else 1, 7)
    rival = max(fixed(n) for n in numbers)
    optimum = mk.solve(mdp, 6, cost=cost, best_so_far=best, solver=mk.Exact()).exact
    assert Fraction(plan.gain.rival_lower) <= rival <= Fraction(plan.gain.rival_upper)
    assert plan.gain.lower <= optimum - rival <= plan.gain.upper
    assert fixed(plan.gain.rival_tries) == rival


# Comparisons.


@pytest.mark.parametrize("tol", [None, 1e3])
def test_no_class_earns_more_than_one_that_contains_it(tol):
    """With a wide tolerance the plan's own policy earns 0.886, and a policy without G 1.240."""
    compared = mk.compare(jackpot(), 10, solver=mk.Certified(tol=tol))
    names = [row.name for row in compared.rows]
    assert names[-1] == "adaptive"
    assert compared.rows[-1].lower == max(row.lower for row in compared.rows)
    assert compared.rows[-1].lower > 1.24
    assert all(row.upper <= compared.rows[-1].upper for row in compared.rows)
    earned = mk.evaluate(compared.mdp, compared.rows[-1].policy)
    assert earned.ends[1] >= compared.rows[-1].lower


def test_a_row_that_was_not_searched_has_no_share(capsys):
    compared = mk.compare(mk.instances.windy_cliff(), 4, time_limit=0.05)
    left = [row for row in compared.rows if not row.searched]
    assert left
    assert {compared.share(row) for row in left} == {None}
    table = str(compared).splitlines()
    assert not [line for row in left for line in table if line.startswith(row.name) and "%" in line]
    told = [one["kind"] for one in (finding.data() for finding in compared.findings)]
    assert told[0] == "gain"


def test_your_own_policies_come_before_the_last_row():
    mdp = mk.instances.figure1(gamma=0.25)
    optimal = mk.solve(mdp, 2, solver=mk.Exact()).policy
    compared = mk.compare(mdp, 2, solver=mk.Certified(tol=10), policies={"mine": optimal})
    assert [row.name for row in compared.rows[-2:]] == ["mine", "adaptive"]
    assert compared.rows[-1].lower == 0.5625
    other = mk.MarkovPolicy([[0]], k=2, best_so_far=0.25)
    with pytest.raises(mk.InputError, match="mine starts from another best_so_far"):
        mk.compare(mdp, 2, policies={"mine": other})


def test_long_fractions_give_way_to_floats(tune):
    """Classes are tried in fractions while these stay short; then in floats, whose error is counted."""
    random = np.random.default_rng(0)
    laws = [list(zip(random.dirichlet(np.ones(30)), random.integers(0, 99, 30), strict=True)) for _ in range(3)]
    table = {0: {a: [(float(p), 0, int(r), True) for p, r in law] for a, law in enumerate(laws)}}
    mdp = mk.MDP.from_table(table, horizon=1)
    exact = mk.compare(mdp, 5)
    tune(enumeration_digits=0)
    floats = mk.compare(mdp, 5)
    for name in ("Markov, per try", "without M", "without G"):
        assert floats[name].exact is None
        assert floats[name].method == "enumeration, in floats"
        assert Fraction(floats[name].lower) <= exact[name].exact <= Fraction(floats[name].upper)
        assert floats[name].upper - floats[name].lower < 1e-6


# When to stop, and the command line.


@pytest.mark.slow
def test_when_to_stop():
    plan = mk.solve(mk.instances.windy_cliff(), 20, cost=0.5)
    stop = plan.stop
    assert stop.at == -17
    assert stop.lower <= plan.stop_at <= stop.upper
    assert stop.outcome == "proved"
    assert stop.tries_lower <= 3.68 <= stop.tries_upper + 0.01
    assert mk.solve(mk.instances.windy_cliff(), 2).stop is None


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--tol", "10"], ["--cost", "0.5"], ["--compare"], ["--time-limit", "0.01"]])
def test_json_has_the_findings(arguments, capsys):
    assert main(["solve", "windy_cliff", "--horizon", "14", "-k", "3", "--json", *arguments]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    kinds = [one["kind"] for one in findings]
    assert kinds[:2] == ["value", "gain"]
    assert ("stop" in kinds) == ("--cost" in arguments)
    for one in findings:
        assert one["outcome"] in ("proved", "disproved", "unknown")
        assert one["lower"] is None or one["upper"] is None or one["lower"] <= one["upper"]
    assert main(["compare", "figure1", "-k", "2", "--json"]) == 0
    kinds = [one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]]
    assert kinds == ["value", "gain", *["share"] * 4]


# The default tolerance.


def test_the_default_tolerance_is_relative_to_what_tries_add():
    plan = mk.solve(jackpot(), 10)
    assert plan.stats["tol"] == pytest.approx(1e-3 * (plan.lower - 0.195), rel=1e-6)
    shifted = mk.solve(jackpot().with_rewards(jackpot().reward + 100), 10)
    assert shifted.stats["tol"] == pytest.approx(plan.stats["tol"], rel=1e-2)
    scaled = mk.solve(jackpot().with_rewards(jackpot().reward * 1e-6), 10)
    assert scaled.stats["tol"] == pytest.approx(1e-6 * plan.stats["tol"], rel=1e-2)


def test_a_search_without_a_tolerance_ends_after_so_much_work(tune):
    mdp = mk.instances.random_sparse(6, 2, 4, successors=2, rng=0)
    mdp = mdp.with_rewards(np.random.default_rng(0).normal(size=len(mdp.reward)))
    whole = mk.solve(mdp, 4)
    assert whole.status == mk.Status.WITHIN_TOL
    tune(default_work=1e4)
    cut = mk.solve(mdp, 4)
    assert cut.status == mk.Status.WORK_LIMIT
    assert cut.lower <= whole.upper
    assert whole.lower <= cut.upper
    assert cut.stats["slices"] < whole.stats["slices"]
    asked = mk.solve(mdp, 4, solver=mk.Certified(tol=whole.stats["tol"]))
    assert asked.status == mk.Status.WITHIN_TOL  # who asks for a tolerance gets it


# Logs.


def test_a_log_that_cannot_advise_says_why():
    for reason in Reason:
        found = NoAdvice(reason=reason, tasks=1, asked=0.83, best=0.8296)
        data = json.loads(json.dumps(found.data(), allow_nan=False))
        assert (data["kind"], data["outcome"], data["lower"], data["reason"]) == ("no advice", "unknown", None, reason)
        first, second = words.advice(found)
        assert first.endswith(".")
        assert second.endswith(".")
        assert "1 tasks" not in first + second
    assert "no sequence was found that scores 0.83: the best has 0.8296." in words.advice(found)[0]  # not 0.83


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"price": 0.05}, "Try a × 3, and stop as soon as one scores at least 0.9996 (at 0.0500 per unit of cost)."),
        ({"budget": 20.0}, "Try a × 3, and stop as soon as one scores at least 0.9996 (for a budget of 20 a task)."),
        (
            {"target_score": 0.83},
            "Try a × 3, and stop as soon as one scores at least 0.9996 (to reach a score of 0.83).",
        ),
        ({"attempts": 1}, "Try a × 3 once (at 0 per unit of cost)."),
    ],
)
def test_advice_names_its_goal(goal, said):
    one = Measured(value=1.0, lower=0.5, upper=1.5, level=None)
    attempts = {"attempts": goal["attempts"]} if "attempts" in goal else {}
    advice = Advice(
        lower=0.125,
        upper=0.25,
        basis=Basis(tasks=40, level=0.95, method="betting"),
        chosen=ChosenPlan(plan="a × 3", stop_at=0.9996, built=40, **attempts),
        aim=Aim(**{"price": 0.0, **({} if attempts else goal)}),
        score=one,
        cost=one,
        alternative="b",
    )
    first, second = words.advice(advice)
    assert first == said
    assert "scores 1.0 (0.5 to 1.5, no level) for 1.0 (0.5 to 1.5, no level) a task on the other 40" in second
    net = "score less cost" if {"price", "attempts"} & set(goal) else "in score"  # a budget has no price of its own
    assert f"that is better than b, by 0.12 to 0.25, {net}." in second


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_a_threshold_in_words_is_the_threshold(x):
    assert float(threshold(x)) == x
