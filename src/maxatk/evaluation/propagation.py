"""Evaluation in floats: the distribution of (s, M, G) carried forward, the likeliest atoms of it.

Returns are whole numbers of a unit, so atoms that agree do so exactly and the policy is asked at the true returns: its
value can jump with them. Probabilities are floats whose error is counted. What is dropped is charged: its rollouts may
still end anywhere between the least and the greatest possible best return, so there are two laws, and the true one
lies between them (in the order of distribution functions).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxatk.base import stopping
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts, Scale, common_scale, finest_part
from maxatk.base.types import Floats, Ints, Number
from maxatk.evaluation.law import Law, law_of
from maxatk.policies import CompressedPolicy
from maxatk.problem.mdp import MDP

ROUNDING = 2.0**-53


class Laws(NamedTuple):
    """What is known of a law: it lies between two."""

    low: Law  # what was dropped counted at its least
    high: Law  # and at its greatest


@dataclass(frozen=True)
class Units:
    """The rewards of a problem as whole numbers of a unit: the true ones, and those that a policy remembers."""

    true: Scale
    reward: Ints  # [T]
    memory: Scale
    remembered: Ints  # [T]; the same array where a policy remembers the true rewards
    exact: bool  # whether true returns fit into 64 bits; if not, they are rounded to a unit in which they do
    exact_memory: bool  # the same of what is remembered

    @classmethod
    def of(cls, mdp: MDP, policy: CompressedPolicy, best: Number = -math.inf) -> "Units":
        """The units of a problem for a policy; ``best`` is one more return that must be counted."""
        in_hand = policy.best_so_far if best == -math.inf else best
        true, units, exact = _counted(mdp, InHand(in_hand, *mdp.return_range))
        if policy.memory == "rewards":
            return cls(true, units, true, units, exact, exact)
        if policy.memory == "nothing":
            return cls(true, units, true, np.zeros(len(units), np.int64), exact, True)
        rewards, places = _different_rewards(mdp)
        remembered = [policy.remembered(r) for r in rewards]
        known = InHand(in_hand, mdp.horizon * min(*remembered, 0), mdp.horizon * max(*remembered, 0))
        memory, exact_memory = known.scale(remembered, mdp.horizon)
        in_memory = np.array([memory.units(r) for r in remembered], np.int64)[places]
        return cls(true, units, memory, in_memory, exact, exact_memory)

    @property
    def rounds(self) -> bool:
        """Whether the policy remembers other rewards than the true ones."""
        return self.remembered is not self.reward


class InHand(NamedTuple):
    """A return in hand, and what returns are at least and at most."""

    amount: Number
    least: Number
    most: Number

    def scale(self, amounts: Iterable[Number], horizon: int) -> tuple[Scale, bool]:
        """A scale for sums of these amounts and for what is in hand; and whether all are multiples of its unit."""
        none = self.amount if self.amount <= self.least else -math.inf
        beyond = self.amount if self.amount >= self.most else math.inf
        inside = [self.amount] if self.least < self.amount < self.most else []
        scale, exact = common_scale([*amounts, *inside], horizon + 1)
        return Scale(scale.unit, none, beyond), exact


def _counted(mdp: MDP, in_hand: InHand) -> tuple[Scale, Ints, bool]:
    """The rewards [T] as whole numbers of a unit in which returns and what is in hand fit, and whether they are."""
    if mdp.exact_reward is None:
        # Floats in bulk: two numbers stand for all of them, the finest part and the largest.
        largest = float(np.abs(mdp.reward).max())
        scale, exact = in_hand.scale([finest_part(mdp.reward), largest], mdp.horizon)
        if scale.power is not None:  # but for a fraction in hand
            return scale, np.rint(np.ldexp(mdp.reward, -scale.power)).astype(np.int64), exact
    rewards, places = _different_rewards(mdp)
    scale, exact = in_hand.scale(rewards, mdp.horizon)
    return scale, np.array([scale.units(r) for r in rewards], np.int64)[places], exact


def _different_rewards(mdp: MDP) -> tuple[list[Fraction], Ints]:
    """The rewards without repetition, and which of them each outcome [T] pays."""
    if mdp.exact_reward is None:
        floats, places = np.unique(mdp.reward, return_inverse=True)
        return [Fraction(r) for r in floats.tolist()], places.astype(np.int64)
    order = {r: j for j, r in enumerate(dict.fromkeys(mdp.exact_reward))}
    return list(order), np.array([order[r] for r in mdp.exact_reward])


class Bests(NamedTuple):
    """The distribution of the best return when a rollout starts: true, as the policy remembers it, and with what
    probability."""

    true: Ints  # [n] in units
    remembered: Ints  # [n]
    prob: Floats  # [n]


class Sieve:
    """Keeps the atoms that matter most, and charges the others at the least and the greatest that they could become.

    Args:
        mdp: the problem.
        tol: how much of the width of the interval around the value each step may cost.
        max_atoms: how many atoms are kept.
        most: what no best return exceeds, but for one in hand; the ends of bins may lie beyond any.
    """

    def __init__(self, mdp: MDP, tol: float, max_atoms: int, most: float = math.inf) -> None:
        self._mdp, self._tol, self.max_atoms, self._most = mdp, tol, max_atoms, most
        self.left_out = False  # whether atoms were dropped that matter
        self.overflowed = False  # whether there were too many of them
        self._dropped: list[tuple[Floats, Floats, Floats]] = []  # (least, greatest, prob) of the final best

    def keep(
        self, h: int, state: Ints, best: tuple[Floats, Floats], so_far: Floats, prob: Floats, later: bool
    ) -> Ints | None:
        """Which atoms [n] to keep at step ``h``, None for all.

        ``best`` are floats around the best return; ``later`` says whether more rollouts follow.
        """
        least, most = self._mdp.return_range
        # The float of a return may be off by half a unit in its last place, its sum with another number by more.
        fewer, more = self._mdp.least[h, state], self._mdp.most[h, state]
        low = np.maximum(best[0], so_far + fewer - 2 * ROUNDING * (np.abs(so_far) + np.abs(fewer)))
        reach = so_far + more + 2 * ROUNDING * (np.abs(so_far) + np.abs(more))
        high = np.maximum(best[1], np.minimum(reach, self._most))
        if later:
            low, high = np.maximum(low, least), np.maximum(high, most)
        cost = prob * (high - low)
        # Whatever costs less than an equal share of the tolerance, none of it worth following, goes.
        going = cost <= self._tol / max(len(prob), 1)
        if len(prob) - np.count_nonzero(going) > self.max_atoms:
            self.overflowed = True
            going[np.argpartition(cost, len(cost) - self.max_atoms)[: len(cost) - self.max_atoms]] = True
        if not going.any():
            return None
        self.left_out |= bool(cost[going].any())
        self._dropped.append((low[going], high[going], prob[going]))
        return np.flatnonzero(~going)

    def law(self, values: Floats, prob: Floats, side: int) -> Law:
        """The law of atoms that were kept to the end [n], with the others at their least (0) or greatest (1)."""
        return law_of(
            np.concatenate([values, *(dropped[side] for dropped in self._dropped)]),
            np.concatenate([prob, *(dropped[2] for dropped in self._dropped)]),
        )


class Propagation:
    """Carries the distribution of (s, M, G) of a policy forward, rollout by rollout."""

    def __init__(self, mdp: MDP, units: Units, tol: float, max_atoms: int) -> None:
        self.mdp, self.units = mdp, units
        self.sieve = Sieve(mdp, tol, max_atoms, mdp.return_range[1])
        self._step_error = (int(np.diff(mdp.outcome_start).max()) + 4) * ROUNDING  # of an outcome's probability
        self.error = (len(mdp.start_prob) + 4) * ROUNDING  # relative, of every probability carried so far
        self.outcomes = 0  # followed so far
        self.may_overflow = True  # or else stop where there are too many atoms
        self.visits: Floats | None = None  # [S, A] how often actions are taken, if that is asked for
        self.worth_counting = -math.inf  # which a return must still be able to exceed for a visit to count

    def rollout(self, policy: CompressedPolicy, i: int, bests: Bests, later: bool) -> Bests:
        """The distribution of the best return after rollout ``i``; ``later`` says whether others follow."""
        mdp, units = self.mdp, self.units
        S, H = mdp.n_states, mdp.horizon
        rule = policy.rule(i, Amounts(bests.remembered, units.memory))
        below, above = units.true.floats_around(bests.true)
        n, starts = len(bests.prob), len(mdp.start_state)
        tag = np.repeat(np.arange(n), starts)
        state = np.tile(mdp.start_state.astype(np.int64), n)
        true = np.zeros(n * starts, np.int64)
        remembered = true
        prob: Floats = (bests.prob[:, None] * mdp.reset_prob).ravel()
        ended = [(tag[:0], true[:0], remembered[:0], prob[:0])]
        for h in range(H):
            stopping.check()
            kept = self.sieve.keep(h, state, (below[tag], above[tag]), units.true.floats(true), prob, later)
            if kept is not None:
                tag, state, true, prob = tag[kept], state[kept], true[kept], prob[kept]
                remembered = remembered[kept] if units.rounds else true
            if not len(prob) or (self.sieve.overflowed and not self.may_overflow):
                break
            action = rule(h, tag, state, Amounts(remembered, units.memory))
            rows = rows_taken(mdp, i, h, state, action)
            if self.visits is not None:
                A = mdp.n_actions
                open_still = units.true.floats(true) + mdp.most[h, state] > self.worth_counting
                counted = np.bincount(state * A + action, prob * open_still, mdp.n_states * A)
                self.visits += counted.reshape(mdp.n_states, A)
            atom, o = outcomes_of(mdp, rows)
            self.outcomes += len(o)
            self.error += self._step_error
            tag, state, prob = tag[atom], mdp.next_state[o].astype(np.int64), prob[atom] * mdp.row_prob[o]
            true = true[atom] + units.reward[o]
            remembered = remembered[atom] + units.remembered[o] if units.rounds else true
            over = (state == S) | (h + 1 == H)
            if over.any():
                ended.append((tag[over], true[over], remembered[over], prob[over]))
                going = ~over
                tag, state, true, prob = tag[going], state[going], true[going], prob[going]
                remembered = remembered[going] if units.rounds else true
            columns = (tag, state, true, remembered) if units.rounds else (tag, state, true)
            first, prob = self._merge(columns, prob)
            tag, state, true = tag[first], state[first], true[first]
            remembered = remembered[first] if units.rounds else true
        tag, true, remembered, prob = (np.concatenate(column) for column in zip(*ended, strict=True))
        best = np.maximum(bests.true[tag], true)
        memory = np.maximum(bests.remembered[tag], remembered) if units.rounds else best
        first, prob = self._merge((best, memory) if units.rounds else (best,), prob)
        return Bests(best[first], memory[first], prob)

    def _merge(self, columns: tuple[Ints, ...], prob: Floats) -> tuple[Ints, Floats]:
        """Atoms that agree in all columns together: where the first of each lies, and their probabilities."""
        if not len(prob):
            return np.zeros(0, np.int64), prob
        order, starts = neighbours(columns)
        self.error += int(np.diff(starts, append=len(prob)).max()) * ROUNDING
        return order[starts], np.add.reduceat(prob[order], starts)

    def laws(self, bests: Bests) -> Laws:
        """The law of the best return at the end, with what was dropped at its least and at its greatest."""
        low, high = self.units.true.floats_around(bests.true)
        return Laws(self.sieve.law(low, bests.prob, 0), self.sieve.law(high, bests.prob, 1))


def first_best(units: Units, best: Number) -> Bests:
    """A best return that is known, or ``-inf``."""
    return Bests(np.array([units.true.units(best)]), np.array([units.memory.units(best)]), np.ones(1))


def rows_taken(mdp: MDP, i: int, h: int, state: Ints, action: Ints) -> Ints:
    """The row of each atom's action [n], if its state offers that."""
    rows = mdp.step(h).row_of(state, action)
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
        order = np.lexsort(columns)
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for column in columns:
        ranked = column[order]
        new[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(new)
