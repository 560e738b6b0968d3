"""The pictures of the pages, and the page of a plan that the tutorial links to: drawn anew when the code changes."""

from collections.abc import Callable
from pathlib import Path

import maxatk as mk

from .cache import ROOT, digest

DOCS = ROOT / "docs"
FOLDER = DOCS / "pictures"  # not in git


def fill(draw: Callable[[Path], object]) -> None:
    """Let ``draw`` fill the folder, unless what is there was drawn by the same code."""
    stamp, state = FOLDER / ".drawn", digest(ROOT / "src", DOCS / "pictures.py")
    if stamp.exists() and stamp.read_text() == state:
        return  # mkdocs serve watches the folder: what is not new must not be written
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER)
    mk.solve(mk.instances.windy_cliff(), 5).page(FOLDER / "windy_cliff.html")
    stamp.write_text(state)
