"""Output of commands to the terminal."""

import codecs
import io
import json
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import rich.console

PLAIN = {  # replacements of characters that an encoding lacks; those for maps have width 1
    **{"×": "x", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">="},
    **{"→": ">", "←": "<", "↑": "^", "↓": "v", "•": "o", "·": ".", "▒": "%", "█": "#"},
}


class Console(rich.console.Console):
    """A console that prints names verbatim, does not wrap lines in a pipe, and raises if a pipe is closed."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)
        if not self.is_terminal:
            self.width = 1000

    def on_broken_pipe(self) -> None:
        """Re-raise the error, which is being handled by the caller."""
        raise BrokenPipeError


def write_plainly(stream: Any) -> None:
    """Let a stream write any text: plain characters replace those that its encoding lacks."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="maxatk.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(c) or _letter(c) for c in lacking), error.end


def _letter(character: str) -> str:
    """A letter without its accents, or a question mark."""
    return unicodedata.normalize("NFD", character).encode("ascii", "ignore").decode() or "?"


codecs.register_error("maxatk.plain", _plain)


def show(as_json: bool, data: Callable[[], Any], table: Callable[[], Any]) -> None:
    """Print one JSON object, or a table."""
    if as_json:
        print(json.dumps(data()))
    else:
        Console().print(table())


def complain(message: str, code: int) -> int:
    """Print ``message`` as one line on standard error, and return the exit code."""
    print(f"maxatk: {' '.join(message.split())}", file=sys.stderr)
    return code
