"""The file of a page: the packages that it needs, the chart library in it, and how it is written."""

import shlex
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
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


def made_by(call: str) -> str:
    """The command that is running, or else the call in Python that does the same."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    own = name in ("maxatk", "maxatk.exe") or Path(*Path(sys.argv[0]).parts[-2:]) == Path("maxatk/__main__.py")
    return shlex.join(["maxatk", *sys.argv[1:]]) if own else call


def home() -> str:
    """The address of the documentation, as the package says; empty if it has none."""
    try:
        urls = metadata("maxatk").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", named.get("Repository", ""))


def save(text: str, path: str | PathLike[str]) -> None:
    """Write a page atomically."""
    try:
        with archive.atomic_write(Path(path)) as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
