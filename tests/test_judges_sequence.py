"""Sequences that stop and pick by a judge, scored by the truth: all orders, real figures, files; votes that stop."""

import random
import re
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import judge_oracles as oracles
from maxatk import attempts as at
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow
from maxatk.base.errors import InputError


def a_log(truth, judge, **columns):
    rows = [{"task": "t", "score": float(s), "rm": float(j)} for s, j in zip(truth, judge, strict=True)]
    return at.Log.from_records(rows, judge="rm", **columns)


@pytest.mark.parametrize("seed", range(80))
def test_stopping_at_a_judges_score_equals_all_orders(seed):
    truth, judge, _, k = oracles.case(seed, most=6)
    for t in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(9)):
        score, made = oracles.stopped(truth, judge, t, k)
        solving = [Fraction(int(x >= 1)) for x in truth]
        out = follow(a_log(truth, judge), ["attempt"] * k, walk.Scoring(float(t), -9.0, 1.0, "rm"))
        assert out.score[0] == pytest.approx(float(score), abs=1e-12)
        assert out.attempts[0] == pytest.approx(float(made), abs=1e-12)
        assert out.cost[0] == pytest.approx(float(made), abs=1e-12)
        assert out.solved[0] == pytest.approx(float(oracles.stopped(solving, judge, t, k)[0]), abs=1e-12)
        # The closed form of the design: hits, or the pick among the others.
        hits = [x for x, j in zip(truth, judge, strict=True) if j >= t]
        rest = [(x, j) for x, j in zip(truth, judge, strict=True) if j < t]
        n, a = len(truth), len(hits)
        miss = Fraction(oracles.comb(n - a, k), oracles.comb(n, k))
        closed = (1 - miss) * oracles.mean(hits) if hits else Fraction(0)
        closed += miss * oracles.selected(*zip(*rest, strict=True), k) if n - a >= k else 0
        assert score == closed
        assert made == sum(Fraction(oracles.comb(n - a, i), oracles.comb(n, i)) for i in range(k))


@pytest.mark.parametrize("seed", range(40))
def test_several_arms_equal_all_orders(seed):
    draw = random.Random(seed)
    arms = {
        name: [(Fraction(draw.randint(-2, 3)), draw.randint(0, 3)) for _ in range(draw.randint(1, 3))] for name in "ab"
    }
    sequence = draw.choice(
        [o for o in product("ab", repeat=3) if all(o.count(x) <= len(arms[x]) for x in "ab")] or ["ab"]
    )
    stop = draw.choice([1, 2, 3, 7])
    outcomes = []
    for orders in product(*(permutations(arms[name]) for name in "ab")):
        left = {name: list(order) for name, order in zip("ab", orders, strict=True)}
        made = []
        for arm in sequence:
            made.append(left[arm].pop(0))
            if made[-1][1] >= stop:
                break
        best = max(j for _, j in made)
        outcomes.append((next(x for x, j in made if j == best), Fraction(len(made))))
    rows = [
        {"task": 1, "arm": name, "score": float(x), "rm": j} for name, attempts in arms.items() for x, j in attempts
    ]
    out = follow(at.Log.from_records(rows, judge="rm"), sequence, walk.Scoring(float(stop), -9.0, judge="rm"))
    assert out.score[0] == pytest.approx(float(oracles.mean(x for x, _ in outcomes)), abs=1e-12)
    assert out.attempts[0] == pytest.approx(float(oracles.mean(n for _, n in outcomes)), abs=1e-12)


def test_a_judge_that_is_the_truth_changes_nothing():
    plain = at.example_log().select(arms=["L-BFGS-B", "DE"])
    rows = [
        {"task": plain.tasks[t], "arm": plain.arms[a], "score": s, "cost": c, "rm": s}
        for t, a, s, c in zip(plain.task, plain.arm, plain.score, plain.cost, strict=True)
    ]
    log = at.Log.from_records(rows, judge="rm", score_range=(0, 1))
    mine = at.sequence(log, judge="rm", price=0.5, method="greedy", stop_at=0.9)
    other = at.sequence(plain, price=0.5, method="greedy", stop_at=0.9)
    assert (mine.arms, mine.stop_at) == (other.arms, other.stop_at)
    assert mine.score == pytest.approx(other.score, abs=1e-12)
    ours, theirs = (
        at.cross_replay(one, price=0.5, method="greedy", stop_at=0.9, **by)
        for one, by in ((log, {"judge": "rm"}), (plain, {}))
    )
    assert ours.score.value == pytest.approx(theirs.score.value, abs=1e-12)
    assert ours.solved == pytest.approx(theirs.solved, abs=1e-12)
    assert ours.net.lower == pytest.approx(theirs.net.lower, abs=1e-9)


def test_the_figures_of_the_real_log():
    """Stopping at the judge's ceiling, at most 16, saves 72 % of the attempts and loses nothing."""
    log = at.example_judged_log()
    out = follow(log, ["attempt"] * 16, walk.Scoring(1.0, 0.0, 1.0, "judge"))
    assert out.attempts.mean() == pytest.approx(4.43, abs=5e-3)
    # The first attempt at the ceiling has the truth of a random one there: the design's +0.001 is noise of its orders.
    assert out.score.mean() == pytest.approx(log.selected_at_k(16, "judge").value, abs=1e-12)
    assert 1 - out.attempts.mean() / 16 == pytest.approx(0.72, abs=5e-3)
    assert out.solved == pytest.approx(out.score)
    four = [follow(log, ["attempt"] * 16, walk.Scoring(t, 0.0, 1.0, "judge4")) for t in (0.6, 0.95, 1.0)]
    assert [x.score.mean() for x in four] == pytest.approx([0.465, 0.474, 0.474], abs=2e-3)
    assert [x.attempts.mean() for x in four] == pytest.approx([2.80, 3.26, 3.33], abs=0.05)


def test_a_plan_promises_the_truth_and_not_what_the_judge_says(tmp_path):
    log = at.example_judged_log()
    train, held_out = log.split(0.5)
    plan = at.sequence(train, judge="judge", price=0.002)
    assert isinstance(plan, at.JudgedPlan)
    assert 0.3 < plan.score < 0.6
    replayed = plan.replay(held_out)
    assert replayed.score.value == pytest.approx(follow(held_out, plan.arms, plan.scoring).score.mean(), abs=1e-12)
    assert "hand in the one that judge likes best" in str(plan) or len(plan.arms) < 2
    plan.save(tmp_path / "x.plan")
    again = at.load_sequence(tmp_path / "x.plan")
    assert again == plan
    assert again.judge == "judge"
    crossed = at.cross_replay(log, judge="judge", price=0.0005)
    assert 0.35 < crossed.score.value < 0.6
    front = at.frontier(log, judge="judge", max_per_arm=8)
    assert max(one.score.value for one in front.strategies) < 0.55


def test_attempts_that_lower_the_truth_are_not_made():
    rng = np.random.default_rng(0)
    rows = []
    for t in range(60):
        truth = (rng.random(6) < 0.5).astype(float)
        rows += [{"task": t, "score": s, "rm": -s + 0.01 * rng.random()} for s in truth]
    log = at.Log.from_records(rows, judge="rm", score_range=(0, 1))
    assert at.sequence(log, judge="rm", price=0.0).arms == ["attempt"]
    whole = follow(log, ["attempt"] * 6, walk.Scoring(9.0, 0.0, judge="rm"))
    assert whole.score.mean() < log.max_at_k(1).value - 0.3


def test_a_pick_that_the_log_cuts_short_may_still_become_worse():
    rows = [{"task": t, "score": 0.5, "rm": 0.1 * i + 0.01 * t} for t in range(40) for i in range(3)]
    log = at.Log.from_records(rows, judge="rm", score_range=(0, 1), cost_limit=1.0)
    plan = at.sequence(log, judge="rm", price=0.0, stop_at=9.0, method="single")
    longer = at.JudgedPlan(**{**vars(plan), "steps": plan.steps * 5})
    cut = longer.replay(at.Log.from_records(
        [{**row, "task": f"new {row['task']}"} for row in rows], judge="rm", score_range=(0, 1), cost_limit=1.0
    ))  # fmt: skip
    assert cut.exhausted == 40
    assert cut.score.lower < 0.1
    assert cut.score.upper > 0.9


REFUSED = [
    ({"judge": "judge", "method": "exact"}, "with a judge the best sequence is not searched for"),
    ({"judge": "jduge"}, "there is no judge 'jduge': did you mean 'judge'?"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED)
def test_what_is_refused(asked, message):
    with pytest.raises(InputError, match=re.escape(message)):
        at.sequence(at.example_judged_log(), price=0.01, **asked)


def votes_of(answers, k, lead):
    """The law of the answer and the attempts made, over all orders: (answer -> chance, mean attempts)."""
    law, made = {}, Fraction(0)
    orders = list(permutations(answers))
    for order in orders:
        votes = {}
        for step, answer in enumerate(order[:k], 1):
            votes[answer] = votes.get(answer, 0) + 1
            first, second = ([*sorted(votes.values(), reverse=True), 0])[:2]
            if first - second >= (k - step if lead is None else lead):
                break
        made += Fraction(step, len(orders))
        top = [a for a in votes if votes[a] == max(votes.values())]
        for a in top:
            law[a] = law.get(a, 0) + Fraction(1, len(top) * len(orders))
    return law, made


@pytest.mark.parametrize("answers", ["aab", "aabb", "aabbc", "aaabbc", "abcd", "aaaaa"])
def test_a_leader_that_cannot_be_overtaken_has_the_law_of_all_votes(answers):
    for k in range(1, len(answers) + 1):
        law, made = votes_of(answers, k, None)
        whole, _ = votes_of(answers, k, 99)
        assert law == whole
        rows = [{"task": 1, "score": float(a == "a"), "answer": a} for a in answers]
        stopped = at.stop_vote(at.Log.from_records(rows), k)
        assert stopped.score.value == pytest.approx(float(law.get("a", 0)), abs=1e-12)
        assert stopped.attempts.value == pytest.approx(float(made), abs=0.15)
        assert stopped.gain.value == 0


def test_a_lead_of_some_votes():
    answers = "aaabbc"
    rows = [{"task": t, "score": float(a == "a"), "answer": a} for t in range(30) for a in answers]
    for lead in (1, 2, 3):
        law, made = votes_of(answers, 6, lead)
        stopped = at.stop_vote(at.Log.from_records(rows), 6, lead)
        assert stopped.score.value == pytest.approx(float(law["a"]), abs=0.01)
        assert stopped.attempts.value == pytest.approx(float(made), abs=0.03)


def test_votes_on_the_real_log():
    log = at.example_judged_log()
    whole = at.stop_vote(log, 16)
    assert whole.score.value == pytest.approx(log.majority_at_k(16).value)
    assert "that of all 16" in str(whole)
    lead = at.stop_vote(log, 16, 3)
    assert lead.attempts.value < whole.attempts.value
    for gain, more in ((abs(lead.gain.value), "more"), (-abs(lead.gain.value) - 1e-3, "less")):
        said = str(replace(lead, gain=replace(lead.gain, value=gain, lower=gain - 0.05, upper=gain + 0.03)))
        low, high = (-0.05, 0.03) if more == "more" else (-0.03, 0.05)
        told = re.search(r"which is (\S+) \((\S+) to (\S+)\) (\w+) than that of all 16", said).groups()
        assert [float(x) for x in told[:3]] == pytest.approx([abs(gain), abs(gain) + low, abs(gain) + high], abs=0.01)
        assert told[3] == more
        assert float(told[0]) >= 0
    chosen = at.stop_vote(log, 16, "auto", price=0.01)
    assert chosen.leads == (None, 2, 3, 4)
    assert "chosen on the tasks of other folds" in str(chosen)
    assert chosen.cost.value == pytest.approx(chosen.attempts.value)
    with pytest.raises(InputError, match="needs a price"):
        at.stop_vote(log, 16, "auto")
    with pytest.raises(InputError, match="lead must be at least 1"):
        at.stop_vote(log, 16, 0)
    for price, message in (
        (float("nan"), "price must be finite, not nan"), (-1, "price must be at least 0, not -1"),
        ("x", "price must be a real number, not 'x'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            at.stop_vote(log, 16, "auto", price=price)


def test_a_lead_that_only_all_votes_reach_is_exact():
    log = at.example_judged_log()
    for lead in (4, 9):
        stopped = at.stop_vote(log, 4, lead)
        assert stopped.score.value == stopped.whole.value == log.majority_at_k(4).value
        assert (stopped.gain.value, stopped.gain.lower, stopped.gain.upper) == (0, 0, 0)
        assert (stopped.attempts.value, stopped.attempts.lower, stopped.attempts.upper) == (4, 4, 4)
        assert stopped.cost.value == pytest.approx(4 * log.cost.mean())
