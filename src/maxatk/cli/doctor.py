"""The command ``maxatk doctor``: what is installed, and whether it is in order."""

import click

from maxatk.cli.options import examples
from maxatk.report import versions


@click.command(epilog=examples("doctor"))
def doctor() -> int:
    """Show versions, extras, the cache, cores and GPU, for bug reports.

    The exit code is 1 if something is out of order: then a line says what to do.
    """
    lines, troubles = versions.examined()
    for line in (*lines, *(f"trouble: {one}" for one in troubles)):
        click.echo(line)
    return 1 if troubles else 0
