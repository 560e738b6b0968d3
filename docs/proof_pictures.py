"""The pictures of the page on why the interval is true; ``pictures.py`` draws them with the others."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import maxatk as mk

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"
LOW, HIGH = -40.0, -12.0  # best returns of the windy cliff that are shown


def drawings(plan: mk.Plan) -> dict[str, Callable[[], Any]]:
    """A figure for each name of a file, about the curves of a plan of the windy cliff."""
    return {
        "slices.svg": lambda: slices(plan),
        "knots.svg": lambda: knots(plan),
        "flat.svg": lambda: flat(plan),
        "window.svg": window,
        "rounding.svg": rounding,
    }


def axes(width: float = 6, height: float = 3.2, count: int = 1, *, sharey: bool = True) -> tuple[Figure, Any]:
    """A figure, and its axes or the one there is."""
    figure = Figure(figsize=(width, height), layout="constrained")
    made: Any = figure.subplots(1, count, sharey=sharey)
    for ax in np.atleast_1d(made):
        ax.spines[["top", "right"]].set_visible(False)
    return figure, made


def _value(plan: mk.Plan, left: int) -> Callable[[float], float]:
    return lambda m: sum(plan.curve(plan.k - left, m)) / 2


def slices(plan: mk.Plan) -> Any:
    """Points of a curve, each the value of a problem of its own."""
    figure, ax = axes()
    value, x = _value(plan, 2), np.linspace(LOW, HIGH, 57)
    ax.plot(x, [value(m) for m in x], color=BLUE, linewidth=2)
    for m, side in ((-36.0, "center"), (-24.0, "right"), (-15.0, "right")):
        ax.plot([m, m], [-40, value(m)], color=GREY, linestyle=":", linewidth=1.4)
        ax.plot(m, value(m), "o", color=ORANGE, markersize=7)
        ax.annotate(
            f"the slice at {m:g}".replace("-", "−"), (m, value(m)), (-6, 9), textcoords="offset points", ha=side
        )
    ax.set(xlabel="best return so far, m", ylabel="value with two tries left", ylim=(-21, -11.5))
    return figure


def knots(plan: mk.Plan) -> Any:
    """Chords above and tangents below, which close in as knots are added."""
    figure, panels = axes(9, 3, 3)
    value, x = _value(plan, 1), np.linspace(LOW, HIGH, 141)
    curve = np.array([value(m) for m in x])
    for ax, places in zip(panels, ([-40, -12], [-40, -22, -12], [-40, -28, -22, -17, -12]), strict=True):
        heights = [value(m) for m in places]
        slopes = [(value(m + 0.01) - value(m - 0.01)) / 0.02 for m in places]
        above = np.interp(x, places, heights)
        below = np.max([y + d * (x - m) for m, y, d in zip(places, heights, slopes, strict=True)], axis=0)
        ax.fill_between(x, below, above, color=GREY, alpha=0.3, linewidth=0)
        ax.plot(x, above, color=ORANGE, linewidth=1.3, label="chords: never below")
        ax.plot(x, below, color=GREEN, linewidth=1.3, label="tangents: never above")
        ax.plot(x, curve, color=BLUE, linewidth=1.8, label="the curve")
        ax.plot(places, heights, "o", color="black", markersize=4)
        ax.set(title=f"{len(places)} knots", xlabel="best return so far")
    panels[0].set_ylabel("value, one try left")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def flat(plan: mk.Plan) -> Any:
    """The flat part of a curve, whose end stands for no result yet."""
    figure, ax = axes()
    value, x = _value(plan, 2), np.linspace(-130, HIGH, 119)
    y = np.array([value(m) for m in x])
    least = value(-math.inf)
    end = float(x[np.argmax(y > least)]) - 1  # the last of the flat part; x goes by ones
    ax.plot(x, y, color=BLUE, linewidth=2)
    ax.plot([x[0], end], [least, least], color=ORANGE, linewidth=5, alpha=0.6, solid_capstyle="butt")
    ax.plot(end, least, "o", color=ORANGE, markersize=7)
    ax.annotate("flat: here a best so far\nmakes no difference", (x[0], least), (4, 14), textcoords="offset points")
    ax.annotate("its end stands for no result yet", (end, least), (8, -14), textcoords="offset points")
    ax.set(xlabel="best return so far, m", ylabel="value with two tries left", ylim=(-20.6, -11.5))
    return figure


def window() -> Any:
    """Which returns can still win, step by step."""
    figure, ax = axes()
    steps, best, per_step, horizon = np.arange(0, 11), 14, 3, 10
    needed = best - per_step * (horizon - steps)
    ax.fill_between(
        steps, np.maximum(needed, 0), per_step * steps, where=per_step * steps >= needed, color=BLUE, alpha=0.25
    )
    ax.plot(steps, per_step * steps, color=BLUE, linewidth=2, label="the most that can have been earned")
    ax.plot(steps, needed, color=ORANGE, linewidth=2, label="below this the try is idle: it cannot beat m = 14")
    ax.set(xlabel="step", ylabel="return of this try so far, g", ylim=(0, 31))
    ax.legend(frameon=False, fontsize=9)
    return figure


def rounding() -> Any:
    """A convex function between two lattice points, and the chord above it."""
    figure, ax = axes(5.4, 3)
    x = np.linspace(-0.4, 1.4, 91)

    def value(g: Any) -> Any:
        return 0.25 + 0.8 * g**2 + 0.3 * g

    theta = 0.4
    ax.plot(x, value(x), color=BLUE, linewidth=2, label="V, convex in g")
    ax.plot(
        [0, 1], [value(0.0), value(1.0)], "o-", color=ORANGE, linewidth=1.6, label="the chord: reward rounded at random"
    )
    ax.plot([theta, theta], [value(theta), (1 - theta) * value(0.0) + theta * value(1.0)], color=GREY, linewidth=4)
    ax.set_xticks([0, theta, 1], ["κj", "g + r", "κ(j + 1)"])
    ax.set_yticks([])
    ax.legend(frameon=False, fontsize=9)
    return figure
