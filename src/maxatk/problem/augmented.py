"""The paper's extended problem: K rollouts as one, whose states remember the best return and the return so far."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Number
from maxatk.problem.data import ProblemData
from maxatk.problem.explore import Exploration, explored
from maxatk.problem.midpoints import grid_step, midpoint


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
    _refuse_more(mdp, k, rounded, checks.integer(max_states, "max_states", least=1))

    @cache
    def followed(h: int, s: int, action: int) -> list[tuple[Fraction, int | None, Fraction]]:
        return [(p, after, rounded(r)) for p, after, r in mdp.exact_outcomes(h, s, action)]

    def actions(at: AugmentedState) -> list[int]:
        return mdp.actions(at.step, at.state)

    def outcomes(at: AugmentedState, action: int) -> Iterator[tuple[Any, AugmentedState, Any, bool]]:
        for p, after, r in followed(at.step, at.state, action):
            so_far = at.so_far + r
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


def _refuse_more(mdp: ProblemData, k: int, rounded: Callable[[Fraction], Fraction], most: int) -> None:
    """Count the states before any is made: those of one rollout, once for no result and once for each best return.

    Every return of a rollout can be the best one before each later rollout, so nothing else is to be followed. Returns
    are whole numbers of a unit that all rewards are multiples of.
    """
    rewards = mdp.exact_reward or [Fraction(r) for r in mdp.reward.tolist()]
    unit = Fraction(1, math.lcm(*{rounded(r).denominator for r in rewards}))
    reached: dict[int, set[int]] = {s: {0} for _, s in mdp.exact_start()}  # the returns so far, by state
    n, returns = 0, set[int]()
    for h in range(mdp.horizon):
        n += sum(map(len, reached.values()))
        following = defaultdict[int, set[int]](set)
        for s, so_far in reached.items():
            steps = {(t, r) for a in mdp.actions(h, s) for _, t, r in mdp.exact_outcomes(h, s, a)}
            for after, r in steps:
                gained = int(rounded(r) / unit)
                into = returns if after is None or h + 1 == mdp.horizon else following[after]
                into.update(g + gained for g in so_far)
        if n > most:
            break
        reached = following
    n *= 1 + (k - 1) * max(len(returns), 1)
    if n > most:
        raise TooLargeError(
            f"more than {most} states can be reached (at least {n}): give max_states= for more, or a smaller horizon"
        )


def _rounding(mdp: ProblemData, kappa: Number | None) -> Callable[[Fraction], Fraction]:
    """What is remembered of a reward."""
    if kappa is None:
        return lambda reward: reward
    step = grid_step(kappa)
    if float(mdp.reward.min()) < 0 or float(mdp.reward.max()) > 1:
        raise InputError("kappa needs rewards in [0, 1], as the paper does: without it they are not rounded")
    return lambda reward: midpoint(step, reward)
