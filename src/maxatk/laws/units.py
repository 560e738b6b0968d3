"""Rewards as whole numbers of a unit, for exact sums: the true ones, and those that a policy remembers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxatk.base.returns import Scale, common_scale, finest_part
from maxatk.base.types import Floats, Ints, Number
from maxatk.policies import Policy, hooks
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.mdp import MDP


@dataclass(frozen=True)
class Units:
    """The rewards of a problem as whole numbers of a unit: the true ones, and those that a policy remembers."""

    error: ClassVar[float] = 0.0  # how much the law of returns that are counted in units may be off

    true: Scale
    reward: Ints  # [T]
    memory: Scale
    remembered: Ints  # [T]; the same array where a policy remembers the true rewards
    whole_memory: bool  # whether what is remembered fits into 64 bits; if not, it is rounded to a unit in which it does
    carries_memory: bool = False  # whether the policy remembers a return, and not the true one
    sees_true_best: bool = False  # whether the best return that it knows is the true one all the same

    @staticmethod
    def of(mdp: MDP, policy: Policy, best: Number = -math.inf) -> "Units":
        """The units of a problem for a policy; ``best`` is one more return that must be counted."""
        amount = policy.best_so_far if best == -math.inf else best
        return Units._for(mdp, policy, Incumbent(amount, *mdp.return_range))

    @staticmethod
    def after(mdp: MDP, policy: Policy, at: CompressedHistory) -> "Units":
        """The units from a moment of a trial on, for a policy that remembers the true returns or none."""
        (least, most), so_far = mdp.return_range, Fraction(at.so_far)
        lowest, highest = (mdp.horizon * Fraction(float(r)) for r in (mdp.reward.min(), mdp.reward.max()))
        least, most = min(least, so_far + min(lowest, 0)), max(most, so_far + max(highest, 0))
        return Units._for(mdp, policy, Incumbent(at.best, least, most, so_far))

    @staticmethod
    def _for(mdp: MDP, policy: Policy, incumbent: "Incumbent") -> "Units":
        true, units, whole = _counted(mdp, incumbent)
        kind = Units if whole else RoundedUnits
        memory_of = hooks.traits(policy).memory
        if memory_of is None:
            return kind(true, units, true, units, whole)
        if memory_of is hooks.no_memory:
            return kind(true, units, true, np.zeros(len(units), np.int64), whole_memory=True)
        rewards, places = _different_rewards(mdp)
        remembered = [memory_of(r) for r in rewards]
        known = Incumbent(incumbent.amount, mdp.horizon * min(*remembered, 0), mdp.horizon * max(*remembered, 0))
        memory, whole_memory = known.scale(remembered, mdp.horizon)
        in_memory = np.array([memory.multiple(r) for r in remembered], np.int64)[places]
        in_rounds = bool(hooks.widths(policy))
        return kind(true, units, memory, in_memory, whole_memory, carries_memory=True, sees_true_best=in_rounds)

    @property
    def best(self) -> Scale:
        """What the best return that the policy knows is counted in."""
        return self.true if self.sees_true_best else self.memory

    @property
    def rounds(self) -> bool:
        """Whether the policy remembers other rewards than the true ones."""
        return self.remembered is not self.reward

    def rewards(self, mdp: MDP) -> Any:
        """[T] the rewards whose sums are the true returns of trials."""
        return self.reward

    def floats(self, returns: Any) -> Floats:
        """The true returns [n] of trials as floats."""
        return self.true.floats(returns)

    def counted(self, returns: Any, remembered: Ints) -> Ints:
        """The returns [n] of trials in units."""
        return returns


class RoundedUnits(Units):
    """Units for true returns that do not fit into 64 bits: they are rounded, and trials add up floats."""

    error = math.inf  # a policy that was asked at rounded returns may have acted otherwise than it does

    def rewards(self, mdp: MDP) -> Floats:
        """[T] the rewards themselves."""
        return mdp.reward

    def floats(self, returns: Floats) -> Floats:
        """The returns [n] themselves."""
        return returns

    def counted(self, returns: Floats, remembered: Ints) -> Ints:
        """Those that are remembered."""
        return remembered


_ONE, _NONE = Scale(Fraction(1)), np.zeros(0, np.int64)
NO_UNITS = Units(_ONE, _NONE, _ONE, _NONE, whole_memory=True)  # for walks that ask no policy


def countable(policy: Policy, units: Sequence[Units]) -> bool:
    """Whether all that a policy remembers can be counted in 64 bits, as nearly as it must know it.

    ``units`` are those of its components; a policy without any remembers more than numbers.
    """
    exact_best = hooks.may_stop(policy) or bool(hooks.widths(policy))
    return bool(units) and all(
        own.true.unit <= hooks.traits(component.policy).resolution
        or (own.whole_memory and (not own.error or not exact_best))
        for component, own in zip(hooks.mixture(policy), units, strict=True)
    )


class Incumbent(NamedTuple):
    """A best return before the first rollout, and what returns are at least and at most."""

    amount: Number
    least: Number
    most: Number
    so_far: Number = 0  # what the first rollout has already

    def scale(self, amounts: Iterable[Number], horizon: int) -> tuple[Scale, bool]:
        """A scale for sums of these amounts and for the incumbent; and whether all are multiples of its unit."""
        none = self.amount if self.amount <= self.least else -math.inf
        beyond = self.amount if self.amount >= self.most else math.inf
        inside = [self.amount] if self.least < self.amount < self.most else []
        scale, whole = common_scale([*amounts, *inside, self.so_far], horizon + 1)
        return Scale(scale.unit, none, beyond), whole


def _counted(mdp: MDP, incumbent: Incumbent) -> tuple[Scale, Ints, bool]:
    """The rewards [T] as whole numbers of a unit in which returns and the incumbent fit, and whether they are."""
    if mdp.exact_reward is None:
        # Floats in bulk: two numbers stand for all of them, the finest part and the largest.
        largest = float(np.abs(mdp.reward).max())
        scale, whole = incumbent.scale([finest_part(mdp.reward), largest], mdp.horizon)
        if scale.power is not None:  # but for an incumbent that is a fraction
            return scale, np.rint(np.ldexp(mdp.reward, -scale.power)).astype(np.int64), whole
    rewards, places = _different_rewards(mdp)
    scale, whole = incumbent.scale(rewards, mdp.horizon)
    return scale, np.array([scale.multiple(r) for r in rewards], np.int64)[places], whole


def _different_rewards(mdp: MDP) -> tuple[list[Fraction], Ints]:
    """The rewards without repetition, and which of them each outcome [T] pays."""
    if mdp.exact_reward is None:
        floats, places = np.unique(mdp.reward, return_inverse=True)
        return [Fraction(r) for r in floats.tolist()], places.astype(np.int64)
    order = {r: j for j, r in enumerate(dict.fromkeys(mdp.exact_reward))}
    return list(order), np.array([order[r] for r in mdp.exact_reward])
