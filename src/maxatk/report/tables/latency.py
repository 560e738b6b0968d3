"""What latency costs, for the terminal."""

from rich.table import Table

from maxatk.attempts.study.latency import Latency
from maxatk.base.text import short
from maxatk.report.tables.fitting import as_text, plain_table
from maxatk.report.words import latency as words
from maxatk.report.words.attempts import measured


def latency(result: Latency) -> Table:
    """Score, cost and rounds by width, and the difference from one at a time."""
    net = f"score − {short(result.price)} × cost, less one at a time"
    table = plain_table(
        ("at a time", "right"), ("score", "right"), ("interval", "left"), ("cost", "right"), ("interval", "left"),
        ("rounds", "right"), ("interval", "left"), (net, "right"), ("interval", "left"),
    )  # fmt: skip
    for row in result.rows:
        numbers = [measured(one.measured) for one in (row.score, row.cost, row.rounds)]
        gain = ("", "") if row.width == 1 else measured(row.gain.measured)
        table.add_row(str(row.width), *(cell for number in (*numbers, gain) for cell in number))
    return table


def latency_text(result: Latency) -> str:
    """The same, with the verdict."""
    return as_text(latency(result), "", words.latency(result))
