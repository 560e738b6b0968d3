"""JSON, one object per line: an attempt each, or a task each with lists of scores and of other columns."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from maxatk.attempts.logs.cells import parsed
from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, of_records, require_room

suffixes = (".jsonl", ".ndjson")
patterns = ()


def recognises(source: Source) -> bool:
    """Whether the first line is an object, or is meant to be one."""
    return source.suffix in suffixes or source.content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def numbered(source: Source) -> Iterator[tuple[int, Any]]:
    """The number and the value of every line that is not blank."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield number, parsed(line, f"line {number}: ")


def first(source: Source) -> Any:
    """The value of the first line; None if there is none."""
    return next((value for _, value in islice(numbered(source), 1)), None)


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns that the objects have as entries."""
    require_room(source.content.count(b"\n"))
    lines: list[int] = []

    def objects() -> Iterator[Any]:
        for number, value in numbered(source):
            lines.append(number)
            yield value

    return of_records(objects(), wanted, lambda place: f"line {lines[place]}")
