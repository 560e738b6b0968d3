"""The value of adapting: the best policy of each class, side by side."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, overload

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.progress import reporter
from maxatk.base.returns import floats_around
from maxatk.base.stopping import StoppedError
from maxatk.base.types import Number
from maxatk.comparison.classes import ADAPTIVE, CLASSES, COSTLY_CLASSES, NAMES, Member, PolicyClass, Workshop
from maxatk.comparison.in_rounds import round_classes
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.comparison.rows import Row
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.solver import Certified
from maxatk.planning.keeping import CachedSolver
from maxatk.planning.rivals import unevaluated_rival
from maxatk.planning.solve import solve
from maxatk.policies import Policy
from maxatk.problem.mdp import MDP
from maxatk.problem.utility import Knots

MOST_ROLLOUTS = 10_000


@overload
def compare(
    mdp: MDP,
    k: int,
    *,
    solver: Certified | CachedSolver | None = ...,
    best_so_far: Number = ...,
    cost: Number = ...,
    abandon: bool = ...,
    utility: Knots | None = ...,
    plan: CertifiedPlan | None = ...,
    time_limit: float | None = ...,
    policies: Mapping[str, Policy] | None = ...,
    widths: Sequence[int] = ...,
    progress: bool | Callable[[Row], None] = ...,
) -> Comparison: ...
@overload
def compare(
    mdp: MDP,
    k: Iterable[int],
    *,
    solver: Certified | CachedSolver | None = ...,
    best_so_far: Number = ...,
    cost: Number = ...,
    abandon: bool = ...,
    utility: Knots | None = ...,
    time_limit: float | None = ...,
    widths: Sequence[int] = ...,
    progress: bool | Callable[[Row], None] = ...,
) -> ComparisonByTries: ...
def compare(
    mdp: MDP,
    k: int | Iterable[int],
    *,
    solver: Certified | CachedSolver | None = None,
    best_so_far: Number = -math.inf,
    cost: Number = 0,
    abandon: bool = False,
    utility: Knots | None = None,
    plan: CertifiedPlan | None = None,
    time_limit: float | None = None,
    policies: Mapping[str, Policy] | None = None,
    widths: Sequence[int] = (),
    progress: bool | Callable[[Row], None] = False,
) -> Comparison | ComparisonByTries:
    """Compare the best policies of all classes in ``k`` rollouts, and so the value of adapting to M and G.

    The classes: the policy that maximises the mean of one rollout, repeated; the best single policy, sampled ``k``
    times; the best Markov policy for each rollout; the best without M; the best without G; the adaptive optimum.

    Where rollouts cost something the classes are others: the policy that maximises the mean less costs, repeated a
    number of times fixed beforehand; any one policy, repeated a fixed number of times; one policy, repeated until a
    threshold is reached; and the adaptive optimum. All but the last are the best that were found among the policies of
    the last rollout for some best returns; ``row.evaluation`` has their value, their cost, and their number of tries.

    On small problems classes are enumerated, in fractions. On larger ones the third to fifth rows are the best policies
    that coordinate ascent found, and say so; their upper bounds hold all the same, as do all lower ones.

    Args:
        mdp: the problem.
        k: the number of rollouts; or several, rising, such as ``range(1, 9)``: then a comparison for each comes back,
            as a :class:`maxatk.ComparisonByTries`, and neither ``plan`` nor ``policies`` can be given.
        solver: how the adaptive optimum is planned; ``Certified()`` by default, or what :func:`maxatk.cached` makes.
            Its tolerance counts for the second row, too; its time limit, where ``time_limit`` is not given, for the
            whole comparison.
        best_so_far: the best return before the first rollout.
        cost: what each rollout costs beside its rows.
        abandon: whether a rollout may be given up at any step.
        utility: what counts in place of the final best return, as in :func:`maxatk.solve`. All classes are searched
            then, none is enumerated.
        plan: the adaptive optimum, if it is planned already, in place of the five before.
        time_limit: seconds for the whole comparison, of which planning takes half at most; rows that are not searched
            by then say so.
        policies: policies of your own by name, such as a network's: each has a row, before the last.
        widths: numbers of rollouts that are made at a time: each has two rows, of rounds whose rollouts draw from one
            mixture and of rounds whose rollouts may differ. Rollouts of a round see the best return at its start.
        progress: a function that is given each row as it comes, or True for lines on standard error.

    >>> import maxatk as mk
    >>> table = mk.compare(mk.instances.proposition3(), k=2)
    >>> for row in table.rows:
    ...     print(f"{row.name}: {row.exact or round(row.lower, 4)}")
    mean-optimal, repeated: 5/4
    one policy, sampled k times: 1.2625
    Markov, per try: 5/4
    without M: 41/32
    without G: 41/32
    adaptive: 1.3125
    >>> table = mk.compare(mk.instances.figure1(gamma=0), k=2, widths=[2])
    >>> [round(table[name].lower, 4) for name in ("2 at a time, alike", "2 at a time", "adaptive")]
    [0.55, 0.625, 0.625]
    >>> [f"{each['adaptive'].lower:.3f}" for each in mk.compare(mk.instances.figure1(gamma=0), k=range(1, 4))]
    ['0.500', '0.625', '0.719']
    """
    if solver is not None and not isinstance(solver, Certified | CachedSolver):
        raise InputError(f"solver must be mk.Certified(...) or mk.cached(...), not {shown(solver)}")
    limit = _limit(solver.solver if isinstance(solver, CachedSolver) else solver, time_limit)
    if isinstance(k, Iterable):
        if plan is not None or policies is not None:
            raise InputError("compare: a plan and policies are for one number of tries, not for several")
        same: dict[str, Any] = {"solver": solver, "best_so_far": best_so_far, "cost": cost, "abandon": abandon}
        same |= {"utility": utility, "widths": widths, "progress": progress}
        return _by_tries(mdp, checks.rising(k, "k"), limit, same)
    if plan is not None:
        if not isinstance(plan, CertifiedPlan):
            raise InputError(f"plan must be a plan of mk.Certified, not {shown(plan)}")
        if solver is not None or best_so_far != -math.inf or cost != 0 or abandon or utility is not None:
            raise InputError("compare: a plan has its own solver, best_so_far and costs, so none can be given with it")
        if plan.mdp != mdp or plan.k != checks.integer(k, "k", least=1):
            raise InputError(f"compare: the plan is for another problem or another k, {plan.k}")
    if checks.rollouts(k) > MOST_ROLLOUTS:
        raise TooLargeError(f"compare takes at most {MOST_ROLLOUTS} rollouts: policies of their own for {k} do not fit")
    rows: list[Row] = []
    with (
        stopping.scope(limit) as scope,
        reporter(progress, "planning", lambda row: f"{row.name}: {row.lower:.6g}") as report,
    ):
        if plan is None:
            with stopping.half():
                solver = solver or Certified()
                plan = solve(
                    mdp, k, solver=solver, best_so_far=best_so_far, cost=cost, abandon=abandon, utility=utility
                )
        in_rounds = round_classes(plan.k, widths, costly=plan.costly)
        own = _own_rows(plan, policies or {}, NAMES | {each.name for each in in_rounds})
        for row in itertools.chain(_class_rows(plan, in_rounds), own):
            rows.append(row)
            if report:
                report(row)
        rows.append(_adaptive(plan, rows))
        if report:
            report(rows[-1])
        return Comparison(mdp, plan, tuple(_with_nested_bounds(rows)), scope.reason)


def _limit(solver: Certified | None, time_limit: float | None) -> float | None:
    """Seconds for all of it."""
    limit = solver.time_limit if time_limit is None and solver is not None else time_limit
    if limit is not None and checks.exact_number(limit, "time_limit") < 0:
        raise InputError(f"time_limit must not be negative, but is {shown(limit)}")
    return limit


def _by_tries(mdp: MDP, numbers: Sequence[int], limit: float | None, options: dict[str, Any]) -> ComparisonByTries:
    if not numbers:
        raise InputError("compare: k has no number of tries")
    with stopping.scope(limit):
        return ComparisonByTries(tuple(compare(mdp, n, **options) for n in numbers))


def _class_rows(plan: CertifiedPlan, in_rounds: Sequence[PolicyClass]) -> Iterator[Row]:
    """A row for each class, from the smallest to the largest; a class that is not searched has what others prove."""
    shop, rows = Workshop(plan), dict[str, Row]()
    for each in (*(COSTLY_CLASSES if plan.costly else CLASSES), *in_rounds):
        smaller = [rows[name] for name in each.inside]
        try:
            row = _row(each.name, each.find(shop), smaller, plan)
        except (StoppedError, TooLargeError) as stop:
            reason = stop.reason if isinstance(stop, StoppedError) else stop
            row = _unsearched(each.name, f"not searched: {reason}", smaller, plan)
        rows[each.name] = replace(row, inside=each.inside, in_rounds=each.in_rounds)
        yield rows[each.name]


def _row(name: str, member: Member, smaller: Sequence[Row], plan: CertifiedPlan) -> Row:
    """The row of a class: of the policy that was found, or of a smaller class's if that is surer to earn more."""
    earned = member.evaluation
    if earned is None and member.lower is None:
        earned = _evaluation(plan, member.policy)
    known = -math.inf if earned is None else earned.ends[0]
    if member.exact is not None:
        lower, upper = floats_around(member.exact)
    else:
        lower, upper = known if member.lower is None else member.lower, min(member.upper, plan.upper)
    row = Row(name, lower, upper, member.exact, member.method, member.policy, earned, member.tries)
    best = max(smaller, key=lambda other: other.lower, default=row)
    if best.lower <= row.lower or member.exact is not None:
        return row
    method = best.method if plan.costly else row.method  # with costs it says what the policy does
    return replace(
        row, lower=best.lower, method=method, policy=best.policy, evaluation=best.evaluation, tries=best.tries
    )


def _unsearched(name: str, method: str, smaller: Sequence[Row], plan: CertifiedPlan) -> Row:
    """A row without a search: the best of the smaller classes; no class beats the adaptive one."""
    if smaller:
        best = max(smaller, key=lambda row: row.lower)
        return replace(best, name=name, upper=plan.upper, exact=None, method=method, tries=None, searched=False)
    rival = unevaluated_rival(plan.problem, plan.upper)
    return Row(name, float(rival.lower), plan.upper, None, method, rival.policy, None, searched=False)


def _evaluation(plan: CertifiedPlan, policy: Policy) -> Evaluation | None:
    """What a policy earns; None where that cannot be said."""
    try:
        return evaluate(plan.mdp, policy, cost=plan.objective.cost, utility=plan.objective.utility)
    except TooLargeError:
        return None


def _with_nested_bounds(rows: Sequence[Row]) -> list[Row]:
    """The rows with upper bounds that fit: no class can do more than a class that contains it.

    Rows that are not of a class lie in the last one.
    """
    by_name = {row.name: row for row in rows}
    for outer in reversed(rows):
        for name in [row.name for row in rows] if outer is rows[-1] else outer.inside:
            row = by_name[name]
            if row.exact is None and row.upper > by_name[outer.name].upper:
                by_name[name] = replace(row, upper=by_name[outer.name].upper)
    return list(by_name.values())


def _adaptive(plan: CertifiedPlan, others: Sequence[Row]) -> Row:
    """The row of all policies: the plan's, or the best of the others if that is surer to earn more."""
    try:
        earned = _evaluation(plan, plan.policy)
    except StoppedError:
        earned = None
    lower = plan.lower if earned is None else max(earned.ends[0], plan.lower)
    best = max(others, key=lambda row: row.lower)
    if best.lower > lower:
        method = f"certified planner; {best.name}"
        return replace(best, name=ADAPTIVE, upper=plan.upper, exact=None, method=method, inside=(), in_rounds=None)
    return Row(ADAPTIVE, lower, plan.upper, None, "certified planner", plan.policy, earned)


def _own_rows(plan: CertifiedPlan, policies: Mapping[str, Policy], taken: Set[str]) -> Iterator[Row]:
    """Rows of a caller's policies: what each earns, and nothing about a class."""
    for name, policy in policies.items():
        if name in taken:
            raise InputError(f"policies: the name {name} is that of a class")
        earned = evaluate(plan.mdp, policy, cost=plan.objective.cost, utility=plan.objective.utility)
        if policy.k != plan.k:
            raise InputError(f"policies: {name} is for {policy.k} rollouts, not {plan.k}")
        if policy.best_so_far != plan.best_so_far:
            raise InputError(f"policies: {name} starts from another best_so_far than the plan")
        yield Row(name, *earned.ends, earned.exact, "your own", policy, earned)
