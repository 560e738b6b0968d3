"""Tables of numbers with intervals, as they are printed: rounded outward, in as many decimals as the width asks for."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from rich.console import Console, RenderableType
from rich.table import Table

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.base.text import short as short
from maxatk.show.fitting import FittingTable

Side: TypeAlias = Literal["left", "right"]


def plain_table(*columns: tuple[str, Side]) -> Table:
    """A table without lines, of columns with a heading and a side."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading, side in columns:
        table.add_column(heading, justify=side, overflow="fold")  # a narrow terminal cuts nothing off
    return table


def as_text(*parts: RenderableType, width: int = 110) -> str:
    """What would be printed, as plain text."""
    console = Console(width=width, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def shown(estimate: Estimate) -> tuple[str, str]:
    """An estimate and its interval, rounded outward: so it is shown in every table and on every page."""
    from maxatk.show import words

    return words.measured(estimate.measured)


def amount(x: float) -> str:
    """A number to three digits; a dash where there is none."""
    return short(x) if math.isfinite(x) else "-"


def share(x: float) -> str:
    """A share in per cent; with as many decimals as tell it from none and from all."""
    rest = min(x, 1 - x)
    if not 0 < rest < 0.01:
        return f"{100 * x:.0f} %"
    return f"{100 * x:.{1 - math.floor(math.log10(100 * rest))}f} %"


def data(estimate: Estimate) -> dict[str, Any]:
    """An estimate for JSON, which has no infinities."""
    return {
        "value": estimate.value,
        "lower": estimate.lower if math.isfinite(estimate.lower) else None,
        "upper": estimate.upper if math.isfinite(estimate.upper) else None,
        "tasks": estimate.tasks,
        "level": estimate.level,
        "how": estimate.how,
    }


def spelled(arms: Sequence[str], then: str = ", ") -> str:
    """A sequence of arms in words, repetitions counted."""
    runs = [(arm, len(list(same))) for arm, same in itertools.groupby(arms)]
    return then.join(arm if n == 1 else f"{arm} × {n}" for arm, n in runs) or "nothing"
