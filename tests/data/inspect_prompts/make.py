"""Writes the logs of Inspect in this folder: one mock model, two prompts of one task, and an evaluation that fails.

pip install inspect-ai && python make.py
"""

import json
from pathlib import Path

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver, system_message

HERE = Path(__file__).parent
PROMPTS = {"plain": "Answer.", "careful": "Think first."}
ANSWERS = {"plain": [0, 9, 9, 9], "careful": [0, 2, 9, 2]}  # to 0+0 and 1+1, twice


@solver
def broken():
    async def solve(state, generate):
        if "1" in state.input_text:
            raise RuntimeError("the sandbox is gone")
        return state

    return solve


@task
def sums(prompt="Answer.", fails=False):
    samples = [Sample(id=f"sum {i}", input=f"{i}+{i}=", target=str(2 * i)) for i in range(2)]
    steps = [system_message(prompt), generate(), *([broken()] if fails else [])]
    return Task(dataset=samples, solver=steps, scorer=includes(), epochs=2)


def output(answer):
    made = ModelOutput.from_content("mockllm/model", f"answer {answer}")
    made.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return made


def write(name, answers, **arguments):
    model = get_model("mockllm/model", custom_outputs=iter([output(x) for x in answers]))
    (log,) = eval(
        sums(**arguments), model=model, log_dir="made", log_format="json", display="none", max_samples=1,
        log_model_api=False, metadata={"note": name},
    )  # fmt: skip
    made = Path(log.location.replace("file://", ""))
    data = json.loads(made.read_text(), object_hook=lambda entry: {k: v for k, v in entry.items() if "trace" not in k})
    (HERE / f"{name}.json").write_text(json.dumps(data))
    made.unlink()


for name, answers in ANSWERS.items():
    write(name, answers, prompt=PROMPTS[name])
write("failed", [0] * 4, fails=True)
