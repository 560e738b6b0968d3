"""The report of a reproduction: ``report.html``, which is self-contained, ``results.json``, and the figures.

Every file is written atomically.
"""

import base64
import dataclasses
import html
import io
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from maxatk.base.archive import atomic_write
from maxatk.paper.claim import Claim, Verdict, text
from maxatk.report.template import Html, part, render

FORMATS = ("png", "svg")  # the page shows the last
MEANING = {
    Verdict.HOLDS: "the numbers agree with what the paper prints",
    Verdict.TIGHTENED: "what the paper prints holds, and more does",
    Verdict.ADDED: "the paper leaves it open; the number is ours",
    Verdict.CORRECTED: "the numbers contradict what the paper prints and agree with the correction",
    Verdict.REMARK: "no number contradicts what the paper prints; the line says what to know when you use it",
    Verdict.FAILS: "the numbers contradict what we expect",
}


def draw(out: Path, claim: Claim) -> dict[str, bytes]:
    """Write the figures of a claim, and return them as SVG, by name."""
    vectors: dict[str, bytes] = {}
    for picture in claim.pictures:
        for kind in FORMATS:
            vectors[picture.name] = _image(picture.figure, kind)  # the last kind stays
            _put(out / "figures" / f"{picture.name}.{kind}", vectors[picture.name])
    return vectors


def write(out: Path, claims: Sequence[Claim], run: Mapping[str, Any], vectors: Mapping[str, bytes]) -> None:
    """Write the page and the numbers of the claims so far; ``run`` describes how they were computed."""
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
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(data)


def _image(figure: Any, kind: str) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


def _page(claims: Sequence[Claim], run: Mapping[str, Any], vectors: Mapping[str, bytes]) -> str:
    return render(
        part("maxatk.paper", "report.html"),
        {"prose": prose, "text": text},
        claims=claims,
        checks=[check for claim in claims for check in claim.checks],
        texts=tomllib.loads(part("maxatk.paper", "texts.toml")),
        meanings=MEANING,
        run=run,
        images={name: base64.b64encode(svg).decode() for name, svg in vectors.items()},
        style=Html(part("maxatk.paper", "report.css")),
    )


def prose(value: str) -> Html:
    """Text as HTML, with ``s_1`` and ``2^H`` lowered and raised; names of code are left alone."""
    lowered = re.sub(r"\b([A-Za-zΠτκ]|OPT)_(?:\{([^}]*)\}|(\w+))", r"\1<sub>\2\3</sub>", html.escape(value))
    return Html(re.sub(r"\^(?:\{([^}]*)\}|\(([^)]*)\)|([−\w]+))", r"<sup>\1\2\3</sup>", lowered))
