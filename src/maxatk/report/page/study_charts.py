"""The charts of a study's page, as Vega-Lite specifications made with Altair."""

import math
from typing import Any

import altair as alt

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.base.text import finite
from maxatk.report.page.specs import INK, dashed, inline, spec
from maxatk.report.palette import palette

SHAPES = ["circle", "square", "triangle-up", "diamond"]
COLOURED = 5  # arms, those with the highest values; all others are grey
GREY = "var(--soft)"
APART = 0.06  # of the height, between two labels


def curve(points: Curve) -> dict[str, Any]:
    """An estimate against k, one line for each arm, labelled at its end; the best arms in colour with a band."""
    arms, ticks = _ranked(points), sorted({p.k for p in points})
    rows = [
        {"arm": p.arm, "k": p.k, "value": p.value, "best": p.arm in arms[:COLOURED], **_ends(p, "lower", "upper")}
        for p in points
    ]
    k = alt.X(
        "k:Q", title="attempts, k", scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(values=ticks, format="d", grid=False),
    )  # fmt: skip
    shades = palette(COLOURED)[: len(arms)] + [GREY] * (len(arms) - COLOURED)
    colour = alt.Color("arm:N", sort=arms, scale=alt.Scale(domain=arms, range=shades), legend=None)
    base: Any = alt.Chart(inline(rows)).encode(
        x=k,
        color=colour,
        tooltip=[
            alt.Tooltip("arm:N"), alt.Tooltip("k:Q"), alt.Tooltip("value:Q", format=".4~g"),
            alt.Tooltip("lower:Q", format=".4~g"), alt.Tooltip("upper:Q", format=".4~g"),
        ],
    )  # fmt: skip
    y = alt.Y("value:Q", title=points.name, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    best = base.transform_filter(alt.datum.best)
    band = best.mark_area(opacity=0.18, line=False, aria=False).encode(y=alt.Y("lower:Q"), y2="upper:Q")
    others = base.transform_filter(~alt.datum.best).mark_line(strokeWidth=1.2, opacity=0.55, point=True).encode(y=y)
    rest = [others] if len(arms) > COLOURED else []  # a layer without data would warn
    line = best.mark_line(strokeWidth=2.5).encode(y=y, strokeDash=dashed("arm", arms[:COLOURED], legend=None))
    dots = best.mark_point(filled=True, size=45, opacity=1).encode(y=y)
    names: Any = alt.Chart(inline(_labels(points, arms))).encode(x=k, y=alt.Y("at:Q"), text="arm:N")
    labels = names.mark_text(align="left", dx=8, fontSize=12, color=INK, aria=False)
    chart = alt.layer(*rest, band, line, dots, labels).properties(
        width="container", height=320, description=f"{points.name} by arm, with intervals over tasks"
    )
    return spec(chart)


def greyed(points: Curve) -> int:
    """The number of arms that the chart of a curve does not colour."""
    return max(len(_ranked(points)) - COLOURED, 0)


def _ranked(points: Curve) -> list[str]:
    """All arms, by their last values, the highest first."""
    last = {p.arm: p.value for p in sorted(points, key=lambda p: p.k)}
    return sorted(last, key=lambda arm: -last[arm])


def _labels(points: Curve, arms: list[str]) -> list[dict[str, Any]]:
    """The names of the coloured arms beside the ends of their lines, moved apart where they would overlap."""
    values = [p.value for p in points]
    apart = APART * (max(values) - min(values))
    ends = {p.arm: (p.k, p.value) for p in sorted(points, key=lambda p: p.k)}
    rows: list[dict[str, Any]] = []
    at = math.inf
    for arm in arms[:COLOURED]:
        k, value = ends[arm]
        at = min(value, at - apart)
        rows.append({"arm": arm, "k": k, "at": at})
    return rows


def frontier(front: Frontier) -> dict[str, Any]:
    """Score against cost of every strategy."""
    families = list(dict.fromkeys(strategy.family for strategy in front.strategies))
    rows = [
        {
            "what": s.name, "family": s.family, "score": s.score.value, "cost": s.cost.value,
            **_ends(s.score, "score from", "score to"),
            "dominated": s.dominated is not None, "cost per solved": finite(s.cost_per_solved.value),
        }
        for s in front.strategies
    ]  # fmt: skip
    base: Any = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "cost:Q", title="cost per task", scale=alt.Scale(type="log", nice=False, padding=20),
            axis=alt.Axis(format="~g", tickCount=5, grid=False),
        ),
        tooltip=[
            alt.Tooltip("what:N"), alt.Tooltip("score:Q", format=".4~g"), alt.Tooltip("score from:Q", format=".4~g"),
            alt.Tooltip("score to:Q", format=".4~g"), alt.Tooltip("cost:Q", format=".4~g"),
            alt.Tooltip("cost per solved:Q", format=".4~g"),
        ],
    )  # fmt: skip
    opacity = alt.condition(alt.datum.dominated, alt.value(0.35), alt.value(1))
    score = alt.Y("score:Q", title="score", scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    bars = base.mark_rule(strokeWidth=1.5, color=INK, aria=False).encode(
        y=alt.Y("score from:Q"),
        y2="score to:Q",
        opacity=alt.condition(alt.datum.dominated, alt.value(0.12), alt.value(0.4)),
    )
    dots = base.mark_point(filled=True, size=80).encode(
        y=score,
        opacity=opacity,
        color=alt.Color(
            "family:N", sort=families, scale=alt.Scale(domain=families, range=palette(len(families))),
            legend=alt.Legend(orient="top", columns=4, title=None, symbolOpacity=1),
        ),
        shape=alt.Shape("family:N", sort=families, scale=alt.Scale(domain=families, range=SHAPES)),
    )  # fmt: skip
    chart = (bars + dots).properties(
        width="container", height=340, description="Score and cost per task of every strategy"
    )
    return spec(chart)


def _ends(estimate: Estimate, lower: str, upper: str) -> dict[str, float | None]:
    """The ends of an interval by name; None if it has no level, because a band would suggest one."""
    sure = estimate.level is not None
    return {lower: finite(estimate.lower) if sure else None, upper: finite(estimate.upper) if sure else None}
