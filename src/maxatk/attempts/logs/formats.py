"""The formats of logs, in one list; and the files that a path, a folder or a pattern stands for.

A format is a module with ``suffixes`` (of its files), ``patterns`` (of names that only a tool gives to its logs),
``recognises`` and ``read``. A new one is a file and an entry in :data:`FORMATS`.
"""

import glob
from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

from maxatk.attempts.logs import arrow_files, comma_separated, inspect_logs, json_lines, json_lists, lm_eval_logs
from maxatk.attempts.logs.sources import COMPRESSIONS, STANDARD_INPUT, Source, as_path
from maxatk.attempts.logs.table import Table
from maxatk.base.errors import InputError


class Format(Protocol):
    """What a module of a format has."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Those of its files; compressed ones have another after it."""
        ...

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names that a tool gives to its logs: in a folder with such files, others are left out."""
        ...

    def recognises(self, source: Source) -> bool:
        """Whether a file whose suffix is one of these, or of no format at all, has this format."""
        ...

    def read(self, source: Source, wanted: Collection[str]) -> Table:
        """The columns of a file, of which those that are wanted must be there."""
        ...


# The first that recognises a file reads it.
FORMATS: tuple[Format, ...] = (inspect_logs, lm_eval_logs, arrow_files, json_lists, json_lines, comma_separated)
SUFFIXES = frozenset(suffix for one in FORMATS for suffix in one.suffixes)


def read(source: Source, wanted: Collection[str]) -> Table:
    """The columns of a file. Its suffix says the format; where it says nothing, the content does."""
    known = source.suffix in SUFFIXES and not source.is_standard_input
    some = [one for one in FORMATS if not known or source.suffix in one.suffixes]
    return next(one for one in some if one.recognises(source)).read(source, wanted)


def sources(path: Any) -> list[Source]:
    """What a path stands for: a file, standard input (``-``), all logs in a folder, or all that a pattern fits."""
    given = as_path(path)
    if given.is_dir():
        return _in_folder(given)
    if str(given) == STANDARD_INPUT or given.exists() or not glob.has_magic(str(given)):
        return [Source(given)]
    matched = sorted(glob.iglob(str(given), recursive=True))  # noqa: PTH207 - a Path has none for absolute patterns
    files = [Source(Path(name), named=False) for name in matched if Path(name).is_file()]
    if not files:
        raise InputError(f"{path}: no file has such a name")
    return files


def _in_folder(folder: Path) -> list[Source]:
    """The logs that tools named, or else all files whose suffix is that of a format; hidden files are left out."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    patterns = [pattern for one in FORMATS for pattern in one.patterns]
    ends = [f"{pattern}{end}" for pattern in patterns for end in ("", *COMPRESSIONS)]
    logs = [Source(file, named=False) for file in files if any(file.match(end) for end in ends)]
    logs = logs or [one for one in (Source(file, named=False) for file in files) if one.suffix in SUFFIXES]
    if not logs:
        raise InputError(f"{folder}: there is no log in this folder: files end in {', '.join(sorted(SUFFIXES))}")
    return logs
