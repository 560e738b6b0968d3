"""Policies that ask a function of what their class may see, and those that remember rounded rewards."""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

from maxatk.base import checks
from maxatk.base.returns import Amounts, Scale
from maxatk.base.types import Number
from maxatk.policies.arguments import checked_function
from maxatk.policies.hooks import Rule, Traits
from maxatk.policies.policy import CompressedPolicy

FAR = Fraction(sys.float_info.max)  # beyond all returns, and still a number that policies take
F = TypeVar("F", bound=Callable[..., int])


class _FunctionPolicy(CompressedPolicy, Generic[F]):
    """A policy that asks a function of what its class may see."""

    def __init__(
        self, choose: F, k: int, horizon: int, best_so_far: Number = -math.inf, *, stop_at: Number = math.inf
    ) -> None:
        super().__init__(k, horizon, best_so_far, stop_at=stop_at)
        self._function: F = checked_function(choose)


class AdaptivePolicy(_FunctionPolicy[Callable[[int, int, Any, Number, Number], int]]):
    """Any function of rollout, step, state, best return and return so far: ``Π_C``, as good as any policy can be.

    Args:
        choose: the function, of ``(rollout, step, state, best, so_far)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> policy = mk.AdaptivePolicy(lambda rollout, step, state, best, so_far: int(best >= 0.5), k=2, horizon=1)
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), policy).exact)     # safe; then risky if that has paid
    '9/16'
    """

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer."""
        return self._function(rollout, step, state, best, so_far)


class NoBestPolicy(_FunctionPolicy[Callable[[int, int, Any, Number], int]]):
    """Any function of rollout, step, state and return so far: without M, so that rollouts are independent.

    Args:
        choose: the function, of ``(rollout, step, state, so_far)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    _traits = Traits(independent=True)

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer, whatever ``best`` is."""
        return self._function(rollout, step, state, so_far)


class NoReturnPolicy(_FunctionPolicy[Callable[[int, int, Any, Number], int]]):
    """Any function of rollout, step, state and best return: without G.

    Args:
        choose: the function, of ``(rollout, step, state, best)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer, whatever ``so_far`` is."""
        return self._function(rollout, step, state, best)


class RoundingPolicy(CompressedPolicy):
    """Acts as another policy does, on rewards that it remembers rounded and in other units.

    Args:
        inner: the policy to ask.
        memory: what is remembered of a reward.
        scale: how much larger returns are for the inner policy.
    """

    def __init__(self, inner: CompressedPolicy, memory: Callable[[Fraction], Fraction], scale: Fraction) -> None:
        best = inner.best_so_far
        super().__init__(inner.k, inner.horizon, best if best == -math.inf else Fraction(best) / scale)
        self._traits = replace(inner._traits, memory=memory, resolution=Fraction(0), known_value=None)
        self._inner, self._scale = inner, scale

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The inner policy's action; ``best`` and ``so_far`` are sums of *rounded* rewards, as trials keep them."""
        amount = checks.incumbent(best, "best")
        return self._inner.action(
            rollout=rollout,
            step=step,
            state=state,
            best=amount if amount == -math.inf else min(amount * self._scale, FAR),
            so_far=checks.exact_number(so_far, "so_far") * self._scale,
        )

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        def scaled(amounts: Amounts) -> Amounts:
            codes = (
                x if math.isinf(x) else Fraction(x) * self._scale for x in (amounts.scale.none, amounts.scale.beyond)
            )
            return Amounts(amounts.units, Scale(amounts.scale.unit * self._scale, *codes))

        inner = self._inner._rule(rollout, scaled(best))
        return Rule(lambda step, tag, state, so_far: inner.act(step, tag, state, scaled(so_far)), inner.batch)
