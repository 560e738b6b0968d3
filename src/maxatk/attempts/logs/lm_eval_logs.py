"""Samples of the LM Evaluation Harness (``lm_eval --log_samples``): ``samples_TASK_DATE.jsonl``, one line per question.

A task is a question, an arm is the model, by the folder that the harness puts its files in, and every run is another
attempt at each question. (The harness scores each question once per run; ``repeats`` only feed its filters.) Files of
2024 do not name their metrics and filters, and the first of them are a list instead of lines.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from maxatk.attempts.logs import json_lines
from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, of_records
from maxatk.base import checks
from maxatk.base.errors import InputError

suffixes = (".jsonl", ".json")
patterns = ("samples_*.jsonl",)
NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)")
# What a line has beside metrics.
OWN = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
}


def recognises(source: Source) -> bool:
    """Whether the first line, or the first entry of a list, is a sample."""
    start = source.content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"{" and source.suffix != ".json":
        try:
            return _is_sample(json_lines.first(source))
        except InputError:
            return False  # the next format says what is wrong
    if start != b"[":
        return False
    try:
        data = source.json
    except InputError:
        return False
    return checks.is_list(data) and len(data) > 0 and _is_sample(data[0])


def _is_sample(data: Any) -> bool:
    return checks.is_dict(data) and "doc_id" in data and "resps" in data


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns of a file: see :func:`_rows`."""
    as_list = source.content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    entries: list[Any] = source.json if as_list else []
    samples = list(enumerate(entries, 1)) if as_list else list(json_lines.numbered(source))
    unit = "entry" if as_list else "line"
    for number, sample in samples:
        if not _is_sample(sample):
            raise InputError(f"{unit} {number}: it is not a sample of the LM Evaluation Harness")
    places: list[int] = []
    return of_records(_rows(samples, unit, source, places), wanted, lambda place: f"{unit} {places[place]}")


def _rows(samples: list[tuple[int, Any]], unit: str, source: Source, places: list[int]) -> Iterator[dict[str, Any]]:
    """One dictionary per question: task, arm, attempt, and each metric by its name, as ``metric,filter`` where there
    are several filters. A file with one metric and one filter has it as ``score``, too.
    """
    named = NAME.match(source.stem)
    task, date = (named["task"], named["date"]) if named else (source.stem, source.stem)
    arm = source.path.resolve().parent.name
    filters = _filters([sample for _, sample in samples])
    several = len(set(filters)) > 1
    questions: dict[Any, tuple[int, dict[str, Any]]] = {}
    metrics: dict[str, None] = {}
    for (number, sample), chosen in zip(samples, filters, strict=True):
        question = sample["doc_id"]
        _, answers = questions.setdefault(
            question, (number, {"task": f"{task}/{question}", "arm": arm, "attempt": date})
        )
        for metric in _metrics(sample):
            name = f"{metric},{chosen}" if several else metric
            if name in answers:
                raise InputError(f"{unit} {number}: question {checks.shown(question)} occurs twice")
            answers[name] = sample[metric]
            metrics[name] = None
        response: Any = sample.get("filtered_resps")
        if checks.is_list(response) and response and isinstance(response[0], str):
            answers[f"answer,{chosen}" if several else "answer"] = response[0]
    for number, answers in questions.values():
        places.append(number)
        yield {**answers, **({"score": answers.get(next(iter(metrics)))} if len(metrics) == 1 else {})}


def _metrics(sample: Any) -> list[str]:
    """The metrics of a sample: as it names them, or else its numbers."""
    given = sample.get("metrics")
    if given is not None:
        return [str(name) for name in given if name in sample]
    return [str(name) for name, value in sample.items() if name not in OWN and isinstance(value, int | float)]


def _filters(samples: list[Any]) -> list[str]:
    """The filter of each sample: as it names it, or, where none does, a number by question."""
    if any("filter" in sample for sample in samples):
        return [str(sample.get("filter", "none")) for sample in samples]
    counts = Counter(str(sample["doc_id"]) for sample in samples)
    if len(set(counts.values())) > 1:
        return ["none"] * len(samples)
    seen: Counter[str] = Counter()
    numbers: list[str] = []
    for sample in samples:
        seen[str(sample["doc_id"])] += 1
        numbers.append(str(seen[str(sample["doc_id"])]))
    return numbers
