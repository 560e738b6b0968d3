"""One class of policies against another, and the first try against the last."""

from maxatk.comparison.compare import Comparison, Row, compare
from maxatk.comparison.contrast import Contrast, Difference, Try, contrast

__all__ = ["Comparison", "Contrast", "Difference", "Row", "Try", "compare", "contrast"]
