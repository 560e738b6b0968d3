"""What a format makes of a file: its columns, and where each entry is."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError

BYTES = 1_000  # that an attempt takes while a log is read and studied, measured with 10^6 of them


@dataclass(frozen=True)
class Run:
    """What one run of an evaluation tool was, beside its samples."""

    name: str  # of what was evaluated
    settings: Mapping[str, str]  # runs of one arm that differ here are not pooled unless that is asked for
    failure: str = ""  # why the run failed, if it did


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Table:
    """Columns of a file, of a list of records or of a data frame."""

    names: list[str]  # of all columns
    columns: Mapping[str, list[Any]]  # by name, those that are wanted at least; None where a value is missing
    where: Callable[[int], str]  # the location of an entry, such as "line 7"
    number: Callable[[Any], Any] = _unchanged  # the value of an entry in a column of numbers
    run: Run | None = None  # of an evaluation tool


def _record(place: int) -> str:
    return f"record {place + 1}"


def of_records(
    rows: Iterable[Any], wanted: Collection[str], where: Callable[[int], str] | None = None, run: Run | None = None
) -> Table:
    """The columns of dictionaries, which may lack some."""
    place = where or _record
    names: dict[str, None] = {}
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    for number, row in enumerate(rows):
        if not checks.is_dict(row):
            raise InputError(f"{place(number)}: it is not a dictionary of columns, but {checks.shown(row)}")
        names.update(dict.fromkeys(row))
        for name, values in columns.items():
            values.append(row.get(name))
    return Table(list(names), columns, place, run=run)


def require_room(attempts: int) -> None:
    """Refuse a log that would not fit in memory, before it is read.

    Args:
        attempts: their number, or that of the rows of a file.
    """
    room = min(TUNING.log_bytes, checks.memory())
    if attempts * BYTES > room:
        raise TooLargeError(
            f"{attempts} attempts would take about {attempts * BYTES / 2**30:.0f} GiB, more than the "
            f"{room / 2**30:.0f} GiB for a log: read fewer tasks"
        )
