"""The paper's extended problem: K rollouts as one, whose states remember the best return and the return so far."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.problem.data import ProblemData
from maxatk.problem.explore import Exploration, explored
from maxatk.problem.midpoints import midpoint


class AugmentedState(NamedTuple):
    """A state of the extended problem."""

    rollout: int  # from 0
    step: int  # from 0
    state: int  # of the problem itself
    best: Number  # M; ``-inf`` for no result yet
    so_far: Fraction  # G


def augmented(mdp: ProblemData, k: int, kappa: Number | None, max_states: int) -> Exploration:
    """The rows and states of :meth:`maxatk.MDP.augmented`."""
    rounded = _rounding(mdp, kappa)
    k, H = checks.rollouts(k), mdp.horizon
    if mdp.has_costs:
        raise InputError("augmented knows of no costs, as the paper does not: this problem has some")
    start = mdp.exact_start()

    def actions(at: AugmentedState) -> list[int]:
        return mdp.actions(at.step, at.state)

    def outcomes(at: AugmentedState, action: int) -> Iterator[tuple[Any, AugmentedState, Any, bool]]:
        for p, after, r in mdp.exact_outcomes(at.step, at.state, action):
            so_far = at.so_far + rounded(r)
            if after is not None and at.step + 1 < H:
                yield p, AugmentedState(at.rollout, at.step + 1, after, at.best, so_far), 0, False
                continue
            best = max(at.best, so_far)
            if at.rollout + 1 == k:
                yield p, at, best, True
                continue
            for q, s in start:
                yield p * q, AugmentedState(at.rollout + 1, 0, s, best, Fraction(0)), 0, False

    return explored(
        {AugmentedState(0, 0, s, -math.inf, Fraction(0)): p for p, s in start},
        actions,
        outcomes,
        k * H,
        max_states=max_states,
    )


def _rounding(mdp: ProblemData, kappa: Number | None) -> Callable[[Fraction], Fraction]:
    """What is remembered of a reward."""
    if kappa is None:
        return lambda reward: reward
    exact = checks.exact_number(kappa, "kappa")
    if exact <= 0:
        raise InputError(f"kappa must be above 0, not {checks.shown(kappa)}")
    if float(mdp.reward.min()) < 0 or float(mdp.reward.max()) > 1:
        raise InputError("kappa needs rewards in [0, 1], as the paper does: without it they are not rounded")
    return lambda reward: midpoint(exact, reward)
