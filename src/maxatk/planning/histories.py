"""Compressed histories: all that matters of what was seen in a trial (Proposition 2)."""

import math
from dataclasses import dataclass
from typing import Any

from maxatk.base import checks
from maxatk.base.types import Number
from maxatk.problem.decision import DecisionProblem


@dataclass(frozen=True)
class CompressedHistory:
    """A moment of a trial at which an action is to be chosen."""

    rollout: int  # from 0
    step: int  # from 0
    state: int
    best: Number = -math.inf  # M, the best return so far; ``-inf`` for no result yet
    so_far: Number = 0  # G, the return of this rollout so far

    @classmethod
    def of(
        cls, problem: DecisionProblem, *, rollout: Any, step: Any, state: Any, best: Any, so_far: Any
    ) -> "CompressedHistory":
        """A history of a problem, from arguments of a caller, which are checked."""
        return cls(
            checks.integer(rollout, "rollout", most=problem.k - 1),
            checks.integer(step, "step", most=problem.mdp.horizon - 1),
            checks.integer(state, "state", most=problem.mdp.n_states - 1),
            checks.incumbent(best, "best"),
            checks.exact_number(so_far, "so_far"),
        )
