"""Thresholds of report/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Report(Tuning):
    """Pages and cards."""

    longest_trial: int = 60_000  # steps of a single trial that a page plays
    card_rows: int = 12  # of a table on a card
    card_cells: int = 200  # of the grid of a map on a card
    card_work: float = 600_000  # outcomes that may be followed to show a card


TUNING = Report()
