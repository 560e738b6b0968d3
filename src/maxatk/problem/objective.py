"""What a trial is for. What counts beside the best return becomes a field here, and reaches every solver with it."""

import math
from dataclasses import dataclass

from maxatk.base import checks
from maxatk.base.types import Number


@dataclass(frozen=True)
class Objective:
    """The best return of ``k`` rollouts, or what was in hand before them if that is better.

    Args:
        k: the number of rollouts.
        best_so_far: a return that is in hand before the first of them; ``-inf`` where there is none.
    """

    k: int
    best_so_far: Number = -math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.rollouts(self.k))
        object.__setattr__(self, "best_so_far", checks.incumbent(self.best_so_far))
