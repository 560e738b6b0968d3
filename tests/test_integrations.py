"""Integrations, with the tools themselves where they are installed; without one, a line that says what to install."""

import itertools
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.integrations import extras

EXTRAS = {"inspect_ai": ("inspect-ai", "inspect"), "verl": ("verl", "verl"), "trl": ("trl", "trainers")}


def outcome(code):
    """The last line that some code prints in a fresh interpreter."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return (ran.stdout + ran.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize("name", EXTRAS)
def test_without_its_package(name):
    package, extra = EXTRAS[name]
    hidden = [name, "torch"] if name == "verl" else [name]
    code = (
        "import sys, importlib.metadata as m\n"
        f"for name in {hidden!r}: sys.modules[name] = None\n"
        "def none(name): raise m.PackageNotFoundError(name)\n"
        "m.version = none\n"
        f"try: from maxatk.integrations import {name}\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    said = outcome(code)
    assert said.startswith("MissingExtraError")
    assert f"is not installed: pip install 'maxatk[{extra}]'" in said
    assert package in said or "torch" in said


def test_a_version_that_differs(monkeypatch):
    monkeypatch.setattr(extras, "version", lambda package: "9.9")
    with pytest.raises(mk.MissingExtraError) as caught:
        extras.member(np, "nothing", "trl")
    assert str(caught.value) == f"trl 9.9: numpy has no nothing; this was written for trl {extras.TESTED['trl']}"
    with pytest.raises(
        mk.MissingExtraError, match=r"trl 9.9: trl.nothing cannot be imported: .*; this was written for"
    ):
        extras.required("trl.nothing", "trl", "trainers")
    assert extras.member(np, "max", "trl") is np.max


def test_nothing_is_imported_before_it_is_asked_for():
    tools = {"torch", "trl", "verl", "inspect_ai"}
    code = f"import sys, maxatk.integrations; print(*sorted({tools} & set(sys.modules)), '-')"
    assert outcome(code) == "-"


# Inspect.


@pytest.fixture
def inspect():
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    from maxatk.integrations import inspect_ai

    return inspect_ai


def scores(values, judged=None):
    from inspect_ai.scorer import Score

    judged = judged or values
    return [Score(value=v, metadata={"rm": j}) for v, j in zip(values, judged, strict=True)]


def picked(values, judged, k):
    """By listing all sets, ties at random."""
    means = []
    for chosen in itertools.combinations(range(len(values)), k):
        top = max(judged[i] for i in chosen)
        means.append(np.mean([values[i] for i in chosen if judged[i] == top]))
    return np.mean(means)


def test_reducers_of_inspect(inspect):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(1, 7))
        values, judged = rng.integers(0, 4, n).tolist(), rng.integers(0, 3, n).tolist()
        for k in range(1, n + 1):
            best = inspect.max_at(k)(scores(values)).value
            assert best == pytest.approx(picked(values, values, k), abs=1e-12)
            assert best == pytest.approx(at.max_at_k(values, k), abs=1e-12)
            chosen = inspect.selected_at(k, "rm")(scores(values, judged)).value
            assert chosen == pytest.approx(picked(values, judged, k), abs=1e-12)
        assert np.isnan(inspect.max_at(n + 1)(scores(values)).value)
    assert inspect.max_at(1)(scores(["C", "I", "P", "N"])).value == 0.375
    assert inspect.max_at(2)(scores([1.0, float("nan"), 0.0])).value == 1  # an unscored epoch is not an epoch
    both = scores([{"truth": 1, "rm": 0.1}, {"truth": 0, "rm": 0.2}], [0, 0])
    assert inspect.selected_at(2, "rm")(both).value == {"truth": 0, "rm": 0.2}
    with pytest.raises(mk.InputError, match="a score has no 'other' for the judge"):
        inspect.selected_at(1, "other")(scores([1]))
    with pytest.raises(mk.InputError, match="k must be"):
        inspect.max_at(0)


def evaluated(tmp_path, task, outputs):
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def output(text):
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return made

    model = get_model("mockllm/model", custom_outputs=iter(map(output, outputs)))
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success", log.error
    return log


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_evaluation_with_reducers_and_metrics(tmp_path, inspect):
    from inspect_ai import Epochs, Task
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import generate

    @scorer(metrics=[inspect.mean_max_at(2), inspect.mean_selected_at(2, "rm"), mean()])
    def points():
        async def score(state, target):
            value = float(state.output.completion)
            return Score(value=value, metadata={"rm": -value})

        return score

    epochs = Epochs(4, [inspect.max_at(3), inspect.selected_at(3, "rm")])
    task = Task([Sample(id=i, input="x") for i in (1, 2)], solver=generate(), scorer=points(), epochs=epochs)
    log = evaluated(tmp_path, task, ["0.1", "0.9", "0.5", "0.3", "0.2", "0.2", "0.8", "0.6"])
    values = {}
    for sample in log.samples:
        values.setdefault(sample.id, []).append(sample.scores["points"].value)

    def best(k, judged):
        return np.mean([picked(x, [judged * v for v in x], k) for x in values.values()])

    said = {score.reducer: {name: one.value for name, one in score.metrics.items()} for score in log.results.scores}
    assert said["max_at_3"]["mean"] == pytest.approx(best(3, 1))
    assert said["selected_at_3"]["mean"] == pytest.approx(best(3, -1))
    assert said[None]["mean_max_at"] == pytest.approx(best(2, 1))
    assert said[None]["mean_selected_at"] == pytest.approx(best(2, -1))
    assert at.read_log(tmp_path).max_at_k(3).value == pytest.approx(best(3, 1))  # and the log says the same


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_solver_that_follows_a_plan(tmp_path, inspect):
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import chain, generate, system_message

    rows = [{"task": t, "arm": a, "score": float((t + i) % 3 == 0), "cost": 1 if a == "small" else 3}
            for t in range(12) for a in ("small", "big") for i in range(3)]  # fmt: skip
    plan = at.sequence(at.Log.from_records(rows), price=0.01)
    assert len(plan.arms) >= 2
    arms = {"small": generate(), "big": chain(system_message("Think."), generate())}
    task = Task(
        [Sample(id=1, input="1+1=", target="2"), Sample(id=2, input="2+2=", target="4")],
        solver=inspect.follow(plan, arms, includes()), scorer=includes(),
    )  # fmt: skip
    log = evaluated(tmp_path, task, ["no", "2", *["never"] * len(plan.arms)])
    first, second = log.samples
    assert [one["score"] for one in first.metadata["attempts"]] == [0, 1]
    assert first.scores["includes"].value == "C"
    assert [one["arm"] for one in second.metadata["attempts"]] == plan.arms
    assert second.scores["includes"].value == "I"
    with pytest.raises(mk.InputError, match="arms has no solver for"):
        inspect.follow(plan, {}, includes())


# verl.


@pytest.fixture
def verl():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("verl", reason="verl is not installed")
    from maxatk.integrations import verl

    return verl


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_estimator_of_verl(verl):
    import torch
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    rewards = torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 3.0], [1.0, 1.0], [0.0, 5.0]])
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    index = np.array(["a", "a", "b", "b", "b"])
    registered = get_adv_estimator_fn("max_at_k")
    advantages, returns = registered(
        token_level_rewards=rewards, response_mask=mask, index=index, config={"k": 2}, more=1
    )
    a, b = 2 * at.weights([1.0, 0.0], 2), 3 * at.weights([3.0, 2.0, 5.0], 2)
    assert advantages[:, 0].tolist() == pytest.approx([*a, *b])
    assert advantages[1, 1] == 0
    assert returns is advantages
    with pytest.raises(mk.InputError, match=r"algorithm.k is missing"):
        registered(token_level_rewards=rewards, response_mask=mask, index=index, config={})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_validation_metrics_of_verl(verl):
    """Held to all sets of answers, listed; ties of a vote are split."""
    from verl.trainer.ppo import metric_utils

    values, votes = [0.0, 1.0, 1.0, 0.0, 2.0], ["x", "y", "y", "x", "z"]
    said = metric_utils.process_validation_metrics(["s"] * 5, ["p"] * 5, {"acc": values, "pred": votes})["s"]["acc"]
    for k in (2, 4, 5):
        sets = list(itertools.combinations(range(5), k))
        best = [max(values[i] for i in some) for some in sets]
        worst = [min(values[i] for i in some) for some in sets]
        assert said[f"best@{k}/mean"] == pytest.approx(np.mean(best))
        assert said[f"best@{k}/std"] == pytest.approx(np.std(best), abs=1e-7)
        assert said[f"worst@{k}/mean"] == pytest.approx(np.mean(worst))
        assert said[f"worst@{k}/std"] == pytest.approx(np.std(worst), abs=1e-7)
        led = []  # the values of those that lead, each with its share
        for some in sets:
            counts = {vote: sum(votes[i] == vote for i in some) for vote in votes}
            lead = [vote for vote, n in counts.items() if n == max(counts.values())]
            led.append([np.mean([values[i] for i in range(5) if votes[i] == vote]) for vote in lead])
        mean = np.mean([np.mean(one) for one in led])
        assert said[f"maj@{k}/mean"] == pytest.approx(mean)
        square = np.mean([np.mean(np.square(one)) for one in led])
        assert said[f"maj@{k}/std"] == pytest.approx(np.sqrt(square - mean**2), abs=1e-7)
    # Drawn with replacement, the best of five of these five is too low; other functions are still verl's.
    ((low, _),) = verl._resampled(values, 5, [np.max])
    assert low < 1.8 < 2 == said["best@5/mean"]
    assert verl.subset_metric(values, 5, [np.median]) == verl._resampled(values, 5, [np.median])
    assert verl.subset_metric(
        [{"v": 1.0, "p": "a"}], 1, [partial(metric_utils.calc_maj_val, vote_key="p", val_key="v")]
    )


# TRL.


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_trl(tmp_path):
    """One step of a model of some thousand weights: the advantages are the weights of its rewards."""
    for name in ("torch", "transformers", "datasets", "trl"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "training"))
    from datasets import Dataset
    from lotteries import PROMPTS
    from tiny_llama import tiny
    from trl import GRPOConfig

    from maxatk.integrations.trl import MaxAtKTrainer

    seen = []

    class Watched(MaxAtKTrainer):
        def _generate_and_score_completions(self, inputs):
            made = super()._generate_and_score_completions(inputs)
            seen.append((self._gathered[:, 0].tolist(), made["advantages"].tolist()))
            return made

    rng = np.random.default_rng(0)
    settings = GRPOConfig(
        str(tmp_path), per_device_train_batch_size=8, num_generations=4, max_completion_length=2, max_steps=1,
        beta=0.0, loss_type="dr_grpo", report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
        use_cpu=True, bf16=False,
    )  # fmt: skip
    model, tokenizer = tiny()
    options = {
        "model": model, "args": settings, "processing_class": tokenizer,
        "reward_funcs": lambda prompts, **_: rng.random(len(prompts)).tolist(),
        "train_dataset": Dataset.from_dict({"prompt": PROMPTS[:2]}),
    }  # fmt: skip
    Watched(**options, k=2).train()
    ((rewards, advantages),) = seen
    assert advantages == pytest.approx((4 * at.weights(np.reshape(rewards, (2, 4)), 2)).ravel().tolist(), rel=1e-5)
    with pytest.raises(mk.InputError, match="k must be"):
        MaxAtKTrainer(**options, k=5)
