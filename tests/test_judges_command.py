"""``maxatk attempts --judge``: tables, JSON and pages of a log whose attempts are picked by a judge."""

import json
import re

import numpy as np
import pytest

from maxatk import attempts as at
from maxatk.base.text import short
from maxatk.cli import main


@pytest.fixture
def runs(tmp_path):
    """A log of two arms with a judge that errs, and answers."""
    rng = np.random.default_rng(0)
    lines = ["task,arm,score,cost,rm,other,answer"]
    for t in range(60):
        easy = rng.random()
        for arm, more, cost in (("small", 0, 1), ("big", 0.3, 3)):
            for _ in range(4):
                s = int(rng.random() < min(easy + more, 1))
                lines.append(
                    f"{t},{arm},{s},{cost},{s + rng.normal():.3f},{rng.random():.3f},{'x' if s else 'yz'[t % 2]}"
                )
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines))
    return path


def run(capsys, *arguments):
    code = main([str(x) for x in arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_what_it_prints(runs, capsys):
    code, out, _ = run(capsys, "attempts", runs, "--judge", "rm", "--answer", "answer", "--price", "0.02", "--all")
    assert code == 0
    said = " ".join(out.split())
    assert "What rm is good for, attempts of small: scores are of the truth" in said
    assert "perfect judge picked by rm majority gap" in said
    assert "hand in the one that rm likes best" in said or "Try nothing" in said or " once (" in said
    assert re.search(r"Among 4 attempts, rm (catches|loses) -?\d+ % of what a perfect judge would gain", said)


def test_json_has_the_reports(runs, capsys):
    code, out, _ = run(capsys, "attempts", runs, "--judge", "rm", "--judge", "other", "--json", "--price", "0.02")
    assert code == 0
    told = json.loads(out)
    assert [(one["judge"], one["arm"]) for one in told["judges"]] == [
        ("rm", "small"), ("other", "small"), ("rm", "big"), ("other", "big"),
    ]  # fmt: skip
    assert told["plan"]["judge"] == "rm"
    log = at.read_log(runs, judge=["rm", "other"])
    wanted = log.selected_at_k(4, "rm", "big").value
    mine = next(p for p in told["judges"][2]["curves"] if (p["what"], p["k"]) == ("selected@k", 4))
    assert mine["value"] == pytest.approx(wanted)


def test_the_page(runs, tmp_path, capsys):
    pytest.importorskip("altair")
    page = tmp_path / "x.html"
    code, _, _ = run(capsys, "attempts", runs, "--judge", "rm", "--page", page, "--price", "0.02")
    text = page.read_text()
    assert code == 0
    assert "What rm is good for, attempts of big" in text
    assert '"judge0"' in text
    report = at.read_log(runs, judge="rm").judge_report("rm", arm="big")
    levels = text.split('<table id="calibration')[1:]
    assert any(all(f"<td>{level.attempts}<td>{short(level.truth)}" in one for level in report.calibration)
               for one in levels)  # fmt: skip
    assert '<th scope="col">gap to a perfect judge' in text
    assert all(
        f"<td>{short(best.value - mine.value).replace('-', '−')}<td>{mine.tasks}" in text
        for best, mine in zip(report.oracle, report.selected, strict=True)
    )


@pytest.mark.slow
def test_without_a_log_it_reads_the_one_with_a_judge(capsys):
    code, out, _ = run(capsys, "attempts", "--judge", "judge", "-k", "1", "4", "16")
    assert code == 0
    assert "Log(64 tasks, 1 arm, 4096 attempts)" in out
    assert "perfect judge picked by judge majority gap" in " ".join(out.split())
    assert "cannot be told from a majority vote" not in " ".join(out.split())
    assert (
        run(capsys, "attempts", "--judge", "judge", "-k", "1", "4", "16", "--all")[1].count("pass@k of a perfect") == 1
    )


def test_mistakes_are_one_line(runs, capsys):
    code, out, error = run(capsys, "attempts", runs, "--judge", "rmm")
    assert code == 2
    assert out == ""
    assert "there is no column 'rmm' for the judge" in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.slow
def test_the_summary_has_forty_lines_with_judges_and_thirteen_arms(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    lines = ["task,arm,score,cost,rm-with-a-long-name,other,third,fourth,answer"]
    for t in range(20):
        easy = rng.random()
        for n in range(13):
            for _ in range(4):
                s = int(rng.random() < min(easy + n / 40, 1))
                judges = ",".join(f"{s + noise:.3f}" for noise in rng.normal(size=4))
                lines.append(f"{t},model-{n}-with-a-name-that-is-long,{s},{1 + n / 5},{judges},{'x' if s else 'y'}")
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines))
    monkeypatch.setenv("COLUMNS", "80")
    judges = [word for name in ("rm-with-a-long-name", "other", "third", "fourth") for word in ("--judge", name)]
    code, out, _ = run(capsys, "attempts", path, *judges, "-k", "1", "2", "4", "8")
    assert code == 0
    assert len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert "What is handed in among 4 attempts, by its true score" in said
    assert "7 more arms (--all)." in said
    assert re.search(r"perfect judge picked by rm-with-a… majority gap model-\S+… 1?\d?\.\d+ ±", said)
    assert re.search(r"Among 4 attempts, rm-with-a-long-name catches \d+ % of", said)
    assert "1 more judge (--all)." in said
    _, out, _ = run(capsys, "attempts", "--judge", "judge")
    assert len(out.splitlines()) <= 40


def written(path, header, *rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    return path


def test_a_judge_that_is_not_named_is_told_of(tmp_path, capsys):
    rows = [(t, int((t + i) % 3 == 0), 1, (t * i) % 5, "x") for t in range(12) for i in range(4)]
    path = written(tmp_path / "runs.csv", "task,score,cost,judge,answer", *rows)
    note = "Note: the log has a judge 'judge'; this plan sees the truth: add judge='judge' (--judge judge)."
    for option in ((), ("--all",)):
        assert note in " ".join(run(capsys, "attempts", path, *option)[1].split())
    assert "sees the truth" not in run(capsys, "attempts", path, "--judge", "judge")[1]


def test_answers_without_a_judge_vote(tmp_path, capsys):
    rows = [(t, int((t + i) % 3 > 0), 1, "x" if (t + i) % 3 else "y") for t in range(12) for i in range(4)]
    path = written(tmp_path / "runs.csv", "task,score,cost,said", *rows)
    _, out, _ = run(capsys, "attempts", path, "--answer", "said")
    assert "majority@k, ± an interval over tasks" in out
    log = at.read_log(path, answer="said")
    _, out, _ = run(capsys, "attempts", path, "--answer", "said", "--json")
    told = [one["value"] for one in json.loads(out)["curves"] if one["what"] == "majority@k"]
    assert told == pytest.approx(log.majority_at_k([1, 2, 4]).value)
    assert "majority@k" in at.study(log).columns()["estimate"]
    assert "majority@k" not in run(capsys, "attempts", path)[1]


@pytest.mark.parametrize("judge", [(), ("--judge", "rm")])
def test_answers_that_are_all_blank_are_told_of(tmp_path, capsys, judge):
    rows = [(t, int((t + i) % 3 == 0), 1, (t * i) % 5, " ") for t in range(12) for i in range(4)]
    path = written(tmp_path / "runs.csv", "task,score,cost,rm,said", *rows)
    _, out, _ = run(capsys, "attempts", path, "--answer", "said", *judge)
    assert "Note: all answers are blank: nobody votes." in out
    assert "majority@k" not in out


def test_a_judge_without_the_truth_is_refused_in_one_line(tmp_path, capsys):
    path = written(tmp_path / "runs.csv", "task,rm,cost", *((t, t % 3, 1) for t in range(12)))
    code, out, error = run(capsys, "attempts", path, "--judge", "rm")
    assert (code, out, len(error.strip().splitlines())) == (2, "", 1)
    assert "there is no column 'score' for the score" in error
    assert "this is what the judge will say, not what is true; add the true score of some attempts" in error


@pytest.mark.slow
def test_numbers_of_attempts_at_the_ends(capsys):
    _, out, _ = run(capsys, "attempts", "--judge", "judge", "-k", "1")
    assert "With one attempt there is nothing to choose, whatever judge says." in out
    assert "a perfect judge would gain nothing" not in out
    code, out, _ = run(capsys, "attempts", "--judge", "judge", "-k", "128")  # more than were made
    assert code == 0
    assert "Among 64 attempts, judge catches" in out
