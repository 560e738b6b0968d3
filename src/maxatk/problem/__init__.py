"""Problems: the frozen :class:`maxatk.MDP`, the checks that all of them pass, readers, files and named instances."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load ``mk.instances`` on first use."""
    if name != "instances":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.instances")
