"""The solver: :class:`maxatk.Certified`, which is configuration."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ClassVar

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.engines.engine import EngineConfig, SharedEngine
from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.search import Search
from maxatk.planning.certified.utility_plan import in_utilities
from maxatk.planning.plan import Reporter
from maxatk.problem.decision import DecisionProblem


@dataclass(frozen=True)
class Certified:
    """Plan to a certified interval.

    Args:
        tol: the gap to reach, in units of the return. By default a thousandth of what the rollouts after the first
            add to the value, but no less than a millionth of the value or of the range of returns, whichever is less;
            and the search ends after 3 * 10**11 multiply-adds, a few minutes on two cores, with the status "work
            limit". That count does not depend on the machine, so results do not either.
        time_limit: seconds after which the best interval so far is returned.
        max_memory: bytes that the tables of slices may take together; by default half of the memory that there is.
        threads: how many threads sweep; by default one per core. Results do not depend on it.
        device: ``"cpu"``, ``"gpu"`` for the first CUDA device (extra ``gpu``), or ``"auto"`` for a GPU if there is one.
            On a GPU ``max_memory`` is that of the device, by default nine tenths of what is free.
        executor: any ``concurrent.futures.Executor``, such as :class:`maxatk.engines.Ray`: slices are swept by its
            workers, each on the device. What workers lose is swept here. Results do not depend on it.
    """

    tol: float | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int | None = None
    device: str = "cpu"
    executor: Executor | None = None

    honours: ClassVar[frozenset[str]] = frozenset({"utility"})  # of what an objective may ask beside costs

    def __post_init__(self) -> None:
        for name in ("tol", "time_limit"):
            value = getattr(self, name)
            if value is not None and checks.exact_number(value, name) < 0:
                raise InputError(f"{name} must not be negative, but is {value}")
        self._engine()  # which checks the rest

    def _engine(self) -> EngineConfig:
        return EngineConfig(self.device, self.max_memory, self.threads, self.executor)

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> CertifiedPlan:
        """Plan ``problem``; ``progress`` is as :func:`maxatk.solve` hands it."""
        with stopping.scope(patient=True):
            search = Search(SharedEngine(self._engine(), problem), self.tol, progress)
        with stopping.scope(None if self.time_limit is None else self.time_limit - search.seconds):
            return in_utilities(search.run())
