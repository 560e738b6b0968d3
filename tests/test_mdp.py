"""The problem type: one canonical form whatever it was written in, frozen, with what planners derive from it."""

import copy
import dataclasses
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxatk as mk
from problems import REPRESENTATIONS, Spec, problem, specs, table_of


@pytest.mark.parametrize("name", REPRESENTATIONS)
@given(spec=specs())
def test_every_representation_is_the_same_problem(name, spec):
    reference = problem(spec)
    other = REPRESENTATIONS[name](spec)
    assert other.fingerprint == reference.fingerprint
    assert other == reference
    assert hash(other) == hash(reference)
    assert other.n_states == spec.S


@pytest.mark.parametrize("name", REPRESENTATIONS)
@settings(max_examples=15)
@given(spec=specs(max_horizon=2), k=st.integers(1, 2))
def test_every_representation_has_the_same_exact_value(name, spec, k):
    reference = mk.solve(problem(spec), k, solver=mk.Exact())
    assert mk.solve(REPRESENTATIONS[name](spec), k, solver=mk.Exact()).exact == reference.exact


@given(spec=specs(), change=st.sampled_from(["reward", "probability", "start", "horizon", "ends"]))
def test_another_problem_has_another_fingerprint(spec, change):
    mdp = problem(spec)
    table, horizon, start = table_of(spec), spec.H, spec.start
    if change == "reward":
        row = (table if isinstance(table, dict) else table[0])[0]
        row = row[min(row)]
        at = next(i for i, outcome in enumerate(row) if outcome[0] > 0)
        row[at] = (row[at][0], row[at][1], row[at][2] + 100, row[at][3])
    elif change == "probability":
        row = (table if isinstance(table, dict) else table[0])[0]
        row[min(row)].append((1e-7, 0, 100.0, False))
    elif change == "start":
        start = np.roll(start, 1)
        if list(start) == list(spec.start):
            return
    elif change == "horizon":
        horizon = spec.H + 1
        table = [*table, table[0]] if isinstance(table, list) else table
    else:
        row = (table if isinstance(table, dict) else table[0])[0]
        row[min(row)] = [(p, s, r, not ends) for p, s, r, ends in row[min(row)]]
    assert mk.MDP.from_table(table, horizon=horizon, start=start).fingerprint != mdp.fingerprint


def test_arrays_have_the_stated_shapes_and_are_canonical():
    mdp = mk.MDP.from_table(
        {
            0: {2: [(0.5, 1, -0.0, False), (0.25, 0, 3, False), (0.25, 1, 0, False)], 0: [(1, 1, 1, True)]},
            1: {1: [(0.0, 0, 9, False), (0.5, 1, 2, True), (0.5, 0, 2, True)]},
        },
        horizon=3,
        start=[0.0, 1.0],
    )
    assert mdp.step_layer.tolist() == [0, 0, 0]
    assert mdp.pair_start.tolist() == [0, 2, 3]
    assert mdp.action.tolist() == [0, 2, 1]
    assert mdp.outcome_start.tolist() == [0, 1, 3, 4]
    assert mdp.prob.tolist() == [1, 0.25, 0.75, 1]
    assert mdp.next_state.tolist() == [2, 0, 1, 2]
    assert mdp.reward.tolist() == [1, 3, 0, 2]
    assert math.copysign(1, mdp.reward[2]) == 1
    assert (mdp.start_state.tolist(), mdp.start_prob.tolist()) == ([1], [1])
    assert (mdp.n_states, mdp.n_actions, mdp.horizon, mdp.n_layers) == (2, 3, 3, 1)
    assert mdp.actions(0, 0) == [0, 2]
    assert mdp.outcomes(2, 0, 2) == [(0.25, 0, 3.0), (0.75, 1, 0.0)]
    assert mdp.outcomes(0, 1, 1) == [(1.0, None, 2.0)]


def test_it_is_frozen_and_owns_its_memory():
    P = sparse.csr_array(np.array([[0.5, 0.5], [0.0, 1.0]]))
    R = np.array([[1.0], [2.0]])
    mdp = mk.MDP.from_arrays(P, R, horizon=2)
    before = mdp.fingerprint
    P.data[:] = 7
    R[:] = 7
    assert mk.MDP.from_arrays(np.array([[[0.5, 0.5]], [[0.0, 1.0]]]), [[1.0], [2.0]], horizon=2).fingerprint == before
    assert mdp.prob.tolist() == [0.5, 0.5, 1.0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        mdp.horizon = 3  # pyright: ignore
    for name in ("prob", "next_state", "reward", "start_prob", "step_layer"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(mdp, name)[...] = 0
    with pytest.raises(ValueError, match="read-only"):
        mdp.analysis.most[...] = 0
    for field in dataclasses.fields(mdp):
        value = getattr(mdp, field.name)
        assert not isinstance(value, np.ndarray) or value.flags.c_contiguous


def test_equal_steps_share_a_layer_and_others_do_not():
    A, B = np.array([[[1.0]]]), np.array([[[1.0]]])
    rewards = np.array([[[1.0]], [[2.0]], [[1.0]], [[3.0]], [[2.0]]])
    mdp = mk.MDP.from_arrays(np.stack([A, B, A, B, A]), rewards, horizon=5)
    assert mdp.step_layer.tolist() == [0, 1, 0, 2, 1]
    assert [mdp.outcomes(h, 0, 0)[0].reward for h in range(5)] == [1, 2, 1, 3, 2]
    assert not mdp.homogeneous
    assert repr(mdp) == "MDP(1 state, 1 action, horizon 5, 3 different steps, 3 outcomes)"


def test_rewards_by_next_state_stay_distributions():
    P = np.array([[[0.25, 0.75]], [[0.0, 1.0]]])
    R = np.array([[[1.0, 0.0]], [[0.0, 0.0]]])
    mdp = mk.MDP.from_arrays(P, R, horizon=1)
    assert [(o.prob, o.reward) for o in mdp.outcomes(0, 0, 0)] == [(0.25, 1), (0.75, 0)]
    # E max of two Bernoulli(1/4) is 7/16; with the mean in place of the distribution it would be 1/4.
    assert mk.solve(mdp, 2, solver=mk.Exact()).exact == Fraction(7, 16)


def test_an_ambiguous_reward_follows_the_form_of_the_probabilities():
    P = np.zeros((2, 2, 2))
    P[:, :, 0] = 1
    R = np.arange(8.0).reshape(2, 2, 2)
    by_next_state = mk.MDP.from_arrays(P, R, horizon=2)
    assert [by_next_state.outcomes(1, 1, 0)[0].reward, by_next_state.homogeneous] == [4, True]
    by_step = mk.MDP.from_arrays(np.stack([P, P]), R, horizon=2)
    assert [by_step.outcomes(1, 1, 0)[0].reward, by_step.homogeneous] == [6, False]
    told = mk.MDP.from_arrays(P, np.broadcast_to(R[..., None], (2, 2, 2, 2)), horizon=2)
    assert told == by_step


def test_fractions_are_kept_where_floats_fall_short_and_only_there():
    def bet(p, r):
        return mk.MDP.from_table({0: {0: [(p, 0, r, True), (1 - p, 0, 0, True)]}}, horizon=1)

    tenth = Fraction(1, 10)
    assert bet(tenth, 1).exact_outcomes(0, 0, 0) == [(1 - tenth, None, 0), (tenth, None, 1)]
    assert bet(tenth, 1) != bet(0.1, 1)
    assert bet(Fraction(1, 4), 1) == bet(0.25, 1)
    assert bet(Fraction(1, 4), 1).exact_prob is None
    assert bet(0.25, tenth) != bet(0.25, 0.1)
    assert bet(0.25, tenth).reward.max() == 0.1
    # Floats that differ from thirds say thirds all the same, once divided by their sum.
    thirds = [(1 / 3, 0, r, True) for r in range(3)]
    exact = [(Fraction(1, 3), 0, r, True) for r in range(3)]
    assert mk.MDP.from_table({0: {0: thirds}}, horizon=1) == mk.MDP.from_table({0: {0: exact}}, horizon=1)
    # Rewards that no float can tell apart are two outcomes still.
    near = [(0.5, 0, tenth, True), (0.5, 0, tenth + Fraction(1, 10**30), True)]
    assert len(mk.MDP.from_table({0: {0: near}}, horizon=1).prob) == 2
    huge = mk.MDP.from_table({0: {0: [(1, 0, 2**53 + 1, True)]}}, horizon=1)
    assert huge.exact_outcomes(0, 0, 0)[0].reward == 2**53 + 1
    assert mk.MDP.from_arrays([[[1]]], np.array([[2**53 + 1]]), horizon=1).exact_reward == (2**53 + 1,)
    start = [Fraction(1, 3), Fraction(2, 3)]
    two = {s: {0: [(1, 0, s, True)]} for s in range(2)}
    assert mk.MDP.from_table(two, horizon=1, start=start).exact_start() == [(start[0], 0), (start[1], 1)]


@given(spec=specs(), weights=st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_floats_written_as_fractions_are_the_same_problem(spec, weights):
    row = [(w / sum(weights), 0, r) for r, w in enumerate(weights)]
    plain = mk.MDP.from_table([[[(p, t, float(r), True) for p, t, r in row]]], horizon=1)
    exact = mk.MDP.from_table([[[(Fraction(p), t, Fraction(r), True) for p, t, r in row]]], horizon=1)
    mixed = mk.MDP.from_table([[[(p, t, Fraction(r), True) for p, t, r in row]]], horizon=1)
    assert plain == exact == mixed
    assert plain.exact_prob is None


def test_a_certain_outcome_is_certain():
    def sure(p, start=0):
        return mk.MDP.from_table([[[(p, 0, 1, False)]], [[(1, 0, 1, False)]]], horizon=2, start=start)

    assert sure(1) == sure(0.9999999) == sure(Fraction(1)) == sure(1, [1 + 1e-7, 0]) == sure(1, [Fraction(1), 0])


def test_duplicates_in_a_matrix_are_added_in_no_order():
    entries = [(0.1, 0), (0.2, 0), (0.3, 0), (1e-17, 0), (0.4, 1)]
    built = []
    for order in itertools.permutations(entries):
        prob, column = zip(*order, strict=True)
        P = sparse.coo_array(([*prob, 1.0], ([0] * 5 + [1], [*column, 1])), shape=(2, 2))
        built.append(mk.MDP.from_arrays(P, [[0.0], [1.0]], horizon=2))
    assert len(set(built)) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_frozen_too(copied):
    mdp = mk.instances.figure1()
    other = copied(mdp)
    assert other == mdp
    with pytest.raises(ValueError, match="read-only"):
        other.prob[:] = 0.5


def test_object_arrays_of_fractions_are_kept_exact():
    third = Fraction(1, 3)
    P = np.array([[[third, 1 - third]], [[0, 1]]], dtype=object)
    mdp = mk.MDP.from_arrays(P, [[third], [0]], horizon=2)
    assert mdp.exact_outcomes(0, 0, 0) == [(third, 0, third), (1 - third, 1, third)]


@given(st.permutations([0.1, 0.2, 0.3, 1e-17, 0.4]))
def test_merging_does_not_depend_on_the_order(probs):
    def merged(values):
        return mk.MDP.from_table({0: {0: [(p, 0, 1, True) for p in values]}}, horizon=1)

    assert merged(probs) == merged(sorted(probs))
    assert merged(probs).prob.tolist() == [math.fsum(probs)]


def test_rows_within_tolerance_mean_their_entries_divided_by_the_exact_sum():
    mdp = mk.MDP.from_arrays([[[0.5, 0.5 - 5e-7]], [[0, 1]]], [[1], [0]], horizon=1)
    a, b = (o.prob for o in mdp.exact_outcomes(0, 0, 0))
    assert a + b == 1
    assert a == Fraction(0.5) / (Fraction(0.5) + Fraction(0.5 - 5e-7))


def returns_of(mdp: mk.MDP, h: int, s: int) -> set[Fraction]:
    """Every return that can be had from step h in state s, by trying everything."""
    if h == mdp.horizon:
        return {Fraction(0)}
    return {
        r + rest
        for a in mdp.actions(h, s)
        for _, t, r in mdp.exact_outcomes(h, s, a)
        for rest in ({Fraction(0)} if t is None else returns_of(mdp, h + 1, t))
    }


@given(spec=specs())
def test_least_and_most_are_the_extreme_returns(spec: Spec):
    mdp = problem(spec)
    assert mdp.analysis.least.shape == mdp.analysis.most.shape == (spec.H + 1, spec.S)
    for h, s in itertools.product(range(spec.H + 1), range(spec.S)):
        returns = returns_of(mdp, h, s)
        assert (mdp.analysis.least[h, s], mdp.analysis.most[h, s]) == (min(returns), max(returns))
    possible = set().union(*(returns_of(mdp, 0, s) for _, s in mdp.exact_start()))
    assert mdp.return_range == (min(possible), max(possible))


@given(
    spec=specs(max_states=2, max_actions=1),
    scale=st.floats(1e-3, 1e3),
    shift=st.sampled_from([0.0, 0.1, 2.0**30, -1e15]),
    exact=st.booleans(),
)
def test_least_and_most_hold_for_the_floats_themselves(spec: Spec, scale, shift, exact):
    number = (lambda r: Fraction(r) / 3 + Fraction(shift) / 7) if exact else (lambda r: r * scale + shift)
    table = {
        s: {a: [(p, t, number(r), ends) for p, t, r, ends in row] for a, row in actions.items()}
        for s, actions in (table_of(dataclasses.replace(spec, P=spec.P[:1], R=spec.R[:1]))).items()
    }
    mdp = mk.MDP.from_table(table, horizon=spec.H, start=spec.start)
    for h, s in itertools.product(range(spec.H + 1), range(spec.S)):
        low, high = min(returns_of(mdp, h, s)), max(returns_of(mdp, h, s))
        assert mdp.analysis.least[h, s] <= low <= high <= mdp.analysis.most[h, s]
        # and no wider than the rounding of so many sums can make them
        slack = (spec.H + 1) * 2 * math.ulp(max(abs(float(low)), abs(float(high)), spec.H * abs(shift) + 8 * scale))
        assert mdp.analysis.most[h, s] - slack <= high
        assert low <= mdp.analysis.least[h, s] + slack


def test_names_are_for_people_and_no_part_of_the_problem():
    rows = {0: {0: [(1, 0, 1, True)]}}
    plain = mk.MDP.from_table(rows, horizon=1)
    named = mk.MDP.from_table(rows, horizon=1, state_names=np.array(["here"]), action_names=["go"])
    assert (named.state_names, named.action_names) == (("here",), ("go",))
    assert plain == named


def test_accessors_name_what_is_out_of_range():
    mdp = mk.instances.figure1()
    with pytest.raises(mk.InputError, match="step must be between 0 and 0, not 1"):
        mdp.actions(1, 0)
    with pytest.raises(mk.InputError, match="state must be between 0 and 0, not -1"):
        mdp.outcomes(0, -1, 0)
    with pytest.raises(mk.InputError, match="state 0 does not offer action 2 at step 0"):
        mdp.outcomes(0, 0, 2)
    with pytest.raises(mk.InputError, match="action must be an integer, not None"):
        mdp.outcomes(0, 0, None)
    assert mdp != "something else"


def test_actions_first_are_refused_with_a_hint():
    """mdptoolbox's [A, S, S]."""
    P = np.full((2, 3, 3), 1 / 3)
    with pytest.raises(mk.InputError, match=r"if it is \[A, S, S\], give np.moveaxis\(P, 0, 1\)"):
        mk.MDP.from_arrays(P, np.zeros((3, 2)), horizon=2)
    assert mk.MDP.from_arrays(np.moveaxis(P, 0, 1), np.zeros((3, 2)), horizon=2).n_actions == 2
    with pytest.raises(mk.InputError, match=r"give np.moveaxis\(P, 1, 2\)"):
        mk.MDP.from_arrays(np.full((4, 2, 3, 3), 1 / 3), np.zeros((3, 2)), horizon=4)
