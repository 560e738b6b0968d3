"""What policies earn: without sampling, and by simulation."""

from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.law import Law
from maxatk.evaluation.simulate import Simulation, simulate

__all__ = ["Evaluation", "Law", "Simulation", "evaluate", "simulate"]
