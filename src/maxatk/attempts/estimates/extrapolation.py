"""Bounds on pass@k for more attempts than were made.

``n`` attempts at each of many tasks identify the first ``n`` moments of the distribution of a task's pass rate, and
nothing else. The largest and the smallest pass@k among all distributions that agree with the counts are the values of a
linear programme over distributions of rates. Sampling error in the counts is covered by simultaneous exact binomial
limits (Clopper and Pearson) on the share of tasks with ``c`` passes, and with at most ``c``, for all ``c``.

The programme has infinitely many variables, one per rate. It is solved on a grid that grows where its dual is violated,
and the bound is the dual value plus the worst violation anywhere in [0, 1]: so it holds for *all* distributions, not
only for those on the grid (docs/theory/attempts.md).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints

FARTHEST = 4  # times as many attempts as were made: beyond that the bounds are nearly vacuous
MOST_ATTEMPTS = 32  # of a task that are counted: more would take long and hardly sharpen the bounds
_ROUNDS, _FINER, _FINE, _CLOSE = 30, 2, 2**14, 2e-5


@dataclass(frozen=True)
class PassRange(Displayed):
    """Bounds on pass@k for ``k`` beyond the attempts that were made; there is no point estimate.

    >>> from maxatk.attempts import PassRange
    >>> print(PassRange(k=16, attempts=8, lower=0.5625, upper=0.75, tasks=300, level=0.95))
    pass@16 lies between 0.562 and 0.750 (95 %, 300 tasks with 8 attempts each)
    """

    k: int  # the number of attempts
    attempts: int  # the number of attempts made at each task
    lower: float  # no distribution of tasks that fits the log has less
    upper: float  # nor more
    tasks: int  # the number of tasks
    level: float  # the bounds hold with at least this probability


def pass_range(passes: Ints, n: int, k: int, level: float) -> PassRange:
    """The range of pass@k, from the number of passes in ``n`` attempts at each task [T]."""
    if k > FARTHEST * n:
        raise InputError(
            f"k = {k} is more than {FARTHEST} times the {n} attempts: the log says next to nothing about it"
        )
    rows, low, high = _limits(np.bincount(passes, minlength=n + 1), n, 1 - level)
    ends = [_greatest(sign, rows, low, high, n, k) for sign in (-1, 1)]
    return PassRange(k, n, max(-ends[0], 0.0), min(ends[1], 1.0), len(passes), level)


def _limits(counts: Ints, n: int, risk: float) -> tuple[Floats, Floats, Floats]:
    """Functions of the number of passes [R, n + 1], and simultaneous limits on their means [R]."""
    cells = np.eye(n + 1)
    at_most_c = np.tril(np.ones((n + 1, n + 1)))[:-1]
    rows = np.concatenate([cells, at_most_c])
    seen, tasks = rows @ counts, counts.sum()
    each = risk / (2 * len(rows))
    from scipy.special import betaincinv  # SciPy takes a while to load, here and below

    quantile: Any = betaincinv
    low: Floats = quantile(np.maximum(seen, 1), tasks - seen + 1, each)
    high: Floats = quantile(seen + 1, np.maximum(tasks - seen, 1), 1 - each)
    return rows, np.where(seen > 0, low, 0.0), np.where(seen < tasks, high, 1.0)


def _chances(n: int, rates: Floats) -> Floats:
    """The binomial chances of ``c`` passes in ``n`` attempts [n + 1, rates]."""
    from scipy.special import gammaln, xlog1py, xlogy

    c = np.arange(n + 1)[:, None]
    logs = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) + xlogy(c, rates) + xlog1py(n - c, -rates)
    return np.exp(logs)


def _greatest(sign: int, rows: Floats, low: Floats, high: Floats, n: int, k: int) -> float:
    """An upper bound on the mean of ``sign * pass@k`` over all distributions within the limits."""
    from scipy.optimize import linprog

    rates = np.unique(np.concatenate([np.sin(np.linspace(0, np.pi / 2, 200)) ** 2, np.geomspace(1e-6, 1e-2, 40)]))
    fine = np.sin(np.linspace(0, np.pi / 2, _FINE)) ** 2
    spacing = float(np.diff(fine).max())
    goal = sign * (1 - (1 - fine) ** k)
    bound, chances = np.inf, _chances(n, fine)
    for turn in range(_ROUNDS):
        means = rows @ _chances(n, rates)  # [R, rates]
        solved: Any = linprog(
            -sign * (1 - (1 - rates) ** k),
            A_ub=np.concatenate([means, -means]),
            b_ub=np.concatenate([high, -low]),
            A_eq=np.ones((1, len(rates))),
            b_eq=[1.0],
            bounds=(0, None),
            method="highs",
        )
        if solved.status == 2 and turn < _FINER:  # infeasible on this grid: perhaps a finer one has a solution
            rates = np.unique(np.concatenate([rates, (rates[1:] + rates[:-1]) / 2]))
            continue
        if solved.status != 0:  # counts that independent draws cannot give: keep the bound so far
            break
        # Any prices u, v >= 0 give, for every distribution within the limits, mean <= u high - v low + the maximum over
        # rates of goal - (u rows - v rows). The solver's prices need not be exact for this to be true.
        u, v = np.maximum(-solved.ineqlin.marginals, 0.0).reshape(2, -1)
        cover = (u - v) @ rows  # [n + 1] by number of passes
        excess = goal - cover @ chances
        # Between points of the fine grid a curve rises above its chord by at most h^2/8 times its second derivative.
        bend = k * (k - 1) + n * (n - 1) * (np.abs(np.diff(cover, 2)).max() if n > 1 else 0.0)
        here = float(u @ high - v @ low + excess.max() + spacing**2 / 8 * bend)
        bound = min(bound, here)
        if here - -solved.fun <= _CLOSE + spacing**2 / 8 * bend:
            break
        worst = np.flatnonzero((excess[1:-1] >= excess[:-2]) & (excess[1:-1] >= excess[2:])) + 1
        rates = np.unique(np.concatenate([rates, fine[worst], fine[[int(excess.argmax())]]]))
    return min(bound, 1.0 if sign > 0 else 0.0)
