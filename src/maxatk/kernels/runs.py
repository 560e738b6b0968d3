"""Runs of equal choices: neighbouring returns of a state mostly take the same row, so that few numbers hold a slice."""

from typing import Any

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.windows import Layout, Part


@compiled
def find_runs(where: Part, layout: Layout, choice: Any, first: Any, row: Any, count: Any, size: Any) -> None:
    """The runs of some states of one layer, for ``B`` slices side by side, state by state and then by return.

    ``first`` and ``row`` [B, cells] are the least return of each run and the row that it takes, ``count`` [B, states]
    how many runs each state has, ``size`` [B] how many there are.
    """
    h, B = where.first_step, np.uint64(len(size))
    size[:] = 0
    for s in range(where.first_state, where.end_state):
        low, high = layout.low[h, s], layout.high[h, s]
        for b in range(B):
            count[b, s - where.first_state] = -size[b]
        if low <= high:
            begin, end = np.uint64(layout.place[h, s] + low) * B, np.uint64(layout.place[h, s] + high + 1) * B
            for b in range(B):
                first[b, size[b]], row[b, size[b]] = low, choice[begin + b]
                size[b] += 1
            for k in range(begin + B, end):
                if choice[k] != choice[k - B]:
                    b = (k - begin) % B
                    first[b, size[b]], row[b, size[b]] = low + np.int64((k - begin) // B), choice[k]
                    size[b] += 1
        for b in range(B):
            count[b, s - where.first_state] += size[b]
