"""Slices of dense problems, which are swept by matrix products (``kernels/products.py``).

BLAS adds up in an order of its own, and docs/theory/planner.md, 10 allows for any.
"""

import importlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]

from maxatk import kernels
from maxatk.base.types import Ints
from maxatk.planning.dense import DenseRows
from maxatk.planning.windows import Sweeps, Windows

TILE = 2**22  # multiplications of one product, at least


@dataclass(frozen=True)
class Rectangles(Windows):
    """Windows that are as wide for all states of a layer, so that a layer is a matrix, and room for products of rows.

    Cells that a state does not need are never looked at, but must be finite: buffers start as zeros.
    """

    rows: DenseRows

    @classmethod
    def around(cls, windows: Windows, rows: DenseRows) -> "Rectangles":
        """The rectangles around some windows."""
        return cls(**{field.name: getattr(windows, field.name) for field in fields(windows)}, rows=rows)

    @cached_property
    def first(self) -> Ints:
        """[H + 1] the least return of each layer's cells."""
        return np.append(np.where(self.high >= self.pad, self.pad, kernels.NEVER).min(axis=1), 0)

    @cached_property
    def width(self) -> Ints:
        """[H + 1] how many cells each state has; none at the end."""
        last = np.where(self.high >= self.pad, self.high, -kernels.NEVER).max(axis=1)
        return np.maximum(np.append(last, -1) - self.first + 1, 0)

    @cached_property
    def start(self) -> Ints:
        """[H + 1] where a layer's cells begin; every other one begins at the same place."""
        H, S = self.low.shape
        layer = S * int(self.width.max())
        return np.array([len(self.final) + layer * (h % 2) for h in range(H + 1)])

    @property
    def products(self) -> int:
        """Where the products begin, in the order of rows: behind two layers."""
        return len(self.final) + 2 * self.low.shape[1] * int(self.width.max())

    @cached_property
    def most_rows(self) -> int:
        """Of any layer."""
        return int(np.diff(self.rows.tables["pair_start"][:: self.low.shape[1]]).max())

    def two_layers(self) -> tuple[kernels.Layout, int]:
        """Where cells lie, and how many there are with the products. Products of rows are further states."""
        H, S = self.low.shape
        place = np.empty((H + 1, S + 1 + self.most_rows), np.int64)
        place[:, : S + 1] = self._layout(self.pad, self.start[:H]).place
        place[:H, :S] = (self.start - self.first)[:H, None] + np.arange(S) * self.width[:H, None]
        place[:, S + 1 :] = (self.products - self.first)[:, None] + np.arange(self.most_rows) * self.width[:, None]
        pad = np.repeat(self.first[:H, None], S, axis=1).astype(np.int32)
        return kernels.Layout(self.low, pad, self.high, place), self.products + self.most_rows * int(self.width.max())

    @cached_property
    def together(self) -> int:
        """States whose rows are multiplied at a time, always the same ones: the bits of a product may depend on it.

        Tiles are a power of two, so that threads get as many of them.
        """
        S = self.low.shape[1]
        tiles = self.most_rows * S * int(self.width.max()) // TILE
        return -(-S >> max(min(tiles, S), 1).bit_length() - 1)

    @property
    def sweeps(self) -> Sweeps:
        """Kernels that multiply."""
        tables = self.tables._replace(**self.rows.tables)
        dense = kernels.Dense(tables, self.rows.matrix, self.start, self.width, self.products, self.together)
        whole = kernels.whole_products, kernels.whole_product
        return Sweeps(whole, (kernels.decide_products, kernels.decide_product), (dense,))


def one_thread_each() -> AbstractContextManager[Any]:
    """While it is open BLAS takes no threads of its own: ours are at work side by side already.

    It is the calling thread that must open and close it. Where another one has limited BLAS, that stays as it is.
    """
    return _libraries().limit(limits=1, user_api="blas")  # pyright: ignore[reportUnknownMemberType]


@cache
def _libraries() -> ThreadpoolController:
    importlib.import_module("scipy.linalg.cython_blas")  # the BLAS of compiled code: it must be there to be found
    return ThreadpoolController()
