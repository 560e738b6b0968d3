"""One class of policies against another, and the first try against the last."""

from maxatk.comparison.compare import compare
from maxatk.comparison.contrast import Contrast, Difference, Try, contrast
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.comparison.rows import Row

__all__ = ["Comparison", "ComparisonByTries", "Contrast", "Difference", "Row", "Try", "compare", "contrast"]
