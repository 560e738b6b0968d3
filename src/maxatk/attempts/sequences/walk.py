"""The expected score and cost of a sequence of arms on every task of a log: exact averages over all orders of attempts.

A sequence makes attempts one after the other until one scores at least ``stop_at``. On a task with ``N`` logged
attempts of an arm, ``F`` of which score below ``stop_at`` (fall short), ``n`` attempts drawn without replacement all
fall short with chance ``C(F, n)/C(N, n)``. They all score at most ``y`` with chance ``C(c(y), n)/C(N, n)``, where
``c(y)`` counts the attempts that fall short and score at most ``y``. Draws from different arms are independent, so
chances multiply; each further attempt multiplies by ``(c - n)/(N - n)``. These chances give the expected best score,
cost, time and number of attempts. With a judge, attempts stop and are picked by what it gives them, of equal ones the
first, and the truth of the pick is carried along by level (docs/theory/judges.md). No order is sampled, and as long as
no task runs out of attempts every mean is unbiased for the sequence run on fresh attempts (docs/theory/attempts.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Floats, Ints


class Scoring(NamedTuple):
    """The scores that matter to a sequence."""

    stop_at: float  # the score at which it stops
    default_score: float  # the score of a task without an attempt
    pass_threshold: float = math.inf  # the lowest score that solves a task
    judge: str | None = None  # whose scores stop a sequence and pick an attempt, if the truth is not seen
    width: int = 1  # attempts of a round, which are made at once

    def seen(self, log: Log) -> Floats:
        """What is seen of attempts [N] at run time, on the scale of ``stop_at``."""
        return log.score if self.judge is None else log.judged.scores_of(self.judge)


class PreparedLog:
    """The tasks of a log, prepared for sequences that stop at a threshold.

    Args:
        log: the log; all costs must be known.
        scoring: the threshold, and the other scores that matter.
    """

    def __init__(self, log: Log, scoring: Scoring) -> None:
        self.scoring = scoring
        self.attempts = log.counts  # [T, A]
        tasks, arms = log.counts.shape
        seen = scoring.seen(log)
        short = seen < scoring.stop_at
        cell = log.task * arms + log.arm
        shape = tasks, arms

        def total(weights: Floats, some: Any) -> Floats:
            sums: Any = np.bincount(cell[some], weights[some], minlength=tasks * arms)
            return sums.reshape(shape)

        one = np.ones(len(log.score))
        self.short = total(one, short).astype(np.int64)  # [T, A] attempts that fall short
        reached = self.attempts - self.short
        # Of the attempts that reach the threshold [T, A]: their mean score, and the share that solves the task.
        self.reached_score = total(log.score, ~short) / np.maximum(reached, 1)
        self.reached_solved = total(one, ~short & (log.score >= scoring.pass_threshold)) / np.maximum(reached, 1)
        timed = log.seconds is not None and not np.isnan(log.seconds).any()
        costs = [log.cost, log.seconds] if log.seconds is not None and timed else [log.cost]
        # The mean cost, and seconds, of attempts that fall short and of those that reach the threshold [P, T, A].
        self.short_cost = np.stack([total(x, short) / np.maximum(self.short, 1) for x in costs])
        self.reached_cost = np.stack([total(x, ~short) / np.maximum(reached, 1) for x in costs])
        self._count_scores(log, seen, self._told_apart(short), tasks, arms)

    def _told_apart(self, short: Any) -> Any:
        """The attempts [N] whose scores are told apart: those that fall short, of which the best is kept."""
        return short

    def _count_scores(self, log: Log, seen: Floats, some: Any, tasks: int, arms: int) -> None:
        """Scores of some attempts by task [T, V], and the number of attempts of each arm up to each score [A, T, V]."""
        order = np.lexsort((seen[some], log.task[some]))
        task, arm, score = log.task[some][order], log.arm[some][order], seen[some][order]
        new = np.ones(len(task), bool)
        new[1:] = (np.diff(task) != 0) | (np.diff(score) != 0)
        first = np.flatnonzero(new)
        distinct = np.bincount(task[first], minlength=tasks) if len(task) else np.zeros(tasks, np.int64)
        width = max(int(distinct.max(initial=0)), 1)
        size = 8 * arms * tasks * width
        if size > TUNING.prepared_bytes:
            raise TooLargeError(
                f"a log of {tasks} tasks, {arms} arms and up to {width} different scores per task would take "
                f"{size / 2**30:.0f} GiB: round its scores, or select arms or tasks"
            )
        column = np.cumsum(new) - 1 - (np.cumsum(distinct) - distinct)[task] if len(task) else task
        self.values = np.zeros((tasks, width))
        if len(task):
            self.values[task[first], column[first]] = score[first]
            # A task with fewer scores repeats its last one: the chances there are equal, and contribute 0.
            last = np.maximum(distinct - 1, 0)
            columns = np.minimum(np.arange(width), last[:, None])
            self.values = np.take_along_axis(self.values, columns, axis=1)
        self.gaps = np.diff(self.values, axis=1)
        at_value = np.zeros((arms, tasks, width))
        np.add.at(at_value, (arm, task, column), 1.0)
        self.at_most = np.cumsum(at_value, axis=2)
        self._count_truths(log.score[some][order], (arm, task, column), at_value)

    def _count_truths(self, truth: Floats, cells: tuple[Ints, Ints, Ints], at_value: Floats) -> None:
        """The truths of attempts that fall short, which are what is seen of them."""

    @property
    def start(self) -> SequenceState:
        """The state before the first attempt."""
        best = np.full(len(self.values), self.scoring.default_score)
        return SequenceState(self, np.zeros(len(self.at_most), np.int64), np.ones(self.values.shape), best)


class JudgedLog(PreparedLog):
    """The tasks of a log, prepared for sequences that stop and pick by a judge, whose picks are scored by the truth."""

    def _count_truths(self, truth: Floats, cells: tuple[Ints, Ints, Ints], at_value: Floats) -> None:
        """Totals over the attempts of an arm at each level [2, A, T, V]: of their truth, and of those that solve."""
        self.totals = np.zeros((2, *at_value.shape))
        np.add.at(self.totals[0], cells, truth)
        np.add.at(self.totals[1], cells, (truth >= self.scoring.pass_threshold).astype(float))

    @property
    def start(self) -> SequenceState:
        """The state before the first attempt."""
        start = super().start
        return JudgedState(self, start.made, start.chance, start.best, np.zeros((2, *self.values.shape)))


class Taken(NamedTuple):
    """One more attempt of a sequence, and what it adds."""

    after: SequenceState  # the state after it
    score: Floats  # [T] the score of tasks that are over before the next attempt and were not before, times the chance
    solved: Floats  # [T] the chance that such a task is solved
    cost: Floats  # [P, T] the cost of the attempt, times the chance that it is made


@dataclass(frozen=True)
class SequenceState:
    """The state of a sequence after given numbers of attempts of each arm."""

    prepared: PreparedLog
    made: Ints  # [A] attempts of each arm
    chance: Floats  # [T, V] that no attempt has reached the threshold, and the best score is at most values[T, V]
    best: Floats  # [T] the expected best score if the threshold was not reached, times the chance of that

    @property
    def alive(self) -> Floats:
        """The chance [T] that another attempt is made: that the threshold has not been reached."""
        return self.chance[:, -1]

    @property
    def open_best(self) -> Floats:
        """The expected best score [T] if the threshold has not been reached, times the chance of that."""
        return self.best

    def step(self, arm: int) -> Taken:
        """One more attempt of an arm if the threshold has not been reached.

        A task without another logged attempt keeps its state.
        """
        log, made = self.prepared, int(self.made[arm])
        left = log.attempts[:, arm] - made
        more = left > 0
        share = 1.0 / np.maximum(left, 1)
        reached = log.attempts[:, arm] - log.short[:, arm]
        alive = np.where(more, self.alive, 0.0)
        hit = alive * reached * share
        still_short = np.maximum(log.short[:, arm] - made, 0)
        cost = alive * share * (still_short * log.short_cost[:, :, arm] + reached * log.reached_cost[:, :, arm])
        factor = np.maximum(log.at_most[arm] - made, 0.0) * share[:, None]
        chance = np.where(more[:, None], self.chance * factor, self.chance)
        count = self.made.copy()
        count[arm] += 1
        after = self._after(arm, count, chance, factor).where(more, self)
        return Taken(after, hit * log.reached_score[:, arm], hit * log.reached_solved[:, arm], cost)

    def _after(self, arm: int, made: Ints, chance: Floats, factor: Floats) -> SequenceState:
        """The state after an attempt of an arm; ``factor`` [T, V] is the chance that it is seen to be no better."""
        log = self.prepared
        best = log.values[:, -1] * chance[:, -1] - np.einsum("tv,tv->t", log.gaps, chance[:, :-1])  # summed by parts
        return SequenceState(log, made, chance, best)

    def where(self, some: Any, before: SequenceState) -> SequenceState:
        """This state for some tasks, given by truth values [T], and the one before for the others."""
        chance = np.where(some[:, None], self.chance, before.chance)
        return SequenceState(self.prepared, self.made, chance, np.where(some, self.best, before.best))

    @property
    def solved(self) -> Floats:
        """The chance [T] that the threshold has not been reached, but the task is solved."""
        log = self.prepared
        return ((log.values >= log.scoring.pass_threshold) * np.diff(self.chance, axis=1, prepend=0.0)).sum(axis=1)


@dataclass(frozen=True)
class JudgedState(SequenceState):
    """The state of a sequence whose attempts are picked by a judge; of equal ones it keeps the first.

    Given which levels the attempts have, each is any of those of its arm at its level: so its expected truth is their
    mean, whatever was drawn before.
    """

    picks: (
        Floats  # [2, T, V] of picks at each level: the truth, and whether it solves, times the chance of getting here
    )

    def _after(self, arm: int, made: Ints, chance: Floats, factor: Floats) -> SequenceState:
        picks = picked(self, self.picks, arm, factor)
        return JudgedState(self.prepared, made, chance, picks[0].sum(axis=1), picks)

    def where(self, some: Any, before: SequenceState) -> SequenceState:
        """This state for some tasks, given by truth values [T], and the one before for the others."""
        assert isinstance(before, JudgedState)
        kept = super().where(some, before)
        picks = np.where(some[:, None], self.picks, before.picks)
        return JudgedState(kept.prepared, kept.made, kept.chance, kept.best, picks)

    @property
    def solved(self) -> Floats:
        """The chance [T] that the threshold has not been reached, but the pick solves the task."""
        return self.picks[1].sum(axis=1)


def picked(before: SequenceState, picks: Floats, arm: int, factor: Floats) -> Floats:
    """The truths of a judge's picks by level [2, T, V] after one more attempt of an arm; ``factor`` [T, V] is the
    chance that it is seen to be no better.
    """
    log = before.prepared
    assert isinstance(log, JudgedLog)
    left = np.maximum(log.attempts[:, arm] - before.made[arm], 1)[:, None]
    # The chance that all attempts before were seen to be worse than a level; before the first there are none.
    first = np.full((len(before.chance), 1), float(not before.made.any()))
    worse = np.concatenate([first, before.chance[:, :-1]], axis=1)
    return picks * factor + worse * log.totals[:, arm] / left


def caps(log: Log, max_per_arm: int | None = None) -> Ints:
    """The maximal number of attempts of each arm [A]: that which every task has; every task must have every arm."""
    fewest = log.counts.min(axis=0)
    if (fewest == 0).any():
        arm = int(np.flatnonzero(fewest == 0)[0])
        task = int(np.flatnonzero(log.counts[:, arm] == 0)[0])
        raise InputError(
            f"task {checks.shown(log.tasks[task])} has no attempt of arm {checks.shown(log.arms[arm])}: leave such "
            "tasks out with log.select(min_attempts=1), or the arm with log.select(arms=...)"
        )
    return fewest if max_per_arm is None else np.minimum(fewest, max_per_arm)


def ratio(top: float, bottom: float) -> float:
    """Gain per cost: infinite for a gain at cost 0, minus infinity without a gain."""
    if top <= 0:
        return -math.inf
    return top / bottom if bottom > 0 else math.inf
