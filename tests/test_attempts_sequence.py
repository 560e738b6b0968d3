"""Differences, sequences, replay and the frontier: what they choose, and what they claim."""

import itertools
import math
import warnings

import numpy as np
import pytest

import maxatk as mk
from attempt_worlds import ladder, specialists, twins
from maxatk import attempts as at
from maxatk.attempts.estimates.intervals import T
from maxatk.attempts.sequences import builder, paths, replay, strategies, walk
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.goal import Goal

# Curves and differences.


def test_a_curve_by_hand():
    rows = [
        {"task": t, "arm": "x", "score": s, "cost": 1}
        for t, scores in ((1, (0, 1)), (2, (0, 0)), (3, (1, 1)))
        for s in scores
    ]
    rows += [{"task": t, "arm": "y", "score": 1, "cost": 1} for t in (1, 2, 3) for _ in range(2)]
    log = at.Log.from_records(rows)
    curve = log.max_at_k([1, 2], arm="x")
    assert [(p.arm, p.k, p.value, p.tasks) for p in curve] == [("x", 1, 0.5, 3), ("x", 2, pytest.approx(2 / 3), 3)]
    assert curve.value == [0.5, pytest.approx(2 / 3)]
    assert (curve.k, curve.tasks, curve.arm) == ([1, 2], [3, 3], ["x", "x"])
    assert all(low <= value <= high for low, value, high in zip(curve.lower, curve.value, curve.upper, strict=True))
    one = log.pass_at_k(2, pass_threshold=1.0, arm="x")
    assert (one.k, one.tasks, one.value) == (2, 3, pytest.approx(2 / 3))
    assert log.pass_hat_k(2, arm="x").value == pytest.approx(1 / 3)
    assert [p.arm for p in log.max_at_k(1)] == ["x", "y"]
    assert log.max_at_k(1).value == [0.5, 1.0]
    assert str(curve).splitlines()[0].split() == ["k", "max@k", "interval", "tasks", "by"]
    assert str(log.max_at_k([1, 2])).splitlines()[0].split() == ["arm", "max@1", "max@2", "tasks", "by"]
    assert repr(curve) == "Curve(max@k, 2 rows)"
    assert curve[-1].k == 2


def test_differences_are_paired_by_task():
    """A difference that is the same at every task is seen however much tasks differ."""
    rng = np.random.default_rng(0)
    level = rng.uniform(0, 0.8, 60)
    rows = [
        {"task": t, "arm": arm, "score": level[t] + more + 0.01 * rng.random(), "cost": c}
        for t in range(60)
        for arm, more, c in (("a", 0.1, 2.0), ("b", 0.0, 3.0))
        for _ in range(2)
    ]
    log = at.Log.from_records(rows, cost_limit=3.0)
    difference = at.difference(log, "a", "b", k=2)
    assert difference.value == pytest.approx(0.1, abs=0.005)
    assert difference.upper - difference.lower < 0.01
    assert difference.verdict.startswith("a is better than b in the best of 2: by 0.09")
    assert at.difference(log, "b", "a").verdict.startswith("b is worse than a in one attempt: by 0.09")
    apart = [log.max_at_k(2, arm=arm) for arm in "ab"]
    assert max(apart[0].lower, apart[1].lower) < min(apart[0].upper, apart[1].upper)  # unpaired, nothing would be seen
    cost = at.difference(log, "a", "b", of="cost")
    assert cost.value == -1
    assert cost.verdict == "a costs less than b: by 0.72 to 1.16 an attempt"
    assert cost.ratio == pytest.approx((2 / 3, 2 / 3))
    passes = at.difference(log, "a", "b", pass_threshold=0.5)
    by_hand = np.mean([level[t] + 0.1 >= 0.5 for t in range(60)]) - np.mean(level >= 0.5)
    assert passes.value == pytest.approx(by_hand, abs=0.03)


def test_power_of_pairing():
    """A difference of about 0.07 at 200 tasks is found far more often paired than not."""
    rng = np.random.default_rng(1)
    paired = unpaired = 0
    for _ in range(40):
        difficulty = rng.beta(0.6, 0.8, 200)
        a, b = (rng.random((200, 4)) < share * difficulty[:, None] for share in (0.9, 0.7))
        rows = [
            {"task": t, "arm": arm, "score": float(x), "cost": 1}
            for arm, d in (("a", a), ("b", b))
            for t in range(200)
            for x in d[t]
        ]
        log = at.Log.from_records(rows)
        paired += at.difference(log, "a", "b", k=4).lower > 0
        x, y = log.max_at_k(4, arm="a"), log.max_at_k(4, arm="b")
        reach = math.hypot(x.upper - x.value, y.upper - y.value)
        unpaired += x.value - y.value > reach
    assert paired >= unpaired + 10


def test_several_differences_at_once_pay_for_it():
    log = specialists(60, 3, 4)
    together = at.differences(log, k=2)
    assert len(together) == 3
    for row in together:
        alone = at.difference(log, row.first, row.second, k=2, level=1 - 0.05 / 3)
        assert (row.value, row.lower, row.upper) == (alone.value, alone.lower, alone.upper)
        single = at.difference(log, row.first, row.second, k=2)
        assert row.lower < single.lower
        assert row.value >= 0
    best = together[0].first
    assert {row.first for row in together.of_the_best} == {best}
    assert len(together.of_the_best) == 2
    assert str(together).count("\n") == 3
    assert [row.value for row in together] == sorted((row.value for row in together), reverse=True)


def test_no_difference_says_how_many_tasks_it_would_take():
    log = twins(60, 2, 1)
    difference = at.difference(log, "left", "right")
    assert "no difference between left and right in one attempt can be established" in difference.verdict
    spread = np.std([a - b for a, b in zip(*(_means(log, arm) for arm in ("left", "right")), strict=True)], ddof=1)
    needed = ((1.959964 + 0.841621) * spread / difference.value) ** 2
    assert difference.tasks_needed == math.ceil(needed)


def _means(log, arm):
    number = log.arms.index(arm)
    return [log.score[(log.task == t) & (log.arm == number)].mean() for t in range(len(log.tasks))]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: at.difference(log, "small", "small"), "'small' cannot be compared with itself"),
        (lambda log: at.difference(log, "smal", "big"), "there is no arm 'smal': did you mean 'small'?"),
        (lambda log: at.difference(log, "small", "big", k=9), "k = 9 is more than the 2 attempts of arm 'small' at"),
        (lambda log: at.difference(log, "small", "big", of="luck"), "of must be score, cost or seconds, not 'luck'"),
        (lambda log: at.difference(log, "small", "big", k=2, of="cost"), "cost is compared for one attempt"),
        (lambda log: at.difference(log, "small", "big", of="seconds"), "does not have the seconds of every attempt"),
        (lambda log: at.difference(log, "small", "big", interval="sure"), "interval must be one of usual, proved, not"),
        (lambda log: at.differences(log, interval=True), "interval must be one of usual, proved, not True"),
        (lambda log: at.cross_replay(log, price=1, interval="auto"), "interval must be one of usual, proved, not"),
        (lambda log: at.differences(log.select(arms=["big"])), "the log has only one arm"),
        (lambda log: at.sequence(log), r"give one of price \(per unit of cost\), budget \(per task\) and target_score"),
        (lambda log: at.sequence(log, price=1, budget=1), "give one of price"),
        (lambda log: at.sequence(log, price=-1), "price must not be negative, but is -1"),
        (lambda log: at.sequence(log, price=float("nan")), "price must be finite"),
        (lambda log: at.sequence(log, price="a"), "price must be a real number, not 'a'"),
        (lambda log: at.sequence(log, budget=0), "budget must be positive, but is 0"),
        (lambda log: at.sequence(log, budget=1e-9), "a budget of 1e-09 per task does not cover one attempt"),
        (lambda log: at.sequence(log, target_score=1.5), "no sequence scores 1.5 on these tasks: the best has 0."),
        (lambda log: at.sequence(log, price=1, method="magic"), "method must be one of auto, greedy, exact, portfolio"),
        (lambda log: at.sequence(log, price=1, max_per_arm=0), "max_per_arm must be at least 1, not 0"),
        (lambda log: at.sequence(log, price=1, stop_at="x"), "stop_at must be a real number"),
        (lambda log: at.frontier(log.select(tasks=["1"])), "a frontier needs at least two tasks"),
        (lambda log: at.frontier(log, max_per_arm=0), "max_per_arm must be at least 1"),
        (lambda log: at.load_sequence("/nowhere"), "/nowhere: cannot be read: No such file"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(mk.InputError, match=message) as caught:
        call(ladder(40, 2, 0))
    assert "\n" not in str(caught.value)


# Goals: brute force over everything that could have been chosen.


@pytest.fixture(scope="module")
def small_log():
    return specialists(40, 2, 3).select(arms=["algebra", "search"])


def _every(log, thresholds, tune):
    """(score, cost) of every sequence at every threshold."""
    tune(fewest_reaching=0.0)
    earned = []
    for stop_at in thresholds:
        prepared = walk.PreparedLog(log, walk.Scoring(stop_at, 0.0))
        for length in range(5):
            for one in itertools.product(range(2), repeat=length):
                if all(one.count(arm) <= 2 for arm in range(2)):
                    path = paths.along(prepared, one)
                    earned.append((path.score[-1], path.cost[-1]))
    return np.array(earned)


@pytest.mark.parametrize("price", [0.0, 0.01, 0.05, 0.2, 5.0])
def test_exact_is_the_best_for_a_price(small_log, price, tune):
    every = _every(small_log, [0.8], tune)
    plan = at.sequence(small_log, price=price, method="exact", stop_at=0.8)
    assert plan.score - price * plan.cost == pytest.approx((every[:, 0] - price * every[:, 1]).max(), abs=1e-10)
    net = plan.score - price * plan.cost
    for method in ("greedy", "single", "portfolio"):
        other = at.sequence(small_log, price=price, method=method, stop_at=0.8)
        assert other.score - price * other.cost <= net + 1e-10
    if price == 5.0:
        assert plan.arms == []
        assert plan.words.startswith("Try nothing: at 5.00 per unit of cost no attempt pays")


@pytest.mark.parametrize("budget", [1.5, 2.5, 4.0, 100.0])
def test_a_budget_is_kept(small_log, budget):
    for method in ("greedy", "single", "portfolio", "exact"):
        plan = at.sequence(small_log, budget=budget, method=method, stop_at=0.8)
        assert plan.cost <= budget
        assert plan.goal.budget == budget
        assert plan.single.cap >= 1
    whole = at.sequence(small_log, budget=budget, method="greedy", stop_at=0.8)
    if whole.further:  # the next attempt would not have been made, and its gain per cost is the price
        assert whole.cost + whole.further[0].reached * whole.further[0].cost > budget
        assert whole.price == pytest.approx(whole.further[0].gain_per_cost)
    else:
        assert whole.price == 0


def test_a_score_is_reached_for_as_little_as_possible(small_log):
    prepared = walk.PreparedLog(small_log, walk.Scoring(0.8, 0.0))
    path = paths.greedy(prepared, walk.caps(small_log))
    for length in range(1, len(path.arms) + 1):
        plan = at.sequence(small_log, target_score=path.score[length], method="greedy", stop_at=0.8)
        assert plan.score >= path.score[length] - 1e-12
        assert plan.cost <= path.cost[length] + 1e-12
        assert plan.goal.target_score == path.score[length]
        assert plan.price == pytest.approx(plan.steps[-1].gain_per_cost)
    assert at.sequence(small_log, target_score=0.0, method="greedy").arms == []


def test_of_equal_beginnings_the_cheapest_is_taken():
    def path(*points):
        return paths.SequencePath(
            1.0, tuple(range(len(points) - 1)), (1.0,) * (len(points) - 1), *zip(*points, strict=True)
        )

    candidates = [path((0.0, 0.0), (0.5, 1.0), (0.6, 2.0)), path((0.0, 0.0), (0.5, 0.5), (0.6, 3.0))]
    assert Goal(price=0.1).best(candidates) == (candidates[1], 1)
    assert Goal(budget=2.5).best(candidates) == (candidates[0], 2)
    assert Goal(target_score=0.55).best(candidates) == (candidates[0], 2)
    assert Goal(target_score=0.4).best(candidates) == (candidates[1], 1)
    assert Goal(price=10.0).best(candidates)[1] == 0


def test_what_the_steps_say_is_what_the_tasks_say(small_log):
    plan = at.sequence(small_log, price=0.02, method="greedy")
    for length, step in enumerate(plan.steps):
        before = follow(small_log, plan.arms[:length], walk.Scoring(plan.stop_at, plan.default_score, plan.stop_at))
        after = follow(small_log, plan.arms[: length + 1], walk.Scoring(plan.stop_at, plan.default_score, plan.stop_at))
        alive = 1 - before.solved
        assert step.reached == pytest.approx(alive.mean())
        assert step.gain * step.reached == pytest.approx((after.score - before.score).mean())
        assert step.cost * step.reached == pytest.approx((after.cost - before.cost).mean())
    out = follow(small_log, plan.arms, walk.Scoring(plan.stop_at, plan.default_score, 1.0))
    assert (plan.score, plan.cost) == pytest.approx((out.score.mean(), out.cost.mean()))
    assert "stop as soon as one scores at least" in str(plan)


def test_the_single_rival_is_the_best_capped_arm():
    log = specialists(60, 4, 7)
    for price in (0.005, 0.03, 0.1):
        plan = at.sequence(log, price=price)
        best = -np.inf
        for stop_at in paths.thresholds(log):
            for arm in log.arms:
                for cap in range(5):
                    out = follow(log, [arm] * cap, walk.Scoring(stop_at, 0.0, 1.0))
                    best = max(best, out.score.mean() - price * out.cost.mean())
        one = follow(log, plan.single.arms, walk.Scoring(plan.single.stop_at, 0.0, 1.0))
        assert one.score.mean() - price * one.cost.mean() == pytest.approx(best, abs=2e-3)  # paths stop at two tasks


def test_few_tasks_make_a_portfolio_and_a_warning():
    log = specialists(29, 3, 0)
    with pytest.warns(
        at.AttemptsWarning, match="29 tasks are few to build a sequence from: below 30 tasks the plan is a portfolio"
    ):
        plan = at.sequence(log, price=0.02)
    assert plan.method == "portfolio"
    assert len(set(plan.arms)) == len(plan.arms)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert at.sequence(log, price=0.02, method="greedy").method == "greedy"
        assert at.sequence(specialists(30, 3, 0), price=0.02).method != "portfolio"
        assert at.sequence(log.select(arms=["general"]), price=0.02).method == "single"


def test_richer_methods_need_a_standard_error(monkeypatch):
    """Against greedy's 0 the others have ±0.1, task by task, and a shift: a standard error is 0.1/√40, about 0.016."""
    log, shift = specialists(40, 3, 2), {}

    def told(_, method, fold, plan):
        noise = 0.1 * (-1.0) ** np.arange(len(fold.rows))
        return np.zeros(len(fold.rows)) if method == "greedy" else shift[method] + noise

    monkeypatch.setattr(builder, "_net", told)
    for single, exact, chosen in (
        (-0.5, -0.5, "greedy"), (0.010, 0.0, "greedy"), (0.022, 0.0, "single"), (0.022, 0.03, "exact"),
    ):  # fmt: skip
        shift.update(single=single, exact=exact)
        plan = at.sequence(log, price=0.02)
        assert plan.method == chosen
        if chosen == "single":
            assert "one arm with a cap was better than a greedy sequence by 1.4 standard errors" in plan.why
            assert plan.arms == plan.single.arms


def test_too_many_combinations_for_the_best_sequence(tune):
    tune(most_combinations=50)
    with pytest.raises(mk.TooLargeError, match="64 combinations of attempts are too many to find the best sequence"):
        at.sequence(specialists(40, 3, 2), price=0.02, method="exact")


def test_thresholds():
    log = at.Log.from_records([{"task": t, "score": s, "cost": 1} for t in range(3) for s in (0, 1)])
    assert paths.thresholds(log) == [1.0]
    graded = specialists(40, 4, 0)
    thresholds = paths.thresholds(graded)
    assert thresholds[-1] == graded.top
    assert len(thresholds) <= paths.THRESHOLDS + 1
    assert set(thresholds) <= set(graded.score)
    assert min(thresholds) > graded.score.min()


# Replay.


def test_a_replay_is_what_follows_say():
    train, held = specialists(60, 3, 1), specialists(50, 3, 2, first=100)
    plan = at.sequence(train, price=0.03, method="greedy")
    replayed = plan.replay(held)
    mine = follow(held, plan.arms, walk.Scoring(plan.stop_at, 0.0, held.top))
    one = follow(held, plan.single.arms, walk.Scoring(plan.single.stop_at, 0.0, held.top))
    assert replayed.score.value == pytest.approx(mine.score.mean())
    assert replayed.cost.value == pytest.approx(mine.cost.mean())
    assert replayed.net.value == pytest.approx((mine.score - 0.03 * mine.cost).mean())
    assert replayed.gain.value == pytest.approx((mine.score - one.score - 0.03 * (mine.cost - one.cost)).mean())
    assert replayed.single.score_gain.value == pytest.approx((mine.score - one.score).mean())
    assert replayed.solved == pytest.approx(mine.solved.mean())
    assert (replayed.tasks, replayed.exhausted, replayed.single.same) == (50, 0, False)
    assert replayed.score.proved  # the range of scores is known
    assert replayed.cost.method in (T, "betting, on the range seen")
    limited = at.Log.from_records(_records(held), cost_limit=100.0, score_range=(0, 1))
    assert plan.replay(limited).gain.proved
    assert plan.replay(limited).gain.lower <= replayed.gain.value <= plan.replay(limited).gain.upper
    assert replayed.gain.method in (T, "betting, on the range seen")
    with pytest.raises(mk.InputError, match="proved intervals need a score_range and a cost_limit"):
        plan.replay(held, interval="proved")
    with pytest.raises(mk.InputError, match="interval must be one of auto, usual, proved, not None"):
        plan.replay(held, interval=None)
    assert plan.replay(limited, interval="proved") == plan.replay(limited)  # the log has all that proofs need
    assert replayed.net.lower <= replayed.net.value <= replayed.net.upper
    assert "Held out: 50 tasks" in str(replayed)


def _records(log):
    return [
        {"task": log.tasks[t], "arm": log.arms[a], "score": s, "cost": c}
        for t, a, s, c in zip(log.task, log.arm, log.score, log.cost, strict=True)
    ]


def _plan(arms, stop_at=1.0, price=1.0, single=("x", 1), cost=1.0):
    steps = tuple(at.Step(arm, 1.0, 0.1, cost) for arm in arms)
    capped = at.Capped(*single, stop_at)
    built_from = at.BuiltFrom(50, frozenset(), {"x": cost, "y": cost})
    return at.SequencePlan(
        steps, (), stop_at, price, at.Goal(price=price), "greedy", "", capped, 0.0, built_from
    )  # fmt: skip


def test_where_a_log_runs_out_the_interval_allows_for_everything():
    """R14: two draws, score 0, cost 1, one of them logged: between -2 and what a success would bring; cut, it is -1."""
    log = at.Log.from_records(
        [{"task": t, "arm": "x", "score": 0.0, "cost": 1.0} for t in range(60)], score_range=(0, 1), cost_limit=1.0
    )
    replayed = _plan(["x", "x"]).replay(log)
    assert replayed.exhausted == 60
    assert replayed.net.value == -1
    assert replayed.net.lower <= -2 + 1e-9
    assert replayed.net.upper >= 0 - 1e-9  # had the second attempt reached 1, for nothing
    assert replayed.score.lower == pytest.approx(0, abs=0.1)
    assert replayed.score.upper == pytest.approx(1, abs=1e-6)
    assert (replayed.cost.value, replayed.cost.lower < 1.1, replayed.cost.upper) == (
        1,
        True,
        pytest.approx(2, abs=1e-6),
    )
    assert "too few attempts in the log" in str(replayed)
    whole = _plan(["x"]).replay(log)
    assert whole.exhausted == 0
    assert whole.single.same
    assert whole.verdict == "the sequence is x × 1 itself"
    assert (whole.gain.lower, whole.gain.upper) == (0, 0)


def test_runs_out_only_where_the_threshold_was_not_reached():
    rows = [{"task": t, "arm": "x", "score": float(t % 2), "cost": 1.0} for t in range(60)]
    replayed = _plan(["x", "x"]).replay(at.Log.from_records(rows, cost_limit=1.0))
    assert replayed.exhausted == 30
    assert replayed.score.value == 0.5
    assert replayed.cost.value == 1


def test_verdicts():
    rows = [
        {"task": t, "arm": arm, "score": float((t * 7 + i) % n == 0), "cost": c}
        for t in range(300)
        for arm, n, c in (("x", 10, 1.0), ("y", 2, 1.0))
        for i in range(2)
    ]
    log = at.Log.from_records(rows, cost_limit=1.0, score_range=(0, 1))
    better = _plan(["y", "y"], price=0.1, single=("x", 2)).replay(log)
    assert better.verdict.startswith("the sequence is better than x × 2: by 0.")
    worse = _plan(["x", "x"], price=0.1, single=("y", 2)).replay(log)
    assert worse.verdict.startswith("the sequence is worse than y × 2: by 0.")
    level = _plan(["y", "y"], price=0.1, single=("y", 1)).replay(log.select(tasks=log.tasks[:6]))
    assert level.verdict.startswith("no difference between the sequence and y × 1 can be established: -")
    unknown = _plan(["y", "y"], price=0.1, single=("y", 1)).replay(at.Log.from_records(rows[:24]))
    assert unknown.verdict == (
        "the sequence is better than y × 1 at all 6 tasks of the log: by 0.450 a task, score less cost at its price; "
        "other tasks may differ"
    )
    unsure = _plan(["y", "y"], price=0.1, single=("x", 1)).replay(at.Log.from_records(rows[:24]))
    without = "6 tasks are too few or too skewed for an interval without a score_range and a cost_limit"
    assert unsure.verdict == f"no difference between the sequence and x × 1 can be established: {without}"


def test_cross_replay_never_sees_the_tasks_that_it_judges(monkeypatch):
    log, seen = specialists(40, 3, 5), []
    build = builder.PlanBuilder.plan

    def watched(self, method, why=""):
        plan = build(self, method, why)
        seen.append((plan, set(self._log.tasks)))
        return plan

    checked = []

    def judged(held, arms, scoring):
        if len(held.tasks) == 8:  # a fold of the five
            sources = [tasks for plan, tasks in seen if (plan.arms == list(arms) or plan.single.arms == list(arms))]
            assert any(not tasks & set(held.tasks) and len(tasks) == 32 for tasks in sources)
            checked.append(1)
        return follow(held, arms, scoring)

    monkeypatch.setattr(builder.PlanBuilder, "plan", watched)
    monkeypatch.setattr(replay, "follow", judged)
    replayed = at.cross_replay(log, price=0.03, method="greedy")
    assert len(checked) == 10
    assert replayed.tasks == 40
    assert at.cross_replay(log, price=0.03, method="greedy", rng=0) == replayed


@pytest.mark.parametrize("goal", [{"budget": 6.0}, {"target_score": 0.5}, {"price": 0.03}])
def test_a_fold_is_judged_at_the_price_of_its_other_tasks(goal):
    """The price that follows from a budget used to be that of all tasks, held-out ones included.

    So was what a task without an attempt counts as, where nobody says how low scores can be.
    """
    rows = [
        {"task": t, "arm": a, "score": 3 * s, "cost": c}
        for log in [ladder(40, 4, 3)]
        for t, a, s, c in zip(log.task, np.array(log.arms)[log.arm], log.score, log.cost, strict=True)
    ]
    log = at.Log.from_records([*rows, {**rows[0], "score": -50.0}])
    replayed = at.cross_replay(log, method="greedy", **goal)
    alone = [(at.sequence(rest, method="greedy", **goal), held_out) for rest, held_out in log.folds(5, 0)]
    share = [len(held_out.tasks) / 40 for _, held_out in alone]
    parts = [plan.replay(held_out) for plan, held_out in alone]
    for name in ("score", "cost", "net", "gain"):
        expected = np.dot(share, [getattr(part, name).value for part in parts])
        assert getattr(replayed, name).value == pytest.approx(expected, abs=1e-12)
    assert replayed.price == pytest.approx(np.dot(share, [plan.price for plan, _ in alone]))
    assert {plan.default_score for plan, _ in alone} == {0.0, -50.0}


def test_parts_of_a_log_are_built_from_like_the_log():
    """Of 32 tasks a fold leaves 25: they are too few to be planned from alone, but the log is not."""
    log = specialists(32, 3, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replayed = at.cross_replay(log, price=0.01)
    assert replayed.attempts > 3 or not replayed.single.same
    few = specialists(20, 3, 5)
    with pytest.warns(at.AttemptsWarning, match="20 tasks are few"):
        replayed = at.cross_replay(few, price=0.001)
    assert replayed.attempts <= 3


@pytest.mark.slow
def test_a_sequence_beats_one_arm_where_arms_differ_and_not_where_they_are_twins():
    different = at.cross_replay(specialists(150, 6, 1), price=0.02)
    assert different.gain.lower > 0
    assert different.verdict.startswith("the sequence is better than")
    equal_arms = at.cross_replay(twins(150, 8, 1), price=0.2)
    assert not equal_arms.single.cut
    assert equal_arms.gain.lower <= 0
    assert "can be established" in equal_arms.verdict or equal_arms.single.same


def test_a_log_that_cuts_one_arm_short_is_no_proof_against_it():
    """With two equal arms of six attempts each, a sequence has twelve; that is no merit of switching."""
    log = twins(120, 6, 1)
    plan = at.sequence(log, price=0.001, method="greedy")
    assert plan.single.cut
    assert plan.single.cap == 6
    assert plan.single.words == f"{plan.single.arm} × 6 (all that were logged; more might pay)"
    replayed = at.cross_replay(log, price=0.001)
    assert replayed.single.cut
    assert "note that the log has no more attempts of that arm" in replayed.verdict or replayed.gain.lower <= 0
    assert not at.sequence(log, price=0.5).single.cut
    cheap = at.sequence(log, budget=1.0)
    assert not cheap.single.cut
    assert at.sequence(log, budget=1000.0).single.cut
    assert at.sequence(log, target_score=at.sequence(log, budget=1000.0).score).single.cut


# The frontier.


@pytest.fixture(scope="module")
def small_frontier():
    log = specialists(60, 4, 1)
    return log, at.frontier(log)


def test_the_frontier_has_every_arm_and_cap(small_frontier):
    log, front = small_frontier
    names = {strategy.name for strategy in front.strategies}
    for arm in log.arms:
        for cap in range(1, 5):
            assert (arm if cap == 1 else f"{arm} × {cap}") in names
    for strategy in front.strategies:
        if strategy.family == "one arm":
            arm, _, cap = strategy.name.partition(" × ")
            out = follow(log, [arm] * int(cap or 1), walk.Scoring(log.top, 0.0, log.top))
            assert strategy.score.value == pytest.approx(out.score.mean())
            assert strategy.cost.value == pytest.approx(out.cost.mean())
            assert strategy.solved == pytest.approx(out.solved.mean())
            assert strategy.cost_per_solved.value == pytest.approx(out.cost.mean() / out.solved.mean())
            _, low, high = strategy.cost_per_solved
            assert low <= strategy.cost_per_solved.value <= high
    assert {strategy.family for strategy in front.strategies} == {"one arm", "pair", "portfolio", "sequence"}
    assert [strategy.cost.value for strategy in front.strategies] == sorted(
        strategy.cost.value for strategy in front.strategies
    )


def test_what_dominates_what(small_frontier):
    _, front = small_frontier
    by_name = {strategy.name: strategy for strategy in front.strategies}
    for strategy in front.strategies:
        above = [
            other for other in front.strategies
            if other is not strategy and other.score.value >= strategy.score.value
            and other.cost.value <= strategy.cost.value
            and (other.score.value, other.cost.value) != (strategy.score.value, strategy.cost.value)
        ]  # fmt: skip
        assert (strategy.dominated is None) == (not above)
        if above:
            assert by_name[strategy.dominated.by] in above
    assert front.efficient == [strategy for strategy in front.strategies if strategy.dominated is None]
    said = "no difference between choosing a sequence and choosing one arm with a cap can be established: "
    assert front.verdict.startswith(f"On average over 6 prices, {said}")
    assert f"Dominated strategies left out: {len(front.strategies) - len(front.efficient)}." in str(front)


def test_one_arm_is_as_good_where_arms_are_twins():
    front = at.frontier(twins(80, 4, 3))
    said = "no difference between choosing a sequence and choosing one arm with a cap can be established: "
    assert front.verdict.startswith(f"On average over 3 prices, {said}")


def test_prices_at_which_the_log_cuts_one_arm_short_do_not_count(monkeypatch):
    log = twins(80, 4, 3)
    front = at.frontier(log)
    assert 0 < front.fair < len(front.prices)
    monkeypatch.setattr(Goal, "cut", lambda *given: False)
    every = at.frontier(log)
    assert every.fair == len(every.prices)
    assert every.gain.value != front.gain.value
    monkeypatch.setattr(Goal, "cut", lambda *given: True)
    assert at.frontier(log).verdict.startswith("The log has too few attempts of each arm to say whether one arm alone")


def test_one_arm_alone_has_a_frontier():
    front = at.frontier(twins(40, 3, 3).select(arms=["left"]))
    assert {strategy.family for strategy in front.strategies} <= {"one arm", "sequence"}
    assert front.gain.value == pytest.approx(0, abs=1e-9)
    with pytest.raises(mk.InputError, match="all attempts of the log cost 0"):
        at.frontier(at.Log.from_records([{"task": t, "score": t % 2, "cost": 0} for t in range(9)]))


def test_seconds_are_counted_where_they_are_logged():
    rows = [
        {"task": t, "arm": "x", "score": float(i == t % 2), "cost": 1, "seconds": 10.0}
        for t in range(40)
        for i in range(2)
    ]
    log = at.Log.from_records(rows)
    front = at.frontier(log)
    by_name = {strategy.name: strategy for strategy in front.strategies}
    assert by_name["x"].seconds.value == 10
    assert by_name["x × 2"].seconds.value == 15
    assert "seconds" in str(front)
    gaps = at.Log.from_records([{**row, "seconds": None if row["task"] == 3 else 10.0} for row in rows])
    assert at.frontier(gaps).strategies[0].seconds is None  # not known of all
    with pytest.warns(
        at.AttemptsWarning, match="40 of the 40 tasks have the names of tasks that the sequence was built"
    ):
        replay = at.sequence(log, price=0.01).replay(log)
    assert replay.seconds.value == 15


# Keeping plans.


def test_plans_are_kept(tmp_path):
    for goal in ({"price": 0.02}, {"budget": 4.0}, {"target_score": 0.4}):
        plan = at.sequence(specialists(40, 3, 5), **goal)
        plan.save(tmp_path / "x.sequence")
        assert at.load_sequence(tmp_path / "x.sequence") == plan
    text = (tmp_path / "x.sequence").read_text()
    for old, new, message in (
        ("maxatk sequence", "maxatk scheduler", "its first line is not that of a maxatk sequence"),
        ('"version": 2', '"version": 9', "it has format version 9, and this maxatk reads 2"),
        ('"version": 2', '"version": 1', "it has format version 1, and this maxatk reads 2"),
        ('"stop_at": ', '"stop_at": "a", "x": ', "'a' is not a finite number"),
        ('"tasks": 40', '"tasks": -1', "tasks must be at least 1"),
        ('"plan": {', '"plan": 5, "x": {', "it does not contain a plan"),
        ('"steps": [[', '"steps": [[1, 2], [', "not enough values|too many|is not a word"),
        ("\n", "", "it has no complete line"),
        ("{", "[", "line 1 is not JSON"),
    ):
        (tmp_path / "y.sequence").write_text(text.replace(old, new, 1))
        with pytest.raises(mk.InputError, match=message) as caught:
            at.load_sequence(tmp_path / "y.sequence")
        assert "\n" not in str(caught.value)
    with pytest.raises(mk.InputError, match="cannot be written"):
        plan.save(tmp_path)
    assert strategies.PRICES == 10


def test_costs_with_a_heavy_tail_are_bet_on():
    """A mean of them may hang on tasks that the log does not have; Student's t would be too sure."""
    rng = np.random.default_rng(0)

    def log_of(costs):
        rows = [
            {"task": t, "arm": arm, "score": float(rng.random() < 0.4), "cost": float(costs[t, i])}
            for t in range(100)
            for i, arm in enumerate("aabb")
        ]
        return at.Log.from_records(rows)

    heavy, light = log_of(rng.lognormal(0, 1.2, (100, 4))), log_of(rng.gamma(4, 1, (100, 4)))
    assert heavy.heavy_costs
    assert not light.heavy_costs
    assert not at.Log.from_records([{"task": t, "score": 1} for t in range(9)]).heavy_costs
    for log, method in ((heavy, "betting, on the range seen"), (light, T)):
        replayed = at.cross_replay(log, price=0.05, method="single")
        assert replayed.single.cost.method == method
        assert replayed.net.method == method
        assert at.difference(log, "a", "b", of="cost").method == method
        assert replayed.score.method == T
        assert at.frontier(log).strategies[0].cost.method == method
