"""What takes long is computed once for each state of the code, and kept out of git."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "docs"


def digest(*places: Path) -> str:
    """A hash of all Python files at these places."""
    found = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(str(path.relative_to(ROOT)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
