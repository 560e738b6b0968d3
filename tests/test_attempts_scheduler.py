"""The scheduler: its answers, its loop, its leases."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxatk as mk
from attempt_worlds import specialists
from maxatk import attempts as at
from maxatk.attempts.scheduler.schedule import Schedule, TaskTrace, learned
from maxatk.report.tables.fitting import as_text
from maxatk.report.tables.scheduler import progress


def plan_of(*steps, length=None, stop_at=1.0, price=0.1, budget=None, tasks=100):
    """A plan with steps (arm, reached, gain, cost), the first ``length`` of which are to be made."""
    made = tuple(at.Step(*step) for step in steps)
    length = len(made) if length is None else length
    built_from = at.BuiltFrom(tasks, frozenset(), {step.arm: 3 * step.cost for step in made})
    goal = at.Goal(price=price) if budget is None else at.Goal(budget=budget)
    single = at.Capped(made[0].arm, 1, stop_at)
    return at.SequencePlan(
        steps=made[:length], further=made[length:], stop_at=stop_at, price=price, goal=goal, method="greedy",
        why="as asked for", single=single, default_score=0.0, built_from=built_from,
    )  # fmt: skip


def tell(scheduler, task, *, arm, score, cost=None):
    """Tell of an attempt in flight of this arm; if there is none, of one that nobody asked for."""
    flying = [one for one in scheduler.state(task).in_flight if one.arm == arm] if str(task) in scheduler.known else []
    if flying:
        return scheduler.tell(flying[0].id, score=score, cost=cost)
    return scheduler.add(task, arm=arm, score=score, cost=cost)


THREE = (("small", 1.0, 0.4, 1.0), ("small", 0.6, 0.3, 1.0), ("big", 0.4, 0.5, 4.0))


def test_a_task_from_the_first_attempt_to_the_last():
    scheduler = plan_of(*THREE, ("big", 0.2, 0.2, 4.0), length=3).scheduler()
    first = scheduler.ask("t")
    assert (first.arm, first.stop, first.wait) == ("small", False, False)
    assert first.why.startswith("attempt 1 of at most 3: no result yet; at tasks that get here small adds 0.400")
    tell(scheduler, "t", arm="small", score=0.2, cost=1.5)
    assert scheduler.ask("t").arm == "small"
    tell(scheduler, "t", arm="small", score=0.1, cost=0.5)
    third = scheduler.ask("t")
    assert third.arm == "big"
    assert "the best of 2 so far is 0.200, below 1.00" in third.why
    tell(scheduler, "t", arm="big", score=0.7, cost=4.0)
    end = scheduler.ask("t")
    assert (end.arm, end.stop) == (None, True)
    assert end.why.startswith("the best score is 0.700, and one more attempt, big, would gain 0.0500 per unit of cost")
    assert end.why.endswith("while the price is 0.100")
    assert scheduler.spent == 6.0
    state = scheduler.state("t")
    assert (state.best, state.spent, state.over, len(state.told)) == (0.7, 6.0, True, 3)
    assert scheduler.ask("t").stop  # and it stays so
    assert str(end).startswith("stop: the best score is 0.700")
    assert scheduler.records()[2] == {"task": "t", "arm": "big", "score": 0.7, "cost": 4.0}


def test_a_score_at_the_threshold_ends_a_task():
    scheduler = plan_of(*THREE, stop_at=0.9).scheduler()
    scheduler.ask(7)
    tell(scheduler, 7, arm="small", score=0.9, cost=1.0)
    assert scheduler.ask(7).stop
    assert scheduler.ask("7").why == "the best score of 1 attempt is 0.900, which reaches 0.900"
    assert scheduler.known == ["7"]
    empty = plan_of(*THREE, length=0).scheduler()
    assert empty.ask("t").stop
    assert "one more attempt, small, would gain 0.400 per unit" in empty.ask("t").why


def test_several_attempts_in_flight_count_as_if_they_fell_short():
    scheduler = plan_of(*THREE).scheduler()
    asked = [scheduler.ask("t") for _ in range(4)]
    assert [attempt.arm for attempt in asked] == ["small", "small", "big", None]
    assert "2 in flight, counted as if they fell short" in asked[2].why
    assert asked[3].wait
    assert not asked[3].stop
    assert str(asked[3]).startswith("wait: ")
    tell(scheduler, "t", arm="big", score=0.5, cost=4.0)
    assert scheduler.ask("t").wait
    scheduler.drop(asked[0])  # it crashed, and may be made again
    assert scheduler.ask("t").arm == "small"
    tell(scheduler, "t", arm="small", score=0.1, cost=1.0)
    tell(scheduler, "t", arm="small", score=0.3, cost=1.0)
    assert scheduler.ask("t").stop
    assert scheduler.state("t").best == 0.5
    with pytest.raises(mk.InputError, match="attempt 2 was told: it cannot be dropped"):
        scheduler.drop(asked[1])


def test_attempts_that_nobody_asked_for_count_too():
    scheduler = plan_of(*THREE).scheduler()
    tell(scheduler, "t", arm="big", score=0.5, cost=4.0)
    assert scheduler.add("t", arm="big", score=0.6, source="run 7")
    assert not scheduler.add("t", arm="big", score=0.9, source="run 7")  # once
    assert [scheduler.ask("t").arm for _ in range(3)] == ["small", "small", None]
    assert scheduler.state("t").best == 0.6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.ask(2.0), "the name of a task must be a word or a whole number, not 2.0"),
        (lambda s: s.ask(""), "the name of a task must be"),
        (lambda s: s.ask(True), "the name of a task must be"),
        (lambda s: s.ask(1.5), "the name of a task must be"),
        (lambda s: s.add("t", arm="", score=1), "the plan has no arm '', but big, small"),
        (lambda s: s.add("t", arm="smal", score=1), "the plan has no arm 'smal': did you mean small?"),
        (lambda s: s.add("t", arm=3, score=1), "the plan has no arm 3"),
        (lambda s: s.add("t", arm="big", score=1, cost=-5), "cost must not be negative, but is -5"),
        (lambda s: s.tell(1, score=float("nan")), "score must be finite, not nan"),
        (lambda s: s.tell(1, score="1"), "score must be a real number, not '1'"),
        (lambda s: s.tell(1, score=1, cost=-1), "cost must not be negative, but is -1"),
        (lambda s: s.tell(1, score=1, cost=float("inf")), "cost must be finite"),
        (lambda s: s.tell(9, score=1), "no attempt has the id 9"),
        (lambda s: s.tell("t", score=1), "the id of an attempt must be an integer, not 't'"),
        (lambda s: s.tell(s.plan.scheduler("x.db").ask(False), score=1), "the name of a task must be"),
        (lambda s: s.state("u"), "this scheduler does not know a task 'u'"),
        (lambda s: s.cancel("u"), "this scheduler does not know a task 'u'"),
        (lambda s: s.drop(9), "no attempt has the id 9"),
        (lambda s: s.renew(1, lease=0), "lease must be above 0"),
        (lambda s: s.ask("t", wait=True, timeout=-1), "timeout must not be negative"),
        (lambda s: s.plan.scheduler(lease=-1), "lease must not be negative"),
        (lambda s: s.plan.scheduler(max_retries=-1), "max_retries must be between 0 and"),
        (lambda s: s.plan.scheduler(timeouts="never"), 'timeouts must be "retry" or "count", not \'never\''),
        (lambda s: s.plan.scheduler(total_budget=5), "total_budget needs tasks, the number of tasks that share it"),
        (lambda s: s.plan.scheduler(tasks=5), "total_budget needs tasks"),
        (lambda s: s.ask("\ud800"), "has characters that are not Unicode"),
        (lambda s: s.ask("a\0b"), "the name of a task must be a word"),
        (lambda s: s.ask(10**5000), "the name of a task must be a word or a whole number, not a int"),
        (lambda s: s.tell(10**30, score=1), "the id of an attempt must be between 1 and"),
        (lambda s: s.tell(1, score=10**400), "score is too large for a float"),
        (lambda s: s.tell(1, score=1, answer="\ud800"), "answer has characters that are not Unicode"),
        (lambda s: s.add("t", arm=[], score=1), r"the plan has no arm \[\]"),
        (lambda s: s.add("t", arm="big", score=1, source=7), "source must be a word, not 7"),
        (lambda s: s.enqueue(7), "tasks must be a list of names, not 7"),
        (lambda s: s.enqueue("abc"), "tasks must be a list of names, not 'abc'"),
        (lambda s: s.plan.scheduler(timeouts=np.arange(2)), "timeouts must be"),
        (lambda s: s.plan.scheduler(max_retries=10**5000), "max_retries must be between"),
        (lambda s: s.plan.scheduler("a\0b"), "a scheduler is kept in a file"),
        (lambda s: at.load_scheduler(None), "None: there is no such file"),
        (lambda s: s.plan.scheduler(total_budget=-1, tasks=5), "total_budget must not be negative"),
        (lambda s: s.plan.scheduler(total_budget=1, tasks=0), "tasks must be between 1 and"),
        (lambda s: s.plan.scheduler(total_budget=1, tasks=2).add("t", arm="big", score=1), "cost is required with"),
        (lambda s: at.load_scheduler("/nowhere/x"), "/nowhere/x: there is no folder /nowhere"),
        (lambda s: s.plan.scheduler("/nowhere/x"), "/nowhere/x: there is no folder /nowhere"),
        (lambda s: s.plan.scheduler("/tmp"), "/tmp: a folder, not a file"),
        (lambda s: s.plan.scheduler(3), "a scheduler is kept in a file or at postgresql://..., not in 3"),
        (lambda s: s.plan.scheduler("postgresql://h?x=1"), "not the address of a PostgreSQL database"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scheduler = plan_of(*THREE).scheduler()
    scheduler.ask("t")
    before = scheduler.state("t")
    with pytest.raises(mk.InputError, match=message) as caught:
        call(scheduler)
    assert "\n" not in str(caught.value)
    assert scheduler.state("t") == before


# The schedule.


some_steps = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.floats(0.05, 1), st.floats(0, 1), st.floats(0.1, 5)),
    min_size=1,
    max_size=6,
).map(lambda some: [at.Step(arm, r, g, c) for arm, r, g, c in sorted(some, key=lambda s: -s[1])])


@given(some_steps, st.floats(0, 3))
def test_the_schedule_is_cut_at_the_best_place(steps, price):
    schedule = Schedule(steps)

    def net(start, stop):
        return sum(s.reached * (s.gain - price * s.cost) for s in steps[start:stop])

    for start in range(len(steps) + 1):
        best = max(net(start, stop) for stop in range(start, len(steps) + 1))
        assert net(start, schedule.cut(price, start)) == pytest.approx(best, abs=1e-9)
        stop = schedule.cut(price, start)
        if start < len(steps):
            expected = sum(s.reached * s.cost for s in steps[start:stop]) / steps[start].reached
            assert schedule.cost(start, stop) == pytest.approx(expected)


@given(some_steps, st.dictionaries(st.integers(0, 5), st.integers(1, 5), max_size=3), st.floats(0, 60))
def test_the_shadow_price_is_the_lowest_that_the_budget_covers(steps, waiting, money):
    schedule = Schedule(steps)
    waiting = {start: n for start, n in waiting.items() if start <= len(steps)}

    def spent(price):
        return sum(n * schedule.cost(start, schedule.cut(price, start)) for start, n in waiting.items())

    price = schedule.shadow_price(waiting, money)
    assert spent(price) <= money
    lower = [0.0, *(x for x in schedule.index if 0 < x < price)]
    assert price == 0 or all(spent(x) > money for x in lower)


def test_an_attempt_whose_gain_per_cost_equals_the_price_is_not_made():
    schedule = Schedule([at.Step("a", 1.0, 0.5, 1.0), at.Step("a", 0.5, 0.25, 1.0)])
    assert (schedule.cut(0.25), schedule.cut(0.2499), schedule.cut(0.5), schedule.cut(0.4999)) == (1, 2, 0, 1)


def test_what_was_learned_is_the_mean_of_old_and_new():
    old = (at.Step("a", 1.0, 0.5, 2.0), at.Step("b", 0.5, 0.2, 4.0), at.Step("b", 0.25, 0.1, 4.0))
    traces = [
        TaskTrace((0.7,), (3.0,), 2),  # reached the threshold at once, and would have been given two
        TaskTrace((0.1, 0.4), (1.0, 6.0), 2),
        TaskTrace((0.2,), (2.0,), 1),  # was given one attempt: says nothing of the second
    ]
    first, second, third = learned(old, 10, traces)
    assert (first.reached, first.gain, first.cost) == (1.0, pytest.approx((5 + 1.0) / 13), pytest.approx((20 + 6) / 13))
    assert second.reached == pytest.approx((5 + 1) / 12)
    assert second.gain == pytest.approx((5 * 0.2 + 0.4) / 6)
    assert second.cost == pytest.approx((5 * 4 + 6) / 6)
    assert third == old[2]


@pytest.mark.slow
def test_a_scheduler_learns_where_to_give_up():
    """The gains of the sequence's own attempts are learned without bias, although it stops at successes."""
    rng = np.random.default_rng(0)
    plan = plan_of(("a", 1.0, 0.2, 1.0), ("a", 0.8, 0.2, 1.0), ("a", 0.64, 0.2, 1.0), price=0.1, tasks=30)
    scheduler = plan.scheduler()
    truth = (0.6, 0.3, 0.02)  # the chance of a pass at each attempt, for tasks that get there
    for task in range(4000):
        for chance in itertools.chain(truth, itertools.repeat(0)):
            attempt = scheduler.ask(task)
            if attempt.stop:
                break
            tell(scheduler, task, arm=attempt.arm, score=float(rng.random() < chance), cost=2.0)
    new = scheduler.learn()
    assert scheduler.plan == new
    assert len(new.steps) == 2  # the third attempt brings 0.01 per unit of cost
    every = [*new.steps, *new.further]
    assert [s.gain for s in every] == pytest.approx(truth, abs=0.03)
    assert [s.reached for s in every] == pytest.approx([1, 0.4, 0.28], abs=0.03)
    assert new.built_from.tasks == 4030
    assert scheduler.learn().built_from.tasks == 4030  # nothing is counted twice
    assert "the price is 0.100" in scheduler.ask("next").why


def test_a_budget_is_kept_when_the_scheduler_learns():
    scheduler = plan_of(("a", 1.0, 0.5, 1.0), ("a", 0.5, 0.5, 1.0), price=0.5, budget=1.6, tasks=10).scheduler()
    for task in range(90):
        scheduler.ask(task)
        tell(scheduler, task, arm="a", score=1.0, cost=2.0)
    new = scheduler.learn()
    assert new.steps == ()  # an attempt costs 1.9 now
    assert Schedule([*new.steps, *new.further]).cost(0, 1) == pytest.approx(1.9)


def test_attempts_that_came_back_out_of_order_are_learned_from():
    scheduler = plan_of(("a", 1.0, 0.5, 1.0), ("b", 0.5, 0.2, 1.0), tasks=1).scheduler()
    assert [scheduler.ask("t").arm, scheduler.ask("t").arm] == ["a", "b"]
    tell(scheduler, "t", arm="b", score=0.6, cost=3.0)
    tell(scheduler, "t", arm="a", score=0.2, cost=1.0)
    assert scheduler.ask("t").stop
    first, second = scheduler.learn().steps
    assert first.gain == pytest.approx((0.5 + 0.2) / 2)
    assert second.gain == pytest.approx((0.5 * 0.2 + 0.4) / 1.5)
    tell(scheduler, "u", arm="b", score=0.6, cost=3.0)  # another way round: says nothing
    assert scheduler.learn().built_from.tasks == 2


@pytest.mark.parametrize("method", ["greedy", "single"])
@pytest.mark.parametrize("target", [0.9, 0.95])
def test_nothing_learned_changes_nothing(method, target):
    plan = at.sequence(at.example_log(), target_score=target, method=method)
    assert plan.scheduler().learn() == plan


# One budget for all tasks.


def run(scheduler, tasks, world, rng, width=1):
    """Play tasks, some at a time; returns the best scores."""
    best = {}
    waiting, open_tasks = list(tasks), []
    while waiting or open_tasks:
        while waiting and len(open_tasks) < width:
            open_tasks.append(waiting.pop(0))
        for task in list(open_tasks):
            attempt = scheduler.ask(task)
            if attempt.arm is None:
                open_tasks.remove(task)
                continue
            score, cost = world(task, attempt.arm, rng)
            tell(scheduler, task, arm=attempt.arm, score=score, cost=cost)
            best[task] = max(best.get(task, 0.0), score)
    return best


@pytest.mark.parametrize("total_budget", [0.0, 5.0, 60.0, 400.0, 10_000.0])
def test_a_shared_budget_is_never_overdrawn_and_lasts(total_budget):
    log = specialists(80, 4, 1)
    plan = at.sequence(log, price=0.001, method="greedy")
    rng = np.random.default_rng(0)
    cells = {}
    for t, a, s, c in zip(log.task, log.arm, log.score, log.cost, strict=True):
        cells.setdefault((log.tasks[t], log.arms[a]), []).append((s, c))

    def world(task, arm, rng):
        logged = cells[log.tasks[task % 80], arm]
        return logged[rng.integers(len(logged))]

    scheduler = plan.scheduler(total_budget=total_budget, tasks=60)
    best = run(scheduler, range(60), world, rng, width=5)
    assert scheduler.spent <= total_budget
    if total_budget == 0:
        assert scheduler.known
        assert not best
    elif total_budget == 60:  # all tasks get something, rather than the first ones all
        assert len(best) >= 45
        assert scheduler.spent > 0.9 * total_budget
    elif total_budget == 10_000:  # more than can be spent at the plan's price
        free = run(plan.scheduler(), range(60), world, np.random.default_rng(0), width=5)
        assert np.mean([*best.values()]) == pytest.approx(np.mean([*free.values()]), abs=0.1)
        assert scheduler.price == plan.price


def test_a_shared_budget_raises_the_price_and_says_so():
    plan = plan_of(*THREE, ("big", 0.2, 0.2, 4.0), price=0.01)
    rich, poor = plan.scheduler(total_budget=1000, tasks=10), plan.scheduler(total_budget=14.0, tasks=10)
    assert rich.price == 0.01
    assert poor.price > 0.01
    first = [poor.ask(t).arm for t in range(10)]
    assert first.count("small") >= 3
    last = poor.ask("one more")
    assert last.arm is None
    empty = plan.scheduler(total_budget=0.5, tasks=10)
    assert empty.ask("t").arm is None
    tight = plan.scheduler(total_budget=2.0, tasks=1)
    assert "2.00 is left of the shared budget, and small may cost 3.00" in tight.ask("t").why


# Judges.


def judged_plan():
    plan = plan_of(*THREE, stop_at=0.8)
    return at.JudgedPlan(**{name: getattr(plan, name) for name in plan.__dataclass_fields__}, judge_name="rm")


def test_a_judge_stops_and_picks():
    scheduler = judged_plan().scheduler()
    first, second = scheduler.ask("t"), scheduler.ask("t")
    assert scheduler.pick("t") is None
    scheduler.tell(first, judge=0.7, answer="41", cost=1.0)
    assert scheduler.ask("t").arm == "big"
    scheduler.tell(second, judge=0.9, answer="42", cost=1.0, score=0.0)
    end = scheduler.ask("t")
    assert end.stop
    assert end.why == "rm gives the best of 2 attempts 0.900, which reaches 0.800"
    picked = scheduler.pick("t")
    assert picked.why == "rm gives it 0.900, the most of 2 attempts"
    assert (picked.id, picked.answer, picked.judge, picked.score) == (2, "42", 0.9, 0.0)
    scheduler.add("t", arm="big", judge=0.9, answer="43")
    assert scheduler.pick("t").answer == "42"  # of equals, the first
    assert scheduler.pick("t").why == "rm gives it 0.900, the most of 3 attempts, and told before 1 other with as much"
    with pytest.warns(at.AttemptsWarning, match="2 results without a score are left out"):
        assert len(scheduler.export().task) == 1
    with pytest.raises(mk.InputError, match="learn needs the truth of every attempt"):
        scheduler.learn()
    with pytest.raises(mk.InputError, match="judge, what rm gave it, is required"):
        scheduler.tell(3, score=1.0)
    with pytest.raises(mk.InputError, match="judge must be finite"):
        scheduler.tell(3, judge=float("nan"))
    with pytest.raises(mk.InputError, match="answer must be a word, not 42"):
        scheduler.tell(3, judge=0.5, answer=42)


def test_with_a_judge_no_number_is_called_a_score():
    scheduler = judged_plan().scheduler()
    scheduler.tell(scheduler.ask("t"), judge=0.7)
    assert ": rm gives the best of 1 so far 0.700, below 0.800; at tasks" in scheduler.ask("t").why
    for _ in range(2):
        scheduler.add("t", arm="big", judge=0.1)
    assert "score" not in scheduler.ask("t").why


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (("big", 0.2, -0.05, 4.0), "one more attempt, big, would lose 0.0500 on average"),
        (("big", 0.2, 0.0, 4.0), "one more attempt, big, would gain nothing on average"),
        (("big", 0.2, 0.05, 0.0), "one more attempt, big, would gain 0.0500 at no cost, while the price is 0.100"),
    ],
)
def test_attempts_that_gain_nothing_or_cost_nothing_are_told_without_infinities(step, said):
    scheduler = plan_of(THREE[0], step, length=1).scheduler()
    assert "inf" not in scheduler.ask("t").why
    tell(scheduler, "t", arm=THREE[0][0], score=0.1, cost=1.0)
    assert scheduler.ask("t").why.endswith(said)
    longer = plan_of(THREE[0], step, length=2).scheduler()
    tell(longer, "t", arm=THREE[0][0], score=0.1, cost=1.0)
    assert "inf" not in longer.ask("t").why


@pytest.mark.parametrize("blank", [None, "", "  ", float("nan")])
def test_blank_answers_are_no_answers(blank):
    scheduler = judged_plan().scheduler()
    scheduler.tell(scheduler.ask("t"), judge=0.7, answer=blank)
    scheduler.add("t", arm="big", judge=0.9, answer=blank)
    assert [row.get("answer") for row in scheduler.records()] == [None, None]
    assert scheduler.pick("t").answer is None


def test_without_a_judge_the_best_score_is_picked():
    scheduler = plan_of(*THREE).scheduler()
    scheduler.tell(scheduler.ask("t"), score=0.3, judge=0.9, answer="a")
    scheduler.tell(scheduler.ask("t"), score=0.4, judge=0.1, answer="b")
    assert scheduler.pick("t").answer == "b"
    assert scheduler.pick("t").why == "its score is 0.400, the most of 2 attempts"
    assert [(row["judge"], row["answer"]) for row in scheduler.records()] == [(0.9, "a"), (0.1, "b")]
    with pytest.raises(mk.InputError, match="score is required"):
        scheduler.tell(scheduler.ask("t"), judge=0.5)


def test_a_scheduler_counts_rounds_and_says_what_it_assumes():
    plan = dataclasses.replace(plan_of(*(("small", 1.0, 0.4, 1.0),) * 5), width=2)
    scheduler = plan.scheduler()
    first = [scheduler.ask("a") for _ in range(2)]
    assert scheduler.ask("a").wait
    assert scheduler.state("a").rounds == 1
    for attempt in first:
        scheduler.tell(attempt, score=0.0)
    scheduler.ask("a")
    scheduler.ask("b")
    assert (scheduler.state("a").rounds, scheduler.state("b").rounds) == (2, 1)
    known = scheduler.progress()
    assert (known.rounds, known.width) == (3, 2)
    said = as_text(progress(known))
    assert "in 3 rounds of at most 2" in said
    assert "Attempts in flight are counted as if they fell short." in said
    alone = plan_of(("small", 1.0, 0.4, 1.0), ("small", 0.6, 0.3, 1.0)).scheduler()
    for _ in range(2):
        alone.tell(alone.ask("a"), score=0.0)
    assert alone.state("a").rounds == alone.progress().rounds == 2
    assert "round" not in as_text(progress(alone.progress()))
    assert "in flight are" not in as_text(progress(alone.progress()))
