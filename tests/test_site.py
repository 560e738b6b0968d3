"""What the site is built with: formulas, tables, the reference of commands, and the watch over requests."""

import json
import re

import pytest

from maxatk.cli import commands as cli
from tools import benchmarks, commands, hosts

FORMULAS = {
    r"\max_{a} \sum_{s'} p(s' \mid s, a)\, V(s')": "∑",
    r"\mathbb{E}\left[\max(R_1, \dots, R_K)\right] \le \frac{1}{2}": "mfrac",
    r"\{0, 1\}^n": "msup",
    r"\begin{aligned} a &= b \\ &= c \end{aligned}": "mtable",
    r"\begin{cases} 1 & x \\ 2 & y \end{cases}": "mtable",
}
WRONG = [
    r"\nosuch{x}",
    r"\frac{1}",
    r"\frac{1}{2",
    "x}",
    "x^",
    "a & b",
    "x_1_2",
    r"\left( x",
    r"\begin{nothing} x \end{nothing}",
]


@pytest.fixture(scope="module")
def maths():
    pytest.importorskip("latex2mathml", reason="formulas need the extra docs")
    from tools import maths

    return maths


@pytest.mark.parametrize(("latex", "part"), FORMULAS.items())
def test_formulas_become_mathml(maths, latex: str, part: str):
    page = rf'<p>so <span class="arithmatex">\({latex.replace("&", "&amp;")}\)</span></p>'
    made = maths.with_mathml(page)
    assert made.startswith("<p>so <math")
    assert part in made.replace("&#x02211;", "∑")
    assert "arithmatex" not in made


@pytest.mark.parametrize("latex", WRONG)
def test_a_formula_that_cannot_be_read_is_an_error(maths, latex: str):
    with pytest.raises(maths.FormulaError):
        maths.mathml(latex)
    with pytest.raises(maths.FormulaError):
        maths.with_mathml(rf'<div class="arithmatex">\[{latex.replace("&", "&amp;")}\]</div>')


@pytest.mark.parametrize("name", benchmarks.names())
def test_tables_have_all_rows_of_their_file(name: str):
    rows = json.loads((benchmarks.RESULTS / f"{name}.json").read_text())["rows"]
    lines = benchmarks.table(name).split("\n\n")[0].splitlines()  # the machine may follow
    assert len(lines) == len(rows) + 2
    assert {line.count("|") for line in lines} == {len(rows[0]) + 1}


def test_numbers_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path)
    row = {"what": "a", "n": 12345678, "x": 0.00123456, "y": 1234.5, "z": 3e-14, "none": ""}
    for name in ("some", benchmarks.USUAL):
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": {}, "rows": [row]}))
    assert benchmarks.table("some").splitlines()[2] == "| a | 12\u202f345\u202f678 | 0.00123 | 1\u202f234 | 0 |  |"


def test_results_of_another_machine_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path)
    here = {"cpu": "a", "cores": 2, "memory_gib": 1.0, "python": "3", "packages": {}}
    for name, machine in ((benchmarks.USUAL, here), ("one", here), ("two", {**here, "cpu": "b"})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": machine, "rows": [{"x": 1}]}))
    assert benchmarks.machine() == "The machine, unless a table names another: a, 2 cores, 1 GiB, Python 3, ."
    assert "elsewhere" not in benchmarks.table("one")
    assert benchmarks.table("two").endswith("*Measured elsewhere: b, 2 cores, 1 GiB, Python 3, .*")


def test_every_command_and_option_is_in_the_reference():
    text = commands.markdown()
    for name, command in cli.commands.items():
        section = text.split(f"## maxatk {name}\n")[1].split("\n## ")[0]
        for option in command.params:
            assert option.param_type_name == "argument" or option.opts[0] in section
        assert f"maxatk {name}" in re.findall(r"```sh\n(.*)", section)[0]


@pytest.mark.parametrize(
    "line",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        "<img alt='x' src='http://example.org/badge.svg'>",
        "<style>@font-face { src: url(https://example.org/f.woff2) }</style>",
        '<style>@import "https://example.org/x.css";</style>',
        '<pre class="mermaid">graph</pre>',
    ],
)
def test_requests_to_other_hosts_are_found(tmp_path, line: str):
    (tmp_path / "page.html").write_text(f"<html>\n{line}\n</html>")
    assert len(list(hosts.requests(tmp_path))) == 1


def test_links_and_own_files_are_no_requests(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org">x</a><img src="a.png"><script src="../b.js"></script>'
        '<math xmlns="http://www.w3.org/1998/Math/MathML"></math><img src="data:image/svg+xml;base64,AA//">'
    )
    assert list(hosts.requests(tmp_path)) == []
