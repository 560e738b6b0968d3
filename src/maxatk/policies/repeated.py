"""One policy of a single rollout, repeated: always alike, or until a threshold is reached."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from maxatk.base.returns import NONE, Amounts, Scale
from maxatk.base.types import Number
from maxatk.policies.hooks import Rule, Traits
from maxatk.policies.policy import CompressedPolicy


class FixedBest(CompressedPolicy):
    """One rollout of another policy that acts as if the best so far were ``m``, whatever it is."""

    def __init__(self, inner: CompressedPolicy, m: float) -> None:
        super().__init__(1, inner.horizon)
        self._inner, self._m = inner, m
        self._traits = Traits(independent=True, repeated=True, n_states=inner._traits.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action of the other policy if the best so far is ``m``."""
        return self._inner.action(rollout=0, step=step, state=state, best=self._m, so_far=so_far)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        act = self._inner._rule(0, Amounts(np.array([NONE]), Scale(Fraction(1), none=self._m))).act
        return Rule(lambda step, tag, state, so_far: act(step, np.zeros_like(tag), state, so_far))


class RaisedBest(CompressedPolicy):
    """Another policy that acts as if the best so far were ``m`` at least; its incumbent is ``best_so_far``."""

    def __init__(self, inner: CompressedPolicy, m: float, best_so_far: Number) -> None:
        super().__init__(inner.k, inner.horizon, best_so_far)
        self._inner, self._m = inner, m
        self._traits = replace(inner._traits, known_value=None)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action of the other policy if the best so far is ``m`` at least."""
        return self._inner.action(rollout=rollout, step=step, state=state, best=max(best, self._m), so_far=so_far)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        scale = best.scale
        below = [scale.number(x) <= self._m for x in best.units.tolist()]
        raised = Amounts(np.where(below, NONE, best.units), Scale(scale.unit, self._m, scale.beyond))
        return self._inner._rule(rollout, raised)


class Repeated(CompressedPolicy):
    """A policy of one rollout that ignores the best so far, repeated ``k`` times or until ``stop_at`` is reached."""

    def __init__(self, one: CompressedPolicy, k: int, best_so_far: Number, stop_at: float) -> None:
        super().__init__(k, one.horizon, best_so_far, stop_at=stop_at)
        self._one = one
        self._traits = Traits(True, True, one._traits.memory, n_states=one._traits.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action of that policy."""
        return self._one.action(rollout=0, step=step, state=state, best=-math.inf, so_far=so_far)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        return self._one._rule(0, best)
