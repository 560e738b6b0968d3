"""What judges of attempts are good for, for the terminal."""

import math
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.judges.report import JudgeReport
from maxatk.base.text import short
from maxatk.report.tables.fitting import Side, as_text, plain_table
from maxatk.report.words import judges as words


def side_by_side(result: JudgeReport) -> Curve:
    """The curves as one, whose arms are ways to choose: for charts."""
    names = {"max@k": "perfect judge", "selected@k": result.judge, "majority@k": "majority"}
    points = [replace(p, arm=names.get(curve.name, curve.name)) for curve in result.curves for p in curve]
    return Curve("true score", points, single=False)


def choosers(result: JudgeReport, judge: str) -> list[str]:
    """The headings of its curves: what chooses, with a name for the judge."""
    names = {"max@k": "perfect judge", "selected@k": f"picked by {judge}", "majority@k": "majority"}
    return [names.get(curve.name, curve.name) for curve in result.curves]


def curves(result: JudgeReport) -> Table:
    """The curves of a perfect judge, of this one and of the vote side by side, with the gap between the first two."""
    columns: list[tuple[str, Side]] = [(name, "left") for name in choosers(result, result.judge)]
    table = plain_table(("k", "right"), *columns, ("gap", "right"))
    for rows in zip(*result.curves, strict=True):
        table.add_row(str(rows[0].k), *map(str, rows), short(rows[0].value - rows[1].value))
    return table


def calibration(result: JudgeReport) -> Table:
    """The truth by level of the judge."""
    gives = f"{result.judge} gives"
    table = plain_table((gives, "left"), ("attempts", "right"), ("truth", "right"), ("interval", "left"))
    for level in result.calibration:
        gives = short(level.low) if level.low == level.high else f"{short(level.low)} to {short(level.high)}"
        known = math.isfinite(level.lower) and math.isfinite(level.upper)
        interval = f"{short(level.lower)} to {short(level.upper)}" if known else ""
        table.add_row(gives, str(level.attempts), short(level.truth), interval)
    return table


def report(result: JudgeReport) -> RenderableType:
    """All of a report."""
    return Group(curves(result), "", calibration(result), "", *words.sentences(result))


def text(result: JudgeReport) -> str:
    """The same as plain text."""
    return as_text(report(result))
