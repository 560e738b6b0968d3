"""Parts of cards: HTML with a style of its own, legible in light and in dark notebooks. All text is escaped.

A card takes the tables of the terminal and the maps of pages; it computes nothing that takes long.
"""

import html
from collections.abc import Iterable, Sequence

import numpy as np
from rich.table import Table

from maxatk.base.types import Floats
from maxatk.report import palette
from maxatk.report.template import minus
from maxatk.report.tuning import TUNING

LONGEST_CELL, LONGEST_TEXT = 80, 2_000  # characters; the rest of a name or a sentence is left out
BINS, HEIGHT = 40, 44  # of a histogram
UNSHOWN = 0.005  # of the values, the least ones

_SHADES = {
    name.lower(): getattr(palette, name)
    for name in ("PAPER", "INK", "SOFT", "LINE", "PANEL", "MEAN", "ADAPTIVE", "GROUND", "HAZARD", "GOAL", "WALL")
}
_LIGHT, _DARK = (";".join(f"--mk-{name}:{shade[i]}" for name, shade in _SHADES.items()) for i in (0, 1))
# Notebooks say in different ways that they are dark; where none of them says it, the system's preference counts.
_SAID = {
    mode: (f'[data-jp-theme-light="{jupyter}"]', f".vscode-{mode}", f'[data-theme="{mode}"]', f'[theme="{mode}"]', site)
    for mode, jupyter, site in (
        ("dark", "false", '[data-md-color-scheme="slate"]'),
        ("light", "true", '[data-md-color-scheme="default"]'),
    )
}
STYLE = (
    f".mk-card{{{_LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{:where(:root) .mk-card{{{_DARK}}}}}"
    f"{','.join(f'{one} .mk-card' for one in _SAID['light'])}{{{_LIGHT}}}"
    f"{','.join(f'{one} .mk-card' for one in _SAID['dark'])}{{{_DARK}}}"
    ".mk-card{background:var(--mk-paper);color:var(--mk-ink);border:1px solid var(--mk-line);border-radius:8px;"
    "padding:10px 14px;margin:4px 0;max-width:920px;box-sizing:border-box;overflow-x:auto;"
    "font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums}"
    ".mk-card p{margin:4px 0;max-width:75ch;overflow-wrap:anywhere;color:inherit}"
    ".mk-card .mk-head{color:var(--mk-soft);font-size:13px;overflow-wrap:anywhere}"
    ".mk-card .mk-verdict{font-size:15px;font-weight:600}"
    ".mk-card .mk-note{color:var(--mk-soft);font-size:12.5px}"
    ".mk-card .mk-numbers{display:flex;flex-wrap:wrap;gap:8px;margin:8px 0}"
    ".mk-card .mk-numbers div{background:var(--mk-panel);border-radius:6px;padding:4px 12px}"
    ".mk-card .mk-numbers b{display:block;font-size:18px;font-weight:600}"
    ".mk-card .mk-numbers span{color:var(--mk-soft);font-size:12.5px}"
    ".mk-card .mk-mean b{color:var(--mk-mean)}.mk-card .mk-plan b{color:var(--mk-adaptive)}"
    ".mk-card table{border-collapse:collapse;margin:8px 0;font-size:13px;background:none;color:inherit}"
    ".mk-card th,.mk-card td{padding:2px 14px 2px 0;border:0;border-bottom:1px solid var(--mk-line);"
    "vertical-align:top;background:none;color:inherit;text-align:left}"
    ".mk-card th{color:var(--mk-soft);font-weight:500}"
    ".mk-card td:first-child{white-space:nowrap}"
    ".mk-card .mk-r{text-align:right;white-space:nowrap}"
    ".mk-card pre{margin:4px 0;white-space:pre-wrap;background:none;color:inherit;font-size:12.5px}"
    ".mk-card .mk-maps{display:flex;flex-wrap:wrap;gap:8px 20px;margin:8px 0}"
    ".mk-card figure{margin:0;flex:1 1 250px;max-width:400px}.mk-card figcaption{font-weight:600;font-size:13px}"
    ".mk-card figure svg{display:block;width:100%;max-height:230px}"
    ".mk-card .ground{fill:var(--mk-ground)}.mk-card .hazard{fill:var(--mk-hazard)}.mk-card .wall{fill:var(--mk-wall)}"
    ".mk-card .goal{fill:var(--mk-goal)}.mk-card svg text{font-weight:700;fill:var(--mk-ink);font-family:system-ui}"
    ".mk-card svg .G{fill:#fff}.mk-card svg path,.mk-card svg circle{stroke:var(--mk-ink);stroke-width:.35}"
    ".mk-card .mk-bars rect{fill:var(--mk-adaptive)}.mk-card .mk-bars svg{height:48px;max-width:400px}"
)


def text(given: object, longest: int = LONGEST_TEXT) -> str:
    """Text for HTML: escaped, with true minus signs, and cut if it is very long."""
    said = str(given)
    return html.escape(minus(said if len(said) <= longest else f"{said[: longest - 1]}…"))


def card(head: str, *parts: str) -> str:
    """A card: what it is about, and its parts, which are HTML already."""
    return f'<div class="mk-card"><style>{STYLE}</style><p class="mk-head">{text(head, 300)}</p>{"".join(parts)}</div>'


def verdict(sentences: str | Sequence[str]) -> str:
    """The leading sentences."""
    said = sentences if isinstance(sentences, str) else " ".join(sentences)
    return f'<p class="mk-verdict">{text(said)}</p>' if said else ""


def lines(said: Sequence[str]) -> str:
    """Sentences, each in a paragraph."""
    return "".join(f"<p>{text(one)}</p>" for one in said if one)


def note(said: str) -> str:
    """A sentence in small print."""
    return f'<p class="mk-note">{text(said)}</p>' if said else ""


def numbers(*shown: tuple[str, str, str]) -> str:
    """A few numbers, each with its name and its role: "mean", "plan" or none."""
    boxes = (
        f'<div class="mk-{role}"><span>{text(name, LONGEST_CELL)}</span><b>{text(number)}</b></div>'
        for name, number, role in shown
    )
    return f'<div class="mk-numbers">{"".join(boxes)}</div>'


def rows(headings: Sequence[str], cells: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A table; the columns in ``right`` are aligned there. What is beyond the longest one is counted."""
    sides = [' class="mk-r"' if i in right else "" for i in range(len(headings))]
    given = list(cells)
    lines = [
        "".join(f"<td{side}>{text(cell, LONGEST_CELL)}</td>" for side, cell in zip(sides, row, strict=True))
        for row in given[: TUNING.card_rows]
    ]
    head = "".join(
        f"<th{side}>{text(name, LONGEST_CELL)}</th>" if name else "<td></td>"
        for side, name in zip(sides, headings, strict=True)
    )
    heads = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    hidden = len(given) - len(lines)
    more = note(f"… and {hidden} more rows.") if hidden else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{heads}<tbody>{body}</tbody></table>{more}"


def table(shown: Table) -> str:
    """A table of the terminal."""
    right = [i for i, column in enumerate(shown.columns) if column.justify == "right"]
    cells = zip(*(column.cells for column in shown.columns), strict=True)
    return rows([str(column.header) for column in shown.columns], cells, right) if shown.row_count else ""


def plain(said: str) -> str:
    """Lines of text as they are."""
    return f"<pre>{text(said)}</pre>"


def histogram(values: Floats, weights: Floats | None, name: str) -> str:
    """A small histogram of all values but the least in two hundred; empty where they are all the same."""
    finite = np.isfinite(values)
    values, weights = values[finite], np.ones(int(finite.sum())) if weights is None else weights[finite]
    if not len(values):
        return ""
    order = np.argsort(values, kind="stable")
    first = int(np.searchsorted(np.cumsum(weights[order]), UNSHOWN * float(weights.sum())))
    low, high = float(values[order[first]]), float(values.max())
    if low == high:
        return ""
    counts, edges = np.histogram(values, BINS, (low, high), weights=weights)
    heights = HEIGHT * counts / counts.max()
    bars = "".join(
        f'<rect x="{5 * i}" y="{HEIGHT - h:.1f}" width="4.4" height="{h:.1f}"/>'
        for i, h in enumerate(heights.tolist())
        if h > 0.05
    )
    caption = f"{name}: {edges[0]:.6g} to {edges[-1]:.6g}"
    size = f'viewBox="0 0 {5 * BINS} {HEIGHT}" preserveAspectRatio="none"'
    picture = f'<svg {size} role="img" aria-label="{text(f"histogram, {caption}")}">{bars}</svg>'
    return f'<figure class="mk-bars"><figcaption>{text(caption)}</figcaption>{picture}</figure>'
