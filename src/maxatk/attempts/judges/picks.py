"""selected@k of one task: the true score of the attempt that a judge likes best among ``k``.

With ``n`` attempts sorted by their judge's score, a set of ``k`` of them has its greatest at place ``i`` with chance
``w_i = C(i-1, k-1) / C(n, k)``, as for max@k. The judge hands that one in, ties at random: so every place of a block of
equal judge's scores is given the mean truth of the block (docs/theory/judges.md). Unbiased for the truth of the
judge's pick among ``k`` fresh attempts; where the judge is the truth, it is max@k.
"""

from collections.abc import Sequence

import numpy as np

from maxatk.attempts.estimates.estimators import order_weights
from maxatk.base.types import Floats


def selected_of(truth: Floats, judge: Floats, ks: Sequence[int]) -> Floats:
    """selected@k [T, len(ks)] of tasks with as many attempts each, truth and judge [T, n]; every ``k`` is at most n."""
    truths = in_judged_order(truth, judge)
    means = np.stack([truths @ order_weights(truths.shape[1], k) for k in ks], axis=1)
    return np.clip(means, truths.min(axis=1, keepdims=True), truths.max(axis=1, keepdims=True))  # against rounding


def in_judged_order(truth: Floats, judge: Floats) -> Floats:
    """Truths [T, n] from the attempt that the judge likes least on, each the mean of those that it likes as much."""
    order = np.argsort(judge, axis=1, kind="stable")
    rising, sorted_truth = np.take_along_axis(judge, order, axis=1), np.take_along_axis(truth, order, axis=1)
    new = np.ones(rising.shape, bool)
    new[:, 1:] = rising[:, 1:] != rising[:, :-1]
    flat, starts = sorted_truth.ravel(), np.flatnonzero(new.ravel())
    sizes = np.diff(np.append(starts, flat.size))
    means = np.add.reduceat(flat, starts) / sizes
    # A mean of equal numbers is that number, whatever rounding says.
    means = np.clip(means, np.minimum.reduceat(flat, starts), np.maximum.reduceat(flat, starts))
    return np.repeat(means, sizes).reshape(truth.shape)
