"""Weights for samples of another policy than the one that is trained.

Samples come from ``mu``, ratios are ``rho = p / mu``. A set of ``k`` samples counts with the product of its ratios.
With rewards sorted, let ``p_j`` be the mean of ``rho_{i_1} ... rho_{i_{k-1}}`` over all sets of ``k - 1`` of the first
``j`` samples. A gap between rewards then counts ``p_j`` times what it counts on-policy, and a sample ``rho_i`` times.
The means come from a recursion in ``O(n k)``, an average at every step, so that intermediate values do not overflow
before the result does. All its rows are stored if they are few; else every ``sqrt(n)``-th, from which the others are
recomputed.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from maxatk.attempts.training.arrays import Array, Library, like, refuse
from maxatk.attempts.training.groups import by_group
from maxatk.attempts.training.on_policy import BASELINES, chosen, in_order, known, of_groups
from maxatk.attempts.training.subsets import chances
from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.errors import InputError

METHODS = ("auto", "product", "plug-in")
MOST_TRIES = 10**15


def off_policy_weights(
    rewards: Any, ratios: Any, k: int, baseline: str = "auto", *, method: str = "auto", index: Any = None
) -> Any:
    """The weights of :func:`weights` for samples that another policy drew.

    Args:
        rewards: as for :func:`weights`.
        ratios: of the same shape: the probability of each sample under the policy that is trained, divided by that
            under the policy that drew it. For a text, that is the product over its tokens.
        k: how many tries the policy will get.
        baseline: as for :func:`weights`; for ``"product"`` only.
        method: ``"product"`` is unbiased, for ``k <= n``. Its variance grows with ``k`` and with the spread of the
            ratios. ``"plug-in"`` differentiates the max@k of the samples' law, weighted by ratio: less variance, a
            bias of the order ``1 / n``, any ``k``. ``"auto"`` takes the product where ``k <= n``, and else the plug-in.
        index: as for :func:`weights`.

    >>> from maxatk import attempts as at
    >>> at.off_policy_weights([0.0, 1.0, 1.0, 4.0], [1.0, 1.0, 1.0, 1.0], k=2, baseline="others").round(12).tolist()
    [-0.5, -0.5, -0.5, 1.5]
    >>> at.off_policy_weights([0.0, 1.0, 4.0], [2.0, 1.0, 0.5], k=2).tolist()
    [0.0, 0.6666666666666666, 1.8333333333333333]
    >>> at.off_policy_weights([0.0, 1.0], [1.0, 1.0], k=3).tolist()              # fewer samples than tries
    [-0.1875, 0.1875]
    """
    k, baseline = checks.integer(k, "k", least=1, most=MOST_TRIES), known(baseline, "baseline", BASELINES)
    method = known(method, "method", METHODS)

    def rule(xp: Library, name: str, rows: tuple[Array, ...]) -> Array:
        return _of_groups(xp, name, *rows, k=k, baseline=baseline, method=method)

    return by_group({"rewards": rewards, "ratios": ratios}, index, rule, nonnegative="ratios")


def _of_groups(xp: Library, name: str, rewards: Array, ratios: Array, *, k: int, baseline: str, method: str) -> Array:
    """The weights of groups [G, n]."""
    n = rewards.shape[-1]
    if method == "plug-in" or (method == "auto" and k > n):
        if baseline != "auto":
            raise InputError(f"baseline {baseline!r} is for method 'product'; 'plug-in' is centred by itself")
        return _plug_in(xp, name, rewards, ratios, k)
    baseline = chosen(baseline, n, k, name)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused below
        if k == 1:  # the weight of a sample does not depend on the others
            weights = ratios * of_groups(xp, name, rewards, k, baseline)
        else:
            G, some = rewards.shape[0], max(TUNING.weight_cells // (n * k), 1)
            cuts = [*range(0, G, some), G] if G else [0, 0]
            parts = [(rewards[i:j, :], ratios[i:j, :]) for i, j in pairwise(cuts)]
            weights = xp.concat([_product(xp, name, *part, k, baseline) for part in parts])

    def message(where: str, _: float) -> str:
        return f"products of {k} ratios of {name} are too large for {ratios.dtype}: method 'plug-in' takes no products"

    refuse(xp, ~xp.isfinite(weights), weights, message)
    return weights


def _product(xp: Library, name: str, rewards: Array, ratios: Array, k: int, baseline: str) -> Array:
    """Unbiased weights of groups [G, n], by products of ratios over subsets; ``2 <= k <= n``."""
    n = rewards.shape[-1]
    rising, gaps, order, place = in_order(xp, name, rewards)
    rho = xp.take_along_axis(ratios, order, axis=-1)
    table = _MeanProducts(xp, rho, k, held=baseline != "marginal")
    w, mean = like(xp, chances(n, k), rewards), table.last
    rises = w[1:] * mean[:, 1:] * gaps
    reached = xp.cumulative_sum(rises, axis=-1, include_initial=True)
    if baseline == "none":
        value = w * rising
        weights = rho * (value * mean + table.summed(value * rho, holding=True))
    elif baseline == "others":
        # A sample's contribution less the mean contribution of the others without it: contributions of samples below
        # it, of gaps below it to samples above it, and of gaps above it.
        above = xp.flip(xp.cumulative_sum(xp.flip(rho, axis=-1), axis=-1), axis=-1)[:, 1:]  # ratios above each gap
        zeros = xp.zeros_like(rho[:, :1])
        below = xp.cumulative_sum((rho * reached)[:, :-1], axis=-1, include_initial=True)
        across = reached * xp.concat([above, zeros], axis=-1)
        parts = xp.concat([zeros, w[1:] * gaps * above], axis=-1)
        without = below + across + table.summed(parts, holding=False)
        weights = rho * (reached - without / (n - k))
    else:
        weights = rho * reached
    return xp.take_along_axis(weights, place, axis=-1)


class _MeanProducts:
    """For ``j = 0..n-1``: the mean products of ``0..k-1`` of the first ``j`` ratios, row by row [G, k].

    They are elementary symmetric polynomials over their numbers of terms.

    Args:
        xp: the library of the arrays.
        rho: the ratios, [G, n].
        k: the number of entries of a row.
        held: whether the rows are needed a second time.
    """

    def __init__(self, xp: Library, rho: Array, k: int, held: bool) -> None:
        self._xp, self._rho = xp, rho
        self._d = like(xp, np.arange(k, dtype=np.float64), rho)
        G, n = rho.shape
        self._every = 1 if G * n * k <= TUNING.weight_cells else math.isqrt(n)  # the distance between stored rows
        self._held: list[Array] = []
        self._zeros = xp.zeros_like(rho[:, :1])
        row = xp.concat([self._zeros + 1, *[self._zeros] * (k - 1)], axis=-1)
        last: list[Array] = []
        for j in range(n):
            row = self._after(row, j) if j else row
            last.append(1 * row[:, -1])  # a copy: a view would keep the whole row in memory
            if held and j % self._every == 0:
                self._held.append(row)
        self.last = xp.stack(last, axis=-1)  # [G, n] the means of k - 1 among the first 0..n-1 samples

    def _shares(self, j: int) -> Array:
        """Of all sets of ``0..k-1`` of ``j`` samples, those with the last of them."""
        return self._d / j

    def _after(self, row: Array, j: int) -> Array:
        """Row ``j``, from the one before it."""
        shares, fewer = self._shares(j), self._xp.concat([self._zeros, row[:, :-1]], axis=-1)
        return (1 - shares) * row + shares * self._rho[:, j - 1 : j] * fewer

    def _backwards(self) -> Iterator[Array]:
        """The rows, from the last but one to the first."""
        last = self._rho.shape[-1] - 1
        for place in range(len(self._held) - 1, -1, -1):
            first = place * self._every
            rows = [self._held[place]] if first < last else []
            for j in range(first + 1, min(first + self._every, last)):
                rows.append(self._after(rows[-1], j))
            yield from reversed(rows)

    def summed(self, parts: Array, *, holding: bool) -> Array:
        """``sum_j parts_j last_j`` over the sets that hold each sample, less its ratio, or that do not hold it [G, n].

        The recursion is followed back, as in reverse differentiation; nothing is subtracted.
        """
        xp, rho, zeros = self._xp, self._rho, self._zeros
        behind = xp.zeros_like(self._held[0])  # the derivative of the sum by the entries of row j
        sums = [zeros]  # no row has the best sample
        for j, before in zip(range(rho.shape[-1] - 1, 0, -1), self._backwards(), strict=True):
            shares = self._shares(j)
            behind = xp.concat([behind[:, :-1], behind[:, -1:] + parts[:, j : j + 1]], axis=-1)
            held, left = (shares * behind)[:, 1:], (1 - shares) * behind
            counted = held * before[:, :-1] if holding else left * before
            sums.append(xp.sum(counted, axis=-1, keepdims=True))
            behind = left + rho[:, j - 1 : j] * xp.concat([held, zeros], axis=-1)
        return xp.concat(sums[::-1], axis=-1)


def _plug_in(xp: Library, name: str, rewards: Array, ratios: Array, k: int) -> Array:
    """Weights by the law of the samples, each weighted by its ratio: biased, for any ``k``.

    With ``q = rho / sum rho`` and ``F`` its distribution function, a reward ``x`` has the value ``u(x)`` beside
    ``k - 1`` draws, where ``u' = F^(k-1)``; the weights are ``k q_i (u_i - sum q u)``.
    """
    largest = xp.max(ratios, axis=-1, keepdims=True)
    refuse(xp, largest <= 0, largest, lambda where, _: f"all ratios of {name} are 0")
    _, gaps, order, place = in_order(xp, name, rewards)
    share = ratios / largest
    share = share / xp.sum(share, axis=-1, keepdims=True)
    q = xp.take_along_axis(share, order, axis=-1)
    below = xp.cumulative_sum(q, axis=-1)[:, :-1]
    value = xp.cumulative_sum(below ** (k - 1) * gaps, axis=-1, include_initial=True)
    weights = k * q * (value - xp.sum(q * value, axis=-1, keepdims=True))
    return xp.take_along_axis(weights, place, axis=-1)
