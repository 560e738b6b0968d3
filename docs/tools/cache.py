"""What takes long is computed once for each state of the code, and kept out of git."""

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "docs"
CODE = {".py", ".js", ".css", ".html"}


@cache
def digest(*places: Path) -> str:
    """A hash of all files of code at these places, as they were when it was first asked for.

    ``mkdocs serve`` sees files change, but goes on with the code that it has imported.
    """
    sha = hashlib.sha256()
    for place in places:
        for path in sorted(p for p in place.rglob("*") if p.suffix in CODE) if place.is_dir() else [place]:
            sha.update(str(path.relative_to(ROOT)).encode())
            sha.update(path.read_bytes())
    return sha.hexdigest()[:16]
