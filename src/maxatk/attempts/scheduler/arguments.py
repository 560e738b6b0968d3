"""What callers hand to a scheduler, checked before any transaction begins."""

import difflib
from collections.abc import Iterable
from typing import Any

from maxatk.attempts.logs.judged import is_blank
from maxatk.attempts.scheduler.attempt import Attempt, Result
from maxatk.attempts.scheduler.records import amount
from maxatk.attempts.scheduler.rules import Rules
from maxatk.base import checks
from maxatk.base.errors import InputError

LARGEST = 2**62  # of whole numbers in a database


def task_name(task: Any) -> str:
    """The name of a task: a word, or a whole number."""
    if not isinstance(task, bool) and (isinstance(task, str) or (isinstance(task, int) and abs(task) <= LARGEST)):
        return word(str(task), "the name of a task")
    raise InputError(f"the name of a task must be a word or a whole number, not {checks.shown(task)}")


def task_names(tasks: Iterable[Any]) -> list[str]:
    """The names of several tasks."""
    if isinstance(tasks, str | bytes) or not isinstance(tasks, Iterable):
        raise InputError(f"tasks must be a list of names, not {checks.shown(tasks)}")
    return [task_name(task) for task in tasks]


def word(value: Any, what: str) -> str:
    """A text that every database can hold: not empty, without NUL and half characters."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise InputError(f"{what} must be a word, not {checks.shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} has characters that are not Unicode: {ascii(value)[:60]}") from None
    return value


def attempt_id(attempt: Any) -> int:
    """The id of an attempt, given as such or as the attempt."""
    number = attempt.id if isinstance(attempt, Attempt) else attempt
    if number is None:
        raise InputError(f"there is no attempt to speak of: {attempt}")
    return checks.integer(number, "the id of an attempt", least=1, most=LARGEST)


def check_arm(arm: Any, rules: Rules) -> None:
    """Refuse an arm that the plan does not have."""
    if not isinstance(arm, str) or arm not in rules.arms:
        near = difflib.get_close_matches(arm, rules.arms, 1) if isinstance(arm, str) else []
        hint = f": did you mean {near[0]}?" if near else f", but {', '.join(sorted(rules.arms))}"
        raise InputError(f"the plan has no arm {checks.shown(arm)}{hint}")


def result(
    plan_judge: str | None, score: float | None, judge: float | None, answer: str | None, cost: float | None
) -> Result:
    """What was told of an attempt: a plan decides by its score, or by what the plan's judge gave it."""
    truth = None if score is None else float(checks.exact_number(score, "score"))
    judged = None if judge is None else float(checks.exact_number(judge, "judge"))
    seen = truth if plan_judge is None else judged
    if seen is None:
        needed = "score" if plan_judge is None else f"judge, what {plan_judge} gave it,"
        raise InputError(f"{needed} is required: the plan decides by it")
    return Result(seen, truth, judged, None if is_blank(answer) else word(answer, "answer"), cost)


def seconds(value: Any, what: str) -> float:
    """A number of seconds above 0."""
    number = amount(value, what)
    if number == 0:
        raise InputError(f"{what} must be above 0")
    return number
