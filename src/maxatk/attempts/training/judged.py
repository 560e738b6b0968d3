"""Weights of samples under which the gradient is that of the reward of a judge's pick among ``k``.

With samples sorted by the judge, ``J = E[R_pick]`` has the weights ``s_i = (1 / C(n, k)) sum_{S with i} R_pick(S)``.
Of a block of ``m`` equal judge's scores at places ``l + 1, ..., l + m``, each is the pick as often as any other. With
``q`` over these places and ``O`` the mean reward of the other samples of the block,

    ``s_i C(n, k) = R_i mean_q C(q-1, k-1) + O mean_q (q-l-1) C(q-2, k-2) + sum over blocks above of R C(q-2, k-2)``,
    ``D_i C(n, k) = R_i mean_q C(q-1, k-1) - O mean_q (l+m-q) C(q-1, k-2) - sum over blocks below of R C(q-1, k-2)``,

where ``R`` is the mean reward of such a block, and ``D_i`` is what the sample adds to the pick among ``k - 1`` others,
which may be negative. Less the others' baseline, weights are ``n / (n - k) (s_i - mean s)``. One sort and some
cumulative sums; the proofs are on the theory page on judges.
"""

from typing import NamedTuple

import numpy as np

from maxatk.attempts.training.arrays import Array, Library, like, refuse
from maxatk.attempts.training.subsets import chances
from maxatk.base.types import Floats


def of_groups(xp: Library, name: str, rewards: Array, judge: Array, k: int, baseline: str) -> Array:
    """The weights of groups [G, n] for one of the baselines "others", "marginal" and "none"."""
    n = rewards.shape[-1]
    low, high = xp.min(rewards, axis=-1, keepdims=True), xp.max(rewards, axis=-1, keepdims=True)

    def message(where: str, _: float) -> str:
        return f"rewards of {name} are too far apart: their difference is not a finite {rewards.dtype}"

    half = 0.5 * high - 0.5 * low
    refuse(xp, half > 0.5 * xp.finfo(rewards.dtype).max, half, message)
    if k == 1 and baseline != "others":
        return rewards / n
    # Weights with a baseline do not depend on what is added to all rewards: near 0 less is lost to rounding.
    values = rewards if baseline == "none" else rewards - low
    order = xp.argsort(judge, axis=-1)
    sums = _Sums(xp, xp.take_along_axis(values, order, axis=-1), _blocks(xp, xp.take_along_axis(judge, order, axis=-1)))
    w = np.array(chances(n, k), dtype=np.float64)
    shared = [chance * (k - 1) / q for q, chance in enumerate(chances(n, k)[1:], 1)]  # C(q-2, k-2) / C(n, k) from q = 2
    if baseline == "marginal":
        with_others = np.array([*shared, 0.0], dtype=np.float64)  # C(q-1, k-2) / C(n, k)
        weights = sums.own(w) - sums.beside(with_others, last=True) - sums.below(with_others)
    else:
        with_others = np.array([0.0, *shared], dtype=np.float64)
        weights = sums.own(w) + sums.beside(with_others, last=False) + sums.above(with_others)
        if baseline == "others":
            weights = n / (n - k) * (weights - xp.mean(weights, axis=-1, keepdims=True))
    return xp.take_along_axis(weights, xp.argsort(order, axis=-1), axis=-1)


class _Blocks(NamedTuple):
    """Blocks of equal judge's scores in groups that are sorted by them."""

    start: Array  # [G, n] where the block of each sample begins
    end: Array  # [G, n] and the first place after it


def _blocks(xp: Library, judge: Array) -> _Blocks:
    n = judge.shape[-1]
    whole = xp.asarray(0).dtype
    place = xp.astype(xp.zeros_like(judge), whole) + like(xp, np.arange(n), judge, whole)
    rises = judge[:, 1:] != judge[:, :-1]
    start = _greatest_so_far(xp, xp.concat([place[:, :1], xp.where(rises, place[:, 1:], 0)], axis=-1))
    last = xp.concat([xp.where(rises, place[:, :-1], n - 1), place[:, -1:]], axis=-1)
    end = n - _greatest_so_far(xp, xp.flip(n - 1 - last, axis=-1))
    return _Blocks(start, xp.flip(end, axis=-1))


def _greatest_so_far(xp: Library, x: Array) -> Array:
    """The greatest entry up to each place of rows of nonnegative numbers, by doubling."""
    shift = 1
    while shift < x.shape[-1]:
        x = xp.concat([x[:, :shift], xp.maximum(x[:, shift:], x[:, :-shift])], axis=-1)
        shift *= 2
    return x


class _Sums:
    """Sums over the places of blocks, above them and below, of groups [G, n] that are sorted by the judge."""

    def __init__(self, xp: Library, values: Array, blocks: _Blocks) -> None:
        self.xp, self.values, self.blocks = xp, values, blocks
        self.size = xp.astype(blocks.end - blocks.start, values.dtype)
        before = xp.cumulative_sum(values, axis=-1, include_initial=True)
        self.total = self._at(before, blocks.end) - self._at(before, blocks.start)
        self.total = xp.where(self.size == 1, values, self.total)

    def own(self, w: Floats) -> Array:
        """The reward of each sample times the mean of ``w`` [n] over its block."""
        return self.values * self._over_block(w) / self.size

    def beside(self, w: Floats, last: bool) -> Array:
        """The mean reward of the others of the block, times the mean of ``w`` times the others before a place, or those
        after it.
        """
        xp, place = self.xp, np.arange(len(w))
        weighted, plain = self._over_block(place * w), self._over_block(w)
        edge = xp.astype(self.blocks.end - 1 if last else self.blocks.start, self.values.dtype)
        times = edge * plain - weighted if last else weighted - edge * plain
        others = (self.total - self.values) / xp.where(self.size > 1, self.size - 1, xp.ones_like(self.size))
        return xp.where(self.size > 1, others * times / self.size, xp.zeros_like(self.values))

    def above(self, w: Floats) -> Array:
        """The sum over places above the block of ``w`` times the mean reward of theirs."""
        xp = self.xp
        weighted = xp.flip(like(xp, w, self.values) * self.total / self.size, axis=-1)
        after = xp.flip(xp.cumulative_sum(weighted, axis=-1, include_initial=True), axis=-1)
        return self._at(after, self.blocks.end)

    def below(self, w: Floats) -> Array:
        """The same over places below the block."""
        xp = self.xp
        before = xp.cumulative_sum(like(xp, w, self.values) * self.total / self.size, axis=-1, include_initial=True)
        return self._at(before, self.blocks.start)

    def _over_block(self, w: Floats) -> Array:
        """The sum of ``w`` [n] over the block of each sample."""
        xp = self.xp
        alone = xp.zeros_like(self.values) + like(xp, w, self.values)
        before = xp.zeros_like(self.values[:, :1]) + like(xp, np.append(0.0, np.cumsum(w)), self.values)
        several = self._at(before, self.blocks.end) - self._at(before, self.blocks.start)
        return xp.where(self.size == 1, alone, several)

    def _at(self, sums: Array, place: Array) -> Array:
        return self.xp.take_along_axis(sums, place, axis=-1)
