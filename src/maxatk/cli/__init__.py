"""The command line: arguments in, the library's answer out. One file per command, loaded when it is asked for."""

from maxatk.cli.main import commands, main

__all__ = ["commands", "main"]
