"""Every picture of the documentation, drawn anew: ``python docs/pictures.py`` takes some seconds.

Pictures go to ``docs/pictures/``, which is not kept in the repository; the README's ``docs/first_and_last.svg`` is.
"""

import math
import shutil
import time
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import gallery
import guide_pictures
import maxatk as mk
import proof_pictures
import proof_pictures_later

HERE = Path(__file__).parent
ROOT = HERE.parent
NONE = -math.inf
ROWS, COLUMNS = 4, 12  # of the windy cliff
TOWARDS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}  # rows, columns


def draw(folder: Path) -> None:
    """Draw all pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams["svg.hashsalt"] = "maxatk"  # the same names within the file on every run
    cliff = mk.instances.windy_cliff()
    plan = mk.solve(cliff, k=5)
    compared = mk.compare(cliff, k=5, plan=plan)
    drawings = {
        "paths.svg": lambda: mk.figures.paths(plan),
        "curves.svg": lambda: mk.figures.curves(plan),
        "bounds.svg": lambda: bounds(plan),
        "action_map.svg": lambda: mk.figures.action_map(plan, rollout=4, step=9, state=2 * COLUMNS + 6),
        "comparison.svg": lambda: mk.figures.comparison(compared),
        "best_returns.svg": lambda: mk.figures.best_returns(compared),
        "figure1.svg": figure1,
        "proposition3.svg": proposition3,
        **guide_pictures.drawings(),
        **proof_pictures.drawings(plan),
        **proof_pictures_later.drawings(plan),
    }
    for name, drawing in drawings.items():
        began = time.perf_counter()
        drawing().savefig(folder / name, metadata={"Date": None}, facecolor="white")
        _say(folder / name, began)
    began = time.perf_counter()
    (folder / "first_and_last.svg").write_text(first_and_last(plan))
    _say(folder / "first_and_last.svg", began)
    began = time.perf_counter()
    plan.page(folder / "windy_cliff.html", title="Five walks along a windy cliff", comparison=compared)
    _say(folder / "windy_cliff.html", began)
    card(plan, compared).savefig(folder / "card.png", dpi=100, facecolor="white", metadata={"Software": None})
    gallery.draw(folder / "gallery")
    for kept in ("examples/deep_rl/results/long_cliff.png", "examples/deep_rl/results/headwind.png",
                 "examples/training/results/reinforce_cliff.png",
                 "examples/training/results/torch_loop.png", "benchmarks/results/growth.png",
                 "benchmarks/results/learning_growth.png"):  # fmt: skip
        shutil.copy(ROOT / kept, folder)


def card(plan: mk.Plan, compared: mk.Comparison) -> Any:
    """What is shown where somebody links to the site: 1200 by 630 dots."""
    figure = Figure(figsize=(12, 6.3))
    figure.text(0.06, 0.8, "You have K tries, and only the best counts", fontsize=38, weight="bold")
    figure.text(0.06, 0.68, "Five walks along a windy cliff", fontsize=26, color="#55555c")
    figure.text(
        0.06,
        0.44,
        f"repeat the best mean   {compared.rows[0].lower:.2f}".replace("-", "−"),
        fontsize=34,
        color="#0072B2",
    )
    figure.text(
        0.06, 0.28, f"adapt to the best so far   {plan.lower:.2f}".replace("-", "−"), fontsize=34, color="#B34700"
    )
    figure.text(0.06, 0.1, "maxatk: certified planning for the best of K", fontsize=24, color="#00695C")
    return figure


def _say(path: Path, began: float) -> None:
    print(f"{path.name}: {time.perf_counter() - began:.1f} s", flush=True)


def figure1() -> Any:
    """What three ways to make two tries are worth on the paper's first example, as the safe action fails more often."""
    gammas = [Fraction(i, 40) for i in range(21)]
    adaptive = [mk.solve(mk.instances.figure1(g), k=2, solver=mk.Exact()).exact for g in gammas]
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.subplots()
    x = [float(g) for g in gammas]
    ax.plot(x, [float(v) for v in adaptive], color="#D55E00", linewidth=2.2, label="look at the first try: adaptive")
    ax.plot(x, [5 / 8 - 3 * g / 8 for g in x], color="#0072B2", linewidth=1.6, label="safe once, risky once: Markov")
    ax.plot(x, [(1 - g * g) / 2 for g in x], color="#999999", linewidth=1.6, label="safe twice")
    ax.set_xlabel("γ, the chance that the safe action fails")
    ax.set_ylabel("expected best of two tries")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


def proposition3() -> Any:
    """What the second of two tries does at Proposition 3's choice, by M and G: neither can be left out."""
    return mk.figures.action_map(mk.solve(mk.instances.proposition3(), k=2), rollout=1, step=2, state=3)


def bounds(plan: mk.Plan) -> Any:
    """A curve between its tangents and its chords, with three knots."""

    def value(m: float) -> float:
        return sum(plan.curve(plan.k - 1, m)) / 2

    def slope(m: float) -> float:
        return (value(m + 0.01) - value(m - 0.01)) / 0.02

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.subplots()
    x = np.linspace(-40, -10, 301)
    knots = [-38.0, -23.0, -12.5]
    ax.plot(x, [value(m) for m in x], color="#0072B2", linewidth=2, label="the curve, with one try to come")
    above = np.interp(x, knots, [value(m) for m in knots], left=np.nan, right=np.nan)
    below = np.max([value(m) + slope(m) * (x - m) for m in knots], axis=0)
    ax.plot(x, above, color="#D55E00", linewidth=1.4, label="chords: never below it")
    ax.plot(x, below, color="#009E73", linewidth=1.4, label="tangents: never above it")
    ax.fill_between(x, below, above, color="#999999", alpha=0.25, linewidth=0)
    ax.plot(knots, [value(m) for m in knots], "o", color="black", markersize=5, label="knots: one slice each")
    ax.set_xlabel("best return so far, m")
    ax.set_ylabel("U(m)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


# The README's picture, in hand-made SVG: it has to be clear on a phone, and on white and on black.

CELL = 22
PANEL = COLUMNS * CELL
MARGIN = 14
WIDTH, HEIGHT = 3 * PANEL + 4 * MARGIN, 176
GROUND, ROCK, DEEP, PATH, INK, SOFT = "#f4efe4", "#5b5348", "#3d372f", "#d55e00", "#1f2328", "#59636e"
MOVING = (  # a walker on each way, who stands still for those who want no motion
    "<style>.walker { animation: walk 6s linear infinite } @keyframes walk { to { offset-distance: 100% } } "
    "@media (prefers-reduced-motion: reduce) { .walker { animation: none } }</style>"
)


def first_and_last(plan: mk.Plan) -> str:
    """The windy cliff's first try, and its last with no result yet and with one, side by side."""
    last, top = plan.k - 1, 40
    panels = (
        (0, NONE, "First try: gamble"),
        (last, NONE, "Last, no result yet: keep off"),
        (last, -16.0, "Last, best so far −16: gamble"),
    )
    assert walk(plan, last, -16.0)[0] == walk(plan, 0, NONE)[0] != walk(plan, last, NONE)[0]  # what the words say
    worth = f"Only the best of five walks counts. Repeating the best mean: −20.7. This plan: {plan.lower:.1f}."
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f"<title>{escape(f'Best of {plan.k} on a windy cliff: the first try and the last')}</title>",
        MOVING,
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
        *(
            part
            for n, (rollout, best, caption) in enumerate(panels)
            for part in _panel(plan, rollout, best, MARGIN + n * (PANEL + MARGIN), top, caption)
        ),
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" font-size="17" text-anchor="middle" fill="{SOFT}">'
        f"{worth.replace('-', '−')}</text>",
        "</svg>\n",
    ])  # fmt: skip


def darkened(svg: str) -> str:
    """The same picture for dark pages: paper, ground and ink change, the colours of the walk stay."""
    paper = f'height="{HEIGHT}" rx="10" fill="#ffffff"'
    for light, dark in (
        (paper, paper.replace("#ffffff", "#0d1117")),
        (GROUND, "#2b2f36"),
        (INK, "#e6edf3"),
        (SOFT, "#9da7b3"),
    ):
        svg = svg.replace(light, dark)
    return svg


def walk(plan: mk.Plan, rollout: int, best: float) -> tuple[list[int], list[str]]:
    """The cells of a walk in which the wind never blows where waiting is not meant, and the moves made in them."""
    mdp, names = plan.mdp, plan.mdp.action_names
    assert names is not None
    cells, moves, so_far = [int(mdp.start_state[0])], [], 0.0
    for h in range(mdp.horizon):
        action = plan.policy.action(rollout=rollout, step=h, state=cells[-1], best=best, so_far=so_far)
        moves.append(names[action])
        outcomes = mdp.outcomes(h, cells[-1], action)
        ahead = [o for o in outcomes if o.next_state != cells[-1] and o.reward > -100] or outcomes
        outcome = max(ahead, key=lambda o: o.prob)
        so_far += outcome.reward
        if outcome.next_state is None:
            return cells, moves
        cells.append(outcome.next_state)
    return cells, moves


def _panel(plan: mk.Plan, rollout: int, best: float, x: float, y: float, caption: str) -> list[str]:
    """A grid with its cliff, the walk of one try, and a caption above."""
    cells, moves = walk(plan, rollout, best)

    def centre(cell: int) -> tuple[float, float]:
        row, column = divmod(cell, COLUMNS)
        return x + (column + 0.5) * CELL, y + (row + 0.5) * CELL

    parts = [f'<text x="{x}" y="{y - 13}" font-size="17" font-weight="600" fill="{INK}">{escape(caption)}</text>']
    for cell in range(ROWS * COLUMNS):
        row, column = divmod(cell, COLUMNS)
        if row == ROWS - 1 and 0 < column < COLUMNS - 1:
            continue
        parts.append(
            f'<rect x="{x + column * CELL + 1}" y="{y + row * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="4" '
            f'fill="{GROUND}"/>'
        )
    parts += _cliff(x + CELL, y + (ROWS - 1) * CELL)
    goal = ROWS * COLUMNS - 1
    for cell, letter in ((cells[0], "S"), (goal, "G")):
        cx, cy = centre(cell)
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="10.5" fill="{"#0072b2" if letter == "S" else "#009e73"}"/>')
        parts.append(
            f'<text x="{cx}" y="{cy + 5}" font-size="14" font-weight="700" text-anchor="middle" fill="#ffffff">'
            f"{letter}</text>"
        )
    points = [centre(cell) for cell in [*cells, goal]]
    line = _shortened(points)
    parts.append(
        f'<polyline points="{" ".join(f"{px:g},{py:g}" for px, py in line)}" fill="none" stroke="{PATH}" '
        'stroke-width="4.5" stroke-linejoin="round" stroke-linecap="round"/>'
    )
    for (px, py), move in list(zip(points, moves, strict=False))[1:]:
        parts.append(_head(px, py, *TOWARDS[move]))
    way = "M" + " L".join(f"{px:g} {py:g}" for px, py in line)
    parts.append(
        f'<circle class="walker" r="6.5" fill="#ffffff" stroke="{PATH}" stroke-width="3" '
        f"style=\"offset-path: path('{way}')\"/>"
    )
    return parts


def _cliff(x: float, y: float) -> list[str]:
    """The cells of the cliff as one drop: an edge of rock, and the dark below."""
    width = (COLUMNS - 2) * CELL
    steps = COLUMNS * 2
    jagged = [(x + width * i / steps, y + 4 + (2 if i % 2 else -1) + 1.5 * math.sin(1.7 * i)) for i in range(steps + 1)]
    edge = " ".join(f"{px:.1f},{py:.1f}" for px, py in jagged)
    lower = " ".join(f"{px:.1f},{py + 6:.1f}" for px, py in jagged)
    bottom = f"{x + width},{y + CELL - 1} {x},{y + CELL - 1}"
    return [
        f'<polygon points="{edge} {bottom}" fill="{ROCK}"/>',
        f'<polygon points="{lower} {bottom}" fill="{DEEP}"/>',
        f'<text x="{x + width / 2}" y="{y + CELL - 4}" font-size="14" text-anchor="middle" fill="#f4efe4" '
        'letter-spacing="3">cliff</text>',
    ]


def _shortened(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The line of a walk, from the rim of the start's disc to that of the goal's."""

    def towards(a: tuple[float, float], b: tuple[float, float], by: float) -> tuple[float, float]:
        length = math.dist(a, b)
        return a[0] + (b[0] - a[0]) * by / length, a[1] + (b[1] - a[1]) * by / length

    return [towards(points[0], points[1], 12), *points[1:-1], towards(points[-1], points[-2], 15)]


def _head(px: float, py: float, down: int, across: int) -> str:
    """The head of an arrow that leaves a cell."""
    angle = math.degrees(math.atan2(down, across))
    return (
        f'<path d="M-4.5,-6.5 L6.5,0 L-4.5,6.5 Z" fill="{PATH}" '
        f'transform="translate({px + 9.5 * across:g} {py + 9.5 * down:g}) rotate({angle:g})"/>'
    )


if __name__ == "__main__":
    draw(HERE / "pictures")
    shutil.copy(HERE / "pictures" / "first_and_last.svg", HERE)
    (HERE / "first_and_last_dark.svg").write_text(darkened((HERE / "first_and_last.svg").read_text()))
