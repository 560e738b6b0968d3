"""What a trial is for: the best return of its rollouts less all that they cost, with the right to stop.

What counts beside the best return is a field here, and reaches every solver with it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.problem.rows import LEAST_SIZE


@dataclass(frozen=True)
class Objective:
    """The best return of up to ``k`` rollouts, or what was in hand before them if that is better, less all costs.

    Where anything costs anything, a trial may end before any rollout, once something is in hand: see
    docs/theory/costs.md. With no costs nothing is gained by that, and all rollouts are made.

    Args:
        k: the number of rollouts, at most.
        best_so_far: a return that is in hand before the first of them; ``-inf`` where there is none.
        cost: what each rollout costs beside its rows.
        abandon: whether a rollout may be given up at any step: its return does not count, and no further step costs.
    """

    k: int
    best_so_far: Number = -math.inf
    cost: Fraction = Fraction(0)
    abandon: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.rollouts(self.k))
        object.__setattr__(self, "best_so_far", checks.incumbent(self.best_so_far))
        object.__setattr__(self, "cost", try_cost(self.cost))
        if not isinstance(self.abandon, bool):
            raise InputError(f"abandon must be true or false, not {checks.shown(self.abandon)}")


def try_cost(cost: Number, name: str = "cost") -> Fraction:
    """What a rollout costs, or a step of it, as a fraction: finite and not negative."""
    exact = checks.exact_number(cost, name)
    if exact < 0:
        raise InputError(f"{name} must not be negative, but is {checks.shown(cost)}")
    if 0 < exact < LEAST_SIZE:
        raise InputError(f"{name} must be 0 or at least {LEAST_SIZE:g}, not {checks.shown(cost)}")
    return exact
