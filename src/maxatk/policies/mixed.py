"""Policies that draw what each rollout follows."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Number, Seed
from maxatk.policies.policy import CompressedPolicy, Lot, Policy, Trial


class MixedPolicy(Policy):
    """Each rollout follows one of several policies of a single rollout, drawn afresh: rollouts are independent.

    Sampling one randomised policy ``k`` times is such a policy; so is a policy of its own for every rollout.

    Args:
        parts: the policies, of one rollout each.
        weights: with what probability each part is drawn, ``[n]``; or for each rollout, ``[k, n]``.
        k: the number of rollouts.
        best_so_far: the incumbent, if there is one.
        rng: a seed, a NumPy Generator, or None for a fresh one, from which trials draw.
    """

    def __init__(
        self,
        parts: Sequence[CompressedPolicy],
        weights: ArrayLike,
        k: int,
        best_so_far: Number = -math.inf,
        rng: Seed = None,
    ) -> None:
        several = isinstance(parts, Sequence) and bool(parts)
        if not several or any(not isinstance(part, CompressedPolicy) or part.k != 1 for part in parts):
            raise InputError("the parts of a mixed policy must be policies of one rollout, one at least")
        super().__init__(k, parts[0].horizon, best_so_far)
        table: Any = np.array(weights, dtype=object)
        if table.shape not in ((len(parts),), (self.k, len(parts))):
            raise InputError(f"weights must be [{len(parts)}] or [{self.k}, {len(parts)}], not {list(table.shape)}")
        self.repeated = table.ndim == 1  # whether all rollouts are alike
        rows = [[checks.exact_number(w, "weight") for w in row] for row in (table[None] if self.repeated else table)]
        if any(min(row) < 0 or sum(row) == 0 for row in rows):
            raise InputError("weights must not be negative, nor all 0")
        self._parts = tuple(parts)
        # Each row sums to 1 exactly; one row where all rollouts are alike.
        self.weights = tuple(tuple(w / sum(row) for w in row) for row in rows)
        self.rng = checks.generator(rng)

    @property
    def parts(self) -> Sequence[CompressedPolicy]:
        """The policies of one rollout each that are drawn from."""
        return self._parts

    def lots(self) -> Sequence[Lot]:
        """The parts with their weights, by rollout; one where all are alike."""
        return [Lot([(part, 0) for part in self._parts], w, self.k // len(self.weights)) for w in self.weights]

    def shared_out(self, rollout: int, trials: int, stream: np.random.Generator) -> list[tuple[int, int, Ints]]:
        """Which part each of ``trials`` trials draws from ``stream`` in ``rollout``."""
        drawn = stream.choice(len(self._parts), trials, p=self.chances(rollout))
        return [(j, 0, np.flatnonzero(drawn == j)) for j in range(len(self._parts)) if (drawn == j).any()]

    def chances(self, rollout: int) -> list[float]:
        """With what probability each part is drawn in ``rollout``."""
        return [float(w) for w in self.weights[0 if self.repeated else rollout]]

    def begin(self, rng: np.random.Generator | None = None) -> "MixedTrial":
        """A new trial, whose parts are drawn from ``rng``, the policy's own by default."""
        return MixedTrial(self, rng or self.rng)

    def begin_from(self, stream: np.random.Generator) -> "MixedTrial":
        """A new trial, whose parts are drawn from ``stream``."""
        return MixedTrial(self, stream)


class MixedTrial(Trial):
    """A trial that draws a policy at the start of each rollout."""

    def __init__(self, policy: MixedPolicy, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self._policy, self._rng = policy, rng
        self._inner: Trial | None = None

    def _choose(self, state: Any) -> int:
        if self._inner is None:
            drawn = self._rng.choice(len(self._policy.parts), p=self._policy.chances(self.rollout))
            self._inner = self._policy.parts[drawn].begin()
        return self._inner.act(state)

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        if self._inner is not None:
            self._inner.observe(reward, over)
        if over:
            self._inner = None
