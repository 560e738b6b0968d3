"""BLAS, held to one thread while our own threads multiply."""

import importlib
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]


class _OneThreadEach:
    """A context manager that limits BLAS to one thread while anybody is inside.

    The first to enter sets the limit and the last to leave takes it back. Both do so in a thread that ends at once: a
    limit belongs to the thread that set it as long as that lives, and others could not take it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, cast(Any, None)

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                _in_a_thread(self._set)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _in_a_thread(self._limit.restore_original_limits)

    def _set(self) -> None:
        self._limit = blas().limit(limits=1, user_api="blas")  # pyright: ignore[reportUnknownMemberType]


one_thread_each = _OneThreadEach()


def _in_a_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@cache
def blas() -> ThreadpoolController:
    """The libraries that multiply."""
    importlib.import_module("scipy.linalg.cython_blas")  # that of compiled code must be there to be found
    return ThreadpoolController()
