"""The notebooks of the documentation run, every cell of them, and show cards and figures."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["attempts", "gymnasium", "planner"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_kept_without_output(path):
    """Output is made when they are run, here and for the site: it cannot be out of date."""
    cells = json.loads(path.read_text())["cells"]
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code"
    )
    page = path.with_suffix(".md").read_text()
    assert f"({path.name})" in page, "a link to download it"
    assert f"<!-- insert: notebook {path.stem} -->" in page


def test_lines_of_text_keep_their_ends():
    """A card on one line, since a blank line ends HTML in Markdown; but what is preformatted is shown line by line."""
    from tools.notebooks import _output

    card = "<div>\n  <p>a\n\nb</p>\n<pre>one\n\n  two</pre>\n</div>"
    shown = _output({"output_type": "execute_result", "data": {"text/html": card}})
    assert "\n" not in shown
    assert "<p>a b</p>" in shown
    assert "<pre>one&#10;&#10;  two</pre>" in shown


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path, tmp_path):
    pytest.importorskip("ipykernel", reason="notebooks need the extra docs")
    nbclient = pytest.importorskip("nbclient", reason="notebooks need the extra docs")
    nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra docs")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output.get("data", {})
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    kinds = {output.output_type for cell in book.cells if cell.cell_type == "code" for output in cell.outputs}
    assert kinds <= {"execute_result", "stream"}  # nothing shows itself unasked
    cards = [data["text/html"] for data in shown if "text/html" in data]
    assert len(cards) >= 3
    assert all("mk-card" in card and len(card) <= 100_000 for card in cards)
    assert all("\n" not in data["text/plain"] for data in shown if "text/html" in data)
    if path.stem == "planner":
        figures = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
        assert len(figures) == 2
        assert all(re.search(r"<svg [^>]*width=", figure) for figure in figures)
