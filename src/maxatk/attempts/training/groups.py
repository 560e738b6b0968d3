"""Groups of samples: rows of an array, or what an index puts together."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from maxatk.attempts.training.arrays import Array, Library, is_foreign, is_traced, like, on_host, taken_in
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Ints

Rule: TypeAlias = Callable[[Library, str, tuple[Array, ...]], Array]  # of a name for messages and arrays [G, n]


def by_group(named: Mapping[str, Any], index: Any, rule: Rule, nonnegative: str = "") -> Array:
    """What ``rule`` makes of every group, in the places of its samples.

    Args:
        named: arrays of one shape, by name.
        index: labels of groups, one per entry of arrays with one axis; None if groups are along the last axis.
        rule: what to do with arrays [G, n] that have a group in every row.
        nonnegative: the name of the array that must have no entry below 0.
    """
    xp, arrays, dtype = taken_in(named, nonnegative)
    name, shape = next(iter(named)), tuple(arrays[0].shape)
    if index is not None:
        weights = _ragged(xp, arrays, _labels(index, name, shape), rule)
    elif not shape or not shape[-1]:
        raise InputError(f"{name} must have a group of samples along the last axis, not the shape {shape}")
    else:
        rows = tuple(xp.reshape(x, (math.prod(shape[:-1]), shape[-1])) for x in arrays)
        weights = xp.reshape(_applied(xp, "a group", rows, rule), shape)
    return xp.astype(weights, dtype, copy=False)


def _applied(xp: Library, name: str, rows: tuple[Array, ...], rule: Rule) -> Array:
    weights = rule(xp, name, rows)
    if is_traced(weights):  # NaN could not be refused: then let all weights of its group be NaN
        weights = weights + 0 * xp.sum(sum(rows), axis=-1, keepdims=True)
    return weights


def _labels(index: Any, name: str, shape: tuple[int, ...]) -> Any:
    """A label per sample, as an array of NumPy or, for objects, a list."""
    if len(shape) != 1:
        raise InputError(f"with index, {name} must have one axis, not the shape {shape}")
    try:
        labels: Any = np.asarray(on_host(index) if is_foreign(index) else index)
    except ValueError:  # lists of different lengths
        raise InputError(f"index must have a label for each of {shape[0]} {name}") from None
    if labels.shape != shape:
        raise InputError(f"index must have a label for each of {shape[0]} {name}, not the shape {labels.shape}")
    if labels.size and labels.dtype.kind not in "biuUSO":
        raise InputError(f"index must hold labels of groups, whole numbers or words, not {labels.dtype}")
    return labels.tolist() if labels.dtype.kind == "O" else labels


class _Size(NamedTuple):
    """The groups of one size."""

    name: str  # of the first of them
    places: Ints  # [G, n] where their samples are


def _ragged(xp: Library, arrays: tuple[Array, ...], labels: Any, rule: Rule) -> Array:
    """Groups of one size are rows of an array, and there are few sizes."""
    parts: list[Array] = []
    places: list[Ints] = []
    for size in _sizes(labels):
        at = like(xp, size.places.ravel(), arrays[0], xp.asarray(0).dtype)
        rows = tuple(xp.reshape(xp.take(x, at, axis=0), size.places.shape) for x in arrays)
        parts.append(xp.reshape(_applied(xp, size.name, rows, rule), (-1,)))
        places.append(size.places.ravel())
    if not parts:
        return arrays[0]
    back = np.argsort(np.concatenate(places))
    return xp.take(xp.concat(parts), like(xp, back, arrays[0], xp.asarray(0).dtype), axis=0)


def _sizes(labels: Any) -> Iterator[_Size]:
    """The groups, those of one size together."""
    number: Any
    if isinstance(labels, list):
        numbers: dict[Any, int] = {}
        try:
            number = np.array([numbers.setdefault(x, len(numbers)) for x in cast("list[Any]", labels)], np.int64)
        except TypeError:  # a label that cannot be looked up
            raise InputError("index must hold labels of groups, whole numbers or words") from None
        names: Any = list(numbers)
    else:
        names, number = np.unique(labels, return_inverse=True)
    order = np.argsort(number, kind="stable")
    counts = np.bincount(number, minlength=len(names))
    starts = np.cumsum(counts) - counts
    for n in np.unique(counts):
        of_size = np.flatnonzero(counts == n)
        yield _Size(f"group {shown(names[of_size[0]])}", order[starts[of_size, None] + np.arange(n)])
