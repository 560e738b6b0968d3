"""The lemmas that the guarantees of learning rest on, each as a function of its numbers, so that tests can hold them to
samples and to random problems. docs/theory/learning.md has the proofs; ``maxatk.base.betting`` has one more.

Concentration of a sample around its distribution, and how errors of rows add up over the steps of all rollouts. In the
latter a *time* ``t = 0, ..., K H - 1`` counts the steps of all rollouts, and ``x = (s, M, G)`` are the compressed
histories: ``kernels[t]`` ``[X, X']`` moves one time on under a policy, ``values[t]`` ``[X]`` is what a history is worth
then, and ``values[K H]`` what it is worth at the end.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import rel_entr

from maxatk.base.types import Floats

# A sample of n draws against its distribution.


def bernstein_width(variance: float, span: float, n: int, delta: float) -> float:
    """Bernstein: ``|(q - q')f|`` is at most this with probability ``1 - delta``, for one ``f`` of this span.

    ``q`` is the distribution, ``q'`` the shares of ``n`` draws, ``variance`` that of ``f`` under ``q``.
    """
    log = math.log(2 / delta)
    return math.sqrt(2 * log * variance / n) + 2 * span * log / (3 * n)


def l1_radius(size: int, n: int, delta: float) -> float:
    """The paper's radius for ``|q - q'|_1`` over ``size`` outcomes, with probability ``1 - delta``."""
    return math.sqrt((2 * math.log(1 / delta) + 2 * size * math.log(6 * n)) / n)


def tight_l1_radius(size: int, n: int, delta: float) -> float:
    """A smaller one (Weissman et al. 2003): an L1 distance is twice the greatest of ``2**size`` differences."""
    return math.sqrt((2 * math.log(1 / delta) + 2 * size * math.log(2)) / n)


def kl_radius(size: int, n: int, delta: float) -> float:
    """``KL(q', q)`` is at most this for all ``n`` at once, with probability ``1 - delta`` (Jonsson et al. 2020)."""
    free = size - 1
    return (math.log(1 / delta) + (free * math.log(math.e * (1 + n / free)) if free else 0.0)) / n


def kl_width(variance: float, span: float, radius: float) -> float:
    """``|(q - q')f|`` is at most this for every ``f`` of this span if ``KL(q', q) <= radius``.

    ``variance`` is that of ``f`` under the sample ``q'``.
    """
    return 2 * math.sqrt(variance * radius) + (2 * math.sqrt(2) + 2 / 3) * span * radius


def first_time(c1: float, c2: float, n: float, level: float, delta: float) -> float:
    """``(ln(c1/delta) + n ln(c2 t))/t <= level**2`` holds for some ``t`` up to here (the paper's technical lemma)."""
    square = level**2
    return 2 * (2 + 4 * math.log(c1 / delta) / square + 4 * n / square * math.log(2 * n * c2 / square))


# Two Bernoulli distributions, for the lower bound.


def bernoulli_kl(p: float, q: float) -> float:
    """``kl(p, q)``."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def bernoulli_kl_floor(p: float, q: float) -> float:
    """``kl(p, q)`` is at least this (Lemma 15 of Domingues et al. 2021, as the paper uses it)."""
    return (1 - p) * math.log(1 / (1 - q)) - math.log(2)


# How errors add up.


def error_sums(kernels: Sequence[Floats], estimates: Sequence[Floats], values: Sequence[Floats]) -> list[Floats]:
    """``C_{mu,nu}`` by time and history: the expected sum of ``|(T - T') V|`` from there on, under ``T``.

    ``kernels`` are those of ``mu``, true and estimated; ``values`` those of ``nu``.
    """
    sums = [np.zeros(len(values[-1]))]
    for T, T_hat, V in zip(reversed(kernels), reversed(estimates), reversed(values[1:]), strict=True):
        sums.insert(0, np.abs((T - T_hat) @ V) + T @ sums[0])
    return sums


def variance_sums(kernels: Sequence[Floats], values: Sequence[Floats]) -> list[Floats]:
    """The expected sum of the variances of ``V`` one time on: at most ``H²`` for optimal ``V`` (the paper: 3 H²)."""
    sums = [np.zeros(len(values[-1]))]
    for T, V in zip(reversed(kernels), reversed(values[1:]), strict=True):
        sums.insert(0, T @ V**2 - (T @ V) ** 2 + T @ sums[0])
    return sums


def l1_error(kernels: Sequence[Floats], estimates: Sequence[Floats]) -> float:
    """The largest ``|T - T'|_1`` of any time and history."""
    return max(float(np.abs(T - T_hat).sum(axis=1).max()) for T, T_hat in zip(kernels, estimates, strict=True))


def simulation_bound(error_sum: float, l1: float, times: int, distance: float = 0.0) -> float:
    """How far a policy's values are off under estimated kernels: both simulation lemmas, with their condition's slack.

    From ``|V - V'| <= C + times * l1 * (|V - V'| + distance)``. With ``l1 <= 1/(2 times)`` this is at most the paper's
    ``2 C + 2 times l1 distance``. ``distance`` is that of the policy's values from the reference values in ``C``, 0 in
    the first lemma.
    """
    return (error_sum + times * l1 * distance) / (1 - times * l1)


def refined_decomposition(optimal_sum: float, learned_sum: float, rounding: float, suboptimal: float = 0.0) -> float:
    """The loss of the learned policy if ``l1 <= 1/(4 K H)``: ``2C + 2C`` and what rounding and planning cost.

    The paper has ``4C + 4C + 3 H kappa``; the proof gives ``2C + 2C + H kappa``, where ``rounding = H kappa``.
    ``suboptimal`` is what the policy falls short of the best for the estimated kernel.
    """
    return 2 * optimal_sum + 2 * learned_sum + 1.5 * suboptimal + rounding
