"""The command line, as a user meets it."""

import subprocess
import sys

import pytest

import golden
import maxatk as mk
from maxatk import report
from maxatk.cli import _Console, main


def test_solve_shows_figure1(capsys):
    assert main(["solve", "figure1", "-k", "2", "--exact"]) == 0
    shown = capsys.readouterr().out
    assert "best of 2: 0.5625 (exactly 9/16); one rollout alone: 0.375" in shown
    rows = [line.split() for line in shown.splitlines() if line.strip()[:1] in "01" and line.strip()]
    assert rows == [
        ["0", "0", "s", "none", "0", "safe", "1", "9/16"],
        ["1", "0", "s", "0", "0", "safe", "0.25", "3/8"],
        ["1", "0", "s", "1/2", "0", "risky", "0.75", "5/8"],
    ]


def test_solve_without_arguments_solves_the_windy_cliff(capsys):
    assert main(["solve"]) == 0
    out = capsys.readouterr().out
    assert "within tol" in out
    rows = [line.split() for line in out.splitlines() if line[:10].strip().isdigit()]
    assert [int(row[0]) for row in rows] == [1, 2, 3, 4, 5]
    for row, value in zip(rows, golden.WINDY_CLIFF, strict=True):
        assert float(row[1]) - 5e-4 <= value <= float(row[2]) + 5e-4  # the known values are rounded to 3 decimals


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
        (["solve", "figure2"], "maxatk: there is no instance 'figure2': the instances are windy_cliff, "),
        (["solve", "--tol", "-1"], "maxatk: tol must not be negative, but is -1.0"),
        (["solve", "-k", "0"], "maxatk: k must be at least 1, not 0"),
        (["solve", "windy_cliff", "--exact"], "maxatk: more than 200000 compressed histories (s, M, G) can occur: "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_an_interrupt_is_exit_code_130(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mk, "solve", interrupted)
    assert main(["solve"]) == 130
    assert capsys.readouterr().err == "maxatk: interrupted\n"


@pytest.mark.parametrize(
    ("sink", "code", "message"),
    [
        ("| head -1", 0, ""),
        ("| true", 0, ""),
        ("> /dev/full", 1, "maxatk: cannot write: No space left on device\n"),
    ],
)
def test_output_that_cannot_be_written(sink, code, message):
    command = f"set -o pipefail; {sys.executable} -m maxatk solve proposition1 -k 40 --exact {sink}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)


def test_names_are_shown_as_they_are(capsys):
    table = [[[(0.5, 0, 1, True), (0.5, 0, 0, True)], [(1, 0, 0.25, True)]]]
    mdp = mk.MDP.from_table(table, horizon=1, state_names=["[/red]x"], action_names=["[up]", "down"])
    _Console().print(report.exact_plan(mk.solve(mdp, 1, solver=mk.Exact()), "[title]"))
    out = capsys.readouterr().out
    assert "[/red]x" in out
    assert "[up]" in out


def test_a_problem_without_choices(capsys):
    assert main(["solve", "lower_bound", "-k", "2", "--exact"]) == 0
    assert "No choice matters here." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["solve", "--help"]])
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    assert "maxatk" in capsys.readouterr().out
