"""Evaluation in floats: laws of the best return, and how far they may be off."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from maxatk.base.types import Number
from maxatk.evaluation.bins import binned
from maxatk.evaluation.law import Law, best_of, in_floats, mixed
from maxatk.evaluation.propagation import ROUNDING, Laws, Propagation
from maxatk.evaluation.units import Units
from maxatk.policies import CompressedPolicy, Lot, Policy
from maxatk.problem.mdp import MDP


@dataclass(frozen=True)
class Carried:
    """What floats say of a law, carried forward under a policy."""

    laws: Laws  # whose expected bests bound the true one, but for rounding
    error: float  # of the distribution functions
    outcomes: int  # followed
    left_out: bool  # whether there were others that matter
    shift: float = 0.0  # how far values may be from where they belong
    drift: float = 0.0  # of the expected best, from rounding in the values
    span: float = 0.0  # how far values may be apart whose chances are too small for floats

    def bounds(self) -> tuple[float, float]:
        """Bounds on the expected best."""
        low, high = self.laws
        if math.isinf(self.error):
            return -math.inf, math.inf

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return max(law.range, self.span) * self.error + 8 * ROUNDING * largest + self.drift

        return low.mean - slack(low), high.mean + slack(high)


def carry(mdp: MDP, policy: Policy, tol: float, max_atoms: int) -> Carried:
    """The law of the best return of a policy that has parts; each step may cost ``tol`` of the width of its value."""
    lots = policy.lots()
    if lots is None:
        (part,) = policy.parts
        return _carry(mdp, part, None, tol, max_atoms)
    parts = {(id(part), i): part for lot in lots for part, i in lot.parts}
    returns = {key: _carry(mdp, part, key[1], tol, max_atoms) for key, part in parts.items()}
    return _independent([(_of_lot(lot, returns), lot.times) for lot in lots], policy.best_so_far)


def _of_lot(lot: Lot, returns: Mapping[tuple[int, int], Carried]) -> Carried:
    """The law of the return of a rollout, from those of its parts."""
    laws = [returns[id(part), i] for part, i in lot.parts]
    return laws[0] if lot.weights is None else _mixed(laws, [float(w) for w in lot.weights])


def _carry(mdp: MDP, policy: CompressedPolicy, i: int | None, tol: float, max_atoms: int) -> Carried:
    """The law of the best return; with ``i``, of the return of that one rollout.

    Atoms as they are; where they are too many, or have too many digits, in bins, if the policy's memory allows it.
    """
    units = Units.of(mdp, policy)
    in_bins = units.rounds and units.whole_memory
    walk = Propagation(mdp, units, tol, max_atoms)
    walk.may_overflow = not in_bins
    bests = walk.first(policy.best_so_far if i is None else -math.inf)
    for j in range(policy.k) if i is None else [i]:
        if not len(bests.prob) or (in_bins and (walk.sieve.overflowed or not units.whole)):
            break
        bests = walk.rollout(policy, j, bests, later=i is None and j + 1 < policy.k)
    if in_bins and (walk.sieve.overflowed or not units.whole):
        bins = binned(mdp, policy, i, units, tol, max_atoms)
        return Carried(bins.laws, bins.error + _summing(*bins.laws), bins.outcomes, True, bins.shift, bins.drift)
    laws = walk.laws(bests)
    # A policy that was asked at rounded returns may have acted otherwise than it does: nothing is certain then.
    error = walk.error + _summing(*laws) if units.whole else math.inf
    return Carried(laws, error, walk.outcomes, walk.sieve.left_out or not units.whole)


def _mixed(parts: list[Carried], weights: list[float]) -> Carried:
    """The law of a draw from one of several."""
    laws = Laws(*(mixed([part.laws[side] for part in parts], weights) for side in (0, 1)))
    return Carried(
        laws,
        max(part.error for part in parts) + (len(parts) + 2) * ROUNDING,
        sum(part.outcomes for part in parts),
        any(part.left_out for part in parts),
        max(part.shift for part in parts),
        max(part.drift for part in parts),
    )


def _independent(rollouts: list[tuple[Carried, int]], best_so_far: Number) -> Carried:
    """The law of the best of independent rollouts: a product of distribution functions.

    With every function in [0, 1], errors add up. The expected best is monotone, and convex, in each return.
    """
    in_hand = () if best_so_far == -math.inf else in_floats({best_so_far: Fraction(1)})
    sides = [
        [*((returns.laws[side], times) for returns, times in rollouts), *((law, 1) for law in in_hand[side:][:1])]
        for side in (0, 1)
    ]
    laws = Laws(*(best_of(side) for side in sides))
    low = max(float(law.values[0]) for law, _ in sides[0])  # with however small a chance
    return Carried(
        laws,
        sum(times * (returns.error + 2 * ROUNDING) for returns, times in rollouts) + _summing(*laws),
        sum(returns.outcomes for returns, _ in rollouts),
        any(returns.left_out for returns, _ in rollouts),
        max(returns.shift for returns, _ in rollouts),
        sum(times * returns.drift for returns, times in rollouts),
        float(laws.high.values[-1]) - low,
    )


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING
