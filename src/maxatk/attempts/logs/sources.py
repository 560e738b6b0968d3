"""Where logs come from: files, compressed or not, and standard input."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from maxatk.attempts.logs import cells
from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError

STANDARD_INPUT = "-"


def _zstandard(file: Any) -> Any:
    try:
        return import_module("compression.zstd").open(file)  # Python 3.14
    except ImportError:
        pass
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        raise MissingExtraError("zstandard is not installed, which reads .zst: pip install maxatk[readers]") from None
    return _Frames(file, zstandard.ZstdDecompressor())


class _Frames:
    """The frames of a .zst file, one after the other; zstandard's own reader does not notice a last one cut short."""

    def __init__(self, file: Any, decompressor: Any) -> None:
        self.file, self.decompressor = file, decompressor
        self.frame = decompressor.decompressobj()

    def read(self, _: int) -> bytes:
        """The next bytes; none at the end."""
        while given := self.file.read(2**12):  # a few thousand bytes can hold a hundred million
            part: bytes = b""
            while given:
                if self.frame.eof:
                    self.frame = self.decompressor.decompressobj()
                part += self.frame.decompress(given)
                given = self.frame.unused_data
            if part:
                return part
        if not self.frame.eof:
            raise EOFError("it ends within a frame")
        return b""


# By suffix: how to open one, and its first bytes, by which it is known on standard input.
COMPRESSIONS: Mapping[str, tuple[Callable[[Any], Any], bytes]] = {
    ".gz": (lambda file: gzip.GzipFile(fileobj=file), b"\x1f\x8b"),
    ".zst": (_zstandard, b"\x28\xb5\x2f\xfd"),
    ".bz2": (bz2.BZ2File, b"BZh"),
    ".xz": (lzma.LZMAFile, b"\xfd7zXZ\0"),
}


@dataclass(frozen=True)
class Source:
    """A file, or standard input; what it holds is read once, when it is asked for."""

    path: Path
    named: bool = True  # whether the user named this file, and not a folder or a pattern

    def __str__(self) -> str:
        return "standard input" if self.is_standard_input else str(self.path)

    @property
    def is_standard_input(self) -> bool:
        """Whether this is standard input."""
        return str(self.path) == STANDARD_INPUT

    @cached_property
    def suffixes(self) -> tuple[str, str]:
        """The suffix of its format and that of its compression, such as ``.csv`` and ``.gz``; empty without one."""
        last = self.path.suffix.lower()
        return (Path(self.path.stem).suffix.lower(), last) if last in COMPRESSIONS else (last, "")

    @property
    def suffix(self) -> str:
        """The suffix of its format, in small letters."""
        return self.suffixes[0]

    @property
    def stem(self) -> str:
        """Its name without suffixes."""
        stem = self.path.stem
        return Path(stem).stem if self.suffixes[1] else stem

    @cached_property
    def content(self) -> bytes:
        """All bytes, decompressed. Errors are one line."""
        try:
            raw = self._raw()
            compression = self.suffixes[1]
            if self.is_standard_input:
                compression = next((s for s, (_, mark) in COMPRESSIONS.items() if raw.startswith(mark)), "")
            return _bounded(COMPRESSIONS[compression][0](io.BytesIO(raw)), compression) if compression else raw
        except (MissingExtraError, InputError):
            raise
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}") from None

    def _raw(self) -> bytes:
        if self.is_standard_input:
            return sys.stdin.buffer.read()
        if not self.path.is_file():
            self.path.stat()  # raises the reason, unless the path exists and is not a file
            raise InputError("it is not a file")
        _require_size(self.path.stat().st_size)
        return self.path.read_bytes()

    @cached_property
    def text(self) -> str:
        """All text, which must be UTF-8."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"it is not text in UTF-8: {error.reason} at byte {error.start}") from None

    @cached_property
    def json(self) -> Any:
        """Its text as one JSON value."""
        return cells.parsed(self.text, "")


def _require_size(size: int) -> None:
    if size > TUNING.log_file_bytes:
        raise InputError(f"it has {size / 2**30:.0f} GiB or more, too much for a log of attempts")


def _bounded(stream: Any, suffix: str) -> bytes:
    """All that a stream holds, unless that is too much; what is broken or cut short is refused as a whole."""
    parts: list[bytes] = []
    size = 0
    try:
        while part := stream.read(2**24):
            parts.append(part)
            size += len(part)
            _require_size(size)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"it is not a complete {suffix} file: {error}") from None
    except Exception as error:  # zstandard's own
        if type(error).__name__ != "ZstdError":
            raise
        raise InputError(f"it is not a complete {suffix} file: {error}") from None
    return b"".join(parts)


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


def read_text(path: Path) -> str:
    """The text of a file; errors are one line."""
    return Source(path).text
