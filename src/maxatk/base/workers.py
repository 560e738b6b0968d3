"""The one pool of threads: plain functions mapped over plain items, in order, as long as the scope allows it."""

import contextvars
import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from maxatk.base import stopping
from maxatk.base.stopping import HEARING, Reason
from maxatk.base.tuning import TUNING

T = TypeVar("T")


class Workers:
    """Some threads. Compiled code runs side by side on them, since it holds no lock of Python's.

    Args:
        threads: how many; one per core by default.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or TUNING.cores or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """``function`` of each item, in order; the items may lie in several columns.

        The caller's thread only waits, so that it hears Ctrl-C and the clock. Where the scope ends, work that looks at
        its flag ends early, and :class:`StoppedError` is raised once no thread is at work any more.
        """
        scope = stopping.current()
        scope.check()
        futures: list[Future[T]] = [
            self._pool.submit(contextvars.copy_context().run, function, *item) for item in zip(*columns, strict=True)
        ]
        try:
            pending = set(futures)
            while pending and not any(future.done() and future.exception() for future in futures):
                _, pending = wait(pending, timeout=min(HEARING, max(scope.left, 0.001)), return_when=FIRST_EXCEPTION)
                scope.check()
            return [future.result() for future in futures]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                scope.end(Reason.INTERRUPTED)
            for future in futures:
                future.cancel()
            wait(futures)
            raise
