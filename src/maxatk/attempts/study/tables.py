"""Tables of numbers with intervals: rounded outward, with as many decimals as the width of the interval needs."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from rich.console import Console, RenderableType
from rich.table import Table

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.base.text import short as short
from maxatk.report.fitting import FittingTable

Side: TypeAlias = Literal["left", "right"]


def plain_table(*columns: tuple[str, Side]) -> Table:
    """A table without lines; columns have a heading and an alignment."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading, side in columns:
        table.add_column(heading, justify=side, overflow="fold")  # a narrow terminal truncates nothing
    return table


def as_text(*parts: RenderableType, width: int = 110) -> str:
    """The printed output as plain text."""
    console = Console(width=width, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def shown(estimate: Estimate) -> tuple[str, str]:
    """An estimate and its interval, rounded outward, as every table and page shows them."""
    from maxatk.report import words

    return words.measured(estimate.measured)


def amount(x: float) -> str:
    """A number to three digits; a dash for an infinite one."""
    return short(x) if math.isfinite(x) else "-"


def share(x: float) -> str:
    """A share in per cent, with as many decimals as distinguish it from 0 and from 100."""
    rest = min(x, 1 - x)
    if not 0 < rest < 0.01:
        return f"{100 * x:.0f} %"
    return f"{100 * x:.{1 - math.floor(math.log10(100 * rest))}f} %"


def data(estimate: Estimate) -> dict[str, Any]:
    """An estimate for JSON, with None for infinite ends."""
    return {
        "value": estimate.value,
        "lower": estimate.lower if math.isfinite(estimate.lower) else None,
        "upper": estimate.upper if math.isfinite(estimate.upper) else None,
        "tasks": estimate.tasks,
        "level": estimate.level,
        "method": estimate.method,
    }


def spelled(arms: Sequence[str], then: str = ", ") -> str:
    """A sequence of arms in words, with the numbers of repetitions."""
    runs = [(arm, len(list(same))) for arm, same in itertools.groupby(arms)]
    return then.join(arm if n == 1 else f"{arm} × {n}" for arm, n in runs) or "nothing"
