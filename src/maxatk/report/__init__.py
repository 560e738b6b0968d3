"""What is shown of results: words, tables, figures and pages for people, plain data for programs."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """``mk.figures`` is loaded when it is asked for."""
    if name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.figures")
