"""What policies earn: without sampling, and by simulation."""

from maxatk.base.intervals import Interval
from maxatk.evaluation.continued import evaluate_from
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.paired import PairedSimulation, simulate_paired
from maxatk.evaluation.simulate import Simulation, simulate
from maxatk.laws.law import Law

__all__ = [
    "Evaluation",
    "Interval",
    "Law",
    "PairedSimulation",
    "Simulation",
    "evaluate",
    "evaluate_from",
    "simulate",
    "simulate_paired",
]
