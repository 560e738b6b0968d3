"""Thresholds that decide how something is computed: declared by package, changed for a while by :func:`tuned`.

A threshold chooses between ways to the same answer, such as a matrix product for a sum, or bounds work and memory.
Tests drive small problems down the ways of large ones with ``with tuned(small_slice=-1):``; nobody else needs them.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from maxatk.base.errors import InputError

_declared: set[str] = set()
_changed: ContextVar[Mapping[str, Any]] = ContextVar("maxatk_tuning", default=MappingProxyType({}))


class Tuning:
    """The thresholds of a package: class attributes with their usual values, which are read from an instance.

    >>> class Oven(Tuning):
    ...     heat: float = 180.0
    >>> oven = Oven()
    >>> with tuned(heat=200.0):
    ...     oven.heat
    200.0
    >>> oven.heat
    180.0
    """

    def __init_subclass__(cls) -> None:
        for name in cls.__annotations__:
            if name in _declared:
                raise TypeError(f"the threshold {name} is declared twice")
            _declared.add(name)
            setattr(cls, name, _threshold(name, cls.__dict__[name]))


def _threshold(name: str, usual: Any) -> property:
    return property(lambda _: _changed.get().get(name, usual))


def changed() -> dict[str, Any]:
    """The thresholds that are not the usual ones, to be sent to other machines."""
    return dict(_changed.get())


@contextmanager
def tuned(**thresholds: Any) -> Generator[None]:
    """Other thresholds for all that runs inside, on other threads too; unknown names are refused."""
    for name in thresholds:
        if name not in _declared:
            raise InputError(f"there is no threshold {name}: is its package imported?")
    token = _changed.set({**_changed.get(), **thresholds})
    try:
        yield
    finally:
        _changed.reset(token)


class Base(Tuning):
    """What everything stands on."""

    cores: int | None = None  # threads of a pool for which nobody says how many; all cores of the machine where None
    progress_every: float = 5.0  # seconds between plain lines of progress


TUNING = Base()
