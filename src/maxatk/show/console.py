"""The terminal, as all commands write to it."""

import codecs
import io
import unicodedata
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
