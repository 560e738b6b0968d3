"""Evaluation in floats: returns as they are.

Returns are whole numbers of a unit, so atoms that agree do so exactly and the policy is asked at the true returns: its
value can jump with them. Probabilities are floats whose error is counted.
"""

import numpy as np

from maxatk.base.types import Floats, Ints
from maxatk.evaluation.units import Units
from maxatk.evaluation.walk import ROUNDING, Atoms, Laws, Sieve, Walk, neighbours
from maxatk.problem.mdp import MDP


class Propagation(Walk):
    """Carries the distribution of (s, M, G) of a policy forward, rollout by rollout."""

    def __init__(self, mdp: MDP, units: Units, tol: float, max_atoms: int) -> None:
        super().__init__(mdp, units, Sieve(mdp, tol, max_atoms, mdp.return_range[1]), units.reward)

    def around(self, values: Ints) -> tuple[Floats, Floats]:
        """Floats around these returns [n]."""
        return self.units.true.floats_around(values)

    def nearest(self, values: Ints) -> Floats:
        """The floats nearest to these returns [n]."""
        return self.units.true.floats(values)

    def merged(self, atoms: Atoms) -> Atoms:
        """Atoms that agree in everything, put together."""
        if not len(atoms.prob):
            return atoms
        columns = (*atoms.place, atoms.value, atoms.memory) if self.units.rounds else (*atoms.place, atoms.value)
        order, starts = neighbours(columns)
        self.error += int(np.diff(starts, append=len(order)).max()) * ROUNDING
        one = atoms.at(order[starts])
        return Atoms(one.place, one.value, one.memory, np.add.reduceat(atoms.prob[order], starts))

    def laws(self, bests: Atoms) -> Laws:
        """The law of the best return at the end, with what was dropped at its least and at its greatest."""
        low, high = self.around(bests.value)
        return Laws(self.sieve.law(low, bests.prob, 0), self.sieve.law(high, bests.prob, 1))
