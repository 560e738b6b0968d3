"""Slices of dense problems, which are swept by matrix products (``kernels/products.py``).

BLAS adds up in an order of its own, and docs/theory/planner.md, 10 allows for any.
"""

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, cast

import numpy as np
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]

from maxatk import kernels
from maxatk.base.types import Ints
from maxatk.planning.dense import DenseRows
from maxatk.planning.tuning import TUNING
from maxatk.planning.windows import Sweeps, Windows


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
        tiles = self.most_rows * S * int(self.width.max()) // TUNING.product_tile
        return -(-S >> max(min(tiles, S), 1).bit_length() - 1)

    @property
    def sweeps(self) -> Sweeps:
        """Kernels that multiply."""
        tables = self.tables._replace(**self.rows.tables)
        dense = kernels.Dense(tables, self.rows.matrix, self.start, self.width, self.products, self.together)
        whole = kernels.whole_products, kernels.whole_product
        return Sweeps(whole, (kernels.decide_products, kernels.decide_product), (dense,))


class _OneThreadEach:
    """While anybody is inside BLAS takes no threads of its own: ours are at work side by side already.

    The first to come sets the limit and the last to go takes it back. Both do so in a thread that ends at once: a limit
    belongs to the thread that set it as long as that lives, and others could not take it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, cast(Any, None)

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                _in_a_thread(self._set)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _in_a_thread(self._limit.restore_original_limits)

    def _set(self) -> None:
        self._limit = blas().limit(limits=1, user_api="blas")  # pyright: ignore[reportUnknownMemberType]


one_thread_each = _OneThreadEach()


def _in_a_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@cache
def blas() -> ThreadpoolController:
    """The libraries that multiply."""
    importlib.import_module("scipy.linalg.cython_blas")  # that of compiled code must be there to be found
    return ThreadpoolController()
