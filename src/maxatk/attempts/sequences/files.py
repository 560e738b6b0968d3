"""Files of plans: JSON lines, written completely or not at all, and checked in every part when read.

The file of a plan is one line; the database of a scheduler holds the same data.
"""

import json
import math
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from maxatk.attempts.logs.sources import as_path, read_text
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.plan import BuiltFrom, Capped, JudgedPlan, SequencePlan, Step
from maxatk.base import archive, checks
from maxatk.base.errors import InputError

T = TypeVar("T")
VERSION = 2


def save_plan(plan: SequencePlan, path: str | os.PathLike[str]) -> None:
    """See :meth:`SequencePlan.save`."""
    write_lines(path, [{"format": "maxatk sequence", "version": VERSION, "plan": plan_data(plan)}])


def load_sequence(path: str | os.PathLike[str]) -> SequencePlan:
    """Read a plan that :meth:`SequencePlan.save` wrote.

    Args:
        path: the file.
    """
    return read_lines(path, "sequence", lambda header, events: plan_of(header.get("plan")))


def write_lines(path: str | os.PathLike[str], lines: Iterable[Any]) -> None:
    """Write a file of JSON lines, completely or not at all."""
    archive.check_target(path)
    try:
        with archive.atomic_write(Path(path)) as file:
            for line in lines:
                file.write(line_of(line))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def line_of(event: Any) -> bytes:
    """One line of a journal."""
    return json.dumps(event, allow_nan=False).encode() + b"\n"


def read_lines(path: str | os.PathLike[str], kind: str, reader: Callable[[dict[str, Any], list[Any]], T]) -> T:
    """The result of ``reader`` on the first line of a file of this kind and its other lines; errors are one line."""
    file = as_path(path)
    try:
        text = read_text(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    lines = text.split("\n")[:-1]  # text after the last line break is an incomplete line
    try:
        if not lines:
            raise InputError("it has no complete line")
        entries = [_entry(line, number) for number, line in enumerate(lines, 1)]
        header = entries[0]
        if not checks.is_dict(header) or header.get("format") != f"maxatk {kind}":
            raise InputError(f"its first line is not that of a maxatk {kind}")
        if header.get("version") != VERSION:
            raise InputError(
                f"it has format version {checks.shown(header.get('version'))}, and this maxatk reads {VERSION}"
            )
        return reader(dict(header), entries[1:])
    except (InputError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not a readable maxatk {kind}: {reason}") from None


def _entry(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"line {number} is not JSON") from None


def plan_data(plan: SequencePlan) -> dict[str, Any]:
    """A plan as plain data."""
    return {
        "steps": [list(vars(step).values()) for step in plan.steps],
        "further": [list(vars(step).values()) for step in plan.further],
        "stop_at": plan.stop_at,
        "price": plan.price,
        "budget": plan.goal.budget,
        "target_score": plan.goal.target_score,
        "method": plan.method,
        "why": plan.why,
        "single": dict(vars(plan.single)),
        "default_score": plan.default_score,
        "tasks": plan.built_from.tasks,
        "seen": sorted(plan.built_from.names),
        "dearest": plan.built_from.highest_costs,
        **({} if plan.width == 1 else {"width": plan.width}),
        **({} if plan.judge is None else {"judge": plan.judge}),
    }


def plan_of(data: Any) -> SequencePlan:
    """A plan from plain data; every part is checked."""

    def steps(name: str) -> tuple[Step, ...]:
        listed: Any = data[name]
        if not checks.is_list(listed):
            raise InputError(f"its {name} are not a list")
        return tuple(Step(_word(arm), number(a), number(b), number(c)) for arm, a, b, c in listed)

    if not checks.is_dict(data):
        raise InputError("it does not contain a plan")
    single, price = data["single"], number(data["price"])
    goals = {name: number(data[name]) for name in ("budget", "target_score") if data[name] is not None}
    make = partial(JudgedPlan, judge_name=_word(data["judge"])) if "judge" in data else SequencePlan
    return make(
        steps=steps("steps"),
        further=steps("further"),
        stop_at=number(data["stop_at"]),
        price=price,
        goal=Goal(**(goals or {"price": price})),
        method=_word(data["method"]),
        why=_word(data["why"]),
        single=Capped(
            _word(single["arm"]), checks.integer(single["cap"], "cap"), number(single["stop_at"]), single["cut"] is True
        ),
        default_score=number(data["default_score"]),
        width=checks.integer(data.get("width", 1), "width", least=1),
        built_from=BuiltFrom(
            tasks=checks.integer(data["tasks"], "tasks", least=1),
            names=frozenset(map(_word, data["seen"])),
            highest_costs={_word(arm): number(cost) for arm, cost in data["dearest"].items()},
        ),
    )


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{checks.shown(value)} is not a finite number")
    return float(value)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{checks.shown(value)} is not a word")
    return value
