"""The one pool of threads: plain functions mapped over plain items, in order, as long as the scope allows it."""

import contextvars
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from maxatk.base import stopping
from maxatk.base.stopping import HEARING, Reason, Scope
from maxatk.base.tuning import TUNING

T = TypeVar("T")

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process, since a fork has no threads, and number of threads
_making = threading.Lock()
_here = threading.local()  # ``working`` on the threads of a pool


class Workers:
    """Some threads. Compiled code runs side by side on them, since it holds no lock of Python's.

    Args:
        threads: how many; one per core by default.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or TUNING.cores or os.cpu_count() or 1

    def map(self, function: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """``function`` of each item, in order; the items may lie in several columns.

        The caller's thread only waits, so that it hears Ctrl-C and the clock. Where the scope ends, work that looks at
        its flag ends early, and :class:`StoppedError` is raised once no thread is at work any more; outside of all
        scopes there is one for this call, and Ctrl-C ends nothing else. On a thread of a pool items are done one by
        one: a pool that waited for itself would wait for ever.
        """
        with stopping.ensured() as scope:
            return self._map(scope, function, list(zip(*columns, strict=True)))

    def _map(self, scope: Scope, function: Callable[..., T], items: list[tuple[Any, ...]]) -> list[T]:
        scope.check()
        if getattr(_here, "working", False):
            return [function(*item) for item in items]
        pool = self._pool()
        futures: list[Future[T]] = [pool.submit(contextvars.copy_context().run, function, *item) for item in items]
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

    def _pool(self) -> ThreadPoolExecutor:
        """The threads that all callers share which ask for so many; they are made as they are needed, and then kept."""
        with _making:
            key = os.getpid(), self.threads
            if key not in _pools:
                _pools[key] = ThreadPoolExecutor(self.threads, "maxatk", setattr, (_here, "working", True))
            return _pools[key]
