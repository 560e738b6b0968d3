"""Rounds whose rollouts may differ: one best reply after the other, from several starts.

The value of a round is linear in the law of each rollout, so that a reply never lowers it, nor does putting the best
part of a mixture in the mixture's place (docs/theory/rounds.md, 4). A search may still end in a local optimum.
"""

from collections.abc import Sequence

import numpy as np

from maxatk.base.types import Floats
from maxatk.laws.law import expected_payoffs
from maxatk.planning.rounds.search import KnownTuple, RoundSearch, together
from maxatk.planning.rounds.tries import Candidate

SWEEPS = 4  # over the rollouts of a round, where it is searched thoroughly; else one
ITERATIONS = 8  # of Frank and Wolfe's method
STEPS = np.linspace(0.0, 1.0, 33)  # of a line search
NOISE = 1e-12  # relative: what a reply must add


class DifferentTries(RoundSearch[Candidate]):
    """A search for rounds whose rollouts may differ."""

    def _at(self, m: int, width: int, after: Floats, known: KnownTuple[Candidate] | None) -> KnownTuple[Candidate]:
        held: Floats = (np.arange(len(self.points)) >= m).astype(np.float64)
        greedy: list[Candidate] = []
        others = held
        for _ in range(width):
            greedy.append(self._reply(others, after))
            others = others * greedy[-1].below
        if known is None:  # the first of its round is searched thoroughly
            tries = [greedy, self._derandomised(held, width, after, greedy[0])] if width > 1 else [greedy]
        else:  # only the better of the two goes on
            tries = [max((list(known.members), greedy), key=lambda one: self._net_value(one, held, after))]
        sweeps = SWEEPS if known is None else 1
        best = max((self._ascended(one, held, after, sweeps) for one in tries), key=lambda pair: pair[0])[1]
        law = np.diff(together(best), prepend=0.0)
        return KnownTuple(tuple(best), expected_payoffs(law, after) - self._price(best))

    def _net_value(self, chosen: Sequence[Candidate], known: Floats, after: Floats) -> float:
        """What a round of these rollouts comes to, less what they cost."""
        return self._value(known * together(chosen), after) - self._price(chosen)

    def _ascended(
        self, chosen: list[Candidate], known: Floats, after: Floats, sweeps: int
    ) -> tuple[float, list[Candidate]]:
        """One best reply after the other, while that raises the value."""
        chosen = list(chosen)
        value = self._net_value(chosen, known, after)
        scale = abs(float(after[-1])) + abs(float(after[0])) + float(self._lattice.kappa)
        for _ in range(sweeps if len(chosen) > 1 else 0):
            before = value
            for j in range(len(chosen)):
                rest = known * together([one for i, one in enumerate(chosen) if i != j])
                new = self._reply(rest, after)
                raised = self._value(rest * new.below, after) - self._price([*chosen[:j], new, *chosen[j + 1 :]])
                if raised > value + NOISE * scale:
                    chosen[j], value = new, raised
            if value - before <= max(NOISE * scale, self._tol / 8):
                break
        return value, chosen

    def _derandomised(self, known: Floats, width: int, after: Floats, first: Candidate) -> list[Candidate]:
        """The best mixture sampled by all rollouts alike, and then for each its best part: that never lowers the value.

        Frank and Wolfe's method finds the mixture: the value is concave in the common law.
        """
        parts, weights = [first], np.ones(1)
        mixed, cost = first.below, first.cost
        for _ in range(ITERATIONS):
            new = self._reply(known * mixed ** (width - 1), after)
            along = [(1 - step) * mixed + step * new.below for step in STEPS]
            costs = (1 - STEPS) * cost + STEPS * new.cost
            values = [
                self._value(known * below**width, after) - width * each
                for below, each in zip(along, costs.tolist(), strict=True)
            ]
            best = int(np.argmax(values))
            if values[best] <= values[0] + self._tol / 8:
                break
            parts, weights = [*parts, new], np.append(weights * (1 - STEPS[best]), STEPS[best])
            mixed, cost = along[best], float(costs[best])
        chosen: list[Candidate] = []
        fixed = known
        for j in range(width):
            rest = fixed * mixed ** (width - 1 - j)
            chosen.append(max(parts, key=lambda part, rest=rest: self._value(rest * part.below, after) - part.cost))
            fixed = fixed * chosen[-1].below
        return chosen
