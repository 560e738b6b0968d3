"""The first try and the last, side by side at the top of a page: small maps of a grid, or a table of states.

They are plain SVG and HTML, visible without a script; with scripts, a click on them chooses a moment.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from maxatk.comparison.contrast import Contrast
from maxatk.problem.grid import CellGrid
from maxatk.problem.mdp import MDP
from maxatk.report.template import Html
from maxatk.report.views import Panel, panels

ARROW = "M-3,-.9H.2V-2.6L3.4,0L.2,2.6V.9H-3Z"  # to the right, in a cell of ten by ten


@dataclass(frozen=True)
class Board:
    """One try."""

    title: str
    rollout: int
    best: float | None  # None for no result yet
    svg: Html | None  # a map; None if states are not cells


def boards(contrast: Contrast, grid: CellGrid | None, colours: Sequence[str]) -> list[Board]:
    """The tries of a contrast, with maps if there is a grid."""
    return boards_of(panels(contrast), contrast.mdp, grid, colours)


def boards_of(shown: Sequence[Panel], mdp: MDP, grid: CellGrid | None, colours: Sequence[str]) -> list[Board]:
    """Tries, with maps if there is a grid."""
    starts = mdp.start_state.tolist()
    return [
        Board(
            panel.title,
            panel.rollout,
            None if panel.best == -math.inf else panel.best,
            _map(panel, grid, starts, colours) if grid else None,
        )
        for panel in shown
    ]


def _map(panel: Panel, grid: CellGrid, starts: Sequence[int], colours: Sequence[str]) -> Html:
    parts = [f'<svg viewBox="0 0 {10 * grid.columns} {10 * grid.rows}" role="img" aria-label="{panel.title}">']
    for s, action in enumerate(panel.action):
        row, column = grid.cell(s)
        kind = (
            "goal" if s in grid.goals else "hazard" if s in grid.hazards else "wall" if s in grid.closed else "ground"
        )
        at = f'x="{10 * column + 0.3}" y="{10 * row + 0.3}"'
        parts.append(f'<rect class="{kind}" {at} width="9.4" height="9.4" rx="1.2" data-state="{s}"/>')
        if 0 <= action < len(grid.towards):
            down, right = grid.towards[action].tolist()
            turn = f"translate({10 * column + 5} {10 * row + 5}) rotate({math.degrees(math.atan2(down, right)):.4g})"
            shade = min(0.25 + 0.75 * math.sqrt(panel.visits[s]), 1.0)
            shape = f'<path d="{ARROW}"' if down or right else '<circle r="2.2"'
            parts.append(f'{shape} fill="{colours[action]}" opacity="{shade:.2f}" transform="{turn}"/>')
        elif action >= 0:
            parts.append(f'<text class="quit" x="{10 * column + 5}" y="{10 * row + 7.1}" font-size="6" '
                         'text-anchor="middle">×</text>')  # fmt: skip
        letter = "G" if s in grid.goals else "S" if [s] == starts else ""
        if letter:
            small = letter == "S" and action >= 0  # the arrow has the middle
            x, y, size = (1.6, 3.4, 3) if small else (5.0, 7.1, 6)
            at = f'x="{10 * column + x}" y="{10 * row + y}" font-size="{size}"'
            parts.append(f'<text class="{letter}" {at} text-anchor="middle">{letter}</text>')
    return Html("".join([*parts, "</svg>"]))
