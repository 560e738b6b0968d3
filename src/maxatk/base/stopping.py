"""When to stop: the one owner of time limits and of Ctrl-C.

A *scope* covers a call or a command with all that it does. Whatever takes long asks the scope that it runs in: Python
between two pieces of work with :func:`check`, compiled sweeps between two states, by the flag that :func:`run` hands
them. The scope ends when its time is up, when a scope around it ends, or on Ctrl-C, which it takes over while it is
open: the first one is a request to stop, so that what is known can be handed back; a second one interrupts as usual.

Nothing else reads the clock to stop. :class:`StoppedError` is caught by those alone who have something to give back.
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

HEARING = 0.05  # seconds between two looks at the clock while others are at work


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
    """What may still be done: asked by those who work, told by the clock and by Ctrl-C.

    Args:
        seconds: how long the scope lasts; None where only Ctrl-C or a scope around it ends it.
        outer: the scope around it.
        patient: whether only Ctrl-C ends it, whatever time there is around it.
    """

    def __init__(self, seconds: float | None, outer: "Scope | None", patient: bool = False) -> None:
        self._outer, self._patient = outer, patient
        self._deadline = math.inf if seconds is None else time.perf_counter() + seconds
        if outer is not None and not patient:
            self._deadline = min(self._deadline, outer._deadline)
        self._reason: Reason | None = None
        self.flag = np.zeros(1, np.int8)  # not 0 once the scope has ended: what compiled sweeps look at

    @property
    def reason(self) -> Reason | None:
        """Why the scope has ended; None while it has not."""
        if self._reason is None:
            around = None if self._outer is None else self._outer._reason
            if around is Reason.INTERRUPTED or (around is not None and not self._patient):
                self.end(around)
            elif time.perf_counter() > self._deadline:
                self.end(Reason.TIME_LIMIT)
        return self._reason

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self._deadline - time.perf_counter()

    @property
    def timed(self) -> bool:
        """Whether time can run out."""
        return self._deadline < math.inf

    def end(self, reason: Reason) -> None:
        """End the scope, and on Ctrl-C those around it: it was meant for the whole command."""
        self._reason = self._reason or reason
        self.flag[0] = 1
        if reason is Reason.INTERRUPTED and self._outer is not None:
            self._outer.end(reason)

    def check(self) -> None:
        """Go on, or raise :class:`StoppedError`."""
        reason = self.reason
        if reason is not None:
            raise StoppedError(reason)


_ENDLESS = Scope(None, None)
_current: ContextVar[Scope] = ContextVar("maxatk_scope", default=_ENDLESS)


def current() -> Scope:
    """The scope that this code runs in; one that never ends where there is none."""
    return _current.get()


def check() -> None:
    """Go on, or raise :class:`StoppedError`, as the present scope says."""
    _current.get().check()


def run(kernel: Callable[..., T], *arguments: Any) -> T:
    """What a compiled sweep returns; its last argument is the flag of the present scope.

    On the main thread of a scope it runs aside, since only that thread hears Ctrl-C, and only between two pieces of
    Python.
    """
    scope = _current.get()
    scope.check()
    if scope is _ENDLESS or threading.current_thread() is not threading.main_thread():
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
def scope(seconds: float | None = None, *, patient: bool = False) -> Generator[Scope]:
    """A scope for all that runs inside: it lasts so many seconds, or as long as the one around it.

    A ``patient`` one is ended by Ctrl-C alone: for what must be known before anything can be given back. Where nobody
    inside had anything to give back after Ctrl-C, the outermost scope interrupts its caller.
    """
    outer = _current.get()
    new = Scope(seconds, None if outer is _ENDLESS else outer, patient)
    token = _current.set(new)
    try:
        with _listening(new):
            yield new
            if patient:  # nothing can be given back yet, so that somebody must hear of it
                new.check()
    except StoppedError as error:
        if error.reason is Reason.INTERRUPTED and outer is _ENDLESS:
            raise KeyboardInterrupt from None
        raise
    finally:
        _current.reset(token)


@contextmanager
def half() -> Generator[Scope]:
    """A scope that leaves half of the time for what comes after it, where time can run out."""
    outer = _current.get()
    with scope(outer.left / 2 if outer.timed else None) as new:
        yield new


@contextmanager
def _listening(new: Scope) -> Generator[None]:
    """While it is open Ctrl-C ends the scope, if Ctrl-C would have interrupted the program, and this is where it is
    heard: signals reach the main thread alone."""
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
    """Takes Ctrl-C as a request to stop; the second as what it usually means."""

    def __init__(self, told: Scope) -> None:
        self._told = told

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._told.reason is Reason.INTERRUPTED:
            signal.default_int_handler(number, frame)
        self._told.end(Reason.INTERRUPTED)
