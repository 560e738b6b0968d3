"""Tables that fit narrow terminals."""

from typing import Literal, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

Side: TypeAlias = Literal["left", "right"]
NARROW = 70  # a terminal of fewer columns; in wider ones, cells of a table that is too wide are wrapped or cut


class FittingTable(Table):
    """A table that wraps cells at spaces, and lists its cells below each other if the terminal is too narrow for that.

    No word is broken. Columns that are not to be wrapped are cut instead.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        natural = Measurement.get(console, options.update_width(10_000), self).maximum
        cut = any(column.no_wrap for column in self.columns)
        if options.max_width >= natural or (cut and options.max_width >= NARROW):
            yield from super().__rich_console__(console, options)
            return
        widths = _widths([_words(column) for column in self.columns], options.max_width - 2 * len(self.columns))
        if widths is not None and options.max_width >= NARROW:
            try:
                for column, width in zip(self.columns, widths, strict=True):
                    column.width = width
                yield from super().__rich_console__(console, options)
            finally:
                for column in self.columns:
                    column.width = None  # another terminal may be wider
            return
        headings = [str(column.header) for column in self.columns]
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = list(map(str, row))
            yield Text(cells[0] or headings[0], style="bold")
            told = [
                f"{name} {cell}".strip() for name, cell in zip(headings[1:], cells[1:], strict=True) if cell.strip()
            ]
            yield Padding(Text(", ".join(told).replace("., ", ". ")), (0, 0, 0, 2))  # some are sentences


def _words(column: Column) -> list[list[int]]:
    """The lengths of the words of all cells of a column, its heading among them."""
    return [[cell_len(word) for word in str(cell).split()] or [0] for cell in (column.header, *column.cells)]


def _widths(columns: list[list[list[int]]], room: int) -> list[int] | None:
    """Widths in which no word is broken, taken from the widest columns first; None if there are none in that room."""
    least = [max(max(cell) for cell in cells) for cells in columns]
    widths = [max(sum(cell) + len(cell) - 1 for cell in cells) for cells in columns]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((place for place in range(len(widths)) if widths[place] > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


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
