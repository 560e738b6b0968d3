"""Attempts in rounds: held to an enumeration of all orders of the attempts, in fractions."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

from maxatk import InputError
from maxatk import attempts as at
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.rounds import in_rounds
from maxatk.attempts.sequences.walk import Scoring

LOGS = (  # scores, costs and what a judge gives, by arm
    {"a": [(0, 1, 3), (2, 3, 1), (3, 2, 2), (1, 5, 2)], "b": [(1, 2, 1), (3, 7, 3), (2, 1, 2)]},
    {"a": [(3, 1, 1), (3, 2, 3), (0, 4, 3)], "b": [(2, 1, 3), (2, 6, 0)]},
    {"a": [(0, 1, 0), (0, 2, 1), (1, 3, 0)], "b": [(1, 1, 1), (0, 2, 0)]},
)


def a_log(rows):
    records = [
        {"task": "t", "arm": arm, "score": float(s), "cost": float(c), "rm": float(j)}
        for arm, tries in rows.items()
        for s, c, j in tries
    ]
    return at.Log.from_records(records, judge="rm")


def enumerated(rows, sequence, width, stop_at, solves, judge):
    """Score, cost, attempts, rounds and the share solved: means over all orders, each run round by round."""
    orders = list(itertools.product(*(list(itertools.permutations(rows[arm])) for arm in sorted(rows))))
    total = [Fraction(0)] * 5
    for order in orders:
        left = {arm: list(drawn) for arm, drawn in zip(sorted(rows), order, strict=True)}
        seen, cost, rounds = [], 0, 0
        for together in in_rounds(sequence, width):
            if any(one[1] >= stop_at for one in seen):
                break
            rounds += 1
            for arm in together:
                score, paid, judged = left[arm].pop(0)
                seen.append((score, judged if judge else score))
                cost += paid
        pick = max(seen, key=lambda one: one[1])[0]
        for i, x in enumerate((pick, cost, len(seen), rounds, int(pick >= solves))):
            total[i] += Fraction(x)
    return [x / len(orders) for x in total]


@pytest.mark.slow
@pytest.mark.parametrize("judge", [None, "rm"])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
def test_rounds_equal_the_mean_over_all_orders(judge, width):
    for rows, stop_at in itertools.product(LOGS, (1, 2, 3, 4)):
        for sequence in ("aabab", "babaa", "aaabb", "ab", "abb"):
            wanted = enumerated(rows, list(sequence), width, stop_at, 2, judge)
            out = follow(a_log(rows), list(sequence), Scoring(float(stop_at), -1.0, 2.0, judge, width))
            got = [out.score, out.cost, out.attempts, out.rounds, out.solved]
            assert [float(x[0]) for x in got] == pytest.approx([float(x) for x in wanted], abs=1e-12)


def test_one_at_a_time_is_a_round_of_one():
    log = at.example_log()
    scoring = Scoring(0.4, 0.0, 0.4)
    out, steps = follow(log, ["DE", "L-BFGS-B", "DE"], scoring), walk.PreparedLog(log, scoring).start
    assert np.array_equal(out.rounds, out.attempts)
    plans = [at.sequence(log, price=1.0, method="greedy", **kind) for kind in ({}, {"width": 1})]
    assert plans[0] == plans[1]
    assert steps.alive.all()


def test_a_round_that_holds_all_attempts_is_the_best_of_them():
    log = at.example_log().select(arms=["DE"])
    out = follow(log, ["DE"] * 4, Scoring(log.top, 0.0, 1.0, width=7))
    assert out.score.mean() == pytest.approx(log.max_at_k(4).value, abs=1e-12)
    assert (out.rounds == 1).all()
    assert out.attempts == pytest.approx(4)


def test_a_round_that_was_not_logged_is_left_open():
    rows = [{"task": t, "arm": "a", "score": 0.0, "cost": 1.0} for t in "xy" for _ in range(3 if t == "x" else 4)]
    out = follow(at.Log.from_records(rows), ["a"] * 4, Scoring(1.0, 0.0, width=2))
    assert out.open.tolist() == [1.0, 0.0]
    assert out.missing.tolist() == [2, 0]
    assert out.cost.tolist() == [2.0, 4.0]
    assert out.rounds.tolist() == [1.0, 2.0]


@pytest.mark.slow
def test_a_plan_in_rounds_is_built_replayed_and_saved(tmp_path):
    log = at.example_log()
    chosen, held = log.split(0.5, 0)
    plans = {width: at.sequence(chosen, price=0.5, width=width) for width in (1, 2, 4)}
    for width, plan in plans.items():
        assert [len(one) for one in plan.rounds[:-1]] == [width] * (len(plan.rounds) - 1)
        replayed = plan.replay(held)
        assert replayed.attempts / width - 1e-9 <= replayed.rounds.value <= replayed.attempts + 1e-9
        built = follow(chosen, plan.arms, plan.scoring)
        assert plan.score == pytest.approx(built.score.mean(), abs=1e-9)
        assert plan.cost == pytest.approx(built.cost.mean(), abs=1e-9)
        plan.save(tmp_path / "x.plan")
        assert at.load_sequence(tmp_path / "x.plan") == plan
    one, four = (plans[width].replay(held) for width in (1, 4))
    assert four.rounds.value < one.rounds.value
    assert dataclasses.replace(plans[1], width=2) != plans[1]


def test_the_scheduler_waits_between_rounds():
    plan = at.sequence(at.example_log(), price=0.2, stop_at=2.0, method="greedy", width=2)
    scheduler = plan.scheduler()
    first, second = scheduler.ask("t"), scheduler.ask("t")
    assert first
    assert second
    third = scheduler.ask("t")
    assert third.wait
    assert "round" in third.why
    scheduler.tell(first, score=0.1, cost=0.1)
    assert scheduler.ask("t").wait
    scheduler.tell(second, score=0.1, cost=0.1)
    assert scheduler.ask("t").arm == plan.arms[2]


@pytest.mark.parametrize("width", [0, -1, 1.5, "two", True, None])
def test_odd_widths_are_refused(width):
    for build in (at.sequence, at.cross_replay):
        with pytest.raises(InputError, match="width"):
            build(at.example_log(), price=1.0, width=width)
    with pytest.raises(InputError, match="width"):
        at.frontier(at.example_log(), width=width)


def test_the_best_sequence_is_not_searched_for_in_rounds():
    with pytest.raises(InputError, match="rounds"):
        at.sequence(at.example_log(), price=1.0, method="exact", width=2)
