"""The one gate that all logs pass: it checks the columns that readers return, and sorts the attempts.

The readers are in :mod:`maxatk.attempts.logs.readers` and the modules beside it. Values are checked here, once: after
that a :class:`maxatk.attempts.Log` is frozen, and no other code checks them again.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from maxatk.attempts.logs.data import CostLimits
from maxatk.attempts.logs.judged import NO_TRUTH, judged
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Range

LARGEST = 1e100  # absolute value of scores and costs: their squares are still finite
ONLY_ARM = "attempt"  # the name of the arm of a log without arms
WHOLE = re.compile(r"\+?0*([0-9]+)(\.0*)?")


@dataclass(frozen=True)
class Columns:
    """The columns of a log: one entry per attempt in each, as Python's own values, None where one is missing."""

    task: list[Any]
    arm: list[Any] | None
    score: list[Any] | None  # None for a log without the truth, which has a judge
    cost: list[Any] | None
    seconds: list[Any] | None
    attempt: list[Any] | None
    where: Callable[[int], str]  # the location of an entry, such as "line 7"
    judges: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])  # the scores of each judge
    answer: list[Any] | None = None
    named: bool = False  # whether the judges were asked for by name


def checked(
    columns: Columns, score_range: Range | None, cost_limit: Any, missing_score: float | None
) -> dict[str, Any]:
    """The fields of a log."""
    n = len(columns.task)
    if not n:
        raise InputError("the log is empty: it has no attempts")
    where = columns.where
    tasks, task = _names(columns.task, "task", where)
    arms, arm = ([ONLY_ARM], np.zeros(n, np.int64)) if columns.arm is None else _names(columns.arm, "arm", where)
    seen = judged(
        columns.judges, columns.answer, _number, where, named=columns.named, has_truth=columns.score is not None
    )
    if columns.score is None and not seen.judges:
        raise InputError(f"a log without a score needs a judge, by which attempts are picked; {NO_TRUTH}")
    score = np.full(n, math.nan) if columns.score is None else _scores(columns.score, where, missing_score)
    cost = np.ones(n) if columns.cost is None else _amounts(columns.cost, "cost", where)
    seconds = None if columns.seconds is None else _amounts(columns.seconds, "seconds", where)
    if columns.attempt is not None:
        _refuse_twice(columns.attempt, [tasks[t] for t in task], [arms[a] for a in arm], where)
    order = np.lexsort((np.arange(n), arm, task))
    return {
        "tasks": tuple(tasks),
        "arms": tuple(arms),
        "task": _frozen(task[order]),
        "arm": _frozen(arm[order]),
        "score": _frozen(score[order]),
        "cost": _frozen(cost[order]),
        "seconds": None if seconds is None else _frozen(seconds[order]),
        "score_range": None if columns.score is None else _score_range(score_range, columns.score, score, where),
        "cost_limits": (
            CostLimits((1.0,) * len(arms), known=True, in_units=True)
            if columns.cost is None
            else _cost_limits(cost_limit, cost, arm, arms, where)
        ),
        "judged": seen.part(order),
    }


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _names(values: list[Any], what: str, where: Callable[[int], str]) -> tuple[list[str], Ints]:
    """The distinct names, in order of appearance, and the index of each entry's name."""
    numbers: dict[str, int] = {}
    entries = np.empty(len(values), np.int64)
    kinds: dict[bool, int] = {}  # words and whole numbers, and where each kind appears first
    for place, value in enumerate(values):
        plain: Any = value.item() if _is_numpy(value) else value
        if isinstance(plain, float) and plain.is_integer():
            plain = int(plain)  # a data frame with missing values stores whole numbers as floats
        if plain is None or (isinstance(plain, float) and math.isnan(plain)) or plain == "":
            raise InputError(f"{where(place)}: {what} is missing")
        if isinstance(plain, bool) or not isinstance(plain, str | int):
            raise InputError(f"{where(place)}: {what} must be a word or a whole number, not {checks.shown(plain)}")
        kinds.setdefault(isinstance(plain, str), place)
        entries[place] = numbers.setdefault(str(plain), len(numbers))
    if len(kinds) == 2:
        word, number = kinds[True], kinds[False]
        raise InputError(
            f"{where(word)}: {what} is the word {checks.shown(values[word])}, "
            f"but {where(number)} has the number {checks.shown(values[number])}: use one kind"
        )
    _refuse_two_notations(numbers, entries, what, where)
    return list(numbers), entries


def _refuse_two_notations(numbers: dict[str, int], entries: Ints, what: str, where: Callable[[int], str]) -> None:
    """Refuse names that are one whole number written in two ways, such as ``1`` and ``01``."""
    notations: dict[str, str] = {}
    for name in numbers:
        whole = WHOLE.fullmatch(name)
        if whole and (other := notations.setdefault(whole[1], name)) != name:
            first, second = (where(int(np.argmax(entries == numbers[one]))) for one in (other, name))
            raise InputError(
                f"{second}: {what} {checks.shown(name)} is the number {checks.shown(other)} of {first} in another "
                "notation: use one"
            )


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.generic)


def _number(value: Any, what: str, place: str) -> float:
    """A finite number, not larger than ``LARGEST`` in absolute value."""
    plain = value.item() if _is_numpy(value) else value
    if not isinstance(plain, Real | Decimal):
        raise InputError(f"{place}: {what} must be a number, not {checks.shown(value)}")
    try:
        number = float(plain)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise InputError(f"{place}: {what} is not a number (NaN)")
    if abs(number) > LARGEST:
        raise InputError(f"{place}: {what} must be finite and within ±{LARGEST:g}, not {checks.shown(value)}")
    return number


def _scores(values: list[Any], where: Callable[[int], str], missing_score: float | None) -> Floats:
    instead = (
        None if missing_score is None else _number(missing_score, "missing_score", "the score of attempts without one")
    )
    scores = np.empty(len(values))
    for place, value in enumerate(values):
        if value is None:
            if instead is None:
                raise InputError(
                    f"{where(place)}: score is missing; if an attempt without a score counts as a failure, give its "
                    "score: missing_score=0.0, for example"
                )
            scores[place] = instead
        else:
            scores[place] = _number(value, "score", where(place))
    return scores


def _amounts(values: list[Any], what: str, where: Callable[[int], str]) -> Floats:
    """Nonnegative numbers, costs or seconds; NaN where one is missing."""
    amounts = np.empty(len(values))
    for place, value in enumerate(values):
        if value is None:
            amounts[place] = math.nan
            continue
        amounts[place] = _number(value, what, where(place))
        if amounts[place] < 0:
            raise InputError(f"{where(place)}: {what} must not be negative, but is {amounts[place]:g}")
    return amounts


def _refuse_twice(attempt: list[Any], task: list[str], arm: list[str], where: Callable[[int], str]) -> None:
    seen: dict[tuple[str, str, str], int] = {}
    for place, key in enumerate(zip(task, arm, map(_attempt, attempt), strict=True)):
        if (first := seen.setdefault(key, place)) != place:
            raise InputError(
                f"{where(place)}: attempt {checks.shown(attempt[place])} of arm {checks.shown(key[1])} at task "
                f"{checks.shown(key[0])} occurs twice, first at {where(first)}"
            )


def _attempt(value: Any) -> str:
    """The identity of an attempt: a word, or a whole number in any notation."""
    text = str(value)
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def _score_range(given: Any, values: list[Any], score: Floats, where: Callable[[int], str]) -> Range | None:
    """The range of all possible scores: as given, or 0 to 1 if all are true or false. Numbers do not reveal it."""
    if given is None:
        return (0.0, 1.0) if all(isinstance(value, bool | np.bool_) for value in values) else None
    if not checks.is_list(given) or len(given) != 2:
        raise InputError(
            f"score_range must be two numbers, the lowest and the highest score, not {checks.shown(given)}"
        )
    low, high = (_number(end, "score_range", "the log") for end in given)
    if low >= high:
        raise InputError(f"score_range must be two numbers, the smaller first, not {checks.shown(given)}")
    if outside := np.flatnonzero((score < low) | (score > high)).tolist():
        raise InputError(
            f"{where(outside[0])}: score {score[outside[0]]:g} is outside the score_range {low:g} to {high:g}"
        )
    return low, high


def _cost_limits(given: Any, costs: Floats, arm: Ints, arms: list[str], where: Callable[[int], str]) -> CostLimits:
    """The highest possible cost of an attempt of each arm: as given, for all or by arm, else the highest cost seen."""
    known = np.where(np.isfinite(costs), costs, 0.0)
    if given is None:
        return CostLimits(tuple(float(known[arm == number].max()) for number in range(len(arms))), known=False)
    limits = [given] * len(arms)
    if checks.is_dict(given):
        if missing := next((name for name in arms if name not in given), None):
            raise InputError(f"cost_limit has no entry for arm {checks.shown(missing)}")
        limits = [given[name] for name in arms]
    highest = np.array([_number(limit, "cost_limit", "the log") for limit in limits])
    if above := np.flatnonzero(known > highest[arm]).tolist():
        place = above[0]
        raise InputError(f"{where(place)}: cost {known[place]:g} is more than the cost_limit {highest[arm[place]]:g}")
    return CostLimits(tuple(highest.tolist()), known=True)
