"""Rewards as whole numbers of a unit, for exact sums: the true ones, and those that a policy remembers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxatk.base.returns import Scale, common_scale, finest_part
from maxatk.base.types import Ints, Number
from maxatk.policies import CompressedPolicy, Policy
from maxatk.problem.mdp import MDP


@dataclass(frozen=True)
class Units:
    """The rewards of a problem as whole numbers of a unit: the true ones, and those that a policy remembers."""

    true: Scale
    reward: Ints  # [T]
    memory: Scale
    remembered: Ints  # [T]; the same array where a policy remembers the true rewards
    whole: bool  # whether true returns fit into 64 bits; if not, they are rounded to a unit in which they do
    whole_memory: bool  # the same of what is remembered

    @classmethod
    def of(cls, mdp: MDP, policy: CompressedPolicy, best: Number = -math.inf) -> "Units":
        """The units of a problem for a policy; ``best`` is one more return that must be counted."""
        in_hand = policy.best_so_far if best == -math.inf else best
        true, units, whole = _counted(mdp, InHand(in_hand, *mdp.return_range))
        if policy.memory == "rewards":
            return cls(true, units, true, units, whole, whole)
        if policy.memory == "nothing":
            return cls(true, units, true, np.zeros(len(units), np.int64), whole, True)
        rewards, places = _different_rewards(mdp)
        remembered = [policy.remembered(r) for r in rewards]
        known = InHand(in_hand, mdp.horizon * min(*remembered, 0), mdp.horizon * max(*remembered, 0))
        memory, whole_memory = known.scale(remembered, mdp.horizon)
        in_memory = np.array([memory.multiple(r) for r in remembered], np.int64)[places]
        return cls(true, units, memory, in_memory, whole, whole_memory)

    @property
    def rounds(self) -> bool:
        """Whether the policy remembers other rewards than the true ones."""
        return self.remembered is not self.reward


def counted(policy: Policy, units: Sequence[Units]) -> bool:
    """Whether all that a policy remembers can be counted in 64 bits, as nearly as it must know it.

    ``units`` are those of its parts; a policy without parts remembers more than numbers.
    """
    return bool(units) and all(
        part.may_round(own.true.unit) or (own.whole_memory and (own.whole or not policy.may_stop))
        for part, own in zip(policy.parts, units, strict=True)
    )


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
        scale, whole = common_scale([*amounts, *inside], horizon + 1)
        return Scale(scale.unit, none, beyond), whole


def _counted(mdp: MDP, in_hand: InHand) -> tuple[Scale, Ints, bool]:
    """The rewards [T] as whole numbers of a unit in which returns and what is in hand fit, and whether they are."""
    if mdp.exact_reward is None:
        # Floats in bulk: two numbers stand for all of them, the finest part and the largest.
        largest = float(np.abs(mdp.reward).max())
        scale, whole = in_hand.scale([finest_part(mdp.reward), largest], mdp.horizon)
        if scale.power is not None:  # but for a fraction in hand
            return scale, np.rint(np.ldexp(mdp.reward, -scale.power)).astype(np.int64), whole
    rewards, places = _different_rewards(mdp)
    scale, whole = in_hand.scale(rewards, mdp.horizon)
    return scale, np.array([scale.multiple(r) for r in rewards], np.int64)[places], whole


def _different_rewards(mdp: MDP) -> tuple[list[Fraction], Ints]:
    """The rewards without repetition, and which of them each outcome [T] pays."""
    if mdp.exact_reward is None:
        floats, places = np.unique(mdp.reward, return_inverse=True)
        return [Fraction(r) for r in floats.tolist()], places.astype(np.int64)
    order = {r: j for j, r in enumerate(dict.fromkeys(mdp.exact_reward))}
    return list(order), np.array([order[r] for r in mdp.exact_reward])
