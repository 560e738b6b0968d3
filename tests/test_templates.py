"""Templates of sentences with names, numbers and tries that break careless ones."""

import math
import re

import pytest

import maxatk as mk
from maxatk.base.findings import Gain, Outcome
from maxatk.base.text import portion
from maxatk.comparison.contrast import Contrast, Spread, Try
from maxatk.report.words import contrasts, plans, verdict


@pytest.mark.parametrize("name", ["javelin", "qualifying_laps", "blackjack", "drafts"])
def test_names_of_actions_that_are_verbs_are_quoted(name):
    """Names such as "run up fully" and states such as "at the mark" do not run into the sentence around them."""
    plan = mk.solve(name, k=4)
    contrast = mk.contrast(plan)
    said = [*verdict.sentences(plan, contrast), *contrasts.sentences(contrast)]
    changes = [one for one in said if "instead of" in one]
    assert changes
    for sentence in changes:
        for change in re.findall(r"[^:;]+ instead of [^;]+", sentence):
            assert re.search(r'"[^"]+" instead of "[^"]+" \(.+\)', change), sentence
    assert not any(" in at " in one or "takes " in one or "in place of" in one for one in said)


def a_try(best, beats, mean=-20.0, low=-40.0, high=-15.0):
    spread = Spread(beats, mean, low, high)
    visits = mk.contrast(mk.solve(mk.instances.figure1(), 2)).first.visits
    return Try(1, best, spread, spread, visits)


def said_of(one):
    mdp = mk.instances.figure1()
    contrast = Contrast(mdp, 2, a_try(-math.inf, 1.0), (one,))
    return contrasts.sentences(contrast)[1:]


def test_a_decided_try_is_told_in_one_sentence():
    assert said_of(a_try(1.0, 0.0)) == ["Try 2 of 2, best so far 1: this try never beats it."]


@pytest.mark.parametrize(
    ("beats", "told"), [(0.9996, "99.96 %"), (1.0, "100 %"), (1e-5, "0.001 %"), (0.16149, "16.1 %"), (0.5, "50 %")]
)
def test_100_percent_means_all(beats, told):
    assert f"it beats that in {told} of all cases" in said_of(a_try(0.5, beats))[0]


@pytest.mark.parametrize("x", [0.0, 1e-12, 1e-4, 0.004, 0.5, 0.994, 0.9951, 0.99999, 1 - 1e-12, 1.0])
def test_shares_are_0_and_100_only_if_they_are(x):
    told = portion(x, x)
    assert (told == "0 %") == (x == 0)
    assert (told == "100 %") == (x == 1)
    assert float(told.removesuffix(" %")) == pytest.approx(100 * x, rel=0.06, abs=0.006)


def test_a_share_between_bounds():
    assert portion(0.25, 0.5) == "25 to 50 %"
    assert portion(0.9999, 1.0) == "99.99 to 100 %"


def gain(upper, rival=0.7227, unit=""):
    return Gain(lower=0.0, upper=upper, k=3, rival_lower=rival, rival_upper=rival, negligible=1e-3, unit=unit)


def test_tiny_gains_have_no_exponent_where_returns_are_ordinary():
    for upper in (8.7e-12, 9e-5, 1e-3):
        told = plans.gain(gain(upper), 0.7227, 0.7227)
        assert gain(upper).outcome is Outcome.DISPROVED
        assert not re.search(r"\de-\d", " ".join(told))
    assert plans.gain(gain(8.7e-12, unit="points"), 0.7, 0.7)[0].endswith("here: less than 0.0001 points.")
    assert "at most 8.7e-12" in plans.gain(gain(8.7e-12, rival=1e-9), 1e-9, 1e-9)[0], "small beside small returns"


@pytest.mark.slow
def test_whole_numbers_are_told_as_such():
    """Returns of the windy cliff are whole numbers, and so is the threshold at which it stops."""
    plan = mk.solve("windy_cliff", k=20, cost=0.5)
    assert "Stop as soon as your best is -17 or more" in str(plan)
    said = str(mk.contrast(mk.solve("windy_cliff", k=3)))
    assert re.search(r"at least 80 % of tries return between -\d+ and -\d+\.", said)


def test_at_least_80_percent_lie_between_the_quantiles():
    """What the sentence says, counted: ties at either end only add to it."""
    plan = mk.solve("blackjack", k=3)
    contrast = mk.contrast(plan)
    runs = mk.simulate(plan.mdp, plan.policy, trials=20_000, rng=0).returns[:, 0]
    inside = ((runs >= contrast.first.low) & (runs <= contrast.first.high)).mean()
    assert inside >= 0.79
