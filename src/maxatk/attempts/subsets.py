"""Subsets of ``k`` of ``n`` samples, without factorials."""

from functools import lru_cache

import numpy as np

from maxatk.rows import Floats


@lru_cache(maxsize=256)
def chances(n: int, k: int) -> Floats:
    """How likely each sample is to be the best of ``k`` that are drawn from ``n`` without replacement, worst first.

    ``w_j = C(j - 1, k - 1) / C(n, k)`` for ``j = 1..n``. From the top down, ``w_n = k / n`` and
    ``w_j = w_{j+1} (j - k + 1) / j``: factors between 0 and 1, so that nothing overflows. They are multiplied in the
    widest floats that there are, and rounded once.

    >>> chances(4, 2).tolist()
    [0.0, 0.16666666666666666, 0.3333333333333333, 0.5]
    """
    j = np.arange(n - 1, k - 1, -1, dtype=np.longdouble)
    falling = np.cumprod(np.concatenate(([np.longdouble(k) / n], (j - (k - 1)) / j)))
    found = np.zeros(n)
    found[k - 1 :] = falling[::-1]
    found.setflags(write=False)  # it is kept, and shared
    return found
