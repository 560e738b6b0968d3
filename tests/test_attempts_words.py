"""What is said of a log: no more than its intervals show, the same everywhere, and for the true reason."""

import ast
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from attempt_worlds import ladder, specialists
from maxatk import attempts as at
from maxatk.attempts.estimates.intervals import BETTING, ON_RANGE_SEEN, T
from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.follow import follow
from maxatk.base import text
from maxatk.cli import main
from maxatk.report.tables import attempts as tables
from maxatk.report.tables.fitting import as_text
from maxatk.report.words import attempts as words

DATA = Path(__file__).parent / "data"


def log_of(scores, costs=None, **options):
    """Scores [tasks, attempts] by arm; a cost for each arm."""
    rows = [
        {"task": t, "arm": arm, "score": float(s), **({} if costs is None else {"cost": costs[arm]})}
        for arm, every in scores.items()
        for t, some in enumerate(every)
        for s in some
    ]
    return at.Log.from_records(rows, **options)


def passes(tasks, attempts, chance, seed):
    return (np.random.default_rng(seed).random((tasks, attempts)) < chance).astype(float)


def few():
    """Too few tasks for an interval with a level."""
    return log_of({"a": passes(40, 4, 0.4, 0), "b": passes(40, 4, 0.3, 1)}, {"a": 1.0, "b": 1.5})


# Goals that are not met, and side goals.


def test_side_goals_that_cannot_be_met_are_left_out(capsys):
    log = str(DATA / "tau_airline_gpt4o.csv")
    assert main(["attempts", log, "--budget", "20"]) == 0
    out = capsys.readouterr().out
    assert "Try gpt-4o × 2, and stop as soon as one scores at least 1.00 (for a budget of 20 a task)." in out
    assert "a task on the other 25, more than the budget;" in out
    assert "At other budgets" in out
    assert "per unit of cost)" not in out
    study = at.study(at.read_log(log), budget=20)
    assert [one.goal.budget for one in study.advised] == [20, 40]
    assert study.main is study.advised[0]


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"target_score": 0.999}, r"no sequence was found that scores 0.999: the best has 0\.9\d+\."),
        ({"budget": 0.5}, r"a budget of 0.5 a task does not cover one attempt: the cheapest costs 1 on average\."),
    ],
)  # fmt: skip
def test_a_goal_that_is_not_met_is_told_of_beside_the_rest(goal, said):
    study = at.study(few(), **goal)
    assert re.match(f"On the 20 tasks that plans are chosen on, {said}", study.advice[0])
    assert (study.main, study.plan) == (None, None)
    assert study.frontier is not None
    found = study.silence.data()
    assert (found["kind"], found["outcome"], found["lower"]) == ("no advice", "unknown", None)
    assert found in [one.data() for one in study.findings]
    assert "What to do" in str(study)
    if "budget" in goal:  # twice as much would do
        assert [one.goal.budget for one in study.advised] == [1.0]
        assert "At other budgets" in str(study)


def test_a_target_score_is_named():
    study = at.study(few(), target_score=0.5)
    assert "(to reach a score of 0.5)" in study.advice[0]
    missed = replace(study.main, score=replace(study.main.score, value=0.4))
    assert ", less than the target" in words.advice(missed.finding)[1]
    assert "Its score and cost" in str(study)


def test_a_number_is_told_on_the_right_side_of_the_goal():
    assert words._told_apart(0.83, 0.82999) == ("0.83", "0.82999")
    assert words._told_apart(-3.53, -3.5512345) == ("-3.53", "-3.55")
    assert words._told_apart(1 / 3, 0.2) == ("0.3333333333333333", "0.2")


# Intervals without a level.


def test_an_interval_without_a_level_says_so_everywhere(tmp_path):
    study = at.study(few(), price=0.02)
    main_score = study.main.score
    assert main_score.method == ON_RANGE_SEEN
    assert main_score.level is None
    value, interval = tables.shown(main_score)
    assert interval.endswith(", no level")
    text = " ".join(str(study).split())
    assert f"scores {value} ({interval})" in study.advice[1]
    assert f"{value} {interval}" in text
    assert "95 %" not in text.split("Differences")[1].split("How much")[0]
    assert "not established: too few or too skewed tasks" in text
    data = study.data()
    assert data["advised"][1]["score"]["level"] is None
    assert data["differences"][0]["level"] is None
    replay = str(
        study.plan.replay(few().select(tasks=[str(t) for t in range(40) if str(t) not in study.plan.built_from.names]))
    )
    assert interval in replay
    assert str(at.differences(few())).count("no level") == 1
    assert "no level" in str(log_of({"a": [[t] for t in range(9)]}).max_at_k(1))
    assert "no level" in " ".join(study.frontier.table().columns[2].cells)
    pytest.importorskip("altair", reason="pages need the extra page")
    study.page(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert f'<dd>{value}</dd><dd class="note">{interval}</dd>' in page
    assert "95 %" not in page.split('id="h-differences"')[1].split("</section>")[0]


def test_cards_and_steps_of_the_page_are_those_of_the_plan_that_is_advised(tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    study = at.study(specialists(60, 3, 1), price=0.02)
    study.page(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    cards = re.findall(r"<dd>(.*?)</dd>", page.split("</dl>")[0])
    assert cards == [text.short(0.02), tables.shown(study.main.score)[0], tables.shown(study.main.cost)[0]]
    rows = re.findall(r'<tr><td>\d+<td class="words">(.*?)<td>', page.split('id="steps"')[1].split("</table>")[0])
    assert rows == study.plan.arms
    assert study.advice[0].startswith(f"Try {study.plan.spelled}, ")
    assert "curves, strategies and differences below are of all" in page
    assert text.threshold(study.plan.stop_at) in page


def test_levels_are_told_by_row():
    a, b = passes(60, 2, 0.5, 0), passes(60, 2, 0.4, 1)
    mixed = at.differences(log_of({"a": a, "b": b, "c": a - 5}))
    assert {row.level is None for row in mixed} == {True, False}
    assert mixed.sureness == "95 % for all 3 pairs together, where there is a level"
    assert "by the same amount at all 60 tasks of the log" in str(mixed)
    assert at.differences(log_of({"a": a, "b": b})).sureness == "95 %"


def test_a_level_is_never_all_of_it():
    assert text.percent(0.95) == "95 %"
    assert text.percent(0.999999999) == "99.9999999 %"
    assert text.percent(1 - 2**-53) != "100 %"
    study = at.study(log_of({"a": passes(60, 2, 0.5, 0), "b": passes(60, 2, 0.4, 1)}), price=0.02, level=0.999999999)
    assert "99.9999999 %" in str(study)
    assert "100 % " not in str(study).split("What to do")[1].split("\n\n")[0]


# Nominal and proved.


def test_intervals_by_t_are_nominal_and_say_so(capsys, tmp_path):
    log = ladder(60, 3, 1)
    study = at.study(log, price=0.02)
    assert [p.method for p in study.curves[0]][:1] == [T]
    assert T == "t, nominal"
    assert sum("intervals by t are nominal" in note for note in study.notes) == 1
    assert study.data()["curves"][0]["method"] == "t, nominal"
    assert "by t are nominal" not in " ".join(at.study(few(), price=0.02).notes)
    half = at.Estimate(0.5, 0.4, 0.6, 80, 0.95, T).measured
    assert words._with_level(half) == "0.50 (0.40 to 0.60, 95 % nominal)"
    assert words._with_level(at.Estimate(0.5, 0.4, 0.6, 80, 0.95, BETTING).measured) == "0.50 (0.40 to 0.60, 95 %)"


def test_t_stays_within_what_passes_and_fails_can_score():
    log = log_of({"a": passes(60, 2, 0.75, 3), "b": passes(60, 2, 0.75, 4)}, {"a": 1.0, "b": 1.0})
    strategies = at.frontier(log, level=1 - 1e-9).strategies
    assert any(strategy.score.method == T for strategy in strategies)
    assert max(strategy.score.upper for strategy in strategies) <= 1
    assert not any(strategy.score.proved for strategy in strategies)
    replay = at.cross_replay(log, price=0.2, method="single", max_per_arm=1, level=1 - 1e-12)
    assert replay.score.method == T
    assert replay.score.upper <= 1
    assert log.taken_range == (0, 1)
    assert log.score_range is None
    assert log_of({"a": [[0, 2]]}).taken_range is None


def test_nothing_is_proved_with_a_range_that_was_guessed():
    """The scores are 0 and 1, but nobody said that they must be."""
    log = log_of({"a": passes(60, 2, 0.5, 0)})
    with pytest.raises(mk.InputError, match="a proved interval needs the range that scores can have"):
        log.max_at_k(1, interval="proved")
    assert log.pass_at_k(1, interval="proved").points[0].proved  # to pass or not is one of two things


# Thresholds.


def test_thresholds_are_printed_as_they_are():
    assert text.threshold(1.0) == "1.00"
    assert text.threshold(0.992593) == "0.992593"
    assert text.threshold(0.9996) == "0.9996"
    assert float(text.threshold(1 / 3)) == 1 / 3


@pytest.mark.parametrize("seed", range(6))
def test_a_threshold_that_is_printed_does_what_the_plan_does(seed):
    """Rounded down, and still above the next lower score of the log."""
    random = np.random.default_rng(seed)
    near = 1 - random.random((30, 4)) * 10.0 ** -random.integers(0, 9)
    log = log_of({"a": near * (1 if seed % 2 else -1e4)})
    distinct = np.unique(log.score)
    for stop_at in paths.thresholds(log):
        printed = float(text.threshold(stop_at))
        assert printed == stop_at
        reached = distinct[distinct >= stop_at]
        assert stop_at <= reached[0]
        below = distinct[distinct < stop_at]
        assert len(reached) + len(below) == len(distinct)
        assert stop_at == reached[0] or len(str(stop_at)) < len(repr(float(reached[0])))
        assert abs(stop_at - reached[0]) <= 1e-3 * abs(reached[0])
        assert len(below) == 0 or below[-1] < stop_at


def test_scores_of_many_digits_reach_a_threshold_that_can_be_said():
    scores = np.tile([0.25, 134 / 135], (40, 2))
    plan = at.sequence(log_of({"a": scores}), price=0.01)
    assert plan.stop_at == 0.9925
    assert "at least 0.9925" in plan.words
    scheduler = plan.scheduler()
    scheduler.add("x", arm="a", score=0.99249, cost=1)
    assert "so far is 0.992, below 0.9925" in scheduler.ask("x").why
    scheduler.add("x", arm="a", score=0.9925, cost=1)
    assert "is 0.993, which reaches 0.9925" in scheduler.ask("x").why
    other = replace(plan, stop_at=0.9999).scheduler()
    other.add("x", arm="a", score=0.99955, cost=1)
    assert "so far is 0.99955, below 0.9999" in other.ask("x").why


# Trying nothing, one attempt, the cheapest.


def test_trying_nothing_is_a_finding():
    log = log_of({"a": passes(120, 3, 0.4, 0), "b": passes(120, 3, 0.3, 1)}, score_range=(0, 1))
    study = at.study(log, price=3.0)
    assert study.advice[0] == (
        "Try nothing (at 3.00 per unit of cost): on the 60 tasks that plans are chosen on, no attempt earns its cost."
    )
    found = study.main.finding
    assert (found.chosen.plan, found.chosen.attempts, found.alternative) == ("nothing", 0, "a")
    held_out = log.select(tasks=[task for task in log.tasks if task not in study.plan.built_from.names])
    net = held_out.max_at_k(1, arm="a").value - 3.0
    assert -study.main.gain.value == pytest.approx(net)
    assert found.outcome == "proved"
    ends = re.search(r"The best single attempt there, a, adds (\S+) to (\S+) \(95 %\)", study.advice[1])
    assert float(ends[1]) <= net <= float(ends[2]) < 0
    assert study.advice[1].endswith(
        "to the score, less its cost, on the other 60 tasks; a task without an attempt scores 0."
    )
    nothing = study.main.score
    assert (nothing.lower, nothing.value, nothing.upper, nothing.level) == (0, 0, 0, 0.95)
    assert "nothing" not in [strategy.example for strategy in study.frontier.strategies]
    plan = at.sequence(log, price=3.0)
    assert (
        plan.words == "Try nothing: at 3.00 per unit of cost no attempt pays on the 120 tasks that this was built from."
    )
    target = at.study(log, target_score=0.0)
    assert target.advice == (
        "Try nothing (to reach a score of 0).",
        "A task without an attempt scores 0, which reaches the target.",
    )


def test_what_costs_nothing_here_may_cost_something_elsewhere():
    """Only what is not tried is known to cost nothing."""
    log = log_of({"a": passes(40, 2, 0.4, 0), "b": passes(40, 2, 0.3, 1)}, {"a": 0.0, "b": 1.0})
    study = at.study(log, price=0.1)
    assert study.plan.arms[0] == "a"
    assert study.main.cost.level is None


def test_one_attempt_is_tried_once():
    log = log_of({"a": passes(40, 1, 0.6, 0)})
    study = at.study(log, price=0.1)
    assert study.advice[0] == "Try a once (at 0.100 per unit of cost)."
    assert study.plan.words == "a, once."


def test_where_all_attempts_score_the_same_the_cheapest_is_advised():
    ones = np.ones((60, 4))
    study = at.study(log_of({"b": ones, "a": ones}, {"a": 1.0, "b": 2.0}))
    assert study.advice[0] == "Try a once: all attempts of the log score 1.00, and it costs least."
    assert "that was better than b, by 1.00, in cost, at all 30 tasks; other tasks may differ" in study.advice[1]
    assert "all attempts score 1.00" in study.notes
    assert [curve.name for curve in study.curves] == ["max@k"]  # to pass would be to score as always
    limited = at.study(log_of({"b": ones, "a": ones}, {"a": 1.0, "b": 2.0}, cost_limit=2.0, score_range=(0, 1)))
    assert limited.main.finding.outcome == "proved"
    assert re.search(r"that is better than b, by 0\.\d+ to 1\.\d+, in cost", limited.advice[1])
    alone = at.study(log_of({"a": ones}, {"a": 1.0}, score_range=(0, 1)))
    assert alone.silence.reason == "alike"
    different = at.Log.from_records([{"task": t, "score": 1, "cost": 1 + t % 3} for t in range(9)])
    assert at.study(different).advice[0] == "Try attempt once: all attempts of the log score 1.00."
    same = at.study(log_of({"a": 0 * ones, "b": 0 * ones}, {"a": 1.0, "b": 1.0}))
    assert same.advice[0] == "All attempts score the same and cost the same, so there is no advice."
    assert not [note for note in same.notes if "pass" in note]
    assert "At other prices" not in str(study)
    beyond = at.study(log_of({"a": ones, "b": ones}, {"a": 1.0, "b": 2.0}), target_score=2.0)
    assert beyond.silence.reason == "out of reach"


def test_what_passing_means_is_told_where_it_is_not_to_score_one():
    thirds = at.study(log_of({"a": 3 * passes(40, 2, 0.5, 0)}), price=0.1)
    assert "to pass is to score at least 3.00, the highest score of the log" in thirds.notes
    assert not [note for note in at.study(few(), price=0.1).notes if "to pass" in note]


# What is missing, and what stands beside it.


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({}, " without a score_range and a cost_limit"),
        ({"score_range": (0, 1)}, " without a cost_limit"),
        ({"cost_limit": 2.0}, " without a score_range"),
    ],
)
def test_what_is_missing_is_named(options, missing):
    log = log_of({"a": passes(40, 4, 0.4, 0), "b": passes(40, 4, 0.3, 1)}, {"a": 1.0, "b": 1.5}, **options)
    study = at.study(log, price=0.02)
    assert f"20 tasks are too few or too skewed for an interval{missing}." in study.advice[1]
    assert "to be sure of much" not in study.advice[1]
    assert "no range was given" not in str(study)


def test_why_the_alternative_is_a_portfolio_is_not_said_of_the_plan():
    study = at.study(few(), price=0.02)
    assert study.main.alternative.method == "portfolio"
    assert study.plan.method == "single"
    assert "at most one attempt of each arm" not in str(study).lower()
    one_each = log_of({"a": passes(20, 1, 0.4, 0), "b": passes(20, 1, 0.9, 1)})
    chosen = at.study(one_each, price=0.0001)
    if chosen.plan.method == "portfolio":
        assert "One attempt of each arm at most, since" in str(chosen)


# Differences.


def test_a_difference_that_is_the_same_at_all_tasks():
    log = log_of({"a": passes(60, 4, 0.4, 0), "b": passes(60, 4, 0.3, 1)}, {"a": 1.0, "b": 2.0})
    cost = at.difference(log, "b", "a", of="cost")
    assert cost.level is None
    assert cost.verdict == (
        "b costs more than a at all 60 tasks of the log: by 1.00 an attempt; other tasks may differ"
    )
    assert cost.finding.outcome == "unknown"
    limited = log_of({"a": passes(60, 4, 0.4, 0), "b": passes(60, 4, 0.3, 1)}, {"a": 1.0, "b": 2.0}, cost_limit=2.0)
    proved = at.difference(limited, "b", "a", of="cost")
    assert (proved.method, proved.finding.outcome) == (BETTING, "proved")
    assert proved.lower < 1 < proved.upper
    equal = at.difference(log_of({"a": np.ones((9, 1)), "b": np.ones((9, 1))}), "a", "b")
    assert equal.verdict == "a and b are equal in one attempt at all 9 tasks of the log; other tasks may differ"
    one = at.difference(log_of({"a": [[1.0]], "b": [[0.0]]}), "a", "b")
    assert "at the one task of the log" in one.verdict


def test_differences_in_cost_that_cannot_be_established():
    rows = [
        {"task": t, "arm": arm, "score": 0, "cost": 1 + (t * (3 + i)) % 7}
        for t in range(60)
        for i, arm in enumerate("ab")
    ]
    said = at.difference(at.Log.from_records(rows), "a", "b", of="cost").verdict
    assert said.startswith("no difference in cost between a and b can be established: -")
    assert " an attempt (0." in said
    short = at.difference(at.Log.from_records(rows[:20]), "a", "b", of="cost").verdict
    assert short == (
        "no difference in cost between a and b can be established: 10 tasks are too few or too skewed for an interval "
        "without a cost_limit"
    )


# Numbers in tables, and the default price.


def test_shares_and_amounts():
    assert [text.share(x) for x in (0, 0.004, 0.5, 0.996, 1)] == ["0 %", "0.40 %", "50 %", "99.60 %", "100 %"]
    assert text.share(1e-6) != "0 %"
    assert text.share(1 - 1e-6) != "100 %"
    assert text.amount(float("inf")) == "-"
    never = log_of({"a": passes(40, 2, 0.4, 0), "b": 0.5 * passes(40, 2, 0.4, 1)}, {"a": 2.0, "b": 1.0})
    assert "inf" not in str(at.frontier(never).table(every=True).columns[-2]._cells)


def test_one_verdict_in_json(capsys, tmp_path):
    study = at.study(few(), price=0.02)
    data = study.data()
    assert "verdict" not in data["frontier"]
    assert data["findings"][-1]["first"] == "choosing a sequence"
    json.dumps(data, allow_nan=False)
    assert data["advised"][1]["goal"] == {"price": 0.02}


def test_a_rare_great_score_does_not_set_the_usual_price():
    """A twentieth of the range would be 50 per attempt, and nothing would pay."""
    random = np.random.default_rng(0)
    scores = random.random((80, 4))
    great = np.where(random.random((80, 4)) < 0.01, 1000.0, random.random((80, 4)))
    log = log_of({"a": scores, "b": great})
    study = at.study(log)
    best = max_by_task(log)
    expected = 0.05 * (best.mean() - scores.mean())
    assert study.goal.price == pytest.approx(expected)
    assert study.plan.steps
    assert study.goal.price < 5
    once = at.study(log_of({"a": random.random((40, 1))}))
    assert once.goal.price > 0
    shifted = at.study(log_of({"a": scores - 50, "b": great - 50}))
    assert shifted.goal.price == pytest.approx(expected)


def max_by_task(log):
    return np.array([log.score[log.task == t].max() for t in range(len(log.tasks))])


def test_what_a_plan_is_for_has_its_own_numbers():
    """Every number of the advice is the plan's own, with a budget as with a price."""
    log = specialists(60, 3, 1)
    study = at.study(log, budget=4.0)
    for one in study.advised:
        held = log.select(tasks=[task for task in log.tasks if task not in one.plan.built_from.names])
        earned = follow(held, one.plan.arms, walk.Scoring(one.plan.stop_at, one.plan.default_score, 1.0))
        assert one.score.value == pytest.approx(earned.score.mean())
        assert one.cost.value == pytest.approx(earned.cost.mean())
    assert (study.main.finding.aim.budget, study.main.finding.aim.target_score) == (4.0, None)
    assert "(for a budget of 4 a task)" in study.advice[0]


def test_a_budget_that_pays_is_not_refused_for_a_fold():
    """The tasks of a fold may be dearer than all of them are on average."""
    rng = np.random.default_rng(0)
    rows = [
        {"task": t, "arm": arm, "score": float(rng.random() < 0.6), "cost": float(rng.choice([0.1, 0.3]))}
        for t in range(40)
        for arm in ("a", "b")
        for _ in range(3)
    ]
    log = at.Log.from_records(rows)
    cheapest = min(float(log.cost[log.arm == a].mean()) for a in range(2))
    plan = at.sequence(log, budget=cheapest + 1e-6)
    assert plan.arms


# The words of the code itself.

OLD = ("Desk", "load_desk", "Ask", "recorded", "Offer")
BANNED = re.compile("worth|enough|paid|found|in_hand")


def test_old_names_are_gone():
    assert not set(OLD) & set(dir(at))
    log = log_of({"a": [[0, 1], [1, 1]]})
    for call in (
        lambda: log.select(least=1),
        lambda: log.pass_at_k(1, passed=1.0),
        lambda: log.max_at_k(1, proved=True),
        lambda: at.sequence(log, reach=0.5),
        lambda: at.sequence(log, price=1.0, most=1),
        lambda: at.sequence(log, price=1.0, nothing=0.0),
        lambda: at.Log.from_records([], unscored=0.0),
        lambda: at.sequence(log, price=1.0).scheduler(pot=1.0, tasks=2),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


def identifiers(tree):
    """Names that a module gives: of arguments, variables, attributes, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_identifiers_are_technical_nouns():
    """No value is called a worth, no cost paid, no best score in hand."""
    folder = Path(at.__file__).parent
    banned = {
        f"{file.name}: {name}"
        for file in folder.rglob("*.py")
        for name in identifiers(ast.parse(file.read_text()))
        if BANNED.search(name.lower())
    }
    assert banned == set()
    assert set(identifiers(ast.parse("def f(a): b.paid(c=d)"))) == {"f", "a", "b", "paid", "c", "d"}


def several(arms):
    """A log of several arms with whole scores."""
    rng = np.random.default_rng(3)
    rows = [
        {"task": t, "arm": f"arm {a:02}", "score": int(rng.integers(0, 4 + a)), "cost": 1 + a}
        for t in range(30)
        for a in range(arms)
        for _ in range(4)
    ]
    return at.Log.from_records(rows)


def test_thirteen_arms_are_all_drawn_and_five_have_colours():
    pytest.importorskip("altair", reason="pages need the extra page")
    from maxatk.report.page import study_charts

    curve = several(13).max_at_k([1, 2, 4])
    chart = study_charts.curve(curve)
    text = json.dumps(chart)
    assert all(f"arm {a:02}" in text for a in range(13))
    [scale] = {
        json.dumps(layer["encoding"]["color"]["scale"]) for layer in chart["layer"] if "color" in layer["encoding"]
    }
    shades = json.loads(scale)["range"]
    assert len(shades) == 13
    assert len(set(shades[:5])) == 5
    assert set(shades[5:]) == {study_charts.GREY}
    assert study_charts.greyed(curve) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "told"), [(6, "the other one is grey"), (13, "the other 8 are grey")])
def test_arms_that_are_grey_are_counted(arms, told, tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    at.study(several(arms)).page(tmp_path / "x.html")
    assert told in (tmp_path / "x.html").read_text()


@pytest.mark.slow  # a browser
@pytest.mark.parametrize("arms", [6, 13])
def test_labels_of_curves_stand_alone(arms, browser, tmp_path):
    """Curves have names at their ends, so that a legend would say them twice, and over them."""
    pytest.importorskip("altair", reason="pages need the extra page")
    at.study(several(arms)).page(tmp_path / "x.html")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((tmp_path / "x.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    assert page.eval_on_selector_all("#curve0 .role-legend", "all => all.length") == 0
    boxes = page.eval_on_selector_all(
        "#curve0 svg text",
        """all => all.filter(one => one.textContent && one.closest("[opacity='0']") === null).map(one => {
            const { left, right, top, bottom } = one.getBoundingClientRect();
            return [one.textContent, left, right, top, bottom];
        })""",
    )
    page.close()
    assert sum(box[0].startswith("arm ") for box in boxes) == 5
    over = [
        (one[0], other[0])
        for one, other in itertools.combinations(boxes, 2)
        if min(one[2], other[2]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[3], other[3]) > 3
    ]  # a box is as high as a line, a pixel or two more than its letters
    assert over == []


@pytest.mark.slow
def test_solved_is_said_only_where_scores_pass_or_fail(tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    at.study(at.example_log()).page(tmp_path / "graded.html")
    graded = (tmp_path / "graded.html").read_text()
    assert "cost per solved<th" not in graded
    assert "which is not advised" in graded


def test_solved_is_a_column_only_where_scores_pass_or_fail(capsys):
    graded = at.frontier(at.example_log().select(arms=["L-BFGS-B", "DE"]), max_per_arm=2)
    passing = at.frontier(at.example_judged_log(), max_per_arm=2)
    assert (graded.passing, passing.passing) == (False, True)
    assert "solved" not in str(graded)
    assert "cost per solved" in str(passing)
    given = at.frontier(at.example_log().select(arms=["L-BFGS-B", "DE"]), max_per_arm=2, pass_threshold=0.9)
    assert "cost per solved" in str(given)


@pytest.mark.slow
@pytest.mark.parametrize("width", [70, 80, 100, 120])
def test_names_are_never_broken(width):
    names = ["basin-hopping", "a-model-with-a-long-name-7b"]
    log = log_of({name: passes(40, 4, 0.4, seed) for seed, name in enumerate(names)})
    shown = as_text(at.study(log, price=0.02).show(every=True), width=width)
    for line in shown.splitlines():
        assert len(line) <= width
        for name in names:
            for size in range(3, len(name)):
                assert not re.search(rf"(?<![\w-]){re.escape(name[:size])}(\s|$)", line), line
