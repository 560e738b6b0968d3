"""What policies earn: exactly, by simulation, and one class against another."""

from maxatk.evaluation.compare import Comparison, Row, compare
from maxatk.evaluation.contrast import Contrast, Difference, Try, contrast
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.law import Law
from maxatk.evaluation.simulate import Simulation, simulate

__all__ = [
    "Comparison",
    "Contrast",
    "Difference",
    "Evaluation",
    "Law",
    "Row",
    "Simulation",
    "Try",
    "compare",
    "contrast",
    "evaluate",
    "simulate",
]
