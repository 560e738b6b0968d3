"""Sweeps on other machines: the :class:`maxatk.planning.sweeper.Sweeper` of any executor.

Knots are shared out, a slice each, and never the states of a layer, which would be half a gigabyte a slice.
"""

from collections.abc import Sequence
from functools import lru_cache

from maxatk.base.types import Floats
from maxatk.base.workers import Workers
from maxatk.engines.crew import Crew
from maxatk.planning.lattice import Lattice, RealLattice, WholeLattice
from maxatk.planning.slices import Acting
from maxatk.planning.sweeper import Sweeper, sweeper_on
from maxatk.planning.windows import Task
from maxatk.problem.decision import DecisionProblem

KEPT = 2  # lattices that a worker keeps


class Elsewhere:
    """Sweeps by a crew that knows the problem; what is a single slice, or is lost, is swept at home.

    Args:
        crew: the workers, which know the problem.
        home: who sweeps here.
        device: what each worker sweeps on.
    """

    def __init__(self, crew: Crew, home: Sweeper, device: str) -> None:
        self._crew, self._home, self._device = crew, home, device

    def bounds(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Floats]:
        """As in :class:`maxatk.planning.sweeper.Sweeper`."""
        if len(tasks) == 1:
            return self._home.bounds(lattice, tasks)
        items = [(lattice.kappa, lattice.whole, task, self._device) for task in tasks]
        return self._crew.map(sweep, items, lambda left: self._home.bounds(lattice, [tasks[i] for i in left]))

    def decisions(self, lattice: Lattice, tasks: Sequence[Task]) -> list[Acting]:
        """As in :class:`maxatk.planning.sweeper.Sweeper`."""
        return self._home.decisions(lattice, tasks)


def sweep(problem: DecisionProblem, kappa: float, whole: bool, task: Task, device: str) -> Floats:
    """On a worker: the bounds of one task, in half of the memory that there is, on one thread or its GPU."""
    with Workers(1) as workers:
        (bounds,) = sweeper_on(device, None, workers).bounds(_lattice(problem, kappa, whole), [task])
    return bounds


@lru_cache(KEPT)
def _lattice(problem: DecisionProblem, kappa: float, whole: bool) -> Lattice:
    return (WholeLattice if whole else RealLattice)(problem, kappa)
