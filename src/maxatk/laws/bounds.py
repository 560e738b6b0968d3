"""Bounds on the law of the best return under a policy, in floats, and how far they may be off."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from maxatk.base.errors import InputError
from maxatk.base.intervals import down, up
from maxatk.base.returns import NONE
from maxatk.base.types import Number
from maxatk.laws.bins import InBins
from maxatk.laws.forward import GIVING_PARTS, NO_RETURN, Atoms, Laws, Propagation
from maxatk.laws.law import Law, best_of, in_floats, mixture_of
from maxatk.laws.pruning import ROUNDING, AtomPruner, CostTally, TooManyAtomsError
from maxatk.laws.units import Units
from maxatk.policies import CompressedPolicy, Policy, hooks
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.utility import Utility


class GivesUpError(Exception):
    """A rollout was given up whose return was asked for."""


@dataclass(frozen=True)
class LawBounds:
    """What floats say of the law of the best return under a policy."""

    laws: Laws  # whose expected bests bound the true one, but for rounding
    error: float  # of the distribution functions
    outcomes: int  # followed
    left_out: bool  # whether there were others that matter
    shift: float = 0.0  # how far values may be from where they belong
    drift: float = 0.0  # of the expected best, from rounding in the values
    span: float = 0.0  # how far values may be apart whose chances are too small for floats
    tally: CostTally = field(default_factory=CostTally)  # what is spent on average

    def bounds(self) -> tuple[float, float]:
        """Bounds on the expected best."""
        low, high = self.laws
        if math.isinf(self.error):
            return -math.inf, math.inf

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return max(law.range, self.span) * self.error + 8 * ROUNDING * largest + self.drift

        return low.mean - slack(low), high.mean + slack(high)

    def utility_bounds(self, utility: Utility) -> tuple[float, float]:
        """Bounds on the expected utility of the best: the law of utilities is that of values, put through it."""
        if math.isinf(self.error):
            return -math.inf, math.inf
        low, high = (Law(utility.of_values(law.values)[side], law.probs) for side, law in enumerate(self.laws))
        steepest = up(float(utility.steepest(up(float(self.laws.high.values[-1]) + self.shift))))

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return max(law.range, steepest * self.span) * self.error + 8 * ROUNDING * largest + steepest * self.drift

        return down(low.mean - up(slack(low))), up(high.mean + up(slack(high)))

    def costs(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds on the expected number of rollouts, and on what their rows cost on average."""
        error = self.error + (self.tally.sums + 8) * ROUNDING
        if math.isinf(error):
            return (0.0, math.inf), (0.0, math.inf)
        counted, more = self.tally.amounts[:2], self.tally.amounts[2:]
        tries, rows = zip(counted * (1 - error), counted * (1 + error) + more * (1 + error), strict=True)
        return (float(tries[0]), float(tries[1])), (float(rows[0]), float(rows[1]))


def propagate(problem: DecisionProblem, policy: Policy, tol: float, max_atoms: int) -> LawBounds:
    """The law of the best return of a policy that is a mixture; each step may cost ``tol`` of the width of its value.

    All cores are at work on it.
    """
    rollouts = hooks.different_rollouts(policy)
    law = partial(_law, problem, tol, max_atoms)
    if rollouts is not None:
        try:
            parts = {(id(one.policy), one.rollout): one for components, _ in rollouts for one in components}
            returns = {key: law(one.policy, one.rollout) for key, one in parts.items()}
        except GivesUpError:
            if not isinstance(policy, CompressedPolicy):
                raise InputError(GIVING_PARTS) from None
        else:
            mixed = [(_mixed(components, returns), times) for components, times in rollouts]
            return _independent(mixed, policy.best_so_far)
    return law(policy, None)


def propagate_from(
    problem: DecisionProblem, policy: CompressedPolicy, at: CompressedHistory, tol: float, max_atoms: int
) -> LawBounds:
    """The law of the best return from a moment of a trial on, under a policy that remembers true returns or none.

    Only what is to come is in its costs: neither the rollout that is under way nor what its rows have cost.
    """
    rollouts = hooks.different_rollouts(policy)
    if rollouts is not None:
        left = range(at.rollout + 1, policy.k)
        different = left[:1] if len(rollouts) == 1 else left
        with suppress(GivesUpError):
            present = _law_from(problem, tol, max_atoms, policy, at, alone=True)
            later = [(_law(problem, tol, max_atoms, policy, i), len(left) // len(different)) for i in different]
            return _independent([(present, 1), *later], at.best)
    return _law_from(problem, tol, max_atoms, policy, at, alone=False)


def _law_from(
    problem: DecisionProblem,
    tol: float,
    max_atoms: int,
    policy: CompressedPolicy,
    at: CompressedHistory,
    alone: bool,
) -> LawBounds:
    """The law of the best return from a moment on; ``alone``, of the return of the rollout that is under way."""
    units = Units.after(problem.mdp, policy, at)
    walk = Propagation(problem.mdp, units, tol, max_atoms)
    # What the rollout has already may lift its return beyond those of whole ones.
    walk.pruner = AtomPruner(problem.mdp, tol, max_atoms, try_weight=_try_weight(problem, policy))
    bests = walk.returns_from(policy, at) if alone else walk.trials_from(policy, at)
    if alone and (bests.value == NONE).any():
        raise GivesUpError
    if (bests.value == NONE).any() and at.best == -math.inf:
        raise InputError(NO_RETURN)
    return _bounds(walk, bests)


def _law(problem: DecisionProblem, tol: float, max_atoms: int, policy: Policy, i: int | None) -> LawBounds:
    """The law of the best return; with ``i``, of the return of that one rollout.

    Atoms as they are; where they are too many, or have too many digits, in bins, if the policy's memory allows it.
    """
    mdp = problem.mdp
    units, may_stop = Units.of(mdp, policy), hooks.may_stop(policy)
    # Whether a trial stops depends on the true best return, so that its value is not convex in it.
    may_bin = units.rounds and units.whole_memory and (i is not None or not may_stop) and not hooks.widths(policy)
    try_weight = _try_weight(problem, policy)
    walk = Propagation(mdp, units, tol, max_atoms, try_weight)
    walk.pruner.refuses = may_bin
    try:
        if may_bin and units.error:
            raise TooManyAtomsError
        bests = walk.bests(policy, i)
    except TooManyAtomsError:
        pruners = (AtomPruner(mdp, tol, max_atoms, try_weight=try_weight) for _ in range(2))
        return in_bins(policy, i, [InBins(mdp, units, pruner, side > 0) for side, pruner in enumerate(pruners)])
    if (bests.value == NONE).any() and i is not None:
        raise GivesUpError
    if (bests.value == NONE).any() and policy.best_so_far == -math.inf:
        raise InputError(NO_RETURN)
    return _bounds(walk, bests)


def _bounds(walk: Propagation, bests: Atoms) -> LawBounds:
    """What a walk says of the law of its best returns, or of the returns of one rollout."""
    laws = walk.laws(bests)
    error = walk.error + _summing(*laws) + walk.units.error
    left_out = walk.pruner.left_out or walk.units.error > 0
    return LawBounds(laws, error, walk.outcomes, left_out, tally=walk.pruner.tally)


def _try_weight(problem: DecisionProblem, policy: Policy) -> float:
    """What each rollout counts as where atoms are dropped."""
    if not hooks.may_stop(policy):
        return problem.rollout_cost
    # The number of tries is asked for, too: what may change it much is followed.
    return max(problem.rollout_cost, 1e-3 * (problem.most - problem.least) or 1.0)


def in_bins(policy: Policy, i: int | None, walks: Sequence[InBins]) -> LawBounds:
    """The law of the best return, or of rollout ``i``, by a walk that bounds it from below and one from above."""
    bests = [walk.bests(policy, i) for walk in walks]
    low, high = (walks[side].pruner.law(bests[side].value, bests[side].prob, side) for side in (0, 1))
    return LawBounds(
        Laws(low, high),
        max(walk.error for walk in walks) + _summing(low, high),
        sum(walk.outcomes for walk in walks),
        left_out=True,
        shift=max(walk.shift for walk in walks),
        drift=max(walk.drift for walk in walks),
        tally=walks[0].pruner.tally,
    )


def _mixed(components: Sequence[hooks.Component], returns: Mapping[tuple[int, int], LawBounds]) -> LawBounds:
    """The law of the return of a rollout that follows one of several policies, drawn by weight, from their laws."""
    parts = [returns[id(one.policy), one.rollout] for one in components]
    if len(parts) == 1:
        return parts[0]
    weights = [float(one.weight) for one in components]
    laws = Laws(*(mixture_of([part.laws[side] for part in parts], weights) for side in (0, 1)))
    return LawBounds(
        laws,
        max(part.error for part in parts) + (len(parts) + 2) * ROUNDING,
        sum(part.outcomes for part in parts),
        any(part.left_out for part in parts),
        max(part.shift for part in parts),
        max(part.drift for part in parts),
        tally=CostTally.total([(part.tally, w) for part, w in zip(parts, weights, strict=True)]),
    )


def _independent(rollouts: list[tuple[LawBounds, int]], best_so_far: Number) -> LawBounds:
    """The law of the best of independent rollouts: a product of distribution functions.

    With every function in [0, 1], errors add up. The expected best is monotone, and convex, in each return.
    """
    incumbent = () if best_so_far == -math.inf else in_floats({best_so_far: Fraction(1)})
    sides = [
        [*((returns.laws[side], times) for returns, times in rollouts), *((law, 1) for law in incumbent[side:][:1])]
        for side in (0, 1)
    ]
    laws = Laws(*(best_of(side) for side in sides))
    low = max(float(law.values[0]) for law, _ in sides[0])  # with however small a chance
    return LawBounds(
        laws,
        sum(times * (returns.error + 2 * ROUNDING) for returns, times in rollouts) + _summing(*laws),
        sum(returns.outcomes for returns, _ in rollouts),
        any(returns.left_out for returns, _ in rollouts),
        max(returns.shift for returns, _ in rollouts),
        sum(times * returns.drift for returns, times in rollouts),
        float(laws.high.values[-1]) - low,
        CostTally.total([(returns.tally, times) for returns, times in rollouts]),
    )


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING
