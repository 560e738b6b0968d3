"""Problems by one word, plans that hold their problem, and lines of progress."""

import sys

import numpy as np
import pytest

import maxatk as mk
from maxatk.base import archive, checks


def test_instances_files_and_environments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cliff = mk.instances.windy_cliff()
    assert mk.find_problem("windy_cliff") == cliff
    assert mk.solve("windy_cliff", 1).mdp == cliff  # planning takes the same words
    assert mk.find_problem("windy_cliff", horizon=7, slip=0.1) == mk.instances.windy_cliff(horizon=7, slip=0.1)
    lake = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=9)
    assert mk.find_problem("FrozenLake-v1", horizon=9) == lake
    lake.save("mine")
    assert mk.find_problem("mine") == lake
    assert mk.find_problem(tmp_path / "mine") == lake
    lake.save("windy_cliff")  # instances come first; a path is always a file
    assert mk.find_problem("windy_cliff") == cliff
    assert mk.find_problem("./windy_cliff") == lake
    cliff.save("FrozenLake-v1")  # and files before environments
    assert mk.find_problem("FrozenLake-v1") == cliff


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (3, {}, "a problem is named by a word or a path, not 3"),
        ("clif", {}, "there is no instance 'clif': the instances are windy_cliff"),
        ("figure1", {"horizon": 3}, "figure1 takes no horizon: its arguments are gamma"),
        ("a/b", {}, "a/b: cannot be read: No such file or directory"),
        ("a.npz", {"horizon": 3}, "a.npz: a saved problem takes no horizon: it is used as it was saved"),
        ("FrozenLake-v1", {"icy": True}, "FrozenLake-v1 cannot be made: TypeError: "),
    ],
)
def test_clear_errors(name, arguments, message):
    with pytest.raises(mk.InputError) as error:
        mk.find_problem(name, **arguments)
    assert str(error.value).startswith(message)


def test_suggestions_work_without_gymnasium(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(mk.InputError, match=r"did you mean windy_cliff\?"):
        mk.find_problem("windyclif")


def test_the_nearest_word():
    assert checks.nearest("Solv", ["solve", "compare"]) == "solve"
    assert checks.nearest("xyz", ["solve", "compare"]) is None


@pytest.mark.parametrize("make", [mk.instances.windy_cliff, mk.instances.proposition3, mk.instances.footnote])
def test_a_plan_with_its_problem(make, tmp_path):
    mdp = make()
    plan = mk.solve(mdp, 2)
    plan.save(tmp_path / "x.plan", with_problem=True)
    loaded = mk.load_plan(tmp_path / "x.plan")
    assert loaded.mdp == mdp
    assert (loaded.mdp.state_names, loaded.mdp.action_names) == (mdp.state_names, mdp.action_names)
    assert (loaded.lower, loaded.upper) == (plan.lower, plan.upper)
    assert mk.load_plan(tmp_path / "x.plan", mdp).lower == plan.lower
    with pytest.raises(mk.InputError, match="it was made for another problem"):
        mk.load_plan(tmp_path / "x.plan", mk.instances.figure1())
    plan.save(tmp_path / "y.plan")
    with pytest.raises(mk.InputError, match="it was saved without its problem, which must be given"):
        mk.load_plan(tmp_path / "y.plan")


def test_the_problem_in_a_plan_is_not_trusted(tmp_path):
    """A plan that brings another problem along than it was made for is refused."""
    plan, other = mk.solve(mk.instances.figure1(), 2), mk.solve(mk.instances.figure1(gamma=0.1), 2)
    plan.save(tmp_path / "x", with_problem=True)
    other.save(tmp_path / "y", with_problem=True)
    with np.load(tmp_path / "x") as mine, np.load(tmp_path / "y") as theirs:
        mixed = {n: theirs[n] if n.startswith("problem_") else mine[n] for n in mine.files if n != "checksum"}
        np.savez(tmp_path / "z.npz", **mixed, checksum=archive.text_array(archive.checksum(mixed)))
    with pytest.raises(mk.InputError, match="it was made for another problem"):
        mk.load_plan(tmp_path / "z.npz")


def test_targets_are_checked_before_the_work(tmp_path):
    archive.check_target(tmp_path / "new")
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "no" / "x", "No such file or directory")):
        with pytest.raises(mk.InputError, match=f"cannot be written: {reason}"):
            archive.check_target(path)
    assert list(tmp_path.iterdir()) == []


def test_compare_takes_a_plan(monkeypatch):
    mdp = mk.instances.proposition3()
    plan = mk.solve(mdp, 2)
    compared = mk.compare(mdp, 2, plan=plan)
    assert compared.plan is plan
    assert [row.lower for row in compared.rows] == [row.lower for row in mk.compare(mdp, 2).rows]
    for arguments in ({"solver": mk.Certified()}, {"best_so_far": 0.5}):
        with pytest.raises(mk.InputError, match="a plan has its own solver, best_so_far and costs"):
            mk.compare(mdp, 2, plan=plan, **arguments)
    for problem, k in ((mdp, 3), (mk.instances.figure1(), 2)):
        with pytest.raises(mk.InputError, match="the plan is for another problem or another k, 2"):
            mk.compare(problem, k, plan=plan)


def test_progress_is_plain_lines_where_there_is_no_terminal(tune, capsys):
    tune(progress_every=0.0)
    mk.solve(mk.instances.windy_cliff(), 3, progress=True)
    mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.2, delta=0.1, progress=True)
    mk.simulate(mk.instances.figure1(), mk.MarkovPolicy([[0]], k=1), trials=5, rng=0, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("between -22.48 and -13.00 (width 9.5, asked for 0.006), 0 slices")
    assert lines[0].endswith("; Ctrl-C keeps the best")
    assert any("samples: policy at least" in line for line in lines)
    assert lines[-1].startswith("simulating: 5 of 5 trials")
    assert not any("\x1b" in line for line in lines)
    tune(progress_every=1000.0)
    mk.solve(mk.instances.windy_cliff(), 3, progress=True)
    assert capsys.readouterr().err == ""
