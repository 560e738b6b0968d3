"""Pages of plans in rounds: the verdict, what the tries of a round do, value against rounds."""

import re
from html import unescape

import pytest

import maxatk as mk
from maxatk.cli import main
from problems import one_line

pytest.importorskip("altair", reason="pages come with the extra page")


def told(path):
    """What a page says, without its scripts."""
    text = re.sub(r"<(script|style).*?</\1>", "", path.read_text(), flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", text)))


def test_a_table_of_tries(tmp_path):
    plan = mk.solve("figure1", 4, width=2)
    plan.page(tmp_path / "x.html")
    says = told(tmp_path / "x.html")
    assert "Best of 4 in 2 rounds of 2" in says
    assert "2 rounds of 2 keep at least 97.9 % of what 4 tries, one after another, add to a single one, in half" in says
    assert "this plan earns at least 0.753906 no policy earns more than 0.761719" in says
    assert "mostly, in try 1 try 2 s safe risky" in says
    assert "The last round, with a best so far of 0.5 mostly, in tries 3, 4 s risky" in says
    assert "2 at a time, alike" in says
    assert '<div id="rounds"' in (tmp_path / "x.html").read_text()


def test_maps_of_tries(tmp_path):
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 4, width=2)
    plan.page(tmp_path / "x.html", title="A cliff", comparison=False)
    text, says = (tmp_path / "x.html").read_text(), told(tmp_path / "x.html")
    assert says.startswith(" A cliff")
    assert text.count('<svg viewBox="0 0 120 40"') == 3  # two tries that differ, then two that do not
    assert "Tries 3, 4" in says
    assert "What rounds keep Not shown: it was not asked for" in says
    assert '<div id="rounds"' not in text


def test_exact_plans_and_comparisons(tmp_path):
    plan = mk.solve("figure1", 4, rounds=(1, 3), solver=mk.Exact())
    table = mk.compare(plan.mdp, 4, widths=(2, 4))
    plan.page(tmp_path / "x.html", comparison=table, names=["start"])
    says = told(tmp_path / "x.html")
    assert "no policy in 2 rounds of 1, 3 earns more than" in says
    assert "4 at a time, alike" in says
    assert "mostly, in try 1 start safe" in says
    for refused in (mk.compare(plan.mdp, 3), 1):
        with pytest.raises(mk.InputError, match="comparison") as error:
            plan.page(tmp_path / "y.html", comparison=refused)
        one_line(error.value)
    utility = mk.solve("figure1", 4, width=2, utility=[(0, 0), (0.5, 0), (1, 1)])
    with pytest.raises(mk.InputError, match="a plan for a utility has no page"):
        utility.page(tmp_path / "y.html")


def test_many_tries_of_a_round(tmp_path):
    """Those that do the same are shown together."""
    mk.solve("figure1", 40, width=20).page(tmp_path / "x.html", comparison=False)
    assert re.search(r"mostly, in (try|tries) [\d, to]+ (try|tries) [\d, to]+ s", told(tmp_path / "x.html"))


def test_at_the_command_line(tmp_path, capsys):
    path = tmp_path / "x.html"
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--page", str(path), "--no-compare"]) == 0
    assert f"wrote {path}" in capsys.readouterr().out.replace("\n", "")
    assert "Best of 4 in 2 rounds of 2" in told(path) or "figure1" in told(path)


@pytest.mark.slow
def test_in_a_browser(tmp_path, browser):
    mk.solve("figure1", 4, width=2).page(tmp_path / "x.html")
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "x.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    assert page.query_selector("#rounds svg")
    assert not errors
    page.close()
