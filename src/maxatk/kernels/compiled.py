"""The one place that speaks to the compiler."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba  # pyright: ignore[reportMissingTypeStubs]

P = ParamSpec("P")
T = TypeVar("T")

_loops: list[Any] = []  # all that may be compiled


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` as machine code: compiled on first use, kept on disk, running without Python's lock.

    Nothing is fused or reordered: kernels that compute the same get the same bits, on every device. A policy that acts
    on the slices of knots must break ties as the bounds did that promise what it earns.
    """
    jit: Any = numba.njit(cache=True, nogil=True, error_model="numpy")  # pyright: ignore
    _loops.append(jit(function))
    _distrust_old_files(_loops[-1])
    return cast(Callable[P, T], _loops[-1])


def _distrust_old_files(loop: Any) -> None:
    """Files that an older version left behind may name modules that are gone: then nothing is kept of the loop."""
    kept_file = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    load = getattr(kept_file, "_load_index", None)
    if load is None:  # nothing is compiled, or the compiler keeps its files otherwise
        return

    def load_index() -> Any:
        try:
            return load()
        except (ImportError, AttributeError):
            return {}

    kept_file._load_index = load_index  # pyright: ignore[reportOptionalMemberAccess]


def kept() -> tuple[Path | None, int]:
    """Where compiled loops are kept on disk, if they are, and how many are there."""
    path = getattr(getattr(_loops[0], "_cache", None), "cache_path", None)
    if path is None:
        return None, 0
    folder = Path(path)
    return folder, sum(1 for _ in folder.glob("*.nbc")) if folder.is_dir() else 0


@cache
def at_work(what: str) -> str:
    """What is being done, and on the first run why nothing is heard of it at first."""
    return what if kept()[1] else f"{what}: compiling for some seconds, on this first run alone"
