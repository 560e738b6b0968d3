"""Curves between two bounds, against the plain maximum of lines and the plain least chord."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxatk as mk
from maxatk.planning.certified.curves import Curve, from_knots, identity


@st.composite
def knots(draw):
    """Some knots of the convex function max(m, ...) with arbitrary gaps and slopes, the floor first."""
    n = draw(st.integers(1, 6))
    m = np.array(sorted(draw(st.lists(st.integers(0, 99), min_size=n, max_size=n, unique=True)))) / 10.0
    lower = np.array([draw(st.integers(-20, 100)) / 10 for _ in range(n)])
    slope = np.array([0.0, *[draw(st.integers(0, 10)) / 10 for _ in range(n - 1)]])
    upper = lower + np.array([draw(st.integers(0, 30)) / 10 for _ in range(n)])
    return m, upper, lower, slope


@given(knots=knots())
def test_the_bounds_are_the_greatest_line_and_the_least_chord(knots):
    m, upper, lower, slope = knots
    most = 10.0
    curve = from_knots(float(m[0]), most, m, upper, lower, slope)
    x_all, u_all = [*m, most], [*upper, most]
    for x in (-math.inf, -50.0, *np.linspace(-1, 12, 40)):
        lines = [v + (s * (x - at) if s else 0.0) for at, v, s in zip(m, lower, slope, strict=True)]
        assert curve.lower(x) == pytest.approx(max([*lines, x]), abs=1e-9)
        at = max(x, m[0])
        chords = [
            ua + (ub - ua) * (at - a) / (b - a)
            for a, ua in zip(x_all, u_all, strict=True)
            for b, ub in zip(x_all, u_all, strict=True)
            if a <= at <= b and a < b
        ]
        points = [u for a, u in zip(x_all, u_all, strict=True) if a == at]
        if at <= most:
            assert curve.upper(x) == pytest.approx(max(min([*chords, *points]), at), abs=1e-9)
        else:
            assert curve.upper(x) == at


def test_no_return_at_all_is_worth_the_flat_line():
    """Even where the tangent of another knot lies higher at the floor."""
    curve = from_knots(
        0.0, 10.0, np.array([0.0, 2.0]), np.array([2.0, 3.0]), np.array([1.0, 2.5]), np.array([0.0, 0.5])
    )
    assert curve.lower(0.0) == 1.5
    assert curve.lower(-math.inf) == curve.lower(-5.0) == 1.0
    assert curve.flat_to == -1.0
    assert curve.knots(np.array([-5.0, 1.0, 9.5])).tolist() == [0.0, 2.0, 10.0]


def test_identity():
    curve = identity(-3.0, 5.0)
    for x in (-8.0, -3.0, 0.25, 5.0, 9.0):
        assert curve.lower(x) == x
        assert curve.upper(x) == pytest.approx(x)
    assert curve.flat_to == -math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"line_end": np.zeros(5)}, "the arrays of a curve differ in length"),
        ({"point_value": np.array([math.nan, 1.0])}, "a curve holds numbers that are not finite"),
        ({"point": np.array([1.0, 1.0])}, "a curve does not rise"),
        ({"line_slope": np.array([1.5])}, "a curve rises faster than what is in hand"),
        ({"line_knot": np.array([7.0])}, "a curve has knots where no return is"),
    ],
)
def test_curves_from_files_are_checked(change, message):
    good = vars(identity(0.0, 1.0))
    Curve(**good).check(0.0, 1.0, 0.0)
    with pytest.raises(mk.InputError, match=message):
        Curve(**{**good, **change}).check(0.0, 1.0, 0.0)
