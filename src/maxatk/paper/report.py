"""The report of a reproduction: ``report.html`` with all it shows in itself, ``results.json``, and the figures.

Every file is written beside its place and then moved there, so that it is whole or not there at all.
"""

import base64
import dataclasses
import html
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from maxatk.paper.claim import Check, Claim, Table, Verdict, text

FORMATS = ("png", "svg")  # the page shows the last
MEANING = {
    Verdict.HOLDS: "the numbers agree with what the paper prints",
    Verdict.TIGHTENED: "what the paper prints holds, and more does",
    Verdict.ADDED: "the paper leaves it open; the number is ours",
    Verdict.CORRECTED: "the numbers contradict what the paper prints and agree with the correction",
    Verdict.FAILS: "the numbers contradict what we expect",
}
STYLE = """
body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #1a1a1a; max-width: 62rem; margin: 2rem auto;
  padding: 0 1.2rem }
h1, h2, h3, th, .verdict, nav { font-family: Helvetica, Arial, sans-serif }
h1 { font-size: 1.7rem; line-height: 1.25 } h2 { margin-top: 3rem; border-top: 2px solid #333; padding-top: 0.8rem }
h3 { font-size: 0.95rem; margin: 1.4rem 0 0.3rem }
table { border-collapse: collapse; font-size: 0.86rem; margin: 0.4rem 0 1.2rem; width: 100% }
th { text-align: left; border-bottom: 1.5px solid #333; font-size: 0.78rem; padding: 0.25rem 0.7rem 0.25rem 0 }
td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.7rem 0.25rem 0; vertical-align: top; overflow-wrap: anywhere }
caption { text-align: left; font-style: italic; padding-bottom: 0.3rem }
sub, sup { line-height: 0 } .claim { white-space: nowrap }
.scroll { overflow-x: auto } figure { margin: 1.2rem 0; text-align: center } img { max-width: 100%; height: auto }
figcaption { font-size: 0.86rem; text-align: left } code, pre { font-size: 0.84rem; background: #f4f4f2 }
pre { padding: 0.5rem 0.8rem; overflow-x: auto } nav a { margin-right: 0.9rem; white-space: nowrap }
.verdict { font-size: 0.76rem; font-weight: bold; white-space: nowrap } a { color: #0059a0 }
.holds::before { content: '✓ ' } .tightened::before { content: '✓ ' } .added::before { content: '+ ' }
.corrected::before { content: '≠ ' } .fails::before { content: '✗ ' }
.holds, .tightened { color: #00684a } .added { color: #0059a0 } .corrected { color: #8a4b00 } .fails { color: #b00020 }
@media print { body { font-size: 10pt; max-width: none } h2, figure, tr { break-inside: avoid } nav { display: none } }
"""


def draw(out: Path, claim: Claim) -> dict[str, bytes]:
    """Write the figures of a claim, and return them as SVG, by name."""
    vectors: dict[str, bytes] = {}
    for picture in claim.pictures:
        for kind in FORMATS:
            vectors[picture.name] = _image(picture.figure, kind)  # the last kind stays
            _put(out / "figures" / f"{picture.name}.{kind}", vectors[picture.name])
    return vectors


def write(out: Path, claims: Sequence[Claim], run: Mapping[str, Any], vectors: Mapping[str, bytes]) -> None:
    """Write the page and the numbers of the claims at hand; ``run`` says how they were computed."""
    _put(out / "results.json", json.dumps(results(claims, run), indent=1, ensure_ascii=False).encode())
    _put(out / "report.html", _page(claims, run, vectors).encode())


def results(claims: Iterable[Claim], run: Mapping[str, Any]) -> dict[str, Any]:
    """Every number: fractions as strings; ``numbers`` are the same on every machine, ``measured`` are not."""
    return {
        "run": _plain(run),
        "claims": {
            claim.name: {
                "checks": [_plain(dataclasses.asdict(c)) for c in claim.checks],
                "numbers": _plain(claim.numbers),
                "measured": _plain(claim.measured),
                "seeds": _plain(claim.seeds),
                "figures": [picture.name for picture in claim.pictures],
            }
            for claim in claims
        },
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Fraction):
        return str(value)
    known: Any = value
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in known.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in known]
    return known.item() if isinstance(value, np.generic) else known


def _put(path: Path, data: bytes) -> None:
    """Write a file that is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _image(figure: Any, kind: str) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


# The page.


def _page(claims: Sequence[Claim], run: Mapping[str, Any], vectors: Mapping[str, bytes]) -> str:
    counts = {v: sum(c.verdict is v for claim in claims for c in claim.checks) for v in Verdict}
    total = sum(counts.values())
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    rows = "".join(
        f'<tr><td class="claim">{_link(claim) if first else ""}</td>{_cells(c)}</tr>'
        for claim in claims
        for first, c in ((j == 0, c) for j, c in enumerate(claim.checks))
    )
    legend = "".join(
        f'<li><span class="verdict {v}">{v}</span> ({counts[v]}): {MEANING[v]}.</li>' for v in Verdict if counts[v]
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>max@k, recomputed</title><style>{STYLE}</style></head><body>
<h1>“Theoretical Foundations of max@k Reinforcement Learning”, recomputed</h1>
<p>Every claim of the paper by R. Poiani, M. Bernasconi and A. Celli that can be computed: {total} checks of
{len(claims)} claims, each with the paper's number beside ours. Verdicts follow from the numbers. This is the
{"quick" if run["quick"] else "full"} run; <code>{_esc(run["command"])}</code> makes it again, and
<code>results.json</code> has every number. Times vary between machines; all else is reproducible from the seeds.</p>
<nav>{" ".join(_link(claim) for claim in claims)}</nav>
<h3>Verdicts</h3><ul>{legend}</ul>
<div class="scroll"><table><thead><tr><th>claim</th><th>what was checked</th><th>the paper</th><th>ours</th>
<th>verdict</th></tr></thead><tbody>{rows}</tbody></table></div>
{"".join(_section(claim, run, vectors) for claim in claims)}
<h2>Letters and versions</h2>
<p>The paper counts rollouts, steps, states and actions from 1, the code from 0. K rollouts of H steps, S states, A
actions: <code>k</code>, <code>horizon</code>, <code>n_states</code>, <code>n_actions</code>. M, the best return of the
finished rollouts: <code>best</code>. G, the return of the present one before the present step: <code>so_far</code>.
Every section has its own letters.</p><p>{_esc(versions)}.</p></body></html>
"""


def _section(claim: Claim, run: Mapping[str, Any], vectors: Mapping[str, bytes]) -> str:
    letters = "".join(f"<tr><td>{_prose(a)}</td><td><code>{_esc(b)}</code></td></tr>" for a, b in claim.letters)
    figures = "".join(
        f'<figure><img alt="{_esc(p.caption)}" src="data:image/svg+xml;base64,{_base64(vectors[p.name])}">'
        f"<figcaption>{_prose(p.caption)} (figures/{p.name}.png, .svg)</figcaption></figure>"
        for p in claim.pictures
    )
    command = f"maxatk paper --only {claim.name} --out {claim.name}" + (" --quick" if run["quick"] else "")
    seeds = "; ".join(f"{name}: {seed}" for name, seed in claim.seeds.items())
    return f"""<h2 id="{claim.name}">{_esc(claim.title)}</h2>
<p><b>The paper.</b> {_prose(claim.paper)}</p><p><b>What was computed.</b> {_prose(claim.method)}</p>
<div class="scroll"><table><thead><tr><th>what was checked</th><th>the paper</th><th>ours</th><th>verdict</th></tr>
</thead><tbody>{"".join(f"<tr>{_cells(c)}</tr>" for c in claim.checks)}</tbody></table></div>
{figures}{"".join(_table(t) for t in claim.tables)}
<h3>Letters</h3><table>{letters}</table>
<h3>Again</h3><pre>{_esc(command)}</pre><p>{_esc(f"Seeds: {seeds}." if seeds else "Nothing here is random.")}
The code: <code>maxatk/paper/{claim.name}.py</code>.</p>
"""


def _cells(c: Check) -> str:
    cells = "".join(f"<td>{_prose(x)}</td>" for x in (c.what, c.paper, c.ours))
    return f'{cells}<td class="verdict {c.verdict}">{c.verdict}</td>'


def _table(table: Table) -> str:
    head = "".join(f"<th>{_prose(x)}</th>" for x in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_prose(text(x))}</td>' for x in row)}</tr>" for row in table.rows)
    return (
        f'<div class="scroll"><table><caption>{_prose(table.caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _link(claim: Claim) -> str:
    return f'<a href="#{claim.name}">{_esc(claim.title.split(":")[0])}</a>'


def _prose(value: str) -> str:
    """Text for the page, with ``s_1`` and ``2^H`` raised and lowered; names of code are left alone."""
    found = re.sub(r"\b([A-Za-zΠτκ]|OPT)_(?:\{([^}]*)\}|(\w+))", r"\1<sub>\2\3</sub>", _esc(value))
    return re.sub(r"\^(?:\{([^}]*)\}|\(([^)]*)\)|([−\w]+))", r"<sup>\1\2\3</sup>", found)


def _esc(value: object) -> str:
    return html.escape(str(value))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
