"""Thresholds of report/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Report(Tuning):
    """Pages."""

    longest_trial: int = 60_000  # steps of a single trial that a page plays


TUNING = Report()
