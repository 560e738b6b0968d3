"""Results for people as words, tables, figures and pages; for programs as plain data."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load ``mk.figures`` on first use."""
    if name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.figures")
