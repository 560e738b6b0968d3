"""What policies earn: exactly, by simulation, and one class against another."""

from maxatk.evaluation.compare import Comparison, compare
from maxatk.evaluation.contrast import Contrast, contrast
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.law import Law
from maxatk.evaluation.simulate import Simulation, simulate

__all__ = [
    "Comparison",
    "Contrast",
    "Evaluation",
    "Law",
    "Simulation",
    "compare",
    "contrast",
    "evaluate",
    "simulate",
]
