"""The file of a scheduler is a journal: its first line is the initial scheduler, every further line one event.

Each line is written at once, so that a killed process loses nothing. A power failure may leave an incomplete last line,
which is ignored.
"""

import os
from pathlib import Path
from typing import Any

from maxatk.attempts.sequences.files import line_of
from maxatk.base.errors import InputError

try:
    import fcntl
except ImportError:  # not on every system; without it two processes may share a file by mistake
    fcntl = None


class Journal:
    """A file that grows line by line; one process at a time may have it open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Path(path).open("r+b", buffering=0)  # noqa: SIM115 (it stays open)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError(f"{path}: another scheduler is using this file") from None
        complete = Path(path).read_bytes().rfind(b"\n") + 1
        self._file.truncate(complete)  # drop an incomplete last line
        self._file.seek(0, os.SEEK_END)

    def add(self, event: Any) -> None:
        """Append one line, which is in the file when this returns."""
        try:
            self._file.write(line_of(event))
        except OSError as error:
            raise InputError(f"the file of the scheduler cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
