"""Figures in the style of the report: small, legible in print, with colours for any kind of colour vision."""

import math
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import maxatk as mk
from maxatk.paper.claim import Row, column

GREY, ORANGE, SKY, GREEN, PINK, BLUE, RED, _ = mk.figures.COLOURS
STYLE = {
    "font.size": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "mathtext.fontset": "cm",
    "svg.hashsalt": "maxatk",
}


def require() -> None:
    """Raise an error if a package that the report needs is missing."""
    for name in ("matplotlib", "jinja2"):
        try:
            import_module(name)
        except ImportError:
            raise mk.MissingExtraError(f"the paper's report needs {name}: pip install 'maxatk[plot]'") from None


def style() -> Any:
    """A context in which figures are drawn in the report's style."""
    import matplotlib as mpl

    library: Any = mpl
    return library.rc_context(STYLE)


def figure(columns: int = 1, width: float = 3.4, height: float = 2.7) -> tuple[Any, list[Any]]:
    """A figure with a row of axes, each of this size in inches."""
    from matplotlib.figure import Figure

    drawn: Any = Figure(figsize=(width * columns, height), layout="constrained")
    axes: Any = drawn.subplots(1, columns, squeeze=False)
    return drawn, list(axes[0])


def line(ax: Any, rows: Sequence[Row], x: str, y: str, form: str = "-", **look: Any) -> None:
    """Draw one column of the rows against another."""
    ax.plot(column(rows, x), column(rows, y), form, **look)


def diagram(mdp: mk.MDP, place: Mapping[int, tuple[float, float]]) -> Any:
    """The problem itself: states in circles, an arrow per outcome of each action, ends as boxes with their reward.

    The diagram is read from ``mdp``; only the positions of the states are given. Actions with the same outcomes
    share an arrow.
    """
    names = mdp.action_names or tuple(str(a) for a in range(mdp.n_actions))
    arrows: list[tuple[int, list[int], Any]] = []  # from which state, by which actions, what happens
    for s in place:
        alike: dict[tuple[Any, ...], list[int]] = {}
        for a in mdp.actions(0, s):
            alike.setdefault(tuple(mdp.exact_outcomes(0, s, a)), []).append(a)
        arrows += [(s, actions, outcome) for row, actions in alike.items() for outcome in row]
    ends = [outcome for _, _, outcome in arrows if outcome.next_state is None]
    low, high = min(y for _, y in place.values()) - 1.5, max(y for _, y in place.values())
    middle = sum(x for x, _ in place.values()) / len(place)
    spots = {id(o): (middle + 1.7 * (j - (len(ends) - 1) / 2), low) for j, o in enumerate(ends)}
    drawn, (ax,) = figure(1, 5.2, 1.05 * (high - low) + 0.5)
    ax.set_axis_off()
    for s, actions, outcome in arrows:
        to = spots[id(outcome)] if outcome.next_state is None else place[outcome.next_state]
        _arrow(ax, place[s], to, outcome, names, actions)
    for s, at in place.items():
        _box(ax, at, _symbol(mdp.state_names[s] if mdp.state_names else str(s)), "circle,pad=0.45", "white")
    for outcome in ends:
        _box(ax, spots[id(outcome)], outcome.reward, "square,pad=0.35", "#eeeeee")
    xs = [x for x, _ in (*place.values(), *spots.values())]
    ax.set(xlim=(min(xs) - 0.7, max(xs) + 0.7), ylim=(low - 0.4, high + 0.4))
    return drawn


def _arrow(ax: Any, start: Any, end: Any, outcome: Any, names: Sequence[str], actions: list[int]) -> None:
    """Draw one outcome of an action; an end has its reward in its box."""
    number = actions[0]
    look: dict[str, Any] = {"color": (BLUE, RED, GREEN)[number % 3], "linestyle": ("-", (0, (5, 2)), ":")[number % 3]}
    label = names[number]
    if len(actions) > 1:
        look, label = {"color": "black", "linestyle": "-"}, "any action"
    label += f", {outcome.prob}" if outcome.prob != 1 else ""
    label += f"\nreward {outcome.reward}" if outcome.next_state is not None else ""
    arrow = {"arrowstyle": "-|>", "linewidth": 1.4, "shrinkA": 15, "shrinkB": 13, **look}
    ax.annotate("", end, start, arrowprops=arrow)
    x, y = (start[j] * 0.45 + end[j] * 0.55 for j in (0, 1))
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    ax.text(x, y, label, color=look["color"], ha="center", va="center", fontsize=8, bbox=ground)


def _box(ax: Any, at: tuple[float, float], text: object, shape: str, colour: str) -> None:
    box = {"boxstyle": shape, "facecolor": colour, "edgecolor": "black"}
    ax.text(*at, text, ha="center", va="center", fontsize=10, bbox=box)


def _symbol(name: str) -> str:
    """A state's name in mathematical type: ``s1`` with an index, ``bar s`` with a bar."""
    return re.sub(r"^(?:bar )(\w)$", r"$\\bar{\1}$", re.sub(r"^([a-z])(\d*)$", r"$\1_{\2}$", name))


def doubling_ticks(ax: Any, values: Any, axis: str = "x") -> None:
    """Set the ticks of a logarithmic axis to these values."""
    from matplotlib.ticker import NullFormatter, NullLocator

    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_ticks(
        list(values),
        [f"1/{round(1 / v)}" if v < 1 and abs(1 / v - round(1 / v)) < 1e-9 else f"{v:.3g}" for v in values],
    )
    which.set_minor_locator(NullLocator())
    which.set_minor_formatter(NullFormatter())


def power_line(ax: Any, x: Any, y: float, power: float, label: str) -> None:
    """Draw a straight line of this slope on logarithmic axes, through ``y`` at the last ``x``."""
    ax.plot(x, [y * math.pow(v / x[-1], power) for v in x], color="black", linewidth=0.9, linestyle=":", label=label)


def doubling_line(ax: Any, rows: Sequence[Row], x: str, y: str, label: str) -> None:
    """Draw a curve that doubles with every unit of ``x``, through the last of the rows."""
    at, last = column(rows, x), rows[-1]
    ax.plot(at, [last[y] * 2.0 ** (v - at[-1]) for v in at], ":", color="black", linewidth=0.9, label=label)
