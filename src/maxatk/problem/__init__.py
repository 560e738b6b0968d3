"""What a problem is: the one gate, the frozen :class:`maxatk.MDP`, ways in and out, named ones, and how to find one."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """``mk.instances`` is loaded when it is asked for."""
    if name != "instances":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.instances")
