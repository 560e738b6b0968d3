"""The one entry to planning: problem + solver -> plan."""

import math
from typing import Any, TypeVar, overload

from maxatk import checks
from maxatk.checks import Number, shown
from maxatk.errors import InputError
from maxatk.mdp import MDP
from maxatk.planning.exact import Exact, ExactPlan
from maxatk.planning.plan import Plan, Solver

P = TypeVar("P", bound=Plan)


@overload
def solve(mdp: MDP, k: int, *, best_so_far: Number = ...) -> ExactPlan: ...
@overload
def solve(mdp: MDP, k: int, *, solver: Solver[P], best_so_far: Number = ...) -> P: ...
def solve(mdp: MDP, k: int, *, solver: Solver[Any] | None = None, best_so_far: Number = -math.inf) -> Plan:
    """Plan ``k`` rollouts of ``mdp`` for the best return of them all.

    Args:
        mdp: the problem.
        k: the number of rollouts, at least 1.
        solver: how to plan; :class:`maxatk.Exact` by default.
        best_so_far: a return that is already in hand, which the rollouts may only improve on.

    >>> import maxatk as mk
    >>> mdp = mk.instances.proposition3()
    >>> [str(mk.solve(mdp, k).exact) for k in (1, 2, 3)]
    ['1', '21/16', '189/128']
    >>> mk.solve(mdp, k=1, best_so_far=2).exact  # nothing better than 2 can happen here
    Fraction(2, 1)
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
    k = checks.integer(k, "k", least=1)
    best_so_far = checks.incumbent(best_so_far)
    if solver is None:
        solver = Exact()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(f"solver must be a solver such as mk.Exact(), not {shown(solver)}")
    return solver.solve(mdp, k, best_so_far)
