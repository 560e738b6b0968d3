"""What planning in rounds returns: what its policy earns, below the optimum of one rollout at a time."""

import math
import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from maxatk.base import archive, checks, stopping
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Finding, Kept, Stop
from maxatk.base.returns import floats_around
from maxatk.base.stopping import StoppedError
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified.payoffs import CurveUnits
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of, plan_members
from maxatk.planning.certified.solver import Certified
from maxatk.planning.plan import Plan, Reporter, Status
from maxatk.planning.rounds.different import DifferentTries
from maxatk.planning.rounds.search import RoundTable
from maxatk.planning.rounds.tries import Candidate
from maxatk.policies import KnownValue, Policy, Round, RoundsPolicy
from maxatk.problem.decision import DecisionProblem

DEPTH = 10.0  # times the distance from the best mean to the greatest return: no lower returns are told apart
VERSION = 8
LIMITS = (Status.TIME_LIMIT, Status.WORK_LIMIT, Status.MEMORY_LIMIT, Status.INTERRUPTED)  # that end a search early


class PlanInRounds(Plan):
    """What plans in rounds have in common: how wide their rounds are, and before which of them they stop."""

    @property
    def rounds(self) -> tuple[int, ...]:
        """How many rollouts each round has."""
        return self.objective.rounds

    @property
    @abstractmethod
    def policy(self) -> RoundsPolicy:
        """The policy that earns at least ``lower``: see :meth:`maxatk.policies.RoundsPolicy.begin_round`."""

    @property
    def stops_at(self) -> tuple[Number, ...]:
        """Before each round, the best return from which on the trial stops there; infinite where it never does."""
        return self.policy.stops_at

    @property
    def stop_at(self) -> Number:
        """From this best return on the trial stops after every round: see :attr:`stops_at`."""
        return max(self.stops_at[1:], default=self.stops_at[0])

    @cached_property
    def stop(self) -> Stop | None:
        """None: where it is best to stop between rounds is not known, only where this plan does, :attr:`stops_at`."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class RoundsPlan(PlanInRounds):
    """A plan in rounds: its policy earns at least ``lower``, and no policy that sees more earns more than ``upper``.

    ``upper`` is that of one rollout at a time: splitting a round never hurts (docs/theory/rounds.md, 3).
    """

    sequential: CertifiedPlan = field(repr=False)  # the plan of one rollout at a time
    tables: tuple[RoundTable[Candidate], ...] = field(repr=False)  # what the rollouts of each round do
    floor: float = field(repr=False)  # nothing below it is told apart

    @property
    def policy(self) -> RoundsPolicy:
        """The policy that earns at least ``lower``: see :meth:`maxatk.policies.RoundsPolicy.begin_round`."""
        return self._policy

    @cached_property
    def _policy(self) -> RoundsPolicy:
        policy = acting([table.acting() for table in self.tables], self.problem)
        return policy.certified(KnownValue(self.mdp, self.lower, self.upper))

    @property
    def kept(self) -> Kept | None:
        """How much the rounds keep of what one rollout at a time adds to a single one; None where it adds nothing."""
        first = self.sequential.value_of_tries(1)[1]
        added = self.sequential.lower - first
        if not added > 0:
            return None
        share = (Fraction(self.lower) - Fraction(first)) / (Fraction(self.upper) - Fraction(first))
        return Kept(
            lower=max(floats_around(share)[0], 0.0), upper=1.0, k=self.k, rounds=self.rounds, costly=self.costly
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is proved: the value, the gain, and what rounds keep of it."""
        kept = self.kept
        return super().findings if kept is None else (*super().findings, kept)

    @property
    def guarantee(self) -> float:
        """The share of what one rollout at a time adds to the best so far that rounds of these widths can always keep.

        That is so without costs; with costs it is refused.

        ``1 - (1 - 1/w)^w`` for the widest round: the correlation gap of the maximum (docs/theory/rounds.md, 2).
        """
        if self.costly:
            raise InputError("guarantee: with costs no share is always kept")
        return correlation_gap(max(self.rounds))

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on the value of a best so far of ``m`` before rollouts ``i`` to ``k - 1``: what the plan earns then.

        If ``i`` is in the midst of a round, the rest of the round is one.
        """
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        upper = self.sequential.curve(i, best)[1]
        if i == self.k:
            return self.sequential.curve(i, best)
        if i == 0 and best == self.best_so_far:
            return self.lower, self.upper
        rest, left = list[Round](), i
        for table in self.tables:
            one, width = table.acting(), len(table.tuples[0])
            if left < width:
                ahead = tuple(members[left:] for members in one.tuples)
                rest.append(replace(one, tuples=ahead, stop_at=math.inf if left else one.stop_at))
            left = max(left - width, 0)
        earned = evaluate(self.mdp, acting(rest, self.problem.changed(k=self.k - i, rounds=(), best_so_far=best)))
        return min(earned.ends[0], upper), upper

    def save(self, path: str | PathLike[str], *, with_problem: bool = False) -> None:
        """Write the plan to ``path``, for :func:`maxatk.load_plan` to read.

        Args:
            path: the file, which is whole or not there: it is written beside ``path`` and then moved.
            with_problem: whether the file holds the problem, too, so that it can be read without it.
        """
        checks.boolean(with_problem, "with_problem")
        header, arrays = plan_members(self.sequential, with_problem)
        known: dict[int, int] = {}
        payoffs: list[Any] = []
        for b, table in enumerate(self.tables):
            for one in (one for members in table.tuples for one in members):
                if id(one) not in known:
                    known[id(one)] = len(payoffs)
                    payoffs.append(one.payoff)
            arrays[f"round_ends{b}"] = np.array([*table.ends, table.stop_at], np.float64)
            arrays[f"round_tuples{b}"] = np.array([known[id(one)] for members in table.tuples for one in members])
        arrays["round_payoffs"] = np.concatenate(payoffs)
        header["rounds"] = {
            "widths": list(self.rounds), "lower": self.lower, "upper": self.upper, "status": str(self.status),
            "floor": self.floor, "stats": dict(self.stats),
        }  # fmt: skip
        archive.write(path, "plan", VERSION, header, arrays)


def acting(rounds: list[Round], problem: DecisionProblem) -> RoundsPolicy:
    """Rounds as the policy of a problem."""
    policy = RoundsPolicy(rounds, problem.best_so_far)
    policy.cost, policy.utility = problem.objective.cost, problem.objective.utility
    return policy


def refuse_abandoning(problem: DecisionProblem) -> None:
    """Refuse that rollouts of a round may be given up."""
    if problem.may_abandon:
        raise InputError("abandon: in rounds rollouts cannot be given up, a trial only stops between rounds")


def correlation_gap(w: int) -> float:
    """``1 - (1 - 1/w)^w``: the share of the adaptive gain that ``w`` equal independent tries keep in every problem."""
    return 1.0 - (1.0 - 1.0 / w) ** w


def in_units(problem: DecisionProblem, lower: float, upper: float) -> tuple[float, float]:
    """Bounds as curves count them, in units of what the problem counts."""
    utility = problem.objective.utility
    if utility is None:
        return lower, upper
    units = CurveUnits.of(problem, utility)
    return (
        lower if math.isinf(lower) else units.utilities(lower, lower)[0],
        upper if math.isinf(upper) else units.utilities(upper, upper)[1],
    )


def search_floor(problem: DecisionProblem) -> float:
    """A return below which searches tell nothing apart: good policies almost surely beat it."""
    if problem.best_so_far >= problem.most or problem.least >= problem.most:
        return problem.least
    return max(problem.least, problem.mean - DEPTH * (problem.most - problem.mean))


def solve_in_rounds(problem: DecisionProblem, solver: Certified, progress: Reporter | None) -> RoundsPlan:
    """Plan ``problem`` in the rounds that its objective asks for.

    Half of the time that there is goes to the plan of one rollout at a time, whose curves the rounds need.
    """
    refuse_abandoning(problem)
    with stopping.scope(solver.time_limit):
        with stopping.half():
            sequential = replace(solver, time_limit=None).solve(problem.changed(rounds=()), progress)
        return plan_in_rounds(sequential, problem.objective.rounds)


def _status(sequential: CertifiedPlan, stopped: StoppedError | None, within_tol: bool) -> Status:
    """How planning in rounds ended: a limit of either search is told, unless the interval is narrow nevertheless."""
    if within_tol:
        return Status.WITHIN_TOL
    if stopped is not None:
        return Status(stopped.reason)
    return sequential.status if sequential.status in LIMITS else Status.IN_ROUNDS


def surely_earned(problem: DecisionProblem) -> float:
    """What every policy earns at least: the utility of the least return, or of the best so far if that is better.

    Where anything costs anything, all rollouts may be made as dearly as can be, or none beside the best so far.
    """
    if problem.costly:
        row = math.nextafter(float(problem.mdp.action_cost.max()), math.inf) if problem.mdp.has_costs else 0.0
        dearest = problem.k * (problem.objective.cost + problem.mdp.horizon * Fraction(row))
        ends = [Fraction(max(problem.best_so_far, problem.least)) - dearest]
        ends += [] if problem.best_so_far == -math.inf else [Fraction(problem.best_so_far)]
        return floats_around(min(ends))[0]
    best, utility = max(problem.best_so_far, problem.least), problem.objective.utility
    return floats_around(best)[0] if utility is None else utility.around(best)[0]


def evaluated(problem: DecisionProblem, policy: Policy, tol: float) -> float:
    """What a policy earns at least, by evaluation; ``-inf`` where that takes too long."""
    try:
        return floats_around(evaluate(problem.mdp, policy, tol=tol).ends[0])[0]
    except TooLargeError:
        return -math.inf


def plan_in_rounds(sequential: CertifiedPlan, widths: tuple[int, ...]) -> RoundsPlan:
    """A plan in rounds of these widths, beside the plan of one rollout at a time."""
    began = time.perf_counter()
    problem = sequential.problem.changed(rounds=widths)
    evidence, floor = evidence_of(sequential), search_floor(problem)
    with stopping.scope(patient=True):
        search = DifferentTries(evidence.method, floor, evidence.tol / len(widths))
        alone = search.best_seeing_return(search.final)[0]  # for rounds that there is no time to plan
    stopped: StoppedError | None = None
    with stopping.scope():
        try:
            # On a thread, while this one hears Ctrl-C: kernels then need none of their own.
            (tables,) = Workers(1).map(search.plan, [widths], [evidence.curves])
        except StoppedError as stop:
            repeated = [RoundTable((), ((alone,) * w,)) for w in widths[: len(widths) - len(search.planned)]]
            tables, stopped = [*repeated, *search.planned], stop
        lower = -math.inf if problem.costly else in_units(problem, search.earned(tables), math.inf)[0]
        if stopped is None and (problem.costly or not search.is_tight(tables, evidence.tol)):
            policy = acting([table.acting() for table in tables], problem)
            try:
                lower = max(lower, evaluated(problem, policy, evidence.tol / 1000))
            except StoppedError as stop:
                stopped = stop
    lower = min(max(lower, surely_earned(problem)), sequential.upper)
    status = _status(sequential, stopped, sequential.upper - lower <= evidence.tol)
    stats = {
        **{name: sequential.stats[name] for name in ("lattice_step", "exact_lattice", "tol", "rounding")},
        "slices": sequential.stats["slices"] + search.slices,
        "slices_of_rounds": float(search.slices),
        "tuples": float(sum(len(table.tuples) for table in tables)),
        "seconds": sequential.stats["seconds"] + time.perf_counter() - began,
    }
    return RoundsPlan(
        problem=problem,
        lower=lower,
        upper=sequential.upper,
        status=status,
        stats=stats,
        sequential=sequential,
        tables=tuple(tables),
        floor=floor,
    )
