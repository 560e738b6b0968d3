"""The file of a page: the packages that it needs, the chart library in it, and how it is written."""

from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from maxatk.base import archive
from maxatk.base.errors import InputError, MissingExtraError


def require() -> None:
    """Raise an error, before long work, if a package for pages is missing."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            import_module(name)
        except ImportError:
            raise MissingExtraError(f"pages need {name}, which is not installed: pip install 'maxatk[page]'") from None


def prepare() -> None:
    """Load the packages for pages before long work: it takes a second or two, and they may be missing."""
    require()
    vega()


@cache
def vega() -> str:
    """The chart library itself, in the version that Altair wrote the charts for."""
    import altair
    import vl_convert

    converter: Any = vl_convert
    return converter.javascript_bundle(vl_version=".".join(altair.SCHEMA_VERSION.split(".")[:2]))


def save(text: str, path: str | PathLike[str]) -> None:
    """Write a page atomically."""
    try:
        with archive.atomic_write(Path(path)) as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
