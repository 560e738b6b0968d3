"""Bounds on a mean from what a gambler's wealth would be (docs/theory/learning.md, 2).

A gambler with wealth 1 who bets at fair odds on every draw ever has ``1/delta`` with probability ``delta`` at most. His
wealth therefore bounds the mean that the odds follow from. ``kernels.uncertain`` has a compiled twin of
:func:`betting_bound`, which tests compare with it.
"""

import math

import numpy as np

from maxatk.base.types import Floats

STAKES = 2.0 ** (np.arange(97) / 8)  # in ranges of the values: those that :func:`mean_from_below` tries
# Guesses of the deviation of values in [0, 1], one per gambler, and the gamblers' shares of the wealth.
_GUESSES: Floats = np.array([0.45, 0.2, 0.08, 0.02])
_SHARES: Floats = np.array([0.45, 0.3, 0.15, 0.1])
_SLACK = 1e-9  # for the rounding of logarithms


def betting_bound(share: Floats, value: Floats, stake: float | Floats, risk: float) -> Floats:
    """Upper bounds on a mean for all numbers ``n`` of draws at once, with probability ``1 - delta``: one per stake.

    ``stake - e**-risk * prod (stake - f)**share``, with ``risk = ln(1/delta)/n``. ``share`` [b] is how often each value
    ``f`` [b] was drawn. A stake is any number, chosen before the draws, that no value exceeds.
    """
    seen = share > 0
    stakes = np.asarray(stake, np.float64)
    with np.errstate(divide="ignore"):  # a stake that was drawn itself bounds the mean by itself
        log_growth = np.log(np.maximum(stakes[..., None] - value[seen], 0.0)) @ share[seen]
    return stakes - np.exp(log_growth - risk)


def mean_from_below(values: Floats, least: float, most: float, log: float) -> float:
    """A lower bound on the mean of independent values in ``[least, most]``, for all their numbers at once.

    It is the best of the bounds for ``most - value`` under all ``STAKES``; ``log`` is ``ln(1/delta)`` with the number
    of stakes in it.
    """
    if not len(values):
        return least
    value, count = np.unique(values, return_counts=True)
    span = most - least
    bounds = betting_bound(count / len(values), most - value, span * STAKES, log / len(values))
    rounding = 2.0**-40 * (span + abs(least) + abs(most))
    return max(most - float(bounds.min()) - rounding, least)


def mean_from_above(values: Floats, risk: float) -> float:
    """An upper bound on the mean of values in [0, 1], whose number is fixed, that fails with probability ``risk``.

    If the mean is ``m``, a gambler who multiplies his wealth by ``1 + b (m - F)`` at every value ``F`` has a constant
    expected wealth, for every bet ``b`` up to ``1/(1 - m)``, with which the wealth is never negative. The same is true
    of several gamblers with shares of one wealth. By Markov's inequality their wealth reaches ``1/risk`` times the
    initial one with probability at most ``risk``. It increases with ``m``: the bound is the ``m`` at which it is
    ``1/risk``. The bets are optimal for values of a few given deviations; these and the number of values are fixed
    beforehand. (With ``b = 1/(x - m)`` this is :func:`betting_bound` at the stake ``x``; the order of the values does
    not matter.)
    """
    bets = math.sqrt(2 * math.log(1 / risk) / len(values)) / _GUESSES
    initial = np.log(_SHARES * risk)

    def rejected(m: float) -> bool:
        """Whether the wealth under a mean of ``m`` reaches ``1/risk``."""
        b = np.minimum(bets, 1 / (1 - m))
        with np.errstate(divide="ignore"):
            wealth = initial + np.log1p(np.maximum(b[:, None] * (m - values), -1.0)).sum(axis=1)
        largest = wealth.max()
        return bool(largest > -math.inf and largest + math.log(np.exp(wealth - largest).sum()) >= _SLACK)

    low, high = float(values.mean()), 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high
