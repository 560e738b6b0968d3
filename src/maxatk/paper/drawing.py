"""Figures as the report wants them: small, legible in print, with colours that everyone can tell apart."""

import math
import re
from collections.abc import Mapping
from typing import Any

import maxatk as mk

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
    """Say at once if Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise mk.MissingExtraError("the paper's figures need Matplotlib: pip install 'maxatk[plot]'") from None


def style() -> Any:
    """A context in which figures are drawn in the report's style."""
    import matplotlib as mpl

    library: Any = mpl
    return library.rc_context(STYLE)


def figure(columns: int = 1, width: float = 3.4, height: float = 2.7) -> tuple[Any, list[Any]]:
    """A figure with a row of axes, each of so many inches."""
    from matplotlib.figure import Figure

    found: Any = Figure(figsize=(width * columns, height), layout="constrained")
    axes: Any = found.subplots(1, columns, squeeze=False)
    return found, list(axes[0])


def diagram(mdp: mk.MDP, place: Mapping[int, tuple[float, float]]) -> Any:
    """The problem itself: states in circles, an arrow per outcome of each action, ends as boxes with their reward.

    All that is drawn is read from ``mdp``; only the places of the states are given. Actions with the same outcomes
    share an arrow.
    """
    from matplotlib.figure import Figure

    colours, styles = (BLUE, RED, GREEN), ("-", (0, (5, 2)), ":")
    names = mdp.action_names or tuple(str(a) for a in range(mdp.n_actions))
    arrows: list[tuple[int, list[str], list[Any]]] = []
    for s in place:
        alike: dict[tuple[Any, ...], list[int]] = {}
        for a in mdp.actions(0, s):
            alike.setdefault(tuple(mdp.exact_outcomes(0, s, a)), []).append(a)
        arrows += [(s, [names[a] for a in actions], list(row)) for row, actions in alike.items()]
    ends = [(s, who, outcome) for s, who, row in arrows for outcome in row if outcome.next_state is None]
    low = min(y for _, y in place.values()) - 1.5
    found: Any = Figure(figsize=(5.2, 1.05 * (max(y for _, y in place.values()) - low) + 0.5), layout="constrained")
    ax: Any = found.subplots()
    ax.set_axis_off()
    middle = sum(x for x, _ in place.values()) / len(place)
    spots = {id(o): (middle + 1.7 * (j - (len(ends) - 1) / 2), low) for j, (_, _, o) in enumerate(ends)}
    for s, who, row in arrows:
        for outcome in row:
            to = spots[id(outcome)] if outcome.next_state is None else place[outcome.next_state]
            if len(who) > 1:
                colour, style, label = "black", "-", "any action"
            else:
                number = names.index(who[0])
                colour, style, label = colours[number % 3], styles[number % 3], who[0]
            if outcome.next_state is None:
                label += f", {outcome.prob}" if outcome.prob != 1 else ""
            else:
                label += (f", {outcome.prob}" if outcome.prob != 1 else "") + f"\nreward {outcome.reward}"
            ax.annotate(
                "", to, place[s],
                arrowprops={"arrowstyle": "-|>", "color": colour, "linestyle": style, "linewidth": 1.4,
                            "shrinkA": 15, "shrinkB": 13},
            )  # fmt: skip
            x, y = (place[s][j] * 0.45 + to[j] * 0.55 for j in (0, 1))
            ax.text(x, y, label, color=colour, ha="center", va="center", fontsize=8,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    for s, (x, y) in place.items():
        name = mdp.state_names[s] if mdp.state_names else str(s)
        ax.text(x, y, _symbol(name), ha="center", va="center", fontsize=10,
                bbox={"boxstyle": "circle,pad=0.45", "facecolor": "white", "edgecolor": "black"})  # fmt: skip
    for _, _, outcome in ends:
        x, y = spots[id(outcome)]
        ax.text(x, y, outcome.reward, ha="center", va="center", fontsize=10,
                bbox={"boxstyle": "square,pad=0.35", "facecolor": "#eeeeee", "edgecolor": "black"})  # fmt: skip
    xs = [x for x, _ in (*place.values(), *spots.values())]
    ax.set_xlim(min(xs) - 0.7, max(xs) + 0.7)
    ax.set_ylim(low - 0.4, max(y for _, y in place.values()) + 0.4)
    return found


def _symbol(name: str) -> str:
    """A state's name in mathematical type: ``s1`` with an index, ``bar s`` with a bar."""
    return re.sub(r"^(?:bar )(\w)$", r"$\\bar{\1}$", re.sub(r"^([a-z])(\d*)$", r"$\1_{\2}$", name))


def doubling_ticks(ax: Any, values: Any, axis: str = "x") -> None:
    """Ticks of a logarithmic axis at just these values."""
    from matplotlib.ticker import NullFormatter, NullLocator

    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_ticks(
        list(values),
        [f"1/{round(1 / v)}" if v < 1 and abs(1 / v - round(1 / v)) < 1e-9 else f"{v:.3g}" for v in values],
    )
    which.set_minor_locator(NullLocator())
    which.set_minor_formatter(NullFormatter())


def power_line(ax: Any, x: Any, y: float, power: float, label: str) -> None:
    """A straight line of this slope on logarithmic axes, through ``y`` at the last ``x``."""
    ax.plot(x, [y * math.pow(v / x[-1], power) for v in x], color="black", linewidth=0.9, linestyle=":", label=label)
