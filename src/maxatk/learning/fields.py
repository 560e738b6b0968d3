"""Fields of a ledger: each writes itself to a checkpoint, and checks itself when it is read from one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.learning.data import Data

MOST = 2**53  # of a number that was counted


@dataclass(frozen=True)
class Field(ABC):
    """An attribute of a ledger, by its name."""

    name: str

    @abstractmethod
    def write(self, ledger: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Add the attribute to the numbers or arrays of a checkpoint."""

    @abstractmethod
    def read(self, ledger: Any, file: Archive) -> Any:
        """The attribute as :meth:`write` left it; or raise :class:`InputError`."""


@dataclass(frozen=True)
class Plain(Field):
    """A number of a checkpoint's header; ``check`` takes its value and its name."""

    check: Callable[[Any, str], Any]

    def write(self, ledger: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> None:
        """As it is."""
        numbers[self.name] = getattr(ledger, self.name)

    def read(self, ledger: Any, file: Archive) -> Any:
        """As it is."""
        return self.check(file.header.get(self.name), self.name)


def whole(value: Any, name: str) -> int:
    """A count."""
    return checks.integer(value, name, most=MOST)


def number(value: Any, name: str) -> float:
    """A finite number."""
    return float(checks.exact_number(value, name))


def number_or_none(value: Any, name: str) -> float | None:
    """A finite number, or None."""
    return None if value is None else number(value, name)


def flag(value: Any, name: str) -> bool:
    """True or false."""
    checks.boolean(value, name)
    return value


@dataclass(frozen=True)
class Column(Field):
    """An array ``[size]`` of counts or finite numbers, or a list or set of them."""

    dtype: str
    size: str | None = None  # a number that is known of the problem, by name; any where it is None
    kind: Callable[[Any], Any] = np.array

    def write(self, ledger: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> None:
        """As an array; a set in order."""
        values: Any = getattr(ledger, self.name)
        arrays[self.name] = np.array(sorted(values) if self.kind is set else values, self.dtype)

    def read(self, ledger: Any, file: Archive) -> Any:
        """As it was."""
        values = file.array(self.name, self.dtype)
        if (self.size is not None and len(values) != getattr(ledger.known, self.size)) or not np.isfinite(values).all():
            raise InputError(f"its arrays make no sense: {self.name}")
        if self.dtype == "<i8" and len(values) and not 0 <= values.min() <= values.max() <= MOST:
            raise InputError(f"its counts make no sense: {self.name}")
        return self.kind(values if self.kind is np.array else values.tolist())


@dataclass(frozen=True)
class Counts(Field):
    """Counts of outcomes by row."""

    def write(self, ledger: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> None:
        """As four columns."""
        arrays |= getattr(ledger, self.name).arrays(self.name)

    def read(self, ledger: Any, file: Archive) -> Data:
        """As they were, checked as if a model had sent them."""
        return Data.read(file, self.name, ledger.known, ledger.slack)
