"""Files: a versioned ``.npz`` archive of a header and plain one-dimensional arrays, never pickle.

Members are stored uncompressed, so that no array can be larger than its file. A checksum over the whole content detects
damage. It does not detect forgery, since a forged file can have a correct checksum: readers therefore validate
everything that they read.
"""

import errno
import glob
import hashlib
import json
import os
import secrets
import stat
import struct
import tokenize
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from maxatk.base.checks import is_dict, shown
from maxatk.base.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

T = TypeVar("T")


class OtherProblemError(InputError):
    """The file is sound, but it belongs to another problem than the given one."""


_UNREADABLE = (  # the exceptions of zipfile, numpy, json and int for malformed bytes
    *(zipfile.BadZipFile, struct.error, ValueError, TypeError, LookupError, EOFError, ArithmeticError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError, MemoryError),
)


def write(
    path: str | os.PathLike[str], kind: str, version: int, header: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Write a file of this kind atomically."""
    check_target(path)
    text = json.dumps({"format": f"maxatk {kind}", "version": version, **header})
    members = {"header": text_array(text), **{name: np.ascontiguousarray(array) for name, array in arrays.items()}}
    try:
        with atomic_write(Path(path)) as file:
            np.savez(file, **members, checksum=text_array(checksum(members)))  # pyright: ignore[reportArgumentType]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from None


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an error, before long work, if ``path`` cannot be written or is not a regular file."""
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
    """A draft file to write to, which replaces ``target`` (or the target of that link) once it is complete."""
    target = target.resolve()
    _remove_orphans(target)
    draft, file = _draft(target)
    try:
        with file:
            yield file
            file.flush()
            if fcntl is not None:  # under the lock, which shows that it is not an orphan
                draft.replace(target)
        if fcntl is None:
            draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _draft(target: Path) -> tuple[Path, IO[bytes]]:
    """A new draft beside ``target``, open and locked: each writer has its own."""
    while True:
        draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.draft")
        file = draft.open("xb")
        if fcntl is None:
            return draft, file
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return draft, file
        file.close()  # another writer took it for an orphan before it was locked


def _remove_orphans(target: Path) -> None:
    """Remove drafts of ``target`` whose writers were killed: those that are no longer locked."""
    if fcntl is None:
        return
    for draft in target.parent.glob(f".{glob.escape(target.name[:100])}.*.draft"):
        try:
            with draft.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()
        except OSError:  # still being written, already removed, or owned by another user
            continue


def text_array(text: str) -> Any:
    """Text as an array of bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def checksum(members: Mapping[str, Any]) -> str:
    """A digest of all members: their names, types and contents."""
    digest = hashlib.sha256()
    for name in sorted(members):
        array = members[name]
        digest.update(f"{name} {array.dtype.str} {len(array)}: ".encode())
        digest.update(array.data)
    return digest.hexdigest()


class Archive:
    """An open archive."""

    def __init__(self, archive: zipfile.ZipFile, size: int, versions: Mapping[str, Sequence[int]]) -> None:
        self._archive = archive
        # Uncompressed members whose sizes add up to at most the file's cannot exhaust memory.
        self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(self._members) != len(archive.infolist()):
            raise InputError("a member occurs twice")
        if any(info.compress_type != zipfile.ZIP_STORED for info in self._members.values()):
            raise InputError("its members are compressed")
        if sum(info.file_size for info in self._members.values()) > size:
            raise InputError("its members claim more bytes than the file has")
        self._arrays = {"header": self._read("header")}
        header = json.loads(self.text("header"))
        kind = str(header.get("format")).removeprefix("maxatk ") if is_dict(header) else ""
        if not is_dict(header) or header.get("format") != f"maxatk {kind}" or kind not in versions:
            raise InputError(f"its header is not that of a maxatk {next(iter(versions))}")
        self.kind = kind  # according to the header
        if header.get("version") not in versions[kind]:
            known = " and ".join(map(str, versions[kind]))
            raise InputError(f"it has format version {shown(header.get('version'))}, and this maxatk reads {known}")
        self.header: dict[str, Any] = dict(header)
        self._arrays |= {name: self._read(name) for name in self._members}
        said = self._arrays.pop("checksum", np.zeros(0, np.uint8))
        if said.tobytes() != checksum(self._arrays).encode():
            raise InputError("its checksum does not fit what it holds: it was damaged or changed")

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def text(self, name: str) -> str:
        """A member that holds text."""
        return self.array(name, "|u1").tobytes().decode()

    def array(self, name: str, dtype: str) -> Any:
        """A one-dimensional array of exactly this type."""
        if name not in self._arrays:
            raise InputError(f"it has no {name}")
        array = self._arrays[name]
        if array.dtype.str != dtype:
            raise InputError(f"{name} holds {array.dtype.str}: expected {dtype}")
        return array

    def _read(self, name: str) -> Any:
        """A member, whose own header is checked before memory is allocated."""
        if name not in self._members:
            raise InputError(f"it has no {name}")
        with self._archive.open(self._members[name]) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise InputError(f"{name} is not stored as a version 1.0 array")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            if dtype.hasobject or len(shape) != 1:
                raise InputError(f"{name} holds {dtype.str} of shape {shape}: expected one dimension of numbers")
            data = file.read()
        if len(data) != shape[0] * dtype.itemsize:
            raise InputError(f"{name} claims {shape[0]} entries, but holds {len(data)} bytes")
        return np.frombuffer(data, dtype)


def read(path: str | os.PathLike[str], versions: Mapping[str, Sequence[int]], reader: Callable[[Archive], T]) -> T:
    """The result of ``reader`` on the file; all that is wrong with the file raises an error of one line.

    ``versions`` maps the accepted kinds of files to their readable versions; messages name the first kind.
    """
    kind = next(iter(versions))
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a maxatk {kind} is read from a path, not from {shown(path)}")
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise InputError(f"{path}: cannot be read: it is not a file")
        with zipfile.ZipFile(path) as archive:
            return reader(Archive(archive, Path(path).stat().st_size, versions))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except _UNREADABLE as error:
        if isinstance(error, InputError) and str(error).startswith(f"{path}: "):
            raise
        if isinstance(error, OtherProblemError):
            raise InputError(f"{path}: {error}") from None
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not a readable maxatk {kind}: {reason}") from None
