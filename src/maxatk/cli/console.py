"""The terminal, as all commands write to it."""

import codecs
import io
import json
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import rich.console

PLAIN = {  # what stands for a character where an encoding has no such one; on maps each takes one place
    **{"×": "x", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">="},
    **{"→": ">", "←": "<", "↑": "^", "↓": "v", "•": "o", "·": ".", "▒": "%", "█": "#"},
}


class Console(rich.console.Console):
    """A console that takes names as they are, breaks no lines in a pipe and leaves a closed one to its caller."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)
        if not self.is_terminal:
            self.width = 1000

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: let it pass."""
        raise BrokenPipeError


def write_plainly(stream: Any) -> None:
    """Let a stream write any text: plain characters stand for those that its encoding does not have."""
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
    """Print one JSON object, or what people read."""
    if as_json:
        print(json.dumps(data()))
    else:
        Console().print(table())


def complain(message: str, code: int) -> int:
    """Say what went wrong in one line on standard error, and return the exit code."""
    print(f"maxatk: {' '.join(message.split())}", file=sys.stderr)
    return code
