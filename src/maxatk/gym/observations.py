"""Observations of a trial: the environment's own observation, and five numbers."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError

LARGEST = math.log1p(np.finfo(np.float64).max)  # of a return on a logarithmic scale
LEAST_IMAGE = 36  # pixels a side: smaller images do not fit the usual convolutions
NAMES = ("has_best", "best", "so_far", "rollouts_left", "steps_left")
VECTOR = "vector"  # the key of all parts that are not images


def return_scale(returns: Any) -> tuple[float, float]:
    """The two returns that are mapped to -1 and 1; equal ones stand for a logarithmic scale."""
    if returns is None:
        return 0.0, 0.0
    if not checks.is_list(returns) or len(returns) != 2:
        raise InputError(f"returns must be a pair (least, greatest), not {shown(returns)}")
    low, high = (float(checks.exact_number(x, f"returns[{i}]")) for i, x in enumerate(returns))
    if low >= high:
        raise InputError(f"returns must be a pair (least, greatest), not {shown(returns)}")
    return low, high


def number_bounds(scale: tuple[float, float]) -> tuple[list[float], list[float]]:
    """The least and the greatest value of each of the five numbers."""
    largest = LARGEST if scale[0] == scale[1] else 2.0
    return [0.0, -largest, -largest, 0.0, 0.0], [1.0, largest, largest, 1.0, 1.0]


class Observations:
    """Combines an environment's observations with the five numbers of a trial, in one of three forms.

    The first is a dict, whose keys are those of the environment's own dict, or ``observation``, and the five names. The
    second is flat without images: one vector. The third is flat with images: a dict of these and of ``vector``.

    Args:
        inner: the environment's own space.
        name: the environment's name, for messages.
        scale: the scale of returns.
        flat: whether observations are flat.
    """

    def __init__(self, inner: Any, name: str, scale: tuple[float, float], flat: bool) -> None:
        self._inner, self._name, self._scale, self._flat = inner, name, scale, flat
        self._dict = is_a(inner, spaces.Dict)
        self._parts: dict[str, Any] = dict(inner.spaces) if self._dict else {"observation": inner}
        self._images = [key for key, space in self._parts.items() if flat and _is_image(space)]
        self.space = self._flat_space() if flat else self._dict_space()

    def _dict_space(self) -> Any:
        self._refuse(NAMES)
        low, high = number_bounds(self._scale)
        boxes = {
            name: spaces.Box(low[i], high[i], (1,), np.float32)  # each by itself, as its own entry
            for i, name in enumerate(NAMES)
        }
        return spaces.Dict({**self._parts, **boxes})

    def _flat_space(self) -> Any:
        low, high = ([np.array(ends, np.float32)] for ends in number_bounds(self._scale))
        for key, space in reversed(self._parts.items()):
            if key in self._images:
                continue
            flattened = self._flattened(key, space)
            low.insert(0, flattened.low.astype(np.float32))
            high.insert(0, flattened.high.astype(np.float32))
        vector = spaces.Box(np.concatenate(low), np.concatenate(high), dtype=np.float32)
        if not self._images:
            return vector
        self._refuse((VECTOR,))
        return spaces.Dict({**{key: self._parts[key] for key in self._images}, VECTOR: vector})

    def _flattened(self, key: str, space: Any) -> Any:
        """The space of one part as a vector."""
        try:
            flattened: Any = getattr(spaces, "flatten_space")(space)  # noqa: B009  (its type is partly unknown)
        except NotImplementedError:  # spaces that Gymnasium does not know, such as sentences of a grammar
            flattened = None
        if not is_a(flattened, spaces.Box) or is_a(space, spaces.Text):
            what = f"the entry {key!r} of the observations" if self._dict else "the observations"
            hint = "; gymnasium.wrappers.FilterObservation leaves entries out" if self._dict else ""
            raise InputError(f"{what} of {self._name} cannot be flattened to a Box: {shown(space)}{hint}")
        return flattened

    def _refuse(self, taken: tuple[str, ...]) -> None:
        """Raise an error if the environment's own keys include one of ``taken``."""
        for key in self._parts:
            if key in taken:
                raise InputError(f"the observations of {self._name} have an entry {key!r} already: rename it")

    def __call__(self, own: Any, best: float, so_far: float, rollouts_left: float, steps_left: float) -> Any:
        """The observation, from M and G unscaled."""
        some = best > -math.inf
        numbers = np.array(
            [
                float(some),
                kernels.shown_return(best, *self._scale) if some else 0.0,
                kernels.shown_return(so_far, *self._scale),
                rollouts_left,
                steps_left,
            ],
            np.float32,
        )
        parts: dict[str, Any] = own if self._dict else {"observation": own}
        if not self._flat:
            return {**parts, **{name: numbers[i : i + 1] for i, name in enumerate(NAMES)}}
        vectors = [
            np.asarray(spaces.flatten(space, parts[key]), np.float32)
            for key, space in self._parts.items()
            if key not in self._images
        ]
        vector = np.concatenate([*vectors, numbers])
        return {**{key: parts[key] for key in self._images}, VECTOR: vector} if self._images else vector


def is_a(thing: Any, kind: type) -> bool:
    """``isinstance``, for classes that are generic in unknown types."""
    return isinstance(thing, kind)


def _is_image(space: Any) -> bool:
    """Whether a space holds images for convolutional networks: bytes, in up to four channels, first or last."""
    if not is_a(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) != 3:
        return False
    first, middle, last = space.shape
    sides = (first, middle) if last <= 4 else (middle, last)
    return min(first, last) <= 4 and min(sides) >= LEAST_IMAGE
