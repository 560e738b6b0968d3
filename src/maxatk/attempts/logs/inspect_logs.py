"""Logs of Inspect (inspect-ai): a task is a sample of an evaluation, an arm is a model, an attempt is an epoch.

``.json`` logs follow the schema that Inspect documents, and are read here. ``.eval`` logs are a packed form that it
asks to be read through its own functions: these are used, so inspect-ai must be installed for them.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from maxatk.attempts.logs.cells import decimal
from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Run, Table, of_records
from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError

suffixes = (".eval", ".json")
patterns = ("*.eval",)
# Correct, incorrect, partial, no answer: Inspect's own numbers for them.
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def recognises(source: Source) -> bool:
    """Whether it is packed, or its JSON is a log of Inspect."""
    if source.suffix == ".eval":
        return True
    if not source.content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    try:
        data = source.json
    except InputError:
        return False  # the next format says what is wrong
    return checks.is_dict(data) and checks.is_dict(data.get("eval")) and "model" in data["eval"]


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns of a log: see :func:`_rows`."""
    data: Any = _packed(source.path) if source.suffix == ".eval" else source.json
    settings = _settings(data)
    named = {name: _word(value) for name, value in settings.items()}
    run = Run(str(data["eval"].get("task", "")), named, _failure(data))
    return of_records(_rows(data, settings, run), wanted, lambda place: f"sample {place + 1}", run)


def _packed(path: Path) -> Any:
    """What the ``.eval`` log of a path holds, as its ``.json`` log would."""
    try:
        reader: Any = import_module("inspect_ai.log")
    except ImportError:
        raise MissingExtraError(
            ".eval logs are read by Inspect itself: pip install inspect-ai, or turn it into JSON with "
            "inspect log convert --to json"
        ) from None
    try:
        head: Any = reader.read_eval_log(str(path), header_only=True)
        samples: Any = reader.read_eval_log_sample_summaries(str(path))
        return {**head.model_dump(), "samples": [sample.model_dump() for sample in samples]}
    except Exception as error:  # whatever it raises for a file that is not one
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"not a readable log of Inspect: {reason}") from None


def _failure(data: Any) -> str:
    """Why an evaluation is not complete; empty if it is."""
    status = data.get("status", "success")
    if status == "success":
        return ""
    error: Any = data.get("error")
    reason = error.get("message") if checks.is_dict(error) else None
    return f"{status}: {' '.join(str(reason).split())}" if reason else str(status)


def _settings(data: Any) -> dict[str, Any]:
    """What the model was run with: its solver, the arguments of the task, how it generates."""
    head, plan = _entries(data["eval"]), _entries(data.get("plan"))
    steps: Any = plan.get("steps")
    solver = head.get("solver") or (" > ".join(map(_step, steps)) if checks.is_list(steps) and steps else "none")
    return {
        "solver": f"{solver}{_arguments(head.get('solver_args'))}",
        "task_args": _entries(head.get("task_args")),
        "generate": _given(head.get("model_generate_config")) | _given(plan.get("config")),
        "model_args": _entries(head.get("model_args")),
    }


def _step(step: Any) -> str:
    """A solver of a plan with the arguments that it was given: ``system_message('Think first.')``."""
    entries = _entries(step)
    return f"{entries.get('solver', 'none')}{_arguments(entries.get('params_passed', entries.get('params')))}"


def _arguments(given: Any) -> str:
    some = _given(given)
    return f"({', '.join(f'{name}={_word(value)}' for name, value in some.items())})" if some else ""


def _entries(given: Any) -> dict[str, Any]:
    return {str(name): value for name, value in given.items()} if checks.is_dict(given) else {}


def _given(given: Any) -> dict[str, Any]:
    return {name: value for name, value in _entries(given).items() if value is not None}


def _word(value: Any) -> str:
    """A value as the name of an arm."""
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)


def _rows(data: Any, settings: Mapping[str, Any], run: Run) -> Iterator[dict[str, Any]]:
    """One dictionary per attempt: task, arm, attempt, cost (tokens), seconds, and the score of each scorer by its name.

    A log with one scorer has its score as ``score`` and its answer as ``answer``, too. Columns for arms are ``model``,
    ``solver``, ``task_args.NAME``, ``metadata.NAME`` and ``run``.
    """
    head: Any = data["eval"]
    number = str(head.get("eval_id", head.get("run_id", "")))
    samples: Any = data.get("samples")
    if not checks.is_list(samples) or not samples:
        why = f"it failed ({run.failure})" if run.failure else "it was written with log_samples off, or broke off"
        raise InputError(f"the log of Inspect has no samples: {why}")
    about = {  # for arms
        "model": str(head["model"]),
        "solver": settings["solver"],
        "run": number,
        **{f"task_args.{name}": _word(value) for name, value in settings["task_args"].items()},
        **{f"metadata.{name}": _word(value) for name, value in _entries(head.get("metadata")).items()},
    }
    for place, sample in enumerate(samples):
        if not checks.is_dict(sample) or "id" not in sample:
            raise InputError(f"sample {place + 1}: it has no id")
        scores, answers = _scores(sample.get("scores"), place)
        own = {
            "task": f"{run.name}/{sample['id']}",
            "arm": str(head["model"]),
            "attempt": f"{number}/{sample.get('epoch', 1)}",
            **_usage(sample),
            **about,
            **{f"metadata.{name}": _word(value) for name, value in _entries(sample.get("metadata")).items()},
        }
        yield {
            **({"score": next(iter(scores.values()))} if len(scores) == 1 else {}),
            **{f"scores.{scorer}" if scorer in own else scorer: value for scorer, value in scores.items()},
            **own,
            **({"answer": next(iter(answers.values()))} if len(answers) == 1 else {}),
            **{f"{scorer}.answer": answer for scorer, answer in answers.items()},
        }


def _usage(sample: Any) -> dict[str, Any]:
    """The cost of a sample, in tokens, and its duration."""
    usage: Any = sample.get("model_usage")
    spent = list(usage.values()) if checks.is_dict(usage) else []
    tokens = {"cost": "total_tokens", "input_tokens": "input_tokens", "output_tokens": "output_tokens"}
    return {
        "seconds": sample.get("total_time"),
        **({name: _tokens(spent, which) for name, which in tokens.items()} if spent else {}),
    }


def _scores(given: Any, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores and answers by scorer; a scorer that gives several values has them as ``scorer.value``."""
    by_scorer: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    for scorer, score in _entries(given).items():
        value: Any = score.get("value") if checks.is_dict(score) else score
        several: Any = value if checks.is_dict(value) else {"": value}
        for part, one in several.items():
            by_scorer[f"{scorer}.{part}" if part else scorer] = _value(one, scorer, place)
        if checks.is_dict(score) and score.get("answer") is not None:
            answers[scorer] = score["answer"]
    return by_scorer, answers


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
