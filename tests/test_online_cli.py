"""Learning by playing at the command line, and its figure."""

import json

import pytest

import maxatk as mk
from maxatk.cli import main

LEARN = ["learn", "figure1", "-k", "2", "--online", "--epsilon"]


@pytest.mark.slow
def test_a_table_is_played(capsys):
    assert main([*LEARN, "0.3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    again = mk.learn(mk.TabularEpisodes(mk.instances.figure1()), 2, epsilon=0.3, delta=0.05, learner=mk.Online(), rng=0)
    assert found["epsilon"] == again.epsilon <= 0.3
    assert found["lower"] <= 0.5625 <= found["upper"]


def test_an_environment_is_played(capsys):
    pytest.importorskip("gymnasium")
    where = ["learn", "FrozenLake-v1", "--horizon", "5", "-k", "2", "--online", "--explore", "posterior"]
    assert main([*where, "--returns", "0", "1", "--epsilon", "0.5", "--budget", "500"]) == 0
    shown = capsys.readouterr().out
    assert "The target was missed" in shown
    assert "no policy earns more than 1.0" in shown


@pytest.mark.slow
def test_the_figure_shows_what_was_told():
    told = []
    mk.learn(
        *(mk.TabularEpisodes(mk.instances.figure1()), 2),
        **{"epsilon": 0.5, "delta": 0.1, "learner": mk.Online(), "rng": 0, "progress": told.append},
    )
    (axes,) = mk.figures.learning(told).axes
    for bound, line in (("upper", axes.lines[0]), ("lower", axes.lines[1])):
        assert list(line.get_ydata()) == [getattr(at, bound) for at in told]
        assert list(line.get_xdata()) == [at.samples for at in told]
    uppers = [at.upper for at in told]
    assert uppers == sorted(uppers, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "figure1", "--epsilon", "0.1", "--returns", "0", "1"], "--returns needs --online"),
        ([*LEARN, "0.1", "--uniform"], "--online and --uniform exclude each other: choose one"),
        ([*LEARN, "0.1", "--returns", "1", "0"], "return_range (1.0, 0.0) has its least above its most"),
        ([*LEARN, "0.1", "--best-so-far", "1"], "the best so far is 1, and no return can be better than 1"),
        ([*LEARN, "0.1", "--budget", "3"], "budget 3 is less than two trials of up to 2 steps"),
    ],
)
def test_refusals_are_one_line(capsys, arguments, message):
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.strip().splitlines()) == 1
