"""Layers of dense rows, by matrix products: what ``slices.py`` does, with most of its sums left to BLAS.

All states of a layer have the same cells, so that the next layer is a matrix. A row that leads on leads to its
*product*, a row of the matrix of probabilities times that, as if to a state of its own; after the product a layer is
swept as usual, with one outcome for a row, or two where the rollout may end.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.kernels.compiled import compiled
from maxatk.kernels.slices import decide_layer, whole_layer
from maxatk.kernels.windows import Layout, Tables


class Dense(NamedTuple):
    """A slice of a dense problem."""

    tables: Tables  # whose next states are S where the rollout ends, or S + 1 and the row's number in its layer
    matrix: Any  # [N, S] the probabilities of next states; the last step has none, and a layer of tables of its own
    start: Any  # [H + 1] where the cells of each layer begin
    width: Any  # [H + 1] how many each state has; none at the end
    products: int  # where the products of a layer begin, row by row
    together: int  # states whose rows are multiplied at a time, always the same: bits may depend on it


@compiled
def multiply(dense: Dense, h: int, first_state: int, end_state: int, S: int, B: int, column: Any) -> None:
    """The products of the rows of some states at step ``h``, for ``B`` slices side by side in a column of cells."""
    node = dense.tables.step_layer[h] * S
    first, end = dense.tables.pair_start[node + first_state], dense.tables.pair_start[node + end_state]
    across = dense.width[h + 1] * B
    if across == 0:
        return
    there = dense.start[h + 1] * B
    here = dense.products * B - dense.tables.pair_start[node] * across
    np.dot(
        dense.matrix[first:end],
        column[there : there + S * across].reshape((S, across)),
        column[here + first * across : here + end * across].reshape((end - first, across)),
    )


@compiled
def whole_products(
    tables: Tables, layout: Layout, dense: Dense, idle_value: Any, idle_slope: Any, value: Any, slope: Any, stop: Any
) -> None:
    """:func:`maxatk.kernels.whole_layers` of dense rows."""
    H, S = layout.pad.shape
    for h in range(H - 1, -1, -1):
        whole_product(tables, layout, h, 0, S, dense, idle_value, idle_slope, value, slope, stop)


@compiled
def whole_product(
    tables: Tables,
    layout: Layout,
    h: int,
    first_state: int,
    end_state: int,
    dense: Dense,
    idle_value: Any,
    idle_slope: Any,
    value: Any,
    slope: Any,
    stop: Any,
) -> None:
    """Some states of one layer."""
    S, B = layout.pad.shape[1], idle_value.shape[0]
    for s in range(first_state, end_state, dense.together):
        end = min(s + dense.together, end_state)
        multiply(dense, h, s, end, S, B, value)
        multiply(dense, h, s, end, S, B, slope)
        whole_layer(dense.tables, layout, h, s, end, idle_value, idle_slope, value, slope, stop)


@compiled
def decide_products(
    tables: Tables, layout: Layout, dense: Dense, place: Any, idle_value: float, value: Any, choice: Any, stop: Any
) -> None:
    """:func:`maxatk.kernels.decide_layers` of dense rows."""
    H, S = layout.pad.shape
    for h in range(H - 1, -1, -1):
        decide_product(tables, layout, h, 0, S, dense, place, idle_value, value, choice, stop)


@compiled
def decide_product(
    tables: Tables,
    layout: Layout,
    h: int,
    first_state: int,
    end_state: int,
    dense: Dense,
    choice_place: Any,
    idle_value: float,
    value: Any,
    choice: Any,
    stop: Any,
) -> None:
    """Some states of one layer of :func:`decide_products`."""
    S = layout.pad.shape[1]
    for s in range(first_state, end_state, dense.together):
        end = min(s + dense.together, end_state)
        multiply(dense, h, s, end, S, 1, value)
        decide_layer(dense.tables, layout, h, s, end, choice_place, idle_value, value, choice, stop)
