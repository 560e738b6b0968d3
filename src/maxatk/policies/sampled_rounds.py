"""Policies of rollouts in rounds that all draw what they follow from one mixture, each by itself."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.types import Number, Seed
from maxatk.policies.hooks import Component, mixture, traits
from maxatk.policies.mixture import MixedPolicy
from maxatk.policies.policy import CompressedPolicy, Policy
from maxatk.policies.rounds import Round, RoundsPolicy, RoundTry
from maxatk.policies.trial import Trial


@dataclass(frozen=True)
class SampledRound:
    """What the rollouts of one round draw from, by the best return at its start."""

    ends: tuple[float, ...]  # [n - 1] rising: up to where each mixture counts, the end included
    mixtures: tuple[MixedPolicy, ...]  # [n] of one rollout each
    width: int  # how many rollouts it has

    def cuts(self) -> list[Fraction]:
        """Where between 0 and 1 the part changes that a drawn number stands for, whatever the best return."""
        sums = (itertools.accumulate(one.weight for one in mixture(mixed)) for mixed in self.mixtures)
        return sorted({Fraction(0), *(end for ends in sums for end in ends)})

    def drawn(self, number: Fraction) -> Round:
        """The round of rollouts that all drew this number."""
        parts: list[CompressedPolicy] = []
        for mixed in self.mixtures:
            ends = itertools.accumulate(one.weight for one in mixture(mixed))
            parts.append(next(one.policy for one, end in zip(mixture(mixed), ends, strict=True) if number < end))
        return Round(self.ends, tuple((part,) * self.width for part in parts))


class SampledRoundsPolicy(Policy):
    """Rollouts in rounds, alike: each draws a policy of one rollout by itself, by the best return at its round's start.

    Args:
        rounds: what the rollouts of each round draw from.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        rng: a seed, a NumPy Generator, or None for a fresh one, from which trials draw.

    >>> import maxatk as mk
    >>> table = mk.compare(mk.instances.figure1(gamma=0), k=2, widths=(2,))
    >>> float(mk.evaluate(table.mdp, table["2 at a time, alike"].policy).exact)
    0.55
    """

    def __init__(self, rounds: Sequence[SampledRound], best_so_far: Number = -math.inf, rng: Seed = None) -> None:
        self._widths = tuple(one.width for one in rounds)
        super().__init__(sum(self._widths), rounds[0].mixtures[0].horizon, best_so_far)
        cuts = [one.cuts() for one in rounds]
        most = max(map(len, cuts)) - 1
        # Numbers between the same cuts stand for the same parts; a round with fewer of them repeats its last.
        drawn = [[one.drawn(some[min(j, len(some) - 2)]) for one, some in zip(rounds, cuts, strict=True)]
                 for j in range(most)]  # fmt: skip
        self._parts: list[RoundsPolicy] = [RoundsPolicy(one, best_so_far) for one in drawn]
        self._weights = [
            [*(end - begin for begin, end in itertools.pairwise(some)), *([Fraction(0)] * (most + 1 - len(some)))]
            for some in cuts
        ]
        self._rounds_of = [b for b, width in enumerate(self._widths) for _ in range(width)]
        self._traits = replace(traits(self._parts[0]), alike=True)
        self._rng = checks.generator(rng)

    @property
    def rounds(self) -> tuple[int, ...]:
        """How many rollouts each round has."""
        return self._widths

    def _mixture(self, rollout: int) -> Sequence[Component]:
        weights = self._weights[self._rounds_of[rollout]]
        return [Component(part, rollout, w) for part, w in zip(self._parts, weights, strict=True)]

    def begin(self, rng: Seed = None) -> "SampledRoundsTrial":
        """A new trial, whose parts are drawn from ``rng``, the policy's own by default."""
        return SampledRoundsTrial(self, self._generator(rng))

    def _generator(self, rng: Seed) -> np.random.Generator:
        return self._rng if rng is None else checks.generator(rng)

    def begin_round(self, *, round: int, best: Number, rng: Seed = None) -> list[RoundTry]:
        """The rollouts of a round, to be run side by side, in any order.

        Args:
            round: which round, from 0.
            best: the best return at its start; ``-inf`` where there is none.
            rng: a seed or a NumPy Generator from which they draw; the policy's own by default.
        """
        b = checks.integer(round, "round", most=len(self._widths) - 1)
        chances = [float(w) for w in self._weights[b]]
        drawn: list[int] = self._generator(rng).choice(len(self._parts), self._widths[b], p=chances).tolist()
        return [self._parts[part].begin_round(round=b, best=best)[j] for j, part in enumerate(drawn)]


class SampledRoundsTrial(Trial):
    """A trial in rounds whose rollouts are run one after another: the best return is frozen within a round."""

    def __init__(self, policy: SampledRoundsPolicy, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self._policy, self._rng, self._tries = policy, rng, list[RoundTry]()

    def _choose(self, state: Any) -> int:
        if not self._tries:
            starts = [sum(self._policy.rounds[:b]) for b in range(len(self._policy.rounds))]
            b = starts.index(self.rollout)
            self._tries = self._policy.begin_round(round=b, best=self.exact_best, rng=self._rng)
        return self._tries[0].act(state)

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._tries[0].observe(reward, over)
        if over:
            self._tries = self._tries[1:]
