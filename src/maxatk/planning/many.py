"""Many problems, one plan each."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, MaxAtKError
from maxatk.engines.engine import EngineConfig
from maxatk.engines.remote import submitted, versions
from maxatk.planning.certified.solver import Certified
from maxatk.planning.plan import Plan, Solver
from maxatk.planning.solve import solve
from maxatk.problem.mdp import MDP

AHEAD = 64  # problems that are under way at a time


def solve_many(
    problems: Iterable[tuple[MDP, int | Iterable[int]]],
    *,
    solver: Solver[Any] | None = None,
    executor: Executor | None = None,
) -> Iterator[Plan]:
    """Plans for many problems, in their order, each as soon as it and those before it are there.

    Args:
        problems: pairs of a problem and a number of rollouts, or several that rise, such as ``range(1, 9)``: then there
            is a plan for each of them. Pairs may be made on the way: some are read ahead.
        solver: how to plan; :class:`maxatk.Certified` by default.
        executor: any ``concurrent.futures.Executor``, such as :class:`maxatk.engines.Ray`: a problem for each of
            its workers at a time. What workers lose is planned here; without one, all is, each on all cores.

    Raises:
        MaxAtKError: where a problem cannot be planned; earlier plans have come out by then.

    >>> import maxatk as mk
    >>> problems = [(mk.instances.figure1(gamma=g), 2) for g in (0.25, 0.5)]
    >>> [f"{plan.lower:.4f}" for plan in mk.solve_many(problems, solver=mk.Certified(tol=1e-9))]
    ['0.5625', '0.4375']
    >>> [plan.k for plan in mk.solve_many([(mk.instances.figure1(), range(1, 4))])]
    [1, 2, 3]
    """
    if not isinstance(problems, Iterable):
        raise InputError(f"problems must be pairs of a problem and a number of rollouts, not {shown(problems)}")
    return _plans(_pairs(problems), Certified() if solver is None else solver, EngineConfig(executor=executor))


def _pairs(problems: Iterable[tuple[MDP, int | Iterable[int]]]) -> Iterator[tuple[MDP, int]]:
    """A pair for each number of rollouts."""
    for n, pair in enumerate(problems):
        if not checks.is_list(pair) or len(pair) != 2:
            raise InputError(f"problems[{n}] must be a pair of a problem and a number of rollouts, not {shown(pair)}")
        mdp, k = pair
        several = checks.rising(k, "k") if isinstance(k, Iterable) else (k,)
        if not several:
            raise InputError(f"problems[{n}]: k has no number of tries")
        for tries in several:
            yield mdp, tries


def _plans(problems: Iterator[tuple[MDP, int]], solver: Solver[Any], config: EngineConfig) -> Iterator[Plan]:
    if config.executor is None:
        for mdp, k in problems:
            yield solve(mdp, k, solver=solver)
        return
    alone = replace(solver, executor=None, threads=1) if isinstance(solver, Certified) else solver
    under_way: deque[tuple[MDP, int, Future[Any] | None]] = deque()
    try:
        for mdp, k in problems:
            under_way.append((mdp, k, submitted(config.executor.submit, _solved, versions(), mdp, k, alone)))
            if len(under_way) >= AHEAD:
                yield _plan(*under_way.popleft(), solver)
        while under_way:
            yield _plan(*under_way.popleft(), solver)
    finally:
        for _, _, future in under_way:
            if future is not None:
                future.cancel()


def _solved(caller: str, mdp: MDP, k: int, solver: Solver[Any]) -> Plan:
    """On a worker."""
    if versions() != caller:
        raise InputError(f"a worker has {versions()}, but the caller has {caller}: results might differ")
    return solve(mdp, k, solver=solver)


def _plan(mdp: MDP, k: int, future: Future[Any] | None, solver: Solver[Any]) -> Plan:
    if future is not None:
        try:
            plan = future.result()
        except MaxAtKError:
            raise
        except (Exception, SystemExit):  # a lost worker has as many names as there are engines
            plan = None
        if isinstance(plan, Plan):  # or else no worker has planned anything
            return plan
    return solve(mdp, k, solver=solver)
