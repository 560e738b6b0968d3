"""Standard output and standard error of commands: any text, in any encoding, and one line for an error."""

import codecs
import io
import sys
import unicodedata
from typing import Any

PLAIN = {  # replacements of characters that an encoding lacks; those for maps have width 1
    **{"×": "x", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">=", "±": "+-"},
    **{"→": ">", "←": "<", "↑": "^", "↓": "v", "•": "o", "·": ".", "▒": "%", "█": "#"},
}


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


def complain(message: str, code: int) -> int:
    """Print ``message`` as one line on standard error, and return the exit code."""
    print(f"maxatk: {' '.join(message.split())}", file=sys.stderr)
    return code
