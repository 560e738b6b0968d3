"""The reference has every public name, and every public name says what it is and what it takes."""

import pytest

pytest.importorskip("griffe", reason="the source is read by Griffe")
pytest.importorskip("gymnasium", reason="mk.gym, which is documented too, needs the extra gym")

import griffe

from tools import public
from tools.docstrings import Docstrings

LACKING = '''
class Lacking:
    """A class that lacks what the test above asks for."""

    told = 1  # by a comment
    untold = 1

    def __init__(self, first: int, second: int) -> None:
        self.first = first
        self.second = second

    def method(self, one: int, two: int) -> None:
        """Takes ``one``."""

    @property
    def silent(self) -> int:
        return self.told


class Heir(Lacking):
    """Takes ``first`` and ``second``."""

    untold = 2  # at last

    def method(self, one: int, two: int) -> None:
        """Takes ``two``, and what it took before."""


def silent(plan, points):
    return None
'''


def test_the_reference_has_every_public_name():
    shown = {public.resolve(name).canonical_path for name in public.referenced()}
    assert [name for name in public.names() if public.resolve(name).canonical_path not in shown] == []


def test_the_reference_has_each_name_once():
    shown = public.referenced()
    assert sorted(shown) == sorted(set(shown))


def test_all_that_the_reference_shows_is_documented():
    assert [fault for name in public.referenced() for fault in public.faults(name, public.resolve(name))] == []


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        (
            "Lacking",
            [
                "Lacking does not describe first",
                "Lacking does not describe second",
                "Lacking.first has no comment",
                "Lacking.method does not describe two",
                "Lacking.second has no comment",
                "Lacking.silent has no docstring",
                "Lacking.untold has no comment",
            ],
        ),
        ("Heir", []),
        ("silent", ["silent does not describe plan", "silent does not describe points", "silent has no docstring"]),
    ],
)
def test_what_is_missing_is_seen(name, faults):
    source = {"__init__.py": LACKING}
    with griffe.temporary_visited_package("lacking", source, extensions=griffe.load_extensions(Docstrings)) as package:
        assert sorted(public.faults(name, package[name])) == faults


def test_a_name_that_no_page_has_is_missing(monkeypatch, tmp_path):
    (tmp_path / "page.md").write_text("::: maxatk.MDP\n\n::: maxatk.instances\n")
    monkeypatch.setattr(public, "REFERENCE", tmp_path)
    lacking = set(public.names()) - set(public.referenced())
    assert "maxatk.solve" in lacking
    assert not lacking & {"maxatk.MDP", "maxatk.instances.figure1"}
    assert "maxatk.MDP.save" in public.missing("")
