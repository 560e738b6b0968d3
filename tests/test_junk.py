"""Whatever is thrown at a constructor, what comes back is a sound problem or a MaxAtKError."""

import contextlib
import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxatk as mk
from maxatk.base import checks
from problems import one_line

numbers = st.one_of(
    st.sampled_from([0, 1, 0.5, -1, 2, 1.0, 0.25, True, None, "1", b"1", math.nan, math.inf, -math.inf, 1e308, 1e-300]),
    st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**400), 10**400, 1j, np.float32(0.5), np.int8(1)]),
    st.floats(),
    st.integers(-3, 3),
)
anything = st.recursive(
    st.one_of(numbers, st.text(max_size=3), st.just(np.zeros(2)), st.just(sparse.eye_array(2)), st.just({1, 2})),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.integers(-1, 3), st.text(max_size=1), st.none()), inner, max_size=4),
    ),
    max_leaves=12,
)
sizes = st.one_of(st.integers(1, 3), anything)


@st.composite
def arrays(draw):
    """Mostly arrays of a plausible shape and type, with junk in some entries."""
    if draw(st.integers(0, 3)) == 0:
        return draw(anything)
    shape = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    kind = draw(st.sampled_from([float, int, bool, object, complex, np.float32, np.uint64, "U1"]))
    array = np.zeros(shape, kind)
    if array.ndim > 1 and kind is not object and array.size:
        array[..., 0] = 1
    for _ in range(draw(st.integers(0, 2))):
        if array.size:
            with contextlib.suppress(ValueError, TypeError, OverflowError, RuntimeWarning):
                array[tuple(draw(st.integers(0, n - 1)) for n in shape)] = draw(numbers)
    if array.ndim == 2 and array.dtype.kind in "fi" and draw(st.booleans()):
        return sparse.csr_array(array)
    return array


@st.composite
def tables(draw):
    """Tables that are nearly right."""

    def outcome(n):
        entry = [
            draw(st.sampled_from([0.5, 1, 0.25, Fraction(1, 2)])),
            draw(st.integers(0, n)),
            1.0,
            draw(st.booleans()),
        ]
        if draw(st.integers(0, 5)) == 0:
            entry[draw(st.integers(0, 3))] = draw(anything)
        return tuple(entry) if draw(st.integers(0, 9)) else draw(anything)

    n = draw(st.integers(1, 3))
    return {
        s: {a: [outcome(n - 1) for _ in range(draw(st.integers(1, 2)))] for a in range(draw(st.integers(0, 2)))}
        for s in range(n)
    }


def sound(build) -> None:
    try:
        mdp = build()
    except mk.MaxAtKError as error:
        one_line(error)
        return
    assert mdp.n_states >= 1
    assert mdp.horizon >= 1
    assert (mdp.prob > 0).all()
    assert np.isfinite(mdp.reward).all()
    assert ((mdp.next_state >= 0) & (mdp.next_state <= mdp.n_states)).all()
    for s in range(mdp.n_states):
        assert mdp.actions(0, s)
        for a in mdp.actions(0, s):
            assert sum(o.prob for o in mdp.exact_outcomes(0, s, a)) == 1
    assert sum(p for p, _ in mdp.exact_start()) == 1
    assert np.isfinite(mdp.analysis.most).all()


@settings(max_examples=200)
@given(
    P=arrays(), R=arrays(), horizon=sizes, start=anything, available=st.none() | arrays(), terminal=st.none() | anything
)
def test_from_arrays(P, R, horizon, start, available, terminal):
    sound(lambda: mk.MDP.from_arrays(P, R, horizon=horizon, start=start, available=available, terminal=terminal))


@settings(max_examples=200)
@given(data=st.data(), S=st.integers(1, 2), A=st.integers(1, 2), H=st.integers(1, 2))
def test_from_arrays_nearly_right(data, S, A, H):
    P = np.zeros((S, A, S), object)
    P[:, :, 0] = 1
    R = np.zeros((S, A), object)
    for array in (P, R):
        if data.draw(st.booleans()):
            array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(numbers)
    start = data.draw(st.one_of(st.just(0), st.lists(numbers, min_size=S, max_size=S), anything))
    names = data.draw(st.one_of(st.none(), anything))
    sound(lambda: mk.MDP.from_arrays(P, R, horizon=H, start=start, state_names=names))


@settings(max_examples=150)
@given(R=arrays(), Q=arrays(), s=arrays(), a=arrays(), horizon=sizes)
def test_from_pairs(R, Q, s, a, horizon):
    sound(lambda: mk.MDP.from_pairs(R, Q, s, a, horizon=horizon))


@settings(max_examples=200)
@given(table=st.one_of(tables(), anything, st.lists(tables(), max_size=3)), horizon=sizes, start=st.just(0) | anything)
def test_from_table(table, horizon, start):
    sound(lambda: mk.MDP.from_table(table, horizon=horizon, start=start))


@settings(max_examples=100)
@given(env=anything, horizon=anything)
def test_from_gymnasium(env, horizon):
    sound(lambda: mk.MDP.from_gymnasium(env, horizon=horizon))


def test_memory_is_what_a_container_leaves(tmp_path, monkeypatch):
    """The least of the machine's and of all control groups around the process."""
    for name, limit in (("max", "max\n"), ("small", "1000000\n"), ("smaller", "500000\n")):
        (tmp_path / name).write_text(limit)
    machine = checks.memory()
    for files, expected in (
        (["none", "max"], machine),
        (["max", "small"], 1e6),
        (["small", "smaller", "none"], 5e5),
    ):
        monkeypatch.setattr(checks, "_memory_limits", lambda files=files: [tmp_path / name for name in files])
        assert checks.memory.__wrapped__() == min(expected, machine)
