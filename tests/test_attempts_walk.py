"""Sequences on the attempts of a log: against all orders of the attempts, one by one."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.paths import Lattice, along, greedy, pairs, singles
from maxatk.attempts.sequences.walk import PreparedLog, Scoring, caps
from maxatk.base.tuning import tuned

ARMS = ("a", "b")


@st.composite
def logs(draw, tasks=3, most=3, arms=ARMS):
    """A small log, and its cells [task][arm] of (score, cost)."""
    attempt = st.tuples(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 1.0, 2.5]))
    cells = [
        [draw(st.lists(attempt, min_size=1, max_size=most)) for _ in arms] for _ in range(draw(st.integers(1, tasks)))
    ]
    rows = [
        {"task": t, "arm": arm, "score": score, "cost": cost, "seconds": 2 * cost + 1}
        for t, task in enumerate(cells)
        for arm, cell in zip(arms, task, strict=True)
        for score, cost in cell
    ]
    return at.Log.from_records(rows), cells


def one_by_one(cell, sequence, stop_at, nothing, solved):
    """Mean score, cost, attempts and solved over all orders of the attempts at a task; None where they run out."""
    total, orders = np.zeros(4), 0
    for drawn in itertools.product(*(itertools.permutations(attempts) for attempts in cell)):
        used, best, cost, made = Counter(), None, 0.0, 0
        for arm in sequence:
            if best is not None and best >= stop_at:
                break
            if used[arm] == len(cell[arm]):
                return None
            score, paid = drawn[arm][used[arm]]
            used[arm] += 1
            best, cost, made = score if best is None else max(best, score), cost + paid, made + 1
        reached = best is not None and best >= solved
        total += [nothing if best is None else best, cost, made, reached]
        orders += 1
    return total / orders


@settings(max_examples=60)
@given(
    logs(),
    st.lists(st.integers(0, 1), max_size=5),
    st.sampled_from([0.25, 0.5, 1.0, 2.0]),
    st.sampled_from([0.25, 1.0]),
)
def test_a_sequence_is_what_all_orders_come_to(made, sequence, stop_at, solved):
    log, cells = made
    limit, used = caps(log), Counter()
    allowed = []
    for arm in sequence:
        if used[arm] < limit[arm]:
            used[arm] += 1
            allowed.append(arm)
    out = follow(log, [ARMS[arm] for arm in allowed], Scoring(stop_at, -1.0, solved))
    for t, cell in enumerate(cells):
        score, cost, attempts, share = one_by_one(cell, allowed, stop_at, -1.0, solved)
        assert out.score[t] == pytest.approx(score, abs=1e-12)
        assert out.cost[t] == pytest.approx(cost, abs=1e-12)
        assert out.seconds[t] == pytest.approx(2 * cost + attempts, abs=1e-12)
        assert out.attempts[t] == pytest.approx(attempts, abs=1e-12)
        assert out.solved[t] == pytest.approx(share, abs=1e-12)
        assert out.open[t] == out.missing[t] == 0


def test_a_replay_is_unbiased_for_fresh_attempts():
    """The mean over all logs of what a sequence is said to earn is what it earns in fresh attempts: in fractions."""
    laws = [[(Fraction(0), 1), (Fraction(1, 2), 2), (Fraction(1), 1)], [(Fraction(0), 3), (Fraction(1), 4)]]
    sequence, stop_at = (0, 1, 0), Fraction(1, 2)

    def fresh(best, cost, left):
        if not left or (best is not None and best >= stop_at):
            return (Fraction(0) if best is None else best), Fraction(cost)
        law = laws[left[0]]
        ends = [fresh(s if best is None else max(best, s), cost + c, left[1:]) for s, c in law]
        return tuple(sum(x[i] for x in ends) / len(law) for i in range(2))

    score, cost = fresh(None, 0, sequence)
    said = []
    for first in itertools.product(laws[0], repeat=3):  # one more attempt than the sequence can use
        for second in itertools.product(laws[1], repeat=2):
            rows = [{"task": 0, "arm": "a", "score": float(s), "cost": c} for s, c in first]
            rows += [{"task": 0, "arm": "b", "score": float(s), "cost": c} for s, c in second]
            out = follow(at.Log.from_records(rows), [ARMS[a] for a in sequence], Scoring(float(stop_at), 0.0, 1.0))
            said.append((out.score[0], out.cost[0]))
    assert np.mean(said, axis=0) == pytest.approx([float(score), float(cost)], abs=1e-12)


@settings(max_examples=60)
@given(logs(tasks=2), st.lists(st.integers(0, 1), max_size=6), st.sampled_from([0.25, 0.5, 1.0]))
def test_where_a_log_runs_out_the_walk_is_cut(made, sequence, stop_at):
    log, cells = made
    out = follow(log, [ARMS[arm] for arm in sequence], Scoring(stop_at, -1.0, 1.0))
    for t, cell in enumerate(cells):
        used, length = Counter(), 0
        while length < len(sequence) and used[sequence[length]] < len(cell[sequence[length]]):
            used[sequence[length]] += 1
            length += 1
        score, cost, attempts, _ = one_by_one(cell, sequence[:length], stop_at, -1.0, 1.0)
        assert out.score[t] == pytest.approx(score, abs=1e-12)
        assert out.cost[t] == pytest.approx(cost, abs=1e-12)
        assert out.attempts[t] == pytest.approx(attempts, abs=1e-12)
        assert out.missing[t] == len(sequence) - length
        if not out.missing[t]:
            assert out.open[t] == 0


@pytest.fixture
def thorough(tune):
    """All attempts count, however few tasks get to them."""
    tune(fewest_reaching=0.0)


@settings(max_examples=40)
@given(made=logs(), stop_at=st.sampled_from([0.25, 0.5, 1.0]), price=st.sampled_from([0.0, 0.05, 0.3, 2.0]))
def test_the_lattice_finds_the_best_of_all_sequences(made, stop_at, price):
    with tuned(fewest_reaching=0.0):
        log, _ = made
        prepared, limit = PreparedLog(log, Scoring(stop_at, -1.0)), caps(log)

        def net(sequence):
            path = along(prepared, sequence)
            assert len(path.arms) == len(sequence)
            return path.score[-1] - price * path.cost[-1]

        every = (
            one
            for length in range(int(limit.sum()) + 1)
            for one in itertools.product(range(2), repeat=length)
            if all(one.count(arm) <= limit[arm] for arm in range(2))
        )
        best = Lattice(prepared, limit).best(price)
        assert net(best) == pytest.approx(max(map(net, every)), abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_the_lattice_looks_far_ahead(seed, thorough):
    """Three arms of different costs, where the best first attempt depends on what comes much later."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(6):
        for arm in "abc":
            p = rng.random()
            for _ in range(2):
                score = rng.choice([0.0, 0.5, 1.0], p=[1 - p, p / 2, p / 2])
                rows.append({"task": task, "arm": arm, "score": score, "cost": rng.choice([0.2, 1.0, 3.0])})
    log = at.Log.from_records(rows)
    prepared, limit = PreparedLog(log, Scoring(1.0, 0.0)), caps(log)
    every = [
        along(prepared, one)
        for length in range(7)
        for one in itertools.product(range(3), repeat=length)
        if max(Counter(one).values(), default=0) <= 2
    ]
    lattice = Lattice(prepared, limit)
    for price in (0.02, 0.05, 0.1, 0.2):
        walked = along(prepared, lattice.best(price))
        best = max(path.score[-1] - price * path.cost[-1] for path in every)
        assert walked.score[-1] - price * walked.cost[-1] == pytest.approx(best, abs=1e-11)


@settings(max_examples=40)
@given(logs(), st.sampled_from([0.25, 0.5, 1.0]))
def test_greedy_takes_the_most_gain_per_cost(made, stop_at):
    log, _ = made
    prepared, limit = PreparedLog(log, Scoring(stop_at, -1.0)), caps(log)
    path = greedy(prepared, limit)
    for length in range(len(path.arms) + 1):
        before = along(prepared, path.arms[:length])
        assert (before.score[-1], before.cost[-1]) == pytest.approx((path.score[length], path.cost[length]), abs=1e-12)
        if length == len(path.arms):
            break
        assert path.alive[length] == pytest.approx(float(np.mean(_alive(log, path.arms[:length], stop_at))), abs=1e-12)
        rates = {}
        for arm in range(2):
            if path.arms[:length].count(arm) < limit[arm]:
                after = along(prepared, (*path.arms[:length], arm))
                gain, cost = after.score[-1] - before.score[-1], after.cost[-1] - before.cost[-1]
                rates[arm] = walk.ratio(gain, cost)
        assert path.gain_per_cost(length) == pytest.approx(max(rates.values()), rel=1e-6)


def _alive(log, sequence, stop_at):
    out = follow(log, [ARMS[arm] for arm in sequence], Scoring(stop_at, -1.0, stop_at))
    return 1 - out.solved


def test_paths_end_where_too_few_tasks_are_left(tune):
    rows = [
        {"task": t, "arm": "a", "score": float(i >= t % 3 or t > 2), "cost": 1} for t in range(40) for i in range(3)
    ]
    log = at.Log.from_records(rows)
    prepared, limit = PreparedLog(log, Scoring(1.0, 0.0)), caps(log)
    assert len(greedy(prepared, limit).arms) == 1  # one task and a third would need a second attempt
    assert [len(path.arms) for path in singles(prepared, limit)] == [1]
    tune(fewest_reaching=0.0)
    assert len(greedy(prepared, limit).arms) == 3


def test_pairs_are_one_arm_and_then_another(thorough):
    rng = np.random.default_rng(0)
    rows = [
        {"task": t, "arm": a, "score": float(rng.random() < 0.3), "cost": 1}
        for t in range(20)
        for a in "abc"
        for _ in range(2)
    ]
    log = at.Log.from_records(rows)
    arms = {path.arms for path in pairs(PreparedLog(log, Scoring(1.0, 0.0)), caps(log))}
    assert arms == {(a,) * n + (b,) * 2 for a in range(3) for b in range(3) if a != b for n in (1, 2)}


def test_free_attempts_are_made_as_long_as_they_gain():
    rows = [{"task": t, "arm": a, "score": float(t % 2 == 0 and a == "a"), "cost": 0} for t in range(10) for a in "ab"]
    log = at.Log.from_records(rows)
    path = greedy(PreparedLog(log, Scoring(1.0, 0.0)), caps(log))
    assert path.arms == (0,)
    assert path.gain_per_cost(0) == np.inf


def test_what_cannot_be_walked():
    log = at.Log.from_records(
        [{"task": 1, "arm": "a", "score": 1, "cost": 1}, {"task": 2, "arm": "a", "score": 1, "cost": None},
         {"task": 2, "arm": "b", "score": 1, "cost": 1}]
    )  # fmt: skip
    with pytest.raises(mk.InputError, match="1 attempt of arm 'a' has no cost: leave the arm out"):
        follow(log, ["a"], Scoring(1.0, 0.0, 1.0))
    with pytest.raises(mk.InputError, match="task '1' has no attempt of arm 'b': leave such tasks out with"):
        caps(log)
    with pytest.raises(mk.InputError, match="there is no arm 'c'"):
        follow(log, ["c"], Scoring(1.0, 0.0, 1.0))


def test_a_log_that_would_not_fit_in_memory(tune):
    log = at.Log.from_records([{"task": t, "arm": "a", "score": s, "cost": 1} for t in range(4) for s in range(5)])
    tune(prepared_bytes=100)
    with pytest.raises(mk.TooLargeError, match="a log of 4 tasks, 1 arms and up to 4 different scores per task"):
        PreparedLog(log, Scoring(4.0, 0.0))
