"""Named problems, for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from maxatk.report.tables.fitting import FittingTable


def instances(described: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Named problems, as :func:`maxatk.problem.instances.described` describes them."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "", "arguments"):
        table.add_column(heading, no_wrap=heading == "name")
    for one in described:
        table.add_row(one["name"], one["summary"], ", ".join(f"{name}={x}" for name, x in one["arguments"].items()))
    return table
