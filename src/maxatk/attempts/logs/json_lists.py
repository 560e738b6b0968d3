"""JSON in one piece: a list of objects."""

from collections.abc import Collection

from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, of_records, require_room
from maxatk.base import checks
from maxatk.base.errors import InputError

suffixes = (".json",)
patterns = ()


def recognises(source: Source) -> bool:
    """Whether it is a list, or is meant to be one."""
    return source.suffix in suffixes or source.content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns that the objects have as entries."""
    data = source.json
    if checks.is_dict(data):
        raise InputError("it is one JSON object: a list of objects was expected, or a log of Inspect")
    if not checks.is_list(data):
        raise InputError(f"records must be a list of dictionaries, not {checks.shown(data)}")
    require_room(len(data))
    return of_records(data, wanted)
