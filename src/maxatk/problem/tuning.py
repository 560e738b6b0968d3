"""Thresholds of problem/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Problem(Tuning):
    """Problems."""

    large_problem_layer: int = 2**18  # outcomes from which on a layer is passed over by all cores
    most_resets: int = 20_000  # ways to reset an environment that are tried


TUNING = Problem()
