"""The reference has every public name, and every public name says what it is and what it takes."""

import pytest

pytest.importorskip("gymnasium", reason="mk.gym, which is documented too, needs the extra gym")

from tools import public  # noqa: E402


def test_the_reference_has_every_public_name():
    found = [public.resolve(name) for name in public.referenced()]
    assert [name for name in public.names() if public.resolve(name) not in found] == []


def test_the_reference_has_each_name_once():
    found = public.referenced()
    assert sorted(found) == sorted(set(found))


def test_all_that_the_reference_shows_is_documented():
    assert [fault for name in public.referenced() for fault in public.faults(name)] == []
