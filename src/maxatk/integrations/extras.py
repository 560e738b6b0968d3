"""What an integration needs to be installed, and in which version."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from maxatk.base.errors import MissingExtraError


def required(module: str, package: str, extra: str) -> Any:
    """A module of another package; if that is not installed, an error names the extra that has it."""
    try:
        return import_module(module)
    except ImportError as error:
        if _version(package):
            raise differing(package, f"{module} cannot be imported: {' '.join(str(error).split())}") from None
        raise MissingExtraError(f"{package} is not installed: pip install 'maxatk[{extra}]'") from None


def member(owner: Any, name: str, package: str) -> Any:
    """A function or class of another package; if it has none of this name, an error says that its version differs."""
    if not hasattr(owner, name):
        raise differing(package, f"{getattr(owner, '__name__', owner)} has no {name}")
    return getattr(owner, name)


TESTED = {"inspect-ai": "0.3.285", "trl": "1.16.0", "verl": "0.9.1"}


def differing(package: str, what: str) -> MissingExtraError:
    """The error for a version whose parts are not those of the version that was tested."""
    return MissingExtraError(f"{package} {_version(package)}: {what}; this was written for {package} {TESTED[package]}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
