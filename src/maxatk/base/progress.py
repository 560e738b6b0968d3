"""Progress on standard error: one line that changes on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from maxatk.base import checks
from maxatk.base.tuning import TUNING

T = TypeVar("T")


@contextmanager
def reporter(
    progress: bool | Callable[[T], None], first: str, line: Callable[[T], str]
) -> Generator[Callable[[T], None] | None]:
    """A context manager that yields the function to report progress to; None if there is to be no report.

    Args:
        progress: a caller's function, or whether to write lines to standard error.
        first: the line before the first report.
        line: the line for a report.
    """
    if callable(progress):
        yield progress
        return
    checks.boolean(progress, "progress")
    if not progress:
        yield None
        return
    from rich.console import Console  # slow to load, and most callers want no lines
    from rich.status import Status as Spinner

    console = Console(stderr=True)
    if console.is_terminal:
        with Spinner(first, console=console) as spinner:

            def show(at: Any) -> None:
                spinner.update(line(at))

            yield show
    else:
        said = time.perf_counter()

        def say(at: Any) -> None:
            nonlocal said
            if time.perf_counter() - said >= TUNING.progress_every:
                print(line(at), file=sys.stderr, flush=True)
                said = time.perf_counter()

        yield say
