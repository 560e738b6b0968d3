"""Plans kept in a folder, so that what was planned once is read and not planned again."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import ClassVar, TypeVar

from maxatk.base import archive
from maxatk.base.archive import Archive
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.engines.engine import EngineConfig
from maxatk.engines.remote import versions
from maxatk.planning.certified.files import read_plan
from maxatk.planning.certified.plan import VERSIONS, CertifiedPlan
from maxatk.planning.certified.solver import Certified
from maxatk.planning.plan import Reporter, Status
from maxatk.planning.rounds import plan as rounds_plan
from maxatk.planning.rounds.files import read_rounds
from maxatk.planning.rounds.plan import RoundsPlan, solve_in_rounds
from maxatk.problem.decision import DecisionProblem

P = TypeVar("P", CertifiedPlan, RoundsPlan)
KEPT = (
    Status.WITHIN_TOL,
    Status.ROUNDING,
    Status.WORK_LIMIT,
    Status.IN_ROUNDS,
)  # that depend on nothing but problem and solver


def cached(folder: str | PathLike[str], solver: Certified | None = None) -> "CachedSolver":
    """A solver that keeps its plans in a folder, and reads them from there.

    A plan is read if it was made for the same problem, objective and tolerance by the same versions of maxatk, NumPy
    and Numba; all others are made anew, and nothing is deleted. Plans that time, memory or Ctrl-C ended are not kept.

    Args:
        folder: where plans are kept; it is made if it is not there.
        solver: how to plan; :class:`maxatk.Certified` by default.

    >>> import tempfile, maxatk as mk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, again = (mk.solve("windy_cliff", k=3, solver=mk.cached(folder)) for _ in range(2))
    >>> (first.lower, first.upper) == (again.lower, again.upper)
    True
    """
    if solver is not None and not isinstance(solver, Certified):
        raise InputError(f"solver must be mk.Certified(...), not {shown(solver)}")
    try:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    except TypeError:
        raise InputError(f"folder must be a path, not {shown(folder)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shown(folder)}: cannot be a folder of plans: {reason}") from None
    return CachedSolver(path, solver or Certified())


@dataclass(frozen=True)
class CachedSolver:
    """What :func:`maxatk.cached` makes: a solver with a folder of plans.

    Args:
        folder: where plans are kept.
        solver: how to plan.
    """

    honours: ClassVar[frozenset[str]] = Certified.honours  # of what an objective may ask beside costs

    folder: Path
    solver: Certified

    def path_of(self, problem: DecisionProblem) -> Path:
        """The file of a problem's plan, whether it is there or not."""
        objective = problem.objective
        best = "none" if objective.best_so_far == float("-inf") else str(Fraction(objective.best_so_far))
        parts = (
            *(versions(), problem.mdp.fingerprint, str(objective.k), best, str(objective.cost)),
            *(str(objective.abandon), repr(self.solver.tol), str(objective.rounds)),
            str(None if objective.utility is None else [(str(x), str(u)) for x, u in objective.utility.knots]),
        )
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.folder / f"{digest[:40]}.plan"

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> CertifiedPlan:
        """The plan that is kept, or a new one; ``progress`` is as :func:`maxatk.solve` hands it to ``problem``."""
        return self._kept(problem, lambda: self.solver.solve(problem, progress), lambda file, plan: plan)

    def solve_in_rounds(self, problem: DecisionProblem, progress: Reporter | None = None) -> RoundsPlan:
        """The same for the rounds that the objective of ``problem`` asks for; ``progress`` is handed on likewise."""

        def read(file: Archive, sequential: CertifiedPlan) -> RoundsPlan:
            return read_rounds(file, file.header.get("rounds", {}), sequential)

        return self._kept(problem, lambda: solve_in_rounds(problem, self.solver, progress), read)

    def _kept(
        self, problem: DecisionProblem, make: Callable[[], P], read: Callable[[Archive, CertifiedPlan], P]
    ) -> P:  # fmt: skip
        """The plan that is kept, or a new one."""
        path, config = self.path_of(problem), EngineConfig(self.solver.device)
        if path.exists():
            plan = archive.read(
                path,
                {"plan": (*VERSIONS, rounds_plan.VERSION)},
                lambda file: read(file, read_plan(file, file.header, problem.mdp, config)),
            )
            if plan.objective != problem.objective:
                raise InputError(f"{path}: it is not the plan that belongs there: delete it")
            return plan
        plan = make()
        if plan.status in KEPT:
            plan.save(path)
        return plan
