"""Chance in trials: the uniform numbers in [0, 1) that draw where rollouts start and what actions bring."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from maxatk.base.types import Floats, Ints


class Chance(Protocol):
    """Where the numbers of a block of trials come from."""

    def numbers(self, rollout: int, moment: int, trials: Ints) -> Floats:
        """A number for each of these trials [n]: at moment 0 for the start of a rollout, at ``h + 1`` for step h."""
        ...


class OwnChance:
    """Numbers of a stream, one after the other: no two of them are the same draw."""

    def __init__(self, stream: np.random.Generator) -> None:
        self._stream = stream

    def numbers(self, rollout: int, moment: int, trials: Ints) -> Floats:
        """The next ones."""
        return self._stream.random(len(trials))


class CommonChance:
    """Numbers by trial, rollout and moment: the same ones for every policy, however it got there.

    Args:
        seed: of the block.
        trials: how many it has.
        kept: whether numbers are kept once they were drawn, for callers that ask for one trial at a time.

    >>> import numpy as np
    >>> chance, trials = CommonChance(0, 3), np.arange(3)
    >>> bool((chance.numbers(1, 2, trials) == CommonChance(0, 3).numbers(1, 2, trials)).all())
    True
    """

    def __init__(self, seed: int, trials: int, *, kept: bool = False) -> None:
        self._seed, self._trials = seed, trials
        self._kept: dict[tuple[int, int], Floats] | None = {} if kept else None

    def numbers(self, rollout: int, moment: int, trials: Ints) -> Floats:
        """Those of these trials."""
        return self._all(rollout, moment)[trials]

    def _all(self, rollout: int, moment: int) -> Floats:
        if self._kept is not None and (rollout, moment) in self._kept:
            return self._kept[rollout, moment]
        drawn = np.random.default_rng((self._seed, rollout, moment)).random(self._trials)
        if self._kept is not None:
            self._kept[rollout, moment] = drawn
        return drawn

    def streams(self, trial: int, rollouts: int) -> Iterator["OneTrial"]:
        """The numbers of one trial as a stream for each of its rollouts."""
        return (OneTrial(self, np.array([trial]), i) for i in range(rollouts))


class Numbers(NamedTuple):
    """The numbers of one rollout of some trials of a block."""

    chance: Chance
    rollout: int
    trials: Ints  # [n] which of the block

    def starts(self) -> Floats:
        """[n] one for the start of each."""
        return self.chance.numbers(self.rollout, 0, self.trials)

    def outcomes(self, step: int, going: Ints) -> Floats:
        """One for each of those that are ``going``, places among the trials."""
        return self.chance.numbers(self.rollout, step + 1, self.trials[going])


class OneTrial:
    """A rollout of one trial as a stream: what draws moment after moment is given the numbers of these moments."""

    def __init__(self, chance: CommonChance, trial: Ints, rollout: int) -> None:
        self._chance, self._trial, self._rollout, self._moment = chance, trial, rollout, 0

    def random(self) -> float:
        """The number of the next moment."""
        number = self._chance.numbers(self._rollout, self._moment, self._trial)[0]
        self._moment += 1
        return float(number)

    def seed(self) -> int:
        """A seed of the whole rollout."""
        return int(self.random() * 2**31)
