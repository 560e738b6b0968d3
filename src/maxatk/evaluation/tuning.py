"""Thresholds of evaluation/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Evaluation(Tuning):
    """Evaluation and simulation."""

    few_outcomes: int = 3_000  # that are followed in fractions even if floats had to leave some out
    most_outcomes: int = 100_000  # that are followed in fractions before giving up
    most_bins: int = 4096  # of returns, where the range of returns is as wide as it can be
    least_bins: int = 256  # to which they may become fewer
    table_work: int = 2**12  # outcomes that are put together in tables, and worth a thread of their own
    table_cells: int = 8  # of these tables, at most
    trial_block: int = 32_768  # trials that share a stream of random numbers, whatever the number of threads


TUNING = Evaluation()
