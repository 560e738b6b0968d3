"""Thresholds of problem/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Problem(Tuning):
    """Problems."""

    brief_pass: int = 2**20  # outcomes of all steps up to which a pass stays on the present thread
    large_problem_layer: int = 2**18  # outcomes of a layer from which on passes use all cores
    most_resets: int = 20_000  # the maximal number of resets of an environment that are enumerated


TUNING = Problem()
