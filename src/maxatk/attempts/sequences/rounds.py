"""Rounds: attempts of a sequence that are made at once, so that none of them sees what the others score.

A sequence stops between rounds only: all attempts of a round are made and paid, and the best of all of them counts, of
those that reach the threshold, too. Given that all attempts before a round fell short, its attempts are drawn without
replacement from the others of their arms: with ``m`` made before, they all score at most ``y`` with chance
``C(c(y) - m, n)/C(N - m, n)`` (``walk``), also for ``y`` above the threshold, and each costs the mean of the ``N - m``.
So the recursion of single attempts holds inside a round, over all scores instead of those that fall short. What the
attempts of a round cost in time depends on the longest of them, which such means do not tell: rounds are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.walk import JudgedLog, PreparedLog, Scoring, SequenceState, Taken, picked
from maxatk.base.types import Floats, Ints

T = TypeVar("T")


def in_rounds(attempts: Sequence[T], width: int) -> list[Sequence[T]]:
    """The attempts of a sequence, round by round; the last round may be shorter."""
    return [attempts[first : first + width] for first in range(0, len(attempts), width)]


class RoundedLog(PreparedLog):
    """The tasks of a log, prepared for sequences whose attempts are made in rounds."""

    def __init__(self, log: Log, scoring: Scoring) -> None:
        super().__init__(log, scoring)
        # Rounds take as long as their longest attempt: the second row, seconds, would be a sum.
        self.short_cost, self.reached_cost = self.short_cost[:1], self.reached_cost[:1]
        self.above = self.values >= scoring.stop_at  # [T, V] the scores that reach the threshold
        self._last = np.maximum((~self.above).sum(axis=1, keepdims=True) - 1, 0)  # [T, 1] the last that falls short
        self._all_above = self.above.all(axis=1)

    def _told_apart(self, short: Any) -> Any:
        """All attempts [N]: of several that reach the threshold in one round the best is kept."""
        return np.ones(len(short), bool)

    def fell_short(self, chance: Floats) -> Floats:
        """The chance [T] that no attempt has reached the threshold."""
        return np.where(self._all_above, 0.0, np.take_along_axis(chance, self._last, axis=1)[:, 0])

    @property
    def start(self) -> SequenceState:
        """The state before the first round."""
        start = super().start
        return RoundState(
            self, start.made, start.chance, start.best, start.made, 0, np.ones(len(start.best)), start.best
        )


class JudgedRoundedLog(RoundedLog, JudgedLog):
    """The same for sequences that stop and pick by a judge."""

    @property
    def start(self) -> SequenceState:
        """The state before the first round."""
        return JudgedRoundState(**vars(super().start), picks=np.zeros((2, *self.values.shape)))


@dataclass(frozen=True)
class RoundState(SequenceState):
    """The state of a sequence in rounds. ``chance`` is over all scores and, like ``best``, counts all attempts of the
    present round, those that reach the threshold among them.
    """

    before: Ints  # [A] attempts of each arm before this round
    here: int  # attempts of this round
    going_on: Floats  # [T] the chance that another attempt is made
    short_best: Floats  # [T] the expected best score if the threshold was not reached, times the chance of that

    @property
    def alive(self) -> Floats:
        """The chance [T] that another attempt is made: that the threshold was not reached in a round before."""
        return self.going_on

    @property
    def open_best(self) -> Floats:
        """The expected best score [T] if the threshold was not reached, times the chance of that."""
        return self.short_best

    @property
    def _log(self) -> RoundedLog:
        assert isinstance(self.prepared, RoundedLog)
        return self.prepared

    def step(self, arm: int) -> Taken:
        """One more attempt of an arm: the first of a new round if the present one is full."""
        log, state = self._log, self if self.here < self._log.scoring.width else self._next_round()
        left = log.attempts[:, arm] - self.made[arm]
        more = left > 0
        factor = np.maximum(log.at_most[arm] - self.made[arm], 0.0) / np.maximum(left, 1)[:, None]
        made = self.made.copy()
        made[arm] += 1
        after = state._added(arm, made, state.chance * factor, factor)
        cost = np.where(more, state._cost(arm), 0.0)
        return Taken(after.where(more, state), self.best - state.best, self.solved - state.solved, cost)

    def _cost(self, arm: int) -> Floats:
        """The cost [P, T] of another attempt of this round: it is any of those that were not made before the round."""
        log, made = self._log, self.before[arm]
        short = np.maximum(log.short[:, arm] - made, 0)
        reached = log.attempts[:, arm] - log.short[:, arm]
        share = self.going_on / np.maximum(log.attempts[:, arm] - made, 1)
        return share * (short * log.short_cost[:, :, arm] + reached * log.reached_cost[:, :, arm])

    def _next_round(self) -> RoundState:
        """The state of tasks whose attempts all fell short, before the first attempt of the next round."""
        chance = np.where(self._log.above, self.going_on[:, None], self.chance)
        return replace(self, chance=chance, best=self.short_best, before=self.made, here=0)

    def _added(self, arm: int, made: Ints, chance: Floats, factor: Floats) -> RoundState:
        """The state after an attempt of an arm; ``factor`` [T, V] is the chance that it is seen to be no better."""
        log, here = self._log, self.here + 1
        fell_short = log.fell_short(chance)
        going_on = fell_short if here == log.scoring.width else self.going_on
        best, short_best = self._bests(chance, np.where(log.above, fell_short[:, None], chance))
        return replace(self, made=made, chance=chance, best=best, here=here, going_on=going_on, short_best=short_best)

    def _bests(self, *chances: Floats) -> list[Floats]:
        """The expected best scores [T] for some chances, summed by parts."""
        log = self._log
        return [log.values[:, -1] * x[:, -1] - np.einsum("tv,tv->t", log.gaps, x[:, :-1]) for x in chances]

    def where(self, some: Any, before: SequenceState) -> SequenceState:
        """This state for some tasks, given by truth values [T], and the one before for the others."""
        assert isinstance(before, RoundState)
        return replace(
            self,
            chance=np.where(some[:, None], self.chance, before.chance),
            best=np.where(some, self.best, before.best),
            going_on=np.where(some, self.going_on, before.going_on),
            short_best=np.where(some, self.short_best, before.short_best),
        )


@dataclass(frozen=True)
class JudgedRoundState(RoundState):
    """The state of a sequence in rounds whose attempts are picked by a judge; of equal ones it keeps the first."""

    picks: Floats  # [2, T, V] of picks at each level: the truth, and whether it solves, times the chance

    def _next_round(self) -> RoundState:
        return replace(super()._next_round(), picks=np.where(self._log.above, 0.0, self.picks))

    def _added(self, arm: int, made: Ints, chance: Floats, factor: Floats) -> RoundState:
        picks = picked(self, self.picks, arm, factor)
        best, short_best = picks[0].sum(axis=1), np.where(self._log.above, 0.0, picks[0]).sum(axis=1)
        after = super()._added(arm, made, chance, factor)
        return replace(after, best=best, short_best=short_best, picks=picks)

    def where(self, some: Any, before: SequenceState) -> SequenceState:
        """This state for some tasks, given by truth values [T], and the one before for the others."""
        assert isinstance(before, JudgedRoundState)
        return replace(super().where(some, before), picks=np.where(some[:, None], self.picks, before.picks))

    @property
    def solved(self) -> Floats:
        """The chance [T] that the pick of this round, or of those before, solves the task."""
        return self.picks[1].sum(axis=1)
