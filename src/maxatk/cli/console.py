"""Tables and text of commands for the terminal."""

import json
import os
from collections.abc import Callable
from typing import Any

import rich.console


class Console(rich.console.Console):
    """A console that prints names verbatim, wraps lines in a pipe if COLUMNS is set, and raises if it is closed."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
            self.width = 1000

    def on_broken_pipe(self) -> None:
        """Re-raise the error, which is being handled by the caller."""
        raise BrokenPipeError


def show(as_json: bool, data: Callable[[], Any], table: Callable[[], Any]) -> None:
    """Print one JSON object, or a table."""
    if as_json:
        print(json.dumps(data()))
    else:
        Console().print(table())
