"""Atoms of the distribution of (s, M, G), carried forward under a policy: what all evaluation in floats shares.

The true return of an atom is a whole number of a unit (:class:`Propagation`), so that atoms that agree do so exactly
and the policy is asked at the true returns: its value can jump with them. Or it is a float in a bin (``bins.py``).
Probabilities are floats whose error is counted.

Only the likeliest atoms are followed. What is dropped is charged: its rollouts may still end anywhere between the least
and the greatest possible best return, so there are two laws, and the true one lies between them (in the order of
distribution functions).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import InputError
from maxatk.base.returns import NONE, Amounts
from maxatk.base.types import Floats, Ints, Number
from maxatk.base.workers import Workers
from maxatk.evaluation.law import Law, law_of
from maxatk.evaluation.tuning import TUNING
from maxatk.evaluation.units import Units
from maxatk.policies import ABANDON, CompressedPolicy
from maxatk.problem.mdp import MDP

ROUNDING = 2.0**-53


class GivesUpError(Exception):
    """A rollout was given up whose return was asked for."""


@dataclass
class Bill:
    """What is paid on average: tries, and what rows cost; counted, and what atoms that were dropped may add to it."""

    tries: float = 0.0
    rows: float = 0.0
    more_tries: float = 0.0
    more_rows: float = 0.0
    sums: int = 0  # how many numbers were added up, at most: each rounds

    def pay(self, prob: Floats, cost: Floats | None) -> None:
        """Atoms with these chances pay for a row [n], or, without ``cost``, for a rollout."""
        if cost is None:
            self.tries += float(prob.sum())
        else:
            self.rows += float((prob * cost).sum())
        self.sums += len(prob) + 2

    def times(self, n: float) -> "Bill":
        """So many times that bill, or a share of it."""
        return Bill(n * self.tries, n * self.rows, n * self.more_tries, n * self.more_rows, self.sums)

    @classmethod
    def total(cls, bills: "Sequence[Bill]") -> "Bill":
        """The sum of several."""
        tries, rows, more_tries, more_rows = (sum(column) for column in zip(*(b.amounts for b in bills), strict=True))
        return cls(tries, rows, more_tries, more_rows, max(b.sums for b in bills) + len(bills))

    @property
    def amounts(self) -> tuple[float, float, float, float]:
        """All but the number of sums."""
        return self.tries, self.rows, self.more_tries, self.more_rows


class Laws(NamedTuple):
    """What is known of a law: it lies between two."""

    low: Law  # what was dropped counted at its least
    high: Law  # and at its greatest


@dataclass(frozen=True)
class Atoms:
    """Where a policy may stand, and with what probability: within a rollout by G, between two by M."""

    place: tuple[Ints, ...]  # [n] each: within a rollout which best return it started with, and the state
    value: Any  # [n] the true return, in units or as a float
    memory: Ints  # [n] the return that the policy remembers, in units; the same array where that is the true one
    prob: Floats  # [n]

    def at(self, places: Any) -> "Atoms":
        """Some of them, or some several times."""
        place, value = tuple(column[places] for column in self.place), self.value[places]
        return Atoms(place, value, value if self.memory is self.value else self.memory[places], self.prob[places])

    @classmethod
    def together(cls, several: Sequence["Atoms"]) -> "Atoms":
        """All of several, one after the other."""
        place = tuple(np.concatenate(columns) for columns in zip(*(atoms.place for atoms in several), strict=True))
        value = np.concatenate([atoms.value for atoms in several])
        same = all(atoms.memory is atoms.value for atoms in several)
        memory = value if same else np.concatenate([atoms.memory for atoms in several])
        return cls(place, value, memory, np.concatenate([atoms.prob for atoms in several]))


class Sieve:
    """Keeps the atoms that matter most, and charges the others at the least and the greatest that they could become.

    Args:
        mdp: the problem.
        tol: how much of the width of the interval around the value each step may cost.
        max_atoms: how many atoms are kept.
        most: what no best return exceeds, but for one in hand; the ends of bins may lie beyond any.
        try_weight: what each rollout costs, or counts as where the number of rollouts is asked for.
    """

    def __init__(self, mdp: MDP, tol: float, max_atoms: int, most: float = math.inf, try_weight: float = 0.0) -> None:
        self._mdp, self._tol, self.max_atoms, self._most, self._try_weight = mdp, tol, max_atoms, most, try_weight
        self.left_out = False  # whether atoms were dropped that matter
        self.overflowed = False  # whether there were too many of them
        self._dropped: list[tuple[Floats, Floats, Floats]] = []  # (least, greatest, prob) of the final best
        self.bill = Bill()

    def keep(
        self, h: int, state: Ints, best: tuple[Floats, Floats], so_far: Floats, prob: Floats, later: int
    ) -> Ints | None:
        """Which atoms [n] to keep at step ``h``, None for all.

        ``best`` are floats around the best return; ``later`` says how many rollouts follow.
        """
        least, most = self._mdp.return_range
        # The float of a return may be off by half a unit in its last place, its sum with another number by more.
        fewer, more = self._mdp.analysis.least[h, state], self._mdp.analysis.most[h, state]
        low = np.maximum(best[0], so_far + fewer - 2 * ROUNDING * (np.abs(so_far) + np.abs(fewer)))
        reach = so_far + more + 2 * ROUNDING * (np.abs(so_far) + np.abs(more))
        high = np.maximum(best[1], np.minimum(reach, self._most))
        if later:
            low, high = np.maximum(low, least), np.maximum(high, most)
        owed = self._owed(h, state, later)
        spread = high - low if owed is None else high - low + owed + later * self._try_weight
        cost = prob * spread
        # Whatever costs less than an equal share of the tolerance, none of it worth following, goes.
        going = cost <= self._tol / max(len(prob), 1)
        if len(prob) - np.count_nonzero(going) > self.max_atoms:
            self.overflowed = True
            going[np.argpartition(cost, len(cost) - self.max_atoms)[: len(cost) - self.max_atoms]] = True
        if not going.any():
            return None
        self.left_out |= bool(cost[going].any())
        self._dropped.append((low[going], high[going], prob[going]))
        self.bill.more_tries += later * float(prob[going].sum())
        if owed is not None:
            self.bill.more_rows += float((prob * owed)[going].sum())
        return np.flatnonzero(~going)

    def _owed(self, h: int, state: Ints, later: int) -> Floats | None:
        """What rows may still cost at most from each state [n] on; None where nothing costs anything."""
        if not self._mdp.has_costs and not self._try_weight:
            return None
        costs = self._mdp.analysis.greatest_costs
        return costs[h, state] + later * float(costs[0, self._mdp.start_state].max())

    @property
    def open_chance(self) -> float:
        """The probability of what was dropped before its final best was known to within the tolerance."""
        return sum(float(prob[greatest - least > self._tol].sum()) for least, greatest, prob in self._dropped)

    def law(self, values: Floats, prob: Floats, side: int) -> Law:
        """The law of atoms that were kept to the end [n], with the others at their least (0) or greatest (1)."""
        return law_of(
            np.concatenate([values, *(dropped[side] for dropped in self._dropped)]),
            np.concatenate([prob, *(dropped[2] for dropped in self._dropped)]),
        )


class Walk(ABC):
    """Carries atoms forward, rollout by rollout.

    Args:
        mdp: the problem.
        units: its rewards.
        sieve: which atoms to follow.
        reward: what each outcome pays, as atoms count it.
    """

    def __init__(self, mdp: MDP, units: Units, sieve: Sieve, reward: Any) -> None:
        self.mdp, self.units, self.sieve, self._reward = mdp, units, sieve, reward  # reward: [T]
        self._step_error = (int(np.diff(mdp.outcome_start).max()) + 4) * ROUNDING  # of an outcome's probability
        self.error: float = (len(mdp.start_prob) + 4) * ROUNDING  # relative, of every probability carried so far
        self.outcomes = 0  # followed so far
        self.may_overflow = True  # or else stop where there are too many atoms

    @abstractmethod
    def around(self, values: Any) -> tuple[Floats, Floats]:
        """Floats around these returns [n]."""

    @abstractmethod
    def nearest(self, values: Any) -> Floats:
        """Floats next to these returns [n]."""

    @abstractmethod
    def merged(self, atoms: Atoms) -> Atoms:
        """Atoms that agree, put together."""

    def acted(self, h: int, atoms: Atoms, action: Ints) -> None:
        """What to do with the actions that are taken at a step, ``ABANDON`` among them; most have nothing to."""
        return

    def first(self, best: Number) -> Atoms:
        """A best return that is known, or ``-inf``."""
        true, memory = (np.array([scale.units(best)]) for scale in (self.units.true, self.units.memory))
        return Atoms((), true, memory if self.units.rounds else true, np.ones(1))

    def alone(self, best: Number) -> Atoms:
        """For the return of one rollout by itself: nothing is in hand, and the policy is told that ``best`` is."""
        return replace(self.first(best), value=np.full(1, NONE if self._reward.dtype.kind == "i" else -math.inf))

    def rollout(self, policy: CompressedPolicy, i: int, bests: Atoms, later: int) -> Atoms:
        """The distribution of the best return after rollout ``i``; ``later`` says how many others follow."""
        mdp, units = self.mdp, self.units
        H = mdp.horizon
        rule = policy.rule(i, Amounts(bests.memory, units.memory))
        below, above = self.around(bests.value)
        n, starts = len(bests.prob), len(mdp.start_state)
        zero: Any = np.zeros(n * starts, self._reward.dtype)
        atoms = Atoms(
            (np.repeat(np.arange(n), starts), np.tile(mdp.start_state.astype(np.int64), n)),
            zero,
            np.zeros(n * starts, np.int64) if units.rounds else zero,
            (bests.prob[:, None] * mdp.reset_prob).ravel(),
        )
        ended = [atoms.at(slice(0, 0))]
        self.sieve.bill.pay(bests.prob, None)
        for h in range(H):
            stopping.check()
            tag, state = atoms.place
            around = below[tag], above[tag]
            kept = self.sieve.keep(h, state, around, self.nearest(atoms.value), atoms.prob, later)
            if kept is not None:
                atoms = atoms.at(kept)
            if not len(atoms.prob) or (self.sieve.overflowed and not self.may_overflow):
                break
            tag, state = atoms.place
            action = rule(h, tag, state, Amounts(atoms.memory, units.memory))
            self.acted(h, atoms, action)
            given_up = action == ABANDON
            if given_up.any():
                ended.append(self._without_return(atoms.at(given_up)))
                atoms, action = atoms.at(~given_up), action[~given_up]
                tag, state = atoms.place
            rows = rows_taken(mdp, i, h, state, action)
            if mdp.has_costs:
                self.sieve.bill.pay(atoms.prob, mdp.action_cost[rows])
            over, atoms, followed = self._followed(h, atoms, rows)
            self.outcomes += followed
            self.error += self._step_error
            ended.append(over)
        last = Atoms.together(ended)
        started = bests.at(last.place[0])
        best = np.maximum(started.value, last.value)
        memory = np.maximum(started.memory, last.memory) if units.rounds else best
        return self.merged(Atoms((), best, memory, last.prob))

    def _followed(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms, int]:
        """What follows atoms that take these rows at a step: those that are over, the others, and how many came."""
        over, others = self._outcomes(h, atoms, rows)
        return over, self.merged(others), len(over.prob) + len(others.prob)

    def _outcomes(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms]:
        """All outcomes, those first with which rollouts end."""
        mdp, units = self.mdp, self.units
        atom, o = outcomes_of(mdp, rows)
        after = mdp.next_state[o].astype(np.int64)
        value = atoms.value[atom] + self._reward[o]
        memory = atoms.memory[atom] + units.remembered[o] if units.rounds else value
        there = Atoms((atoms.place[0][atom], after), value, memory, atoms.prob[atom] * mdp.row_prob[o])
        over = (after == mdp.n_states) | (h + 1 == mdp.horizon)
        return there.at(over), there.at(~over)

    def _without_return(self, atoms: Atoms) -> Atoms:
        """Atoms whose rollout is given up: it is over, with a return below every other."""
        nothing: Any = np.full(len(atoms.prob), NONE if self._reward.dtype.kind == "i" else -math.inf)
        memory = np.full(len(atoms.prob), NONE) if self.units.rounds else nothing
        return Atoms(atoms.place, nothing, memory, atoms.prob)


class Propagation(Walk):
    """Carries the distribution of (s, M, G) of a policy forward, with returns as they are."""

    def __init__(
        self,
        mdp: MDP,
        units: Units,
        tol: float,
        max_atoms: int,
        try_weight: float = 0.0,
        workers: Workers | None = None,
    ) -> None:
        super().__init__(mdp, units, Sieve(mdp, tol, max_atoms, mdp.return_range[1], try_weight), units.reward)
        self._workers = workers

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

    def _followed(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms, int]:
        """The same by tables of states and returns, one for each best return that rollouts began with.

        No atom of one meets one of another, so the cores share them. Where returns are few and far between, or memory
        differs from the truth, atoms are sorted instead.
        """
        mdp, tag = self.mdp, atoms.place[0]
        outcomes = int((mdp.outcome_start[rows + 1] - mdp.outcome_start[rows]).sum())
        if self.units.rounds or outcomes < TUNING.table_work:
            return super()._followed(h, atoms, rows)
        begin, low, high = stopping.run(kernels.spans, mdp.outcome_start, self._reward, rows, tag, atoms.value)
        widths: Floats = high.astype(np.float64) - low + 1
        if (mdp.n_states + 1) * widths.sum() > TUNING.table_cells * outcomes:
            return super()._followed(h, atoms, rows)

        def follow(first: int, end: int) -> kernels.Followed:
            return kernels.follow_atoms(
                *(mdp.outcome_start, mdp.next_state, mdp.row_prob, self._reward, mdp.n_states, h + 1 == mdp.horizon),
                *(rows, tag, atoms.value, atoms.prob, begin, low, high, first, end, stopping.current().flag),
            )

        parts = 1 if self._workers is None else min(2 * self._workers.threads, outcomes // TUNING.table_work)
        cuts = np.searchsorted(begin, np.linspace(0, len(rows), parts + 1)).tolist()
        followed = self._workers.map(follow, cuts[:-1], cuts[1:]) if self._workers else [follow(0, len(low))]
        *columns, most = zip(*followed, strict=True)
        tags, states, values, prob, ended_tags, ended_values, ended_prob = (np.concatenate(one) for one in columns)
        self.error += max(most) * ROUNDING
        ended = Atoms((ended_tags, np.full(len(ended_tags), mdp.n_states)), ended_values, ended_values, ended_prob)
        return ended, Atoms((tags, states), values, values, prob), outcomes

    def laws(self, bests: Atoms) -> Laws:
        """The law of the best return at the end, with what was dropped at its least and at its greatest."""
        values, prob, sides = self.around(bests.value), [bests.prob] * 2, (0, 1)
        laws = map if self._workers is None else self._workers.map
        return Laws(*laws(self.sieve.law, values, prob, sides))


def rows_taken(mdp: MDP, i: int, h: int, state: Ints, action: Ints) -> Ints:
    """The row of each atom's action [n], if its state offers that."""
    rows = kernels.rows_of_actions(mdp.step(h).first_row, mdp.action, state, action)
    if rows.min(initial=0) < 0:
        k = int(np.argmin(rows))
        raise InputError(
            f"the policy's action at (rollout {i}, step {h}, state {state[k]}) is {int(action[k])}: "
            f"expected one of {mdp.actions(h, int(state[k]))}"
        )
    return rows


def outcomes_of(mdp: MDP, rows: Ints) -> tuple[Ints, Ints]:
    """All outcomes of these rows [n]: for each of them the place of its row, and the outcome."""
    sizes = mdp.outcome_start[rows + 1] - mdp.outcome_start[rows]
    atom = np.repeat(np.arange(len(rows)), sizes)
    return atom, np.arange(len(atom)) - np.repeat(np.cumsum(sizes) - sizes - mdp.outcome_start[rows], sizes)


def neighbours(columns: tuple[Ints, ...]) -> tuple[Ints, Ints]:
    """An order in which equal rows of these columns [n] stand side by side, and where each new one starts in it."""
    spans = [int(column.max()) - int(column.min()) + 1 for column in columns]
    if math.prod(spans) < 2**62:
        key = np.zeros(len(columns[0]), np.int64)
        for column, span in zip(columns, spans, strict=True):
            key = key * span + (column - column.min())
        order = np.argsort(key, kind="stable")
    else:
        order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for column in columns:
        ranked = column[order]
        new[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(new)
