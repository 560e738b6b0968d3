"""Readers of files, records and data frames; they return columns, which :mod:`maxatk.attempts.logs.gate` checks.

Logs of evaluation tools become records first: :mod:`maxatk.attempts.logs.inspect_logs`,
:mod:`maxatk.attempts.logs.lm_eval_logs`.
"""

import bisect
import csv
import io
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from maxatk.attempts.logs import inspect_logs, lm_eval_logs
from maxatk.attempts.logs.gate import Columns, checked, decimal
from maxatk.attempts.logs.judged import judge_columns
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Range

JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}:]')  # strings, and where objects and the values of names begin
JUDGE = "judge "  # and the name of its column: the part that a judge is
LARGEST_FILE = 2**31  # bytes; a hundred million attempts would not fit in memory as Python's values anyway


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
                known = (
                    f"did you mean {checks.shown(close)}?" if close else f"there are {', '.join(there[:12]) or 'none'}"
                )
                raise InputError(f"there is no column {checks.shown(name)} for the {part}: {known}")
        return taken


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    names: Names,
    score_range: Range | None,
    cost_limit: Any,
    missing_score: float | None,
) -> dict[str, Any]:
    """The fields of the log in a file, or in several that are concatenated: see :func:`maxatk.attempts.read_log`."""
    given: Sequence[Any] = path if checks.is_list(path) else [path]
    files = [file for one in given for file in _files(one)]
    if not files:
        raise InputError("no file was named")
    parts: list[Columns] = []
    for file in files:
        try:
            parts.append(_read(file, names))
            if len(files) == 1:
                return checked(parts[0], score_range, cost_limit, missing_score)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
    return checked(_joined(parts, files), score_range, cost_limit, missing_score)


def _files(path: str | os.PathLike[str]) -> list[Path]:
    """The file itself, or all logs of evaluation tools in a folder."""
    given = as_path(path)
    if not given.is_dir():
        return [given]
    logs = sorted([*given.rglob("*.eval"), *given.rglob("samples_*.jsonl")]) or sorted(given.rglob("*.json"))
    if not logs:
        raise InputError(f"{path}: there is no log of Inspect or of the LM Evaluation Harness in this folder")
    return logs


def as_path(path: Any) -> Path:
    """The argument as a path; other values are refused."""
    try:
        as_given = Path(path)
        if "\0" in str(as_given):
            raise ValueError("embedded null byte")
        as_given.is_dir()  # raises for names that no file can have
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"path must be the path of a file, not {checks.shown(path)}: {error}") from None
    return as_given


def _read(path: Path, names: Names) -> Columns:
    """The columns of a file."""
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return records(inspect_logs.rows(inspect_logs.packed(path)), names)
    text = read_text(path)
    if suffix in (".jsonl", ".ndjson"):
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        objects = [parsed(line, f"line {number}: ") for number, line in lines]
        if objects and lm_eval_logs.is_line(objects[0]):
            return records(lm_eval_logs.rows(objects, path), names)
        return records(objects, names, [number for number, _ in lines])
    if suffix == ".json":
        data = parsed(text, "")
        if inspect_logs.is_log(data):
            return records(inspect_logs.rows(data), names)
        if checks.is_dict(data):
            raise InputError("it is one JSON object: a list of objects was expected, or a log of Inspect")
        return records(data, names)
    return comma_separated(text, names)


def _joined(parts: Sequence[Columns], files: Sequence[Path]) -> Columns:
    """The columns of several files, one after the other."""
    ends = list(itertools.accumulate(len(part.task) for part in parts))

    def where(place: int) -> str:
        number = bisect.bisect_right(ends, place)
        return f"{files[number]}: {parts[number].where(place - (ends[number - 1] if number else 0))}"

    def column(name: str) -> list[Any] | None:
        columns: list[list[Any] | None] = [getattr(part, name) for part in parts]
        if all(values is None for values in columns):
            return None
        if missing := next((file for file, values in zip(files, columns, strict=True) if values is None), None):
            raise InputError(f"{missing}: it has no column for the {name}, and others have")
        return [value for values in columns for value in values or ()]

    def judge(name: str) -> list[Any]:
        if missing := next((file for file, part in zip(files, parts, strict=True) if name not in part.judges), None):
            raise InputError(f"{missing}: it has no column for the judge {checks.shown(name)}, and others have")
        return [value for part in parts for value in part.judges[name]]

    judges = {name: judge(name) for name in dict.fromkeys(name for part in parts for name in part.judges)}
    return Columns(
        *(column("task") or [], column("arm"), column("score"), column("cost"), column("seconds"), column("attempt")),
        *(where, judges, column("answer"), parts[0].named),
    )


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file; errors are one line."""
    try:
        file = Path(path)
        if not file.is_file():
            file.stat()  # raises the reason, unless the path exists and is not a file
            raise InputError("it is not a file")
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"it has {file.stat().st_size / 2**30:.0f} GiB, too much for a log of attempts")
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"it is not text in UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None


def comma_separated(text: str, names: Names) -> Columns:
    """The columns of a table whose first line names them; cells are separated by commas, semicolons or tabs."""
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        header = [name.strip() for name in next(reader, list[str]())]
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise InputError(f"two columns are named {checks.shown(twice)}")
        for row in reader:
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                raise InputError(
                    f"line {reader.line_num}: it has {len(row)} cells, and the first line has {len(header)}"
                )
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}") from None
    taken = names.columns(header)

    def where(place: int) -> str:
        return f"line {lines[place]}"

    def cells(part: str) -> list[str] | None:
        if part not in taken:
            return None
        place = header.index(taken[part])
        return [row[place].strip() for row in rows]

    def numbers(part: str) -> list[Any] | None:
        texts = cells(part)
        return None if texts is None else [_cell(cell) for cell in texts]

    return _columns(cells, numbers, where, taken, names)


def _cell(cell: str) -> Any:
    """A number, true or false from a cell; None for an empty cell; other text unchanged, which the gate refuses."""
    if not cell:
        return None
    number = decimal(cell)
    return {"true": 1.0, "false": 0.0}.get(cell.lower(), cell) if number is None else number


def parsed(text: str, place: str) -> Any:
    """Parsed JSON; errors are one line."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except _TwiceError as error:
        line = place or f"line {_line_of_second(text)}: "
        raise InputError(f"{line}two entries of one JSON object are named {checks.shown(error.args[0])}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise InputError(f"{place}not JSON: {reason}") from None


class _TwiceError(Exception):
    """A JSON object has two entries of one name."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a JSON object without duplicate names, of which Python would keep the last."""
    entries: dict[str, Any] = {}
    for name, value in pairs:
        if name in entries:
            raise _TwiceError(name)
        entries[name] = value
    return entries


def _line_of_second(text: str) -> int:
    """The line of the first duplicate name in an object."""
    named: list[set[str]] = []  # names in the objects that are open
    word = ""
    for token in JSON_TOKEN.finditer(text):
        mark = token[0]
        if mark == "{":
            named.append(set())
        elif mark == "}":
            named.pop()
        elif mark != ":":
            word = json.loads(mark)
        elif word in named[-1]:
            return text.count("\n", 0, token.start()) + 1
        else:
            named[-1].add(word)
    raise AssertionError("no name occurs twice")


def records(given: Iterable[Any], names: Names, lines: Sequence[int] | None = None) -> Columns:
    """The columns of dictionaries."""

    def where(place: int) -> str:
        return f"record {place + 1}" if lines is None else f"line {lines[place]}"

    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"records must be a list of dictionaries, not {checks.shown(given)}")
    rows: list[Any] = [*given]
    there: dict[str, None] = {}
    for place, row in enumerate(rows):
        if not checks.is_dict(row):
            raise InputError(f"{where(place)}: it is not a dictionary of columns, but {checks.shown(row)}")
        there.update(dict.fromkeys(row))
    taken = names.columns(there) if rows else {"task": names.task, "score": names.score or ""}

    def column(part: str) -> list[Any] | None:
        return [row.get(taken[part]) for row in rows] if part in taken else None

    return _columns(column, column, where, taken, names)


def frame(given: Any, names: Names) -> Columns:
    """The columns of a data frame of any library that narwhals knows."""
    import narwhals.stable.v1 as nw

    try:
        table: Any = nw.from_native(given, eager_only=True)
    except TypeError:
        raise InputError(f"a data frame was expected (pandas, Polars and alike), not {checks.shown(given)}") from None
    taken = names.columns([str(name) for name in table.columns])

    def column(part: str) -> list[Any] | None:
        if part not in taken:
            return None
        values = table.get_column(taken[part]).to_list()
        return [None if _is_gap(value) else value for value in values]

    return _columns(column, column, lambda place: f"row {place}", taken, names)


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
