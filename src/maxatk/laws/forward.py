"""Atoms of the distribution of (s, M, G), carried forward under a policy: what all laws in floats share.

The true return of an atom is a whole number of a unit (:class:`Propagation`), so that atoms that agree do so exactly
and the policy is asked at the true returns: its value can jump with them. Or it is a float, in bins where atoms are
many (``bins.py``). Probabilities are floats whose error is counted.

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
from maxatk.laws.law import Law
from maxatk.laws.pruning import ROUNDING, AtomPruner
from maxatk.laws.tuning import TUNING
from maxatk.laws.units import Units
from maxatk.policies import ABANDON, CompressedPolicy, Policy, hooks
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.mdp import MDP

NO_RETURN = "the policy may end without any return: it gives up every rollout of some trials"
GIVING_PARTS = "the parts of a mixed policy must not give rollouts up"


class Laws(NamedTuple):
    """What is known of a law: it lies between two."""

    low: Law  # what was dropped counted at its least
    high: Law  # and at its greatest


@dataclass(frozen=True)
class Atoms:
    """Where a policy may stand, and with what probability: within a rollout by G, between two by M."""

    place: tuple[Ints, ...]  # [n] each: within a rollout which best return it started with, and the state
    value: Any  # [n] the true return, in units or as a float
    memory: Ints | None  # [n] the return that the policy remembers, in units; None where it is the true one, or nothing
    prob: Floats  # [n]

    def at(self, places: Any) -> "Atoms":
        """Some of them, or some several times."""
        memory = None if self.memory is None else self.memory[places]
        return Atoms(tuple(column[places] for column in self.place), self.value[places], memory, self.prob[places])

    @classmethod
    def together(cls, several: Sequence["Atoms"]) -> "Atoms":
        """All of several, one after the other."""
        place = tuple(np.concatenate(columns) for columns in zip(*(atoms.place for atoms in several), strict=True))
        memory = [atoms.memory for atoms in several if atoms.memory is not None]
        return cls(
            place,
            np.concatenate([atoms.value for atoms in several]),
            np.concatenate(memory) if memory else None,
            np.concatenate([atoms.prob for atoms in several]),
        )


class Walk(ABC):
    """Carries atoms forward, rollout by rollout.

    Args:
        mdp: the problem.
        units: its rewards, as they are and as the policy remembers them.
        pruner: which atoms to follow.
        reward: what each outcome pays, as atoms count it.
    """

    def __init__(self, mdp: MDP, units: Units, pruner: AtomPruner, reward: Any) -> None:
        self.mdp, self.units, self.pruner, self._reward = mdp, units, pruner, reward  # reward: [T]
        self._nothing = NONE if reward.dtype.kind == "i" else -math.inf  # the return of a rollout that is given up
        self._step_error = (int(np.diff(mdp.outcome_start).max()) + 4) * ROUNDING  # of an outcome's probability
        self.error: float = (len(mdp.start_prob) + 4) * ROUNDING  # relative, of every probability carried so far
        self.outcomes: int = 0  # followed so far

    @abstractmethod
    def around(self, values: Any) -> tuple[Floats, Floats]:
        """Floats around these returns [n]."""

    @abstractmethod
    def nearest(self, values: Any) -> Floats:
        """Floats next to these returns [n]."""

    def merged(self, atoms: Atoms) -> Atoms:
        """Atoms that agree in everything, put together."""
        if not len(atoms.prob):
            return atoms
        memory = () if atoms.memory is None else (atoms.memory,)
        order, starts = neighbours((*atoms.place, atoms.value, *memory))
        self.error += int(np.diff(starts, append=len(order)).max()) * ROUNDING
        return replace(atoms.at(order[starts]), prob=np.add.reduceat(atoms.prob[order], starts))

    def acted(self, h: int, atoms: Atoms, action: Ints) -> None:
        """What to do with the actions that are taken at a step, ``ABANDON`` among them; most have nothing to."""
        return

    def first(self, best: Number) -> Atoms:
        """A best return that is known, or ``-inf``."""
        remembers = self.units.carries_memory and not self.units.sees_true_best
        memory = np.array([self.units.memory.units(best)]) if remembers else None
        return Atoms((), np.array([self.units.true.units(best)]), memory, np.ones(1))

    def alone(self, best: Number) -> Atoms:
        """For the return of one rollout by itself: there is no incumbent, and the policy is told that ``best`` is."""
        first = self.first(best)
        memory = first.memory if self.units.carries_memory else np.array([self.units.memory.units(best)])
        return replace(first, value=np.full(1, self._nothing), memory=memory)

    def bests(self, policy: Policy, i: int | None) -> Atoms:
        """The distribution of the best return after all rollouts; with ``i``, of the return of that one by itself."""
        if i is None:
            return self.trials(policy, policy.k)
        return self.rollout(policy, i, self.alone(policy.best_so_far), later=0)

    def trials(self, policy: Policy, rollouts: int) -> Atoms:
        """The distribution of the best return after so many rollouts of trials that may stop before each of them."""
        return self._later_rollouts(policy, self.first(policy.best_so_far), range(rollouts))

    def trials_from(self, policy: CompressedPolicy, at: CompressedHistory) -> Atoms:
        """The distribution of the best return from a moment of a trial on."""
        bests = self.first(at.best)
        bests = self._best_of(bests, self.returns_from(policy, at))
        return self._later_rollouts(policy, bests, range(at.rollout + 1, policy.k))

    def returns_from(self, policy: CompressedPolicy, at: CompressedHistory) -> Atoms:
        """The distribution of the return of the rollout that is under way."""
        place = (np.zeros(1, np.int64), np.array([at.state]))
        atoms = Atoms(place, np.array([self.units.true.multiple(at.so_far)]), None, np.ones(1))
        return self._to_the_end(policy, at.rollout, self.first(at.best), atoms, at.step, policy.k - 1 - at.rollout)

    def _later_rollouts(self, policy: Policy, bests: Atoms, rollouts: range) -> Atoms:
        over = [bests.at(slice(0, 0))]  # of trials that have stopped
        widths = hooks.widths(policy) or (1,) * policy.k
        for i, width in zip(hooks.round_starts(policy), widths, strict=True):
            if i not in rollouts:
                continue
            if hooks.may_stop(policy):
                stopped = hooks.stopped(policy, i, Amounts(bests.value, self.units.true))
                over.append(bests.at(stopped))
                bests = bests.at(~stopped)
            if not len(bests.prob):  # nothing is left to follow
                break
            later = policy.k - 1 - i
            one = width == 1
            bests = self.rollout(policy, i, bests, later) if one else self.round(policy, i, width, bests, later)
        return Atoms.together([*over, bests])

    def rollout(self, policy: Policy, i: int, bests: Atoms, later: int) -> Atoms:
        """The distribution of the best return after rollout ``i``; ``later`` says how many others follow."""
        return self._best_of(bests, self.drawn_returns(policy, i, bests, later))

    def _best_of(self, bests: Atoms, last: Atoms) -> Atoms:
        """The best returns after a rollout, from those before it and what it brought."""
        started = bests.at(last.place[0])
        memory = None
        if self.units.carries_memory and started.memory is not None and last.memory is not None:
            memory = np.maximum(started.memory, last.memory)
        return self.merged(Atoms((), np.maximum(started.value, last.value), memory, last.prob))

    def round(self, policy: Policy, first: int, width: int, bests: Atoms, later: int) -> Atoms:
        """The distribution of the best return after a round, whose rollouts know the best at its start alone.

        Given that, they are independent. What is dropped of one is charged as if the others could still bring anything;
        the rest is a product of distribution functions, of which every probability is a sum of positive terms.
        """
        different = 1 if hooks.traits(policy).alike else width
        ends = [self.drawn_returns(policy, first + j, bests, later) for j in range(different)] * (width // different)
        values: list[Any] = []
        probs: list[Floats] = []
        orders = [np.argsort(end.place[0], kind="stable") for end in ends]
        tags = np.arange(len(bests.prob) + 1)
        cuts = [np.searchsorted(end.place[0][o], tags) for end, o in zip(ends, orders, strict=True)]
        longest = 0
        for tag in range(len(bests.prob)):
            stopping.check()
            mine = [end.at(o[cut[tag] : cut[tag + 1]]) for end, o, cut in zip(ends, orders, cuts, strict=True)]
            grid: Any = np.unique(np.concatenate([bests.value[tag : tag + 1], *(atoms.value for atoms in mine)]))
            grid = grid[grid >= bests.value[tag]]
            less: Any = np.ones(len(grid))  # the chance that all rollouts so far end below a value
            chance = np.zeros(len(grid))
            for atoms in mine:
                ended: Any = np.maximum(atoms.value, bests.value[tag])
                place = _places(grid, ended)
                law = np.bincount(place, atoms.prob / bests.prob[tag], len(grid))
                mass = np.cumsum(law)
                before = np.concatenate([[0.0], mass[:-1]])
                chance = chance * mass + less * law  # the last that comes to a value is this one, or one before it
                less = less * before
                longest = max(longest, len(place))
            kept = chance > 0
            values.append(grid[kept])
            probs.append(bests.prob[tag] * chance[kept])
        self.error += width * (2 * longest + 8) * ROUNDING
        return self.merged(Atoms((), np.concatenate(values), None, np.concatenate(probs)))

    def drawn_returns(self, policy: Policy, i: int, bests: Atoms, later: int) -> Atoms:
        """:meth:`returns` where a rollout may draw what it follows."""
        drawn = [one for one in hooks.mixture(policy, i) if one.weight]
        ends = [self.returns(one.policy, one.rollout, bests, later) for one in drawn]
        if len(drawn) == 1:
            return ends[0]
        self.error += 4 * ROUNDING
        weighed = zip(ends, drawn, strict=True)
        return Atoms.together([replace(atoms, prob=atoms.prob * float(one.weight)) for atoms, one in weighed])

    def returns(self, policy: CompressedPolicy, i: int, bests: Atoms, later: int) -> Atoms:
        """The returns of rollout ``i``, each with the best return that it started with."""
        mdp, units = self.mdp, self.units
        n, starts = len(bests.prob), len(mdp.start_state)
        zeros = np.zeros(n * starts, np.int64)
        atoms = Atoms(
            (np.repeat(np.arange(n), starts), np.tile(mdp.start_state.astype(np.int64), n)),
            zeros.astype(self._reward.dtype),
            zeros if units.carries_memory else None,
            (bests.prob[:, None] * mdp.reset_prob).ravel(),
        )
        self.pruner.tally.add(bests.prob)
        return self._to_the_end(policy, i, bests, atoms, 0, later)

    def _to_the_end(
        self, policy: CompressedPolicy, i: int, bests: Atoms, atoms: Atoms, first: int, later: int
    ) -> Atoms:  # fmt: skip
        """The returns of rollout ``i``, from atoms at its step ``first``."""
        mdp = self.mdp
        known = bests.value if bests.memory is None else bests.memory
        act = hooks.rule(policy, i, Amounts(known, self.units.best)).act
        below, above = self.around(bests.value)
        ended = [atoms.at(slice(0, 0))]
        for h in range(first, mdp.horizon):
            stopping.check()
            tag, state = atoms.place
            around = below[tag], above[tag]
            kept = self.pruner.keep(h, state, around, self.nearest(atoms.value), atoms.prob, later)
            if kept is not None:
                atoms = atoms.at(kept)
            if not len(atoms.prob):
                break
            tag, state = atoms.place
            action = act(h, tag, state, self._remembered(atoms))
            self.acted(h, atoms, action)
            given_up = action == ABANDON
            if given_up.any():
                ended.append(self._without_return(atoms.at(given_up)))
                atoms, action = atoms.at(~given_up), action[~given_up]
                tag, state = atoms.place
            rows = rows_taken(mdp, i, h, state, action)
            if mdp.has_costs:
                self.pruner.tally.add(atoms.prob, mdp.action_cost[rows])
            over, atoms = self.followed(h, atoms, rows)
            ended.append(over)
        return Atoms.together(ended)

    def followed(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms]:
        """What follows atoms that take these rows at a step: those whose rollouts are over, and the others."""
        atom, o = outcomes_of(self.mdp, rows)
        after = self.mdp.next_state[o].astype(np.int64)
        memory = None if atoms.memory is None else atoms.memory[atom] + self.units.remembered[o]
        place = (*(column[atom] for column in atoms.place[:-1]), after)
        there = Atoms(place, atoms.value[atom] + self._reward[o], memory, atoms.prob[atom] * self.mdp.row_prob[o])
        self.outcomes += len(o)
        self.error += self._step_error
        over = (after == self.mdp.n_states) | (h + 1 == self.mdp.horizon)
        return there.at(over), self.merged(there.at(~over))

    def _remembered(self, atoms: Atoms) -> Amounts:
        """The return so far as the policy remembers it; anything will do where it remembers nothing."""
        if atoms.memory is not None:
            return Amounts(atoms.memory, self.units.memory)
        nothing = atoms.value.dtype.kind != "i"
        return Amounts(np.zeros(len(atoms.prob), np.int64) if nothing else atoms.value, self.units.memory)

    def _without_return(self, atoms: Atoms) -> Atoms:
        """Atoms whose rollout is given up: it is over, with a return below every other."""
        n = len(atoms.prob)
        memory = None if atoms.memory is None else np.full(n, NONE)
        return Atoms(atoms.place, np.full(n, self._nothing), memory, atoms.prob)


class Propagation(Walk):
    """Carries the distribution of (s, M, G) of a policy forward, with returns as they are."""

    def __init__(
        self,
        mdp: MDP,
        units: Units,
        tol: float,
        max_atoms: int,
        try_weight: float = 0.0,
    ) -> None:
        super().__init__(mdp, units, AtomPruner(mdp, tol, max_atoms, mdp.return_range[1], try_weight), units.reward)
        self._workers = Workers()

    def around(self, values: Ints) -> tuple[Floats, Floats]:
        """Floats around these returns [n]."""
        return self.units.true.floats_around(values)

    def nearest(self, values: Ints) -> Floats:
        """The floats nearest to these returns [n]."""
        return self.units.true.floats(values)

    def followed(self, h: int, atoms: Atoms, rows: Ints) -> tuple[Atoms, Atoms]:
        """The same by tables of states and returns, one for each best return that rollouts began with.

        No atom of one meets one of another, so the cores share them. Where returns are few and far between, or memory
        differs from the truth, atoms are sorted instead.
        """
        mdp, tag = self.mdp, atoms.place[0]
        outcomes = count_outcomes(mdp, rows)
        if atoms.memory is not None or outcomes < TUNING.table_work:
            return super().followed(h, atoms, rows)
        begin, low, high = stopping.run(kernels.spans, mdp.outcome_start, self._reward, rows, tag, atoms.value)
        widths: Floats = high.astype(np.float64) - low + 1
        if (mdp.n_states + 1) * widths.sum() > TUNING.table_cells * outcomes:
            return super().followed(h, atoms, rows)

        def follow(first: int, end: int) -> kernels.Followed:
            return kernels.follow_atoms(
                *(mdp.outcome_start, mdp.next_state, mdp.row_prob, self._reward, mdp.n_states, h + 1 == mdp.horizon),
                *(rows, tag, atoms.value, atoms.prob, begin, low, high, first, end, stopping.current().flag),
            )

        parts = min(2 * self._workers.threads, outcomes // TUNING.table_work)
        cuts = np.searchsorted(begin, np.linspace(0, len(rows), parts + 1)).tolist()
        followed = self._workers.map(follow, cuts[:-1], cuts[1:])
        *columns, most = zip(*followed, strict=True)
        tags, states, values, prob, ended_tags, ended_values, ended_prob = (np.concatenate(one) for one in columns)
        self.outcomes += outcomes
        self.error += self._step_error + max(most) * ROUNDING
        ended = Atoms((ended_tags, np.full(len(ended_tags), mdp.n_states)), ended_values, None, ended_prob)
        return ended, Atoms((tags, states), values, None, prob)

    def laws(self, bests: Atoms) -> Laws:
        """The law of the best return at the end, with what was dropped at its least and at its greatest."""
        values, prob, sides = self.around(bests.value), [bests.prob] * 2, (0, 1)
        return Laws(*self._workers.map(self.pruner.law, values, prob, sides))


def _places(grid: Any, values: Any) -> Ints:
    """Where values [n] lie in a grid that has them all."""
    return np.searchsorted(grid, values)  # pyright: ignore[reportUnknownVariableType]


def rows_taken(mdp: MDP, i: int, h: int, state: Ints, action: Ints) -> Ints:
    """The row of each atom's action [n], if its state offers that."""
    rows = kernels.rows_of_actions(mdp.step(h).first_row, mdp.action, state, action)
    if rows.min(initial=0) < 0:
        k = int(np.argmin(rows))
        raise not_offered(mdp, i, h, int(state[k]), int(action[k]))
    return rows


def not_offered(mdp: MDP, i: int, h: int, state: int, action: int) -> InputError:
    """The error of a policy that takes an action which its state does not offer."""
    return InputError(
        f"the policy's action at (rollout {i}, step {h}, state {state}) is {action}: "
        f"expected one of {mdp.actions(h, state)}"
    )


def count_outcomes(mdp: MDP, rows: Ints) -> int:
    """How many outcomes these rows [n] have."""
    return int((mdp.outcome_start[rows + 1] - mdp.outcome_start[rows]).sum())


def outcomes_of(mdp: MDP, rows: Ints) -> tuple[Ints, Ints]:
    """All outcomes of these rows [n]: for each of them the place of its row, and the outcome."""
    sizes = mdp.outcome_start[rows + 1] - mdp.outcome_start[rows]
    atom = np.repeat(np.arange(len(rows)), sizes)
    return atom, np.arange(len(atom)) - np.repeat(np.cumsum(sizes) - sizes - mdp.outcome_start[rows], sizes)


def neighbours(columns: tuple[Any, ...]) -> tuple[Ints, Ints]:
    """An order in which equal rows of these columns [n] stand side by side, and where each new one starts in it."""
    whole = all(column.dtype.kind == "i" for column in columns)
    spans = [int(column.max()) - int(column.min()) + 1 for column in columns] if whole else [2**62]
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
