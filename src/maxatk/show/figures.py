"""Results as people see them: figures, with Matplotlib (extra ``plot``). Each function returns a figure to save.

>>> import maxatk as mk
>>> plan = mk.solve(mk.instances.windy_cliff(), k=3)
>>> mk.figures.curves(plan).savefig("curves.png")        # doctest: +SKIP
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import MissingExtraError
from maxatk.base.types import Number
from maxatk.comparison.compare import Comparison
from maxatk.evaluation.typical import best_after, visits
from maxatk.planning.plan import Plan
from maxatk.policies import CompressedPolicy
from maxatk.problem.mdp import MDP
from maxatk.show import views
from maxatk.show.grid import find_grid
from maxatk.show.views import COLOURS


def _figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """A figure of so many inches and its axes [rows, columns]."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("figures need Matplotlib: pip install 'maxatk[plot]'") from None
    figure: Any = Figure(figsize=(width, height), layout="constrained")
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curves(plan: Plan, points: int = 300) -> Any:
    """What a best return is worth with so many rollouts to come: the curves ``U_i``, between their bounds.

    Args:
        plan: a plan.
        points: at how many best returns each curve is computed.

    >>> import maxatk as mk
    >>> mk.figures.curves(mk.solve(mk.instances.figure1(), k=2), points=5).axes[0].get_xlabel()
    'best return so far, M'
    """
    view = views.curves(plan, checks.integer(points, "points", least=2))
    figure, axes = _figure(6, 4)
    ax = axes[0, 0]
    for curve in view.curves:
        name = f"{curve.to_come} to come" if curve.to_come else "none: the best return itself"
        middle, form = (curve.lower + curve.upper) / 2, "-" if curve.to_come else "--"
        ax.fill_between(view.best, curve.lower, curve.upper, color=curve.colour, alpha=0.35, linewidth=0)
        ax.plot(view.best, middle, form, color=curve.colour, label=name, linewidth=1.6)
    if view.stop_at < math.inf:
        ax.axvline(view.stop_at, color=COLOURS[0], linewidth=1, linestyle=":", label="stop from here on")
    ax.set(xlabel=view.x, ylabel=view.y)
    ax.legend(title="rollouts", frameon=False)
    return figure


def action_map(plan: Plan, *, rollout: int, step: int, state: int, points: int = 121) -> Any:
    """What the plan does in one state at one step, by the best return so far and the return so far.

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
    's, step 0, rollout 2 of 2'
    """
    points = checks.integer(points, "points", least=2)
    i = checks.integer(rollout, "rollout", most=plan.k - 1)
    h = checks.integer(step, "step", most=plan.mdp.horizon - 1)
    s = checks.integer(state, "state", most=plan.mdp.n_states - 1)
    view = views.action_map(plan, i, h, s, points)
    count = len(view.so_far)
    figure, axes = _figure(6.5, min(1.5 + 0.3 * count, 4))
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = axes[0, 0]
    ax.pcolormesh(
        _edges(view.best), np.arange(count + 1), view.taken,
        cmap=ListedColormap(view.colours), vmin=-0.5, vmax=len(view.names) - 0.5, rasterized=True,
    )  # fmt: skip
    rows = np.unique(np.linspace(0, count - 1, min(count, 9)).round().astype(int))
    ax.set_yticks(rows + 0.5, [f"{view.so_far[r]:g}" for r in rows])
    present = sorted({a for row in view.taken for a in row})
    ax.legend(
        handles=[Patch(color=view.colours[a], label=view.names[a]) for a in present],
        frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.05), fontsize=9,
    )  # fmt: skip
    ax.set(xlabel=view.x, ylabel=view.y)
    ax.set_title(view.title, fontsize=10, loc="left")
    return figure


def paths(plan: Plan, shape: tuple[int, int] | None = None) -> Any:
    """Where a plan goes on a grid: the first rollout, the middle one, and the last, with and without a return in hand.

    The line follows the likeliest way out of every cell, the shade says how often a cell is visited. Cells that no
    rollout can be in (a cliff, a hole, a wall) are dark.

    Args:
        plan: a plan for a problem whose states are the cells of a grid, row by row.
        shape: rows and columns; read from state names such as ``row 3, column 0`` by default.
    """
    mdp, policy, k = plan.mdp, plan.policy, plan.k
    grid = find_grid(mdp, shape)
    rows, columns = grid.rows, grid.columns
    none = float(plan.best_so_far)
    panels = [(0, none)]
    if k > 1:
        later = sorted({k // 2, k - 1})
        panels += [(i, best_after(mdp, policy, i).quantile(0.5)) for i in later] + [(k - 1, none)]
    panels = list(dict.fromkeys(panels))
    figure, axes = _figure(max(0.55 * columns, 4), (0.45 * rows + 0.55) * len(panels), rows=len(panels))
    for ax, (i, best) in zip(axes[:, 0], panels, strict=True):
        seen = visits(mdp, policy, i, best).sum(axis=1).reshape(rows, columns)
        ax.imshow(np.sqrt(seen), cmap="Blues", vmin=0, vmax=2.5 * math.sqrt(max(seen.max(), 1e-9)))
        cells, last = _likeliest_path(mdp, policy, i, best)
        y, x = np.divmod(np.array(cells), columns)
        ahead = np.sign(grid.towards[last]).astype(int).tolist() if last >= 0 else [0, 0]
        if 0 <= y[-1] + ahead[0] < rows and 0 <= x[-1] + ahead[1] < columns:
            y, x = np.append(y, y[-1] + ahead[0]), np.append(x, x[-1] + ahead[1])
        for cell in grid.closed - {int(y[-1]) * columns + int(x[-1])}:
            ax.add_patch(_square(*grid.cell(cell)))
        ax.plot(x, y, color=COLOURS[6], linewidth=2.5, solid_joinstyle="round")
        for j in range(len(x) - 1):
            if (x[j], y[j]) != (x[j + 1], y[j + 1]):
                middle = (
                    (x[j] + x[j + 1]) / 2 + 0.12 * (x[j + 1] - x[j]),
                    (y[j] + y[j + 1]) / 2 + 0.12 * (y[j + 1] - y[j]),
                )
                ax.annotate(
                    "", middle, (x[j], y[j]),
                    arrowprops={"arrowstyle": "-|>", "color": COLOURS[6], "linewidth": 0, "mutation_scale": 14},
                )  # fmt: skip
        ax.plot(x[0], y[0], marker="o", color=COLOURS[6], markersize=7)
        ax.plot(x[-1], y[-1], marker="*", color=COLOURS[6], markersize=13)
        in_hand = "nothing in hand" if best == -math.inf else f"{best:g} in hand"
        ax.set_title(f"try {i + 1} of {k}, {in_hand}", fontsize=10, loc="left")
        ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#dddddd", linewidth=0.5)
        ax.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
        ax.spines[:].set_visible(True)
    return figure


def _square(row: int, column: int) -> Any:
    """A dark cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="#5b5348", edgecolor="#3d372f", linewidth=0.5)


def best_returns(comparison: Comparison) -> Any:
    """How likely each class of policies is to end with at least a given best return."""
    figure, axes = _figure(6, 4)
    ax = axes[0, 0]
    low, high = math.inf, -math.inf
    for colour, row in zip(COLOURS, comparison.rows, strict=False):
        if row.evaluation is None:
            continue
        law = row.evaluation.law
        above = 1 - np.append(0.0, np.cumsum(law.probs))[:-1]  # of at least each value
        ax.step(
            np.append(law.values, law.values[-1]), np.append(above, 0.0),
            where="pre", color=colour, label=row.name, linewidth=2.2 if row.name == "adaptive" else 1.4,
        )  # fmt: skip
        low, high = min(low, law.quantile(0.005)), max(high, float(law.values[-1]))
    pad = 0.03 * (high - low) or 1.0
    ax.set(xlim=(low - pad, high + pad), ylim=(0, 1.02), xlabel="best return", ylabel="probability of at least that")
    ax.legend(frameon=False, fontsize=9)
    return figure


def comparison(comparison: Comparison) -> Any:
    """The table of a comparison: what each class of policies earns, and at most could."""
    view = views.classes(comparison)
    figure, axes = _figure(7, 0.45 * len(view.rows) + 0.9)
    ax = axes[0, 0]
    for y, row in enumerate(view.rows):
        ax.plot([row.lower, row.upper], [y, y], color=row.colour, linewidth=2, solid_capstyle="butt")
        ax.plot([row.upper], [y], marker="|", color=row.colour, markersize=10)
        ax.plot([row.lower], [y], marker="o", color=row.colour, markersize=8)
        text = f"{row.lower:.5g}" + ("" if row.share is None else f"  ({100 * row.share:.0f} %)")
        ax.annotate(text, (row.lower, y), (0, 7), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(range(len(view.rows)), [row.name for row in view.rows])
    ax.set_ylim(len(view.rows) - 0.5, -0.7)
    ax.margins(x=0.18)
    ax.set_xlabel(f"{view.x}; {view.note}")
    return figure


def _edges(values: Any) -> Any:
    """Borders halfway between neighbours."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def _likeliest_path(mdp: MDP, policy: CompressedPolicy, rollout: int, best: Number) -> tuple[list[int], int]:
    """The states of a rollout in which every step brings its likeliest outcome, of those that lead elsewhere; and the
    action that ends it, or -1."""
    states, so_far = [int(mdp.start_state[np.argmax(mdp.start_prob)])], Fraction(0)
    for h in range(mdp.horizon):
        action = policy.action(rollout=rollout, step=h, state=states[-1], best=best, so_far=so_far)
        outcomes = mdp.exact_outcomes(h, states[-1], action)
        elsewhere = [outcome for outcome in outcomes if outcome.next_state != states[-1]]
        _, after, reward = max(elsewhere or outcomes, key=lambda outcome: outcome.prob)
        so_far += policy.remembered(reward)
        if after is None:
            return states, action
        states.append(after)
    return states, -1
