"""Thresholds that decide how something is computed: declared by package, changed temporarily by :func:`tuned`.

A threshold chooses between algorithms with the same result, such as a matrix product for a sum, or limits work and
memory. Tests use ``with tuned(small_slice=-1):`` to run small problems through the code for large ones.
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
    """The thresholds of a package: class attributes with their default values, which are read from an instance.

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
    """The thresholds that differ from their defaults, to be sent to other machines."""
    return dict(_changed.get())


@contextmanager
def tuned(**thresholds: Any) -> Generator[None]:
    """Change thresholds for all that runs inside, on other threads too; unknown names raise an error."""
    for name in thresholds:
        if name not in _declared:
            raise InputError(f"there is no threshold {name}: is its package imported?")
    token = _changed.set({**_changed.get(), **thresholds})
    try:
        yield
    finally:
        _changed.reset(token)


class Base(Tuning):
    """Thresholds of base/."""

    cores: int | None = None  # threads of a pool by default; None for all cores of the machine
    progress_every: float = 5.0  # seconds between plain lines of progress


TUNING = Base()
