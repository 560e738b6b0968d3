"""Tables of text whose first line names the columns: cells are separated by commas, semicolons or tabs."""

import csv
import io
from collections.abc import Collection

from maxatk.attempts.logs import cells
from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, require_room
from maxatk.base import checks
from maxatk.base.errors import InputError

suffixes = (".csv", ".tsv")
patterns = ()


def recognises(source: Source) -> bool:
    """Any text may be such a table: this format is the last that is asked."""
    return True


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns of a table; blank lines are passed over."""
    require_room(source.content.count(b"\n"))
    text = source.text
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines: list[int] = []
    try:
        header = [name.strip() for name in next(reader, list[str]())]
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise InputError(f"two columns are named {checks.shown(twice)}")
        columns: dict[str, list[str]] = {name: [] for name in wanted if name in header}
        places = [(header.index(name), column) for name, column in columns.items()]
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(
                    f"line {reader.line_num}: it has {len(row)} cells, and the first line has {len(header)}"
                )
            for place, column in places:
                column.append(row[place].strip())
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}") from None
    return Table(header, columns, lambda place: f"line {lines[place]}", cells.cell)
