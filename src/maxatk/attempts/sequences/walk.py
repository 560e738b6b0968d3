"""What a sequence of arms earns and costs on every task of a log: exactly, averaged over all orders of its attempts.

A sequence makes attempts one after the other until one scores at least ``stop_at``. On a task with ``N`` logged
attempts of an arm, ``F`` of which fall short, ``n`` attempts drawn without repetition all do with chance ``C(F, n)/C(N,
n)``, and all score at most ``y`` with chance ``C(c(y), n)/C(N, n)``, where ``c(y)`` counts those that fall short and
do. Arms are drawn from independently, so chances multiply; and each further attempt multiplies by ``(c - n)/(N - n)``.
From these follow the expected best score, cost, time and number of attempts. No order is sampled, and as long as no
task runs out of attempts every mean is unbiased for what the sequence earns in fresh attempts
(docs/theory/attempts.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

MOST_BYTES = 2**31  # of the chances of a log's tasks at a threshold


class Board:
    """The tasks of a log, prepared for walks that stop at a threshold.

    Args:
        log: the log; all costs must be known.
        stop_at: the score at which a walk stops.
        nothing: what a task is worth at which nothing was tried.
        solved: the score from which on a task counts as solved.
    """

    def __init__(self, log: Log, stop_at: float, nothing: float, solved: float = math.inf) -> None:
        self.stop_at, self.nothing, self.solved = stop_at, nothing, solved
        self.attempts = log.counts  # [T, A]
        tasks, arms = log.counts.shape
        short = log.score < stop_at
        cell = log.task * arms + log.arm
        shape = tasks, arms

        def total(weights: Floats, some: Any) -> Floats:
            sums: Any = np.bincount(cell[some], weights[some], minlength=tasks * arms)
            return sums.reshape(shape)

        one = np.ones(len(log.score))
        self.short = total(one, short).astype(np.int64)  # [T, A] attempts that fall short
        reached = self.attempts - self.short
        self.won = total(log.score, ~short) / np.maximum(reached, 1)  # [T, A] mean score of those that do not
        self.won_solved = total(one, ~short & (log.score >= solved)) / np.maximum(
            reached, 1
        )  # [T, A] how many solve it
        timed = log.seconds is not None and not np.isnan(log.seconds).any()
        paid = [log.cost, log.seconds] if log.seconds is not None and timed else [log.cost]
        # [P, T, A] mean cost, and seconds, of attempts that fall short, and of those that do not
        self.paid_short = np.stack([total(x, short) / np.maximum(self.short, 1) for x in paid])
        self.paid_won = np.stack([total(x, ~short) / np.maximum(reached, 1) for x in paid])
        self._lay_out(log, short, tasks, arms)

    def _lay_out(self, log: Log, short: Any, tasks: int, arms: int) -> None:
        """Scores that fall short, by task [T, V], and how many attempts of each arm score at most that [A, T, V]."""
        order = np.lexsort((log.score[short], log.task[short]))
        task, arm, score = log.task[short][order], log.arm[short][order], log.score[short][order]
        new = np.ones(len(task), bool)
        new[1:] = (np.diff(task) != 0) | (np.diff(score) != 0)
        first = np.flatnonzero(new)
        distinct = np.bincount(task[first], minlength=tasks) if len(task) else np.zeros(tasks, np.int64)
        width = max(int(distinct.max(initial=0)), 1)
        size = 8 * arms * tasks * width
        if size > MOST_BYTES:
            raise TooLargeError(
                f"a log of {tasks} tasks, {arms} arms and up to {width} different scores per task would take "
                f"{size / 2**30:.0f} GiB: round its scores, or select arms or tasks"
            )
        place = np.cumsum(new) - 1 - (np.cumsum(distinct) - distinct)[task] if len(task) else task
        self.values = np.zeros((tasks, width))
        if len(task):
            self.values[task[first], place[first]] = score[first]
            # Beyond its own scores a task repeats its last: chances there are the same, and add nothing.
            last = np.maximum(distinct - 1, 0)
            columns = np.minimum(np.arange(width), last[:, None])
            self.values = np.take_along_axis(self.values, columns, axis=1)
        self.gaps = np.diff(self.values, axis=1)
        at_value = np.zeros((arms, tasks, width))
        np.add.at(at_value, (arm, task, place), 1.0)
        self.at_most = np.cumsum(at_value, axis=2)

    @property
    def start(self) -> Place:
        """Before the first attempt."""
        tasks, arms = len(self.values), len(self.at_most)
        return Place(self, np.zeros(arms, np.int64), np.ones(self.values.shape), np.full(tasks, self.nothing))


@dataclass(frozen=True)
class Place:
    """Where a walk stands after so many attempts of each arm."""

    board: Board
    made: Ints  # [A] attempts of each arm
    chance: Floats  # [T, V] that no attempt has reached the threshold, and the best is at most so much
    best: Floats  # [T] the expected best score, where the threshold was not reached, times that chance

    @property
    def alive(self) -> Floats:
        """The chance [T] that the threshold has not been reached."""
        return self.chance[:, -1]

    def step(self, arm: int) -> tuple[Place, Floats, Floats]:
        """One more attempt of an arm, where the threshold has not been reached: the place after it, the chance that
        this attempt reaches it [T], and what it costs [P, T]; both count the chance to get here.

        A task without another logged attempt stays as it is.
        """
        b, made = self.board, int(self.made[arm])
        left = b.attempts[:, arm] - made
        more = left > 0
        share = 1.0 / np.maximum(left, 1)
        reached = b.attempts[:, arm] - b.short[:, arm]
        alive = np.where(more, self.alive, 0.0)
        hit = alive * reached * share
        still_short = np.maximum(b.short[:, arm] - made, 0)
        paid = alive * share * (still_short * b.paid_short[:, :, arm] + reached * b.paid_won[:, :, arm])
        factor = np.maximum(b.at_most[arm] - made, 0.0) * share[:, None]
        chance = np.where(more[:, None], self.chance * factor, self.chance)
        best = b.values[:, -1] * chance[:, -1] - np.einsum("tv,tv->t", b.gaps, chance[:, :-1])  # summed by parts
        best = np.where(more, best, self.best)
        count = self.made.copy()
        count[arm] += 1
        return Place(b, count, chance, best), hit, paid


@dataclass(frozen=True)
class Outcome:
    """What a sequence earns and costs on every task of a log, on average over the orders of its attempts.

    Where a task runs out of logged attempts the sequence is cut there; what it might still earn and pay is in ``open``.
    """

    score: Floats  # [T] the best score
    cost: Floats  # [T]
    seconds: Floats | None  # [T] where they were logged
    attempts: Floats  # [T] how many are made
    solved: Floats  # [T] the chance to solve the task
    open: Floats  # [T] the chance that more attempts would be made than were logged
    open_best: Floats  # [T] the expected best score there, times that chance
    missing: Ints  # [T] how many attempts at most are missing there


def follow(log: Log, arms: Sequence[str], stop_at: float, nothing: float, solved: float) -> Outcome:
    """Walk a sequence of arms, by name, over every task of a log."""
    costed(log, set(arms))
    board = Board(log, stop_at, nothing, solved)
    place, tasks = board.start, len(log.tasks)
    won, done, made, missing = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks), np.zeros(tasks, np.int64)
    paid = np.zeros((len(board.paid_short), tasks))
    for name in arms:
        arm = log.arm_number(name)
        more = board.attempts[:, arm] > place.made[arm]
        # What follows an attempt that was not logged is not known either: the task ends there.
        missing += ~more | (missing > 0)
        after, hit, spent = place.step(arm)
        on = missing == 0
        won += np.where(on, hit * board.won[:, arm], 0.0)
        done += np.where(on, hit * board.won_solved[:, arm], 0.0)
        paid += np.where(on, spent, 0.0)
        made += np.where(on, place.alive, 0.0)
        place = Place(
            board, after.made, np.where(on[:, None], after.chance, place.chance), np.where(on, after.best, place.best)
        )
    if place.made.any():
        done += ((board.values >= solved) * np.diff(place.chance, axis=1, prepend=0.0)).sum(axis=1)
    return Outcome(
        score=won + place.best,
        cost=paid[0],
        seconds=paid[1] if len(paid) > 1 else None,
        attempts=made,
        solved=done,
        open=np.where(missing > 0, place.alive, 0.0),
        open_best=np.where(missing > 0, place.best, 0.0),
        missing=missing,
    )


def parts(log: Log, held_out: Sequence[Log]) -> Ints:
    """The number of the part [T] that each task was held out with."""
    number = {task: part for part, held in enumerate(held_out) for task in held.tasks}
    return np.array([number[task] for task in log.tasks])


class Gathered:
    """Outcomes on parts of a log's tasks, put together."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._columns: dict[str, Any] = {"seconds": None}

    def put(self, rows: Any, part: Outcome) -> None:
        """The outcome on the tasks of these numbers."""
        for name, values in vars(part).items():
            if values is not None:
                if self._columns.get(name) is None:
                    self._columns[name] = np.zeros(self._tasks, values.dtype)
                self._columns[name][rows] = values

    def outcome(self) -> Outcome:
        """On all tasks."""
        return Outcome(**self._columns)


def costed(log: Log, arms: set[str] | None = None) -> None:
    """Refuse arms with attempts whose cost is not known."""
    unknown = np.isnan(log.cost)
    for number, arm in enumerate(log.arms):
        if (arms is None or arm in arms) and (n := int((unknown & (log.arm == number)).sum())):
            raise InputError(
                f"{n} attempt{'' if n == 1 else 's'} of arm {checks.shown(arm)} {'has' if n == 1 else 'have'} no cost: "
                "leave the arm out with log.select(arms=...), or take its mean with log.fill_costs()"
            )


def caps(log: Log, most: int | None = None) -> Ints:
    """How often each arm [A] can be tried: no more than every task allows; every task must have every arm."""
    least = log.counts.min(axis=0)
    if (least == 0).any():
        arm = int(np.flatnonzero(least == 0)[0])
        task = int(np.flatnonzero(log.counts[:, arm] == 0)[0])
        raise InputError(
            f"task {checks.shown(log.tasks[task])} has no attempt of arm {checks.shown(log.arms[arm])}: leave such "
            "tasks out with log.select(least=1), or the arm with log.select(arms=...)"
        )
    return least if most is None else np.minimum(least, most)


def ratio(gain: float, cost: float) -> float:
    """Gain per cost; an attempt that costs nothing is worth any gain, and none without."""
    if gain <= 0:
        return -math.inf
    return gain / cost if cost > 0 else math.inf
