"""The planner of Theorem 1: round every reward to a midpoint of a grid, and plan the rounded problem.

``ceil(1/kappa)`` cells of width ``kappa`` cover the rewards, which lie in [0, 1]; a reward in cell ``j``, counted from
0, becomes ``kappa (j + 1/2)``, so it moves by at most ``kappa/2``. That holds for every ``kappa > 0``. Unless
``1/kappa`` is whole, the last cell reaches beyond 1 and its midpoint may too, which does no harm. The optimal value of
the rounded problem is within ``kappa H/2`` of the true one, and its policy, remembering rounded rewards, earns the true
optimum but for ``kappa H`` (the paper states twice that).
"""

import math
import sys
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.solver import Certified
from maxatk.planning.plan import Plan, Reporter, Status
from maxatk.policies import RoundingPolicy
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.midpoints import cell, grid_step, midpoint

FINEST = Fraction(1, 2**50)  # a finer grid has midpoints that floats do not hold


@dataclass(frozen=True)
class Midpoint:
    """Plan by rounding rewards in [0, 1] to the midpoints of a grid of step ``kappa`` (Theorem 1).

    The value is within ``kappa H/2`` of the optimum, and the policy loses at most ``kappa H``. A reward on the border
    of two cells goes to the upper one; 1 goes to the last cell.

    Args:
        kappa: the step of the grid: any number above 0 (at least 2^-50). A float within 1e-12 of ``1/n`` means
            ``1/n``; a fraction means itself.

    >>> import maxatk as mk
    >>> mdp = mk.instances.figure1(gamma=0.25)
    >>> plan = mk.solve(mdp, k=2, solver=mk.Midpoint(kappa=1/50))
    >>> plan.lower <= 9/16 <= plan.upper
    True
    >>> mk.Midpoint(kappa=0.3).cells
    4
    """

    kappa: Number

    def __post_init__(self) -> None:
        if self.step < FINEST:
            raise InputError(f"kappa must be at least 2^-50, not {checks.shown(self.kappa)}")

    @property
    def step(self) -> Fraction:
        """``kappa`` as a fraction."""
        return grid_step(self.kappa)

    @property
    def cells(self) -> int:
        """How many cells of width ``kappa`` cover [0, 1]: ``ceil(1/kappa)``."""
        return math.ceil(1 / self.step)

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> "MidpointPlan":
        """Plan ``problem``; ``progress`` is as :func:`maxatk.solve` hands it."""
        began, mdp = time.perf_counter(), problem.mdp
        if problem.costly:
            raise InputError("Midpoint knows of no costs, as its theorem does not: mk.Certified() and mk.Exact() do")
        kappa, H = self.step, mdp.horizon
        if kappa * H > sys.float_info.max / 2:
            raise InputError(f"kappa = {float(kappa):g} is too large for a horizon of {H}: floats do not hold kappa H")
        rewards = mdp.exact_reward or [Fraction(r) for r in mdp.reward.tolist()]
        for r in rewards:
            if not 0 <= r <= 1:
                raise InputError(f"Midpoint needs rewards in [0, 1], as the paper does, but one is {float(r):g}")
        # In units of kappa/2 the midpoints are odd integers, which floats hold exactly, whatever kappa is.
        odd = np.array([2 * cell(r, kappa) + 1 for r in rewards], np.float64)
        best = problem.best_so_far
        scaled = replace(problem.objective, best_so_far=_in_half_steps(best, kappa))
        rounded = Certified(tol=0.0).solve(DecisionProblem(mdp.with_rewards(odd), scaled), progress)
        lower, upper = (kappa / 2 * Fraction(bound) for bound in (rounded.lower, rounded.upper))
        # Planned to the end, it is as good as was asked for: the grid is the tolerance.
        whole = rounded.status in (Status.WITHIN_TOL, Status.ROUNDING)
        return MidpointPlan(
            problem=problem,
            lower=floats_around(lower - kappa * H / 2)[0],
            upper=min(floats_around(upper + kappa * H / 2)[1], max(mdp.return_range[1], floats_around(best)[1])),
            status=Status.WITHIN_TOL if whole else rounded.status,
            stats={**rounded.stats, "lattice_step": float(kappa), "seconds": time.perf_counter() - began},
            rounded_value=float((lower + upper) / 2),
            kappa=kappa,
            cells=self.cells,
            rounded=rounded,
        )


def _in_half_steps(best: Number, kappa: Fraction) -> Number:
    """A return in hand in units of ``kappa/2``."""
    if best == -math.inf:
        return best
    scaled = 2 * Fraction(best) / kappa
    if scaled > sys.float_info.max:
        raise InputError(f"best_so_far = {float(best):g} is too large for a grid of step {float(kappa):g}")
    return scaled if scaled >= -sys.float_info.max else -math.inf  # returns are not negative: it is no use either way


@dataclass(frozen=True, eq=False, repr=False)
class MidpointPlan(Plan):
    """The plan of the rounded problem; ``rounded_value`` is its optimum, at most ``kappa H/2`` off the true one."""

    rounded_value: float  # the optimum of the rounded problem
    kappa: Fraction  # the step of the grid
    cells: int  # the number of its cells, ceil(1/kappa)
    rounded: CertifiedPlan = field(repr=False)  # the plan of the rounded problem, in units of kappa/2

    @property
    def policy(self) -> RoundingPolicy:
        """The paper's table policy: the optimal one of the rounded problem, which remembers rounded rewards."""
        return RoundingPolicy(self.rounded.policy, partial(midpoint, self.kappa), scale=2 / self.kappa)

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """``U_i(m)`` of the rounded problem, more or less ``kappa H/2``."""
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        if i == self.k or best >= self.mdp.horizon:  # no return is more
            return floats_around(best)
        bounds = self.rounded.curve(i, _in_half_steps(best, self.kappa))
        lower, upper = (self.kappa / 2 * Fraction(bound) for bound in bounds)
        off = self.kappa * self.mdp.horizon / 2
        return floats_around(lower - off)[0], floats_around(upper + off)[1]
