"""The command ``maxatk instances``: the named problems."""

import click

import maxatk as mk
from maxatk.cli.console import show
from maxatk.cli.options import examples, json_option
from maxatk.report.tables.instances import instances as table


@click.command(epilog=examples("instances", "solve footnote --set horizon=3"))
@json_option
def instances(as_json: bool) -> int:
    """List the named problems and their arguments, for --set."""
    described = mk.instances.described()
    show(as_json, lambda: described, lambda: table(described))
    return 0
