"""Workers behind an executor: functions of one large object, which travels once, and of small items.

Whatever happens to the workers, every item is answered: those that are lost, broken or silent are left to the caller,
and since a result does not depend on where it is made, nobody can tell. A scope that ends takes back what is still
waiting.
"""

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from importlib.metadata import version
from typing import Any, NamedTuple, TypeVar

from maxatk.base import stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.stopping import HEARING, Reason, Scope
from maxatk.base.tuning import changed, tuned
from maxatk.engines.tuning import TUNING

T = TypeVar("T")

MAX_FAILURES = 3  # in a row after which workers are asked no more
CACHE_SIZE = 2  # large objects that a worker keeps


class Unknown(NamedTuple):
    """What a worker answers that does not have the object."""


class Answered(NamedTuple):
    """What a worker answers otherwise: whatever else an executor hands back, no worker has said it."""

    result: Any


def versions() -> str:
    """What must be alike for equal bits."""
    return f"maxatk {version('maxatk')} with Numba {version('numba')} and NumPy {version('numpy')}"


_known: dict[str, Any] = {}  # on a worker: objects by their digest
_lock = threading.Lock()


def answer(
    function: Callable[..., Any],
    key: str,
    packed: bytes | None,
    caller: str,
    thresholds: Mapping[str, Any],
    item: Sequence[Any],
) -> Answered | Unknown:
    """On a worker: ``function`` of the object and the item."""
    if versions() != caller:
        raise InputError(f"a worker has {versions()}, but the caller has {caller}: results might differ")
    with _lock:
        if key not in _known:
            if packed is None:
                return Unknown()
            _known[key] = pickle.loads(packed)
            while len(_known) > CACHE_SIZE:
                del _known[next(iter(_known))]
        known = _known[key]
    with tuned(**thresholds):
        return Answered(function(known, *item))


def submitted(submit: Callable[..., Any], task: Callable[..., Any], *arguments: Any) -> Future[Any] | None:
    """A task that is under way; None where the executor is broken or shut down, and takes no more of them."""
    try:
        future: Any = submit(task, *arguments)
    except (Exception, SystemExit):
        return None
    if not isinstance(future, Future):
        raise InputError(f"executor.submit must return a concurrent.futures.Future, not {shown(future)}")
    return future  # pyright: ignore[reportUnknownVariableType]


class RemotePool:
    """Workers behind an executor that know one object.

    Args:
        executor: any ``concurrent.futures.Executor``. One with a method ``put(bytes)`` is given the object once.
        known: the object.
    """

    def __init__(self, executor: Executor, known: Any) -> None:
        self._executor = executor
        try:
            data = pickle.dumps(known, protocol=5)
        except Exception as error:  # whatever a foreign object raises
            raise InputError(f"this cannot be sent to workers: {str(error).splitlines()[0]}") from None
        self._key, self._data = hashlib.sha256(data).hexdigest(), data
        sent = data if len(data) <= TUNING.inline_bytes else None
        self._sent: Any = self._put() if hasattr(executor, "put") else sent
        self._failures = 0

    def _put(self) -> Any:
        """What stands for the object in tasks, where the executor has a place for it."""
        executor: Any = self._executor
        try:
            return executor.put(self._data)
        except Exception:  # it is sent to those who ask for it
            return None

    def map(
        self,
        function: Callable[..., T],
        items: Sequence[tuple[Any, ...]],
        fallback: Callable[[list[int]], list[T]],
    ) -> list[T]:
        """``function(known, *item)`` of each item, in order; ``fallback`` answers those, by number, that were lost."""
        with stopping.ensured() as scope:
            return self._map(scope, function, items, fallback)

    def _map(
        self,
        scope: Scope,
        function: Callable[..., T],
        items: Sequence[tuple[Any, ...]],
        fallback: Callable[[list[int]], list[T]],
    ) -> list[T]:
        answers: dict[int, T] = {}
        pending: dict[Future[Any], int] = {}
        heard = time.monotonic()
        try:
            for number, item in enumerate(items):
                self._submit(pending, number, function, item, self._sent)
            while pending:
                done, _ = wait(pending, timeout=min(HEARING, max(scope.left, 0.001)), return_when=FIRST_COMPLETED)
                scope.check()
                for future in done:
                    heard, number = time.monotonic(), pending.pop(future)
                    answer = self._result(future)
                    if isinstance(answer, Unknown):
                        self._submit(pending, number, function, items[number], self._data)
                    elif isinstance(answer, Answered):
                        answers[number], self._failures = answer.result, 0
                    else:
                        self._failures += 1
                if time.monotonic() - heard > TUNING.worker_timeout or self._failures >= MAX_FAILURES:
                    self._failures = MAX_FAILURES
                    break
        except KeyboardInterrupt:
            scope.end(Reason.INTERRUPTED)
            raise
        finally:
            for future in pending:
                future.cancel()
        left = [number for number in range(len(items)) if number not in answers]
        answers.update(zip(left, fallback(left) if left else [], strict=True))
        return [answers[number] for number in range(len(items))]

    def _submit(self, pending: dict[Future[Any], int], number: int, function: Any, item: Any, packed: Any) -> None:
        if self._failures >= MAX_FAILURES:
            return
        future = submitted(self._executor.submit, answer, function, self._key, packed, versions(), changed(), item)
        if future is None:
            self._failures = MAX_FAILURES
        else:
            pending[future] = number

    def _result(self, future: Future[Any]) -> Any:
        """What a task has come to; None where nobody says."""
        try:
            return future.result()
        except InputError:
            raise
        except BrokenExecutor:
            self._failures = MAX_FAILURES
            return None
        except (Exception, SystemExit):  # a lost worker has as many names as there are engines
            return None  # what is wrong in itself fails here, too
