"""What mkdocs calls while it builds the site. The work is done in ``tools``, one file per thing.

A page asks for what is computed with a comment of its own, such as ``<!-- insert: benchmark planner -->``.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import gallery
import pictures
from tools import benchmarks, commands, deep_rl, drawn, hosts, maths, paper, playground, public, sources, training

ROOT = Path(__file__).parents[1]
INSERT = re.compile(r"^<!-- insert: (.*) -->$", re.MULTILINE)
SOURCE = re.compile(r"source (\S+) (\w+)")
SESSION = re.compile(r"^( *)```python(?=\n\1>>> )", re.MULTILINE)  # the pages say python, as the tests of them demand
INSERTS = {
    "gallery": gallery.markdown,
    "playground": playground.markdown,
    "commands": commands.markdown,
    "deep RL headwind": deep_rl.headwind,
    "deep RL long cliff": deep_rl.long_cliff,
    "machine": benchmarks.machine,
    "paper": paper.markdown,
    "paper summary": paper.summary,
    **{f"benchmark {name}": (lambda name=name: benchmarks.table(name)) for name in benchmarks.names()},
    **{f"training {name}": (lambda name=name: training.table(name)) for name in training.names()},
}


def on_pre_build(config: Any) -> None:
    """Draw the pictures, before mkdocs looks for files."""
    drawn.fill(pictures.draw)


def on_files(files: Files, config: Any) -> Files:
    """Add what lies elsewhere: plots of benchmarks, the report on the paper and its figures, the changelog."""
    report = paper.folder()
    added = {
        **{f"benchmarks/{path.name}": path for path in benchmarks.plots()},
        **{f"paper/figures/{path.name}": path for path in sorted((report / "figures").glob("*.svg"))},
        "paper/report.html": report / "report.html",
        "paper/results.json": report / "results.json",
        "changelog.md": ROOT / "CHANGELOG.md",
    }
    for uri, path in added.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put in what the page asks for, and colour sessions as such."""

    def insert(match: re.Match[str]) -> str:
        if source := SOURCE.fullmatch(match[1]):
            return sources.shown(*source.groups())
        if match[1] not in INSERTS:
            raise PluginError(f"{page.file.src_uri}: there is no insert {match[1]}")
        return INSERTS[match[1]]()

    sessions = SESSION.sub(r"\1```pycon", INSERT.sub(insert, markdown))
    return re.sub(r"^ *<BLANKLINE>$", "", sessions, flags=re.MULTILINE)  # which doctest needs, but no reader


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Turn formulas into MathML."""
    try:
        return maths.with_mathml(html)
    except maths.FormulaError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None


def on_post_build(config: Any) -> None:
    """Every public name must have a place in the reference, and no page may send its reader's browser elsewhere."""
    site = Path(config.site_dir)
    text = "\n".join(page.read_text() for page in sorted((site / "reference").glob("*.html")))
    missing = public.missing(text)
    if missing:
        raise PluginError(f"the reference does not show {', '.join(missing)}")
    asked = list(hosts.requests(site))
    if asked:
        raise PluginError("the site makes requests to other hosts:\n" + "\n".join(asked))
