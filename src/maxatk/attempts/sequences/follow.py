"""A sequence of arms followed over every task of a log: its score, cost, attempts and rounds there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.rounds import JudgedRoundedLog, RoundedLog, in_rounds
from maxatk.attempts.sequences.walk import JudgedLog, PreparedLog, Scoring
from maxatk.base.types import Floats, Ints


def prepare(log: Log, scoring: Scoring) -> PreparedLog:
    """The tasks of a log, prepared for sequences that stop at a threshold of the truth or of a judge."""
    log.require_truth()
    if scoring.width == 1:
        return PreparedLog(log, scoring) if scoring.judge is None else JudgedLog(log, scoring)
    return RoundedLog(log, scoring) if scoring.judge is None else JudgedRoundedLog(log, scoring)


@dataclass(frozen=True)
class Outcome:
    """The results of a sequence on every task of a log, averaged over the orders of its attempts.

    Where a task runs out of logged attempts, the sequence is cut; ``open`` is the chance that it would have gone on.
    """

    score: Floats  # [T] the best score
    cost: Floats  # [T]
    seconds: Floats | None  # [T] if they were logged
    attempts: Floats  # [T] the number of attempts
    rounds: Floats  # [T] the number of rounds, in each of which attempts are made at once
    solved: Floats  # [T] the chance to solve the task
    open: Floats  # [T] the chance that more attempts would be made than were logged
    open_best: Floats  # [T] the expected best score there, times that chance
    missing: Ints  # [T] the number of attempts that are missing there, at most


def follow(log: Log, arms: Sequence[str], scoring: Scoring) -> Outcome:
    """Run a sequence of arms, by name, over every task of a log."""
    log.require_costs(arms)
    prepared = prepare(log, scoring)
    state, tasks = prepared.start, len(log.tasks)
    score, solved, made, rounds = (np.zeros(tasks) for _ in range(4))
    missing = np.zeros(tasks, np.int64)
    costs = np.zeros((len(prepared.short_cost), tasks))
    for together in in_rounds([log.arm_number(name) for name in arms], scoring.width):
        needed = state.made + np.bincount(together, minlength=len(log.arms))
        # The results after an attempt that was not logged are not known either: the task ends before that round.
        unknown = (prepared.attempts < needed)[:, list(set(together))].any(axis=1)
        missing += len(together) * (unknown | (missing > 0))
        on = missing == 0
        rounds += np.where(on, state.alive, 0.0)
        for arm in together:
            made += np.where(on, state.alive, 0.0)
            taken = state.step(arm)
            score += np.where(on, taken.score, 0.0)
            solved += np.where(on, taken.solved, 0.0)
            costs += np.where(on, taken.cost, 0.0)
            state = taken.after.where(on, state)
    return Outcome(
        score=score + state.best,
        cost=costs[0],
        seconds=costs[1] if len(costs) > 1 else None,
        attempts=made,
        rounds=rounds,
        solved=solved + np.where(made > 0, state.solved, 0.0),
        open=np.where(missing > 0, state.alive, 0.0),
        open_best=np.where(missing > 0, state.open_best, 0.0),
        missing=missing,
    )
