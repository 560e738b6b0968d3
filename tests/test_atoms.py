"""Atoms carried forward in tables: the same as sorted ones, on any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk import kernels
from maxatk.base.tuning import tuned
from maxatk.laws.bounds import propagate
from oracles import policy_value
from policies import policies
from problems import decision, specs, table_of


def carried(mdp, policy, **thresholds):
    with tuned(**thresholds):
        return propagate(decision(mdp, policy.k, policy.best_so_far), policy, 0.0, 10**6)


@pytest.mark.slow
@settings(max_examples=25)
@given(spec=specs(max_horizon=3), k=st.integers(1, 2), seed=st.integers(0, 999))
def test_tables_hold_what_sorting_puts_together(spec, k, seed):
    """And what a policy earns in fractions lies between the bounds of both."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    for policy in policies(mdp, k, seed).values():
        sorted_ = carried(mdp, policy, table_work=10**9)
        tables = carried(mdp, policy, table_work=1, table_cells=10**9)
        assert tables.outcomes == sorted_.outcomes
        for one, other in zip(tables.laws, sorted_.laws, strict=True):
            assert one.values.tolist() == other.values.tolist()
            assert one.probs == pytest.approx(other.probs, rel=0, abs=tables.error + sorted_.error)
        earned = policy_value(mdp, policy, k)
        for found in (tables, sorted_):
            low, high = found.bounds()
            assert low <= earned <= high


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_change_no_bit(threads, tune):
    mdp = mk.instances.random_sparse(30, 3, 6, rewards=range(5), rng=0)
    policy = mk.solve(mdp, 3).policy
    tune(table_work=1, cores=threads)
    found = propagate(decision(mdp, policy.k, policy.best_so_far), policy, 1e-9, 10**6)
    tune(cores=1)
    alone = propagate(decision(mdp, policy.k, policy.best_so_far), policy, 1e-9, 10**6)
    assert found.bounds() == alone.bounds()
    for one, other in zip(found.laws, alone.laws, strict=True):
        assert one.values.tolist() == other.values.tolist()
        assert one.probs.tolist() == other.probs.tolist()


def test_returns_that_lie_far_apart_are_sorted(monkeypatch, tune):
    """A table would have 2^40 cells."""
    followed = []
    monkeypatch.setattr(kernels, "follow_atoms", lambda *given: followed.append(given))
    tune(table_work=1)
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 0, False), (0.5, 0, 2**40, False)]}}, horizon=2)
    policy = mk.MarkovPolicy(np.zeros((2, 1), int), k=2)
    low, high = propagate(decision(mdp, policy.k, policy.best_so_far), policy, 0.0, 100).bounds()
    assert not followed
    assert low <= policy_value(mdp, policy, 2) <= high
    assert high - low < 1


def test_the_usual_row_is_the_one_taken_most(monkeypatch):
    from maxatk.comparison.search import Search

    mdp = mk.instances.random_sparse(12, 3, 5, rewards=range(4), rng=3)
    search = Search(mk.solve(mdp, 2), mdp.return_range[0])
    base, stop = search._base, np.zeros(1, np.int8)
    random = np.random.default_rng(0)
    first = mdp.pair_start[:-1]
    choice = np.zeros(len(base.value), np.int64)
    mass = np.zeros(len(base.value))
    expected = np.full((mdp.horizon, mdp.n_states), -1)
    low, high, place = base.layout.low, base.layout.high, base.layout.place
    for h, s in np.argwhere(low <= high).tolist():
        cells = slice(place[h, s] + low[h, s], place[h, s] + high[h, s] + 1)
        choice[cells] = first[s] + random.integers(3, size=cells.stop - cells.start)
        mass[cells] = random.random(cells.stop - cells.start) * (random.random() < 0.8)
        if mass[cells].any():
            expected[h, s] = first[s] + np.argmax(np.bincount(choice[cells] - first[s], mass[cells]))
    rows = np.full((mdp.horizon, mdp.n_states), -1)
    kernels.usual_rows(base.cells.tables, base.layout, choice, mass, rows, stop)
    assert rows.tolist() == expected.tolist()
    assert (expected >= 0).any()
    assert (expected < 0).any()


def test_a_step_by_hand():
    """Two tags; one row that goes on or ends, one that goes on twice: what meets, with how many others, in order."""
    outcome_start, next_state = np.array([0, 2, 4]), np.array([1, 2, 0, 1], np.int32)  # of two states, 2 is the end
    row_prob, reward = np.array([0.5, 0.5, 0.25, 0.75]), np.array([1, 1, 0, 2])
    rows, tag = np.array([0, 0, 1, 0]), np.array([0, 0, 0, 1])
    value, prob = np.array([2, 2, 1, 5]), np.array([0.25, 0.125, 0.125, 0.5])
    going = np.zeros(1, np.int8)
    spans = kernels.spans(outcome_start, reward, rows, tag, value, going)
    assert [span.tolist() for span in spans] == [[0, 3, 4], [1, 6], [3, 6]]
    problem = outcome_start, next_state, row_prob, reward, 2
    found = kernels.follow_atoms(*problem, False, rows, tag, value, prob, *spans, 0, 2, going)
    atoms = zip(found.tag.tolist(), found.state.tolist(), found.value.tolist(), found.prob.tolist(), strict=True)
    assert list(atoms) == [(0, 0, 1, 0.03125), (0, 1, 3, 0.28125), (1, 1, 6, 0.25)]
    ended = zip(found.ended_tag.tolist(), found.ended_value.tolist(), found.ended_prob.tolist(), strict=True)
    assert list(ended) == [(0, 3, 0.1875), (1, 6, 0.25)]
    assert found.most == 3
    last = kernels.follow_atoms(*problem, True, rows, tag, value, prob, *spans, 0, 2, going)
    assert not len(last.prob)
    assert last.ended_prob.sum() == 1.0
