"""The databases in which a scheduler can be kept: SQLite, in a file or in memory, and PostgreSQL.

A database runs a function in one transaction that excludes all others, and turns what goes wrong into one line. SQL is
written once, with ``?`` for arguments.
"""

import math
import os
import sqlite3
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from maxatk.attempts.tuning import TUNING
from maxatk.attempts.warnings import AttemptsWarning
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, MissingExtraError, StorageError

T = TypeVar("T")

LOCK = 0x6D61786B  # the number of the lock in PostgreSQL that transactions of schedulers take
NETWORKS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "lustre", "beegfs", "ceph", "glusterfs", "afs")
_inherited: list[Any] = []  # connections of the parent process: a child must neither use nor close them


class Transaction(Protocol):
    """What may be done within one transaction."""

    def run(self, sql: str, *arguments: Any) -> int:
        """Run a statement; the number of rows that it changed."""
        ...

    def run_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement once for each row of arguments."""
        ...

    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        ...

    def now(self) -> float:
        """The time, in seconds since 1970, by the one clock that all users of the database share."""
        ...


class Database(Protocol):
    """A database."""

    name: str  # for messages

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """The result of ``work`` in a transaction of its own, which happens as a whole or not at all."""
        ...

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        ...


def database(where: str | os.PathLike[str] | None) -> Database:
    """The database at a path or an address that begins with ``postgresql://``; without either, one in memory."""
    if where is None:
        return Sqlite(None)
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        return Postgres(where)
    if isinstance(where, str | os.PathLike) and str(where) and "\0" not in str(where):
        with suppress(UnicodeEncodeError):
            os.fsencode(where)
            return Sqlite(Path(where))
    raise InputError(f"a scheduler is kept in a file or at postgresql://..., not in {shown(where)}")


class _Cursor:
    """A transaction on a DB-API cursor."""

    def __init__(self, cursor: Any, mark: str, clock: Callable[[], float] | None) -> None:
        self._cursor, self._mark, self._clock = cursor, mark, clock

    def run(self, sql: str, *arguments: Any) -> int:
        self._cursor.execute(sql.replace("?", self._mark), arguments)
        return int(self._cursor.rowcount)

    def run_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._cursor.executemany(sql.replace("?", self._mark), rows)

    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        self._cursor.execute(sql.replace("?", self._mark), arguments)
        return list(self._cursor.fetchall())

    def now(self) -> float:
        if self._clock is not None:
            return self._clock()
        return float(self.rows("SELECT extract(epoch FROM clock_timestamp())")[0][0])


class _Connected(ABC):
    """A database with one connection for all threads, which is opened when it is needed and again after a fork."""

    name: str

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection: Any = None
        self._owner = 0

    def _connected(self) -> Any:
        self._forget_inherited()
        if self._connection is None:
            self._connection, self._owner = self._connect(), os.getpid()
        return self._connection

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection."""

    def close(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        with self._lock:
            self._forget_inherited()
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        with suppress(Exception):  # whatever is left of it when the interpreter ends
            self.close()

    def _forget_inherited(self) -> None:
        if self._connection is not None and self._owner != os.getpid():
            _inherited.append(self._connection)
            self._connection = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_connection", "_owner")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        _Connected.__init__(self)
        vars(self).update(state)


class Sqlite(_Connected):
    """SQLite: one file that several processes of one machine share, or memory."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._path, self._clock = path, clock
        self.name = "a scheduler in memory" if path is None else str(path)
        if path is not None:
            _check_place(path)

    def exists(self) -> bool:
        """Whether there is a file."""
        return self._path is not None and self._path.is_file()

    def __getstate__(self) -> dict[str, Any]:
        if self._path is None:
            raise InputError("a scheduler in memory cannot be copied to another process: give it a path")
        return super().__getstate__()

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=TUNING.busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise StorageError(f"{self.name}: cannot be opened: {error}") from None
        try:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            if not all(name.startswith(("maxatk_", "sqlite_")) for (name,) in tables):
                raise InputError(f"{self.name}: a database of another program, not a scheduler")
            if self._path is not None:
                self._use_wal(connection)
        except sqlite3.Error as error:
            connection.close()
            raise self._error(error) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """A write-ahead log: readers and a writer at once, and a killed process loses nothing."""
        deadline = time.monotonic() + TUNING.busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # another process is switching
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        connection.execute("PRAGMA synchronous = FULL")  # a result that was told survives a power failure, too

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """The result of ``work`` in one transaction."""
        with self._lock:
            connection = self._connected()
            try:
                connection.execute("BEGIN IMMEDIATE")
                result = work(_Cursor(connection.cursor(), "?", self._clock))
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back(connection)
                raise self._error(error) from None
            except BaseException:
                self._roll_back(connection)
                raise
            return result

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:  # what is not committed is not there: a new connection starts from the file
            if self._path is not None:
                self.close()

    def _error(self, error: sqlite3.Error) -> InputError | StorageError:
        text = str(error)
        if "no such table" in text:
            return InputError(f"{self.name}: holds no scheduler")
        if "not a database" in text or "malformed" in text:
            return InputError(f"{self.name}: not a scheduler of maxatk: {text}")
        return StorageError(f"{self.name}: {text}; nothing was written, and the same call can be made again")


class Postgres(_Connected):
    """PostgreSQL (extra ``postgres``): one database that many machines share."""

    def __init__(self, address: str) -> None:
        super().__init__()
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise MissingExtraError("a scheduler in PostgreSQL needs psycopg: pip install 'maxatk[postgres]'") from None
        self._address = address
        try:
            parts = conninfo_to_dict(address)
        except psycopg.Error as error:
            raise InputError(f"not the address of a PostgreSQL database: {_one_line(error)}") from None
        self.name = "postgresql://{}/{}".format(parts.get("host", ""), parts.get("dbname", ""))  # without a password

    def _connect(self) -> Any:
        import psycopg

        try:
            return psycopg.connect(self._address, autocommit=True, connect_timeout=math.ceil(TUNING.busy_seconds))
        except psycopg.Error as error:
            raise StorageError(f"{self.name}: cannot be reached: {_one_line(error)}") from None

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """The result of ``work`` in one transaction, which waits for all others of the same scheduler."""
        import psycopg

        with self._lock:
            connection = self._connected()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL lock_timeout = {math.ceil(1000 * TUNING.busy_seconds)}")
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                    return work(_Cursor(cursor, "%s", None))
            except psycopg.errors.UndefinedTable:
                raise InputError(f"{self.name}: holds no scheduler") from None
            except psycopg.Error as error:
                if connection.closed or connection.broken:
                    self._connection = None
                text = f"{self.name}: {_one_line(error)}; nothing was written, and the same call can be made again"
                raise StorageError(text) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _check_place(path: Path) -> None:
    """Refuse what cannot be a file of ours, and warn of file systems on which SQLite cannot lock."""
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    kind = _file_system(path.resolve())
    if kind in NETWORKS:
        warnings.warn(
            f"{path}: on a network file system ({kind}), where several machines must not share a file of SQLite: "
            "use postgresql://... for that",
            AttemptsWarning,
            stacklevel=2,
        )


def _file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of file system that holds a path, where the system tells."""
    try:
        entries: Sequence[list[str]] = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    holding = [(len(point), kind) for _, point, kind, *_ in entries if path.is_relative_to(point)]
    return max(holding)[1] if holding else None
