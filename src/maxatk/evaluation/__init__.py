"""What policies earn: without sampling, and by simulation."""

from maxatk.base.intervals import Interval
from maxatk.evaluation.continued import evaluate_from
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.simulate import Simulation, simulate
from maxatk.laws.law import Law

__all__ = ["Evaluation", "Interval", "Law", "Simulation", "evaluate", "evaluate_from", "simulate"]
