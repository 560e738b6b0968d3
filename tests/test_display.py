"""Objects are shown through one door: what is registered for them, and what it costs."""

from importlib import import_module

import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.base import display
from maxatk.base.display import Displayed
from maxatk.base.findings import Loss
from maxatk.report.render import ways


def kinds(kind=Displayed):
    for name in ("findings", "attempts", "plans", "problems"):
        import_module(f"maxatk.report.render.{name}")
    for one in kind.__subclasses__():
        yield one
        yield from kinds(one)


def test_all_that_is_displayed_has_a_renderer():
    unknown = ways.text.dispatch(object), ways.words.dispatch(object)
    shown = [one for one in kinds() if one.__module__.startswith("maxatk.")]
    assert len(shown) >= 11
    lacking = [one for one in shown if (ways.text.dispatch(one), ways.words.dispatch(one)) == unknown]
    assert lacking == []
    assert [one for one in shown if one.__str__ is not Displayed.__str__] == []


def test_subclasses_are_shown_as_what_they_extend():
    class Mine(at.PassRange):
        pass

    given = {"k": 16, "attempts": 8, "lower": 0.5, "upper": 0.75, "tasks": 300, "level": 0.95}
    assert str(Mine(**given)) == str(at.PassRange(**given))


def test_findings_are_worded():
    met = Loss(lower=0.0, upper=0.1, target=0.2, delta=0.05, samples=9)
    assert display.words(met).startswith("The policy is within 0.1 of the optimum, with probability at least 0.95")


def test_what_nothing_shows_is_refused():
    with pytest.raises(TypeError, match=r"nothing in maxatk\.report shows a Point in this way"):
        display.figure(at.example_log().max_at_k(1, arm="DE")[0])
    with pytest.raises(TypeError, match="shows a object"):
        display.words(object())


def test_text_is_plain_in_a_terminal_with_colours(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    compared = mk.compare(mk.instances.figure1(), k=2)
    assert "\x1b" not in str(compared) + str(at.example_log().max_at_k(1))
