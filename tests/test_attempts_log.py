"""Logs: the gate and its lines, every way in, parts of a log, and the published figures of real ones."""

import csv
import json
import os
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at

DATA = Path(__file__).parent / "data"
ROWS = [
    {"task": t, "arm": a, "score": s, "cost": c}
    for t, a, s, c in (("t1", "x", 1.0, 2.0), ("t1", "y", 0.5, 3.0), ("t2", "x", 0.0, 1.0), ("t2", "y", 0.25, 4.0))
]


def same(log, other):
    assert (log.tasks, log.arms, log.score_range, log.cost_limits) == (
        other.tasks,
        other.arms,
        other.score_range,
        other.cost_limits,
    )
    for name in ("task", "arm", "score", "cost"):
        assert getattr(log, name).tolist() == getattr(other, name).tolist()


# Ways in.


def test_every_way_in_leads_to_the_same_log(tmp_path):
    log = at.Log.from_records(ROWS)
    text = "task,arm,score,cost\n" + "".join(f"{r['task']},{r['arm']},{r['score']},{r['cost']}\n" for r in ROWS)
    ways = {
        "plain.csv": text,
        "bom.csv": "\ufeff" + text,
        "semicolons.csv": text.replace(",", ";"),
        "tabs.tsv": text.replace(",", "\t"),
        "windows.csv": text.replace("\n", "\r\n"),
        "spaces.csv": text.replace(",", " , ").replace("\n", " \n\n"),
        "quoted.csv": text.replace("t1", '"t1"'),
        "lines.jsonl": "\n".join(map(json.dumps, ROWS)) + "\n\n",
        "list.json": json.dumps(ROWS),
    }
    for name, content in ways.items():
        (tmp_path / name).write_text(content, newline="")
        same(at.read_log(tmp_path / name), log)
        same(at.read_log(str(tmp_path / name), cost="cost", arm="arm"), log)
    (tmp_path / "first.csv").write_text("\n".join(text.splitlines()[:3]))
    (tmp_path / "second.jsonl").write_text("\n".join(map(json.dumps, ROWS[2:])))
    same(at.read_log([tmp_path / "first.csv", tmp_path / "second.jsonl"]), log)
    same(at.Log.from_records(iter(ROWS)), log)


def test_columns_have_the_names_that_the_user_says():
    rows = [
        {"q": r["task"], "model": r["arm"], "points": r["score"], "usd": r["cost"], "s": 1.5, "n": i}
        for i, r in enumerate(ROWS)
    ]
    log = at.Log.from_records(rows, task="q", arm="model", score="points", cost="usd", seconds="s", attempt="n")
    same(log, at.Log.from_records(ROWS))
    assert log.seconds.tolist() == [1.5] * 4
    alone = at.Log.from_records([{"task": "a", "score": 1}, {"task": "a", "score": 0}])
    assert alone.arms == ("attempt",)
    assert alone.cost.tolist() == [1.0, 1.0]
    assert alone.cost_limits.in_units
    assert "no costs are logged: every attempt counts as 1" in alone.notes


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed: data frames come from elsewhere")
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    same(at.Log.from_frame(frame), at.Log.from_records(ROWS))
    gaps = {**columns, "cost": [2.0, None, 1.0, 4.0], "task": [1, 1, 2, 2]}
    frame = module.table(gaps) if library == "pyarrow" else module.DataFrame(gaps)
    log = at.Log.from_frame(frame)
    assert log.tasks == ("1", "2")
    assert np.isnan(log.cost).tolist() == [False, True, False, False]
    missing = {**columns, "score": [1.0, None, 0.0, 0.5]}
    frame = module.table(missing) if library == "pyarrow" else module.DataFrame(missing)
    with pytest.raises(mk.InputError, match="row 1: score is missing"):
        at.Log.from_frame(frame)
    assert at.Log.from_frame(frame, missing_score=0.0).score.tolist() == [1.0, 0.0, 0.0, 0.5]


def test_data_frames_of_a_library_that_is_not_installed():
    """Whatever narwhals knows will do: here a frame that is one by protocol only."""

    class Native:
        pass

    with pytest.raises(mk.InputError, match="a data frame was expected"):
        at.Log.from_frame(Native())
    with pytest.raises(mk.InputError, match="a data frame was expected"):
        at.Log.from_frame([1, 2])


def test_numbers_of_every_kind():
    values = [1, True, np.float32(0.5), np.int64(1), np.bool_(True), Fraction(1, 4), Decimal("0.75"), 0.0]
    log = at.Log.from_records([{"task": "a", "score": x} for x in values])
    assert log.score.tolist() == [1, 1, 0.5, 1, 1, 0.25, 0.75, 0]
    for names in ([np.int64(3), 3], ["3", "3"], [3.0, 3]):
        assert at.Log.from_records([{"task": t, "score": 1} for t in names]).tasks == ("3",)


def test_numbers_as_tables_write_them(tmp_path):
    texts = ["1", "+1", "-1", "01", "1.", ".5", "1.5e-3", "2E2", "-0.25"]
    (tmp_path / "x.csv").write_text("task,score\n" + "".join(f"a, {text} \n" for text in texts))
    assert at.read_log(tmp_path / "x.csv").score.tolist() == [float(text) for text in texts]


def test_attempts_that_words_tell_apart(tmp_path):
    """Names are not counted: hashes may look like numbers."""
    words = ["1", "10", "0", "-1", "1e1", "1.5", "a", "a01", "1_0", "00b"]
    (tmp_path / "x.csv").write_text("task,score,attempt\n" + "".join(f"a,1,{word}\n" for word in words))
    assert len(at.read_log(tmp_path / "x.csv").score) == len(words)


def test_truths_in_tables(tmp_path):
    (tmp_path / "x.csv").write_text("task,score\na,True\na,false\nb,TRUE\nb,1\n")
    assert at.read_log(tmp_path / "x.csv").score.tolist() == [1, 0, 1, 1]


def test_attempts_keep_their_order_within_a_task_and_arm():
    rows = [
        {"task": t, "arm": a, "score": s}
        for t, a, s in (("b", "y", 1), ("a", "x", 2), ("b", "x", 3), ("b", "y", 4), ("a", "x", 5))
    ]
    log = at.Log.from_records(rows)
    assert (log.tasks, log.arms) == (("b", "a"), ("y", "x"))
    assert log.score.tolist() == [1, 4, 3, 2, 5]
    assert log.counts.tolist() == [[2, 1], [0, 2]]
    with pytest.raises(ValueError, match="read-only"):
        log.score[0] = 7


# The gate.


def broken(**change):
    return [*ROWS[:2], {**ROWS[2], **change}]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "the log is empty: it has no attempts"),
        (broken(score=float("nan")), {}, r"record 3: score is not a number \(NaN\)"),
        (broken(score=None), {}, "record 3: score is missing; if an attempt without a score counts as a failure, give"),
        (broken(score="good"), {}, "record 3: score must be a number, not 'good'"),
        (broken(score=[1]), {}, "record 3: score is a list, and cost is one value, 1.0: give a list"),
        (broken(score=[[1]], cost=[2]), {}, r"record 3, entry 1: score must be a number, not \[1\]"),
        (broken(score=1e101), {}, "record 3: score must be finite and within ±1e\\+100, not 1e\\+101"),
        (broken(score=10**400), {}, "record 3: score must be finite"),
        (broken(score=1j), {}, "record 3: score must be a number"),
        (broken(cost=-0.5), {}, "record 3: cost must not be negative, but is -0.5"),
        (broken(cost=float("inf")), {}, "record 3: cost must be finite"),
        (broken(cost="dear"), {}, "record 3: cost must be a number, not 'dear'"),
        (broken(task=None), {}, "record 3: task is missing"),
        (broken(task=""), {}, "record 3: task is missing"),
        (broken(task=1.5), {}, "record 3: task must be a word or a whole number, not 1.5"),
        (broken(task=True), {}, "record 3: task must be a word or a whole number, not True"),
        (broken(task=7), {}, "record 1: task is the word 't1', but record 3 has the number 7: use one kind"),
        (broken(arm={"x"}), {}, "record 3: arm must be a word or a whole number"),
        (broken(arm=["x"]), {}, "record 3: arm is a list, and score is one value, 0.0: give a list"),
        ([*ROWS, 5], {}, "record 5: it is not a dictionary of columns, but 5"),
        (ROWS, {"score": "points"}, "there is no column 'points' for the score: there are task, arm, score, cost"),
        (ROWS, {"cost": "costs"}, "there is no column 'costs' for the cost: did you mean 'cost'?"),
        (ROWS, {"task": 3}, "task must be the name of a column, not 3"),
        ([{"task": "a"}], {}, "there is no column 'score' for the score: there are task"),
        ([{**row, "attempt": 1} for row in ROWS * 2], {}, "record 5: attempt 1 of arm 'x' at task 't1' occurs twice"),
        (ROWS, {"score_range": (0, 0.75)}, "record 1: score 1 is outside the score_range 0 to 0.75"),
        (ROWS, {"score_range": (1, 0)}, "score_range must be two numbers, the smaller first"),
        (ROWS, {"score_range": 1}, "score_range must be two numbers, the lowest and the highest score, not 1"),
        (ROWS, {"score_range": (0, float("nan"))}, "score_range is not a number"),
        (ROWS, {"cost_limit": 3}, "record 4: cost 4 is more than the cost_limit 3"),
        (ROWS, {"cost_limit": {"x": 9}}, "cost_limit has no entry for arm 'y'"),
        (ROWS, {"cost_limit": {"x": 1.5, "y": 9}}, "record 1: cost 2 is more than the cost_limit 1.5"),
        (ROWS, {"cost_limit": "9"}, "the log: cost_limit must be a number, not '9'"),
        (broken(score=None), {"missing_score": float("nan")}, "missing_score is not a number"),
        ("task", {}, "records must be a list of dictionaries, not 'task'"),
        (5, {}, "records must be a list of dictionaries, not 5"),
    ],
)  # fmt: skip
def test_the_gate_says_what_is_wrong(rows, options, message):
    with pytest.raises(mk.InputError, match=message) as caught:
        at.Log.from_records(rows, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "the log is empty|there is no column"),
        ("x.csv", "task,score\n", "the log is empty"),
        ("x.csv", "task,score\na,1\nb\n", "line 3: it has 1 cells, and the first line has 2"),
        ("x.csv", 'task,score\n"a,1\n', "line 2: unexpected end of data"),
        ("x.csv", "task,score,task\na,1,b\n", "two columns are named 'task'"),
        ("x.csv", "task,score\na,1\nb,x\n", "line 3: score must be a number, not 'x'"),
        ("x.csv", "task,score\na,1\n\nb,nan\n", r"line 4: score is not a number \(NaN\)"),
        ("x.csv", "task,score\na,1\nb,-inf\n", "line 3: score must be finite"),
        # Python's float takes all of these for numbers, and so did we.
        ("x.csv", "task,score\na,1_0\n", "line 2: score must be a number, not '1_0'"),
        ("x.csv", "task,score\na,\uff11\uff10\n", "line 2: score must be a number, not '\uff11\uff10'"),
        ("x.csv", "task,score\na,\u0661\n", "line 2: score must be a number, not '\u0661'"),
        ("x.csv", "task,score,cost\na,1,1_000\n", "line 2: cost must be a number, not '1_000'"),
        ("x.csv", "task,score,seconds\na,1,1_000\n", "line 2: seconds must be a number, not '1_000'"),
        ("x.json", '{"eval": {"model": "m"}, "samples": [{"id": 1, "scores": {"s": {"value": "1_0"}}}]}', "'s' gave"),
        # Attempts that one number counts, however it is written.
        ("x.csv", "task,score,attempt\na,1,1\na,0,1.0\n", "line 3: attempt '1.0' of .* occurs twice, first at line 2"),
        ("x.csv", "task,score,attempt\na,1,1\nb,0,1\na,1,01\n", "line 4: attempt '01' of .* occurs twice"),
        ("x.jsonl", '{"task": 1, "score": 1, "attempt": 1}\n{"task": 1, "score": 1, "attempt": 1.0}', "line 2: at"),
        # The last of two entries of one name used to win without a word.
        ("x.jsonl", '{"task": 1, "score": 1}\n{"task": 1, "score": 0, "score": 1}', "line 2: two entries .* 'score'"),
        ("x.json", '[{"task": 1, "score": 0},\n{"task": "", "s": {"task": 2},\n "t\\u0061sk": 2}]', "line 3: .*'task'"),
        ("x.csv", "task,score\na,\n", "line 2: score is missing"),
        ("x.csv", "task,score,cost\na,1,-2\n", "line 2: cost must not be negative"),
        ("x.csv", b"\xff\xfe\x00", "it is not text in UTF-8"),
        ("x.csv", "a" * 200_000 + ",score\n", "field larger than field limit"),
        ("x.jsonl", '{"task": 1, "score": 1}\n{"task": ', "line 2: not JSON"),
        ("x.jsonl", '{"task": 1, "score": 1}\n3\n', "line 2|record 2"),
        ("x.jsonl", '{"task": 1, "score": NaN}\n', "line 1: score is not a number"),
        ("x.jsonl", "[" * 100_000, "nested too deeply|not JSON"),
        ("x.json", '{"task": 1}', "it is one JSON object: a list of objects was expected, or a log of Inspect"),
        ("x.json", "3", "records must be a list of dictionaries, not 3"),
        ("x.json", '{"eval": {"model": "m"}, "samples": []}', "has no samples"),
        ("x.json", '{"eval": {"model": "m"}, "samples": [3]}', "sample 1: it has no id"),
        ("x.json", '{"eval": {"model": "m"}, "samples": [{"id": 1, "scores": {"s": {"value": "?"}}}]}', "'s' gave"),
        ("x.jsonl", '{"doc_id": 1, "resps": []}\n{"doc_id": 2}\n', "line 2: it is not a sample"),
    ],
)  # fmt: skip
def test_files_that_are_not_logs(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(mk.InputError, match=message) as caught:
        at.read_log(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)


def test_paths_that_are_no_files(tmp_path):
    for path, message in (
        (tmp_path / "no.csv", "cannot be read: No such file"),
        (tmp_path, "there is no log in this folder: files end in .arrow, .csv"),
        ("a\0b", "path must be the path of a file, not 'a.x00b': embedded null byte"),
        (5, "path must be the path of a file, not 5"),
        ("/dev/null", "it is not a file"),
        ([], "no file was named"),
    ):
        with pytest.raises(mk.InputError, match=message):
            at.read_log(path)
    (tmp_path / "a.csv").write_text("task,score,cost\na,1,1\n")
    (tmp_path / "b.csv").write_text("task,score\na,1\n")
    with pytest.raises(mk.InputError, match=r"b.csv: it has no column for the cost, and others have"):
        at.read_log([tmp_path / "a.csv", tmp_path / "b.csv"])
    (tmp_path / "c.csv").write_text("task,score,cost\na,1,1\na,x,1\n")
    with pytest.raises(mk.InputError, match=r"c.csv: line 3: score must be a number, not 'x'"):
        at.read_log([tmp_path / "a.csv", tmp_path / "c.csv"])


# What a log says of itself.


def test_notes():
    rows = [{"task": t, "arm": "x", "score": float(t % 2), "cost": None if t == 0 else 1} for t in range(10)]
    rows += [{"task": t, "arm": "x", "score": 0.0, "cost": 1} for t in range(1, 10)]
    rows += [{"task": 0, "arm": "y", "score": 1.0, "cost": 1}]
    notes = at.Log.from_records(rows).notes
    assert notes[0] == "task '0' has a single attempt of arm 'x', which limits estimates to k = 1"
    assert "9 tasks have no attempt of arm 'y'" in notes
    assert "attempts without a cost: 1 of 19 of x" in notes
    assert at.Log.from_records([{**row, "cost": 1} for row in ROWS * 2]).notes == ()


def test_logs_that_stopped_at_a_success_are_pointed_out():
    rng = np.random.default_rng(0)
    stopped, whole = [], []
    for t in range(40):
        draws = rng.random(8) < 0.3
        whole += [{"task": t, "score": float(x), "cost": 1} for x in draws[: rng.integers(3, 9)]]
        first = int(np.argmax(draws)) + 1 if draws.any() else 8
        stopped += [{"task": t, "score": float(x), "cost": 1} for x in draws[:first]]
    assert any("ended at the first success" in note for note in at.Log.from_records(stopped).notes)
    assert not any("ended at the first success" in note for note in at.Log.from_records(whole).notes)


def test_parts_of_a_log():
    rng = np.random.default_rng(0)
    rows = [
        {"task": t, "arm": a, "score": rng.random(), "cost": t + 1}
        for t in range(9)
        for a in "xyz"
        for _ in range(1 + (t + ord(a) % 2) % 3)
    ]
    log = at.Log.from_records(rows)
    some = log.select(tasks=["3", 5], arms=["z", "x"])
    kept = [row for row in rows if row["task"] in (3, 5) and row["arm"] in "xz"]
    assert some.score.tolist() == [row["score"] for row in kept]
    assert (some.tasks, some.arms) == (("3", "5"), ("x", "z"))
    assert (log.select(min_attempts=2).counts >= 2).all()
    assert len(log.select(min_attempts=2).tasks) == sum((log.counts >= 2).all(axis=1))
    first, second = log.split(1 / 3, rng=1)
    assert (len(first.tasks), len(second.tasks)) == (3, 6)
    assert set(first.tasks) | set(second.tasks) == set(log.tasks)
    assert len(first.score) + len(second.score) == len(log.score)
    again, _ = log.split(1 / 3, rng=1)
    assert again.tasks == first.tasks
    folds = log.folds(4, rng=2)
    assert sorted(t for _, held in folds for t in held.tasks) == sorted(log.tasks)
    for rest, held in folds:
        assert not set(rest.tasks) & set(held.tasks)
        assert len(rest.tasks) + len(held.tasks) == 9
    assert len(log.folds(50)) == 9
    for call, message in (
        (lambda: log.select(arms=["w"]), "there is no arm 'w'"),
        (lambda: log.select(tasks=["77"]), "there is no task '77' in the log"),
        (lambda: log.select(min_attempts=9), "the selection has no attempts"),
        (lambda: log.split(1), "share must lie between 0 and 1, not 1"),
        (lambda: log.split("a"), "share must lie between 0 and 1, not 'a'"),
        (lambda: log.select(tasks=["1"]).split(), "a log of one task cannot be split"),
        (lambda: log.select(tasks=["1"]).folds(), "a log of one task cannot be split"),
        (lambda: log.max_at_k(3), r"k = 3 is more than the \d attempts? of arm '.' at task"),
        (lambda: log.pass_range(3), "arm must be given: the log has 'x', 'y', 'z'"),
    ):
        with pytest.raises(mk.InputError, match=message):
            call()


def test_costs_that_are_not_known():
    rows = [
        {"task": t, "arm": a, "score": 1, "cost": None if (t, a) == (0, "x") else t + 1} for t in range(3) for a in "xy"
    ]
    log = at.Log.from_records(rows)
    assert log.fill_costs().cost.tolist() == [2.5, 1, 2, 2, 3, 3]
    assert np.isnan(log.cost[0])
    none = at.Log.from_records(
        [{"task": 1, "arm": "x", "score": 1, "cost": None}, {"task": 1, "arm": "y", "score": 1, "cost": 2}]
    )
    with pytest.raises(mk.InputError, match="no attempt of arm 'x' has a cost"):
        none.fill_costs()


# Tools' own logs.


def test_logs_of_inspect():
    log = at.read_log([DATA / "inspect" / "small.json", DATA / "inspect" / "big.json"], score="includes")
    assert log.arms == ("mockllm/small", "mockllm/big")
    assert log.tasks == ("sums/sum 0", "sums/sum 1")
    assert log.counts.tolist() == [[2, 2], [2, 2]]
    cells = {(log.tasks[t], log.arms[a]): [] for t in range(2) for a in range(2)}
    for t, a, s in zip(log.task, log.arm, log.score, strict=True):
        cells[log.tasks[t], log.arms[a]].append(s)
    # Answers were 0, 9, 9, 9 and 0, 2, 9, 2 to 0+0 and 1+1, twice.
    assert cells == {
        ("sums/sum 0", "mockllm/small"): [1, 0], ("sums/sum 1", "mockllm/small"): [0, 0],
        ("sums/sum 0", "mockllm/big"): [1, 0], ("sums/sum 1", "mockllm/big"): [1, 1],
    }  # fmt: skip
    assert sorted(log.cost.tolist()) == [15, 16, 17, 18, 60, 61, 62, 63]  # tokens
    assert log.seconds is not None
    partial = at.read_log(DATA / "inspect" / "small.json", score="partial", cost="output_tokens")
    assert partial.score.tolist() == [1, 0.25, 0.25, 0.25]
    assert sorted(partial.cost.tolist()) == [5, 6, 7, 8]
    with pytest.raises(mk.InputError, match=r"there is no column 'score' for the score: .*includes, partial"):
        at.read_log(DATA / "inspect" / "small.json")
    with pytest.raises(mk.InputError, match="occurs twice"):
        at.read_log([DATA / "inspect" / "small.json"] * 2, score="includes")


def test_packed_logs_of_inspect():
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: it reads its .eval logs itself")
    packed = at.read_log([DATA / "inspect" / "small.eval", DATA / "inspect" / "big.eval"], score="partial")
    plain = at.read_log([DATA / "inspect" / "small.json", DATA / "inspect" / "big.json"], score="partial")
    assert packed.score.tolist() == plain.score.tolist()
    assert packed.cost.tolist() == plain.cost.tolist()
    same(
        at.read_log(DATA / "inspect", score="partial").select(arms=["mockllm/big"]), packed.select(arms=["mockllm/big"])
    )


def test_packed_logs_without_inspect(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(mk.MissingExtraError, match=r"small.eval: .eval logs are read by Inspect itself: pip install"):
        at.read_log(DATA / "inspect" / "small.eval", score="includes")


def test_samples_that_ended_in_an_error(tmp_path):
    data = json.loads((DATA / "inspect" / "small.json").read_text())
    data["samples"][1]["scores"] = {}  # as Inspect leaves it when a sample breaks off
    (tmp_path / "x.json").write_text(json.dumps(data))
    with pytest.raises(mk.InputError, match="sample 2: score is missing"):
        at.read_log(tmp_path / "x.json", score="includes")
    assert len(at.read_log(tmp_path / "x.json", score="includes", missing_score=0).score) == 4
    for sample in data["samples"]:
        sample["scores"] = {"judge": {"value": {"style": 0.5, "truth": "C"}}}
    (tmp_path / "y.json").write_text(json.dumps(data))
    assert at.read_log(tmp_path / "y.json", score="judge.truth").score.tolist() == [1] * 4
    for sample in data["samples"]:
        sample["scores"] = {"only": {"value": "P"}}
    (tmp_path / "z.json").write_text(json.dumps(data))
    assert at.read_log(tmp_path / "z.json").score.tolist() == [0.5] * 4


def test_samples_of_the_lm_evaluation_harness():
    log = at.read_log(DATA / "lm_eval", score="exact_match,loose")
    assert set(log.arms) == {"small", "big"}
    assert log.tasks == ("sums/0", "sums/1", "sums/2")
    assert (log.counts == 2).all()
    # Answers were 0 9 9 and 0 2 9, then 0 2 4 and 9 2 4, to 0+0, 1+1 and 2+2; the first has a blank before it.
    assert log.pass_at_k(1, pass_threshold=1, arm="small").value == 3 / 6
    assert log.pass_at_k(1, pass_threshold=1, arm="big").value == pytest.approx(5 / 6)
    assert log.pass_at_k(2, pass_threshold=1, arm="big").value == 1
    strict = at.read_log(DATA / "lm_eval", score="exact_match,strict")
    assert strict.pass_at_k(1, pass_threshold=1, arm="small").value == pytest.approx(1 / 6)
    with pytest.raises(mk.InputError, match=r"there is no column 'score' for the score: .* exact_match,strict"):
        at.read_log(DATA / "lm_eval")


def test_one_filter_and_metric_need_no_name(tmp_path):
    (tmp_path / "m").mkdir()
    source = next((DATA / "lm_eval" / "small").glob("*.jsonl"))
    lines = [line for line in source.read_text().splitlines() if '"filter": "loose"' in line]
    (tmp_path / "m" / source.name).write_text("\n".join(lines))
    assert at.read_log(tmp_path).score.tolist() == [1, 0, 0] or len(at.read_log(tmp_path).score) == 3
    (tmp_path / "m" / source.name).write_text("\n".join(lines * 2))
    with pytest.raises(mk.InputError, match="line 4: question 0 occurs twice"):
        at.read_log(tmp_path)


# Real logs, and the figures that were published of them.


def test_tau_bench():
    """The README of tau-bench has pass^1..4 = 0.420, 0.273, 0.220, 0.200 for gpt-4o on its airline tasks."""
    log = at.read_log(DATA / "tau_airline_gpt4o.csv")
    assert repr(log) == "Log(50 tasks, 1 arm, 200 attempts)"
    assert [round(x, 3) for x in log.pass_hat_k([1, 2, 3, 4]).value] == [0.42, 0.273, 0.22, 0.2]
    assert log.pass_at_k(4).value == pytest.approx(0.72)
    # By hand, from the file.
    with (DATA / "tau_airline_gpt4o.csv").open() as file:
        rows = list(csv.DictReader(file))
    passed = {row["task"] for row in rows if float(row["score"]) == 1}
    assert len(passed) / 50 == pytest.approx(0.72)


def test_terminal_bench():
    """factory.ai's figures: Droid with Opus 4.1 resolves 58.75 %, with GPT-5 52.5 %."""
    path = os.environ.get("MAXATK_TERMINAL_BENCH")
    if not path:
        pytest.skip("MAXATK_TERMINAL_BENCH does not name a copy of the log, which may not be distributed")
    log = at.read_log(path)
    assert repr(log) == "Log(80 tasks, 13 arms, 5200 attempts)"
    assert log.pass_at_k(1, pass_threshold=1.0, arm="droid+claude-4-1-opus").value == pytest.approx(0.5875)
    assert log.pass_at_k(1, pass_threshold=1.0, arm="droid+gpt-5").value == pytest.approx(0.5250)
    assert np.isnan(log.cost).sum() == 1276


def test_the_recorded_log():
    log = at.example_log()
    assert (log.counts == 10).all()
    assert len(log.tasks) >= 100
    assert len(log.arms) == 5
    assert log.score_range == (0.0, 1.0)
    assert len(np.unique(log.score)) > 100  # by degrees
    cost = [log.cost[log.arm == a].mean() for a in range(5)]
    assert max(cost) > 10 * min(cost)
    assert log.notes == ()


# Tables that are counted from a log.


def test_a_counted_table_promises_too_much_and_says_so():
    rows = [{"task": t, "arm": a, "score": float(t % 2), "cost": 1} for t in range(20) for a in "xy" for _ in range(3)]
    log = at.Log.from_records(rows)
    with pytest.warns(
        at.AttemptsWarning,
        match=r"[xy]: 100 % of the variance of scores lies between tasks; the best of 3 is worth 0.500, .* 0.875",
    ) as caught:
        mdp = mk.MDP.from_log(log)
    assert len(caught) == 2  # one for each arm
    assert {one.filename for one in caught} == {__file__}  # where the problem was asked for
    assert (mdp.n_states, mdp.n_actions, mdp.horizon) == (1, 2, 1)
    promised = mk.solve(mdp, k=3, solver=mk.Exact()).exact
    assert promised == Fraction(7, 8)
    assert log.max_at_k(3, arm="x").value == 0.5
    assert list(mdp.action_names) == ["x", "y"]


def test_tasks_that_are_alike_do_not_warn():
    rng = np.random.default_rng(5)
    rows = [{"task": t, "score": float(rng.random() < 0.5)} for t in range(200) for _ in range(4)]
    log = at.Log.from_records(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mdp = mk.MDP.from_log(log)
    share = Fraction(int(log.score.sum()), len(log.score))
    assert mk.solve(mdp, k=1, solver=mk.Exact()).exact == share
    (difficulty,) = at.difficulty(log)
    assert difficulty.between < 0.05
    assert difficulty.pooled == pytest.approx(difficulty.measured, abs=0.02)


def test_the_share_of_variance_by_hand():
    """Scores 0 2 | 4 6 8 | 5, by the analysis of variance for unequal numbers, in fractions."""
    cells = ((0, 2), (4, 6, 8), (5,))
    scores = [Fraction(x) for cell in cells for x in cell]
    mean = sum(scores) / 6
    means = [Fraction(sum(cell), len(cell)) for cell in cells]
    within = sum((x - m) ** 2 for cell, m in zip(cells, means, strict=True) for x in cell) / 3
    among = sum(len(cell) * (m - mean) ** 2 for cell, m in zip(cells, means, strict=True)) / 2
    usual = (6 - Fraction(4 + 9 + 1, 6)) / 2
    variance = (among - within) / usual
    rows = [{"task": t, "score": x} for t, cell in enumerate(cells) for x in cell]
    (difficulty,) = at.difficulty(at.Log.from_records(rows))
    assert difficulty.between == pytest.approx(float(variance / (variance + within)), rel=1e-12)


def test_the_share_of_variance_between_tasks_is_that_of_the_textbook():
    rng = np.random.default_rng(2)
    n, k = 3000, 4
    level = rng.normal(0, 2, n)
    rows = [{"task": t, "score": level[t] + e} for t in range(n) for e in rng.normal(0, 1, k)]
    (difficulty,) = at.difficulty(at.Log.from_records(rows))
    assert difficulty.between == pytest.approx(4 / 5, abs=0.02)
    assert difficulty.pooled > difficulty.measured
