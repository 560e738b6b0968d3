"""Evaluation in floats: the distribution of (s, M, G) carried forward, the likeliest atoms of it.

Returns are whole numbers of a unit, so atoms that agree do so exactly and the policy is asked at the true returns: its
value can jump with them. Probabilities are floats whose error is counted. What is dropped is charged: its rollouts may
still end anywhere between the least and the greatest possible best return, so there are two laws, and the true one
lies between them (in the order of distribution functions).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.checks import shown
from maxatk.errors import InputError
from maxatk.evaluation.law import Law, law_of
from maxatk.mdp import MDP
from maxatk.policies import CompressedPolicy
from maxatk.returns import NONE, Amounts, Scale, common_scale
from maxatk.rows import Floats, Ints

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

    @classmethod
    def of(cls, mdp: MDP, policy: CompressedPolicy) -> "Units | None":
        """None where returns do not fit into 64 bits."""
        if mdp.exact_reward is None:
            floats, places = np.unique(mdp.reward, return_inverse=True)
            rewards = [Fraction(r) for r in floats.tolist()]
        else:
            order = {r: j for j, r in enumerate(dict.fromkeys(mdp.exact_reward))}
            rewards, places = list(order), np.array([order[r] for r in mdp.exact_reward])
        remembered = [policy.remembered(r) for r in rewards]
        true = common_scale([*rewards, policy.best_so_far], mdp.horizon + 1)
        memory = common_scale([*remembered, policy.best_so_far], mdp.horizon + 1)
        if true is None or memory is None:
            return None
        units = np.array([true.units(r) for r in rewards], np.int64)[places]
        if remembered == rewards:
            return cls(true, units, true, units)
        return cls(true, units, memory, np.array([memory.units(r) for r in remembered], np.int64)[places])

    @property
    def rounds(self) -> bool:
        """Whether the policy remembers other rewards than the true ones."""
        return self.remembered is not self.reward


class Bests(NamedTuple):
    """The distribution of the best return when a rollout starts: true, as the policy remembers it, and with what
    probability."""

    true: Ints  # [n] in units
    remembered: Ints  # [n]
    prob: Floats  # [n]


class Propagation:
    """Carries the distribution of (s, M, G) of a policy forward, rollout by rollout.

    Args:
        mdp: the problem.
        units: how its returns are counted.
        tol: how much of the width of the interval around the value each step may cost.
        max_atoms: how many atoms are kept.
    """

    def __init__(self, mdp: MDP, units: Units, tol: float, max_atoms: int) -> None:
        self.mdp, self.units, self._tol, self._max_atoms = mdp, units, tol, max_atoms
        rows = np.add.reduceat(mdp.prob, mdp.outcome_start[:-1])
        sizes = np.diff(mdp.outcome_start)
        self._prob = mdp.prob / np.repeat(rows, sizes)
        self._step_error = (int(sizes.max()) + 4) * ROUNDING  # of an outcome's probability, and of taking it
        self.error = (len(mdp.start_prob) + 4) * ROUNDING  # relative, of every probability carried so far
        self.outcomes = 0  # followed so far
        self.left_out = False  # whether atoms were dropped that matter
        self.dropped: list[tuple[Floats, Floats, Floats]] = []  # (least, greatest, prob) of the final best

    def rollout(self, policy: CompressedPolicy, i: int, bests: Bests, later: bool) -> Bests:
        """The distribution of the best return after rollout ``i``; ``later`` says whether others follow."""
        mdp, units = self.mdp, self.units
        S, H = mdp.n_states, mdp.horizon
        rule = policy.rule(i, Amounts(bests.remembered, units.memory))
        n, starts = len(bests.prob), len(mdp.start_state)
        tag = np.repeat(np.arange(n), starts)
        state = np.tile(mdp.start_state.astype(np.int64), n)
        true = np.zeros(n * starts, np.int64)
        remembered = true
        prob: Floats = (bests.prob[:, None] * (mdp.start_prob / mdp.start_prob.sum())).ravel()
        ended: list[tuple[Ints, Ints, Ints, Floats]] = []
        for h in range(H):
            kept = self._keep(bests, later, h, tag, state, true, prob)
            if kept is not None:
                tag, state, true, prob = tag[kept], state[kept], true[kept], prob[kept]
                remembered = remembered[kept] if units.rounds else true
            if not len(prob):
                break
            action = rule(h, tag, state, Amounts(remembered, units.memory))
            node = int(mdp.step_layer[h]) * S
            rows = kernels.rows_of_actions(mdp.pair_start, mdp.action, node, state, action)
            if rows.min() < 0:
                k = int(np.argmin(rows))
                raise InputError(
                    f"the policy's action at (rollout {i}, step {h}, state {state[k]}) is {shown(int(action[k]))}: "
                    f"expected one of {mdp.actions(h, int(state[k]))}"
                )
            # Every outcome of every atom.
            sizes = mdp.outcome_start[rows + 1] - mdp.outcome_start[rows]
            atom = np.repeat(np.arange(len(rows)), sizes)
            o = np.arange(len(atom)) - np.repeat(np.cumsum(sizes) - sizes - mdp.outcome_start[rows], sizes)
            self.outcomes += len(o)
            self.error += self._step_error
            tag, state, prob = tag[atom], mdp.next_state[o].astype(np.int64), prob[atom] * self._prob[o]
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
        order = _order(columns)
        new = np.zeros(len(prob), np.bool_)
        new[0] = True
        for column in columns:
            ranked = column[order]
            new[1:] |= ranked[1:] != ranked[:-1]
        starts = np.flatnonzero(new)
        self.error += int(np.diff(starts, append=len(prob)).max()) * ROUNDING
        return order[starts], np.add.reduceat(prob[order], starts)

    def _keep(self, bests: Bests, later: bool, h: int, tag: Ints, state: Ints, true: Ints, prob: Floats) -> Ints | None:
        """Which atoms to keep, None for all of them; the others are charged."""
        least, most = self.mdp.return_range
        best = self.units.true.floats(bests.true)[tag]
        so_far = self.units.true.floats(true)
        low = np.maximum(best, np.nextafter(so_far + self.mdp.least[h, state], -math.inf))
        high = np.maximum(best, np.nextafter(so_far + self.mdp.most[h, state], math.inf))
        if later:
            low, high = np.maximum(low, least), np.maximum(high, most)
        cost = prob * (high - low)
        # Whatever costs less than an equal share of the tolerance, none of it worth following, goes.
        going = cost <= self._tol / len(prob)
        if len(prob) - np.count_nonzero(going) > self._max_atoms:
            going[np.argpartition(cost, len(cost) - self._max_atoms)[: len(cost) - self._max_atoms]] = True
        if not going.any():
            return None
        self.left_out |= bool(cost[going].any())
        self.dropped.append((low[going], high[going], prob[going]))
        return np.flatnonzero(~going)

    def laws(self, bests: Bests) -> Laws:
        """The law of the best return at the end, with what was dropped at its least and at its greatest."""
        values = self.units.true.floats(bests.true)
        if not self.dropped:
            law = law_of(values, bests.prob)
            return Laws(law, law)
        low, high, prob = (np.concatenate(column) for column in zip(*self.dropped, strict=True))
        probs = np.concatenate([bests.prob, prob])
        return Laws(law_of(np.concatenate([values, low]), probs), law_of(np.concatenate([values, high]), probs))


def start(units: Units, policy: CompressedPolicy) -> Bests:
    """The best return before the first rollout; none, where rollouts are independent."""
    if policy.independent:
        return Bests(np.array([NONE]), np.array([NONE]), np.ones(1))
    first = policy.best_so_far
    return Bests(np.array([units.true.units(first)]), np.array([units.memory.units(first)]), np.ones(1))


def _order(columns: tuple[Ints, ...]) -> Ints:
    """An order in which equal rows are neighbours."""
    spans = [int(column.max()) - int(column.min()) + 1 for column in columns]
    if math.prod(spans) >= 2**62:
        return np.lexsort(columns)
    key = np.zeros(len(columns[0]), np.int64)
    for column, span in zip(columns, spans, strict=True):
        key = key * span + (column - column.min())
    return np.argsort(key, kind="stable")
