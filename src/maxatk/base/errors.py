"""What can go wrong, in few kinds. Every message is one line that names the offending entry."""


class MaxAtKError(Exception):
    """The base of every error that maxatk raises on purpose."""


class InputError(MaxAtKError, ValueError):
    """The input is at fault: a malformed problem, argument, file or order of calls."""


class TooLargeError(MaxAtKError):
    """The problem is well formed but beyond what this solver or this machine can hold."""


class StorageError(MaxAtKError, OSError):
    """A database cannot be read or written now: nothing was changed, and the same call can be made again."""


class MissingExtraError(MaxAtKError, ImportError):
    """An optional dependency is needed that is not installed."""
