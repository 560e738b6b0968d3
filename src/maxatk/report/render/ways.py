"""Ways of showing an object: one function each, which dispatches on the type of the object.

The renderers are registered in the files beside this one: those of findings, of results from logs of attempts, of
problems, and of all other objects. A file is imported when such an object is first shown: so a log is shown without
loading the planner, which is slow.
"""

from collections.abc import Sequence
from functools import singledispatch
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from maxatk.report.cards import parts

if TYPE_CHECKING:
    from rich.console import RenderableType

RENDERERS = {
    "base": "findings",
    "attempts": "attempts",
    "problem": "problems",
}  # the file for types of a folder; "plans" for all others


def load(kind: type) -> None:
    """Import the file that registers the renderers of a type."""
    own = (base.__module__ for base in kind.__mro__ if base.__module__.startswith("maxatk."))  # or of a base
    folder = next(own, "maxatk.base").split(".")[1]
    import_module(f"maxatk.report.render.{RENDERERS.get(folder, 'plans')}")


@singledispatch
def text(shown: object) -> str:
    """The text that ``print`` shows; by default the words."""
    return words(shown)


@singledispatch
def words(shown: object) -> str:
    """A finding in words, or the verdict on an object."""
    raise _unknown(shown)


@singledispatch
def sentences(shown: object) -> Sequence[str]:
    """A finding as several sentences."""
    raise _unknown(shown)


@singledispatch
def table(shown: object, *options: Any) -> "RenderableType":
    """An object as a table for the terminal."""
    raise _unknown(shown)


@singledispatch
def data(shown: object) -> dict[str, Any]:
    """An object as plain data, for JSON."""
    raise _unknown(shown)


@singledispatch
def figure(shown: object) -> Any:
    """An object as a Matplotlib figure."""
    raise _unknown(shown)


@singledispatch
def card(shown: object) -> str:
    """An object as HTML for a notebook: a verdict, a few numbers, a small table or map; by default its text."""
    return parts.card(type(shown).__name__, parts.plain(text(shown)))


@singledispatch
def page(shown: object, path: str | PathLike[str], **options: Any) -> None:
    """Write an object to ``path`` as a web page of one file."""
    raise _unknown(shown)


def _unknown(shown: object) -> TypeError:
    return TypeError(f"nothing in maxatk.report shows a {type(shown).__name__} in this way")
