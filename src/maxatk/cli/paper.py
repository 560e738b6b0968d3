"""The command ``maxatk paper``: the claims of the paper, recomputed."""

from pathlib import Path

import click

from maxatk.cli.options import examples
from maxatk.paper import reproduce


@click.command(epilog=examples("paper --quick", "paper --out results --only theorem1"))
@click.option(
    "--quick",
    is_flag=True,
    help="Smaller versions: about a minute on two idle cores, longer the first time, when loops are compiled.",
)
@click.option(
    "--out", type=Path, default=Path("maxatk-paper"), show_default=True, metavar="DIR", help="Where results go."
)
@click.option("--only", multiple=True, metavar="CLAIM", help="One claim; repeatable.")
def paper(quick: bool, out: Path, only: tuple[str, ...]) -> int:
    """Recompute the claims of the paper, one by one.

    The exit code is 1 if a number differs from its expected value.
    """
    report = reproduce(out, quick=quick, only=only, progress=True)
    print(report)
    return 1 if report.failed else 0
