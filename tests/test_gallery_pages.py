"""The gallery says of each problem where the gain is, and that is so."""

import re

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("altair", reason="pages need the extra page")

import gallery
import maxatk as mk
from maxatk import attempts as at
from maxatk.base.findings import Share
from maxatk.comparison.classes import ONE_UNTIL, SINGLE

pytestmark = pytest.mark.slow  # a browser, or whole pages


@pytest.mark.parametrize(
    "entry", [entry for entry in gallery.ENTRIES if entry.name != "windy_cliff"], ids=lambda entry: entry.name
)  # which the README has
def test_where_the_gain_is(entry):
    plan = mk.solve(entry.mdp(), k=entry.k, abandon=entry.abandon)
    compared = mk.compare(plan.mdp, k=entry.k, plan=plan)
    alone = ONE_UNTIL if entry.abandon else SINGLE
    share = compared.share(compared[alone])
    if entry.kind == gallery.NOTHING:
        assert share is None
        assert plan.upper - compared.rows[0].lower < 1e-6
    elif entry.kind == gallery.TUNING:
        assert share >= Share.NEARLY_ALL
    else:
        assert entry.kind == gallery.PAYS
        assert share < Share.NEARLY_ALL
        if not entry.abandon:  # where the class is not bounded
            assert compared[alone].upper < plan.lower  # no policy that does not adapt has it all


def test_a_page_and_a_picture_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "ENTRIES", [entry for entry in gallery.ENTRIES if entry.name == "drafts"])
    some, _ = at.example_log().split(0.3, rng=0)
    monkeypatch.setattr(at, "example_log", lambda: some)
    said = []
    gallery.draw(tmp_path, said.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "drafts.html",
        "drafts.svg",
        "picked.html",
        "picked.svg",
        "restarts.html",
        "restarts.svg",
    ]
    assert "Drafts and revisions of a model" in (tmp_path / "drafts.html").read_text()
    assert len(said) == 1


def test_no_text_runs_over_another_or_a_dot(browser):
    """Whatever the numbers are; with the names of all cards."""
    rng = np.random.default_rng(0)
    names = [("repeat the mean", "one policy × 20", "adapt"), ("a vote", "the judge", "a perfect judge")]
    drawn = [gallery.restarts(at.study(at.example_log()).main)]
    for size in [1, 0.001, 1000] * 10:
        values = np.round(-size * rng.random(4), 4).tolist()
        drawn += [gallery.dots(list(zip(some, values, "abc", strict=False)), values[3]) for some in names]
        drawn.append(gallery.dots([("one arm", values[0], "a"), ("a sequence, advised", values[1], "b")]))
    page = browser.new_page()
    page.set_content(f"<style>svg {{ width: 300px; font-family: sans-serif }}</style>{''.join(drawn)}")
    over = page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap(svg => {
            const all = [...svg.querySelectorAll("text, circle")].map(one => [one, one.getBoundingClientRect()]);
            return all.flatMap(([one, a], i) => all.slice(i + 1).filter(([, b]) =>
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
                && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3
            ).map(([other]) => [one.textContent, other.textContent || "a dot"]));
        })"""
    )
    page.close()
    assert over == []


def test_cards_link_to_their_pages():
    text = gallery.markdown()
    names = [entry.name for entry in (*gallery.ENTRIES, *gallery.LOGS)]
    assert re.findall(r'href="pictures/gallery/(.*?)\.html"', text) == names
    assert "maxatk solve FrozenLake-v1 --horizon 30 -k 3 --page frozen_lake.html" in text
