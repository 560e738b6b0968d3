"""Candidate sequences, built on the tasks of a log: one arm with a cap, a portfolio, greedy by gain per cost, the
optimum. Each is a :class:`SequencePath`: attempts in order, with the mean score and cost after each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.walk import PreparedLog, SequenceState, ratio
from maxatk.attempts.tuning import TUNING
from maxatk.base.text import at_least, decimals_of
from maxatk.base.types import Floats, Ints

THRESHOLDS = 8  # scores at which stopping is tried, the highest of the log among them
JUDGED = (0.5, 0.9)  # quantiles of a judge's scores at which stopping is tried, beside the highest
MOST_DIGITS = 8  # of a score at which to stop, sign and point included: longer ones are rounded down
_SLACK = 1e-12  # the smallest gain for which a sequence is made longer


@dataclass(frozen=True)
class SequencePath:
    """Attempts in order, with the mean score and cost of a task before the first and after each."""

    stop_at: float  # the score at which it ends
    arms: tuple[int, ...]  # [L] arms by number
    alive: tuple[float, ...]  # [L] the share of tasks that get to each attempt
    score: tuple[float, ...]  # [L + 1] the mean best score
    cost: tuple[float, ...]  # [L + 1] the mean cost

    def gain(self, step: int) -> float:
        """What an attempt adds to the mean score."""
        return self.score[step + 1] - self.score[step]

    def step_cost(self, step: int) -> float:
        """The mean cost of an attempt over all tasks."""
        return self.cost[step + 1] - self.cost[step]

    def gain_per_cost(self, step: int) -> float:
        """Gain per cost of an attempt."""
        return ratio(self.gain(step), self.step_cost(step))

    def cut(self, length: int) -> SequencePath:
        """The first ``length`` attempts."""
        return SequencePath(
            self.stop_at, self.arms[:length], self.alive[:length], self.score[: length + 1], self.cost[: length + 1]
        )


def thresholds(log: Log) -> list[float]:
    """Scores at which a sequence may stop: the highest of a log and some below it, rounded for people."""
    distinct = np.unique(log.score)
    if len(distinct) <= 2:
        return _rounded(distinct, distinct[-1:])
    # Quantiles of the attempts' scores: stopping makes a difference where many attempts end up.
    above = log.score[log.score > distinct[0]]
    some = np.quantile(above, np.linspace(0, 1, THRESHOLDS), method="higher")
    return _rounded(distinct, np.unique(np.append(some, distinct[-1])))


def judged_thresholds(scores: Floats) -> list[float]:
    """Scores of a judge [N] at which a sequence may stop: its highest and two below it.

    They are few, because with few tasks a threshold that was chosen among many is noise.
    """
    some = np.quantile(scores, JUDGED, method="higher")
    return _rounded(np.unique(scores), np.unique(np.append(some, scores.max())))


def _rounded(distinct: Floats, some: Floats) -> list[float]:
    """Some of the distinct scores of a log, with few digits.

    A score of many digits is rounded down, to at least four digits and to as many as keep it above the next lower score
    of the log: so the same attempts reach it, and the plan does exactly what is printed.
    """
    below = np.append(-math.inf, distinct)[np.searchsorted(distinct, some)]
    return [_round_down(x, low) for x, low in zip(some.tolist(), below.tolist(), strict=True)]


def _round_down(x: float, below: float) -> float:
    if len(repr(x)) <= MOST_DIGITS:
        return x
    first = decimals_of(x, digits=4)
    rounded = (float(at_least(x, decimals)) for decimals in range(first, first + 14))
    return next((y for y in rounded if y > below), x)


def along(prepared: PreparedLog, arms: Sequence[int]) -> SequencePath:
    """The path of a given sequence, as far as it can be extended."""
    builder = PathBuilder(prepared)
    for arm in arms:
        if not builder.can_extend:
            break
        builder.take(arm)
    return builder.path()


class PathBuilder:
    """A path that grows attempt by attempt."""

    def __init__(self, prepared: PreparedLog) -> None:
        self.state = prepared.start
        self.arms: list[int] = []
        self.alive: list[float] = []
        self.score, self.cost = [prepared.scoring.default_score], [0.0]
        self._reached = 0.0  # the mean score from tasks that have reached the threshold

    @property
    def can_extend(self) -> bool:
        """Whether the tasks of the log can tell what another attempt brings."""
        return can_extend(self.state)

    def copy(self) -> PathBuilder:
        """Another builder with the same attempts."""
        other = PathBuilder(self.state.prepared)
        other.state, other.arms, other.alive = self.state, self.arms.copy(), self.alive.copy()
        other.score, other.cost, other._reached = self.score.copy(), self.cost.copy(), self._reached
        return other

    def look(self, arm: int) -> tuple[SequenceState, float, float, float]:
        """The effect of one more attempt of an arm: the state after it, the mean score from tasks that have reached the
        threshold by then, the mean score of all tasks, and the cost of the attempt.
        """
        after, over, _, cost = self.state.step(arm)
        reached = self._reached + float(over.mean())
        return after, reached, reached + float(after.best.mean()), float(cost[0].mean())

    def take(self, arm: int, seen: tuple[SequenceState, float, float, float] | None = None) -> None:
        """Add an attempt; ``seen`` is the result of :meth:`look`, if it was called."""
        after, self._reached, score, cost = seen or self.look(arm)
        self.alive.append(float(self.state.alive.mean()))
        self.state = after
        self.arms.append(arm)
        self.score.append(score)
        self.cost.append(self.cost[-1] + cost)

    def path(self) -> SequencePath:
        """The path so far."""
        stop_at = self.state.prepared.scoring.stop_at
        return SequencePath(stop_at, tuple(self.arms), tuple(self.alive), tuple(self.score), tuple(self.cost))


def can_extend(state: SequenceState) -> bool:
    """Whether a few tasks, or half a task if there are very few, are expected to need another attempt."""
    tasks = len(state.alive)
    return float(state.alive.sum()) >= min(TUNING.fewest_reaching, tasks / 2)


def greedy(prepared: PreparedLog, limit: Ints) -> SequencePath:
    """Always the arm with the highest gain per cost next, up to ``limit`` [A] of each, while there is a gain."""
    builder = PathBuilder(prepared)
    while True:
        open_arms: list[int] = np.flatnonzero(builder.state.made < limit).tolist() if builder.can_extend else []
        looks = {arm: builder.look(arm) for arm in open_arms}
        rate = {arm: ratio(look[2] - builder.score[-1], look[3]) for arm, look in looks.items()}
        arm = max(open_arms, key=lambda a: rate[a], default=None)
        if arm is None or rate[arm] <= 0:
            return builder.path()
        builder.take(arm, looks[arm])


def singles(prepared: PreparedLog, limit: Ints) -> Iterator[SequencePath]:
    """Each arm alone, up to its limit."""
    for arm, n in enumerate(limit.tolist()):
        yield along(prepared, [arm] * n)


def pairs(prepared: PreparedLog, limit: Ints) -> Iterator[SequencePath]:
    """Some attempts of one arm, then of another."""
    for first, second in itertools.permutations(range(len(limit)), 2):
        builder = PathBuilder(prepared)
        for _ in range(int(limit[first])):
            if not builder.can_extend:
                break
            builder.take(first)
            then = builder.copy()
            for _ in range(int(limit[second])):
                if not then.can_extend:
                    break
                then.take(second)
            yield then.path()


class Lattice:
    """All combinations of numbers of attempts of each arm, with the effect of one more: for the optimal sequence.

    The mean score and cost of a sequence depend on the number of attempts of each arm, not on their order, as long as
    the threshold was not reached. So the optimal sequence is an optimal path through these numbers.
    """

    def __init__(self, prepared: PreparedLog, limit: Ints) -> None:
        self.prepared, self.limit = prepared, limit
        shape = tuple((limit + 1).tolist())
        arms = len(limit)
        self.stop = np.zeros(shape)  # mean best score of tasks that have not reached the threshold
        self.reached = np.full((*shape, arms), -np.inf)  # mean score from tasks that reach it with one more attempt
        self.cost = np.zeros((*shape, arms))
        self._fill(prepared.start, 0, [])

    def _fill(self, state: SequenceState, arm: int, made: list[int]) -> None:
        """Go through all numbers of attempts of the arms from this one on."""
        if arm == len(self.limit):
            at = tuple(made)
            self.stop[at] = state.best.mean()
            for a in range(len(self.limit)) if can_extend(state) else ():
                if made[a] < self.limit[a]:
                    _, over, _, cost = state.step(a)
                    self.reached[(*at, a)] = over.mean()
                    self.cost[(*at, a)] = cost[0].mean()
            return
        for n in range(int(self.limit[arm]) + 1):
            self._fill(state, arm + 1, [*made, n])
            if n < self.limit[arm]:
                state = state.step(arm)[0]

    def best(self, price: float) -> tuple[int, ...]:
        """The sequence with the highest mean of score less ``price`` times cost."""
        arms, length = range(len(self.limit)), int(self.limit.sum())
        ahead = self.reached - price * self.cost
        value = self.stop.copy()

        def after(arm: int) -> Floats:
            """The value with one more attempt of an arm; minus infinity where none is left."""
            moved = np.full(value.shape, -np.inf)
            before, behind = [slice(None)] * len(self.limit), [slice(None)] * len(self.limit)
            before[arm], behind[arm] = slice(None, -1), slice(1, None)
            moved[tuple(before)] = ahead[(*before, arm)] + value[tuple(behind)]
            return moved

        for _ in range(length):  # no sequence is longer
            value = np.maximum(value, np.max([after(a) for a in arms], axis=0))
        values = np.stack([after(a) for a in arms])
        taken: list[int] = []
        at = (0,) * len(self.limit)
        while len(taken) < length and value[at] > self.stop[at] + _SLACK:
            arm = int(values[(slice(None), *at)].argmax())
            taken.append(arm)
            at = (*at[:arm], at[arm] + 1, *at[arm + 1 :])
        return tuple(taken)
