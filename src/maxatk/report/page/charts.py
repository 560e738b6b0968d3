"""The charts of a plan's page, as Vega-Lite specifications made with Altair.

Colours are those of the page (``currentColor``) or told apart with any kind of colour vision, on light and on dark.
Data that change with the sliders have names, by which the page's script replaces them.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np

from maxatk.problem.grid import CellGrid
from maxatk.report.page.specs import INK, dashed, inline, spec
from maxatk.report.palette import COLOURS
from maxatk.report.views import BEST, FEW, SO_FAR, ByRounds, Classes, Curves

NONE_LEFT = "none: M itself"


def curves(view: Curves) -> dict[str, Any]:
    """The curves ``U_i`` between their bounds: the value of a best return, by the number of tries to come."""
    names = [str(curve.to_come) if curve.to_come else NONE_LEFT for curve in view.curves]
    rows = [
        {"M": m, "tries to come": name, "at least": lower, "at most": upper}
        for name, curve in zip(names, view.curves, strict=True)
        for m, lower, upper in np.stack((view.best, curve.lower, curve.upper), axis=1).tolist()
    ]
    colours = [curve.colour for curve in view.curves]
    few = len(view.best) <= FEW  # best returns: they alone are marked, and lines between them guide the eye
    ticks: dict[str, Any] = {"values": view.best.tolist()} if few else {"tickCount": 14}
    base: Any = alt.Chart(inline(rows)).encode(
        x=alt.X("M:Q", title=view.x, scale=alt.Scale(zero=False, nice=False),
                axis=alt.Axis(format="~g", labelOverlap="greedy", **ticks)),
        color=alt.Color(
            "tries to come:N", sort=names, scale=alt.Scale(domain=names, range=colours),
            legend=alt.Legend(
                orient="top", columns=3, title="tries to come",
                symbolType="stroke", symbolSize=900, symbolStrokeWidth=3, symbolOpacity=1,
            ),
        ),
        tooltip=[
            alt.Tooltip("tries to come:N"), alt.Tooltip("M:Q", format=".6~g"),
            alt.Tooltip("at least:Q", format=".8~g"), alt.Tooltip("at most:Q", format=".8~g"),
        ],
    )  # fmt: skip
    lower = alt.Y("at least:Q", title=view.y, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    band = base.mark_area(opacity=0.35, line=False, aria=False).encode(y=lower, y2="at most:Q")
    line = base.mark_line(strokeWidth=2).encode(y=lower, strokeDash=dashed("tries to come", names))
    points = [base.mark_point(filled=True, size=70, opacity=1).encode(y=lower)] if few else []
    stop: list[Any] = []
    if view.stop_at < math.inf:
        where = {"stop": view.stop_at, "says": f"stop from {view.stop_at:.4g} on"}
        rule: Any = alt.Chart(inline([where])).encode(x="stop:Q", tooltip=alt.Tooltip("says:N", title="the plan"))
        stop = [rule.mark_rule(color=INK, strokeDash=[2, 3], strokeWidth=1.5)]
    chart = alt.layer(band, line, *points, *stop).properties(
        width="container",
        height=300,
        description="The value of a best return, one curve for each number of tries to come",
    )
    return spec(chart)


def by_rounds(view: ByRounds) -> dict[str, Any]:
    """What tries made several at a time earn, by the number of rounds."""
    rows = [{"tries": kind, "rounds": n, "earns": low, "at most": high} for kind, n, low, high in view.rows]
    base: Any = alt.Chart(inline(rows)).encode(
        x=alt.X("rounds:Q", title=view.x, axis=alt.Axis(tickMinStep=1)),
        color=alt.Color("tries:N", scale=alt.Scale(range=[COLOURS[5], COLOURS[6]])),
        tooltip=[
            alt.Tooltip("tries:N"), alt.Tooltip("rounds:Q"), alt.Tooltip("earns:Q", format=".8~g"),
            alt.Tooltip("at most:Q", format=".8~g"),
        ],
    )  # fmt: skip
    y = alt.Y("earns:Q", title=view.y, scale=alt.Scale(zero=False))
    earned = base.mark_line(point=True).encode(y=y)
    most = base.mark_line(strokeDash=[2, 3]).encode(y=alt.Y("at most:Q"))
    chart = (earned + most).properties(width="container", height=220, description="Value by the number of rounds")
    return spec(chart)


def comparison(view: Classes) -> dict[str, Any]:
    """The bounds on the value of each class of policies."""
    rows = [
        {"policy": row.name, "earns": row.lower, "at most": row.upper, "obtained by": row.method} for row in view.rows
    ]
    names = [row.name for row in view.rows]
    base: Any = alt.Chart(inline(rows)).encode(
        y=alt.Y("policy:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("policy:N"), alt.Tooltip("earns:Q", format=".8~g"),
            alt.Tooltip("at most:Q", format=".8~g"), alt.Tooltip("obtained by:N"),
        ],
    )  # fmt: skip
    ends = [x for row in view.rows for x in (row.lower, row.upper)]
    least = 1e-6 * max(map(abs, ends))  # narrower ranges are rounding errors, and should look so
    wide = max(max(ends) - min(ends), least, 1e-300)
    middle = (max(ends) + min(ends)) / 2
    x = alt.X(
        "earns:Q", title=view.x,
        scale=alt.Scale(zero=False, nice=False, domain=[middle - 0.55 * wide, middle + 0.55 * wide]),
        axis=alt.Axis(tickCount=4, format=".9~g", labelOverlap="greedy", labelBound=True),
    )  # fmt: skip
    bars = base.mark_rule(strokeWidth=3, opacity=0.45, color=INK).encode(x=x, x2="at most:Q")
    caps = base.mark_tick(thickness=2, size=12, color=INK, opacity=0.6).encode(x=alt.X("at most:Q"))
    adaptive = alt.condition(alt.datum.policy == names[-1], alt.value(COLOURS[6]), alt.value(COLOURS[5]))
    points = base.mark_point(filled=True, size=110, opacity=1).encode(x=x, color=adaptive)
    chart = (bars + caps + points).properties(
        width="container",
        height=30 * len(names),
        description="Bounds on the value of each class of policies",
    )
    return spec(chart)


def inks(colours: Sequence[str]) -> list[str]:
    """Black or white, whichever is easier to read on each colour."""
    return [_ink(colour) for colour in colours]


def _ink(colour: str) -> str:
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in _channels(colour)]
    light = sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000" if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else "#fff"  # the greater contrast, by WCAG


def _channels(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def action_map(colours: Sequence[str]) -> dict[str, Any]:
    """The actions of the plan in one state at one step, by best return and return so far; data ``map``."""
    # Returns by their ranks, which stay in order as data change; the page has their labels.
    names = alt.param(name="Ms", value=[]), alt.param(name="Gs", value=[])
    cells: Any = alt.Chart(alt.NamedData("map")).encode(
        x=alt.X(
            "m:O", title=BEST,
            axis=alt.Axis(
                labelExpr="Ms[datum.value]", labelOverlap="greedy", labelAngle=0, labelSeparation=6, labelBound=True
            ),
        ),
        y=alt.Y(
            "g:O", sort="descending", title=SO_FAR,
            axis=alt.Axis(labelExpr="Gs[datum.value]", labelOverlap="greedy"),
        ),
    )  # fmt: skip
    filled = cells.mark_rect().encode(
        color=_by_action(colours),
        tooltip=[alt.Tooltip("M:N"), alt.Tooltip("G:N"), alt.Tooltip("action:N")],
        description="says:N",
    )
    wide = "bandwidth('x') > 13 && bandwidth('y') > 11 ? 0.8 : 0"
    signs = cells.mark_text(fontSize=11, aria=False, opacity=alt.ExprRef(wide)).encode(
        text="sign:N", color=alt.Color("ink:N", scale=None, legend=None)
    )
    frame = (
        cells.transform_filter(alt.datum.now)
        .mark_rect(filled=False, stroke=INK, strokeWidth=3, aria=False)
    )  # fmt: skip
    chart = (
        (filled + signs + frame)
        .add_params(*names)
        .properties(width="container", height=260, description="The action taken, by best return and return so far")
    )
    return spec(chart)


def grid(cells: CellGrid, start: Iterable[int], colours: Sequence[str]) -> dict[str, Any]:
    """The cells of a grid; data ``arrows`` (actions by cell), ``trails`` and ``falls`` of tries, and ``here``."""
    start = set(start)

    def kind(s: int) -> str:
        if s in cells.closed:
            return "goal" if s in cells.goals else "hazard" if s in cells.hazards else "wall"
        return "cell"

    squares = [
        {
            "row": row,
            "column": column,
            "kind": kind(s),
            "goal": "G" if s in cells.goals else "",
            "start": "S" if start == {s} else "",
        }
        for s in range(cells.rows * cells.columns)
        for row, column in [cells.cell(s)]
    ]
    x = alt.X("column:O", scale=alt.Scale(domain=list(range(cells.columns)), padding=0), axis=None)
    y = alt.Y("row:O", scale=alt.Scale(domain=list(range(cells.rows)), padding=0), axis=None)
    kinds: Any = alt.Color(
        "kind:N", legend=None,
        scale=alt.Scale(
            domain=["cell", "wall", "hazard", "goal"],
            range=["var(--ground)", "var(--never)", "var(--hazard)", "var(--goal)"],
        ),
    )  # fmt: skip
    board: Any = (
        alt.Chart(inline(squares))
        .mark_rect(stroke="var(--paper)", strokeWidth=2.5, cornerRadius=5, aria=False)
        .encode(x=x, y=y, color=kinds)
    )
    arrows: Any = (
        alt.Chart(alt.NamedData("arrows"))
        .mark_point(filled=True)
        .encode(
            x=x, y=y, size=alt.Size("size:Q", scale=None),
            opacity=alt.Opacity("opacity:Q", scale=None),
            color=_by_action(colours), shape=alt.Shape("shape:N", scale=None, legend=None),
            angle=alt.Angle("angle:Q", scale=None),
            tooltip=[alt.Tooltip("state:N"), alt.Tooltip("action:N"), alt.Tooltip("step:N"), alt.Tooltip("G:N")],
            description="says:N",
        )
    )  # fmt: skip
    trails: Any = (
        alt.Chart(alt.NamedData("trails"))
        .mark_line(strokeJoin="round", strokeCap="round", aria=False)
        .encode(
            x=x, y=y, order=alt.Order("n:Q"), detail=alt.Detail("line:N"),
            color=alt.condition(alt.datum.now, alt.value(COLOURS[6]), alt.value(INK)),
            opacity=alt.condition(alt.datum.now, alt.value(0.9), alt.value(0.18)),
            strokeWidth=alt.condition(alt.datum.now, alt.value(4), alt.value(3)),
        )
    )  # fmt: skip
    letters: Any = alt.Chart(inline(squares)).encode(x=x, y=y)
    goal = letters.mark_text(color="#fff", fontWeight="bold", fontSize=15, aria=False).encode(text="goal:N")
    first = letters.mark_text(color=INK, fontWeight="bold", dx=-11, dy=-11, aria=False).encode(text="start:N")
    falls: Any = (
        alt.Chart(alt.NamedData("falls"))
        .mark_point(shape="cross", filled=True, angle=45, color=COLOURS[6], aria=False)
        .encode(x=x, y=y, size=alt.Size("size:Q", scale=None), opacity=alt.Opacity("opacity:Q", scale=None))
    )
    here: Any = (
        alt.Chart(alt.NamedData("here"))
        .mark_point(shape="circle", strokeWidth=3, color=COLOURS[6], opacity=1, aria=False)
        .encode(x=x, y=y, size=alt.Size("size:Q", scale=None))
    )
    layers: Any = alt.layer(board, goal, first, trails, falls, arrows, here)
    chart = layers.resolve_scale(color="independent", shape="independent")
    chart = chart.properties(
        width=40 * cells.columns,
        height=40 * cells.rows,  # the page makes it fit
        description="The grid, with the action that the plan takes in every cell",
    )
    return spec(chart)


def _by_action(colours: Sequence[str]) -> Any:
    """Colours by number, since names may be the same; -1 stands for any action."""
    scale = alt.Scale(domain=[*range(len(colours)), -1], range=[*colours, "var(--any)"])
    return alt.Color("a:N", legend=None, scale=scale)
