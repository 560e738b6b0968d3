"""Plans in rounds: for each best return at the start of a round, what its rollouts follow.

Rounds are planned from the last to the first. What the best return after a round counts is a curve ``U`` on the points
of a lattice. The best reply of a rollout to the others of its round is a slice whose next curve is
``u(x) = E U(max(m, x, best of the others))``: whether rollouts may differ, or draw from one mixture, they are made of
such replies (docs/theory/rounds.md).
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from maxatk.base import stopping
from maxatk.base.types import Floats, Ints
from maxatk.laws.law import expected_payoffs
from maxatk.planning.certified.curves import Curves
from maxatk.planning.certified.slices import SliceMethod
from maxatk.planning.rounds.tries import Candidate, TryLaw, TrySearch
from maxatk.policies import Round

MOST_KNOTS = 16  # of a round
MOST_BOUNDED_KNOTS = 64  # where bounds are known at each of them, so that more of them narrow what is proved
FIRST_KNOTS = 6
MOST_CELLS = 2**25  # of a slice that is searched
FINE_CELLS = 2**22  # of a slice on a lattice that is finer than the plan's


L = TypeVar("L", bound=TryLaw)


@dataclass(frozen=True)
class RoundTable(Generic[L]):
    """What the rollouts of one round do: tuples of policies, and which of them counts at each best return."""

    ends: tuple[float, ...]  # [n - 1] rising: up to where each tuple counts
    tuples: tuple[tuple[L, ...], ...]  # [n]
    stop_at: float = math.inf  # the best return at which the trial is over before this round

    def acting(self: "RoundTable[Candidate]") -> Round:
        """As a policy takes it."""
        return Round(self.ends, tuple(tuple(one.policy for one in members) for members in self.tuples), self.stop_at)


@dataclass(frozen=True)
class KnownTuple(Generic[L]):
    """A tuple of candidates for a round, and what it comes to at every best return at its start."""

    members: tuple[L, ...]
    values: Floats  # [n]
    upper: float = math.inf  # what none comes to at the best return that it was searched for, where that is known


class RoundSearch(TrySearch, ABC, Generic[L]):
    """A search for a plan in rounds; what the rollouts of one round may do is for classes of it to say.

    Args:
        planned_by: the problem on the lattice of the sequential plan.
        floor: a return that good policies almost surely beat.
        tol: how much a round may lose because best returns between knots were not searched.
    """

    def __init__(self, planned_by: SliceMethod, floor: float, tol: float = 0.0) -> None:
        super().__init__(planned_by, floor, MOST_CELLS, FINE_CELLS)
        self._tol = tol / self._unit
        self.slices = 0
        self.upper = math.inf  # what no plan of the kind that is searched for earns, as curves count it
        self._above = 0.0  # by how much what comes after a round may be above what is known of it
        self._replies: dict[bytes, Candidate] = {}  # to payoffs of the present round
        self.planned: list[RoundTable[L]] = []  # the last rounds, as far as the search has come

    @abstractmethod
    def _at(self, m: int, width: int, after: Floats, known: KnownTuple[L] | None) -> KnownTuple[L]:
        """Good policies for the rollouts of a round that starts with the best return of point ``m``.

        ``known`` is the best for it so far, of those for other best returns.
        """

    def plan(self, widths: Sequence[int], curves: Curves) -> list[RoundTable[L]]:
        """What to do in each round; ``curves`` of the sequential plan say where best returns make a difference."""
        after, tables = self.final, list[RoundTable[L]]()
        self._above, self.planned = 0.0, tables
        starts = [sum(widths[:b]) for b in range(len(widths))]
        for b in reversed(range(len(widths))):
            self._replies = {}
            if b == 0:
                best = self._at(0, widths[0], after, None)
                self.upper = self._unit * (best.upper + self._above)
                tables.insert(0, RoundTable((), (best.members,), self._stop_at_once(float(best.values[0]))))
            else:
                table, after = self._round(widths[b], after, curves[starts[b]].line_knot)
                tables.insert(0, table)
        return tables

    def _round(self, width: int, after: Floats, turns: Floats) -> tuple[RoundTable[L], Floats]:
        """A round that may start with any best return, and what each of them is worth then."""
        places = np.searchsorted(self.points, np.clip(turns / self._unit, self.points[0], self.points[-1]))
        inner = np.unique(places[(places > 0) & (places < len(self.points) - 1)])
        new = [0, *inner[:: max(len(inner) // FIRST_KNOTS, 1)].tolist()]
        library: list[KnownTuple[L]] = []
        top = len(self.points) - 1
        knots = {top: float(after[-1])}  # there nothing can be improved
        uppers = knots.copy()
        while new:
            for m in new:
                best = max(library, key=lambda one: one.values[m], default=None)
                library.append(self._at(m, width, after, best))
                knots[m] = max(float(one.values[m]) for one in library)
                uppers[m] = library[-1].upper
            bounded = all(map(math.isfinite, uppers.values()))
            most = MOST_BOUNDED_KNOTS if bounded else MOST_KNOTS
            new = self._missing(library, uppers if bounded else knots) if len(knots) <= most else []
        values: Floats = np.array([one.values for one in library])
        picks: Ints = np.argmax(values, axis=0)
        goes_on = values.max(axis=0)
        known = np.maximum(goes_on, self.final if self._costly else after)
        # The best that rounds from here on can do is convex in the best return, so that chords lie above it.
        chord = np.interp(np.arange(top + 1), sorted(uppers), [uppers[m] for m in sorted(uppers)])
        self._above += max(float((chord - known).max()), 0.0)
        stop_at = math.inf
        if self._costly:  # what going on adds falls with the best return (docs/theory/rounds.md, 5)
            adds = np.flatnonzero(goes_on[:-1] > self.final[:-1])
            stop_at = self._unit * float(self.points[adds[-1] + 1 if len(adds) else 0])
        return replace(self._table(library, picks), stop_at=stop_at), known

    def _stop_at_once(self, goes_on: float) -> float:
        """The best return at which the trial is over before it begins."""
        incumbent = self._planned_by.problem.best_so_far
        stops = self._costly and incumbent != -math.inf and float(incumbent) >= self._unit * goes_on
        return float(incumbent) if stops else math.inf

    def _missing(self, library: Sequence[KnownTuple[L]], knots: dict[int, float]) -> list[int]:
        """Where the curve may lie above what is known, if it is no higher than this at the knots: it is convex."""
        at = sorted(knots)
        chord = np.interp(np.arange(len(self.points)), at, [knots[m] for m in at])
        short = chord - np.max([one.values for one in library], axis=0)
        short[at] = 0.0
        worst = [a + int(np.argmax(short[a : b + 1])) for a, b in itertools.pairwise(at)]
        return [m for m in worst if short[m] > self._tol and m not in knots]

    def _table(self, library: Sequence[KnownTuple[L]], picks: Ints) -> RoundTable[L]:
        last = [*np.flatnonzero(np.diff(picks)).tolist(), len(picks) - 1]  # of each run of equal picks
        # Halfway between points: which side a return is on is beyond doubt, however it is rounded.
        ends = tuple(float(self._unit * (self.points[j] + self._lattice.kappa / 2)) for j in last[:-1])
        return RoundTable(ends, tuple(library[int(picks[j])].members for j in last))

    def _reply(self, others: Floats, after: Floats) -> Candidate:
        """The best policy of one rollout beside others whose best has this distribution function."""
        stopping.check()
        payoff = self.payoff(others, after)
        key = payoff.tobytes()
        if key not in self._replies:
            self.slices += 1
            self._replies[key] = self.best_seeing_return(payoff)[0]
        return self._replies[key]

    def _value(self, below: Floats, after: Floats) -> float:
        return float(after[-1] - (self.rises(after) * below[:-1]).sum())

    def _price(self, members: Sequence[TryLaw]) -> float:
        """What the rollouts of a round cost on average."""
        return sum(one.cost for one in members) + len(members) * self._planned_by.problem.rollout_cost / self._unit

    # What a plan earns.

    def earned(self, tables: Sequence[RoundTable[L]]) -> float:
        """At least what the policy of these tables earns, as curves count it.

        A law is that of the decisions that its policy acts on. Relative errors of its probabilities are those of sums
        of positive terms; errors of distribution functions add up over rollouts. Where lattice returns are rounded
        ones, true ones are no more than half a step below for each step of a rollout (docs/theory/rounds.md, 4).
        """
        short = self._short  # points by which a return may fall short of the one that stands for it
        value, lost = self.final, 1.0  # lost: the chance that no return exceeds the first point
        for table in reversed(tables):
            last = np.searchsorted(self.points, [*(x / self._unit for x in table.ends), math.inf])
            laws = [np.diff(_lowered(together(members), short), prepend=0.0) for members in table.tuples]
            value = np.concatenate([
                expected_payoffs(law, value)[begin:end]
                for law, begin, end in zip(laws, [0, *last[:-1].tolist()], last.tolist(), strict=True)
            ])  # fmt: skip
            if short:  # a best return may be higher than the point that stands for it
                value = np.minimum.accumulate(value[::-1])[::-1]
            lost *= float(laws[0][0])
        problem = self._planned_by.problem
        least = Fraction(max(problem.least, problem.best_so_far))
        missing = max(lost * (float(self.final[0]) - self._counts(least)), 0.0)
        halves = self._lattice.kappa / 2 if short else 0.0  # what a point stands for begins half a step below it
        return self._unit * (float(value[0]) - missing - halves - self._rounding(tables))

    @property
    def _short(self) -> int:
        return (self._mdp.horizon + 1) // 2 if self._rounded else 0

    def left_out(self, tables: Sequence[RoundTable[L]]) -> tuple[float, float]:
        """At most what :meth:`earned` leaves out beside rounding errors, as curves count it.

        That is for trials that end below the first point, and for rounded returns.
        """
        lost = math.prod(float(_lowered(together(table.tuples[0]), self._short)[0]) for table in tables)
        span = float(self.final[0]) - self._counts(Fraction(self._planned_by.problem.least))
        steps = (2 * self._short + 1) * self._lattice.kappa if self._rounded else 0.0
        return self._unit * lost * max(span, 0.0), self._unit * steps

    def is_tight(self, tables: Sequence[RoundTable[L]], tol: float) -> bool:
        """Whether :meth:`earned` leaves out so little beside a tolerance that no evaluation is worth its time."""
        below, rounded = self.left_out(tables)
        return below <= tol / 100 and rounded <= tol

    def _rounding(self, tables: Sequence[RoundTable[L]]) -> float:
        mdp, n = self._mdp, len(self.points)
        tries = sum(len(table.tuples[0]) for table in tables)
        arrivals = int(np.bincount(mdp.next_state).max())  # terms of a cell's mass, at most
        steps = mdp.horizon * (2 * arrivals + int(np.diff(mdp.outcome_start).max()) + 8)
        size = float(np.abs(self.final).max() + np.abs(self.points).max())
        return (
            tries * (steps + 2 * n) + len(tables) * (4 * n + 16)
        ) * 2.0**-53 * size + mdp.horizon * self._lattice.error


def _lowered(below: Floats, points: int) -> Floats:
    """The distribution function [n] of returns that are so many points lower."""
    return np.append(below[points:], np.ones(min(points, len(below))))


def together(chosen: Sequence[TryLaw]) -> Floats:
    """The distribution function of the best of independent rollouts, [n]."""
    return np.prod([one.below for one in chosen], axis=0)
