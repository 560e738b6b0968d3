"""What policies earn: exactly, by simulation, and one class against another."""

from maxatk.evaluation.compare import Comparison, compare
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.law import Law
from maxatk.evaluation.simulate import Simulation, simulate

__all__ = ["Comparison", "Evaluation", "Law", "Simulation", "compare", "evaluate", "simulate"]
