"""What a policy does differently on the first try and on the last."""

import math

import numpy as np
import pytest

import golden
import maxatk as mk
from maxatk.evaluation.typical import best_after
from maxatk.problem.grid import places
from maxatk.report.words import contrasts


@pytest.fixture(scope="module")
def cliff():
    return mk.contrast(mk.solve(mk.instances.windy_cliff(), 5))


def test_the_numbers_of_figure1():
    """Safe at first; with 1/2 in hand risky, without it safe again (chances by hand)."""
    contrast = mk.contrast(mk.solve(mk.instances.figure1(gamma=0.25), 2))
    assert [(one.rollout, one.best) for one in (contrast.first, *contrast.last)] == [
        (0, -math.inf),
        (1, 0.5),
        (1, -math.inf),
    ]
    assert [one.mean for one in (contrast.first, *contrast.last)] == pytest.approx([0.375, 0.25, 0.375])
    assert [one.beats for one in (contrast.first, *contrast.last)] == pytest.approx([1, 0.25, 1])
    assert contrast.last[0].visits.tolist() == [[0, 1, 0]]  # nobody gives up
    assert contrast.first.differences(contrast.last[0]) == [(0, 1.0, 0, 1)]
    assert contrast.first.differences(contrast.last[1]) == []


def test_the_last_try_with_nothing_in_hand_is_the_best_single_one(cliff):
    assert cliff.last[-1].mean == pytest.approx(golden.WINDY_CLIFF[0], abs=2e-3)
    assert cliff.first.mean < cliff.last[-1].mean  # the first gambles, and pays for it on average


@pytest.mark.slow
def test_the_first_try_is_what_trials_show(cliff):
    """An independent count: the same rollouts, simulated."""
    plan = mk.solve(mk.instances.windy_cliff(), 5)
    runs = mk.simulate(plan.mdp, plan.policy, trials=20_000, rng=0)
    first = runs.returns[:, 0]
    assert abs(cliff.first.mean - first.mean()) <= 4 * first.std() / math.sqrt(len(first))
    assert cliff.first.low == pytest.approx(np.quantile(first, 0.1, method="inverted_cdf"))
    assert cliff.first.high == pytest.approx(np.quantile(first, 0.9, method="inverted_cdf"))
    before_last = runs.returns[:, :4].max(axis=1)
    assert cliff.last[0].best == np.median(before_last)
    like = runs.returns[before_last == cliff.last[0].best, 4]
    beaten = (like > cliff.last[0].best).mean()
    assert abs(cliff.last[0].beats - beaten) <= 4 * math.sqrt(0.25 / len(like))


def test_actions_count_only_while_they_matter():
    """Two steps of which the first pays 1 or 0: with 5 in hand nothing can matter, with 0.5 only a first step of 1."""
    table = [[[(0.5, 0, 1, False), (0.5, 1, 0, False)]], [[(1, 1, 0, False)]]]
    mdp = mk.MDP.from_table(table, horizon=2, start=0)
    for in_hand, visits in ((5.0, 0.0), (0.5, 1.5)):
        contrast = mk.contrast(mk.solve(mdp, 2, best_so_far=in_hand))
        assert contrast.first.visits.sum() == pytest.approx(visits)


def test_one_try_has_nothing_to_differ_from():
    contrast = mk.contrast(mk.solve(mk.instances.figure1(gamma=0.25), 1))
    assert contrast.last == ()
    assert str(contrast).startswith(
        "Try 1 of 1, no result yet: the mean return is 0.375; at least 80 % of tries return between 0 and 0.5."
    )


def test_an_incumbent_is_what_is_in_hand_at_first():
    contrast = mk.contrast(mk.solve(mk.instances.figure1(gamma=0.25), 2, best_so_far=0.5))
    assert [one.best for one in (contrast.first, *contrast.last)] == [0.5, 0.5]
    assert "best so far 0.5: it beats that in 25 % of all cases" in str(contrast)


def test_cells_are_named_by_rows(cliff):
    words = contrasts.sentences(cliff)
    assert words[-1].endswith(
        'in 12 states: "up" instead of "right" (row 2, columns 0 to 10); "left" instead of "up" (row 3, column 0).'
    )
    assert contrasts.sentences(cliff, most=1)[-1].endswith("(row 2, columns 0 to 10); and 1 more.")
    mdp = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=4)
    assert "instead of" not in str(mk.contrast(mk.solve(mdp, 2)))  # it acts the same


def test_places_in_words():
    cliff = mk.instances.windy_cliff()
    assert places(cliff, [0], 3) == "row 0, column 0"
    assert places(cliff, [13, 15, 16, 1], 3) == "row 1, columns 1, 3 to 4 and row 0, column 1".replace(
        "1, 3", "1 and 3"
    )
    assert places(cliff, [0, 12, 24, 25], 1) == "row 2, columns 0 to 1 and 2 more rows"
    laps = mk.instances.qualifying_laps()
    assert places(laps, [0, 1, 2, 3], 2) == "sector 1, sector 2 and 2 more"


def test_what_cannot_win_does_not_count(cliff):
    """After a fall the first of five tries only walks on: the edge is where it gambles, never bumping into walls."""
    up = cliff.mdp.action_names.index("up")
    assert cliff.first.visits[:12, up].sum() < 0.01  # along the upper border
    assert cliff.first.visits[24:35].sum() > 3


def test_states_without_names():
    table = [[[(0.75, 0, 0.5, True), (0.25, 0, 0, True)], [(0.25, 0, 1, True), (0.75, 0, 0, True)]]]
    words = str(mk.contrast(mk.solve(mk.MDP.from_table(table, horizon=1), 2)))
    assert 'in 1 state: "1" instead of "0" (state 0).' in words


def test_plans_in_rounds(monkeypatch):
    """Tries of the last round see the best return at its start; no plan in rounds is evaluated for the asking."""
    mdp = mk.instances.windy_cliff()
    plan, at_once = mk.solve(mdp, 4, width=2), mk.solve(mdp, 4, width=4)
    monkeypatch.setattr("maxatk.planning.rounds.plan.evaluate", None)
    contrast = mk.contrast(plan)
    assert [one.rollout for one in (contrast.first, *contrast.last)] == [0, 3, 3]
    assert contrast.last[0].best == best_after(mdp, plan.policy, 2).quantile(0.5)
    alone = mk.contrast(at_once)
    assert [one.best for one in alone.last] == [-math.inf]
    assert "Try 4 of 4, no result yet" in str(alone)
