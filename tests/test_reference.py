"""The reference has every public name, and every public name says what it is and what it takes."""

import pytest

import maxatk as mk

pytest.importorskip("gymnasium", reason="mk.gym, which is documented too, needs the extra gym")

from tools import public


def test_the_reference_has_every_public_name():
    found = [public.resolve(name) for name in public.referenced()]
    assert [name for name in public.names() if public.resolve(name) not in found] == []


def test_the_reference_has_each_name_once():
    found = public.referenced()
    assert sorted(found) == sorted(set(found))


def test_all_that_the_reference_shows_is_documented():
    assert [fault for name in public.referenced() for fault in public.faults(name)] == []


class Lacking:
    """A class that lacks what the test above asks for."""

    told = 1  # by a comment
    untold = 1

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second

    def method(self, one: int, two: int) -> None:
        """Takes ``one``."""

    @property
    def silent(self) -> int:
        return self.told


def test_what_is_missing_is_found(monkeypatch):
    monkeypatch.setattr(mk, "Lacking", Lacking, raising=False)
    monkeypatch.setattr(mk, "__all__", [*mk.__all__, "Lacking"])
    assert "maxatk.Lacking" in set(public.names()) - set(public.referenced())
    assert list(public.faults("maxatk.Lacking")) == [
        "maxatk.Lacking does not describe first",
        "maxatk.Lacking does not describe second",
        "maxatk.Lacking.method does not describe two",
        "maxatk.Lacking.silent has no docstring",
        "maxatk.Lacking.untold has no comment",
        "maxatk.Lacking.first has no comment",
        "maxatk.Lacking.second has no comment",
    ]


def test_a_function_without_words_is_found(monkeypatch):
    monkeypatch.setattr(mk.figures, "curves", lambda plan, points: None)
    assert list(public.faults("maxatk.show.figures.curves")) == [
        "maxatk.show.figures.curves has no docstring",
        "maxatk.show.figures.curves does not describe plan",
        "maxatk.show.figures.curves does not describe points",
    ]
