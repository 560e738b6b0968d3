"""Thresholds of engines/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Engines(Tuning):
    """Other machines."""

    inline_bytes: int = 2**15  # that are sent with every task; more are sent to those who ask for them
    worker_timeout: float = 600.0  # seconds without any answer after which workers are taken to be silent


TUNING = Engines()
