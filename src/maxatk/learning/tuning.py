"""Thresholds of learning/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Learning(Tuning):
    """Learning."""

    save_every: float = 1.0  # seconds between two checkpoints
    sample_chunk: int = 2**18  # samples in one call of the model
    curve_knots: int = 64  # best returns at which a curve is computed, at most; between them chords bound it from above
    most_curves: int = 2**14  # that differ: so many rollouts to come can be told apart
    large_curve: int = 2**20  # cells of all slices of a curve, from which on they are swept on all cores


TUNING = Learning()
