"""What people see: tables, figures, pages, progress, and bounds that stay true when they are printed."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """``mk.figures`` is loaded when it is asked for."""
    if name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.figures")
