"""The objective of a trial: a utility of the best return of its rollouts less all costs, with the right to stop.

All that counts beside the best return is a field of :class:`Objective`, which every solver receives.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.problem.rows import LEAST_SIZE
from maxatk.problem.utility import Utility, utility_of


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
    """

    k: int
    best_so_far: Number = -math.inf
    cost: Fraction = Fraction(0)
    abandon: bool = False
    utility: Utility | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.rollouts(self.k))
        object.__setattr__(self, "best_so_far", checks.incumbent(self.best_so_far))
        object.__setattr__(self, "cost", try_cost(self.cost))
        if not isinstance(self.abandon, bool):
            raise InputError(f"abandon must be true or false, not {checks.shown(self.abandon)}")
        object.__setattr__(self, "utility", utility_of(self.utility))

    @property
    def extras(self) -> frozenset[str]:
        """What is asked for that not every solver honours, by the names of fields."""
        return frozenset({"utility"} if self.utility is not None else ())


def try_cost(cost: Number, name: str = "cost") -> Fraction:
    """The cost of a rollout, or of a step, as a fraction: finite and not negative."""
    exact = checks.exact_number(cost, name)
    if exact < 0:
        raise InputError(f"{name} must not be negative, but is {checks.shown(cost)}")
    if 0 < exact < LEAST_SIZE:
        raise InputError(f"{name} must be 0 or at least {LEAST_SIZE:g}, not {checks.shown(cost)}")
    return exact
