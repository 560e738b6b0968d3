"""The command ``maxatk attempts``."""

from maxatk.attempts.study.command import attempts

__all__ = ["attempts"]
