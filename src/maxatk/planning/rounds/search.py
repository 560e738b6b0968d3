"""Plans in rounds: for each best return at the start of a round, policies of its rollouts that may differ.

Rounds are planned from the last to the first. What the best return after a round counts is a curve ``U`` on the points
of a lattice, and the rollouts of a round are chosen one by one, each as the best reply to the others: a slice whose
next curve is ``u(x) = E U(max(m, x, best of the others))``. The value is linear in the law of each rollout, so that a
reply never lowers it, nor does putting the best part of a mixture in the mixture's place (docs/theory/rounds.md).

Nothing that is found here is a claim: what the policy earns is for :func:`maxatk.evaluate` to say.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxatk.base import stopping
from maxatk.base.types import Floats, Ints
from maxatk.laws.law import expected_payoffs
from maxatk.planning.certified.curves import Curves
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.rounds.tries import Candidate, TrySearch
from maxatk.policies import CompressedPolicy, Round

SWEEPS = 4  # over the rollouts of a round, where it is searched thoroughly; else one
ITERATIONS = 8  # of Frank and Wolfe's method
STEPS = np.linspace(0.0, 1.0, 33)  # of a line search
MOST_KNOTS = 16  # of a round
FIRST_KNOTS = 6
MOST_CELLS = 2**25  # of a slice that is searched
NOISE = 1e-12  # relative: what a reply must add


@dataclass(frozen=True)
class RoundTable:
    """What the rollouts of one round do: tuples of policies, and which of them counts at each best return."""

    ends: tuple[float, ...]  # [n - 1] rising: up to where each tuple counts
    tuples: tuple[tuple[Candidate, ...], ...]  # [n]

    def acting(self) -> Round:
        """As a policy takes it."""
        known: dict[int, CompressedPolicy] = {}  # equal candidates share their slices
        return Round(
            self.ends, tuple(tuple(known.setdefault(id(one), one.policy) for one in members) for members in self.tuples)
        )


@dataclass(frozen=True)
class _Known:
    """A tuple of candidates for a round, and what it comes to at every best return at its start."""

    members: tuple[Candidate, ...]
    values: Floats  # [n]


class RoundSearch(TrySearch):
    """A search for a plan in rounds.

    Args:
        planned_by: the problem on the lattice of the sequential plan.
        floor: a return that good policies almost surely beat.
        tol: how much a round may lose because best returns between knots were not searched.
    """

    def __init__(self, planned_by: SliceMethod, floor: float, tol: float = 0.0) -> None:
        super().__init__(planned_by, floor, MOST_CELLS)
        self._tol = tol / self._unit
        self.slices = 0
        self._replies: dict[bytes, Candidate] = {}  # to payoffs of the present round

    def plan(self, widths: Sequence[int], curves: Curves) -> list[RoundTable]:
        """What to do in each round; ``curves`` of the sequential plan say where best returns make a difference."""
        after, tables = self.final, list[RoundTable]()
        starts = [sum(widths[:b]) for b in range(len(widths))]
        for b in reversed(range(len(widths))):
            self._replies = {}
            if b == 0:
                best = self._at(0, widths[0], after, [], thorough=True)
                tables.insert(0, RoundTable((), (best.members,)))
            else:
                table, after = self._round(widths[b], after, curves[starts[b]].line_knot)
                tables.insert(0, table)
        return tables

    def _round(self, width: int, after: Floats, turns: Floats) -> tuple[RoundTable, Floats]:
        """A round that may start with any best return, and what each of them is worth then."""
        places = np.searchsorted(self.points, np.clip(turns / self._unit, self.points[0], self.points[-1]))
        inner = np.unique(places[(places > 0) & (places < len(self.points) - 1)])
        new = [0, *inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()]
        library: list[_Known] = []
        knots = {len(self.points) - 1: float(after[-1])}  # there nothing can be improved
        while new:
            for m in new:
                library.append(self._at(m, width, after, self._warm(library, m), thorough=not library))
                knots[m] = max(float(one.values[m]) for one in library)
            new = self._missing(library, knots) if len(knots) <= MOST_KNOTS else []
        values: Floats = np.array([one.values for one in library])
        picks: Ints = np.argmax(values, axis=0)
        return self._table(library, picks), np.maximum(values.max(axis=0), after)

    def _missing(self, library: Sequence[_Known], knots: dict[int, float]) -> list[int]:
        """Where the curve may lie above what is known, if it is as high as known at the knots: it is convex."""
        at = sorted(knots)
        chord = np.interp(np.arange(len(self.points)), at, [knots[m] for m in at])
        short = chord - np.max([one.values for one in library], axis=0)
        short[at] = 0.0
        worst = [a + int(np.argmax(short[a : b + 1])) for a, b in itertools.pairwise(at)]
        return [m for m in worst if short[m] > self._tol and m not in knots]

    def _warm(self, library: Sequence[_Known], m: int) -> list[tuple[Candidate, ...]]:
        return [max(library, key=lambda one: one.values[m]).members] if library else []

    def _table(self, library: Sequence[_Known], picks: Ints) -> RoundTable:
        last = [*np.flatnonzero(np.diff(picks)).tolist(), len(picks) - 1]  # of each run of equal picks
        ends = tuple(float(self._unit * self.points[j]) for j in last[:-1])
        return RoundTable(ends, tuple(library[int(picks[j])].members for j in last))

    # One round at one best return.

    def _at(
        self, m: int, width: int, after: Floats, starts: Sequence[tuple[Candidate, ...]], *, thorough: bool
    ) -> _Known:
        """Good policies for the rollouts of a round that starts with the best return of point ``m``."""
        known: Floats = (np.arange(len(self.points)) >= m).astype(np.float64)
        greedy: list[Candidate] = []
        others = known
        for _ in range(width):
            greedy.append(self._reply(others, after))
            others = others * greedy[-1].below
        tries = [list(start) for start in starts] + [greedy]
        if thorough and width > 1:
            tries.append(self._derandomised(known, width, after, greedy[0]))
        else:  # only the best of them goes on
            tries = [max(tries, key=lambda one: self._value(known * _together(one), after))]
        sweeps = SWEEPS if thorough else 1
        best = max((self._ascended(one, known, after, sweeps) for one in tries), key=lambda pair: pair[0])[1]
        law = np.diff(_together(best), prepend=0.0)
        return _Known(tuple(best), expected_payoffs(law, after))

    def _reply(self, others: Floats, after: Floats) -> Candidate:
        """The best policy of one rollout beside others whose best has this distribution function."""
        stopping.check()
        payoff = self._payoff(others, after)
        key = payoff.tobytes()
        if key not in self._replies:
            self.slices += 1
            self._replies[key] = self._best_seeing_return(payoff)[0]
        return self._replies[key]

    def _value(self, below: Floats, after: Floats) -> float:
        return float(after[-1] - (self.rises(after) * below[:-1]).sum())

    def _ascended(
        self, chosen: list[Candidate], known: Floats, after: Floats, sweeps: int
    ) -> tuple[float, list[Candidate]]:
        """One best reply after the other, while that raises the value."""
        chosen = list(chosen)
        value = self._value(known * _together(chosen), after)
        scale = abs(float(after[-1])) + abs(float(after[0])) + float(self._lattice.kappa)
        for _ in range(sweeps if len(chosen) > 1 else 0):
            before = value
            for j in range(len(chosen)):
                rest = known * _together([one for i, one in enumerate(chosen) if i != j])
                new = self._reply(rest, after)
                raised = self._value(rest * new.below, after)
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
        mixed = first.below
        for _ in range(ITERATIONS):
            new = self._reply(known * mixed ** (width - 1), after)
            along = [(1 - step) * mixed + step * new.below for step in STEPS]
            values = [self._value(known * below**width, after) for below in along]
            best = int(np.argmax(values))
            if values[best] <= values[0] + self._tol / 8:
                break
            parts, weights = [*parts, new], np.append(weights * (1 - STEPS[best]), STEPS[best])
            mixed = along[best]
        chosen: list[Candidate] = []
        fixed = known
        for j in range(width):
            rest = fixed * mixed ** (width - 1 - j)
            chosen.append(max(parts, key=lambda part, rest=rest: self._value(rest * part.below, after)))
            fixed = fixed * chosen[-1].below
        return chosen


def _together(chosen: Sequence[Candidate]) -> Floats:
    """The distribution function of the best of independent rollouts, [n]."""
    return np.prod([one.below for one in chosen], axis=0)
