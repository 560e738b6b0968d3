"""What policies earn: without sampling, and by simulation."""

from maxatk.evaluation.evaluate import Evaluation, Interval, evaluate
from maxatk.evaluation.law import Law
from maxatk.evaluation.simulate import Simulation, simulate

__all__ = ["Evaluation", "Interval", "Law", "Simulation", "evaluate", "simulate"]
