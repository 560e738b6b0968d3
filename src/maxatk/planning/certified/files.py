"""Plans from files. Nothing in a file is trusted: what makes no sense is refused in one line."""

import math
from collections.abc import Mapping
from typing import Any

from maxatk.base import checks
from maxatk.base.archive import Archive, OtherProblemError
from maxatk.base.errors import InputError
from maxatk.engines.engine import EngineConfig, SharedEngine
from maxatk.planning.certified.curves import Curve, Curves
from maxatk.planning.certified.off_lattice import OffLattice
from maxatk.planning.certified.on_reached import on_lattice
from maxatk.planning.certified.plan import PROBLEM, CertifiedPlan, Evidence
from maxatk.planning.certified.utility_plan import in_utilities
from maxatk.planning.plan import Status
from maxatk.problem import files
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective
from maxatk.problem.utility import Utility

CORES = EngineConfig()


def read_plan(
    file: Archive, numbers: Mapping[str, Any], given: MDP | None, config: EngineConfig = CORES
) -> CertifiedPlan:
    """A plan from the members of a file, for the problem that is given or that the file holds."""
    mdp = _held_problem(file, numbers) if given is None else given
    if numbers.get("problem") != mdp.fingerprint:
        raise OtherProblemError("it was made for another problem")
    k = checks.rollouts(numbers.get("k"))
    floor = file.array("floor", "<f8")
    if not 1 <= len(floor) <= k + 1:
        raise InputError(f"it has {len(floor)} curves, but {k} rollouts")
    kappa, lower, upper = (_number(numbers, name) for name in ("kappa", "lower", "upper"))
    widest = max(*map(abs, mdp.return_range), mdp.return_range[1] - mdp.return_range[0])
    if not widest <= 2**52 * kappa or lower > upper:
        raise InputError("its numbers make no sense")
    problem = DecisionProblem(mdp, _objective(k, numbers))
    method = (on_lattice if _bool(numbers, "exact") else OffLattice)(SharedEngine(config, problem), kappa)
    # With abandonment, a curve's lower bound may become flat slightly below the curve's own floor.
    least, most = method.lattice.floor - (problem.largest if problem.may_abandon else 0.0), mdp.return_range[1]
    start = -math.inf if numbers.get("start") is None else _number(numbers, "start")
    if not (least <= start <= most or (start == -math.inf and problem.costly)):
        raise InputError("its numbers make no sense")
    tail = tuple(
        Curve(float(floor[i]), **{name: file.array(f"{name}{i}", "<f8") for name in Curve.arrays()})
        for i in range(len(floor))
    )
    slack = 4 * k * method.rounding
    for curve in tail:
        curve.check(least - kappa, most, slack)
    _check_bounds(lower, upper, problem, Curves(k, tail)[1], slack)
    certificate, stats = numbers.get("certificate"), numbers.get("stats")
    if not checks.is_dict(certificate) or not checks.is_dict(stats):
        raise InputError("it has no certificate")
    stop_at = _number(certificate, "stop_at") if problem.costly else math.inf
    if math.isfinite(stop_at) and not abs(stop_at) <= 2 * problem.largest:
        raise InputError("it stops where no return is")
    rounding, gap = _number(certificate, "rounding"), _number(certificate, "gap_after_first")
    if rounding < 0 or gap < -slack:
        raise InputError("its certificate allows for less than no error")
    plan = CertifiedPlan(
        problem=problem,
        lower=lower,
        upper=upper,
        status=Status(numbers.get("status")),
        stats={str(name): float(value) for name, value in stats.items()},
        _evidence=Evidence(
            method=method,
            curves=Curves(k, tail),
            start=start,
            stop_at=stop_at,
            gap_after_first=gap,
            tol=_number(certificate, "tol"),
            rounding=rounding,
            repeats_mean=_bool(certificate, "repeats_mean"),
        ),
    )
    return in_utilities(plan)


def _check_bounds(lower: float, upper: float, problem: DecisionProblem, after: Curve, slack: float) -> None:
    """Refuse bounds, read from a file, that are none: beyond all that a policy can earn, or below what one is sure to.

    ``after`` is the curve after the first rollout: more rollouts never lower the value.
    """
    best, most = float(problem.best_so_far), max(problem.most, problem.best_around[1])
    sure = max(problem.mean, best, float(after.lower(best if problem.costly else problem.incumbent)))
    if upper > most + slack:
        raise InputError(f"its bounds are {lower:g} and {upper:g}, and no policy earns more than {most:g}")
    if upper < sure - slack:
        raise InputError(f"its upper bound is {upper:g}, and some policy earns at least {sure:g}")


def _objective(k: int, numbers: Mapping[str, Any]) -> Objective:
    best, cost = numbers.get("best_so_far"), numbers.get("cost")
    best_so_far = files.fractions(str(best))[0] if best else -math.inf
    if cost is None:
        return Objective(k, best_so_far, utility=_utility(numbers))
    return Objective(k, best_so_far, files.fractions(str(cost))[0], _bool(numbers, "abandon"))


def _utility(numbers: Mapping[str, Any]) -> Utility | None:
    if numbers.get("utility") is None:
        return None
    flat = files.fractions(str(numbers["utility"]))
    if len(flat) % 2:
        raise InputError("its utility has a knot without a value")
    return Utility(list(zip(flat[::2], flat[1::2], strict=True)))


def _number(numbers: Mapping[str, Any], name: str) -> float:
    return float(checks.exact_number(numbers.get(name), name))


def _bool(numbers: Mapping[str, Any], name: str) -> bool:
    value = numbers.get(name)
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, not {checks.shown(value)}")
    return value


def _held_problem(file: Archive, numbers: Mapping[str, Any]) -> MDP:
    header = numbers.get("problem_header")
    if not checks.is_dict(header):
        raise InputError("it was saved without its problem, which must be given")
    rows, arguments = files.read_problem(file, header, PROBLEM)
    return MDP(rows, **arguments)
