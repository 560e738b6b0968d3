"""The command line: it passes arguments to the library and prints results. A file per command, loaded on demand."""

from maxatk.cli.main import commands, main

__all__ = ["commands", "main"]
