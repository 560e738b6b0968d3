"""The command line, as a user meets it."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import types

import pytest
import rich.console

import golden
import maxatk as mk
from maxatk.base import stopping
from maxatk.cli import commands, main
from maxatk.cli.console import Console as _Console
from maxatk.cli.main import COMMANDS
from maxatk.report.tables import comparisons, plans


def test_solve_shows_figure1(capsys):
    assert main(["solve", "figure1", "-k", "2", "--exact"]) == 0
    shown = capsys.readouterr().out
    assert "best of 2: 0.5625 (exactly 9/16); one try alone: 0.375" in shown
    rows = [line.split() for line in shown.splitlines() if line.strip()[:1] in "01" and line.strip()]
    assert rows == [
        ["0", "0", "s", "none", "0", "safe", "1", "9/16"],
        ["1", "0", "s", "0", "0", "safe", "0.25", "3/8"],
        ["1", "0", "s", "1/2", "0", "risky", "0.75", "5/8"],
    ]


def test_solve_without_arguments_solves_the_windy_cliff(capsys):
    assert main(["solve"]) == 0
    out = capsys.readouterr().out
    # Two numbers and the gain, the interval, maps, one sentence, and values by number of tries.
    places = [
        out.index(part)
        for part in (
            "windy_cliff   best of 5   48 states, 4 actions, 40 steps", "repeat the best mean   -20.67",
            "this plan              -15.96   +4.71 steps   proved: nothing beats -15.94",
            "best of 5: between -15.957", "(within tol)",
            "the first try             the last, no result yet   the last, best so far -16",
            "S ▒ ▒ ▒ ▒ ▒ ▒ ▒ ▒ ▒ ▒ G", '"up" instead of "right" (row 2, columns 0 to 10).', "tries       1", "More: ",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "mean-optimal, repeated" not in out
    values = re.search(r"value at least(.*)", out)[1].split()
    for value, known in zip(values, golden.WINDY_CLIFF, strict=True):
        assert float(value) - 5e-4 <= known <= float(value) + 0.02  # rounded down to 2 decimals


@pytest.mark.slow
def test_the_first_screen_fits_a_terminal_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in (["solve"], ["solve", "blackjack", "-k", "3"], ["compare", "windy_cliff", "-k", "2"], ["instances"]):
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        if command[0] == "solve":
            assert len(lines) <= 24
        if command[0] == "compare":  # each class has its line
            assert [line.split("  ")[0] for line in lines[2:9]][1:] == [
                *("mean-optimal, repeated", "one policy, sampled k times", "Markov, per try"),
                *("without M", "without G", "adaptive"),
            ]


@pytest.mark.slow
def test_more_is_shown_on_request(capsys):
    assert main(["solve", "windy_cliff", "-k", "3", "--explain", "--compare", "--verbose"]) == 0
    out = capsys.readouterr().out
    places = [
        out.index(part)
        for part in (
            "Try 1 of 3, no result yet", "Try 3 of 3, no result yet", "gain from one more try",
            "lattice step 1 (exact)", "What simpler policies earn", "mean-optimal, repeated", "adaptive",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "More: " not in out


def test_quiet_is_the_result_alone(capsys):
    assert main(["solve", "windy_cliff", "-k", "2", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out.splitlines()) == 1
    assert out.startswith("Repeating a policy with the best mean: ")
    assert main(["compare", "figure1", "-k", "2", "-q"]) == 0
    assert "adaptive" in capsys.readouterr().out
    for asked in (["--compare"], ["--explain", "--compare"]):
        assert main(["solve", "figure1", "-k", "2", "-q", *asked]) == 0
        out, err = capsys.readouterr()
        assert re.search(r"What simpler policies earn:\n\npolicy .*\nmean-optimal, repeated .*\n(.*\n)+adaptive ", out)
        assert err == ""
    assert main(["learn", "figure1", "-k", "2", "--epsilon", "0.3", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_where_nothing_is_gained_the_screen_is_short(capsys):
    pytest.importorskip("gymnasium")
    assert main(["solve", "FrozenLake-v1", "--horizon", "20", "-k", "3"]) == 0
    out = capsys.readouterr().out
    assert "Adapting gains next to nothing here (a try succeeds or fails" in out
    assert "the first try" not in out


def test_the_doctor_says_what_is_there(capsys, monkeypatch):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for part in (f"maxatk {mk.__version__}, Python 3.", "extras: ", "compiled loops: ", "cores: ", "GPU: "):
        assert part in out
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["doctor"]) == 1
    assert "trouble: loops are compiled anew on every run" in capsys.readouterr().out


def test_maxatk_alone_loads_next_to_nothing():
    code = "import sys; sys.argv = ['maxatk']; from maxatk.cli import main; main(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Commands:" in out
    assert not {"numpy", "rich", "numba"} & set(out.splitlines()[-1].split())


@pytest.mark.slow
def test_help_has_colours_on_a_terminal_alone(monkeypatch):
    command = [sys.executable, "-m", "maxatk", "solve", "--help"]
    assert "\x1b" not in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, env={**os.environ, "TERM": "xterm"}, check=True)
    os.close(theirs)
    assert b"\x1b[33mOptions" in os.read(ours, 100_000)
    os.close(ours)


def test_a_named_problem_is_only_solved(capsys):
    assert main(["solve", "windy_cliff", "-k", "2"]) == 0
    out = capsys.readouterr().out
    assert "best of 2: between" in out
    assert "adaptive" not in out
    assert "Try 1 of 2" not in out


def test_three_maps_of_what_is_done(capsys):
    assert main(["solve", "windy_cliff", "--explain"]) == 0
    out = capsys.readouterr().out.splitlines()
    top = next(n for n, line in enumerate(out) if line.startswith("the first try"))
    above_the_cliff = re.split("   +", out[top + 3].strip())
    assert above_the_cliff == ["→ → → → → → → → → → → ↓", "↑ ↑ ↑ ↑ ↑ ↑ ↑ ↑ ↑ ↑ ↑ ↓", "→ → → → → → → → → → → ↓"]


def test_states_are_listed_where_there_is_no_grid(capsys):
    assert main(["solve", "qualifying_laps", "-k", "6", "--explain"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"sector 1 +hard +quick +flat out", out)
    assert '"quick" instead of "hard" (sector 1, sector 2, sector 3 and 3 more)' in out


def test_tables_fit_a_narrow_terminal():
    plan = mk.solve(mk.instances.windy_cliff(horizon=14), 2)
    compared = mk.compare(plan.mdp, 2, plan=plan)
    shown = rich.console.Console(width=50, file=io.StringIO(), highlight=False, markup=False)
    shown.print(comparisons.comparison_rows(compared, compared.rows))
    shown.print(plans.first_screen(plan, "cliff", [], None), plans.details(plan))
    shown.print(comparisons.contrast(mk.contrast(plan)))
    lines = [line.rstrip() for line in shown.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= 50
    assert not any("…" in line for line in lines)  # nothing is cut


@pytest.mark.slow
def test_a_page_is_announced_and_opened(capsys, monkeypatch, tmp_path):
    pytest.importorskip("altair", reason="pages need the extra page")
    opened = []
    monkeypatch.setattr("click.launch", opened.append)
    page = tmp_path / "x.html"
    assert main(["solve", "figure1", "-k", "2", "--page", str(page), "--open"]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    assert opened == [page.as_uri()]


def test_rows_are_told_as_they_come(capsys, monkeypatch):
    """On a terminal's standard error; the table comes when all of them are known."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["compare", "proposition3", "-k", "2"]) == 0
    out, told = capsys.readouterr()
    names = [row.name for row in mk.compare(mk.instances.proposition3(), 2).rows]
    assert all(f"{name}: at least" in told for name in names)
    assert [line.split("  ")[0] for line in out.splitlines()[3:9]] == names


def test_solve_takes_a_name_and_k(capsys):
    assert main(["solve", "proposition3", "-k", "3", "--exact"]) == 0
    assert "(exactly 189/128)" in capsys.readouterr().out


def test_long_tables_are_cut(capsys):
    assert main(["solve", "proposition1", "-k", "40", "--exact"]) == 0
    out = capsys.readouterr().out
    assert "more choices." in out
    assert "a fraction whose denominator has" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "figure2"], "there is no instance 'figure2': did you mean figure1?"),
        (["solve", "--tol", "-1"], "tol must not be negative, but is -1.0"),
        (["solve", "-k", "0"], "k must be at least 1, not 0"),
        (["compare", "figure1", "-k", "0"], "k must be at least 1, not 0"),
        (["solve", "-k", "two"], "Invalid value for '-k': 'two' is not a valid integer."),
        (["solve", "windy_cliff", "--exact"], "more than 200000 compressed histories (s, M, G) can occur: "),
        (["solve", "figure1", "--exact", "--save", "x"], "--save is for the certified planner, not for --exact"),
        (["solve", "figure1", "--exact", "--explain"], "--explain is for the certified planner, not --exact"),
        (["solve", "--horizon", "0"], "horizon must be between 1 and 10000000, not 0"),
        (["solve", "--set", "slip"], "Invalid value for '--set': 'slip' is not of the form NAME=VALUE"),
        (["solve", "--set", "wind=2"], "windy_cliff takes no wind: its arguments are horizon, slip"),
        (["solve", "--set", "slip=much"], "slip must be a real number, not 'much'"),
        (["solve", "random_sparse", "--set", "rng=one"], "rng must be a seed or a NumPy Generator, not 'one'"),
        (["solve", "random_dense", "--set", "rewards=3"], "rewards must be a list of numbers, not 3"),
        (["solve", "FrozenLake-v1", "--set", "env=3"], "FrozenLake-v1 is the environment, so env= cannot be given"),
        (["solve", "no/such/file"], "no/such/file: cannot be read: No such file or directory"),
        (["solve", "missing.npz"], "missing.npz: cannot be read: No such file or directory"),
        (
            ["solve", "missing.npz", "--horizon", "3"],
            "missing.npz: a saved problem takes no horizon: it is used",
        ),
        (["solve", "--save", "no/such/folder/x.plan"], "no/such/folder/x.plan: cannot be written: No such file or"),
        (["solve", "--save", "."], ".: cannot be written: Is a directory"),
        (["learn", "--epsilon", "1", "--save", "no/x"], "no/x: cannot be written: No such file or directory"),
        (["learn", "--epsilon", "0"], "epsilon must be above 0, not 0.0"),
        (["learn"], "Missing option '--epsilon'. For example: maxatk learn figure1 -k 2 --epsilon 0.1"),
        (["run"], "Missing argument 'PLAN'. For example: maxatk run cliff.plan"),
        (["solve", "--open"], "--open shows the page that --page writes: give --page, too"),
        (["run", "missing.plan"], "missing.plan: cannot be read: No such file or directory"),
        (["solve", "CartPole-v1"], "CartPole-v1 has no table of outcomes (no attribute P) and no model, so it"),
        (["solve", "Pendulum-v1"], "Pendulum-v1 has continuous actions and no table of outcomes, so it cannot be read"),
        (["solve", "CliffWalking-v1"], "CliffWalking-v1 has no time limit of its own: give horizon="),
        (["solve", "NoLake-v1"], "NoLake-v1 cannot be made: NameNotFound: "),
        (["sovle"], "there is no command 'sovle': did you mean solve?"),
        (["zzz"], "there is no command 'zzz': the commands are solve, compare, attempts, run, learn, paper, instances"),
        (["solve", "--savee", "x"], "No such option"),
        (["--what"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"maxatk: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("windy_clif", "windy_cliff"), ("Figure1", "figure1"), ("FrozenLake", "FrozenLake-v1")],
)
def test_the_nearest_name_is_suggested(typed, meant, capsys):
    assert main(["solve", typed]) == 2
    assert f": did you mean {meant}? (" in capsys.readouterr().err


def test_an_interrupt_is_exit_code_130(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mk, "solve", interrupted)
    assert main(["solve"]) == 130
    assert capsys.readouterr().err == "maxatk: interrupted\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "code", "message"),
    [
        ("| head -1", 0, ""),
        ("| true", 0, ""),
        ("> /dev/full", 1, "maxatk: cannot write: No space left on device\n"),
        (">&-", 1, "maxatk: cannot write: standard output is closed\n"),
    ],
)
def test_output_that_cannot_be_written(sink, code, message):
    command = f"set -o pipefail; {sys.executable} -m maxatk solve proposition1 -k 40 --exact {sink}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)


def test_names_are_shown_as_they_are(capsys):
    table = [[[(0.5, 0, 1, True), (0.5, 0, 0, True)], [(1, 0, 0.25, True)]]]
    mdp = mk.MDP.from_table(table, horizon=1, state_names=["[/red]x"], action_names=["[up]", "down"])
    _Console().print(plans.exact_plan(mk.solve(mdp, 1, solver=mk.Exact()), "[title]"))
    out = capsys.readouterr().out
    assert "[/red]x" in out
    assert "[up]" in out


def test_a_problem_without_choices(capsys):
    assert main(["solve", "lower_bound", "-k", "2", "--exact"]) == 0
    assert "No choice of an action matters here." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["solve", "--help"]])
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    assert "maxatk" in capsys.readouterr().out


def test_the_version_says_what_is_installed(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"maxatk {mk.__version__}, Python 3.")
    assert re.search(r"^needs .*numba \d.*numpy \d", out[1])
    assert re.match(r"extras: .*\bdev\b", out[2])
    assert re.match(r"beside it: .*pytest \d", out[3])
    assert re.fullmatch(r"compiled loops: \d+ in .+", out[4])


def test_maxatk_alone_shows_its_help(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    for name in ("solve", "compare", "run", "learn", "paper", "instances"):
        assert re.search(rf"^  {name} ", out, re.MULTILINE)


@pytest.mark.parametrize("name", ["solve", "compare", "run", "learn", "paper", "instances"])
def test_the_examples_in_the_help_are_commands(name, capsys):
    """Every command shows examples, and all of them can be parsed."""
    with pytest.raises(SystemExit):
        main([name, "--help"])
    examples = re.findall(r"^    maxatk (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert examples
    for example in examples:
        command, *arguments = example.split()
        with commands.make_context("maxatk", []) as top:
            found = commands.get_command(top, command)
            assert found is not None
            assert found.get_short_help_str(200) == COMMANDS[command]
            found.make_context(command, arguments)


# JSON.


def result(arguments, capsys):
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.mark.slow
def test_json_of_solve(capsys):
    answer = result(["solve", "windy_cliff", "-k", "2", "--compare", "--explain"], capsys)
    plan = mk.solve(mk.instances.windy_cliff(), 2)
    assert (answer["lower"], answer["upper"], answer["k"], answer["status"]) == (
        plan.lower,
        plan.upper,
        2,
        "within tol",
    )
    assert answer["best_so_far"] is None
    assert answer["problem"]["fingerprint"] == plan.mdp.fingerprint
    assert [row["policy"] for row in answer["comparison"]][::5] == ["mean-optimal, repeated", "adaptive"]
    first, *last = answer["tries"]
    assert (first["rollout"], first["differences"]) == (0, [])
    assert last[-1]["mean"] == pytest.approx(-28.460, abs=2e-3)
    assert set(result(["solve", "windy_cliff", "-k", "2"], capsys)) == set(answer) - {"comparison", "tries"}
    assert result(["solve", "figure1", "-k", "2", "--exact"], capsys)["exact"] == "9/16"
    assert result(["solve", "figure1", "--best-so-far", "0.75"], capsys)["best_so_far"] == 0.75


def test_json_of_compare_and_instances(capsys):
    rows = {row["policy"]: row for row in result(["compare", "proposition3", "-k", "2"], capsys)["comparison"]}
    assert rows["without M"]["exact"] == "41/32"
    assert rows["adaptive"]["share"] == pytest.approx(1)
    assert [one["name"] for one in result(["instances"], capsys)] == mk.instances.names()


def test_the_horizon_is_an_argument_like_others(capsys):
    for given, horizon in ((["--horizon", "3"], 3), (["--set", "horizon=4"], 4)):
        answer = result(["solve", "footnote", "-k", "1", *given], capsys)
        assert answer["problem"]["horizon"] == horizon


def test_instances_are_listed(capsys):
    assert main(["instances"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == mk.instances.names()
    assert "horizon=40, slip=0.2" in lines[1]
    assert "`" not in "".join(lines)


# Plans in files.


def test_a_saved_plan_is_run(tmp_path, capsys):
    path = str(tmp_path / "cliff.plan")
    assert main(["solve", "windy_cliff", "-k", "2", "--horizon", "20", "--save", path]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["cliff.plan"]  # and no drafts beside it
    capsys.readouterr()
    plan = mk.load_plan(path)
    assert plan.mdp == mk.instances.windy_cliff(horizon=20)
    answer = result(["run", path, "--seed", "3"], capsys)
    assert (answer["trials"], answer["certificate"]) == (10_000, [plan.lower, plan.upper])
    assert answer["mean"] == mk.simulate(plan.mdp, plan.policy, trials=10_000, rng=3).mean
    assert main(["run", path, "windy_cliff", "--horizon", "20"]) == 0
    out = capsys.readouterr().out
    low, high = plans.interval(plan)
    assert f"certified for this policy: {low} to {high}\nThe trials agree with that" in out
    for arguments in (["windy_cliff"], ["windy_cliff", "--horizon", "20", "--set", "slip=0.1"], ["figure1"]):
        assert main(["run", path, *arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"maxatk: {path}: it was made for another problem\n")


@pytest.mark.slow
def test_a_plan_is_run_in_its_environment_and_in_no_other(tmp_path, capsys):
    path, lake = str(tmp_path / "lake.plan"), ["FrozenLake-v1", "--horizon", "15"]
    assert main(["solve", *lake, "-k", "3", "--save", path]) == 0
    capsys.readouterr()
    answer = result(["run", path, *lake, "--trials", "300"], capsys)
    assert answer["trials"] == 300
    low, high = answer["interval"]
    assert low - 0.1 <= answer["certificate"][0] <= high + 0.1  # the interval is 0.1 wide and holds 19 times of 20
    for other in (["FrozenLake-v1"], [*lake, "--set", "is_slippery=false"], ["CliffWalking-v1", "--horizon", "15"]):
        assert main(["run", path, *other]) == 2
        assert "it was made for another problem" in capsys.readouterr().err


def test_a_problem_in_a_file(tmp_path, capsys):
    mk.instances.proposition3().save(tmp_path / "x.npz")
    assert main(["solve", str(tmp_path / "x.npz"), "-k", "2", "--exact"]) == 0
    assert "(exactly 21/16)" in capsys.readouterr().out
    (tmp_path / "x.npz").write_text("something else")
    assert main(["solve", str(tmp_path / "x.npz")]) == 2
    assert capsys.readouterr().err.endswith("x.npz: not a readable maxatk problem: File is not a zip file\n")
    assert main(["run", str(tmp_path / "x.npz")]) == 2


@pytest.mark.slow
def test_a_page(tmp_path, capsys):
    for name, arguments in (("a.html", ["--compare"]), ("b.html", ["--exact"])):
        assert main(["solve", "figure1", "-k", "2", *arguments, "--page", str(tmp_path / name)]) == 0
        text = (tmp_path / name).read_text()
        assert "<h1>figure1</h1>" in text
        assert re.search(r'<dd id="lower">0\.562(500|4999999)', text)
        assert "&#34;risky&#34; instead of &#34;safe&#34; (s)." in text
    capsys.readouterr()
    assert main(["solve", "figure1", "--page", str(tmp_path / "no" / "x.html")]) == 2
    assert capsys.readouterr().err.endswith("x.html: cannot be written: No such file or directory\n")


def test_nothing_is_written_over_the_problem_or_another_output(tmp_path, capsys):
    problem = tmp_path / "p.npz"
    mk.instances.figure1().save(problem)
    before = problem.read_bytes()
    both = str(tmp_path / "both")
    for arguments, complaint in (
        (["--page", str(problem)], "--page {} would overwrite the problem"),
        (["--save", str(problem)], "--save {} would overwrite the problem"),
        (["--save", both, "--page", both], "--page {} would overwrite the output of --save"),
    ):
        assert main(["solve", str(problem), "-k", "2", *arguments]) == 2
        assert complaint.format(arguments[-1]) in capsys.readouterr().err
    assert problem.read_bytes() == before
    assert main(["solve", str(problem), "--save", "/dev/null"]) == 2
    assert capsys.readouterr().err == "maxatk: /dev/null: cannot be written: it is not a file\n"


@pytest.mark.slow
def test_no_page_of_an_interrupted_plan(tmp_path, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        stopping.current().end(stopping.Reason.INTERRUPTED)
        return solve(*arguments, **options)

    solve = mk.solve
    monkeypatch.setattr(mk, "solve", interrupted)
    assert main(["solve", "figure1", "--page", str(tmp_path / "x.html")]) == 130
    assert list(tmp_path.iterdir()) == []

    def within_compiled_code(*arguments, **options):
        raise SystemError from KeyboardInterrupt()

    monkeypatch.setattr(mk, "solve", within_compiled_code)
    assert main(["solve", "figure1"]) == 130


def test_what_was_there_stays_if_a_plan_cannot_be_made(tmp_path, capsys):
    path = tmp_path / "x.plan"
    path.write_text("mine")
    assert main(["solve", "-k", "0", "--save", str(path)]) == 2
    assert path.read_text() == "mine"


# Ctrl-C.


def interrupt_after(monkeypatch, name, reports):
    """Press Ctrl-C when the library's function has reported so often."""
    function = getattr(mk, name)

    def interrupted(*arguments, progress, **options):
        left = reports

        def report(at):
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        return function(*arguments, progress=report, **options)

    monkeypatch.setattr(mk, name, interrupted)


def test_an_interrupted_plan_is_shown_and_saved(tmp_path, monkeypatch, capsys):
    interrupt_after(monkeypatch, "solve", 4)
    path = tmp_path / "x.plan"
    assert main(["solve", "-k", "6", "--save", str(path)]) == 130
    out, err = capsys.readouterr()
    assert err == f"maxatk: interrupted: the best so far is in {path}\n"
    assert "(interrupted: width" in out
    assert "adaptive" not in out
    plan = mk.load_plan(path)
    assert plan.status is mk.Status.INTERRUPTED
    assert plan.lower == pytest.approx(golden.WINDY_CLIFF[2], abs=0.02)  # three of the six rollouts were planned for
    assert plan.upper == pytest.approx(-13)


def test_an_interrupted_comparison_leaves_the_plan(tmp_path, monkeypatch, capsys):
    interrupt_after(monkeypatch, "compare", 2)
    path = tmp_path / "x.plan"
    assert main(["compare", "proposition3", "-k", "2", "--save", str(path)]) == 130
    assert capsys.readouterr().err == "maxatk: interrupted\n"
    assert mk.load_plan(path).lower == pytest.approx(21 / 16)


def test_interrupted_learning_goes_on(tmp_path, monkeypatch, capsys):
    path, kept = tmp_path / "x.plan", tmp_path / "x.plan.checkpoint"
    arguments = ["learn", "figure1", "--epsilon", "0.1", "--save", str(path)]
    with monkeypatch.context() as patched:
        interrupt_after(patched, "learn", 2)
        assert main(arguments) == 130
    assert capsys.readouterr().err == f"maxatk: interrupted: {kept} holds the run, and the same command resumes it\n"
    assert kept.exists()
    assert not path.exists()
    answer = result(arguments, capsys)
    assert [p.name for p in tmp_path.iterdir()] == ["x.plan"]
    assert answer["epsilon"] <= 0.1
    whole = mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.1, delta=0.05, rng=0)
    assert answer["samples"] == whole.samples
    assert mk.load_plan(path).lower == whole.lower


def test_learning_with_a_checkpoint_of_ones_own(tmp_path, capsys):
    kept = tmp_path / "mine"
    assert main(["learn", "figure1", "--epsilon", "0.2", "--checkpoint", str(kept), "--uniform"]) == 0
    assert "from 75888 samples. The policy is within" in capsys.readouterr().out
    assert kept.exists()


@pytest.mark.slow
def test_a_signal_is_an_interrupt(tmp_path):
    """The real thing: a process that is sent SIGINT while it plans."""
    path = tmp_path / "x.plan"
    code = f"""
import os, signal, sys
import maxatk as mk
from maxatk.cli import commands, main
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
solve = mk.solve
def slow(*arguments, progress, **options):
    return solve(*arguments, progress=lambda at: at.rollout == 3 and os.kill(os.getpid(), signal.SIGINT), **options)
mk.solve = slow
sys.exit(main(["solve", "-k", "5", "--save", {str(path)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert mk.load_plan(path).status is mk.Status.INTERRUPTED


def test_the_paper_is_called_when_it_is_there(tmp_path, monkeypatch, capsys):
    calls = []

    def reproduce(out, **arguments):
        calls.append((out, arguments))
        return types.SimpleNamespace(failed=["theorem 1"] if out == tmp_path else [], out=out)

    monkeypatch.setattr("maxatk.cli.paper.reproduce", reproduce)
    assert main(["paper", "--only", "a", "--only", "b"]) == 0
    assert main(["paper", "--quick", "--out", str(tmp_path)]) == 1  # something is not as it should be
    assert [arguments["only"] for _, arguments in calls] == [("a", "b"), ()]
    assert [arguments["quick"] for _, arguments in calls] == [False, True]
    assert str(tmp_path) in capsys.readouterr().out


# Terminals, pipes and shells.


@pytest.fixture
def streams(monkeypatch):
    """Standard output and standard error, in a given encoding, and what was written to them."""

    def made(encoding):
        buffers = [io.BytesIO(), io.BytesIO()]
        for name, buffer in zip(("stdout", "stderr"), buffers, strict=True):
            monkeypatch.setattr(sys, name, io.TextIOWrapper(buffer, encoding=encoding, write_through=True))
        return lambda: [buffer.getvalue().decode(encoding) for buffer in buffers]

    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["solve", "windy_cliff", "-k", "2", "--explain"], "S % % % % % % % % % % G"),
        (["solve", "PROBLEM", "-k", "2", "--exact"], "? safe"),
        (["solve", "PROBLEM", "-k", "2", "--explain"], "? safe"),
        (["compare", "PROBLEM", "-k", "2"], "adaptive"),
        (["run", "PLAN", "--trials", "5"], "5 trials"),
        (["learn", "PROBLEM", "-k", "2", "--epsilon", "0.5"], "samples"),
        (["attempts"], "L-BFGS-B"),
        (["instances"], "windy_cliff"),
        (["--help"], "Usage"),
    ],
    ids=lambda x: " ".join(x[:2]) if isinstance(x, list) else "",
)
def test_output_that_is_not_unicode(command, says, tmp_path, monkeypatch, streams):
    """Arrows, hazards and what users call things used to end in a traceback."""
    table = {0: {0: [(0.75, 0, 0.5, True), (0.25, 0, 0, True)], 1: [(0.25, 0, 1, True), (0.75, 0, 0, True)]}}
    names = {"state_names": ["\u8d77\u70b9"], "action_names": ["\u7a33 safe", "\u2191 risky"]}
    mdp = mk.MDP.from_table(table, horizon=1, **names)
    monkeypatch.chdir(tmp_path)
    mdp.save("PROBLEM")
    mk.solve(mdp, 2).save("PLAN", with_problem=True)
    written = streams("ascii")
    with contextlib.suppress(SystemExit):  # help ends so
        assert main(command) == 0
    assert says in written()[0]


def test_plain_characters_stand_for_others(streams):
    """A name that is no text at all, as the system hands over file names; accents; what maps are drawn with."""
    written = streams("ascii")
    assert main(["solve", "caf\udce9"]) == 2
    print("1 \u00d7 \u2212caf\u00e9 \u2192\u2193\u2190\u2191\u2022\u00b7\u2592\u2588 \u2026 \u8d77\ud800")
    out, complaint = written()
    assert out == "1 x -cafe >v<^o.%# ... ??\n"
    assert complaint.startswith("maxatk: ")
    written = streams("utf-8")
    assert main(["instances"]) == 0
    print("\u00d7\ud800")
    assert written()[0].endswith("\u00d7?\n")


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}])
def test_a_process_whose_output_is_not_unicode(settings):
    environment = {**os.environ, "PYTHONUTF8": "0", **settings}
    command = [sys.executable, "-m", "maxatk", "solve", "windy_cliff", "-k", "2", "--explain"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"S % % % % % % % % % % G" in done.stdout


@pytest.mark.slow
def test_plain_lines_in_a_pipe_and_colour_on_a_terminal():
    command = [sys.executable, "-m", "maxatk", "instances"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    assert len(piped.splitlines()) == len(mk.instances.names()) + 1  # nothing is broken into several lines
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "\x1b[1m" in shown
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in shown.splitlines()) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [("maxatk so", "plain,solve"), ("maxatk solve wi", "plain,windy_cliff"), ("maxatk solve --ho", "plain,--horizon")],
)
def test_shell_completion(words, expected):
    environment = {
        **os.environ,
        "_MAXATK_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = [sys.executable, "-m", "maxatk"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [expected]
    assert done.stderr == ""


def test_help_into_a_closed_pipe():
    command = f"set -o pipefail; {sys.executable} -m maxatk --help | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_is_all_that_is_printed(tune, capsys):
    """No progress beside it, however long it takes."""
    tune(progress_every=0.0)
    for arguments in (
        ["solve", "windy_cliff", "-k", "2"],
        ["compare", "figure1", "-k", "2"],
        ["learn", "figure1", "--epsilon", "0.2"],
    ):
        assert main([*arguments, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)
        assert err == ""


@pytest.mark.slow
def test_a_time_limit_covers_all_that_the_command_does(tmp_path, capsys):
    """With no time at all: what is known is shown, what is missing is said, and nothing fails."""
    page = tmp_path / "x.html"
    code = main(["solve", "windy_cliff", "--time-limit", "0", "--compare", "--explain", "--page", str(page)])
    out, err = capsys.readouterr()
    assert code == 0
    assert "(time limit: width" in out
    assert err.splitlines() == [f"maxatk: no {what}: time limit" for what in ("explanation", "comparison", "page")]
    assert main(["compare", "windy_cliff", "--time-limit", "0"]) == 0
    assert capsys.readouterr().out.count("not searched: time limit") == 5
    assert main(["solve", "--time-limit", "-1"]) == 2


@pytest.mark.parametrize("k", [3, 8])
def test_the_gain_of_the_first_screen_agrees_with_its_two_numbers_and_holds(capsys, k):
    assert main(["solve", "qualifying_laps", "-k", str(k), "--no-explain"]) == 0
    out = capsys.readouterr().out
    mean, value, gain = (
        float(re.search(row, out)[1])
        for row in (r"repeat the best mean +(\S+)", r"this plan +(\S+)", r"\+(\S+) tenths")
    )
    assert gain == pytest.approx(value - mean, abs=0.011)
    plan = mk.solve("qualifying_laps", k=k)
    assert gain <= plan.gain.lower + 1e-9


@pytest.mark.parametrize("command", ["solve", "compare", "run", "learn"])
def test_help_speaks_of_tries(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    out = capsys.readouterr().out
    assert "rollout" not in out.lower()
    assert command == "run" or "The number of tries." in out
