"""Pages for everybody: axe-core finds no fault in contrast or structure, in light and in dark."""

from pathlib import Path

import pytest

import maxatk as mk
from maxatk import attempts as at
from tools.playground import FOLDER, SCRIPTS

pytestmark = pytest.mark.slow  # a browser
axe = pytest.importorskip("axe_playwright_python", reason="axe-core comes with the extra dev")
AXE = Path(axe.__file__).with_name("axe.min.js")
RUN = """async () => {
    const { violations } = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] });
    return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => `${node.target}: ${node.html}`)]);
}"""


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
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["grid", "table", "costs", "nothing", "rounds", "study", "playground"])
def test_axe_finds_nothing(browser, pages, name, scheme):
    if (name, scheme) == ("playground", "dark"):
        pytest.skip("the playground is as dark as the site that holds it: tests of the site look there")
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    page = context.new_page()
    page.goto((pages / f"{name}.html").as_uri())
    page.wait_for_selector("[data-ready=yes]", state="attached")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.add_script_tag(content=AXE.read_text())
    found = page.evaluate(RUN)
    context.close()
    assert found == []
