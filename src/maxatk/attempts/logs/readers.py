"""Ways to columns: files, records and data frames; :mod:`maxatk.attempts.logs.gate` checks what they return.

A file becomes a :class:`~maxatk.attempts.logs.table.Table` by its format (:mod:`maxatk.attempts.logs.formats`), and
the columns of all tables are chosen here.
"""

import bisect
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxatk.attempts.logs import formats
from maxatk.attempts.logs.gate import Columns, checked
from maxatk.attempts.logs.judged import NO_TRUTH, judge_columns
from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, of_records, require_room
from maxatk.attempts.warnings import warn
from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError, TooLargeError
from maxatk.base.types import Range

OF_THE_TASK = ("task", "arm")  # parts of which one value may stand for all attempts of a row
JUDGE = "judge "  # and the name of its column: the part that a judge is


class Names(NamedTuple):
    """The names of the columns. A column whose name is None has its usual name, if there is one."""

    task: str = "task"
    arm: str | None = None
    score: str | None = "score"  # None for a log without the truth
    cost: str | None = None
    seconds: str | None = None
    attempt: str | None = None
    answer: str | None = None
    judge: str | Sequence[str] | None = None  # one or several

    @property
    def wanted(self) -> list[str]:
        """The names of all columns that may be taken."""
        named = self._asdict()
        judges = named.pop("judge")
        one_each = [part if given is None else given for part, given in named.items()]
        several = ["judge"] if judges is None else list(judges) if checks.is_list(judges) else [judges]
        return list(dict.fromkeys(map(str, [*one_each, *several])))

    def columns(self, there: Iterable[str]) -> dict[str, str]:
        """The column of each part, of those that exist; a column that was named and does not exist is an error."""
        there = list(there)
        taken: dict[str, str] = {}
        for part, given in zip(self._fields, self, strict=True):
            if part == "judge":
                taken |= {f"{JUDGE}{name}": name for name in judge_columns(given, there)}
                continue
            if part == "score" and given is None:
                continue
            name = given if given is not None else part
            if not isinstance(name, str):
                raise InputError(f"{part} must be the name of a column, not {checks.shown(name)}")
            if name in there:
                taken[part] = name
            elif given is not None:
                close = checks.nearest(name, there)
                known = f"there are {_listed(there)}"
                raise InputError(
                    f"there is no column {checks.shown(name)} for the {part}: "
                    f"{f'did you mean {checks.shown(close)}? ' if close else ''}{known}; name them with score=, task=, "
                    f"arm= (--score, --task, --arm){_without_truth(part, self.judge)}"
                )
        return taken


def _without_truth(part: str, judge: str | Sequence[str] | None) -> str:
    """What a log with a judge is without scores, which are the truth."""
    return "" if part != "score" or judge is None else f"; without a score {NO_TRUTH}"


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    most = 16
    return (", ".join(names[:most]) or "none") + (f" and {len(names) - most} more" if len(names) > most else "")


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    names: Names,
    score_range: Range | None,
    cost_limit: Any,
    missing_score: float | None,
) -> dict[str, Any]:
    """The fields of the log in a file, or in several that are concatenated: see :func:`maxatk.attempts.read_log`."""
    given: Sequence[Any] = path if checks.is_list(path) else [path]
    sources = [source for one in given for source in formats.sources(one)]
    if not sources:
        raise InputError("no file was named")
    read = [(source, table) for source in sources if (table := _table(source, names)) is not None]
    if not read:
        raise InputError(f"{', '.join(map(str, given))}: all evaluations in it failed; name a file to read it anyway")
    if names.arm is None:
        _refuse_pooled(read)
    parts: list[tuple[Source, Columns]] = []
    for source, table in read:
        try:
            parts.append((source, chosen(table, names)))
            if len(read) == 1:
                return checked(parts[0][1], score_range, cost_limit, missing_score)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
    require_room(sum(len(part.task) for _, part in parts))
    return checked(_joined(parts), score_range, cost_limit, missing_score)


def _table(source: Source, names: Names) -> Table | None:
    """What a file holds; None for a failed evaluation, unless the user named its file. Errors name the file."""
    try:
        table = formats.read(source, names.wanted)
    except (InputError, TooLargeError, MissingExtraError) as error:
        raise type(error)(f"{source}: {error}") from None
    if table.run is None or not table.run.failure:
        return table
    fate = "the samples that it has are read" if source.named else "it is left out"
    warn(f"{source}: the evaluation failed ({table.run.failure}): {fate}")
    return table if source.named else None


def _refuse_pooled(read: Sequence[tuple[Source, Table]]) -> None:
    """Refuse runs of one arm at one task that differ in their settings: the user must say what an arm is."""
    first: dict[tuple[str, str], tuple[Source, Mapping[str, str]]] = {}
    for source, table in read:
        if table.run is None:
            continue
        settings = table.run.settings
        for arm in dict.fromkeys(table.columns["arm"]):
            other, same = first.setdefault((str(arm), table.run.name), (source, settings))
            if differing := next((name for name in settings if settings[name] != same.get(name)), None):
                raise InputError(
                    f"{source}: arm {checks.shown(arm)} ran with {differing} {checks.shown(settings[differing])}, but "
                    f"{other} with {checks.shown(same.get(differing))}: name what tells arms apart, such as "
                    'arm="solver" (--arm solver), or arm="model" to pool them'
                )


def _joined(parts: Sequence[tuple[Source, Columns]]) -> Columns:
    """The columns of several files, one after the other."""
    ends = list(itertools.accumulate(len(part.task) for _, part in parts))

    def where(place: int) -> str:
        number = bisect.bisect_right(ends, place)
        source, part = parts[number]
        return f"{source}: {part.where(place - (ends[number - 1] if number else 0))}"

    def column(name: str) -> list[Any] | None:
        columns: list[tuple[Source, list[Any] | None]] = [(source, getattr(part, name)) for source, part in parts]
        if all(values is None for _, values in columns):
            return None
        if missing := next((source for source, values in columns if values is None), None):
            raise InputError(f"{missing}: it has no column for the {name}, and others have")
        return [value for _, values in columns for value in values or ()]

    def judge(name: str) -> list[Any]:
        if missing := next((source for source, part in parts if name not in part.judges), None):
            raise InputError(f"{missing}: it has no column for the judge {checks.shown(name)}, and others have")
        return [value for _, part in parts for value in part.judges[name]]

    judges = {name: judge(name) for name in dict.fromkeys(name for _, part in parts for name in part.judges)}
    return Columns(
        *(column("task") or [], column("arm"), column("score"), column("cost"), column("seconds"), column("attempt")),
        *(where, judges, column("answer"), parts[0][1].named),
    )


def chosen(table: Table, names: Names) -> Columns:
    """The columns that the names choose, one entry per attempt."""
    if not table.names:
        raise InputError("the log is empty: it has no attempts")
    taken = names.columns(table.names)
    given = {part: table.columns[name] for part, name in taken.items()}
    if names.answer is None and _is_of_the_task(given, "answer"):
        del given["answer"]  # the reference, and nobody's vote
    if names.judge is None and _is_of_the_task(given, f"{JUDGE}judge"):
        del given[f"{JUDGE}judge"], taken[f"{JUDGE}judge"]  # who the judge is, and not what it says
    parts, where = _one_per_attempt(given, table.where)

    def numbers(part: str) -> list[Any] | None:
        values = parts.get(part)
        return None if values is None else [table.number(value) for value in values]

    return _columns(parts.get, numbers, where, taken, names)


def _is_of_the_task(parts: Mapping[str, list[Any]], part: str) -> bool:
    """Whether a column has one value in some row with lists of scores."""
    if part not in parts or "score" not in parts:
        return False
    pairs = zip(parts["score"], parts[part], strict=True)
    return any(_is_several(score) and not _is_several(value) for score, value in pairs)


def _one_per_attempt(
    parts: dict[str, list[Any]], where: Callable[[int], str]
) -> tuple[dict[str, list[Any]], Callable[[int], str]]:
    """Rows with lists, for several attempts at a task, as one row per attempt; other rows are unchanged."""
    if not any(_is_several(value) for values in parts.values() for value in values):
        return parts, where
    places: list[tuple[int, int | None]] = []  # the row of each attempt, and its number if the row has several
    spread: dict[str, list[Any]] = {part: [] for part in parts}
    for row, values in enumerate(zip(*parts.values(), strict=True)):
        cells = dict(zip(parts, values, strict=True))
        n = _number_of_attempts(cells, where(row))
        places += [(row, None)] if n is None else [(row, number) for number in range(n)]
        for part, value in cells.items():
            spread[part] += [*value] if _is_several(value) else [value] * (1 if n is None else n)

    def place(number: int) -> str:
        row, entry = places[number]
        return where(row) if entry is None else f"{where(row)}, entry {entry + 1}"

    return spread, place


def _is_several(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _number_of_attempts(cells: Mapping[str, Any], place: str) -> int | None:
    """The number of attempts of a row; None if it has no lists."""
    sizes = {part: len(value) for part, value in cells.items() if _is_several(value)}
    if not sizes:
        return None
    if "task" in sizes:
        raise InputError(f"{place}: task must be a word or a whole number, not {checks.shown(cells['task'])}")
    longest, n = max(sizes.items(), key=lambda item: item[1])
    for part, value in cells.items():
        if part not in OF_THE_TASK and value is not None and part not in sizes:
            raise InputError(
                f"{place}: {longest} is a list, and {part} is one value, {checks.shown(value)}: give a list"
            )
        if part in sizes and sizes[part] != n:
            raise InputError(f"{place}: {longest} has {n} entries, and {part} has {sizes[part]}")
    if not n:
        raise InputError(f"{place}: {longest} is an empty list")
    return n


def records(given: Iterable[Any], names: Names) -> Columns:
    """The columns of dictionaries."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"records must be a list of dictionaries, not {checks.shown(given)}")
    rows: list[Any] = [*given]
    require_room(len(rows))
    return chosen(of_records(rows, names.wanted), names)


def frame(given: Any, names: Names) -> Columns:
    """The columns of a data frame of any library that narwhals knows."""
    import narwhals.stable.v1 as nw

    try:
        table: Any = nw.from_native(given, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame was expected (pandas, Polars and alike), not {checks.shown(given)}") from None
    require_room(len(table))
    there = [str(name) for name in table.columns]
    columns = {
        name: [None if _is_gap(value) else value for value in table.get_column(name).to_list()]
        for name in names.wanted
        if name in there
    }
    return chosen(Table(there, columns, lambda place: f"row {place}"), names)


def _is_gap(value: Any) -> bool:
    """Whether this is a missing value of a data frame."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and math.isnan(value))
    )


def _columns(
    words: Callable[[str], list[Any] | None], numbers: Callable[[str], list[Any] | None], where: Callable[[int], str],
    taken: dict[str, str], names: Names,
) -> Columns:  # fmt: skip
    return Columns(
        words("task") or [],
        words("arm"),
        None if names.score is None else numbers("score") or [],
        numbers("cost"),
        numbers("seconds"),
        words("attempt"),
        where,
        {name: numbers(part) or [] for part, name in taken.items() if part.startswith(JUDGE)},
        words("answer"),
        names.judge is not None,
    )
