"""Laws: the expected best of independent draws and the threshold of a cost, held to fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxatk.laws.law import Law, expected_best, expected_payoffs, mean_under, threshold

laws = st.dictionaries(st.integers(-6, 6), st.integers(1, 9), min_size=1, max_size=5)


def law_of(weights):
    """A law in fractions, and as values and probabilities."""
    exact = {v: Fraction(w, sum(weights.values())) for v, w in sorted(weights.items())}
    return exact, np.array([float(v) for v in exact]), np.array([float(p) for p in exact.values()])


@given(weights=laws, n=st.integers(1, 3), best=st.sampled_from([-math.inf, -7, 0, 2.5, 9]))
def test_the_expected_best_of_some_draws(weights, n, best):
    exact, values, probs = law_of(weights)
    truth = sum(
        math.prod(p for _, p in draws) * Fraction(max(best, *(v for v, _ in draws)))
        for draws in itertools.product(exact.items(), repeat=n)
    )
    assert expected_best(values, probs, n, best) == pytest.approx(float(truth), abs=1e-13)
    if n == 1 and best == -math.inf:
        assert Law(values, probs).mean == pytest.approx(float(truth), abs=1e-14)


@given(weights=laws, cost=st.fractions(0, 8, max_denominator=12))
def test_beyond_its_threshold_a_draw_adds_less_than_its_cost(weights, cost):
    exact, values, probs = law_of(weights)
    z = threshold(values, probs, float(cost))
    added = sum(p * max(v - z, 0) for v, p in exact.items())
    assert added == pytest.approx(float(cost), abs=1e-12)
    assert z <= values[-1]


@given(every=st.lists(laws, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_payoffs_beside_a_best_return(every, seed):
    """Of several laws at once; what a law lacks lies below all values."""
    values = sorted({v for weights in every for v in weights})
    payoff = np.sort(np.random.default_rng(seed).normal(size=len(values)))
    missing = 5
    probs = np.array([[weights.get(v, 0) / (sum(weights.values()) + missing) for v in values] for weights in every])
    truth = [
        [(1 - p.sum()) * payoff[j] + sum(q * payoff[max(i, j)] for i, q in enumerate(p)) for j in range(len(values))]
        for p in probs
    ]
    assert expected_payoffs(probs, payoff) == pytest.approx(np.array(truth))
    below = np.minimum(np.cumsum(probs / probs.sum(axis=1, keepdims=True), axis=1), 1.0)
    means = probs @ np.array(values, float) / probs.sum(axis=1)
    assert mean_under(np.array(values, float), below) == pytest.approx(means, abs=1e-12)
