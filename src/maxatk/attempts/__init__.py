"""Attempts at tasks: what logs of them say, which arm to try next, and when to stop.

The flow is log → curves, differences, frontier → sequence → replay → desk:

>>> from maxatk import attempts as at
>>> log = at.recorded()                             # or at.read_log("attempts.csv"), at.Log.from_frame(df)
>>> train, held_out = log.split(0.5)
>>> plan = at.sequence(train, price=0.1)            # what a second of the processor is worth, in score
>>> replay = plan.replay(held_out)                  # what it earns on tasks that it has not seen
>>> desk = plan.desk()                              # ask and tell
>>> desk.ask("a new task").arm
'L-BFGS-B'
"""

from maxatk.attempts.counted import Difficulty, difficulty
from maxatk.attempts.curves import Curve, Point
from maxatk.attempts.desk import Ask, Desk, TaskState, load_desk
from maxatk.attempts.equal import Saving
from maxatk.attempts.estimators import max_at_k, pass_at_k, pass_hat_k
from maxatk.attempts.extrapolation import PassRange
from maxatk.attempts.files import load_sequence
from maxatk.attempts.intervals import Estimate
from maxatk.attempts.log import Log
from maxatk.attempts.offers import Frontier, Offer, frontier
from maxatk.attempts.pairing import Difference, Differences, difference, differences
from maxatk.attempts.plans import AttemptsWarning, Capped, SequencePlan, Step
from maxatk.attempts.readers import read_log
from maxatk.attempts.recording import recorded
from maxatk.attempts.replay import Replay, cross_replay
from maxatk.attempts.sequences import sequence
from maxatk.attempts.studies import Study, study

__all__ = [
    "Ask",
    "AttemptsWarning",
    "Capped",
    "Curve",
    "Desk",
    "Difference",
    "Differences",
    "Difficulty",
    "Estimate",
    "Frontier",
    "Log",
    "Offer",
    "PassRange",
    "Point",
    "Replay",
    "Saving",
    "SequencePlan",
    "Step",
    "Study",
    "TaskState",
    "cross_replay",
    "difference",
    "differences",
    "difficulty",
    "frontier",
    "load_desk",
    "load_sequence",
    "max_at_k",
    "pass_at_k",
    "pass_hat_k",
    "read_log",
    "recorded",
    "sequence",
    "study",
]
