"""Slices to act on: those that were recorded, and others, which are solved again and kept while there is room."""

import threading
from collections.abc import Sequence

from maxatk.base import checks, stopping
from maxatk.planning.certified.curves import Curves
from maxatk.planning.certified.slice_tables import Slice
from maxatk.planning.certified.slices import Acting, SliceMethod
from maxatk.planning.tuning import TUNING

_KEEPING = threading.Lock()  # trials on several threads share what a policy keeps


class KeptSlices:
    """What slices say. Those that were not recorded are swept when first needed; the oldest make room for new ones.

    Args:
        method: the problem on its lattice.
        curves: ``U_0`` to ``U_K``.
        size: about so many bytes are kept of a slice, at most.
    """

    def __init__(self, method: SliceMethod, curves: Curves, size: int) -> None:
        self._method, self._curves, self._size = method, curves, size
        self._recorded: dict[Slice, Acting | None] = {}
        self._kept: dict[Slice, Acting] = {}
        self._held = 0  # bytes of what is kept

    def __getitem__(self, one: Slice) -> Acting:
        acting = self._kept.get(one) or self.recorded(one)
        return self._sweep([one])[0] if acting is None else acting

    def recorded(self, one: Slice) -> Acting | None:
        """What was recorded of a slice while planning."""
        if one not in self._recorded:
            self._recorded[one] = self._method.recorded(one.task(self._method, self._curves))
        return self._recorded[one]

    def prepare(self, wanted: Sequence[Slice]) -> None:
        """Sweep those side by side that are missing, if there is room for them all."""
        new = [one for one in wanted if one not in self._kept and self.recorded(one) is None]
        if new and len(new) * self._size <= self._room:
            self._sweep(new)

    def _sweep(self, wanted: Sequence[Slice]) -> list[Acting]:
        room = self._room - len(wanted) * self._size
        with _KEEPING:
            while self._kept and self._held > room:
                self._held -= self._kept.pop(next(iter(self._kept))).size
        with stopping.ensured():
            swept = self._method.decisions([one.task(self._method, self._curves) for one in wanted])
        with _KEEPING:
            for one, acting in zip(wanted, swept, strict=True):
                before = self._kept.pop(one, None)  # of another thread
                self._kept[one] = acting
                self._held += acting.size - (before.size if before is not None else 0)
        return swept

    @property
    def _room(self) -> float:
        return min(checks.memory() / 4, TUNING.held_slices)
