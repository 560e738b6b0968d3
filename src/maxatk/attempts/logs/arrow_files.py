"""Parquet and Arrow files (Feather is one), which pyarrow reads: extra ``readers``."""

import io
from collections.abc import Collection
from importlib import import_module
from typing import Any

from maxatk.attempts.logs.sources import Source
from maxatk.attempts.logs.table import Table, require_room
from maxatk.base.errors import InputError, MissingExtraError

suffixes = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
patterns = ()
MARKS = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # the first bytes: Parquet, an Arrow file, an Arrow stream


def recognises(source: Source) -> bool:
    """Whether it begins as such a file, or is named as one."""
    return source.suffix in suffixes or source.content.startswith(MARKS)


def read(source: Source, wanted: Collection[str]) -> Table:
    """The wanted columns; others are not read."""
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError("pyarrow is not installed, which reads it: pip install maxatk[readers]") from None
    content = source.content
    try:
        if content.startswith(b"PAR1"):
            file = parquet.ParquetFile(io.BytesIO(content))
            require_room(file.metadata.num_rows)
            names = list(file.schema_arrow.names)
            table = file.read(columns=[name for name in wanted if name in names])
        else:
            opened = arrow.ipc.open_file if content.startswith(b"ARROW1") else arrow.ipc.open_stream
            table = opened(io.BytesIO(content)).read_all()
            names = list(table.schema.names)
            require_room(table.num_rows)
    except (arrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not a readable Parquet or Arrow file: {reason}") from None
    columns = {name: table.column(name).to_pylist() for name in wanted if names.count(name) == 1}
    return Table(names, columns, lambda place: f"row {place}")
