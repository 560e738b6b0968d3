"""How objects of the library are shown: the one door from the folders below ``report`` to the renderers in it.

An object declares that it can be shown, but not how. The renderers are imported when an object is shown for the first
time, so that code that only computes needs neither them nor rich. ``report/render`` registers the function for each.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for annotations: rich takes a while to load
    from rich.console import RenderableType as RenderableType
    from rich.table import Table as Table


class Displayed:
    """An object that ``print`` shows in words or as a table, and notebooks as a card.

    >>> import maxatk as mk
    >>> print(mk.attempts.PassRange(k=16, attempts=8, lower=0.5625, upper=0.75, tasks=300, level=0.95))
    pass@16 lies between 0.562 and 0.750 (95 %, 300 tasks with 8 attempts each)
    """

    def __str__(self) -> str:
        return _ways(self).text(self)

    def _repr_html_(self) -> str:
        return _ways(self).card(self)


def words(shown: object) -> str:
    """A finding in words, or the verdict on an object."""
    return _ways(shown).words(shown)


def sentences(shown: object) -> Sequence[str]:
    """A finding as several sentences."""
    return _ways(shown).sentences(shown)


def table(shown: object, *options: Any) -> Any:
    """An object as a table for the terminal."""
    return _ways(shown).table(shown, *options)


def data(shown: object) -> dict[str, Any]:
    """An object as plain data, for JSON."""
    return _ways(shown).data(shown)


def figure(shown: object) -> Any:
    """An object as a Matplotlib figure."""
    return _ways(shown).figure(shown)


def page(shown: object, path: str | PathLike[str], **options: Any) -> None:
    """Write an object to ``path`` as a web page of one file."""
    _ways(shown).page(shown, path, **options)


def _ways(shown: object) -> Any:
    """The module of renderers, with those for ``shown`` loaded: the only import of ``report`` from below it."""
    from maxatk.report.render import ways

    ways.load(type(shown))
    return ways
