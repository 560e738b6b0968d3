"""Tables that fit narrow terminals."""

from typing import Literal, TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Side: TypeAlias = Literal["left", "right"]
NARROW = 70  # a terminal of fewer columns; in wider ones, cells of a table that is too wide are wrapped


class FittingTable(Table):
    """A table that lists its cells below each other if the terminal is too narrow."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        natural = Measurement.get(console, options.update_width(10_000), self).maximum
        if options.max_width >= min(natural, NARROW):
            yield from super().__rich_console__(console, options)
            return
        headings = [str(column.header) for column in self.columns]
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = list(map(str, row))
            yield Text(cells[0] or headings[0], style="bold")
            told = [
                f"{name} {cell}".strip() for name, cell in zip(headings[1:], cells[1:], strict=True) if cell.strip()
            ]
            yield Padding(Text(", ".join(told).replace("., ", ". ")), (0, 0, 0, 2))  # some are sentences


def plain_table(*columns: tuple[str, Side]) -> Table:
    """A table without lines; columns have a heading and an alignment."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading, side in columns:
        table.add_column(heading, justify=side, overflow="fold")  # a narrow terminal truncates nothing
    return table


def as_text(*parts: RenderableType, width: int = 110) -> str:
    """The printed output as plain text."""
    # In a notebook rich would show what is captured, too.
    console = Console(
        width=width, color_system=None, highlight=False, markup=False, emoji=False, force_jupyter=False
    )  # fmt: skip
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
