"""The pictures of the pages, drawn anew when the code changes."""

from collections.abc import Callable
from pathlib import Path

from .cache import ROOT, digest

DOCS = ROOT / "docs"
FOLDER = DOCS / "pictures"  # not in git


def fill(draw: Callable[[Path], object]) -> None:
    """Let ``draw`` fill the folder, unless what is there was drawn by the same code."""
    stamp, state = FOLDER / ".drawn", digest(ROOT / "src", *sorted(DOCS.glob("*.py")))
    if stamp.exists() and stamp.read_text() == state:
        return  # mkdocs serve watches the folder: what is not new must not be written
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER)
    stamp.write_text(state)
