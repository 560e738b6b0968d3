"""Logs of Inspect (inspect-ai): a task is a sample of an evaluation, an arm is a model, an attempt is an epoch.

``.json`` logs follow the schema that Inspect documents, and are read here. ``.eval`` logs are a packed form that it
asks to be read through its own functions: these are used, so inspect-ai must be installed for them.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from maxatk.attempts.logs.gate import decimal
from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError

# Correct, incorrect, partial, no answer: Inspect's own numbers for them.
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
OWN = ("task", "arm", "attempt", "cost", "seconds", "input_tokens", "output_tokens")


def is_log(data: Any) -> bool:
    """Whether some JSON is a log of Inspect."""
    return checks.is_dict(data) and checks.is_dict(data.get("eval")) and "model" in data["eval"]


def packed(path: str | Path) -> Any:
    """What the ``.eval`` log of a path holds, as its ``.json`` log would."""
    try:
        reader: Any = import_module("inspect_ai.log")
    except ImportError:
        raise MissingExtraError(
            f"{path}: .eval logs are read by Inspect itself: pip install inspect-ai, or turn it into JSON with "
            "inspect log convert --to json"
        ) from None
    try:
        head: Any = reader.read_eval_log(str(path), header_only=True)
        samples: Any = reader.read_eval_log_sample_summaries(str(path))
        return {"eval": head.eval.model_dump(), "samples": [sample.model_dump() for sample in samples]}
    except Exception as error:  # whatever it raises for a file that is not one
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"not a readable log of Inspect: {reason}") from None


def rows(data: Any) -> Iterator[dict[str, Any]]:
    """One dictionary per attempt: task, arm, attempt, cost (tokens), seconds, and the score of each scorer by its name.

    A log with one scorer has its score as ``score``, too.
    """
    head: Any = data["eval"]
    name, model, run = str(head.get("task", "")), str(head["model"]), str(head.get("eval_id", head.get("run_id", "")))
    samples: Any = data.get("samples")
    if not checks.is_list(samples) or not samples:
        raise InputError("the log of Inspect has no samples: it was written with log_samples off, or broke off")
    for place, sample in enumerate(samples):
        if not checks.is_dict(sample) or "id" not in sample:
            raise InputError(f"sample {place + 1}: it has no id")
        scores = _scores(sample.get("scores"), place)
        usage: Any = sample.get("model_usage")
        spent = list(usage.values()) if checks.is_dict(usage) else []
        yield {
            "task": f"{name}/{sample['id']}",
            "arm": model,
            "attempt": f"{run}/{sample.get('epoch', 1)}",
            "seconds": sample.get("total_time"),
            **({"cost": _tokens(spent, "total_tokens")} if spent else {}),
            **({f"{side}_tokens": _tokens(spent, f"{side}_tokens") for side in ("input", "output")} if spent else {}),
            **{scorer: value for scorer, value in scores.items() if scorer not in OWN},
            **({"score": next(iter(scores.values()))} if len(scores) == 1 else {}),
        }


def _scores(given: Any, place: int) -> dict[str, Any]:
    """By scorer; one that gives several values has them as ``scorer.value``."""
    by_scorer: dict[str, Any] = {}
    scores: Any = given if checks.is_dict(given) else {}
    for scorer, score in scores.items():
        value: Any = score.get("value") if checks.is_dict(score) else score
        several: Any = value if checks.is_dict(value) else {"": value}
        for part, one in several.items():
            by_scorer[f"{scorer}.{part}" if part else str(scorer)] = _value(one, scorer, place)
    return by_scorer


def _value(value: Any, scorer: Any, place: int) -> Any:
    if not isinstance(value, str):
        return value
    number = GRADES.get(value, decimal(value.strip()))
    if number is None:
        gave = f"scorer {checks.shown(scorer)} gave {checks.shown(value)}"
        raise InputError(f"sample {place + 1}: {gave}, not a number")
    return number


def _tokens(usage: list[Any], which: str) -> float:
    return float(sum(one.get(which) or 0 for one in usage if checks.is_dict(one)))
