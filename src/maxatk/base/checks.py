"""Checks of single arguments, shared by all functions that take numbers from a caller."""

import difflib
import itertools
import math
import operator
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Rational, Real
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np

from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Number

LONGEST_HORIZON = 10_000_000
MOST_ROLLOUTS = 2**31 - 1


def integer(value: Any, name: str, *, least: int = 0, most: int | None = None) -> int:
    """``value`` as an ``int`` within ``[least, most]``; floats and booleans are not integers."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, not {shown(value)}") from None
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(f"{name} must be {bounds}, not {shown(number)}")
    return number


def horizon(value: Any) -> int:
    """``value`` as a number of steps per rollout."""
    return integer(value, "horizon", least=1, most=LONGEST_HORIZON)


def rollouts(value: Any, name: str = "k") -> int:
    """``value`` as a number of rollouts."""
    number = integer(value, name, least=1)
    if number > MOST_ROLLOUTS:
        raise InputError(f"{name} must be at most {MOST_ROLLOUTS}, not {shown(number)}")
    return number


def rising(values: Any, name: str) -> list[int]:
    """``values`` as numbers of rollouts, each greater than the one before it."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InputError(f"{name} must be a list of numbers of rollouts, not {shown(values)}")
    numbers = [rollouts(n, name) for n in cast(Iterable[Any], values)]
    for n, after in itertools.pairwise(numbers):
        if n >= after:
            raise InputError(f"{name} must rise, but {after} comes after {n}")
    return numbers


def exact_number(value: Any, name: str) -> Fraction:
    """``value`` as an exact rational; a float stands for its binary value."""
    if type(value) is float and math.isfinite(value):
        return _binary(value)
    if type(value) is np.ndarray and value.ndim == 0:  # an array of one number is that number
        return exact_number(_plain(value), name)
    if isinstance(value, Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
        if abs(exact) > sys.float_info.max:
            raise InputError(f"{name} is too large for a float")
        return exact
    if not isinstance(value, Real):
        raise InputError(f"{name} must be a real number, not {shown(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite, not {number}")
    return Fraction(number)


@lru_cache(maxsize=4096)  # rewards of a problem come again and again
def _binary(value: float) -> Fraction:
    return Fraction(value)


def incumbent(value: Any, name: str = "best_so_far") -> Number:
    """``value`` as a best return so far: a finite number, or ``-inf`` for no result yet."""
    if isinstance(value, Real) and value == -math.inf:
        return -math.inf
    return exact_number(value, name)


def nearest_return(value: Any, name: str, *, none: bool = False) -> float:
    """The float nearest to a return: :func:`exact_number` without exact arithmetic, where floats decide.

    ``none`` says whether it may be ``-inf``, for no result yet.
    """
    if isinstance(value, float):
        if math.isfinite(value) or (none and value == -math.inf):
            return float(value)
    elif type(value) is int:
        if -(2**53) <= value <= 2**53:
            return float(value)
    elif type(value) is Fraction:
        near = value.numerator / value.denominator if abs(value) < sys.float_info.max else math.inf
        if math.isfinite(near):
            return near
    return float(incumbent(value, name) if none else exact_number(value, name))


def one_of(value: Any, options: Sequence[str], name: str) -> None:
    """Raise an error unless ``value`` is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise InputError(f"{name} must be one of {', '.join(options)}, not {shown(value)}")


def boolean(value: Any, name: str) -> None:
    """Raise an error unless ``value`` is true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, not {shown(value)}")


def generator(rng: Any) -> np.random.Generator:
    """A random generator from a seed, or ``rng`` itself if it is a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"rng must be a seed or a NumPy Generator, not {shown(rng)}") from None


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The one of ``words`` most similar to ``word``, ignoring case; None if no one is similar."""
    by_lower = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def name_of(names: Sequence[str] | None, number: int) -> str:
    """The name of a state or an action if there are names, else its number."""
    return names[number] if names else str(number)


@cache
def memory() -> float:
    """The memory available to this process in bytes: the machine's, or the limit of its container if that is less.

    It is infinite if the system does not tell.
    """
    limits = [math.inf]
    if hasattr(os, "sysconf"):
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for path in _memory_limits():
        try:
            limits.append(float(path.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(limits)


@cache
def _memory_limits() -> list[Path]:
    """The files with the memory limits of the control groups of this process on Linux, the innermost first."""
    try:
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return []
    limits: list[Path] = []
    for _, controllers, name in groups:
        if controllers == "":  # version 2: one tree for all
            root, limit = Path("/sys/fs/cgroup"), "memory.max"
        elif "memory" in controllers.split(","):
            root, limit = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
        else:
            continue
        parts = [part for part in name.split("/") if part not in ("", "..")]
        limits += [root.joinpath(*parts[:n], limit) for n in range(len(parts), -1, -1)]
    return limits


def fits_in_memory(n_bytes: int, what: str) -> None:
    """Raise an error for an array larger than memory, since a system that overcommits would grant it."""
    if n_bytes > memory():
        raise TooLargeError(f"{what} would take {n_bytes / 2**30:.0f} GiB, more than this machine has")


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether ``value`` is a sequence such as a list or a tuple, and not a string."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_dict(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether ``value`` is a mapping."""
    return isinstance(value, Mapping)


def _plain(value: Any) -> object:
    """A NumPy scalar as Python's own number, which prints without its type."""
    return value.item() if type(value).__module__ == "numpy" and np.ndim(value) == 0 else value


def shown(value: Any) -> str:
    """A short form of ``value`` for a message, always on one line."""
    try:
        plain = _plain(value)
        text = " ".join((str(plain) if isinstance(plain, Fraction) else repr(plain)).split())
    except Exception:  # a foreign __repr__, or an integer with more digits than Python prints
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
