"""Formats of logs: every way in leads to one log, tools' own files, and one line for every bad file."""

import bz2
import gzip
import io
import itertools
import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.logs import formats, table
from maxatk.cli import main

DATA = Path(__file__).parent / "data"
ROWS = [
    {"task": t, "arm": a, "score": s, "cost": c}
    for t, a, s, c in (("t1", "x", 1.0, 2.0), ("t1", "y", 0.5, 3.0), ("t2", "x", 0.0, 1.0), ("t2", "y", 0.25, 4.0))
]
CSV = "task,arm,score,cost\n" + "".join(f"{r['task']},{r['arm']},{r['score']},{r['cost']}\n" for r in ROWS)
LINES = "\n".join(map(json.dumps, ROWS)) + "\n"


def same(log, other):
    assert (log.tasks, log.arms, log.cost_limits) == (other.tasks, other.arms, other.cost_limits)
    for name in ("task", "arm", "score", "cost"):
        assert getattr(log, name).tolist() == getattr(other, name).tolist()


def refused(message, path, error=mk.InputError, **options):
    with pytest.raises(error, match=message) as caught:
        at.read_log(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def zstandard():
    return pytest.importorskip("zstandard", reason="zstandard is not installed")


def pyarrow():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


# Compressed files.

PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", [*PACKED, ".zst"])
@pytest.mark.parametrize(("inner", "text"), [(".csv", CSV), (".jsonl", LINES), (".json", json.dumps(ROWS))])
def test_compressed_files(tmp_path, suffix, inner, text):
    pack = PACKED.get(suffix) or zstandard().ZstdCompressor().compress
    path = tmp_path / f"log{inner}{suffix}"
    path.write_bytes(pack(text.encode()))
    same(at.read_log(path), at.Log.from_records(ROWS))
    path.write_bytes(pack(text[:30].encode()) + pack(text[30:].encode()))  # several members, frames or streams
    same(at.read_log(path), at.Log.from_records(ROWS))


@pytest.mark.parametrize("suffix", [*PACKED, ".zst"])
def test_compressed_files_that_are_cut_short(tmp_path, suffix):
    pack = PACKED.get(suffix) or zstandard().ZstdCompressor().compress
    rng = np.random.default_rng(0)
    lines = [f"t{i},x,{rng.random()},1" for i in range(3000)]
    content = pack(("task,arm,score,cost\n" + "\n".join(lines)).encode())
    path = tmp_path / f"log.csv{suffix}"
    for part in (content[:-1], content[: len(content) // 2], content[:3], b"task,score\n"):
        path.write_bytes(part)
        assert refused(f"it is not a complete {suffix} file", path).startswith(f"{path}: ")
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    path.write_bytes(flipped)
    if suffix != ".zst":  # by default its frames have no checksum of their content
        refused(f"it is not a complete {suffix} file", path)


def test_a_small_file_that_unpacks_to_a_huge_one(tmp_path, tune):
    tune(log_file_bytes=10**6)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a" * 10**8))
    refused("too much for a log of attempts", tmp_path / "bomb.csv.gz")


def test_zst_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    (tmp_path / "x.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    refused(r"x.csv.zst: zstandard is not installed.*pip install maxatk\[readers\]", tmp_path / "x.csv.zst",
            mk.MissingExtraError)  # fmt: skip


# Parquet and Arrow.


def arrow_file(arrow, columns, kind):
    made, out = arrow.table(columns), io.BytesIO()
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(made, out)
    else:
        new = arrow.ipc.new_file if kind == "file" else arrow.ipc.new_stream
        with new(out, made.schema) as writer:
            writer.write_table(made)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "kind"), [("x.parquet", "parquet"), ("x.arrow", "file"), ("x.feather", "file"), ("x.arrow", "stream")]
)
def test_parquet_and_arrow(tmp_path, name, kind):
    arrow = pyarrow()
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    (tmp_path / name).write_bytes(arrow_file(arrow, {**columns, "text": ["long"] * 4}, kind))
    same(at.read_log(tmp_path / name), at.Log.from_records(ROWS))
    # One row per task, with lists.
    lists = {"task": ["t1", "t2"], "score": [[1.0, 0.5], [0.0, 0.25]], "cost": [[2.0, 3.0], [1.0, 4.0]],
             "arm": [["x", "y"], ["x", "y"]]}  # fmt: skip
    (tmp_path / name).write_bytes(arrow_file(arrow, lists, kind))
    same(at.read_log(tmp_path / name), at.Log.from_records(ROWS))
    (tmp_path / name).write_bytes(arrow_file(arrow, {"prompt": [1], "reward": [1.0]}, kind))
    refused("there is no column 'task' for the task: there are prompt, reward; name them with score=", tmp_path / name)
    (tmp_path / name).write_bytes(arrow_file(arrow, {"task": [1, 2], "score": [1.0, None]}, kind))
    refused("row 1: score is missing", tmp_path / name)
    (tmp_path / name).write_bytes(arrow_file(arrow, columns, kind)[:-20])
    refused("not a readable Parquet or Arrow file", tmp_path / name)
    (tmp_path / name).write_bytes(b"task,score\na,1\n")
    refused("not a readable Parquet or Arrow file", tmp_path / name)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    refused(r"x.parquet: pyarrow is not installed, which reads it: pip install maxatk\[readers\]",
            tmp_path / "x.parquet", mk.MissingExtraError)  # fmt: skip


# Lists: one row per task.


def test_lists_of_scores(tmp_path):
    rows = [
        {"task": "a", "arm": "x", "score": [1, 0, 0.5], "cost": [1, 2, None]},
        {"task": "b", "arm": "x", "score": 1},
    ]
    flat = [("a", 1, 1), ("a", 0, 2), ("a", 0.5, None), ("b", 1, None)]
    flat = at.Log.from_records([{"task": t, "arm": "x", "score": s, "cost": c} for t, s, c in flat])
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for log in (at.Log.from_records(rows), at.read_log(tmp_path / "x.jsonl")):
        assert (log.tasks, log.arms, log.score.tolist()) == (flat.tasks, flat.arms, flat.score.tolist())
        assert np.array_equal(log.cost, flat.cost, equal_nan=True)
    log = at.Log.from_records([{"task": 1, "score": np.array([1.0, 2.0])}])
    assert log.score.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"task": 1, "score": [1, 0], "cost": [1]}, "line 2: score has 2 entries, and cost has 1"),
        ({"task": 1, "score": [1, 0], "cost": [1, 2, 3]}, "line 2: cost has 3 entries, and score has 2"),
        ({"task": 1, "score": [1, 0], "cost": 3}, "line 2: score is a list, and cost is one value, 3: give a list"),
        ({"task": 1, "score": 1, "cost": [3]}, "line 2: cost is a list, and score is one value, 1: give a list"),
        ({"task": 1, "score": [1, [0]], "cost": [1, 1]}, r"line 2, entry 2: score must be a number, not \[0\]"),
        ({"task": 1, "score": [1, None], "cost": [1, 1]}, "line 2, entry 2: score is missing"),
        ({"task": 1, "score": [], "cost": []}, "line 2: score is an empty list"),
        ({"task": [1, 2], "score": [1, 0], "cost": [1, 1]}, "line 2: task must be a word or a whole number"),
        ({"task": 1, "score": [1, "0"], "cost": [1, 1]}, "line 2, entry 2: score must be a number, not '0'"),
    ],
)
def test_lists_that_do_not_fit(tmp_path, row, message):
    first = {"task": 0, "score": [1, 1], "cost": [1, 1]}
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, (first, row))))
    refused(message, tmp_path / "x.jsonl")


def test_lists_of_judges_and_answers(tmp_path):
    """The layout of data sets of best-of-n: one row per task."""
    rows = [
        {"task": 1, "score": [1, 0], "rm": [0.2, 0.4], "vote": ["a", "b"], "answer": "a"},
        {"task": 2, "score": [1], "rm": [0.5], "vote": [None], "answer": "c"},
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flat = [
        {"task": row["task"], "score": s, "rm": j, "vote": v}
        for row in rows
        for s, j, v in zip(row["score"], row["rm"], row["vote"], strict=True)
    ]
    log = at.read_log(tmp_path / "x.jsonl", judge="rm", answer="vote")
    other = at.Log.from_records(flat, judge="rm", answer="vote")
    assert log.selected_at_k(1, judge="rm").value == other.selected_at_k(1, judge="rm").value
    assert log.select(tasks=["1"]).selected_at_k(2, judge="rm").value == 0
    assert log.majority_at_k(1).value == other.majority_at_k(1).value
    # A column of the usual name with one value for a list is the reference, and not a vote; if named, it is refused.
    with pytest.raises(mk.InputError, match="answer"):
        at.read_log(tmp_path / "x.jsonl", judge="rm").majority_at_k(1)
    refused("line 1: score is a list, and answer is one value, 'a': give a list", tmp_path / "x.jsonl", answer="answer")
    refused("line 1: score has 2 entries, and judge rm has 1", _lines(tmp_path, {**rows[0], "rm": [1]}), judge="rm")
    refused("line 1, entry 2: .*rm.* must be a number", _lines(tmp_path, {**rows[0], "rm": [1, "x"]}), judge="rm")


def _lines(folder, *rows):
    (folder / "y.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "y.jsonl"


# Folders, patterns, standard input.


def test_folders_and_patterns(tmp_path, monkeypatch):
    log = at.Log.from_records(ROWS)
    lines = CSV.splitlines()
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    (tmp_path / "runs" / "a.csv").write_text("\n".join(lines[:3]))
    (tmp_path / "runs" / "deep" / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(LINES.splitlines()[2:]).encode()))
    (tmp_path / "runs" / "notes.txt").write_text("not a log")
    (tmp_path / "runs" / ".hidden.csv").write_text("nor this")
    same(at.read_log(tmp_path / "runs"), log)
    same(at.read_log(str(tmp_path / "runs" / "**" / "[ab].*")), log)
    monkeypatch.chdir(tmp_path)
    same(at.read_log(["runs/*.csv", "runs/deep"]), log)
    refused(r"runs/\*.parquet: no file has such a name", "runs/*.parquet")
    (tmp_path / "odd[1].csv").write_text(CSV)
    same(at.read_log("odd[1].csv"), log)  # a file of that name comes before the pattern


def test_what_a_tool_named_is_read_alone(tmp_path):
    (tmp_path / "m").mkdir()
    source = next((DATA / "lm_eval" / "small").glob("*.jsonl"))
    (tmp_path / "m" / source.name).write_text(source.read_text())
    (tmp_path / "m" / "results_2026.json").write_text("{}")
    (tmp_path / "other.csv").write_text(CSV)
    assert len(at.read_log(tmp_path, score="exact_match,loose").score) == 3


@pytest.mark.parametrize(
    "content", [CSV, LINES, json.dumps(ROWS), gzip.compress(CSV.encode(), mtime=0)], ids=["csv", "jsonl", "json", "gz"]
)
def test_standard_input(monkeypatch, content):
    raw = content if isinstance(content, bytes) else content.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    same(at.read_log("-"), at.Log.from_records(ROWS))


def test_standard_input_of_other_formats(monkeypatch):
    def given(raw):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        return at.read_log("-", score="includes")

    plain = DATA / "inspect" / "small.json"
    assert given(plain.read_bytes()).score.tolist() == at.read_log(plain, score="includes").score.tolist()
    with pytest.raises(mk.InputError, match="standard input: line 2: score must be a number, not 'x'"):
        given(b"task,includes\na,x\n")
    with pytest.raises(mk.InputError, match="standard input: the log is empty"):
        given(b"")
    with pytest.raises(mk.InputError, match=r"standard input: it is not a complete .gz file"):
        given(gzip.compress(CSV.encode())[:-9])


def test_formats_are_told_apart():
    """No two formats without content to tell them apart share a suffix, and the last takes all that is left."""
    plain = [one for one in formats.FORMATS if not one.patterns]
    for one, other in itertools.combinations(plain, 2):
        assert not set(one.suffixes) & set(other.suffixes)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in formats.SUFFIXES)


# Columns that are not there, names in two notations.


def test_a_column_that_is_missing_is_asked_for_with_all_names():
    with pytest.raises(mk.InputError) as caught:
        at.Log.from_records([{"id": 1, "reward": 1, "model": "m"}])
    assert str(caught.value) == (
        "there is no column 'task' for the task: there are id, reward, model; "
        "name them with score=, task=, arm= (--score, --task, --arm)"
    )
    with pytest.raises(mk.InputError, match=r"did you mean 'reward'\? there are id, reward; name them"):
        at.Log.from_records([{"id": 1, "reward": 1}], task="id", score="rewards")
    many = {f"c{i}": 1 for i in range(20)}
    with pytest.raises(mk.InputError, match="c14, c15 and 4 more; name them"):
        at.Log.from_records([many])


@pytest.mark.parametrize("column", ["task", "arm"])
def test_names_in_two_notations(tmp_path, column):
    for one, other in (("1", "01"), ("01", "1"), ("7", "7.0"), ("+3", "3")):
        rows = ["task,arm,score", "5,5,1", *(f"{x if column == 'task' else 5},{x if column == 'arm' else 5},1"
                                            for x in (one, other))]  # fmt: skip
        (tmp_path / "x.csv").write_text("\n".join(rows))
        refused(f"line 4: {column} '{other.replace('+', '.')}' is the number '{one.replace('+', '.')}' of line 3 in "
                "another notation: use one", tmp_path / "x.csv")  # fmt: skip
    (tmp_path / "x.csv").write_text(f"{column},{'arm' if column == 'task' else 'task'},score\n1,5,1\n10,5,1\n1a,5,1\n")
    assert len(at.read_log(tmp_path / "x.csv").score) == 3


# Inspect.


def test_two_prompts_of_one_model_are_not_pooled():
    """Logs of one task and model whose system messages differ; a third evaluation failed."""
    folder = DATA / "inspect_prompts"
    files = [folder / "plain.json", folder / "careful.json"]
    said = refused(r"careful.json: arm 'mockllm/model' ran with solver 'system_message\(template=Think first.\)", files)
    assert "plain.json with 'system_message(template=Answer.) > generate'" in said
    assert 'such as arm="solver" (--arm solver), or arm="model" to pool them' in said
    cells = {"plain": [1, 0, 0, 0], "careful": [1, 0, 1, 1]}  # tasks 0+0 and 1+1, twice each, as make.py answers
    for arm, names in (
        ("metadata.note", ("plain", "careful")),
        ("task_args.prompt", ("Answer.", "Think first.")),
        ("solver", ("system_message(template=Answer.) > generate", "system_message(template=Think first.) > generate")),
    ):
        log = at.read_log(files, arm=arm)
        assert log.arms == names
        for number, name in enumerate(cells):
            assert log.score[log.arm == number].tolist() == cells[name]
    assert len(at.read_log(files, arm="run").arms) == 2
    assert repr(at.read_log(files, arm="model")) == "Log(2 tasks, 1 arm, 8 attempts)"
    assert at.read_log(files[0]).arms == ("mockllm/model",)


def test_failed_evaluations_are_said_to_have_failed():
    folder = DATA / "inspect_prompts"
    with pytest.warns(
        at.AttemptsWarning, match=r"failed.json: the evaluation failed \(error: .*gone.*: it is left out"
    ):
        log = at.read_log(folder, arm="solver")
    assert len(log.score) == 8
    with pytest.warns(at.AttemptsWarning, match="the samples that it has are read"):
        log = at.read_log(folder / "failed.json", missing_score=0)
    assert sorted(log.score.tolist()) == [0, 0, 1]  # two samples have no score
    with (
        pytest.warns(at.AttemptsWarning, match="it is left out"),
        pytest.raises(mk.InputError, match="all evaluations in it failed; name a file to read it anyway"),
    ):
        at.read_log(str(folder / "fail*.json"))


def test_scorers_of_inspect_are_columns(tmp_path):
    data = json.loads((DATA / "inspect_prompts" / "plain.json").read_text())
    for number, sample in enumerate(data["samples"]):
        sample["scores"]["model"] = {"value": number / 4}
    (tmp_path / "x.json").write_text(json.dumps(data))
    assert at.read_log(tmp_path / "x.json", score="includes").score.tolist() == [1, 0, 0, 0]
    assert sorted(at.read_log(tmp_path / "x.json", score="scores.model").score.tolist()) == [0, 0.25, 0.5, 0.75]
    refused("there are includes, scores.model, task, arm, attempt", tmp_path / "x.json")


# The LM Evaluation Harness.


def test_samples_of_2024():
    """Files of version 0.4.3 have no names of metrics and filters: filters are numbered, in their order."""
    new, old = DATA / "lm_eval", DATA / "lm_eval_2024"
    for number, name in (("1", "strict"), ("2", "loose")):
        log, other = (at.read_log(f, score=f"exact_match,{n}") for f, n in ((old, number), (new, name)))
        assert (log.tasks, log.arms) == (other.tasks, other.arms)
        assert log.score.tolist() == other.score.tolist()
    refused("there are task, arm, attempt, exact_match,1, answer,1, exact_match,2", old)


def test_samples_as_a_list(tmp_path):
    """Versions before 0.4.3 wrote one JSON list to a file that ends in .jsonl."""
    source = next((DATA / "lm_eval_2024" / "small").glob("*.jsonl"))
    samples = [json.loads(line) for line in source.read_text().splitlines()]
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "pretrained__m_sums.jsonl").write_text(json.dumps(samples[:3], indent=2))
    log = at.read_log(tmp_path)
    assert (log.arms, log.tasks) == (("m",), tuple(f"pretrained__m_sums/{i}" for i in range(3)))
    assert log.score.tolist() == [sample["exact_match"] for sample in samples[:3]]
    samples[1]["acc"], samples[2]["exact_match"] = [1, 2], None
    (tmp_path / "m" / "pretrained__m_sums.jsonl").write_text(json.dumps(samples[:3]))
    refused("entry 3: score is missing", tmp_path / "m")
    (tmp_path / "m" / "pretrained__m_sums.jsonl").write_text(json.dumps([samples[0], {"doc_id": 1}]))
    refused("entry 2: it is not a sample of the LM Evaluation Harness", tmp_path / "m")


# The command and the library.


@pytest.mark.parametrize(
    ("arguments", "options", "chosen"),
    [
        (["--price", "0.02"], {"price": 0.02}, {}),
        (["--budget", "2", "-k", "1", "2"], {"budget": 2.0, "k": [1, 2]}, {}),
        (["--target-score", "0.4", "--score-range", "0", "1", "--cost-limit", "9"], {"target_score": 0.4},
         {"score_range": (0.0, 1.0), "cost_limit": 9.0}),
    ],
)  # fmt: skip
def test_the_command_says_what_the_library_says(tmp_path, capsys, arguments, options, chosen):
    """Two files in a folder, one compressed; some costs are missing, and some scores."""
    rng = np.random.default_rng(3)
    rows = [
        {"task": t, "arm": a, "attempt": i, "score": None if (t, i) == (4, 1) else float(rng.random() < 0.3 + 0.02 * t),
         "cost": None if rng.random() < 0.03 else 1.0 + i % 2}
        for t in range(16) for a in ("x", "y") for i in range(3)
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows[:40])))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows[40:])).encode()))
    assert main(["attempts", str(tmp_path), "--missing-score", "0", "--json", *arguments]) == 0
    said = json.loads(capsys.readouterr().out)
    log = at.read_log(tmp_path, missing_score=0.0, **chosen)
    study = at.study(log, options.pop("k", None), **options)
    assert said == json.loads(json.dumps(study.data()))
    assert said["findings"]


def test_the_command_reads_standard_input_and_says_what_failed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    assert main(["attempts", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["attempts", str(DATA / "inspect_prompts"), "--arm", "solver", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)
    assert (
        "failed.json: the evaluation failed (error: RuntimeError('the sandbox is gone')): it is left out"
        in captured.err
    )
    assert main(["attempts", str(DATA / "inspect_prompts")]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("maxatk: ")
    assert "--arm solver" in last


# Size.


def test_logs_that_would_not_fit_are_refused_before_they_are_read(tmp_path, tune):
    (tmp_path / "x.csv").write_text(CSV)
    (tmp_path / "x.jsonl").write_text(LINES)
    (tmp_path / "x.json").write_text(json.dumps(ROWS))
    tune(log_bytes=3 * table.BYTES)
    for name in ("x.csv", "x.jsonl", "x.json"):
        refused(f"{name}: [45] attempts would take about 0 GiB, more than the 0 GiB for a log", tmp_path / name,
                mk.TooLargeError)  # fmt: skip
    with pytest.raises(mk.TooLargeError, match="4 attempts would take"):
        at.Log.from_records(ROWS)
    (tmp_path / "half.csv").write_text("\n".join(CSV.splitlines()[:3]))
    assert len(at.read_log(tmp_path / "half.csv").score) == 2
    with pytest.raises(mk.TooLargeError, match="4 attempts would take"):
        at.read_log([tmp_path / "half.csv"] * 2)
