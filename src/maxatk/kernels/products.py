"""Layers of dense rows, by matrix products: what ``sweeps.py`` does, with most of its sums left to BLAS.

All states of a layer have the same cells, so that the next layer is a matrix. A row that leads on leads to its
*product*, a row of the matrix of probabilities times that, as if to a state of its own; after the product a layer is
swept as usual, with one outcome for a row, or two where the rollout may end.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.sweeps import Choices, Values, fill_decisions, fill_values, sums_of
from maxatk.kernels.windows import Layout, Part, Tables


class Dense(NamedTuple):
    """A slice of a dense problem."""

    tables: Tables  # whose next states are S where the rollout ends, or S + 1 and the row's number in its layer
    matrix: Any  # [N, S] the probabilities of next states; the last step has none, and a layer of tables of its own
    row_range: Any  # [H, 2] the first row of each step, and the one after its last
    start: Any  # [H + 1] where the cells of each layer begin
    width: Any  # [H + 1] how many each state has; none at the end
    products: int  # where the products of a layer begin, row by row
    together: int  # states whose rows are multiplied at a time, always the same: bits may depend on it


@compiled
def multiply(dense: Dense, h: int, first_state: int, end_state: int, S: int, B: int, column: Any) -> None:
    """The products of the rows of some states at step ``h``, for ``B`` slices side by side in a column of cells."""
    node = dense.tables.rows.step_layer[h] * S
    first, end = dense.tables.rows.pair_start[node + first_state], dense.tables.rows.pair_start[node + end_state]
    across = dense.width[h + 1] * B
    if across == 0:
        return
    there = dense.start[h + 1] * B
    here = dense.products * B - dense.tables.rows.pair_start[node] * across
    np.dot(
        dense.matrix[first:end],
        column[there : there + S * across].reshape((S, across)),
        column[here + first * across : here + end * across].reshape((end - first, across)),
    )


def multiply_values(where: Part, dense: Dense, layout: Layout, values: Values, stop: Any) -> None:
    """:func:`maxatk.kernels.sweep_values` of dense rows."""
    idle_value, idle_slope, value, slope, _ = values
    sums = sums_of(where, layout, 2, len(idle_value))
    fill_products(where, dense, layout, (idle_value, idle_slope, value, slope), sums, stop)


@compiled
def fill_products(where: Part, dense: Dense, layout: Layout, values: Any, sums: Any, stop: Any) -> None:
    """The loops of :func:`multiply_values`."""
    idle_value, _, value, slope = values
    S, B = layout.pad.shape[1], idle_value.shape[0]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        for s in range(where.first_state, where.end_state, dense.together):
            end = min(s + dense.together, where.end_state)
            multiply(dense, h, s, end, S, B, value)
            multiply(dense, h, s, end, S, B, slope)
            fill_values(Part(h, h + 1, s, end), dense.tables, layout, values, None, sums, stop)


def multiply_decisions(where: Part, dense: Dense, layout: Layout, choices: Choices, stop: Any) -> None:
    """:func:`maxatk.kernels.sweep_decisions` of dense rows."""
    (total,) = sums_of(where, layout, 1)
    fill_product_decisions(where, dense, layout, choices, total, stop)


@compiled
def fill_product_decisions(
    where: Part, dense: Dense, layout: Layout, choices: Choices, total: Any, stop: Any
) -> None:  # fmt: skip
    """The loops of :func:`multiply_decisions`."""
    S = layout.pad.shape[1]
    for h in range(where.end_step - 1, where.first_step - 1, -1):
        for s in range(where.first_state, where.end_state, dense.together):
            end = min(s + dense.together, where.end_state)
            multiply(dense, h, s, end, S, 1, choices.value)
            fill_decisions(Part(h, h + 1, s, end), dense.tables, layout, choices, total, stop)
