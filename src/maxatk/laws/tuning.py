"""Thresholds of laws/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Laws(Tuning):
    """Laws carried forward."""

    few_atoms: int = 4096  # outcomes of a step that are told apart in any case; beyond, those in one bin may be merged
    most_bins: int = 4096  # of returns, between the least and the greatest that are carried
    least_bins: int = 256  # to which they may become fewer
    table_work: int = 2**12  # outcomes that are put together in tables; each thread has so many, at least
    table_cells: int = 8  # of these tables, at most, for each outcome


TUNING = Laws()
