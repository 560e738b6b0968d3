"""Notebooks of the documentation, run while the site is built, as Markdown with their output."""

import json
import re
from typing import Any

from .cache import FOLDER, ROOT, digest

NOTEBOOKS = ROOT / "docs" / "notebooks"


def names() -> list[str]:
    """The names of all notebooks."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def markdown(name: str) -> str:
    """The cells of a notebook with what they show; kept while the code and the notebook stay the same."""
    path = NOTEBOOKS / f"{name}.ipynb"
    kept = FOLDER / f"notebook-{name}-{digest(ROOT / 'src', path)}.md"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join(part for cell in _run(path.read_text())["cells"] for part in _shown(cell))
        kept.write_text(text)
    return kept.read_text()


def _run(text: str) -> dict[str, Any]:
    """The notebook with the output of its cells."""
    import nbclient
    import nbformat

    book = nbformat.reads(text, as_version=4)
    nbclient.NotebookClient(book, timeout=600).execute()
    return json.loads(nbformat.writes(book))


def _shown(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [re.sub(r"^# .*\n*", "", source)]  # the page has a heading of its own
    return [f"```py\n{source}\n```", *(_output(one) for one in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    for kind, begins in (("text/html", "<div"), ("image/svg+xml", "<svg")):
        if kind in data:
            drawn = "".join(data[kind])
            return f"<div>{_on_one_line(drawn[drawn.index(begins) :])}</div>"  # without an XML declaration
    return f"```text\n{''.join(data['text/plain'])}\n```"


def _on_one_line(drawn: str) -> str:
    """HTML without line ends, since Markdown ends it at a blank line; those of ``<pre>`` are written as entities."""
    parts = re.split(r"(<pre\b.*?</pre>)", drawn, flags=re.DOTALL)
    return "".join(
        part.replace("\n", "&#10;") if part.startswith("<pre") else re.sub(r"\s+", " ", part) for part in parts
    )
