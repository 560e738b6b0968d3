"""Dense rows as a matrix, where rows lead almost anywhere and their reward is their own.

If all outcomes of a row bring the same reward, the value of the row is one row of the matrix of probabilities times the
values of the next layer, moved by that reward: ``kernels/products.py`` sweeps slices so. BLAS adds up in an order of
its own, and docs/theory/planner.md, 10 allows for any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.types import Floats, Ints, Ints32
from maxatk.engines.jobs import Kernel
from maxatk.planning.certified.cells import Cells
from maxatk.planning.tuning import TUNING
from maxatk.problem.mdp import MDP


@dataclass(frozen=True)
class DenseRows:
    """Rows as a matrix, and as a table in which each leads to its product, or to the end.

    The last step has a layer of its own, the last one, in which all rollouts end.
    """

    matrix: Floats  # [N, S] probabilities of next states, without the last step's layer
    rows: kernels.RowTable
    jump: Ints32  # [T] of the table
    row_range: Ints  # [H, 2] the first row of each step, and the one after its last
    most_rows: int  # of any layer

    multiplies: ClassVar[bool] = True

    @property
    def large_layer(self) -> float:
        """Products from which on a layer is split over threads."""
        return TUNING.large_dense_layer

    def uploaded(self, upload: Callable[[Any], Any]) -> "DenseRows":
        """The same with arrays of an engine."""
        rows = kernels.RowTable(self.rows.step_layer, *map(upload, self.rows[1:]))
        return DenseRows(upload(self.matrix), rows, upload(self.jump), self.row_range, self.most_rows)


def dense_rows(mdp: MDP, jump: Ints32) -> DenseRows | None:
    """The rows as a matrix; None where they lead to few states, where their rewards are not their own, or where memory
    is short."""
    n, S = len(mdp.action_cost), mdp.n_states
    if len(mdp.prob) < TUNING.dense_share * n * S:
        return None
    # A matrix, as it is made, and where the products of all steps lie.
    if 16 * n * S + 8 * mdp.horizon * n > checks.memory() / 4:
        return None
    of_row, sizes = jump[mdp.outcome_start[:-1]], np.diff(mdp.outcome_start)
    if not np.array_equal(np.repeat(of_row, sizes), jump):
        return None
    chance = np.zeros((n, S + 1))
    np.add.at(chance, (np.repeat(np.arange(n), sizes), mdp.next_state), mdp.row_prob)
    layers = (len(mdp.pair_start) - 1) // S
    number = np.arange(n) - np.repeat(mdp.pair_start[:-1:S], np.diff(mdp.pair_start[::S]))  # of a row in its layer
    leads_on = chance[:, :S].any(axis=1)
    # The last step's rows come after all others.
    node = int(mdp.step_layer[-1]) * S
    first, end = (int(mdp.pair_start[at]) for at in (node, node + S))
    last = np.arange(first, end)
    rows = np.append(np.arange(n), last)
    may = np.concatenate([np.stack([leads_on, chance[:, S] > 0], axis=1), np.tile([False, True], (len(last), 1))])
    prob = np.stack([np.ones(len(rows)), np.append(chance[:, S], np.ones(len(last)))], axis=1)
    target = np.stack([S + 1 + number[rows], np.full(len(rows), S)], axis=1)
    table = kernels.RowTable(
        step_layer=np.append(mdp.step_layer[:-1], layers),
        pair_start=np.append(mdp.pair_start, n + mdp.pair_start[node + 1 : node + S + 1] - first),
        outcome_start=np.append(0, np.cumsum(may.sum(axis=1))),
        prob=prob[may],
        next_state=target[may].astype(np.int32),
        reward=mdp.reward,
        action_cost=mdp.action_cost[rows],
    )
    nodes = table.step_layer.astype(np.int64) * S
    return DenseRows(
        matrix=np.ascontiguousarray(chance[:, :S]),
        rows=table,
        jump=np.repeat(of_row[rows], may.sum(axis=1)),
        row_range=np.stack([table.pair_start[nodes], table.pair_start[nodes + S]], axis=1),
        most_rows=int(np.diff(table.pair_start[::S]).max()),
    )


class Rectangles:
    """Cells that are as many for all states of a layer, so that a layer is a matrix, and room for products of rows.

    Cells that a state does not need are never looked at, but must be finite: buffers start as zeros.

    Args:
        cells: the cells that a slice needs.
        dense: the rows, on the engine of the cells.
    """

    values: Kernel = "multiply_values"
    decisions: Kernel = "multiply_decisions"

    def __init__(self, cells: Cells, dense: DenseRows) -> None:
        self._xp, self._cells, self._dense = cells.xp, cells, dense
        xp, (low, pad, high, _, _) = cells.xp, cells.windows
        self._shape: tuple[int, int] = low.shape
        least = xp.where(high >= pad, pad, kernels.NEVER).min(axis=1).tolist()
        last = xp.where(high >= pad, high, -kernels.NEVER).max(axis=1).tolist()
        self._first: Ints = np.array([*least, 0])  # [H + 1] the least return of each layer's cells
        self._width: Ints = np.maximum(np.array([*last, -1]) - self._first + 1, 0)  # [H + 1] cells of each state

    @property
    def _layer(self) -> int:
        """The most cells that a layer has."""
        return self._shape[1] * int(self._width.max())

    @property
    def _start(self) -> Ints:
        """[H + 1] where a layer's cells begin; every other one begins at the same place."""
        return len(self._cells.final) + self._layer * (np.arange(self._shape[0] + 1) % 2)

    @property
    def _products(self) -> int:
        """Where the products begin, in the order of rows: behind two layers."""
        return len(self._cells.final) + 2 * self._layer

    def two_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie, and how many there are with the products. Products of rows are further states."""
        xp, (H, S), n = self._xp, self._shape, self._dense.most_rows
        width, first = self._width[:, None], self._first[:, None]
        place = xp.empty((H + 1, S + 1 + n), np.int64)
        place[:, : S + 1] = self._cells.two_layers()[0].place
        place[:H, :S] = xp.asarray(self._start[:H, None] - first[:H] + np.arange(S) * width[:H])
        place[:, S + 1 :] = xp.asarray(self._products - first + np.arange(n) * width)
        pad = xp.asarray(np.repeat(first[:H], S, axis=1).astype(np.int32))
        low, high = self._cells.windows.low, self._cells.windows.high
        return kernels.Layout(low, pad, high, place), self._products + n * int(self._width.max())

    def cuts(self, step: int, parts: int) -> list[int]:
        """Where to cut the states of a layer: rows that are multiplied together stay so."""
        return self._cells.cuts(step, parts, self.together)

    @cached_property
    def together(self) -> int:
        """States whose rows are multiplied at a time, always the same ones: the bits of a product may depend on it.

        Tiles are a power of two, so that threads get as many of them.
        """
        S = self._shape[1]
        tiles = self._dense.most_rows * S * int(self._width.max()) // TUNING.product_tile
        return -(-S >> max(min(tiles, S), 1).bit_length() - 1)

    @cached_property
    def rows(self) -> kernels.Dense:
        """The slice as kernels that multiply take it."""
        tables: Any = self._cells.tables
        tables = tables._replace(rows=self._dense.rows, moves=tables.moves._replace(jump=self._dense.jump))
        return kernels.Dense(
            tables, self._dense.matrix, self._dense.row_range, self._start, self._width, self._products, self.together
        )
