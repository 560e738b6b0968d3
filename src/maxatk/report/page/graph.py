"""The states of a problem without a grid, as a graph, in the order in which a try can reach them.

It is plain SVG; the page's script colours the states by their actions, and marks the current state of the trial.
"""

import textwrap
from collections.abc import Mapping
from html import escape

from maxatk.problem.mdp import MDP
from maxatk.report.template import Html

MOST_STATES = 24
WIDE, HIGH, ACROSS, BELOW = 620, 36, 34, 14  # of the picture and a state, and the gaps between states
LETTER = 6.2  # the mean width of a letter


def graph(mdp: MDP, first: Mapping[int, int], names: Mapping[int, str]) -> Html | None:
    """The states, and a line wherever some action may lead from one to another; None if there are too many states.

    Args:
        mdp: the problem.
        first: the first step at which a try can be in a state, for all states that it can reach.
        names: the names of those states.
    """
    states = sorted(first)
    if not 1 < len(states) <= MOST_STATES:
        return None
    steps = [[s for s in states if first[s] == h] for h in sorted({first[s] for s in states})]
    most = max(map(len, steps))
    down = len(steps) > 4 and most < 4  # a chain has more room from the top down
    columns, rows = (most, len(steps)) if down else (len(steps), most)
    wide = min(max(WIDE / columns - ACROSS, 84.0), 190.0)
    at: dict[int, tuple[float, float]] = {}
    for n, together in enumerate(steps):
        for m, s in enumerate(together):
            middle = m + (most - len(together)) / 2
            x, y = (middle, n) if down else (n, middle)
            at[s] = ACROSS / 2 + x * (wide + ACROSS), BELOW + y * (HIGH + BELOW)
    width, tall = columns * (wide + ACROSS), rows * (HIGH + BELOW) + 2 * BELOW
    parts = [f'<svg id="graph" viewBox="0 0 {width:g} {tall:g}" style="max-width: {1.15 * width:g}px">']
    for s in states:
        for after, actions in _leads(mdp, first[s], s, at).items():
            taken = " ".join(map(str, actions))
            parts.append(f'<path d="{_line(at[s], at[after], wide)}" data-from="{s}" data-actions="{taken}"/>')
    parts += [_state(s, *at[s], wide, names[s]) for s in states]
    return Html("".join([*parts, "</svg>"]))


def _leads(mdp: MDP, h: int, s: int, known: Mapping[int, object]) -> dict[int, list[int]]:
    """The successors of a state, without itself, and the actions that lead there."""
    leads: dict[int, list[int]] = {}
    for a in mdp.actions(h, s):
        for after in {o.next_state for o in mdp.outcomes(h, s, a)}:
            if after is not None and after != s and after in known:
                leads.setdefault(after, []).append(a)
    return leads


def _line(a: tuple[float, float], b: tuple[float, float], wide: float) -> str:
    """A curve from one state to another: through the gap between them if there is one, else around."""
    (ax, ay), (bx, by), right = a, b, a[0] + wide
    y, z = ay + HIGH / 2, by + HIGH / 2
    if bx >= right:
        bend = (bx - right) / 2
        return f"M{right:g} {y:g}C{right + bend:g} {y:g} {bx - bend:g} {z:g} {bx:g} {z:g}"
    if by - ay == HIGH + BELOW:  # the next below
        return f"M{ax + wide / 2:g} {ay + HIGH:g}L{bx + wide / 2:g} {by:g}"
    if bx == ax:
        return f"M{right:g} {y:g}q{0.7 * ACROSS:g} {(z - y) / 2:g} 0 {z - y:g}"
    return f"M{ax + wide / 2:g} {ay:g}Q{(right + bx) / 2:g} {min(ay, by) - 24:g} {bx + wide / 2:g} {by:g}"


def _state(s: int, x: float, y: float, wide: float, name: str) -> str:
    lines = textwrap.wrap(name, max(int((wide - 8) / LETTER), 1), max_lines=2, placeholder=" …") or [""]
    words = "".join(
        f'<text x="{x + wide / 2:g}" y="{y + HIGH / 2 + 4 + 14 * (n - (len(lines) - 1) / 2):g}">{escape(line)}</text>'
        for n, line in enumerate(lines)
    )
    return (
        f'<g data-state="{s}"><title>{escape(name)}</title>'
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{HIGH}" rx="6"/>{words}</g>'
    )
