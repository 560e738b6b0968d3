"""Vega-Lite specifications, made with Altair: shared by the charts of all pages."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

INK, FAINT = "currentColor", "var(--line)"


def dashed(name: str, names: Sequence[str], legend: Any = alt.Undefined) -> Any:
    """Dashes of lines, so that they differ not only in colour; ``legend=None`` where lines have labels of their own."""
    dashes = [[1, 0], [8, 3], [3, 3], [10, 3, 2, 3], [2, 2], [6, 2]]
    return alt.StrokeDash(
        f"{name}:N",
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=[dashes[j % 6] for j in range(len(names))]),
        legend=legend,
    )


def inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as the data of a chart."""
    return alt.InlineData(values=list(rows))


def spec(chart: Any) -> dict[str, Any]:
    """A chart as plain data, as wide as its place on the page."""
    return (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_axis(
            labelColor=INK, titleColor=INK, domainColor=FAINT, tickColor=FAINT, gridColor=FAINT,
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal",
        )
        .configure_legend(labelColor=INK, titleColor=INK, labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_view(stroke=None)
        .to_dict(format="vega-lite")
    )  # fmt: skip
