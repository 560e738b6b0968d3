"""Values as files write them: numbers in cells of text, and JSON."""

import json
import re
from typing import Any

from maxatk.base import checks
from maxatk.base.errors import InputError

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}:]')  # strings, and where objects and the values of names begin


def decimal(text: str) -> float | None:
    """The number that a text writes in plain digits; None for other text, including ``1_0``, which Python accepts."""
    return float(text) if DECIMAL.fullmatch(text) else None


def cell(text: Any) -> Any:
    """A number, true or false from a cell; None for an empty cell; other text unchanged, which the gate refuses."""
    if not isinstance(text, str):
        return text
    if not text:
        return None
    number = decimal(text)
    return {"true": 1.0, "false": 0.0}.get(text.lower(), text) if number is None else number


def parsed(text: str, place: str) -> Any:
    """Parsed JSON; errors are one line, which begins with ``place``."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except _TwiceError as error:
        line = place or f"line {_line_of_second(text)}: "
        raise InputError(f"{line}two entries of one JSON object are named {checks.shown(error.args[0])}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise InputError(f"{place}not JSON: {reason}") from None


class _TwiceError(Exception):
    """A JSON object has two entries of one name."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a JSON object without duplicate names, of which Python would keep the last."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for number, name in enumerate(names) if name in names[:number]))
    return entries


def _line_of_second(text: str) -> int:
    """The line of the first duplicate name in an object."""
    named: list[set[str]] = []  # names in the objects that are open
    word = ""
    for token in JSON_TOKEN.finditer(text):
        mark = token[0]
        if mark == "{":
            named.append(set())
        elif mark == "}":
            named.pop()
        elif mark != ":":
            word = json.loads(mark)
        elif word in named[-1]:
            return text.count("\n", 0, token.start()) + 1
        else:
            named[-1].add(word)
    raise AssertionError("no name occurs twice")
