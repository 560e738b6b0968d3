"""Intervals over tasks: the proved ones by exact enumeration, the others by their definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.intervals import BETTING, ON_RANGE_SEEN, Estimate, T, betting, mean, ratio


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_betting_covers_every_coin_often_enough(n, level):
    """The chance to miss, counted exactly: for every chance of heads it is at most 1 - level."""
    ends = [betting(np.repeat([1.0, 0.0], [c, n - c]), (0.0, 1.0), level) for c in range(n + 1)]
    low, high = np.array(ends).T
    for p in np.linspace(0, 1, 201):
        missed = stats.binom.pmf(np.arange(n + 1), n, p)[(p < low) | (high < p)].sum()
        assert missed <= 1 - level


def test_betting_covers_three_values_often_enough():
    """Sampling from {0, 1/2, 1} with any chances: all samples of 6 are enumerated."""
    n, level = 6, 0.9
    counts = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    ends = [betting(np.repeat([0.0, 0.5, 1.0], c), (0.0, 1.0), level) for c in counts]
    ways = np.array([math.exp(gammaln(n + 1) - sum(gammaln(x + 1) for x in c)) for c in counts])
    for a in np.linspace(0, 1, 21):
        for b in np.linspace(0, 1 - a, 11):
            law = np.array([a, b, max(1 - a - b, 0.0)])
            chance = ways * np.prod(law ** np.array(counts), axis=1)
            m = law @ [0, 0.5, 1]
            missed = sum(x for x, (low, high) in zip(chance, ends, strict=True) if not low <= m <= high)
            assert missed <= 1 - level + 1e-12


@given(
    st.lists(st.integers(0, 8).map(lambda x: x / 8), min_size=1, max_size=30), st.floats(0.1, 50), st.floats(-50, 50)
)
def test_betting_follows_scales_and_contains_the_mean(values, scale, shift):
    x = np.array(values)
    low, high = betting(x, (0.0, 1.0), 0.95)
    assert 0 <= low <= x.mean() <= high <= 1
    moved = betting(scale * x + shift, (shift, shift + scale), 0.95)
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), rel=1e-6, abs=1e-6)
    mirrored = betting(1 - x, (0.0, 1.0), 0.95)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)
    wider = betting(x, (0.0, 1.0), 0.99)
    assert wider[0] <= low
    assert wider[1] >= high


def test_betting_is_as_narrow_as_it_should_be():
    """Near the width of the normal interval for many values; near ln(2/risk)/n where nothing varied."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.4, 0.6, 2000)
    low, high = betting(x, (0.0, 1.0), 0.95)
    normal = 2 * 1.96 * x.std() / math.sqrt(len(x))
    assert normal < high - low < 2.1 * normal
    _, high = betting(np.zeros(100), (0.0, 1.0), 0.95)
    assert math.log(40) / 100 * 0.9 < high < 2.2 * math.log(40) / 100


def test_which_interval_is_used():
    rng = np.random.default_rng(1)
    even = rng.uniform(0, 1, 50)
    interval = mean(even, (0.0, 1.0), 0.95)
    reach = stats.t.ppf(0.975, 49) * even.std(ddof=1) / math.sqrt(50)
    assert (interval.method, interval.proved) == (T, False)
    assert (interval.lower, interval.upper) == pytest.approx((even.mean() - reach, even.mean() + reach), rel=1e-12)
    assert mean(even[:49], (0.0, 1.0), 0.95).method == BETTING
    assert mean(even[:49], (0.0, 1.0), 0.95).proved
    assert mean(even, (0.0, 1.0), 0.95, use_betting=True).method == BETTING
    rare = np.repeat([1.0, 0.0], [2, 98])  # t would be far too sure of itself
    assert mean(rare, (0.0, 1.0), 0.95).method == BETTING
    assert mean(rare, None, 0.95).method == ON_RANGE_SEEN
    assert mean(rare, (0.0, 1.0), 0.95, known=False).method == ON_RANGE_SEEN
    constant = mean(np.ones(200), (0.0, 1.0), 0.95)  # it did not vary, but might have
    assert constant.method == BETTING
    assert 0.9 < constant.lower < 1
    assert constant.upper == 1
    assert mean(np.ones(200), None, 0.95).lower == 1  # nothing is known of what else there may be
    barely = 1e9 + np.repeat([0.0, 1e-7], 50)  # rounding, not variation
    assert mean(barely, None, 0.95).method == ON_RANGE_SEEN


def test_t_stays_within_a_known_range():
    x = np.repeat([1.0, 0.6], [48, 12])
    interval = mean(x, (0.0, 1.0), 0.9999)
    assert interval.method == T
    assert interval.upper <= 1


def test_skewness_decides_at_a_fifth_of_the_root():
    def skewed(k, n):
        return np.repeat([1.0, 0.0], [k, n - k])

    def skew(x):
        return abs(stats.skew(x))

    n = 100
    for k in range(1, 50):
        expected = T if skew(skewed(k, n)) <= 2.0 else BETTING
        assert mean(skewed(k, n), (0.0, 1.0), 0.95).method == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=3, max_size=30))
def test_fieller_is_the_set_of_ratios_that_t_does_not_refute(pairs):
    top, bottom = np.array(pairs, float).T
    low, high = ratio(top, bottom, 0.95)
    q = stats.t.ppf(0.975, len(top) - 1)

    def refuted(r):
        apart = top - r * bottom
        se = apart.std(ddof=1) / math.sqrt(len(top))
        return abs(apart.mean()) > q * se * (1 + 1e-9) + 1e-12

    point = top.mean() / bottom.mean()
    assert not refuted(point)
    if math.isfinite(high):
        width = max(high - low, 1e-6)
        assert low - 1e-9 <= point <= high + 1e-9
        assert refuted(high + 0.01 * width)
        assert refuted(low - 0.01 * width)
        assert not refuted(low + 0.01 * width) or width <= 2e-6
    else:
        assert bottom.std(ddof=1) * q / math.sqrt(len(top)) >= bottom.mean() * (1 - 1e-9)


def test_ratios_without_an_end():
    assert ratio(np.ones(1), np.ones(1), 0.95) == (0.0, math.inf)
    assert ratio(np.ones(9), np.repeat([1.0, 0.0], [1, 8]), 0.95) == (0.0, math.inf)


def test_an_estimate_in_words():
    assert str(Estimate(0.5234, 0.4111, 0.6388, 80, 0.95, "t")) == "0.52 [0.41, 0.64]"
    assert str(Estimate(1.0, 1.0, 1.0, 3, 0.95, "t")) == "1.0 [1.0, 1.0]"
    assert str(Estimate(0.0, 0.0, 0.0, 3, 0.95, "t")) == "0.00 [0.00, 0.00]"
    assert str(Estimate(1234.5, 1000.2, 1500.1, 3, 0.95, "t")) == "1234 [1000, 1501]"


def test_levels_and_ranges_that_make_no_sense():
    log = at.Log.from_records([{"task": t, "score": 5 * t} for t in range(9)])
    for level in (0, 1, 2, -0.5, "a", True, float("nan")):
        with pytest.raises(mk.InputError, match="level must lie between 0 and 1"):
            log.max_at_k(1, level=level)
    with pytest.raises(mk.InputError, match="a proved interval needs the range that scores can have"):
        log.max_at_k(1, interval="proved")
    with pytest.raises(mk.InputError, match="interval must be one of usual, proved, not 'betting'"):
        log.max_at_k(1, interval="betting")
    assert log.max_at_k(1).points[0].method == ON_RANGE_SEEN
    sure = at.Log.from_records([{"task": t, "score": 5 * t} for t in range(9)], score_range=(0, 100))
    assert sure.max_at_k(1, interval="proved").points[0].proved
    assert intervals.FEWEST_FOR_T == 50
