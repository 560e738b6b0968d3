"""pass@k and max@k: against subsets in fractions, their invariants, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.estimates.estimators import best_of, order_weights

scores = st.lists(st.integers(-5, 5).map(lambda x: x / 4), min_size=1, max_size=7)


def mean_best(values, k):
    """The mean of the greatest of all sets of k, in fractions."""
    exact = [Fraction(x) for x in values]
    sets = list(itertools.combinations(exact, k))
    return sum(max(one) for one in sets) / len(sets)


@given(scores)
def test_max_at_k_is_the_mean_over_all_sets(values):
    best = at.max_at_k(values, list(range(1, len(values) + 1)))
    for k, value in enumerate(best.tolist(), 1):
        assert value == pytest.approx(float(mean_best(values, k)), rel=1e-14, abs=1e-15)
        assert at.max_at_k(values, k) == value


@given(scores, st.integers(1, 7))
def test_max_at_k_is_unbiased(law, k):
    """The mean over all samples of n from a law is the expected best of k: in fractions, by enumeration."""
    law = law[:3]
    k = min(k, 3)
    n = 3
    expected = sum(max(one) for one in itertools.product(map(Fraction, law), repeat=k)) / Fraction(len(law) ** k)
    total = sum(mean_best(sample, k) for sample in itertools.product(law, repeat=n)) / Fraction(len(law) ** n)
    assert total == expected
    floats = np.mean([at.max_at_k(sample, k) for sample in itertools.product(law, repeat=n)])
    assert floats == pytest.approx(float(expected), rel=1e-13, abs=1e-14)


@given(scores, st.permutations(range(7)), st.floats(0.1, 9), st.floats(-9, 9))
def test_max_at_k_does_not_mind_order_and_follows_scales(values, order, scale, shift):
    ks = range(1, len(values) + 1)
    best = at.max_at_k(values, list(ks))
    mixed = [values[i] for i in order if i < len(values)]
    assert at.max_at_k(mixed, list(ks)).tolist() == best.tolist()
    moved = at.max_at_k([scale * x + shift for x in values], list(ks))
    assert moved == pytest.approx(scale * best + shift, rel=1e-12, abs=1e-12)
    assert (np.diff(best) >= -1e-15).all()  # more attempts are never worse
    assert best[0] == pytest.approx(np.mean(values), abs=1e-15)
    assert best[-1] == max(values)


@given(st.integers(1, 40), st.data())
def test_pass_at_k_is_the_product(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    passed = [True] * c + [False] * (n - c)
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert at.pass_at_k(passed, k) == pytest.approx(float(exact), rel=1e-13, abs=1e-15)
    assert at.pass_hat_k(passed, k) == pytest.approx(math.comb(c, k) / math.comb(n, k), abs=1e-13)


def test_the_weights_are_those_of_the_subsets():
    for n in range(1, 12):
        for k in range(1, n + 1):
            exact = [Fraction(math.comb(i - 1, k - 1), math.comb(n, k)) for i in range(1, n + 1)]
            assert order_weights(n, k) == pytest.approx([float(w) for w in exact], rel=1e-14)
    big = order_weights(100_000, 50_000)
    assert big.sum() == pytest.approx(1, rel=1e-10)
    assert (big >= 0).all()


def test_many_attempts_and_huge_scores_lose_nothing():
    n = 1000
    values = np.arange(n)
    for k in (1, 3, 100, 999, 1000):  # the mean of the greatest of k of 0..n-1 is known
        assert at.max_at_k(values, k) == pytest.approx(k * (n + 1) / (k + 1) - 1, rel=1e-12)
    huge = 1.7e308
    assert at.max_at_k([huge, huge, -huge], 2) == pytest.approx(huge)
    assert at.max_at_k([huge] * 9, 4) == huge  # no mean of equal scores exceeds them
    assert at.max_at_k([0.1] * 7, 3) == 0.1
    assert at.max_at_k([5e-324, 0.0], 1) in (0.0, 5e-324)


def test_many_tasks_at_once_are_the_same():
    rng = np.random.default_rng(0)
    table = rng.integers(-3, 4, (20, 6)) / 2
    together = best_of(table, [1, 2, 5])
    for row, values in zip(together, table, strict=True):
        assert row == pytest.approx(at.max_at_k(values, [1, 2, 5]), rel=1e-15, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: at.max_at_k([1, 2], 3), "k = 3 is more than the 2 attempts of this task: no unbiased estimate exists"),
        (lambda: at.pass_at_k([True], 2), "k = 2 is more than the 1 attempts"),
        (lambda: at.max_at_k([1, float("nan")], 1), r"scores\[1\] must be finite, not nan"),
        (lambda: at.max_at_k([1, math.inf], 1), r"scores\[1\] must be finite, not inf"),
        (lambda: at.max_at_k([], 1), "scores must not be empty"),
        (lambda: at.max_at_k(["a"], 1), "scores must be a list of numbers, not"),
        (lambda: at.max_at_k("123", 1), "scores must be a list of numbers, not '123'"),
        (lambda: at.max_at_k([[1, 2]], 1), r"not an array of shape \(1, 2\)"),
        (lambda: at.max_at_k([[1], [1, 2]], 1), "scores must be a list of numbers"),
        (lambda: at.max_at_k([10**400], 1), "scores must be a list of numbers"),
        (lambda: at.max_at_k([1], 0), "k must be at least 1, not 0"),
        (lambda: at.max_at_k([1], 1.0), "k must be an integer, not 1.0"),
        (lambda: at.max_at_k([1], True), "k must be an integer, not True"),
        (lambda: at.max_at_k([1], []), "it is empty"),
        (lambda: at.max_at_k([1], [1, -1]), r"k\[1\] must be at least 1, not -1"),
        (lambda: at.pass_at_k([1, 0.5], 1), r"passed\[1\] must be true or false, not 0.5"),
        (lambda: at.pass_hat_k([2], 1), r"passed\[0\] must be true or false, not 2"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(mk.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
