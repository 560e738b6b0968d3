"""Figures, with Matplotlib (extra ``plot``). Each function returns a figure to save; notebooks show it as it is.

They are as wide as a column of a paper, with letters of 8 points. ``caption`` of a figure says what it shows, and
``to_latex`` writes it to a file and returns the float that includes it.

>>> import maxatk as mk
>>> plan = mk.solve(mk.instances.windy_cliff(), k=3)
>>> mk.figures.curves(plan).savefig("curves.png")        # doctest: +SKIP
>>> print(mk.figures.curves(plan).to_latex("curves.pdf"))        # doctest: +SKIP
"""

import io
import math
import re
from collections.abc import Callable, Sequence
from functools import cache, wraps
from os import PathLike
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar, cast

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError, MissingExtraError
from maxatk.base.tabular import escaped
from maxatk.comparison.contrast import contrast
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.learning.ledger import LearningProgress
from maxatk.planning.plan import Plan
from maxatk.problem.grid import find_grid
from maxatk.report import views
from maxatk.report.palette import (
    ADAPTIVE_LINE,
    COLOURS,
    GOAL,
    HAZARD,
    MEAN_LINE,
    WALL,
    action_colours,
    class_colours,
)

F = TypeVar("F", bound=Callable[..., Any])
MISSING = "figures need Matplotlib: pip install 'maxatk[plot]'"
COLUMN = 3.5  # inches: the width of a column of a paper
IN_NOTEBOOKS = 1.5  # times as large
STYLE = {
    **{"font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7, "legend.title_fontsize": 7},
    **{"xtick.labelsize": 7, "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2},
    **{"xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 300, "svg.hashsalt": "maxatk"},
}


def _figure(caption: str, width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """A figure of this size in inches, and its axes [rows, columns]."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(MISSING) from None
    figure: Any = _shown(Figure)(figsize=(width, height), layout="constrained")
    figure.caption = caption
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


@cache
def _shown(kind: type) -> Any:
    """A Matplotlib figure that notebooks show without a magic, somewhat larger than in print; it has a caption."""

    base: Any = kind

    class ShownFigure(base):
        caption = ""

        def to_latex(self, path: str | PathLike[str], caption: str | None = None) -> str:
            """Write the figure to ``path``, and return the float that includes it, with its caption or another one."""
            if caption is not None and not isinstance(caption, str):
                raise InputError(f"caption must be text, not {checks.shown(caption)}")
            try:
                name = Path(path).as_posix()
                cast(Any, self).savefig(name)
            except TypeError:
                raise InputError(f"path must be a path, not {checks.shown(path)}") from None
            except (OSError, ValueError) as error:  # of a format that Matplotlib does not write
                reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
                raise InputError(f"{path}: cannot be written: {reason}") from None
            wide = cast(Any, self).get_figwidth() > 1.1 * COLUMN  # over both columns, then
            kind, width = ("figure*", r"\textwidth") if wide else ("figure", r"\columnwidth")
            text = escaped(self.caption if caption is None else caption)
            lines = [rf"\begin{{{kind}}}", r"\centering", rf"\includegraphics[width={width}]{{{name}}}"]
            return "\n".join([*lines, rf"\caption{{{text}}}", rf"\end{{{kind}}}"])

        def _repr_svg_(self) -> str:
            drawn = io.StringIO()
            cast(Any, self).savefig(drawn, format="svg")
            return re.sub(r'(width|height)="([\d.]+)pt"', _enlarged, drawn.getvalue(), count=2)

    return ShownFigure


def _enlarged(match: re.Match[str]) -> str:
    return f'{match[1]}="{float(match[2]) * IN_NOTEBOOKS:.1f}pt"'


def _in_style(draw: F) -> F:
    """Draw in the style of all figures: fonts and lines fit for a column of a paper."""

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        try:
            from matplotlib import rc_context  # pyright: ignore[reportUnknownVariableType]
        except ImportError:
            raise MissingExtraError(MISSING) from None
        with cast(Any, rc_context)(STYLE):
            return draw(*args, **options)

    return cast(F, drawn)


@_in_style
def curves(plan: Plan, points: int = 300) -> Any:
    """The curves ``U_i`` between their bounds: the value of a best return, by the number of tries to come.

    Args:
        plan: a plan.
        points: the number of best returns at which each curve is computed.

    >>> import maxatk as mk
    >>> mk.figures.curves(mk.solve(mk.instances.figure1(), k=2), points=5).axes[0].get_xlabel()
    'best return so far, M'
    """
    view = views.curves(plan, checks.integer(points, "points", least=2))
    caption = "The expected final best return, by the best return so far and the number of tries to come."
    caption = f"{caption} {view.note}".rstrip()
    figure, axes = _figure(caption, COLUMN, 2.6)
    ax = axes[0, 0]
    few = len(view.best) <= views.FEW
    for curve in view.curves:
        name = f"{curve.to_come} to come" if curve.to_come else "none: the best return itself"
        middle, form = (curve.lower + curve.upper) / 2, "-" if curve.to_come else "--"
        ax.fill_between(view.best, curve.lower, curve.upper, color=curve.colour, alpha=0.35, linewidth=0)
        ax.plot(view.best, middle, form, color=curve.colour, label=name, linewidth=1.2, marker="o" if few else "")
    if few:
        ax.set_xticks(view.best)
    if view.stop_at < math.inf:
        ax.axvline(view.stop_at, color=COLOURS[0], linewidth=1, linestyle=":", label="stop from here on")
    ax.set(xlabel=view.x, ylabel=view.y)
    ax.legend(title="tries", frameon=False)
    return figure


@_in_style
def action_map(plan: Plan, *, rollout: int, step: int, state: int, points: int = 121) -> Any:
    """The actions of a plan in one state at one step, by the best return so far and the return so far.

    Args:
        plan: a plan.
        rollout: which of its rollouts, from 0.
        step: which step of that, from 0.
        state: the state.
        points: how many best returns are shown, and at most how many returns so far: of those with which the state can
            be reached, evenly spread.

    >>> import maxatk as mk
    >>> plan = mk.solve(mk.instances.figure1(), k=2)
    >>> mk.figures.action_map(plan, rollout=1, step=0, state=0, points=5).axes[0].get_title(loc="left")
    's, step 0, try 2 of 2'
    """
    points = checks.integer(points, "points", least=2)
    i = checks.integer(rollout, "rollout", most=plan.k - 1)
    h = checks.integer(step, "step", most=plan.mdp.horizon - 1)
    s = checks.integer(state, "state", most=plan.mdp.n_states - 1)
    view = views.action_map(plan, i, h, s, points)
    count = len(view.so_far)
    caption = f"What the plan does in {view.title}, by the best return so far and the return so far."
    present = sorted({a for row in view.taken for a in row})
    columns = 2 if max(len(view.names[a]) for a in present) > 10 else 4  # of the legend, which is below
    lines = -(-len(present) // columns)
    figure, axes = _figure(caption, COLUMN, min(1.1 + 0.22 * count, 2.8) + 0.17 * lines)
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = axes[0, 0]
    ax.pcolormesh(
        _edges(view.best), np.arange(count + 1), view.taken,
        cmap=ListedColormap(view.colours), vmin=-0.5, vmax=len(view.names) - 0.5, rasterized=True,
    )  # fmt: skip
    rows = np.unique(np.linspace(0, count - 1, min(count, 9)).round().astype(int))
    ax.set_yticks(rows + 0.5, [f"{view.so_far[r]:g}" for r in rows])
    figure.legend(
        handles=[Patch(color=view.colours[a], label=fill(view.names[a], 24)) for a in present],
        frameon=False, loc="outside lower center", ncols=columns, fontsize=7, columnspacing=1.0, handlelength=1.2,
    )  # fmt: skip
    ax.set(xlabel=view.x, ylabel=view.y)
    ax.set_title(view.title, loc="left")
    return figure


@_in_style
def paths(plan: Plan, shape: tuple[int, int] | None = None) -> Any:
    """The actions of a plan on a grid: on the first rollout, on the last with no result yet, and with a result.

    An arrow is what is mostly done in a cell while there is something left to win; the darker the cell, the more
    often the rollout is there. Hazards (a cliff, a hole) and walls are dark, goals green.

    Args:
        plan: a plan for a problem whose states are the cells of a grid, row by row.
        shape: rows and columns; read from state names such as ``row 3, column 0`` by default.
    """
    grid = find_grid(plan.mdp, shape)
    rows, columns = grid.rows, grid.columns
    shown = views.panels(contrast(plan))
    colours = action_colours(views.action_names(plan.mdp))
    width, height = max(0.29 * columns, 1.6), 0.27 * rows + 0.35
    caption = "What each try mostly does in a cell while it can improve the best so far; darker: visited more often."
    if columns <= 8:  # side by side, else one below the other
        figure, axes = _figure(caption, width * len(shown) + 0.6, height, columns=len(shown))
    else:
        figure, axes = _figure(caption, width, height * len(shown), rows=len(shown))
    most = max([1e-9, *(x for panel in shown for x in panel.visits)])
    for ax, panel in zip(axes.ravel(), shown, strict=True):
        seen = np.sqrt(np.array(panel.visits).reshape(rows, columns))
        image = ax.imshow(seen, cmap="Greys", vmin=0, vmax=2.5 * math.sqrt(most))
        for cell in grid.closed:
            kind = GOAL if cell in grid.goals else HAZARD if cell in grid.hazards else WALL
            ax.add_patch(_square(*grid.cell(cell), kind.light))
        for s, action in enumerate(panel.action):
            if action == plan.mdp.n_actions:
                y, x = grid.cell(s)
                ax.text(x, y, "×", ha="center", va="center")
            elif action >= 0:
                (y, x), (down, right) = grid.cell(s), np.sign(grid.towards[action]).tolist()
                arrow = {"arrowstyle": "-|>", "color": colours[action], "linewidth": 1.2, "mutation_scale": 7}
                at = (x + 0.36 * right, y + 0.36 * down), (x - 0.36 * right, y - 0.36 * down)
                ax.annotate("", *at, arrowprops=arrow)
        for cell, letter in [(s, "S") for s in plan.mdp.start_state.tolist()[:1]] + [(s, "G") for s in grid.goals]:
            y, x = grid.cell(cell)
            ax.text(
                x - 0.42, y - 0.18, letter, fontsize=5, fontweight="bold", color="white" if letter == "G" else "black"
            )
        ax.set_title(panel.title, loc="left")
        ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#dddddd", linewidth=0.5)
        ax.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
        ax.spines[:].set_visible(True)
        if panel is shown[-1]:
            bar = figure.colorbar(image, ax=axes, shrink=0.5, aspect=15 if columns <= 8 else 30, pad=0.02)
            ticks = [0.0, 0.25 * most, most]
            bar.set_ticks([math.sqrt(x) for x in ticks], labels=[f"{x:.2g}" for x in ticks])
            bar.set_label("visits per try", fontsize=7)
            bar.ax.set_ylim(0, math.sqrt(most))
            bar.ax.tick_params(labelsize=7)
    return figure


def _square(row: int, column: int, colour: str) -> Any:
    """A filled cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="#dddddd", linewidth=0.5)


@_in_style
def best_returns(comparison: Comparison) -> Any:
    """The probability of each class of policies to end with at least a given best return."""
    caption = "The probability of each class's policy to end with at least a given best return."
    figure, axes = _figure(caption, COLUMN, 2.6)
    ax = axes[0, 0]
    low, high = math.inf, -math.inf
    for colour, row in zip(views.row_colours(comparison), comparison.rows, strict=True):
        if row.evaluation is None:
            continue
        law = row.evaluation.law
        above = 1 - np.append(0.0, np.cumsum(law.probs))[:-1]  # of at least each value
        ax.step(
            np.append(law.values, law.values[-1]), np.append(above, 0.0),
            where="pre", color=colour, label=row.name, linewidth=1.8 if row.name == "adaptive" else 1.0,
        )  # fmt: skip
        low, high = min(low, law.quantile(0.005)), max(high, float(law.values[-1]))
    pad = 0.03 * (high - low) or 1.0
    ax.set(xlim=(low - pad, high + pad), ylim=(0, 1.02), xlabel="best return", ylabel="probability of at least that")
    ax.legend(frameon=False, fontsize=7)
    return figure


@_in_style
def comparison(comparison: Comparison) -> Any:
    """The bounds on the value of each class of a comparison."""
    view = views.classes(comparison)
    caption = f"Best of {comparison.plan.k}: what a policy of each class earns (dot), and an upper bound (bar)."
    names = [fill(row.name, 16) for row in view.rows]
    figure, axes = _figure(caption, COLUMN, 0.34 * len(view.rows) + 0.8)
    ax = axes[0, 0]
    for y, row in enumerate(view.rows):
        ax.plot([row.lower, row.upper], [y, y], color=row.colour, linewidth=2, solid_capstyle="butt")
        ax.plot([row.upper], [y], marker="|", color=row.colour, markersize=7)
        ax.plot([row.lower], [y], marker="o", color=row.colour, markersize=5)
        text = f"{row.lower:.5g}" + ("" if row.share is None else f"  ({100 * row.share:.0f} %)")
        ax.annotate(text, (row.lower, y), (0, 7), textcoords="offset points", ha="center", fontsize=7)
    ax.set_yticks(range(len(view.rows)), names)
    ax.set_ylim(len(view.rows) - 0.5, -0.7)
    ax.margins(x=0.25)
    ax.set_xlabel(f"{view.x}\n{fill(f'({view.note})', 36)}")
    return figure


@_in_style
def by_tries(comparisons: ComparisonByTries) -> Any:
    """What a policy of each class earns, by the number of tries.

    Args:
        comparisons: one of :func:`maxatk.compare` for several numbers of tries.

    >>> import maxatk as mk
    >>> mk.figures.by_tries(mk.compare(mk.instances.figure1(), k=range(1, 4))).axes[0].get_xlabel()
    'tries'
    """
    figure, axes = _figure("What a policy of each class earns, by the number of tries.", COLUMN, 2.6)
    ax = axes[0, 0]
    names = comparisons.names
    for name, colour in zip(names, class_colours(names, names[0], names[-1]), strict=True):
        earned = [each[name].lower for each in comparisons]
        ax.plot(comparisons.tries, earned, marker="o", markersize=3, color=colour, label=name)
    ax.set(xlabel="tries", ylabel="expected best return")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return figure


@_in_style
def rounds(comparison: Comparison) -> Any:
    """What tries made several at a time earn, by the number of rounds: of tries alike, and of tries that may differ.

    Args:
        comparison: one of :func:`maxatk.compare` with ``widths``.

    >>> import maxatk as mk
    >>> table = mk.compare(mk.instances.figure1(), k=4, widths=(2, 4))
    >>> mk.figures.rounds(table).axes[0].get_xlabel()
    'rounds'
    """
    view = views.by_rounds(comparison)
    if view is None:
        raise InputError("rounds: this comparison has none: give compare(widths=...)")
    caption = "What tries made several at a time earn, by the number of rounds (solid), and upper bounds (dotted)."
    figure, axes = _figure(caption, COLUMN, 2.4)
    ax = axes[0, 0]
    for kind, colour in zip(views.KINDS, (MEAN_LINE, ADAPTIVE_LINE), strict=True):
        number, lower, upper = zip(*(row[1:] for row in view.rows if row[0] == kind), strict=True)
        ax.plot(number, lower, marker="o", markersize=4, color=colour, label=f"tries {kind}: earned")
        ax.plot(number, upper, linestyle=":", color=colour, label="at most")
    ax.set(xlabel=view.x, ylabel=view.y)
    ax.legend(frameon=False)
    return figure


def _edges(values: Any) -> Any:
    """Borders halfway between neighbours."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


@_in_style
def learning(told: Sequence[LearningProgress]) -> Any:
    """The bounds of a learner as they close in: on the optimum from above, on its policy from below.

    Args:
        told: where the run stood, as :func:`maxatk.learn` told its ``progress``.

    >>> import maxatk as mk
    >>> told = []
    >>> out = mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.2, delta=0.1, progress=told.append)
    >>> mk.figures.learning(told).axes[0].get_xlabel()
    'samples'
    """
    if not told:
        raise InputError("nothing was told yet, so there is nothing to draw")
    caption = "Bounds of a learner by the number of samples: on the optimum from above, on its policy from below."
    figure, axes = _figure(caption, COLUMN, 2.6)
    ax = axes[0, 0]
    samples = [max(at.samples, 1) for at in told]
    lower, upper = [at.lower for at in told], [at.upper for at in told]
    ax.fill_between(samples, lower, upper, color=COLOURS[2], alpha=0.25, linewidth=0, step="post")
    ax.step(samples, upper, where="post", color=MEAN_LINE, linewidth=1.2, label="no policy earns more")
    ax.step(samples, lower, where="post", color=ADAPTIVE_LINE, linewidth=1.2, label="the policy earns at least")
    ax.set_xscale("log")
    ax.set_xlabel("samples")
    ax.set_ylabel("expected best return")
    ax.legend(frameon=False, loc="best")
    return figure
