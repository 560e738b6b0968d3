"""The one place that speaks to the compiler."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba  # pyright: ignore[reportMissingTypeStubs]

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` as machine code: compiled on first use, kept on disk, running without Python's lock.

    Nothing is fused or reordered: kernels that compute the same get the same bits, on every device. A policy that acts
    on the slices of knots must break ties as the bounds did that promise what it earns.
    """
    jit: Any = numba.njit(cache=True, nogil=True, error_model="numpy")  # pyright: ignore
    return cast(Callable[P, T], jit(function))
