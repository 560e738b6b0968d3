"""The objective of a trial: a utility of the best return of its rollouts less all costs, with the right to stop.

All that counts beside the best return is a field of :class:`Objective`, which every solver receives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.problem.rows import LEAST_SIZE
from maxatk.problem.utility import Utility, utility_of

MOST_ROUNDS, WIDEST = 1000, 1000


@dataclass(frozen=True)
class Objective:
    """The best return of up to ``k`` rollouts, or the incumbent if that is better, less all costs.

    If there are costs, a trial may stop before any rollout, once there is a best return so far: see
    docs/theory/costs.md. Without costs stopping gains nothing, and all rollouts are made.

    Args:
        k: the maximal number of rollouts.
        best_so_far: the incumbent, a best return before the first rollout; ``-inf`` for no result yet.
        cost: the cost of each rollout, beside that of its rows.
        abandon: whether a rollout may be abandoned at any step: its return does not count, its next steps cost nothing.
        utility: a convex nondecreasing function of the final best return that counts in its place, by its knots; None
            for the best return itself.
        rounds: how many rollouts each round has, whose sum is ``k``: rollouts of a round see the best return at its
            start, and not each other. Empty where each sees the best of all before it.
    """

    k: int
    best_so_far: Number = -math.inf
    cost: Fraction = Fraction(0)
    abandon: bool = False
    utility: Utility | None = None
    rounds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.rollouts(self.k))
        object.__setattr__(self, "best_so_far", checks.incumbent(self.best_so_far))
        object.__setattr__(self, "cost", try_cost(self.cost))
        if not isinstance(self.abandon, bool):
            raise InputError(f"abandon must be true or false, not {checks.shown(self.abandon)}")
        object.__setattr__(self, "utility", utility_of(self.utility))
        object.__setattr__(self, "rounds", rounds_of(self.k, rounds=self.rounds or None))

    @property
    def extras(self) -> frozenset[str]:
        """What is asked for that not every solver honours, by the names of fields."""
        asked = {"utility": self.utility is not None, "rounds": bool(self.rounds)}
        return frozenset(name for name, extra in asked.items() if extra)


def rounds_of(k: int, width: int | None = None, rounds: Sequence[int] | None = None) -> tuple[int, ...]:
    """The widths of rounds as callers give them; empty where all rounds are of one rollout.

    ``width`` is that of all rounds, but for the last, which may be shorter; ``rounds`` gives them one by one.
    """
    if width is not None and rounds is not None:
        raise InputError("width and rounds: give one of them, not both")
    if width is not None:
        w = min(checks.integer(width, "width", least=1), k)
        widths = [w] * (k // w) + [k % w] * (k % w > 0)
    elif rounds is None:
        return ()
    else:
        given: Any = rounds.tolist() if isinstance(rounds, np.ndarray) else rounds
        if not checks.is_list(given) or not given:
            raise InputError(f"rounds must be a list of widths, one at least, not {checks.shown(rounds)}")
        widths = [checks.integer(w, f"rounds[{b}]", least=1) for b, w in enumerate(given)]
        if sum(widths) != k:
            raise InputError(
                f"rounds: their widths must add up to k, {k}, but they add up to {checks.shown(sum(widths))}"
            )
    if max(widths) == 1:
        return ()
    if len(widths) > MOST_ROUNDS or max(widths) > WIDEST:
        raise InputError(f"rounds: at most {MOST_ROUNDS} rounds of at most {WIDEST} rollouts can be planned")
    return tuple(widths)


def try_cost(cost: Number, name: str = "cost") -> Fraction:
    """The cost of a rollout, or of a step, as a fraction: finite and not negative."""
    exact = checks.exact_number(cost, name)
    if exact < 0:
        raise InputError(f"{name} must not be negative, but is {checks.shown(cost)}")
    if 0 < exact < LEAST_SIZE:
        raise InputError(f"{name} must be 0 or at least {LEAST_SIZE:g}, not {checks.shown(cost)}")
    return exact
