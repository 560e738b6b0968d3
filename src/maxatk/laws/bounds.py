"""Bounds on the law of the best return under a policy, in floats, and how far they may be off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.base.errors import InputError
from maxatk.base.returns import NONE
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.laws.bins import binned
from maxatk.laws.forward import GIVING_PARTS, NO_RETURN, Laws, Propagation
from maxatk.laws.law import Law, best_of, in_floats, mixed
from maxatk.laws.pruning import ROUNDING, CostTally, TooManyAtomsError
from maxatk.laws.units import Units
from maxatk.policies import CompressedPolicy, Policy, hooks
from maxatk.problem.decision import DecisionProblem


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

    def costs(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds on the expected number of rollouts, and on what their rows cost on average."""
        tries, rows, more_tries, more_rows = self.tally.amounts
        error = self.error + (self.tally.sums + 8) * ROUNDING
        if math.isinf(error):
            return (0.0, math.inf), (0.0, math.inf)
        spans = ((tries, more_tries), (rows, more_rows))
        bounds = [(x * (1 - error), x * (1 + error) + more * (1 + error)) for x, more in spans]
        return bounds[0], bounds[1]


def propagate(problem: DecisionProblem, policy: Policy, tol: float, max_atoms: int) -> LawBounds:
    """The law of the best return of a policy that is a mixture; each step may cost ``tol`` of the width of its value.

    All cores are at work on it.
    """
    with Workers() as workers:
        walker = _Walker(problem, tol, max_atoms, workers)
        rollouts = hooks.different_rollouts(policy)
        if rollouts is None:
            return walker.law(_only(policy), None)
        try:
            return _independent(
                [(_mixed(walker, components), times) for components, times in rollouts], policy.best_so_far
            )
        except GivesUpError:
            return walker.law(_only(policy), None)


def _only(policy: Policy) -> CompressedPolicy:
    """The policy that is followed in all rollouts."""
    if not isinstance(policy, CompressedPolicy):
        raise InputError(GIVING_PARTS)
    return policy


class _Walker:
    """Walks of the components of a policy, each once."""

    def __init__(self, problem: DecisionProblem, tol: float, max_atoms: int, workers: Workers) -> None:
        self._problem, self._tol, self._max_atoms, self._workers = problem, tol, max_atoms, workers
        self._returns: dict[tuple[int, int], LawBounds] = {}  # by component

    def returns(self, policy: CompressedPolicy, i: int) -> LawBounds:
        """The law of the return of rollout ``i`` by itself."""
        key = id(policy), i
        if key not in self._returns:
            self._returns[key] = self.law(policy, i)
        return self._returns[key]

    def law(self, policy: CompressedPolicy, i: int | None) -> LawBounds:
        """The law of the best return; with ``i``, of the return of that one rollout.

        Atoms as they are; where they are too many, or have too many digits, in bins, if the policy's memory allows it.
        """
        problem, mdp = self._problem, self._problem.mdp
        units, may_stop = Units.of(mdp, policy), hooks.may_stop(policy)
        # Whether a trial stops depends on the true best return, so that its value is not convex in it.
        in_bins = units.rounds and units.whole_memory and (i is not None or not may_stop)
        try_weight = problem.rollout_cost
        if may_stop:  # the number of tries is asked for, too: what may change it much is followed
            try_weight = max(try_weight, 1e-3 * (problem.most - problem.least) or 1.0)
        try:
            if in_bins and not units.whole:
                raise TooManyAtomsError
            walk = Propagation(mdp, units, self._tol, self._max_atoms, try_weight, self._workers)
            walk.pruner.refuses = in_bins
            bests = (
                walk.trials(policy, policy.k)
                if i is None
                else walk.rollout(policy, i, walk.alone(policy.best_so_far), later=0)
            )
        except TooManyAtomsError:
            bins = binned(mdp, policy, i, units, self._tol, self._max_atoms, try_weight)
            error = bins.error + _summing(*bins.laws)
            return LawBounds(bins.laws, error, bins.outcomes, True, bins.shift, bins.drift, tally=bins.tally)
        if (bests.value == NONE).any() and i is not None:
            raise GivesUpError
        if (bests.value == NONE).any() and policy.best_so_far == -math.inf:
            raise InputError(NO_RETURN)
        laws = walk.laws(bests)
        # A policy that was asked at rounded returns may have acted otherwise than it does: nothing is certain then.
        error = walk.error + _summing(*laws) if units.whole else math.inf
        left_out = walk.pruner.left_out or not units.whole
        return LawBounds(laws, error, walk.outcomes, left_out, tally=walk.pruner.tally)


def _mixed(walker: _Walker, components: Sequence[hooks.Component]) -> LawBounds:
    """The law of the return of a rollout that follows one of several policies, drawn by weight."""
    parts = [walker.returns(one.policy, one.rollout) for one in components]
    if len(parts) == 1:
        return parts[0]
    weights = [float(one.weight) for one in components]
    laws = Laws(*(mixed([part.laws[side] for part in parts], weights) for side in (0, 1)))
    return LawBounds(
        laws,
        max(part.error for part in parts) + (len(parts) + 2) * ROUNDING,
        sum(part.outcomes for part in parts),
        any(part.left_out for part in parts),
        max(part.shift for part in parts),
        max(part.drift for part in parts),
        tally=CostTally.total([part.tally.times(w) for part, w in zip(parts, weights, strict=True)]),
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
        CostTally.total([returns.tally.times(times) for returns, times in rollouts]),
    )


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING
