"""What was learned is about the true problem: its bounds, its sentence, its file."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.cli import main
from oracles import policy_value


@pytest.fixture(scope="module")
def learned():
    return mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.3, delta=0.05, rng=0)


def test_bounds_are_of_the_true_problem(learned):
    """Those of the plan of the counted problem are not: they miss the true optimum, 9/16."""
    assert learned.lower <= 0.5625 <= learned.upper
    assert not learned.model_plan.lower <= 0.5625 <= learned.model_plan.upper
    assert learned.epsilon == learned.upper - learned.lower <= learned.target == 0.3
    assert not hasattr(learned, "plan")
    assert repr(learned).count("\n") == 0


@pytest.mark.parametrize("planner", ["certified", "midpoint"])
def test_uniform_bounds_hold(planner):
    """Also those that follow from Theorem 4's proof, beside its loss."""
    mdp = mk.instances.figure1(gamma=0.25)
    for seed in range(5):
        out = mk.learn(
            mk.TabularModel(mdp), 2, epsilon=0.25, delta=0.1, learner=mk.Uniform(planner=planner), rng=seed
        )  # fmt: skip
        earned = policy_value(mdp, out.policy, 2)
        assert Fraction(out.lower) <= earned <= Fraction(9, 16) <= Fraction(out.upper)
        assert Fraction(9, 16) - earned <= out.epsilon


def test_findings(learned):
    bounds, loss = learned.findings
    assert (bounds.kind, bounds.outcome, bounds.lower, bounds.delta) == ("value", "proved", learned.lower, 0.05)
    assert (loss.kind, loss.outcome, loss.upper) == ("loss", "proved", learned.epsilon)
    missed = dataclasses.replace(learned, bounds=dataclasses.replace(learned.bounds, target=0.01))
    assert missed.findings[1].outcome == "unknown"


def test_a_saved_policy_is_run_where_it_was_learned(learned, tmp_path, capsys):
    path = tmp_path / "x.plan"
    learned.save(path)
    for mdp in (None, mk.instances.figure1()):
        loaded = mk.load_plan(path, mdp)
        assert isinstance(loaded, mk.Learned)
        assert loaded.bounds == learned.bounds
        assert dict(vars(loaded.evidence), counts=0) == dict(vars(learned.evidence), counts=0)
        assert loaded.counts.tolist() == learned.counts.tolist()
    assert mk.evaluate(mk.instances.figure1(), loaded.policy).exact == mk.evaluate(
        mk.instances.figure1(), learned.policy
    ).exact  # fmt: skip
    assert main(["run", str(path), "figure1"]) == 0
    out = capsys.readouterr().out
    assert "certified" not in out
    assert learned.certificate in out
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err == f"maxatk: {path} holds a learned policy: name the problem to run it in\n"
    for other in (["windy_cliff"], ["figure1", "--set", "gamma=0.1"], ["figure1", "--set", "gamma=0.2"]):
        assert main(["run", str(path), *other]) == 2
        assert "it was learned in another problem" in capsys.readouterr().err


def test_what_cannot_be_saved(tmp_path):
    model = mk.TabularModel(mk.instances.figure1())
    midpoint = mk.learn(model, 1, epsilon=0.5, delta=0.1, learner=mk.Uniform(planner="midpoint"))
    log = mk.learn_from([[(0, 0, 0.5, None)]] * 100, 1, n_states=1, n_actions=1, horizon=1)
    for out in (midpoint, log):
        with pytest.raises(mk.InputError, match="cannot be saved"):
            out.save(tmp_path / "x.plan")


def test_forged_numbers_are_refused(learned, tmp_path):
    path = tmp_path / "x.plan"
    for name, value in (("lower", 0.9), ("delta", 2), ("epsilon", -1), ("samples", "many"), ("basis", None)):
        part = "bounds" if hasattr(learned.bounds, name) else "evidence"
        forged = dataclasses.replace(
            learned, **{part: dataclasses.replace(getattr(learned, part), **{name: value})}
        )  # fmt: skip
        try:
            forged.save(path)
        except TypeError:
            continue
        with pytest.raises(mk.InputError, match=r"x\.plan"):
            mk.load_plan(path)


@pytest.mark.parametrize("arguments", [["--budget", "2000"], ["--online", "--budget", "400"]])
def test_a_missed_target_comes_first(arguments, capsys):
    assert main(["learn", "figure1", "-k", "2", "--epsilon", "0.01", *arguments]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "The target was missed: the policy is within " in first
    assert "0.01 was asked for" in first
    assert main(["learn", "figure1", "-k", "2", "--epsilon", "0.01", *arguments, "--json"]) == 0
    found = {one["kind"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["loss"]["outcome"] == "unknown"
    assert found["loss"]["upper"] > 0.01


def test_a_log_is_learned_from_without_a_target():
    log = [[(0, a, 0.5 * a, None)] for a in np.arange(2000) % 2]
    out = mk.learn_from(log, 2, n_states=1, n_actions=2, horizon=1, max_outcomes=1)
    assert out.target is None
    assert [one.kind for one in out.findings] == ["value"]
    assert "if nothing was left out of the log because of how it went" in out.certificate
