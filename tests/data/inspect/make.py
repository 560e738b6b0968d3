"""Writes the logs of Inspect in this folder: two mock models, two sums, two epochs.

pip install inspect-ai && python make_inspect.py
"""

from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes, mean, scorer
from inspect_ai.solver import generate

ANSWERS = {"small": [0, 9, 9, 9], "big": [0, 2, 9, 2]}  # to 0+0 and 1+1, twice


@scorer(metrics=[mean()])
def partial():
    async def score(state, target):
        return Score(value=1.0 if target.text in state.output.completion else 0.25)

    return score


def output(name, answer, tokens):
    found = ModelOutput.from_content(f"mockllm/{name}", f"answer {answer}")
    found.usage = ModelUsage(input_tokens=10, output_tokens=tokens, total_tokens=10 + tokens)
    return found


for kind in ("json", "eval"):
    for name, answers in ANSWERS.items():
        samples = [Sample(id=f"sum {i}", input=f"{i}+{i}=", target=str(2 * i)) for i in range(2)]
        task = Task(dataset=samples, solver=generate(), scorer=[includes(), partial()], epochs=2, name="sums")
        outputs = [output(name, x, (5 if name == "small" else 50) + i) for i, x in enumerate(answers)]
        model = get_model(f"mockllm/{name}", custom_outputs=iter(outputs))
        (log,) = eval(task, model=model, log_dir="made", log_format=kind, display="none", max_samples=1)
        Path(log.location.replace("file://", "")).rename(Path(__file__).parent / f"{name}.{kind}")
