"""The reproduction of the paper as a page: run when the site is built, and kept while the code is the same."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from maxatk.paper.claim import Verdict, counted
from maxatk.paper.report import prose

from .cache import FOLDER, ROOT, digest


def folder() -> Path:
    """Where the quick reproduction lies: report.html, results.json and figures; computed if need be."""
    out = FOLDER / f"paper-{digest(ROOT / 'src')}"
    if not (out / "done").exists():
        from maxatk.paper import reproduce

        for old in FOLDER.glob("paper-*"):
            shutil.rmtree(old)
        reproduce(out, quick=True)
        (out / "done").touch()
    return out


def summary() -> str:
    """How many checks there are, by verdict."""
    claims = _claims()
    verdicts = [Verdict(check["verdict"]) for claim in claims.values() for check in claim["checks"]]
    return f"{len(verdicts)} checks of {len(claims)} claims: {counted(verdicts)}."


def markdown() -> str:
    """A section for each claim: its checks with their verdicts, and its figures."""
    return "\n\n".join(_section(name, claim) for name, claim in _claims().items())


def _claims() -> dict[str, Any]:
    return json.loads((folder() / "results.json").read_text())["claims"]


def _section(name: str, claim: dict[str, Any]) -> str:
    rows = [
        f"| {_prose(check['what'])} | {_prose(check['paper'])} | {_prose(check['ours'])} | "
        f'<span class="verdict {check["verdict"]}">{check["verdict"]}</span> |'
        for check in claim["checks"]
    ]
    title = re.sub(r"(\d+)$", r" \1", name).capitalize()  # proposition1: Proposition 1
    figures = [f"![{title}: {figure}](paper/figures/{figure}.svg){{ .figure }}" for figure in claim["figures"]]
    table = ["| what was checked | the paper | ours | verdict |", "| --- | --- | --- | --- |", *rows]
    return "\n\n".join([f"### {title}", "\n".join(table), *figures])


def _prose(text: str) -> str:
    """Text of the report for a cell of a table. It is no Markdown, so that signs stand for themselves."""
    return re.sub(r"[\\`*\[\]!|$~_]", lambda sign: f"&#{ord(sign[0])};", prose(text))
