"""Policies that draw what each rollout follows."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number, Seed
from maxatk.policies.hooks import Component, Traits
from maxatk.policies.policy import CompressedPolicy, Policy
from maxatk.policies.trial import Trial


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
        self._traits = Traits(independent=True, repeated=table.ndim == 1)
        rows = [[checks.exact_number(w, "weight") for w in row] for row in (table[None] if table.ndim == 1 else table)]
        if any(min(row) < 0 or sum(row) == 0 for row in rows):
            raise InputError("weights must not be negative, nor all 0")
        # For each rollout that is different from the others, its components.
        self._components = [
            [Component(part, 0, w / sum(row)) for part, w in zip(parts, row, strict=True)] for row in rows
        ]
        self._rng = checks.generator(rng)

    def _mixture(self, rollout: int) -> Sequence[Component]:
        return self._components[0 if self._traits.repeated else rollout]

    def begin(self, rng: Seed = None) -> "MixedTrial":
        """A new trial, whose parts are drawn from ``rng``, the policy's own by default."""
        return MixedTrial(self, self._mixture, self._rng if rng is None else checks.generator(rng))


class MixedTrial(Trial):
    """A trial that draws a policy at the start of each rollout."""

    def __init__(
        self, policy: MixedPolicy, mixture: Callable[[int], Sequence[Component]], rng: np.random.Generator
    ) -> None:
        super().__init__(policy)
        self._mixture, self._rng = mixture, rng
        self._inner: Trial | None = None

    def _choose(self, state: Any) -> int:
        if self._inner is None:
            components = self._mixture(self.rollout)
            drawn = self._rng.choice(len(components), p=[float(one.weight) for one in components])
            self._inner = components[drawn].policy.begin()
        return self._inner.act(state)

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        if self._inner is not None:
            self._inner.observe(reward, over)
        if over:
            self._inner = None
