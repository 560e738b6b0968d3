"""Candidate sequences, built on the tasks of a log: one arm with a cap, a portfolio, greedy by gain per cost, the best
of all. Each is a :class:`Path`: attempts in order, and what has been earned and paid on average after each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxatk.attempts.sequences.walk import Board, Place, ratio
from maxatk.base.text import at_least, decimals_of
from maxatk.base.types import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

THRESHOLDS = 8  # scores at which stopping is tried, the greatest of the log among them
SMALL, MOST_STATES = (
    2_000,
    50_000,
)  # combinations of numbers of attempts: where the best sequence is sought unasked, and at all
MOST_DIGITS = 8  # of a score at which to stop, sign and point included: longer ones are rounded down
FEWEST = 2.0  # tasks that must be expected to get to an attempt: what fewer say of it is chance
_SLACK = 1e-12  # what a longer sequence must gain at least


@dataclass(frozen=True)
class Path:
    """Attempts in order, with what a task has earned and paid on average before the first and after each."""

    stop_at: float  # the score at which it ends
    arms: tuple[int, ...]  # [L] arms by number
    alive: tuple[float, ...]  # [L] the share of tasks that get to each attempt
    score: tuple[float, ...]  # [L + 1] the mean best score
    cost: tuple[float, ...]  # [L + 1] the mean cost

    def gain(self, step: int) -> float:
        """What an attempt adds to the mean score."""
        return self.score[step + 1] - self.score[step]

    def price(self, step: int) -> float:
        """What an attempt costs on average, over all tasks."""
        return self.cost[step + 1] - self.cost[step]

    def worth(self, step: int) -> float:
        """Gain per cost of an attempt."""
        return ratio(self.gain(step), self.price(step))

    def cut(self, length: int) -> Path:
        """The first attempts only."""
        return Path(
            self.stop_at, self.arms[:length], self.alive[:length], self.score[: length + 1], self.cost[: length + 1]
        )


def thresholds(log: Log, stop_at: float | None) -> list[float]:
    """Scores at which a sequence may stop: the one given, or the greatest and some below it, as they can be said."""
    if stop_at is not None:
        return [stop_at]
    distinct = np.unique(log.score)
    if len(distinct) <= 2:
        return _sayable(distinct, distinct[-1:])
    # Quantiles of the attempts' scores: where many attempts end up, stopping there makes a difference.
    above = log.score[log.score > distinct[0]]
    some = np.quantile(above, np.linspace(0, 1, THRESHOLDS), method="higher")
    return _sayable(distinct, np.unique(np.append(some, distinct[-1])))


def _sayable(distinct: Floats, some: Floats) -> list[float]:
    """Some of the distinct scores of a log, as numbers that people can be told to stop at.

    A score of many digits is rounded down, to four digits at least and to as many as keep it above the next lower score
    of the log: so the same attempts reach it, and what is printed is what a plan does.
    """
    below = np.append(-math.inf, distinct)[np.searchsorted(distinct, some)]
    return [_said(x, low) for x, low in zip(some.tolist(), below.tolist(), strict=True)]


def _said(x: float, below: float) -> float:
    if len(repr(x)) <= MOST_DIGITS:
        return x
    first = decimals_of(x, digits=4)
    rounded = (float(at_least(x, decimals)) for decimals in range(first, first + 14))
    return next((y for y in rounded if y > below), x)


def along(board: Board, arms: Sequence[int]) -> Path:
    """The path of a given sequence, as far as enough tasks get."""
    walker = Walker(board)
    for arm in arms:
        if not walker.enough:
            break
        walker.take(arm)
    return walker.path()


class Walker:
    """A walk that is being built."""

    def __init__(self, board: Board) -> None:
        self.place = board.start
        self.arms: list[int] = []
        self.alive: list[float] = []
        self.score, self.cost = [board.nothing], [0.0]
        self._won = 0.0

    @property
    def enough(self) -> bool:
        """Whether enough tasks are expected to need another attempt."""
        return enough(self.place)

    def copy(self) -> Walker:
        """Another walk that begins like this one."""
        other = Walker(self.place.board)
        other.place, other.arms, other.alive = self.place, self.arms.copy(), self.alive.copy()
        other.score, other.cost, other._won = self.score.copy(), self.cost.copy(), self._won
        return other

    def look(self, arm: int) -> tuple[Place, float, float, float]:
        """What one more attempt of an arm would do: the place, what is won by then, the mean score and the cost."""
        after, hit, paid = self.place.step(arm)
        won = self._won + float((hit * self.place.board.won[:, arm]).mean())
        return after, won, won + float(after.best.mean()), float(paid[0].mean())

    def take(self, arm: int, seen: tuple[Place, float, float, float] | None = None) -> None:
        """Make the attempt; ``seen`` is what :meth:`look` said of it, if it was asked."""
        after, self._won, score, cost = seen or self.look(arm)
        self.alive.append(float(self.place.alive.mean()))
        self.place = after
        self.arms.append(arm)
        self.score.append(score)
        self.cost.append(self.cost[-1] + cost)

    def path(self) -> Path:
        """The walk so far."""
        return Path(self.place.board.stop_at, tuple(self.arms), tuple(self.alive), tuple(self.score), tuple(self.cost))


def enough(place: Place) -> bool:
    """Whether enough tasks are expected to need another attempt; of few tasks in all, half a task will do."""
    tasks = len(place.alive)
    return float(place.alive.sum()) >= min(FEWEST, tasks / 2)


def greedy(board: Board, limit: Ints) -> Path:
    """Always the arm that gains most per cost next, at most so often each [A], while anything is gained."""
    walker = Walker(board)
    while True:
        open_arms: list[int] = np.flatnonzero(walker.place.made < limit).tolist() if walker.enough else []
        looks = {arm: walker.look(arm) for arm in open_arms}
        worth = {arm: ratio(look[2] - walker.score[-1], look[3]) for arm, look in looks.items()}
        arm = max(open_arms, key=lambda a: worth[a], default=None)
        if arm is None or worth[arm] <= 0:
            return walker.path()
        walker.take(arm, looks[arm])


def singles(board: Board, limit: Ints) -> Iterator[Path]:
    """Each arm alone, as often as it can be tried."""
    for arm, n in enumerate(limit.tolist()):
        yield along(board, [arm] * n)


def pairs(board: Board, limit: Ints) -> Iterator[Path]:
    """One arm so often, then another."""
    for first, second in itertools.permutations(range(len(limit)), 2):
        walker = Walker(board)
        for _ in range(int(limit[first])):
            if not walker.enough:
                break
            walker.take(first)
            then = walker.copy()
            for _ in range(int(limit[second])):
                if not then.enough:
                    break
                then.take(second)
            yield then.path()


class Lattice:
    """All numbers of attempts of each arm, and what one more of each is worth there: for the exact best sequence.

    What a sequence has earned and paid depends on how often it has tried each arm, not on the order, as long as the
    threshold was not reached. So the best sequence is a best path through these numbers.
    """

    def __init__(self, board: Board, limit: Ints) -> None:
        self.board, self.limit = board, limit
        shape = tuple((limit + 1).tolist())
        arms = len(limit)
        self.stop = np.zeros(shape)  # mean best score of tasks that have not reached the threshold
        self.won = np.full((*shape, arms), -np.inf)  # what one more attempt wins by reaching it
        self.cost = np.zeros((*shape, arms))
        self._fill(board.start, 0, [])

    def _fill(self, place: Place, arm: int, made: list[int]) -> None:
        """Go through all numbers of attempts of the arms from this one on."""
        if arm == len(self.limit):
            at = tuple(made)
            self.stop[at] = place.best.mean()
            for a in range(len(self.limit)) if enough(place) else ():
                if made[a] < self.limit[a]:
                    _, hit, paid = place.step(a)
                    self.won[(*at, a)] = (hit * self.board.won[:, a]).mean()
                    self.cost[(*at, a)] = paid[0].mean()
            return
        for n in range(int(self.limit[arm]) + 1):
            self._fill(place, arm + 1, [*made, n])
            if n < self.limit[arm]:
                place = place.step(arm)[0]

    def best(self, price: float) -> tuple[int, ...]:
        """The sequence with the greatest mean of score less ``price`` times cost."""
        arms, length = range(len(self.limit)), int(self.limit.sum())
        ahead = self.won - price * self.cost
        value = self.stop.copy()

        def after(arm: int) -> Floats:
            """What is worth having after one more attempt of an arm; minus infinity where there is none."""
            moved = np.full(value.shape, -np.inf)
            before, behind = [slice(None)] * len(self.limit), [slice(None)] * len(self.limit)
            before[arm], behind[arm] = slice(None, -1), slice(1, None)
            moved[tuple(before)] = ahead[(*before, arm)] + value[tuple(behind)]
            return moved

        for _ in range(length):  # no sequence is longer
            value = np.maximum(value, np.max([after(a) for a in arms], axis=0))
        worth = np.stack([after(a) for a in arms])
        taken: list[int] = []
        at = (0,) * len(self.limit)
        while len(taken) < length and value[at] > self.stop[at] + _SLACK:
            arm = int(worth[(slice(None), *at)].argmax())
            taken.append(arm)
            at = (*at[:arm], at[arm] + 1, *at[arm + 1 :])
        return tuple(taken)
