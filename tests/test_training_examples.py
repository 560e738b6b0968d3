"""The training examples: what they compute exactly is exact, and the trainers get the weights that they should."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at

pytest.importorskip("matplotlib", reason="the examples draw, with the extra plot")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "training"


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_the_value_of_a_policy_on_the_lotteries():
    import lotteries

    task, rng = lotteries.lotteries(), np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(16), len(lotteries.PROMPTS))
    words = [mk.MarkovPolicy([[word]], k=1) for word in range(16)]
    exact = [mk.evaluate(task.problem(i), mk.MixedPolicy(words, p, k=4)).value for i, p in enumerate(probs.tolist())]
    assert task.max_at_k(probs) == pytest.approx(np.mean(exact), rel=1e-12)
    drawn = task.draw(np.full(200_000, 2), np.full(200_000, 5), rng)
    assert drawn.mean() == pytest.approx(task.prize[2, 5] * task.chance[2, 5], abs=5 * drawn.std() / 200_000**0.5)


def test_the_gradient_and_the_walks_along_the_cliff():
    import reinforce_cliff as cliff

    walks, rng = cliff.Walks(mk.instances.windy_cliff(**cliff.CLIFF)), np.random.default_rng(0)
    logits = rng.standard_normal((walks.H, *walks.prob.shape[:2]))
    policy = cliff.softmax(logits)
    slope = walks.gradient(policy)
    for _ in range(3):
        way = rng.standard_normal(logits.shape)
        up, down = (walks.max_at_k(cliff.softmax(logits + s * 1e-5 * way)) for s in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx((slope * way).sum(), rel=1e-6)
    # Drawn walks have the law that was computed, and REINFORCE's mean is the gradient: 5 standard errors.
    total = walks.sample(policy, 40_000, rng)[3]
    law = walks.mass(policy)[-1].sum(0)
    assert total.mean() == pytest.approx((law * walks.values).sum(), abs=5 * total.std() / 200)
    parts = np.array([cliff.estimate(walks, policy, lambda r: at.weights(r, 4), 50, rng) for _ in range(100)])
    along = (parts * slope).sum((1, 2, 3)) / (slope**2).sum()
    assert along.mean() == pytest.approx(1, abs=5 * along.std() / 10)


def test_a_markov_policy_is_worth_what_evaluate_says():
    import reinforce_cliff as cliff

    mdp = mk.instances.windy_cliff(**cliff.CLIFF)
    walks, actions = cliff.Walks(mdp), np.random.default_rng(0).integers(4, size=(12, 16))
    value = walks.max_at_k(np.eye(4)[actions])
    assert value == pytest.approx(mk.evaluate(mdp, mk.MarkovPolicy(actions, k=4)).value, rel=1e-9)


def test_the_rules_are_what_they_say():
    from rules import RULES

    rewards = np.array([[0.0, 1.0, 5.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    assert RULES["best over second"](rewards).tolist() == [[0, 0, 0.75, 0], [0, 0, 0, 0]]
    assert RULES["scores left over"](rewards).tolist() == [[0, 0.25, 0.75, 0.5], [0.25] * 4]
    assert np.allclose(RULES["GRPO"](rewards)[0] * 4, (rewards[0] - 2) / (rewards[0].std() + 1e-4))
    assert np.allclose(RULES["mean"](rewards), (rewards - rewards.mean(1, keepdims=True)) / 3)


@pytest.mark.parametrize("name", ["torch_loop", "trl_trainer", "verl_loop", "reinforce_cliff"])
def test_the_results_that_are_kept_say_what_the_guide_says(name: str):
    from curves import interval

    from tools import training

    kept = json.loads((EXAMPLES / "results" / f"{name}.json").read_text())
    for rule, curves in kept["curves"].items():
        mean, half = interval([curve[-1] for curve in curves])
        assert kept["final"][rule]["mean"] == pytest.approx(float(mean), abs=1e-4)
        assert kept["final"][rule]["half_width"] == pytest.approx(float(half), abs=1e-3)
    reached, marks = {rule: final["mean"] for rule, final in kept["final"].items()}, kept["landmarks"]
    assert all(reached["max@4"] > reached[rule] for rule in reached if "max@4" not in rule)
    assert marks["mean"] < marks["one policy"] < marks["plan"]
    assert max(max(map(max, curves)) for curves in kept["curves"].values()) < marks["one policy"]
    lines = training.table(name).splitlines()
    assert len(lines) == 2 + len(reached) + len(marks)
    assert {line.count("|") for line in lines} == {4 if "cosines" in kept else 3}
    if name != "reinforce_cliff":
        text = " ".join((ROOT / "docs" / "guides" / "training.md").read_text().split())
        assert f"the best single policy {marks['one policy']:.4f};" in text
        assert f"looks at the best so far, {marks['plan']:.3f}." in text
    if name == "torch_loop":
        readme = " ".join((ROOT / "README.md").read_text().split())
        most = f"(independent samples can reach at most {marks['one policy']:.2f})"
        assert f"reached max@4 = {reached['max@4']:.2f} {most};" in readme
        assert f"with GRPO's advantages it reached {reached['GRPO']:.2f}." in readme


def test_the_guide_shows_code_that_is_there():
    from tools import sources

    asked = re.findall(r"<!-- insert: source (\S+) (\w+) -->", (ROOT / "docs" / "guides" / "training.md").read_text())
    assert len(asked) == 3
    for path, name in asked:
        assert f" {name}(" in sources.shown(path, name)
    with pytest.raises(ValueError, match=r"lotteries.py has no nothing"):
        sources.shown("examples/training/lotteries.py", "nothing")


@pytest.mark.filterwarnings("ignore")  # of Transformers, about options to come
def test_trl_is_given_the_weights(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("trl", reason="the extra trainers is not installed")
    import trl_trainer

    seen = []

    def spy(self, inputs, wrapped=trl_trainer.MaxAtKTrainer._generate_and_score_completions):
        prepared = wrapped(self, inputs)
        seen.append((self._gathered[:, 0].clone(), prepared["advantages"].clone()))
        return prepared

    monkeypatch.setattr(trl_trainer.MaxAtKTrainer, "_generate_and_score_completions", spy)
    trl_trainer.train("max@4", seed=0, steps=2, every=1)
    assert len(seen) == 2
    for rewards, advantages in seen:
        groups = rewards.view(-1, trl_trainer.SAMPLES)
        assert np.allclose(advantages.view_as(groups), trl_trainer.SAMPLES * at.weights(groups, 4), atol=1e-6)
        assert groups.max() > 0


def test_verl_finds_the_estimator():
    pytest.importorskip("verl", reason="the extra verl is not installed")
    import torch
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    import maxatk.integrations.verl  # noqa: F401

    rewards = torch.zeros(7, 3)
    rewards[:, -1] = torch.tensor([0.0, 1.0, 4.0, 1.0, 2.0, 0.0, 3.0])
    index = np.array(["a", "a", "a", "b", "b", "a", "b"], dtype=object)
    mask = torch.ones(7, 3)
    mask[0, 2] = 0
    config = SimpleNamespace(get=lambda name, default=None: {"k": 2}.get(name, default))
    advantages, _ = get_adv_estimator_fn("max_at_k")(
        token_level_rewards=rewards, response_mask=mask, index=index, config=config
    )
    a, b = 4 * at.weights([0.0, 1.0, 4.0, 0.0], 2), 3 * at.weights([1.0, 2.0, 3.0], 2)
    assert np.allclose(advantages[:, 0], [a[0], a[1], a[2], b[0], b[1], a[3], b[2]], atol=1e-6)
    assert advantages[0, 2] == 0


def test_the_guide_says_what_was_measured_beside():
    """The table and the sentences on side effects, from what the examples left."""
    guide = (ROOT / "docs" / "guides" / "training.md").read_text()
    measured = {}
    for line in (EXAMPLES / "results" / "side_effects.txt").read_text().splitlines():
        rule, step, rest = line.split(None, 2)
        measured[rule, int(step)] = dict(re.findall(r"(\S[^ ]*(?: [a-z]+)*) (\d\.\d\d)", rest))
    section = guide.split("## What else happens")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    rule, compared = "", 0
    for name, steps, *cells in rows[2:]:
        rule = {"": rule, "none": "max@1"}.get(name, name)
        numbers = measured[rule, int(steps)]
        assert cells == [numbers[key] for key in ("max@1", "max@4", "entropy", "boldest")]
        compared += 1
    assert compared == 9
    assert measured["max@16", 0]["max@4 without it"] == "1.33"
    assert measured["max@16", 600]["max@4 without it"] == "0.65"
    kept = json.loads((EXAMPLES / "results" / "trl_trainer.json").read_text())
    means = {
        rule: [f"{np.mean([run[place] for run in kept['curves'][rule]]):.2f}" for place in (1, 7)]
        for rule in ("max@4", "GRPO")
    }
    assert kept["every"] == 30
    assert means == {"max@4": ["1.12", "2.13"], "GRPO": ["1.18", "1.25"]}
