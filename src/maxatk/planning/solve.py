"""The one entry to planning: problem + solver -> plan."""

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeVar, overload

from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.progress import reporter
from maxatk.base.text import at_least, at_most, decimals_of
from maxatk.base.types import Number
from maxatk.kernels.compiled import at_work
from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.solver import Certified
from maxatk.planning.exact import Exact
from maxatk.planning.keeping import CachedSolver
from maxatk.planning.plan import Plan, Progress, Reporter, Solver
from maxatk.planning.rounds.exact import solve_rounds_exactly
from maxatk.planning.rounds.plan import solve_in_rounds
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.find import find_problem
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective, rounds_of, try_cost
from maxatk.problem.utility import Knots, utility_of

P = TypeVar("P", bound=Plan)


@overload
def solve(
    mdp: MDP | str | PathLike[str],
    k: int,
    *,
    best_so_far: Number = ...,
    cost: Number = ...,
    abandon: bool = ...,
    utility: Knots | None = ...,
    progress: bool | Reporter = ...,
) -> CertifiedPlan: ...
@overload
def solve(
    mdp: MDP | str | PathLike[str],
    k: int,
    *,
    solver: Solver[P],
    best_so_far: Number = ...,
    cost: Number = ...,
    abandon: bool = ...,
    utility: Knots | None = ...,
    progress: bool | Reporter = ...,
) -> P: ...
@overload
def solve(
    mdp: MDP | str | PathLike[str],
    k: int,
    *,
    width: int | None = ...,
    rounds: Sequence[int] | None = ...,
    solver: Solver[Any] | None = ...,
    best_so_far: Number = ...,
    cost: Number = ...,
    abandon: bool = ...,
    utility: Knots | None = ...,
    progress: bool | Reporter = ...,
) -> Plan: ...
def solve(
    mdp: MDP | str | PathLike[str],
    k: int,
    *,
    solver: Solver[Any] | None = None,
    best_so_far: Number = -math.inf,
    cost: Number = 0,
    abandon: bool = False,
    utility: Knots | None = None,
    width: int | None = None,
    rounds: Sequence[int] | None = None,
    progress: bool | Reporter = False,
) -> Plan:
    """Plan ``k`` rollouts of ``mdp`` for the best return of them all, less what they cost.

    Where anything costs anything, ``k`` is the most that may be made: the plan says when to stop
    (:attr:`maxatk.Plan.stop_at`).

    What comes back is the solver's own kind of plan: by default a :class:`maxatk.planning.CertifiedPlan`.

    Args:
        mdp: the problem, or what :func:`maxatk.find_problem` takes: an instance's name, a file, a Gymnasium id.
        k: the number of rollouts, at least 1.
        solver: how to plan; :class:`maxatk.Certified` by default.
        best_so_far: the best return before the first rollout, which the rollouts may only improve on.
        cost: what each rollout costs, beside what its rows do (``MDP.action_cost``), in units of the return.
        abandon: whether a rollout may be given up at any step: its return does not count, and no further step costs.
        utility: what counts in place of the final best return: knots ``(best return, utility)`` of a convex
            nondecreasing function, its end slopes continued. Bounds and curves are in its units then.
        width: how many rollouts are run side by side: they see the best return at the start of their round, and not
            each other. The last round is shorter where ``width`` does not divide ``k``. What comes back is a
            :class:`maxatk.planning.RoundsPlan`; rounds of one rollout are the plan without rounds.
        rounds: the widths of all rounds in place of ``width``; they add up to ``k``.
        progress: a function that is told where the search stands, or True for lines on standard error.

    >>> import maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=5, solver=mk.Certified(tol=1e-3))
    >>> print(f"{plan.lower:.2f} {plan.upper:.2f} {plan.status}")
    -15.96 -15.96 within tol
    >>> str(mk.solve(mk.instances.proposition3(), k=2, solver=mk.Exact()).exact)
    '21/16'
    >>> mk.solve("figure1", k=2, solver=mk.Exact()).exact
    Fraction(9, 16)
    >>> mk.solve(mdp, k=5, cost=0.5).stop_at
    -17.11...
    >>> beyond = mk.solve(mdp, k=5, utility=[(-20, 0), (-14, 0), (-13, 1)])  # 1 for each point above -14
    >>> print(f"{beyond.lower:.3f}")
    0.246
    >>> mk.solve("figure1", k=4, width=2, solver=mk.Exact()).exact
    Fraction(193, 256)
    """
    if isinstance(mdp, str | PathLike):
        mdp = find_problem(mdp)
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
    objective = Objective(k, best_so_far, try_cost(cost), abandon, utility_of(utility))
    widths = rounds_of(objective.k, width, rounds)
    problem = DecisionProblem(mdp, replace(objective, rounds=widths))
    if solver is None:
        solver = Certified()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(f"solver must be a solver such as mk.Exact(), not {shown(solver)}")
    for name in sorted(problem.objective.extras - getattr(solver, "honours", frozenset[str]())):
        raise InputError(f"{name}: {type(solver).__name__} plans without it; mk.Certified() and mk.Exact() know it")
    with reporter(progress, at_work("planning"), _line) as report:
        if widths and isinstance(solver, Certified):
            return solve_in_rounds(problem, solver, report)
        if widths and isinstance(solver, CachedSolver):
            return solver.solve_in_rounds(problem, report)
        if widths and isinstance(solver, Exact):
            return solve_rounds_exactly(problem, solver.max_histories)
        return solver.solve(problem, report)


def _line(at: Progress) -> str:
    decimals = decimals_of(at.upper - at.lower, digits=3) if at.upper > at.lower else decimals_of(at.upper)
    lower, upper = at_least(at.lower, decimals), at_most(at.upper, decimals)
    return (
        f"between {lower} and {upper} (width {at.upper - at.lower:.2g}, asked for {at.tol:.2g}), {at.slices} slices, "
        f"{at.seconds:.0f} s; Ctrl-C keeps the best"
    )
