"""Pages for everybody: axe-core finds no fault in contrast or structure, in light and in dark."""

import shutil
import warnings
from pathlib import Path

import pytest

import maxatk as mk
from maxatk import attempts as at
from tools.playground import FOLDER, SCRIPTS

pytestmark = pytest.mark.slow  # a browser
axe = pytest.importorskip("axe_playwright_python", reason="axe-core comes with the extra dev")
AXE = Path(axe.__file__).with_name("axe.min.js")
RUN = """async () => {
    const also = ["aria-dialog-name", "landmark-unique", "empty-table-header"];
    const { violations } = await axe.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
        rules: Object.fromEntries(also.map((name) => [name, { enabled: true }])),
    });
    return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => `${node.target}: ${node.html}`)]);
}"""
DOCS = Path(__file__).parents[1] / "docs"
SITE = ("index", "gallery", "notebooks/attempts", "benchmarks")  # pages of the site, the last with wide tables


def faults(page):
    """What axe finds on a page on which all is open."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.add_script_tag(content=AXE.read_text())
    return page.evaluate(RUN)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    mk.solve(mk.instances.windy_cliff(), 3).page(folder / "grid.html", title="A cliff")
    mk.solve(mk.instances.blackjack(), 2).page(folder / "table.html", title="Cards")
    mk.solve(mk.instances.speedrun(), 4, abandon=True).page(folder / "costs.html", title="A run")
    mk.solve(mk.find_problem("FrozenLake-v1", horizon=12), 2).page(folder / "nothing.html", title="A lake")
    mk.solve(mk.instances.windy_cliff(), 4, width=2).page(folder / "rounds.html", title="Side by side")
    at.study(at.example_log()).page(folder / "study.html", title="Restarts")
    read = {name: (FOLDER / f"playground.{name}").read_text() for name in ("css", "html")}
    scripts = "".join(f"<script>{(FOLDER / name).read_text()}</script>" for name in SCRIPTS)
    (folder / "playground.html").write_text(
        "<!doctype html><html lang=en><title>playground</title><meta name=viewport content='width=device-width'>"
        f"<style>{read['css']}</style><main><h1>Playground</h1>{read['html']}</main>{scripts}"
    )
    cards = [
        mk.instances.windy_cliff(),
        mk.simulate(mk.instances.figure1(), mk.MarkovPolicy([[0]], k=2), trials=50, rng=0),
    ]
    (folder / "cards.html").write_text(
        "<!doctype html><html lang=en data-ready=yes><title>cards</title><main><h1>Cards</h1>"
        f"{''.join(one._repr_html_() for one in [*cards, at.example_judged_log().judge_report('judge')])}</main>"
    )
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["grid", "table", "costs", "nothing", "rounds", "study", "cards", "playground"])
def test_axe_finds_nothing(browser, pages, name, scheme):
    if (name, scheme) == ("playground", "dark"):
        pytest.skip("the playground is as dark as the site that holds it: tests of the site look there")
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    page = context.new_page()
    page.goto((pages / f"{name}.html").as_uri())
    page.wait_for_selector("[data-ready=yes]", state="attached")
    assert faults(page) == []
    context.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Some pages of the site, with its style and scripts; pictures are left out, but for the dots of the gallery."""
    pytest.importorskip("material", reason="the site comes with the extra docs")
    pytest.importorskip("ipykernel", reason="notebooks need the extra docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    import gallery

    folder = tmp_path_factory.mktemp("site")
    for name in ("style", "playground"):
        shutil.copytree(DOCS / name, folder / "docs" / name)
    for name in SITE:
        (folder / "docs" / name).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS / f"{name}.md", folder / "docs" / f"{name}.md")
    for entry in (*gallery.ENTRIES, *gallery.LOGS):
        drawn = gallery.dots([("repeat the mean", 1.0, gallery.MEAN), ("adapt", 2.0, gallery.ADAPT)], 0.5)
        (folder / f"{entry.name}.svg").write_text(drawn)
    (folder / "hook.py").write_text("from hooks import on_page_content, on_page_markdown\n")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of mkdocs
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        patch.setattr(gallery, "FOLDER", folder)
        build(
            load_config(
                str(DOCS.parent / "mkdocs.yml"), docs_dir=str(folder / "docs"), site_dir=str(folder / "site"),
                nav=[f"{name}.md" for name in SITE], hooks=[str(folder / "hook.py")], plugins=["search", "offline"],
                validation={},
            )
        )  # fmt: skip
    return folder / "site"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", SITE)
def test_axe_finds_nothing_on_the_site(browser, site, name, width, scheme):
    context = browser.new_context(
        color_scheme=scheme, reduced_motion="reduce", bypass_csp=True, viewport={"width": width, "height": 800}
    )
    page = context.new_page()
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_selector(".md-search[aria-label=Search]", state="attached")
    assert faults(page) == []
    context.close()
