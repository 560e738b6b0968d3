"""That no page makes its reader's browser ask another host for anything; links that a reader may follow do not."""

import re
from collections.abc import Iterator
from pathlib import Path

ELSEWHERE = r"(?:https?:)?//"
REQUESTS = [
    re.compile(
        rf"<(?!a\b)[a-z]+\b[^>]*\s(?:src|srcset|href|data|poster|action)\s*=\s*[\"']?\s*{ELSEWHERE}[^>]*>", re.I
    ),
    re.compile(rf"url\(\s*[\"']?{ELSEWHERE}[^)]*\)", re.I),
    re.compile(rf"@import\s+[\"']{ELSEWHERE}[^;]*", re.I),
    re.compile(r'<[a-z]+ [^>]*class="mermaid"[^>]*>', re.I),  # the theme would fetch the script that draws these
]


def requests(site: Path) -> Iterator[str]:
    """Every request to another host in the pages and style sheets of a built site."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        text = path.read_text()
        for pattern in REQUESTS:
            asked = (
                match[0] for match in pattern.finditer(text) if 'rel="canonical"' not in match[0]
            )  # its own address
            yield from (f"{path.relative_to(site)}: {line[:200]}" for line in asked)
