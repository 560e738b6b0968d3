"""Thresholds of comparison/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Comparing(Tuning):
    """Comparison."""

    search_cells: int = 2**25  # of a slice that is searched
    enumeration_digits: float = 2e9  # bits that arithmetic in fractions may work on; beyond, floats do


TUNING = Comparing()
