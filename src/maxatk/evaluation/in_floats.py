"""Evaluation in floats: laws of the best return, and how far they may be off."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.base.errors import InputError
from maxatk.base.returns import NONE, Amounts
from maxatk.base.types import Number
from maxatk.base.workers import Workers
from maxatk.evaluation.bins import binned
from maxatk.evaluation.law import Law, best_of, in_floats, mixed
from maxatk.evaluation.propagation import ROUNDING, Atoms, Bill, GivesUpError, Laws, Propagation
from maxatk.evaluation.units import Units
from maxatk.policies import CompressedPolicy, Lot, Policy
from maxatk.problem.decision import DecisionProblem


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
    bill: Bill = field(default_factory=Bill)  # what is paid on average

    def bounds(self) -> tuple[float, float]:
        """Bounds on the expected best."""
        low, high = self.laws
        if math.isinf(self.error):
            return -math.inf, math.inf

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return max(law.range, self.span) * self.error + 8 * ROUNDING * largest + self.drift

        return low.mean - slack(low), high.mean + slack(high)

    def paid(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds on the expected number of rollouts, and on what their rows cost on average."""
        tries, rows, more_tries, more_rows = self.bill.amounts
        error = self.error + (self.bill.sums + 8) * ROUNDING
        if math.isinf(error):
            return (0.0, math.inf), (0.0, math.inf)
        spans = ((tries, more_tries), (rows, more_rows))
        found = [(x * (1 - error), x * (1 + error) + more * (1 + error)) for x, more in spans]
        return found[0], found[1]


def carry(problem: DecisionProblem, policy: Policy, tol: float, max_atoms: int) -> Carried:
    """The law of the best return of a policy that has parts; each step may cost ``tol`` of the width of its value."""
    lots = policy.lots()
    if lots is not None:
        try:
            parts = {(id(part), i): part for lot in lots for part, i in lot.parts}
            returns = {key: _carry(problem, part, key[1], tol, max_atoms) for key, part in parts.items()}
        except GivesUpError:
            if len(policy.parts) > 1 or policy.parts[0] is not policy:
                raise InputError("the parts of a mixed policy must not give rollouts up") from None
        else:
            return _independent([(_of_lot(lot, returns), lot.times) for lot in lots], policy.best_so_far)
    (part,) = policy.parts
    return _carry(problem, part, None, tol, max_atoms)


def _of_lot(lot: Lot, returns: Mapping[tuple[int, int], Carried]) -> Carried:
    """The law of the return of a rollout, from those of its parts."""
    laws = [returns[id(part), i] for part, i in lot.parts]
    return laws[0] if lot.weights is None else _mixed(laws, [float(w) for w in lot.weights])


def _carry(problem: DecisionProblem, policy: CompressedPolicy, i: int | None, tol: float, max_atoms: int) -> Carried:
    """The law of the best return; with ``i``, of the return of that one rollout. All cores are at work on it.

    Atoms as they are; where they are too many, or have too many digits, in bins, if the policy's memory allows it.
    """
    with Workers() as workers:
        return _carry_by(workers, problem, policy, i, tol, max_atoms)


def _carry_by(
    workers: Workers, problem: DecisionProblem, policy: CompressedPolicy, i: int | None, tol: float, max_atoms: int
) -> Carried:
    mdp = problem.mdp
    units = Units.of(mdp, policy)
    # Whether a trial stops depends on the true best return, so that its value is not convex in it.
    in_bins = units.rounds and units.whole_memory and (i is not None or not policy.may_stop)
    try_weight = problem.rollout_cost
    if policy.may_stop:  # the number of tries is asked for, too: what may change it much is followed
        try_weight = max(try_weight, 1e-3 * (problem.most - problem.least) or 1.0)
    walk = Propagation(mdp, units, tol, max_atoms, try_weight, workers)
    walk.may_overflow = not in_bins
    bests = walk.first(policy.best_so_far) if i is None else walk.alone(policy.best_so_far)
    over = [bests.at(slice(0, 0))]  # of trials that have stopped
    for j in range(policy.k) if i is None else [i]:
        if i is None and policy.may_stop:
            stopped = policy.stopped(j, Amounts(bests.value, units.true))
            over.append(bests.at(stopped))
            bests = bests.at(~stopped)
        if not len(bests.prob) or (in_bins and (walk.sieve.overflowed or not units.whole)):
            break
        bests = walk.rollout(policy, j, bests, later=policy.k - 1 - j if i is None else 0)
        if i is not None and (bests.value == NONE).any():
            raise GivesUpError
    if in_bins and (walk.sieve.overflowed or not units.whole):
        bins = binned(mdp, policy, i, units, tol, max_atoms, try_weight)
        error = bins.error + _summing(*bins.laws)
        return Carried(bins.laws, error, bins.outcomes, True, bins.shift, bins.drift, bill=bins.bill)
    bests = Atoms.together([*over, bests])
    if (bests.value == NONE).any() and i is None and policy.best_so_far == -math.inf:
        raise InputError("the policy may end with nothing in hand: it gives up every rollout of some trials")
    laws = walk.laws(bests)
    # A policy that was asked at rounded returns may have acted otherwise than it does: nothing is certain then.
    error = walk.error + _summing(*laws) if units.whole else math.inf
    return Carried(laws, error, walk.outcomes, walk.sieve.left_out or not units.whole, bill=walk.sieve.bill)


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
        bill=Bill.total([part.bill.times(w) for part, w in zip(parts, weights, strict=True)]),
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
        Bill.total([returns.bill.times(times) for returns, times in rollouts]),
    )


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING
