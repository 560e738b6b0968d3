"""The playground as a part of a page: its text, and its scripts in the order in which they build on each other."""

from .cache import ROOT

FOLDER = ROOT / "docs" / "playground"
SCRIPTS = ("planner.js", "thread.js", "state.js", "draw.js", "walker.js", "playground.js")


def markdown() -> str:
    """What the page asks for."""
    scripts = "".join(f'<script src="playground/{name}"></script>\n' for name in SCRIPTS)
    return (FOLDER / "playground.html").read_text() + scripts
