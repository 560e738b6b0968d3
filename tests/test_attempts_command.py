"""``maxatk attempts``: what it prints, its JSON, its page in a real browser."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from attempt_worlds import ladder, specialists, twins
from maxatk import attempts as at
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.study import advice
from maxatk.cli import main
from maxatk.report.tables.fitting import as_text, plain_table

DATA = Path(__file__).parent / "data"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def written(log, path):
    """A log as a CSV file."""
    rows = [
        f"{log.tasks[t]},{log.arms[a]},{s!r},{c!r}"
        for t, a, s, c in zip(log.task.tolist(), log.arm.tolist(), log.score.tolist(), log.cost.tolist(), strict=True)
    ]
    path.write_text("\n".join(["task,arm,score,cost", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return written(specialists(50, 3, 1), tmp_path_factory.mktemp("log") / "runs.csv")


@pytest.fixture(scope="module")
def study(runs):
    return at.study(at.read_log(runs), price=0.02)


@pytest.mark.slow
def test_without_a_log_it_reads_the_recorded_one(capsys):
    assert main(["attempts", "--all"]) == 0
    out = capsys.readouterr().out
    places = [
        out.index(part)
        for part in (
            "Log(120 tasks, 5 arms, 6000 attempts)", "What to do", "max@k, with intervals",
            "Differences in the best of 8", "have in common", "Score against cost", "The plan (", "At other prices",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    _, second, third = out.split("What to do\n")[1].split("\n\n")[0].splitlines()
    assert "(a sequence of 9 parts)" in second
    assert third.startswith("The alternative is L-BFGS-B × 10, then ")
    assert "Try annealing × 7, and stop as soon as one scores at least 1.00" in out


@pytest.mark.slow
def test_what_it_prints_is_what_the_library_says(runs, study, capsys):
    assert main(["attempts", str(runs), "-k", "1", "2", "--price", "0.02", "--all"]) == 0
    out = capsys.readouterr().out
    log = at.read_log(runs)
    for point in log.max_at_k([1, 2]):
        assert str(point) in out
    assert study.advice[0] in out
    assert study.advice[1] in out
    assert study.frontier.verdict not in out  # one verdict is enough
    for step in study.plan.steps:
        assert step.arm in out


def test_every_number_beside_a_plan_is_its_own(runs, study):
    """The plan is chosen on some tasks; what is said of it, it earned itself on the others."""
    chosen_on, held_out = at.read_log(runs).split(advice.SHARE, 0)
    for one in study.advised:
        earned = follow(held_out, one.plan.arms, walk.Scoring(one.plan.stop_at, one.plan.default_score, 1.0))
        assert one.score.value == pytest.approx(float(earned.score.mean()))
        assert one.cost.value == pytest.approx(float(earned.cost.mean()))
        assert one.plan.built_from.names == set(chosen_on.tasks)
        other = follow(
            held_out, one.alternative.arms, walk.Scoring(one.alternative.stop_at, one.plan.default_score, 1.0)
        )
        net = [x.score.mean() - one.plan.price * x.cost.mean() for x in (earned, other)]
        assert one.gain.value == pytest.approx(net[0] - net[1])
    assert [one.plan.price for one in study.advised] == [0.005, 0.02, 0.08]
    assert study.plan is study.advised[1].plan
    assert study.advice[0].startswith(f"Try {study.plan.spelled}, and stop")
    assert "(at 0.0200 per unit of cost)" in study.advice[0]


def test_json_holds_it_all(runs, study, capsys):
    assert main(["attempts", str(runs), "--price", "0.02", "--json"]) == 0
    printed = capsys.readouterr().out
    data = json.loads(printed)
    assert data == json.loads(json.dumps(study.data()))
    assert data["log"] == {"tasks": 50, "arms": ["algebra", "search", "general"], "attempts": 450}
    assert data["advice"] == list(study.advice)
    assert {(c["arm"], c["k"]) for c in data["curves"]} == {(a, k) for a in study.log.arms for k in (1, 2)}
    assert data["plan"]["arms"] == study.plan.arms
    assert data["advised"][1]["gain"]["value"] == study.main.gain.value
    assert [one["kind"] for one in data["findings"]] == ["advice"] * 3 + ["difference"] * 4
    assert {one["outcome"] for one in data["findings"]} <= {"proved", "disproved", "unknown"}
    assert len(data["frontier"]["strategies"]) == len(study.frontier.strategies)
    assert len(data["differences"]) == 3
    assert set(data) == {
        *("log", "advice", "notes", "curves", "ranges", "difficulty", "differences", "frontier", "plan"),
        *("advised", "findings"),
    }  # fmt: skip


def test_numbers_of_attempts_in_every_spelling(capsys):
    log, ks = str(DATA / "tau_airline_gpt4o.csv"), []
    for words in (["-k", "1", "3", log], [log, "-k", "1,3"], ["-k1,3", log], ["-k", "1", "3", "--price", "1", log]):
        assert main(["attempts", *words, "--json"]) == 0
        ks.append([c["k"] for c in json.loads(capsys.readouterr().out)["curves"]])
    assert ks == [[1, 3]] * 4


def test_beyond_the_attempts_there_is_a_range_and_no_number(tmp_path, capsys):
    path = written(ladder(60, 4, 1), tmp_path / "x.csv")
    assert main(["attempts", str(path), "-k", "4", "8", "--price", "0.01"]) == 0
    out = capsys.readouterr().out
    assert "Beyond the attempts that were made, only a range is known" in out
    bounds = at.read_log(path).pass_range(8, arm="big")
    assert f"big: {bounds}" in out
    assert "pass@8  " not in out
    assert main(["attempts", str(path), "-k", "17"]) == 2
    assert capsys.readouterr().err == (
        "maxatk: k = 17 is more than 4 times the 4 attempts that every task has: the log says next to nothing about "
        "it\n"
    )


@pytest.mark.slow
def test_pass_or_fail_and_thresholds(tmp_path, runs, capsys):
    path = written(ladder(60, 4, 1), tmp_path / "x.csv")
    assert main(["attempts", str(path), "--price", "0.01"]) == 0
    out = capsys.readouterr().out
    assert "pass@k" in out
    assert "max@k" not in out
    assert main(["attempts", str(runs), "--price", "0.01", "--pass-threshold", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "pass@k" in out
    assert "max@k" in out


@pytest.mark.slow
def test_what_to_do_can_be_one_arm(tmp_path, capsys):
    path = written(twins(80, 8, 2), tmp_path / "x.csv")
    assert main(["attempts", str(path), "--price", "0.2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"Try (left|right) × \d, and stop as soon as one scores at least 1.00 \(at 0.200 per unit", out)
    assert main(["attempts", str(path), "--price", "50"]) == 0
    out = capsys.readouterr().out
    assert "Try nothing (at 50.0 per unit of cost): on the 40 tasks that plans are chosen on, no attempt earns" in out
    assert main(["attempts", str(DATA / "tau_airline_gpt4o.csv")]) == 0
    out = capsys.readouterr().out
    assert "better than" not in out  # there is one arm only
    assert "0.72 ±0.13" in out


def test_what_is_said_of_the_alternative(study):
    def said(*gain):
        one = replace(study.main, gain=at.Estimate(*gain))
        return replace(study, advised=(one,)).advice[1]

    other = study.main.alternative.spelled
    assert f"whether it is better than {other} is not known: by -0.00" in said(0.01, -0.001, 0.02, 25, 0.95, "t")
    assert f"that is better than {other}, by 0.001 to 0.021" in said(0.01, 0.001, 0.02, 25, 0.95, "t")
    assert f"there {other} was better" in said(-0.01, -0.02, -0.001, 25, 0.95, "t")
    unsure = said(0.01, 0.001, 0.02, 25, None, "betting, on the range seen")
    assert f"whether it is better than {other} is not known: 25 tasks are too few or too skewed" in unsure
    always = said(0.01, 0.01, 0.01, 25, None, "betting, on the range seen")
    assert (
        f"that was better than {other}, by 0.0100, score less cost, at all 25 tasks; other tasks may differ" in always
    )
    same = said(0.0, 0.0, 0.0, 25, None, "betting, on the range seen")
    assert f"{other} was equal at all 25 tasks" in same


@pytest.mark.slow
def test_an_alternative_of_many_parts_is_named_in_full_only_with_all(capsys):
    study = at.study(at.example_log())
    alternative = study.main.alternative.spelled
    assert alternative.count(", then ") == 8
    assert "whether it is better than the alternative (a sequence of 9 parts) is not known" in study.advice[1]
    assert main(["attempts"]) == 0
    assert alternative not in capsys.readouterr().out
    assert main(["attempts", "--all"]) == 0
    assert f"The alternative is {alternative}." in capsys.readouterr().out


@pytest.mark.slow
def test_budgets_scores_and_parts(tmp_path, capsys):
    runs = written(specialists(30, 2, 1), tmp_path / "x.csv")
    for words in (
        ["--budget", "4"],
        ["--target-score", "0.5"],
        ["--arms", "search, algebra"],
        ["--min-attempts", "2"],
        ["--all"],
    ):
        price = [] if words[0] in ("--budget", "--target-score") else ["--price", "0.02"]
        assert main(["attempts", str(runs), *words, *price]) == 0
        out = capsys.readouterr().out
        assert ("What to do" in out) == (words[0] == "--all")
        assert "Try " in out
        if words[0] == "--arms":
            assert "general" not in out
        assert ("with --all" in out) == (words[0] != "--all")


def test_few_tasks_costs_that_are_missing_and_other_notes(tmp_path, capsys):
    rows = ["task,arm,score,cost"]
    rng = np.random.default_rng(0)
    for t in range(20):
        for arm in ("a", "b", "free"):
            cost = "" if arm == "free" or (arm == "b" and t == 3) else "1.5"
            rows += [f"{t},{arm},{rng.integers(0, 3) / 2},{cost}" for _ in range(2)]
    rows.append("99,a,1,1")
    (tmp_path / "x.csv").write_text("\n".join(rows))
    assert main(["attempts", str(tmp_path / "x.csv"), "--all"]) == 0
    out = capsys.readouterr().out
    assert "Note: task '99' has a single attempt of arm 'a'" in out
    assert "Note: left out of all comparisons with costs, because too few are known: free." in out
    assert "Note: missing costs count as the mean of their arm." in out
    assert "Note: all comparisons with costs are on the 20 tasks that all arms tried." in out
    assert "10 tasks are too few or too skewed for an interval without a score_range and a cost_limit." in out
    assert "to be sure of much" not in out  # said once


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,x,1,2", "1 task is too few to choose a plan on some and test it on others"),
        ("a,x,1,2\nb,x,0,2", "2 tasks are too few to choose a plan on some and test it on others"),
        ("a,x,1,0\nb,x,0,0", "All attempts cost 0"),
        ("a,x,1,1\nb,x,1,1", "All attempts score the same and cost the same"),
        ("a,x,1,\nb,x,0,", "Too few costs are known"),
        ("a,x,1,1\nb,y,0,1", "Fewer than two tasks were tried by all arms"),
    ],
)
def test_logs_with_little_in_them(tmp_path, content, said, capsys):
    (tmp_path / "x.csv").write_text(f"task,arm,score,cost\n{content}\n")
    assert main(["attempts", str(tmp_path / "x.csv")]) == 0
    assert said in capsys.readouterr().out
    assert main(["attempts", str(tmp_path / "x.csv"), "--json", "--page", str(tmp_path / "x.html")]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.csv"], "no.csv: cannot be read: No such file or directory"),
        (["{runs}", "--score", "points"], "{runs}: there is no column 'points' for the score: there are task, arm, "),
        (["{runs}", "--price", "1", "--budget", "2"], "give one of price (per unit of cost), budget (per task) and"),
        (["{runs}", "--price", "-1"], "price must not be negative, but is -1"),
        (["{runs}", "--level", "1"], "level must lie between 0 and 1, not 1.0"),
        (["{runs}", "-k", "x"], "Invalid value for '-k': 'x' is not a list of whole numbers"),
        (["{runs}", "-k", "0"], "k[0] must be at least 1, not 0"),
        (["{runs}", "--arms", "a"], "there is no arm 'a': "),
        (["{runs}", "--page", "{runs}"], "--page {runs} would overwrite the log"),
        (["{runs}", "--page", "/no/x.html"], "/no/x.html: cannot be written: No such file or directory"),
        (["{runs}", "{runs}", "--task", "tsk"], "{runs}: there is no column 'tsk' for the task: did you mean 'task'?"),
    ],
)  # fmt: skip
def test_what_is_refused(runs, words, message, capsys):
    before = runs.read_text()
    assert main(["attempts", *(word.format(runs=runs) for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"maxatk: {message.format(runs=runs)}")
    assert captured.err.count("\n") == 1
    assert runs.read_text() == before


def test_progress_is_told(runs):
    told = []
    at.study(at.read_log(runs), price=0.02, progress=told.append)
    assert told == ["curves", "ranges of pass@k", "differences", "costs", "the frontier", "advice"]


@pytest.mark.slow
def test_in_a_narrow_terminal(runs, study):
    """Nothing is cut off: long lines wrap, and every arm is there."""
    script = "import sys; from maxatk.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, "attempts", str(runs), "--price", "0.02"],
        env={"COLUMNS": "60", "PATH": "/usr/bin", "FORCE_COLOR": "1", "TERM": "xterm"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert max(map(len, plain.splitlines())) <= 60
    assert "…" not in plain
    for arm in study.log.arms:
        assert arm in plain


def test_a_table_too_wide_for_the_terminal_is_told_row_by_row():
    table = plain_table(("arm", "left"), ("score", "right"), ("interval", "right"), ("", "left"))
    table.add_row("simulated-annealing", "0.848", "0.798 to 0.898", "better")
    table.add_row("DE", "0.902", "", "")
    assert as_text(table, width=60).splitlines()[0].split() == ["arm", "score", "interval"]
    assert as_text(table, width=40).splitlines() == [
        "simulated-annealing", "  score 0.848, interval 0.798 to 0.898,", "  better", "DE", "  score 0.902",
    ]  # fmt: skip


# The page.


@pytest.mark.slow
def test_a_page_is_one_file(study, tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    study.page(tmp_path / "x.html", title="Runs <&>")
    text = (tmp_path / "x.html").read_text()
    assert len(text) < 3e6
    assert "default-src 'none'" in text
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "http" not in shown.replace("http-equiv", "")
    assert not re.search(r"<(link|img|iframe)|@import|url\(", shown)
    assert "<h1>Runs &lt;&amp;&gt;</h1>" in shown
    assert shown.count("<tr>") > 20


@pytest.mark.slow
def test_names_in_a_page_are_only_names(tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    evil = "</script><script>alert(1)</script>"
    rows = [
        {"task": t, "arm": a, "score": float(t % 2), "cost": 1.0}
        for t in range(40)
        for a in (evil, "b")
        for _ in range(2)
    ]
    at.study(at.Log.from_records(rows), price=0.1).page(tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert evil not in text
    assert "&lt;/script&gt;" in text


def test_a_page_that_cannot_be_made(study, tmp_path, monkeypatch):
    pytest.importorskip("altair", reason="pages need the extra page")
    with pytest.raises(mk.InputError, match="cannot be written"):
        study.page(tmp_path / "no" / "x.html")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(mk.MissingExtraError, match=r"pip install 'maxatk\[page\]'"):
        study.page(tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path: apt-get install chromium")
@pytest.mark.parametrize(
    "options",
    [{"viewport": {"width": 1400, "height": 900}}, {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}],
)
def test_in_a_browser(study, tmp_path, options):
    pytest.importorskip("altair", reason="pages need the extra page")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra dev)")
    path = tmp_path / "x.html"
    study.page(path)
    faults = []
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(**options).new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert page.inner_text("#advice").startswith("Try ")
        assert page.eval_on_selector_all(".chart svg", "all => all.length") == 2
        dots = page.eval_on_selector_all("#frontier svg .mark-symbol path", "all => all.length")
        assert dots >= len(study.frontier.strategies)
        assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
        page.click("text=What each attempt adds and costs")
        rows = page.eval_on_selector_all("#steps tbody tr", "all => all.map(row => row.cells[1].innerText)")
        assert rows == study.plan.arms
        assert page.is_visible("#steps")
        chosen = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (chosen == "rgb(255, 255, 255)") == ("color_scheme" not in options)
        browser.close()
    assert faults == []
