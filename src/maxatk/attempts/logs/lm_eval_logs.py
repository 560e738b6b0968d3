"""Samples of the LM Evaluation Harness (``lm_eval --log_samples``): ``samples_TASK_DATE.jsonl``, one line per question.

A task is a question, an arm is the model, by the folder that the harness puts its files in, and every run is another
attempt at each question. (The harness scores each question once per run; ``repeats`` only feed its filters.)
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from maxatk.base import checks
from maxatk.base.errors import InputError

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)")


def is_line(data: Any) -> bool:
    """Whether some JSON is a line of such a file."""
    return checks.is_dict(data) and "doc_id" in data and "resps" in data


def rows(lines: Sequence[Any], path: str | Path) -> Iterator[dict[str, Any]]:
    """One dictionary per question: task, arm, attempt, and each metric by its name, as ``metric,filter`` where there
    are several filters. A file with one metric and one filter has it as ``score``, too.
    """
    file = Path(path)
    named = NAME.match(file.stem)
    task, date = (named["task"], named["date"]) if named else (file.stem, file.stem)
    filters = list(dict.fromkeys(str(line.get("filter", "none")) for line in lines if checks.is_dict(line)))
    questions: dict[Any, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not is_line(line):
            raise InputError(f"line {number}: it is not a sample of the LM Evaluation Harness")
        question = line["doc_id"]
        answers = questions.setdefault(
            question, {"task": f"{task}/{question}", "arm": file.resolve().parent.name, "attempt": date}
        )
        for metric in line.get("metrics") or ():
            if metric in line:
                name = f"{metric},{line.get('filter')}" if len(filters) > 1 else str(metric)
                if name in answers:
                    raise InputError(f"line {number}: question {checks.shown(question)} occurs twice")
                answers[name] = line[metric]
    metrics = {name for answers in questions.values() for name in answers} - {"task", "arm", "attempt"}
    for answers in questions.values():
        yield {**answers, **({"score": answers.get(next(iter(metrics)))} if len(metrics) == 1 else {})}
