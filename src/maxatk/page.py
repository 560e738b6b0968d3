"""A plan as a web page: one file that needs no other, with its figures in it (extra ``plot``)."""

import base64
import io
import math
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from maxatk import figures
from maxatk.errors import InputError, TooLargeError
from maxatk.evaluation.contrast import contrast
from maxatk.formats import archive
from maxatk.planning.plan import Plan

_STYLE = """
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } img { max-width: 100%; }
td, th { padding: 0.15rem 0.9rem 0.15rem 0; text-align: right; } td { font-variant-numeric: tabular-nums; }
.value { font-size: 1.25rem; } .note { color: #555; }
"""


def write(plan: Plan, path: str | PathLike[str]) -> None:
    """Write the page of a plan to ``path``, whole or not at all."""
    archive.check_target(path)
    text = page(plan)
    try:
        with archive.atomic_write(Path(path)) as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def page(plan: Plan) -> str:
    """The page as text."""
    hand = "nothing" if plan.best_so_far == -math.inf else f"{float(plan.best_so_far):g}"
    sections = [
        f"<h1>Best of {plan.k}</h1>",
        f"<p>{escape(repr(plan.mdp))}, with {hand} in hand.</p>",
        f"<p class=value>The optimum lies between <b>{plan.lower:.6f}</b> and <b>{plan.upper:.6f}</b>.</p>",
        f"<p class=note>The plan's policy earns at least the lower number; no policy earns more than the upper. "
        f"({escape(str(plan.status))}; width {plan.gap:.2g}.)</p>",
        "<h2>What each further rollout is worth</h2>",
        _rollouts(plan),
        "<h2>What a best return is worth</h2>",
        _image(figures.curves(plan), "What a best return is worth with so many rollouts to come"),
        "<h2>What the policy does on the first try and on the last</h2>",
        *(f"<p>{escape(sentence.strip())}</p>" for sentence in _words(plan)),
        *_paths(plan),
    ]
    title = f"Best of {plan.k}: {plan.lower:.6g} to {plan.upper:.6g}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(sections)
        + "\n</body></html>\n"
    )


def _rollouts(plan: Plan) -> str:
    rows = ["<tr><th>rollouts<th>at least<th>at most"]
    for left in sorted({*range(1, min(plan.k, 10) + 1), plan.k}):
        lower, upper = plan.curve(plan.k - left, plan.best_so_far) if left < plan.k else (plan.lower, plan.upper)
        rows.append(f"<tr><td>{left}<td>{lower:.6f}<td>{upper:.6f}")
    return f"<table>{''.join(rows)}</table>"


def _words(plan: Plan) -> list[str]:
    try:
        return contrast(plan).sentences(most=6)
    except TooLargeError as error:
        return [f"Not told: {error}."]


def _paths(plan: Plan) -> list[str]:
    """Where the plan goes, if its states are the cells of a grid."""
    try:
        drawn = figures.paths(plan)
    except InputError:
        return []
    return ["<h2>Where it goes</h2>", _image(drawn, "The likeliest way on the first, the middle and the last try")]


def _image(figure: Any, words: str) -> str:
    """A figure as an image within the page: vectors, whose names cannot clash with another's."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}">'
