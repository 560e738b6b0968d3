"""What a judge is good for: ranking, share, turn, calibration, power; and the sentences, which claim no more."""

import math
import re
from functools import partial

import numpy as np
import pytest

from maxatk import attempts as at
from maxatk.attempts.judges.ranking import concordant
from maxatk.base.errors import InputError
from maxatk.base.text import ends


def a_log(tasks, n, judge, seed=0, **columns):
    """A log whose judge is a function of truths [n] and a generator."""
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(tasks):
        truth = (rng.random(n) < rng.random()).astype(float)
        rows += [{"task": t, "score": s, "rm": j} for s, j in zip(truth, judge(truth, rng), strict=True)]
    return at.Log.from_records(rows, judge="rm", score_range=(0, 1), **columns)


@pytest.mark.parametrize("seed", range(30))
def test_pairs_are_counted_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n, tasks = int(rng.integers(1, 60)), int(rng.integers(1, 5))
    task, truth, judge = rng.integers(0, tasks, n), rng.integers(0, rng.integers(1, 9), n) / 3, rng.integers(0, 5, n)
    right, pairs = concordant(task, truth, judge.astype(float))
    for t in range(int(task.max()) + 1):
        mine = [(r, j) for r, j, u in zip(truth, judge, task, strict=True) if u == t]
        better = [(j, i) for r, j in mine for s, i in mine if r > s]
        assert pairs[t] == len(better)
        assert right[t] == sum((j > i) + (j == i) / 2 for j, i in better)


def test_the_figures_of_the_real_log():
    report = at.example_judged_log().judge_report("judge")
    ranking = report.ranking
    assert ranking.within.value == pytest.approx(0.567, abs=5e-4)
    assert (ranking.mixed, ranking.below_half) == (49, 15)  # 31 %
    assert ranking.pooled == pytest.approx(0.669, abs=5e-4)
    assert report.share.value == pytest.approx((0.50631 - 0.46191) / (0.84375 - 0.46191), abs=1e-4)
    assert report.gap == pytest.approx(0.337, abs=5e-4)
    assert report.turn.peak == 64
    assert report.turn.fall is None
    said = str(report)
    assert "At 64 tasks its pick cannot be told from a majority vote" in said.replace("\n", " ")
    assert "no fall with more attempts is shown" in said.replace("\n", " ")


def test_a_perfect_judge_catches_all():
    report = a_log(80, 8, lambda truth, rng: truth + 0.1 * rng.random(len(truth))).judge_report()
    assert report.share.value == pytest.approx(1, abs=1e-9)
    assert 0.8 < report.share.lower < 1 == report.share.upper  # 80 tasks without a loss do not prove that there is none
    assert report.gap == pytest.approx(0, abs=1e-12)
    assert report.ranking.within.value == 1
    assert report.hurt.tasks == 0
    assert report.against[0].lower > 0
    assert report.verdict.startswith("Among 8 attempts, rm catches 100 % of what a perfect judge would gain")


def test_a_misleading_judge_falls_and_is_said_to():
    report = a_log(150, 8, lambda truth, rng: -truth + 0.1 * rng.random(len(truth))).judge_report()
    assert report.turn.peak == report.turn.smallest == 1
    assert report.turn.fall is not None
    assert report.turn.fall.lower > 0
    assert report.share.upper < 0
    assert "rm loses " in report.verdict
    assert re.search(r"from 1 attempts to 8 attempts it falls by 0\.\d+ to 0\.\d+", report.verdict)
    assert report.hurt.tasks > 75
    assert report.ranking.below_half == report.ranking.mixed


def test_noise_is_not_called_a_fall():
    """Intervals of all pairs hold together: in 95 % of logs at least, a judge that knows nothing shows no fall."""
    shown = sum(
        a_log(60, 4, lambda truth, rng: rng.random(len(truth)), seed).judge_report().turn.fall is not None
        for seed in range(40)
    )
    assert shown <= 5


def test_calibration_by_level():
    rows = [{"task": t, "score": float(i < 3 and t % 2), "rm": float(i < 3)} for t in range(60) for i in range(6)]
    low, high = at.Log.from_records(rows, judge="rm").judge_report("rm").calibration
    assert (low.low, low.high, low.attempts, low.truth) == (0, 0, 180, 0)
    assert (high.low, high.high, high.attempts, high.truth) == (1, 1, 180, 0.5)
    assert high.lower < 0.5 < high.upper


def test_levels_without_a_wrong_attempt_are_not_said_to_be_sure():
    """Sixty tasks without a loss do not prove that there is none."""
    rows = [{"task": t, "score": float(i < 3), "rm": float(i < 3)} for t in range(60) for i in range(6)]
    low, high = at.Log.from_records(rows, judge="rm").judge_report("rm").calibration
    assert low.lower == low.truth == 0 < low.upper < 0.15
    assert 0.85 < high.lower < 1 == high.truth == high.upper


def test_levels_of_negative_truths_have_intervals():
    rng = np.random.default_rng(1)
    rows = [{"task": t, "score": -10 - rng.random(), "rm": rng.random()} for t in range(60) for _ in range(5)]
    for level in at.Log.from_records(rows, judge="rm").judge_report("rm").calibration:
        assert -11 < level.lower < level.truth < level.upper < -10


def test_few_tasks_get_no_claims():
    report = a_log(8, 4, lambda truth, rng: truth + rng.random(len(truth))).judge_report()
    assert report.share.level is None
    assert "too few for an interval" in report.verdict
    alike = at.Log.from_records([{"task": t, "score": 1, "rm": i} for t in range(3) for i in range(3)], judge="rm")
    told = alike.judge_report("rm")
    assert told.share is None
    assert told.ranking.within is None
    assert "no order to judge" in told.verdict


def test_power_is_that_of_the_normal_formula():
    log = at.example_judged_log()
    power = at.pick_power(log, "judge", "judge1", 16, differences=[0.03])
    x, y = (log.selected_at_k(16, name) for name in ("judge", "judge1"))
    assert x.value != y.value
    assert power.needed[0][1] == math.ceil(((1.959964 + 0.841621) * power.deviation / 0.03) ** 2)
    assert power.detectable == pytest.approx((1.959964 + 0.841621) * power.deviation / 8, rel=1e-6)
    for bad, message in (
        ({"differences": [0]}, "differences[0] must be positive, but is 0"), ({"power": 2}, "power must lie between"),
        ({"power": 0.01}, "power must be above 1 - level, 0.05"),
        ({"differences": "x"}, "differences[0] must be a real"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(message)):
            at.pick_power(log, "judge", "judge1", 16, **bad)
    with pytest.raises(InputError, match="one task does not show"):
        at.pick_power(log.select(tasks=[log.tasks[7]]), "judge", "judge1", 16)


def test_the_difference_beside_a_number_of_tasks_is_the_one_that_it_is_for():
    log = at.example_judged_log()
    verdict = at.pick_difference(log, "judge", "majority", k=64).verdict
    size, tasks = re.search(r"a difference of (\S+) would take about (\d+) tasks", verdict).groups()
    ((_, needed),) = at.pick_power(log, "judge", "majority", k=64, differences=[float(size)]).needed
    assert int(tasks) == pytest.approx(needed, rel=0.02)
    assert ends(-0.2, -0.001, 0.1) == ("-0.21", "0.00", "0.11")  # and not -0.00


def test_names_of_judges_are_as_they_were_given_and_few_tasks_get_a_number():
    """A judge that is the better one by chance: equal to one attempt in truth at all tasks; and too few tasks for t."""
    rng = np.random.default_rng(0)
    rows = [{"task": t, "score": int(i < 2), "rm": rng.random()} for t in range(9) for i in range(4)]
    report = at.Log.from_records(rows, judge="rm").judge_report("rm")
    assert "Rm" not in report.verdict
    equal = [{"task": t, "score": 0.5, "rm": rng.random()} for t in range(40) for _ in range(4)]
    log = at.Log.from_records(equal, judge="rm")
    assert " rm and one attempt are equal in the pick among 4" in log.judge_report("rm").verdict
    few = at.Log.from_records(rows, judge="rm", score_range=None)
    (finding,) = (one.finding for one in report.against)
    assert finding.basis.level is None
    assert re.search(
        r"9 tasks are too few .*; a difference of 0.100 takes about \d+ tasks to show", few.judge_report("rm").verdict
    )


@pytest.mark.slow
def test_the_power_is_what_happens():
    """Logs of as many tasks as are needed show the difference in about four of five."""

    def judged(truth, rng):
        return truth + 2.0 * rng.normal(size=len(truth))

    planned = at.pick_power(a_log(400, 4, judged, 7), "rm", "one attempt", 4, differences=[0.14]).needed[0][1]
    logs = [a_log(planned, 4, judged, 100 + seed) for seed in range(200)]
    apart = [at.pick_difference(log, "rm", "one attempt", 4) for log in logs]
    true = np.mean([one.value for one in apart])
    again = at.pick_power(a_log(400, 4, judged, 7), "rm", "one attempt", 4, differences=[true]).needed[0][1]
    shown = np.mean([at.pick_difference(a_log(again, 4, judged, 900 + s), "rm", "one attempt", 4).lower > 0
                     for s in range(150)])  # fmt: skip
    assert 0.68 < shown < 0.92


def worlds_apart():
    """A log with graded scores, two judges, and an answer of its own for every attempt."""
    rng = np.random.default_rng(0)
    rows = [
        {"task": t, "score": float(x), "rm": float(rng.random()), "answer": str(i)}
        for t in range(80)
        for i, x in enumerate(rng.random(10))
    ]
    return at.Log.from_records(rows, judge="rm", answer="answer", score_range=(0, 1))


def test_rounding_is_not_called_a_difference():
    """Of one attempt all ways are the same, and a vote of answers that all differ is one attempt."""
    log = worlds_apart()
    for first, second, k in (
        ("rm", "majority", 1), ("rm", "one attempt", 1), ("oracle", "rm", 1), ("majority", "one attempt", 2),
        ("majority", "one attempt", 4), ("majority", "one attempt", 10),
    ):  # fmt: skip
        told = at.pick_difference(log, first, second, k=k)
        assert (told.value, told.tasks_needed) == (0, None)
        assert told.lower <= 0 <= told.upper
        assert "worse" not in told.verdict
        assert "better" not in told.verdict
    report = log.judge_report(k=1)
    assert all(one.value == 0 and one.lower <= 0 <= one.upper for one in report.against)
    assert all(power.deviation == 0 for power in report.power)
    assert report.share is None
    assert "worse by" not in str(report)
    assert "-0.00" not in str(report)


def test_one_difference_may_be_a_number():
    log = at.example_judged_log()
    one, some = (at.pick_power(log, "judge", "judge1", 16, differences=x) for x in (0.03, [0.03]))
    assert one == some


def two_arms():
    """A log in which the judge is constant in one of two arms, and some answers are blank."""
    rng = np.random.default_rng(1)
    return [
        {
            "task": t, "arm": arm, "score": float(rng.random() < 0.4), "rm": float(rng.integers(1, 5)) if arm else 2.0,
            "answer": "abc"[int(rng.integers(3))] if rng.random() < 0.7 else None,
        }
        for t in range(60) for arm in (0, 1) for _ in range(4)
    ]  # fmt: skip


def test_a_judge_that_is_constant_within_the_arm_is_refused():
    log = at.Log.from_records(two_arms(), judge="rm")
    for ask in (
        lambda: log.judge_report("rm", arm="0"),
        lambda: log.selected_at_k(2, "rm", arm="0"),
        lambda: at.pick_difference(log, "rm", "majority", 2, arm="0"),
        lambda: at.pick_difference(log, "rm", "rm", 2, arm="1", second_arm="0"),
        lambda: at.pick_power(log, "rm", "majority", 2, arm="0"),
    ):
        with pytest.raises(InputError, match="judge 'rm' gives every attempt 2: it cannot pick one"):
            ask()
    assert at.pick_difference(log, "rm", "majority", 2, arm="1").tasks == 60
    study = at.study(log, judge="rm")
    assert [report.arm for report in study.reports] == ["1"]
    assert any("of 0 judge 'rm' gives every attempt 2" in note for note in study.notes)


def test_nobodys_vote_and_weighted_votes_are_among_the_ways():
    log = at.Log.from_records(two_arms(), judge="rm").select(arms=["1"])
    low, high = (log.judge_report("rm", [1, 4], default_score=score, weighted=True) for score in (0.0, 1.0))
    for report, score in ((low, 0.0), (high, 1.0)):
        assert [curve.name for curve in report.curves] == ["max@k", "selected@k", "majority@k", "weighted majority@k"]
        assert report.curves[2].value == log.majority_at_k([1, 4], default_score=score).value
        assert report.curves[3].value == log.majority_at_k([1, 4], default_score=score, weight="rm").value
        names = [one.second for one in report.against]
        assert names == ["one attempt", "majority", "majority weighted by rm"]
        for other in names[1:]:
            told = at.pick_difference(log, "rm", other, 4, default_score=score)
            assert told == report.against[names.index(other)]
            power = at.pick_power(log, "rm", other, 4, default_score=score)
            assert power == report.power[names.index(other)]
    assert low.curves[2].points[0].value < high.curves[2].points[0].value


def test_a_weighted_vote_does_not_depend_on_what_else_is_asked():
    log = at.example_judged_log()
    alone = log.majority_at_k(16, weight="judge").value
    assert log.majority_at_k([4, 16, 32], weight="judge").value[1] == alone
    told = at.pick_difference(log, "majority weighted by judge", "oracle", 16)
    assert told.value == pytest.approx(alone - log.max_at_k(16).value, abs=1e-12)


@pytest.mark.parametrize("name", ["majority", "oracle", "one attempt", "majority weighted by rm"])
def test_a_judge_that_is_called_like_another_way_to_choose_is_refused(name):
    with pytest.raises(InputError, match=f"a judge cannot be called '{name}', a way to choose: rename its column"):
        at.Log.from_records([{"task": 1, "score": 1, name: 2}], judge=name)


def test_what_cannot_be_read_is_refused_in_a_line():
    log = at.example_judged_log()
    for ask, message in (
        (lambda: at.pick_difference(log, ["judge"], "majority", 4), "is given by its name, not ['judge']"),
        (lambda: at.pick_difference(log, "majority weighted by x", "majority", 4), "there is no judge"),
        (lambda: at.pick_difference(log, "judge", "majority", 4, default_score="x"), "default_score must be a real"),
        (lambda: log.judge_report("judge", [1, 2], weighted=1), "weighted must be true or false"),
        *((partial(ask, rng), "rng must be a seed or a NumPy Generator") for rng in ("x", -1) for ask in (
            lambda rng: log.majority_at_k(4, weight="judge", rng=rng),
            lambda rng: at.stop_vote(log, 4, rng=rng),
            lambda rng: log.split(rng=rng),
            lambda rng: log.folds(rng=rng),
            lambda rng: at.frontier(log, rng=rng),
            lambda rng: at.cross_replay(log, price=1, rng=rng),
        )),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(message)) as refusal:
            ask()
        assert "\n" not in str(refusal.value)
