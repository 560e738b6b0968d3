"""Thresholds of evaluation/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Evaluation(Tuning):
    """Evaluation and simulation."""

    few_outcomes: int = 3_000  # that are followed in fractions even if floats had to leave some out
    most_outcomes: int = 100_000  # that are followed in fractions before giving up
    trial_block: int = 32_768  # trials that share a stream of random numbers, whatever the number of threads
    kept_numbers: int = 2**22  # uniform numbers of a block of trials that two policies share


TUNING = Evaluation()
