"""The paper's own algorithm (Theorem 1): round every reward to a midpoint of a grid, and plan the rounded problem.

With ``n`` cells of width ``kappa = 1/n`` over the range [0, 1], a reward in cell ``j`` becomes ``(j + 1/2)/n``. The
optimal value of the rounded problem is within ``kappa H/2`` of the true one, and its policy, remembering rounded
rewards, earns the true optimum but for ``kappa H`` (the paper states twice that).
"""

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.planning.certified import Certified
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.plan import Plan, Reporter, Status
from maxatk.policies import RoundingPolicy
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective


@dataclass(frozen=True)
class Midpoint:
    """Plan by rounding rewards in [0, 1] to the midpoints of a grid of step ``kappa``, which must be ``1/n``.

    A reward on the border of two cells goes to the upper one, but for 1, which has none above it.

    Args:
        kappa: the step of the grid.

    >>> import maxatk as mk
    >>> plan = mk.solve(mk.instances.figure1(gamma=0.25), k=2, solver=mk.Midpoint(kappa=1/50))
    >>> plan.lower <= 9/16 <= plan.upper
    True
    """

    kappa: Number

    def __post_init__(self) -> None:
        exact = checks.exact_number(self.kappa, "kappa")
        if exact < 2**-50 or abs(exact * round(1 / exact) - 1) > 1e-12:
            raise InputError(f"kappa must be 1/n for a whole number n up to 2^50, not {checks.shown(self.kappa)}")

    @property
    def cells(self) -> int:
        """``n``."""
        return round(1 / checks.exact_number(self.kappa, "kappa"))

    def solve(self, mdp: MDP, objective: Objective, progress: Reporter | None = None) -> "MidpointPlan":
        """Plan ``mdp`` for ``objective``; ``progress`` is as :func:`maxatk.solve` hands it."""
        began = time.perf_counter()
        if objective.stops(mdp):
            raise InputError("Midpoint knows of no costs, as its theorem does not: mk.Certified() and mk.Exact() do")
        n = self.cells
        rewards = mdp.exact_reward or [Fraction(r) for r in mdp.reward.tolist()]
        for r in rewards:
            if not 0 <= r <= 1:
                raise InputError(f"Midpoint needs rewards in [0, 1], as the paper does, but one is {float(r):g}")
        # In units of kappa/2 the midpoints are odd integers, which floats hold exactly.
        odd = np.array([2 * cell(r, n) + 1 for r in rewards], np.float64)
        best = objective.best_so_far
        if float(best) * 2 * n == math.inf:
            raise InputError(f"best_so_far = {float(best):g} is too large for a grid of {n} cells")
        scaled = replace(objective, best_so_far=best if best == -math.inf else float(best) * 2 * n)
        rounded = Certified(tol=0.0).solve(mdp.with_rewards(odd), scaled, progress)
        value = (rounded.lower + rounded.upper) / (4 * n)
        slack = rounded.gap / (4 * n) + mdp.horizon / (2 * n)  # what was left open, and kappa H/2
        # Planned to the end, it is as good as was asked for: the grid is the tolerance.
        whole = rounded.status in (Status.WITHIN_TOL, Status.ROUNDING)
        return MidpointPlan(
            mdp=mdp,
            objective=objective,
            lower=value - slack * (1 + 2.0**-40),
            upper=min(value + slack * (1 + 2.0**-40), max(mdp.return_range[1], floats_around(best)[1])),
            status=Status.WITHIN_TOL if whole else rounded.status,
            stats={**rounded.stats, "lattice_step": 1 / n, "seconds": time.perf_counter() - began},
            value=value,
            cells=n,
            rounded=rounded,
        )


def cell(reward: Fraction, n: int) -> int:
    """The cell of a reward: the one above it where it lies on a border."""
    return min(math.floor(reward * n), n - 1)


def _midpoint(n: int, reward: Fraction) -> Fraction:
    """What the paper's policy remembers of a reward, with ``n`` cells."""
    if not 0 <= reward <= 1:
        raise InputError(f"reward must be in [0, 1], not {checks.shown(float(reward))}")
    return Fraction(2 * cell(reward, n) + 1, 2 * n)


@dataclass(frozen=True, eq=False, repr=False)
class MidpointPlan(Plan):
    """The plan of the rounded problem; ``value`` is its optimum, at most ``kappa H/2`` off the true one."""

    value: float  # the optimum of the rounded problem
    cells: int  # n, the number of cells of the grid
    rounded: CertifiedPlan = field(repr=False)  # the plan of the rounded problem, in units of kappa/2

    @property
    def policy(self) -> RoundingPolicy:
        """The paper's table policy: the optimal one of the rounded problem, which remembers rounded rewards."""
        return RoundingPolicy(self.rounded.policy, partial(_midpoint, self.cells), scale=Fraction(2 * self.cells))

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """``U_i(m)`` of the rounded problem, more or less ``kappa H/2``."""
        i = checks.integer(i, "i", most=self.k)
        best = float(checks.incumbent(m, "m"))
        if i == self.k or best >= self.mdp.horizon:  # no return is more
            return best, best
        half = self.mdp.horizon / (2 * self.cells)
        lower, upper = (u / (2 * self.cells) for u in self.rounded.curve(i, best * 2 * self.cells))
        return lower - half, upper + half
