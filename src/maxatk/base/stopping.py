"""When to stop: the one owner of time limits and of Ctrl-C.

A *scope* covers a call or a command with all that it does. Long computations poll the scope that they run in: Python
calls :func:`check` between two pieces of work, compiled sweeps read the flag that :func:`run` passes to them between
two states. The scope ends at its deadline, when an enclosing scope ends, or on Ctrl-C, which it handles while it is
open: the first Ctrl-C is a request to stop and return a partial result; a second one interrupts as usual.

No other code reads the clock to stop. Only code that can return a partial result catches :class:`StoppedError`.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import FrameType
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

HEARING = 0.05  # seconds between two polls while a kernel runs on another thread


class Reason(StrEnum):
    """Why work was stopped."""

    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"


class StoppedError(Exception):
    """Raised inside a scope that has ended."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"stopped: {reason}")
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return StoppedError, (self.reason,)


class Scope:
    """A deadline and a stop flag: polled by computations, set by the clock and by Ctrl-C.

    Args:
        seconds: the timeout; None if only Ctrl-C or the enclosing scope ends this one.
        outer: the enclosing scope.
        patient: whether only Ctrl-C ends it, regardless of the deadline of the enclosing scope.
    """

    def __init__(self, seconds: float | None, outer: "Scope | None", patient: bool = False) -> None:
        self._outer, self._patient = outer, patient
        self._deadline = math.inf if seconds is None else time.perf_counter() + seconds
        if outer is not None and not patient:
            self._deadline = min(self._deadline, outer._deadline)
        self._reason: Reason | None = None
        self.flag = np.zeros(1, np.int8)  # nonzero once the scope has ended: polled by compiled sweeps

    @property
    def reason(self) -> Reason | None:
        """Why the scope has ended; None while it is open."""
        if self._reason is None:
            around = None if self._outer is None else self._outer._reason
            if around is Reason.INTERRUPTED or (around is not None and not self._patient):
                self.end(around)
            elif time.perf_counter() > self._deadline:
                self.end(Reason.TIME_LIMIT)
        return self._reason

    @property
    def left(self) -> float:
        """The seconds until the deadline."""
        return self._deadline - time.perf_counter()

    @property
    def timed(self) -> bool:
        """Whether there is a deadline."""
        return self._deadline < math.inf

    def end(self, reason: Reason) -> None:
        """End the scope; on Ctrl-C end all enclosing ones, too, since it is meant for the whole command."""
        self._reason = self._reason or reason
        self.flag[0] = 1
        if reason is Reason.INTERRUPTED and self._outer is not None:
            self._outer.end(reason)

    def check(self) -> None:
        """Raise :class:`StoppedError` if the scope has ended."""
        reason = self.reason
        if reason is not None:
            raise StoppedError(reason)


_current: ContextVar[Scope | None] = ContextVar("maxatk_scope", default=None)
_brief: ContextVar[bool] = ContextVar("maxatk_brief", default=False)


def current() -> Scope:
    """The scope that this code runs in; outside of all scopes a new one, so that nobody can end one for others."""
    return _current.get() or Scope(None, None)


def check() -> None:
    """Raise :class:`StoppedError` if the current scope has ended."""
    scope = _current.get()
    if scope is not None:
        scope.check()


def run(kernel: Callable[..., T], *arguments: Any) -> T:
    """The result of a compiled kernel, whose last argument is the flag of the current scope.

    A call from the main thread runs the kernel on another thread: only the main thread receives Ctrl-C, and only
    between two bytecodes. Inside :func:`brief` it does not.
    """
    with ensured() as scope:
        scope.check()
        if _brief.get() or threading.current_thread() is not threading.main_thread():
            result = kernel(*arguments, scope.flag)
        else:
            result = _aside(scope, kernel, *arguments)
        scope.check()
        return result


def _aside(scope: Scope, kernel: Callable[..., T], *arguments: Any) -> T:
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(kernel(*arguments, scope.flag))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while not future.done():
            thread.join(min(HEARING, max(scope.left, 0.001)))
            scope.check()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            scope.end(Reason.INTERRUPTED)
        thread.join()
        raise
    return future.result()


@contextmanager
def brief(is_brief: bool = True) -> Generator[None]:
    """Kernels that are run inside take some milliseconds at most, if ``is_brief``: they stay on the present thread."""
    token = _brief.set(is_brief)
    try:
        yield
    finally:
        _brief.reset(token)


@contextmanager
def scope(seconds: float | None = None, *, patient: bool = False) -> Generator[Scope]:
    """A scope for all that runs inside, with a timeout of ``seconds`` and at most the enclosing deadline.

    A ``patient`` scope is ended by Ctrl-C alone: it is for work without which there is no partial result. If no code
    inside returns a partial result after Ctrl-C, the outermost scope raises ``KeyboardInterrupt``.
    """
    outer = _current.get()
    new = Scope(seconds, outer, patient)
    token = _current.set(new)
    try:
        with _listening(new):
            yield new
            if patient:  # there is no partial result yet, so the caller must know
                new.check()
    except StoppedError as error:
        if error.reason is Reason.INTERRUPTED and outer is None:
            raise KeyboardInterrupt from None
        raise
    finally:
        _current.reset(token)


@contextmanager
def ensured() -> Generator[Scope]:
    """The current scope; outside of all scopes one of its own, which ends with what runs inside."""
    present = _current.get()
    if present is not None:
        yield present
        return
    with scope() as new:
        yield new


@contextmanager
def half() -> Generator[Scope]:
    """A scope that ends halfway to the deadline, if there is one, and leaves the rest for what follows."""
    outer = current()
    with scope(outer.left / 2 if outer.timed else None) as new:
        yield new


@contextmanager
def _listening(new: Scope) -> Generator[None]:
    """Let Ctrl-C end the scope, if it would have interrupted the program and this is the main thread, which alone
    receives signals."""
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if usual is not signal.default_int_handler and not isinstance(usual, _Listener):
        yield
        return
    listener = _Listener(new)
    signal.signal(signal.SIGINT, listener)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


class _Listener:
    """A signal handler: the first Ctrl-C ends the scope, the second interrupts as usual."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._scope.reason is Reason.INTERRUPTED:
            signal.default_int_handler(number, frame)
        self._scope.end(Reason.INTERRUPTED)
