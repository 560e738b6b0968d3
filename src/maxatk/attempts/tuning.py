"""Thresholds of attempts/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Attempts(Tuning):
    """Sequences, schedulers and weights."""

    fewest_reaching: float = 2.0  # tasks that must be expected to get to an attempt: estimates from fewer are noise
    default_combinations: int = 2_000  # of numbers of attempts by arm, up to which the optimum is computed by default
    most_combinations: int = 50_000  # likewise on request
    prepared_bytes: int = 2**31  # for the chances of a log's tasks at a threshold
    log_bytes: int = 2**33  # for reading a log
    log_file_bytes: int = 2**31  # of one file, decompressed
    weight_cells: int = 2**22  # numbers of a table of weights that are stored at once, except for a single large group
    busy_seconds: float = 60.0  # that a transaction of a scheduler waits for others
    vote_allowance: float = 1e-15  # of the range of truths: the error of votes for which negligible chances are dropped
    all_votes: int = 512  # sets of attempts that all vote; of more, some are drawn
    least_votes: int = 2**10  # sets that are drawn for a task, at least
    most_votes: int = 2**14  # likewise, at most


TUNING = Attempts()
