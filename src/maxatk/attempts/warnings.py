"""Warnings about numbers that may be misread."""

import inspect
import warnings


class AttemptsWarning(UserWarning):
    """The numbers are right, but they may be misread."""


def warn(message: str) -> None:
    """Warn at the line outside of the library from which it was called."""
    frame, depth = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("maxatk."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, AttemptsWarning, stacklevel=depth)
