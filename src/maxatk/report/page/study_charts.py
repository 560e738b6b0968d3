"""The charts of a study's page, as Vega-Lite specifications made with Altair."""

from typing import Any

import altair as alt

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.base.text import finite
from maxatk.report.page.specs import INK, dashed, inline, spec
from maxatk.report.palette import palette

SHAPES = ["circle", "square", "triangle-up", "diamond"]
MOST_ARMS = 12  # that a chart can distinguish; those with the highest scores


def curve(points: Curve) -> dict[str, Any]:
    """An estimate against k, one line with a band for each arm."""
    last = max(p.k for p in points)
    best = sorted((p for p in points if p.k == last), key=lambda p: -p.value)[:MOST_ARMS]
    arms = [p.arm for p in best]
    rows = [{"arm": p.arm, "k": p.k, "value": p.value, **_ends(p, "lower", "upper")} for p in points if p.arm in arms]
    ticks = sorted({p.k for p in points})
    base: Any = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "k:Q", title="attempts, k", scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(values=ticks, format="d", grid=False),
        ),
        color=_by_arm(arms),
        tooltip=[
            alt.Tooltip("arm:N"), alt.Tooltip("k:Q"), alt.Tooltip("value:Q", format=".4~g"),
            alt.Tooltip("lower:Q", format=".4~g"), alt.Tooltip("upper:Q", format=".4~g"),
        ],
    )  # fmt: skip
    y = alt.Y("value:Q", title=points.name, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    band = base.mark_area(opacity=0.18, line=False, aria=False).encode(y=alt.Y("lower:Q"), y2="upper:Q")
    line = base.mark_line(strokeWidth=2.5).encode(y=y, strokeDash=dashed("arm", arms))
    dots = base.mark_point(filled=True, size=45, opacity=1).encode(y=y)
    chart = (band + line + dots).properties(
        width="container", height=300, description=f"{points.name} by arm, with intervals over tasks"
    )
    return spec(chart)


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


def _by_arm(arms: list[str]) -> Any:
    return alt.Color(
        "arm:N", sort=arms, scale=alt.Scale(domain=arms, range=palette(len(arms))),
        legend=alt.Legend(
            orient="top", columns=2, title=None, labelLimit=260,
            symbolType="stroke", symbolSize=900, symbolStrokeWidth=3, symbolOpacity=1,
        ),
    )  # fmt: skip


def _ends(estimate: Estimate, lower: str, upper: str) -> dict[str, float | None]:
    """The ends of an interval by name; None if it has no level, because a band would suggest one."""
    sure = estimate.level is not None
    return {lower: finite(estimate.lower) if sure else None, upper: finite(estimate.upper) if sure else None}
