"""What the site is built with: formulas, tables, the reference of commands, and the watch over requests."""

import itertools
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import adaptivity
from maxatk.cli import commands as cli
from tools import benchmarks, commands, home, hosts

DOCS = Path(__file__).parents[1] / "docs"
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


def test_what_is_maximised_over_stands_under_the_sign(maths):
    latex = r"\begin{aligned} V &= \max_a \sum_s p_s x \end{aligned}"
    made = maths.mathml(latex, block=True)
    assert "<munder><mo>max</mo><mi>a</mi></munder>" in made
    assert "<msub><mi>p</mi><mi>s</mi></msub>" in made
    assert "<msub><mo>max</mo>" in maths.mathml(latex)


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


def test_the_benchmarks_begin_with_five_rows():
    lines = benchmarks.summary().splitlines()
    assert len(lines) == 2 + 5
    rows = json.loads((benchmarks.RESULTS / "planner.json").read_text())["rows"]
    ends = [min(row["times faster"] for row in rows), max(row["times faster"] for row in rows)]
    assert [int(x.replace("\u202f", "")) for x in re.findall(r"[\d\u202f]+", lines[2].split("**")[1])] == ends
    page = (DOCS / "benchmarks.md").read_text()
    assert page.index("insert: benchmark summary") < page.index("## ")
    heads = {
        re.sub(r"[^a-z ]", "", line.lower()).strip().replace(" ", "-")
        for line in page.splitlines()
        if line[:3] == "## "
    }
    assert {link for line in lines for link in re.findall(r"\(#(.*?)\)", line)} <= heads


def test_one_setting_makes_the_link_and_the_card(monkeypatch):
    assert home.card("", "A page", "x") == ""
    made = home.card("https://example.org/maxatk/", 'A "page"', "x")
    assert 'property="og:image" content="https://example.org/maxatk/pictures/card.png"' in made
    assert "A &quot;page&quot;" in made
    assert set(home.urls()) <= {"Repository", "Documentation", "Homepage", "Changelog", "Issues"}


def test_the_address_of_a_page_is_no_request(tmp_path):
    (tmp_path / "page.html").write_text('<link rel="canonical" href="https://example.org/page.html">')
    assert list(hosts.requests(tmp_path)) == []


def test_the_maths_font_has_the_signs_of_every_formula(maths):
    ttlib = pytest.importorskip("fontTools.ttLib")
    pytest.importorskip("brotli", reason="reading woff2")
    font = ttlib.TTFont(DOCS / "style" / "fonts" / "stix-two-math-subset.woff2")
    assert "MATH" in font
    has = font.getBestCmap()
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        for formula in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, flags=re.DOTALL):
            latex = (formula[0] or formula[1]).strip()
            shown = "".join(ET.fromstring(maths.mathml(latex)).itertext())
            assert {c for c in shown if not c.isspace() and ord(c) not in has and ord(c) > 32} == set(), latex
    assert "SIL OPEN FONT LICENSE" in (DOCS / "style" / "fonts" / "OFL.txt").read_text()


def test_the_search_from_a_folder_fetches_nothing():
    settings = (DOCS.parent / "mkdocs.yml").read_text()
    assert "  - offline\n" in settings
    for name in re.findall(r"^    - (style/.*worker\.js)$", settings, flags=re.MULTILINE):
        assert "http" not in (DOCS / name).read_text()


def test_each_section_on_the_planner_has_a_claim_before_its_proof():
    import proof_pictures
    import proof_pictures_later

    _, *sections = (DOCS / "theory" / "planner.md").read_text().split("\n## ")
    assert len(sections) == 13
    for section in sections:
        assert 0 < section.index("**Claim.**") < section.index('??? note "Why"')
    drawn = set(re.findall(r"pictures/(\w+\.svg)", "".join(sections)))
    assert drawn - {"bounds.svg"} <= {*proof_pictures.drawings(None), *proof_pictures_later.drawings(None)}


def test_texts_of_proof_pictures_stand_clear():
    """No text lies over an axis, a curve, or another text."""
    import maxatk as mk
    import proof_pictures

    plan = mk.solve(mk.instances.windy_cliff(), k=5)
    for draw, texts in ((proof_pictures.slices, 3), (proof_pictures.flat, 2)):
        figure = draw(plan)
        figure.draw_without_rendering()
        [ax] = figure.axes
        boxes = [text.get_window_extent() for text in ax.texts]
        assert len(boxes) == texts
        assert all(ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1 and ax.bbox.y0 < box.y0 for box in boxes)
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
        points = np.concatenate([ax.transData.transform(line.get_xydata()) for line in ax.lines])
        assert not any(box.contains(x, y) for box in boxes for x, y in points)


@pytest.mark.parametrize(
    ("once", "values"), [(-28.46, [-20.67, -16.6, -15.96]), (0.5, [0.7, 0.7, 0.7]), (2.0, [2, 2, 2])]
)
def test_dots_of_the_gallery_lie_on_their_axis(once, values):
    import gallery

    svg = gallery.dots([(f"row {n}", x, "red") for n, x in enumerate(values)], once)
    dots = [float(x) for x in re.findall(r'<circle cx="(.*?)"', svg)]
    ticks = [(float(x), float(text.replace("−", "-"))) for x, text in re.findall(
        r'<text x="([\d.]+)" y="\d+" text-anchor="middle" font-size="10">(.*?)</text>', svg)]  # fmt: skip
    assert 2 <= len(ticks) <= 6
    (x0, t0), (x1, t1) = ticks[0], ticks[-1]
    for x, value in zip(dots, values, strict=True):
        assert t0 + (x - x0) * (t1 - t0) / (x1 - x0) == pytest.approx(value, abs=0.02 * (t1 - t0))


def test_every_entry_of_the_gallery_has_its_picture_and_code():
    import gallery
    import pictograms

    assert gallery.ENTRIES[0].name == "qualifying_laps"
    for entry in gallery.ENTRIES:
        ET.fromstring(f"<svg>{getattr(pictograms, entry.name)()}</svg>")
        compile(entry.code, entry.name, "exec")
    assert len({getattr(pictograms, entry.name)() for entry in (*gallery.ENTRIES, *gallery.LOGS)}) == 11


@pytest.mark.slow
def test_the_study_of_adapting_is_written_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(adaptivity, "KINDS", [("lotteries", {"horizon": 1}), ("adaptivity_gap", {"horizon": 1})])
    monkeypatch.setattr(adaptivity, "TRIES", (2, 4))
    monkeypatch.setattr("sys.argv", ["adaptivity.py", "--seeds", "1", "--out", str(tmp_path / "new")])
    adaptivity.main()
    lines = [line for line in (tmp_path / "new" / "adaptivity.md").read_text().splitlines() if line.startswith("| `")]
    assert [line.split(" | ")[:3] for line in lines] == [
        ["| `lotteries`", "1", "2"], ["| `lotteries`", "1", "4"],
        ["| `adaptivity_gap`", "1", "2"], ["| `adaptivity_gap`", "1", "4"],
    ]  # fmt: skip
    assert "<svg" in (tmp_path / "new" / "adaptivity.svg").read_text()
