"""Files: a versioned ``.npz`` archive of a header and plain one-dimensional arrays, never pickle.

Members are stored uncompressed, so that no array can be larger than the file that brings it. Nothing else about a file
is trusted: whoever reads one checks what it holds.
"""

import errno
import json
import os
import secrets
import stat
import struct
import tokenize
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from maxatk.checks import is_dict, shown
from maxatk.errors import InputError

T = TypeVar("T")

_UNREADABLE = (  # what zipfile, numpy, json and int raise for bytes that are not what they should be
    *(zipfile.BadZipFile, struct.error, ValueError, TypeError, EOFError, ArithmeticError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError, MemoryError),
)


def write(
    path: str | os.PathLike[str], kind: str, version: int, header: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Write a file of this kind, whole or not at all."""
    check_target(path)
    text = json.dumps({"format": f"maxatk {kind}", "version": version, **header})
    try:
        with atomic_write(Path(path)) as file:
            np.savez(file, header=text_array(text), **arrays)  # pyright: ignore[reportArgumentType]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from None


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse, before long work, a path that nothing can be written to, or that is something else than a file."""
    try:
        target = Path(path)
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            reason = os.strerror(errno.EISDIR)
        elif mode is not None and not stat.S_ISREG(mode):
            reason = "it is not a file"
        elif not target.parent.is_dir():
            reason = os.strerror(errno.ENOENT)
        elif not os.access(target.parent if mode is None else target, os.W_OK):
            reason = os.strerror(errno.EACCES)
        else:
            return
    except TypeError:
        raise InputError(f"path must be a path, not {shown(path)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
    raise InputError(f"{shown(path) if not str(path).isprintable() else path}: cannot be written: {reason}")


@contextmanager
def atomic_write(target: Path) -> Generator[IO[bytes]]:
    """A file to write in, which becomes ``target``, or what that is a link to, only once all is written."""
    target = target.resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")  # no two writers share one
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def text_array(text: str) -> Any:
    """Text as an array of bytes."""
    return np.frombuffer(text.encode(), np.uint8)


class Archive:
    """An open archive."""

    def __init__(self, archive: zipfile.ZipFile, size: int, kind: str, version: int) -> None:
        self._archive = archive
        # Stored members that fit in the file together cannot swell when read.
        self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(self._members) != len(archive.infolist()):
            raise InputError("a member occurs twice")
        if any(info.compress_type != zipfile.ZIP_STORED for info in self._members.values()):
            raise InputError("its members are compressed")
        if sum(info.file_size for info in self._members.values()) > size:
            raise InputError("its members claim more bytes than the file has")
        header = json.loads(self.text("header"))
        if not is_dict(header) or header.get("format") != f"maxatk {kind}":
            raise InputError(f"its header is not that of a maxatk {kind}")
        if header.get("version") != version:
            raise InputError(f"it has format version {shown(header.get('version'))}, and this maxatk reads {version}")
        self.header: dict[str, Any] = dict(header)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def text(self, name: str) -> str:
        """A member that holds text."""
        return self.array(name, "|u1").tobytes().decode()

    def array(self, name: str, dtype: str) -> Any:
        """A one-dimensional array of just this type; its own header is checked before any memory is taken."""
        if name not in self._members:
            raise InputError(f"it has no {name}")
        with self._archive.open(self._members[name]) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise InputError(f"{name} is not stored as a version 1.0 array")
            shape, _, found = np.lib.format.read_array_header_1_0(file)
            if found.str != dtype or len(shape) != 1:
                raise InputError(f"{name} holds {found.str} of shape {shape}: expected one dimension of {dtype}")
            data = file.read()
        if len(data) != shape[0] * found.itemsize:
            raise InputError(f"{name} claims {shape[0]} entries, but holds {len(data)} bytes")
        return np.frombuffer(data, found)


def read(path: str | os.PathLike[str], kind: str, version: int, reader: Callable[[Archive], T]) -> T:
    """What ``reader`` makes of the file; whatever is wrong with it comes out as one line."""
    try:
        with zipfile.ZipFile(path) as archive:
            return reader(Archive(archive, Path(path).stat().st_size, kind, version))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except _UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not a readable maxatk {kind}: {reason}") from None
