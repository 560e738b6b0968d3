"""Progress on a terminal: one line that changes; nothing where there is no terminal."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.status import Status as Spinner

T = TypeVar("T")


@contextmanager
def reporter(
    progress: bool | Callable[[T], None], first: str, line: Callable[[T], str]
) -> Generator[Callable[[T], None] | None]:
    """Whom to tell where a long run stands: a caller's function, a line on standard error, or nobody.

    Args:
        progress: the function, or whether there shall be a line.
        first: what the line says before there is news.
        line: what it says of the news.
    """
    if callable(progress):
        yield progress
    elif not progress:
        yield None
    else:
        with Spinner(first, console=Console(stderr=True)) as spinner:

            def show(at: Any) -> None:
                spinner.update(line(at))

            yield show
