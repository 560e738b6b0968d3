"""Columns of judges and answers: through every reader, parts of a log, and what is refused."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maxatk import attempts as at
from maxatk.base.errors import InputError

ROWS = [
    {"task": t, "attempt": i, "score": (t + i) % 2, "rm": 0.25 * i - 1, "self": i * t, "answer": "xy"[i % 2]}
    for t in range(4)
    for i in range(3)
]
NAMED = {"judge": ["rm", "self"], "answer": "answer"}


def columns(log):
    judged = log.judged
    words = [None if a < 0 else judged.answers[a] for a in judged.answer]
    return log.judges, [scores.tolist() for scores in judged.scores], words


def test_every_reader_brings_the_same_columns(tmp_path):
    wanted = columns(at.Log.from_records(ROWS, **NAMED))
    assert wanted[0] == ("rm", "self")
    assert wanted[1][0][:3] == [-1.0, -0.75, -0.5]
    assert wanted[2][:3] == ["x", "y", "x"]
    assert columns(at.Log.from_frame(pd.DataFrame(ROWS), **NAMED)) == wanted
    assert columns(at.Log.from_frame(pl.DataFrame(ROWS), **NAMED)) == wanted
    pd.DataFrame(ROWS).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "x.json").write_text(json.dumps(ROWS))
    for name in ("x.csv", "x.jsonl", "x.json"):
        assert columns(at.read_log(tmp_path / name, **NAMED)) == wanted
    halves = [tmp_path / "a.csv", tmp_path / "b.csv"]
    pd.DataFrame(ROWS[:6]).to_csv(halves[0], index=False)
    pd.DataFrame(ROWS[6:]).to_csv(halves[1], index=False)
    assert columns(at.read_log(halves, **NAMED)) == wanted


def test_attempts_keep_their_judges_when_they_are_sorted():
    shuffled = [ROWS[i] for i in np.random.default_rng(0).permutation(len(ROWS))]
    log = at.Log.from_records(shuffled, **NAMED)
    for name in ("rm", "self"):
        for task in log.tasks:
            mine = log.judged.of_judge(name)[log.task == log.tasks.index(task)]
            assert mine.tolist() == [row[name] for row in shuffled if str(row["task"]) == task]


def test_parts_of_a_log_keep_their_judges():
    log = at.Log.from_records(ROWS, **NAMED)
    one = log.select(tasks=["2"])
    assert columns(one)[1:] == ([[-1.0, -0.75, -0.5], [0.0, 2.0, 4.0]], ["x", "y", "x"])
    first, second = log.split(0.5)
    assert {(t, x) for part in (first, second) for t, x in zip(part.task, part.judged.of_judge("self"), strict=True)}
    assert sum(part.judged.of_judge("self").sum() for part in (first, second)) == log.judged.of_judge("self").sum()
    assert all(len(held.judged.answer) == len(held.score) for pair in log.folds(2) for held in pair)


@pytest.mark.parametrize("blank", [None, float("nan"), "", "  ", "\t"])
def test_blank_answers(blank):
    rows = [{"task": 1, "score": 1, "answer": x} for x in ("a", blank, " a ", 2, 2.0)]
    log = at.Log.from_records(rows)
    assert log.judged.answer.tolist() == [0, -1, 0, 1, 1]
    assert log.judged.answers == ("a", "2")


def test_usual_names_are_taken_if_they_are_there():
    log = at.Log.from_records([{"task": 1, "score": s, "judge": s / 2} for s in (0, 1)])
    assert log.judges == ("judge",)
    assert log.judged.answer is None
    model = at.Log.from_records([{"task": 1, "score": s, "judge": "gpt"} for s in (0, 1)])  # the name of a judge
    assert model.judges == ()


REFUSED = [
    ({"judge": "rn"}, ROWS, "there is no column 'rn' for the judge: "),
    ({"judge": ["rm", "rm"]}, ROWS, "judge 'rm' is named twice"),
    ({"judge": 3}, ROWS, "judge must be the name of a column, or several, not 3"),
    ({"answer": "answr"}, ROWS, "there is no column 'answr' for the answer: did you mean 'answer'?"),
    ({"judge": "rm"}, [*ROWS, {"task": 9, "score": 1}], "record 13: judge 'rm' is missing; a judge must score every"),
    ({"judge": "rm"}, [*ROWS, {"task": 9, "score": 1, "rm": "good"}], "record 13: judge 'rm' must be a number, not"),
    ({"judge": "rm"}, [*ROWS, {"task": 9, "score": 1, "rm": float("nan")}], "record 13: judge 'rm' is not a number"),
    ({"score": None}, [{"task": 1, "score": 1}], "a log without a score needs a judge"),
]


@pytest.mark.parametrize(("named", "rows", "message"), REFUSED)
def test_bad_columns_are_refused_in_one_line(named, rows, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        at.Log.from_records(rows, **named)
    assert "\n" not in str(error.value)


def test_a_constant_judge_cannot_pick():
    log = at.Log.from_records([{"task": t, "score": t % 2, "rm": 0.5} for t in range(4)], judge="rm")
    with pytest.raises(InputError, match=re.escape("judge 'rm' gives every attempt 0.5: it cannot pick one")):
        log.selected_at_k(1)


def test_unknown_judges_and_missing_answers_are_refused():
    log = at.Log.from_records(ROWS, judge=["rm", "self"])
    plain = at.Log.from_records([{"task": 1, "score": 1}])
    for call, message in [
        (lambda: log.selected_at_k(1), "judge must be given: the log has 'rm', 'self'"),
        (lambda: log.selected_at_k(1, judge="slf"), "there is no judge 'slf': did you mean 'self'?"),
        (lambda: log.selected_at_k(4, judge="rm"), "k = 4 is more than the 3 attempts of arm 'attempt' at task '0'"),
        (lambda: log.majority_at_k(2, weight="rm"), "judge 'rm' is negative somewhere (-1)"),
        (lambda: plain.selected_at_k(1), "the log has no judge"),
        (lambda: plain.majority_at_k(1), "the log has no answers to vote"),
        (lambda: at.pick_difference(log, "rm", "rm", 1), "'rm' cannot be compared with itself"),
        (lambda: at.pick_difference(log, "rm", "orcle", 1), "there is no judge 'orcle': did you mean 'oracle'?"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            call()


def test_without_the_truth_nothing_is_estimated():
    log = at.Log.from_records(ROWS, score=None, judge="rm", answer="answer")
    assert repr(log) == "Log(4 tasks, 1 arm, 12 attempts)"
    assert log.select(tasks=["1"]).judges == ("rm",)
    assert any("add the true score of some attempts" in note for note in log.notes)
    for call in (
        lambda: log.max_at_k(1), lambda: log.pass_at_k(1), lambda: log.pass_range(4), lambda: log.selected_at_k(1),
        lambda: log.majority_at_k(1), lambda: at.study(log), lambda: at.sequence(log, price=1.0),
        lambda: at.frontier(log), lambda: at.cross_replay(log, price=1.0), lambda: at.difficulty(log),
        lambda: log.pooled_scores(), lambda: at.pick_difference(log, "rm", "majority", 1),
    ):  # fmt: skip
        with pytest.raises(InputError, match="not what is true; add the true score of some attempts"):
            call()
