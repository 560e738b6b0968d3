"""Rivals that do not adapt: one policy of a single rollout, repeated.

Such a policy is a law of returns and a cost. The value of ``n`` rollouts of it is ``E max`` of ``n`` returns less ``n``
times the cost; repeated until ``z`` is reached, where ``E (R - z)+`` is the cost, its value is
``E max(m, min(R_1, z), ..., min(R_k, z))`` (docs/theory/costs.md, Proposition 4).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxatk.base.errors import TooLargeError
from maxatk.base.intervals import up
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Number
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.laws.law import expected_best, threshold
from maxatk.planning.certified.floor import repeated_mean
from maxatk.policies import CompressedPolicy, MarkovPolicy, Policy
from maxatk.policies.repeated import Repeated
from maxatk.problem.decision import DecisionProblem

TIES = 2.0**-40  # of the largest return: how much means may differ and count as the same


@dataclass(frozen=True)
class Rival:
    """A policy that does not adapt, and bounds on its value: fractions where it is known exactly."""

    policy: Policy
    lower: Number
    upper: Number
    evaluation: Evaluation | None = None
    tries: int | None = None  # their number, where tries cost something


def mean_rival(problem: DecisionProblem, upper: float, max_work: float = math.inf) -> Rival:
    """The rival that repeats a policy with the best mean: ``k`` times, or the best number of times if tries cost.

    ``upper`` is a bound on the optimum. Where an evaluation would take more than ``max_work`` outcomes, or is not
    possible, the bounds are wider.
    """
    mdp = problem.mdp
    if problem.costly:
        try:
            return Repetitions(problem).best_of_mean(upper)
        except TooLargeError:
            return unevaluated_rival(problem, upper)
    policy = MarkovPolicy(mdp.mean_optimal_actions, k=problem.k, best_so_far=problem.best_so_far)
    if len(mdp.prob) / mdp.n_layers * mdp.horizon * problem.k <= max_work:
        try:
            earned = evaluate(mdp, policy, utility=problem.objective.utility)
        except TooLargeError:
            pass
        else:
            ends = earned.ends if earned.exact is None else (earned.exact, earned.exact)
            return Rival(policy, *ends, earned)
    return Rival(policy, _at_least(problem, repeated_mean(mdp, problem.k, problem.best_so_far)), upper)


def unevaluated_rival(problem: DecisionProblem, upper: float) -> Rival:
    """The same without an evaluation: it earns the best mean at least, or the best so far."""
    most_outcomes = int(np.diff(problem.mdp.outcome_start).max())
    rounding = TIES + problem.mdp.horizon * (most_outcomes + 6) * 2.0**-53  # of backward induction, relative
    mean, best = problem.mean - rounding * problem.largest, problem.best_around[0]
    one = MarkovPolicy(problem.mdp.action[problem.mdp.analysis.mean_optimal[0]], k=1)  # as the planner knows it
    if problem.costly:
        return Rival(Repetitions(problem).policy(one, int(mean >= best)), max(mean, best), upper)
    repeated = Repeated(one, problem.k, problem.best_so_far, math.inf)
    return Rival(repeated, _at_least(problem, max(mean, best)), upper)


def _at_least(problem: DecisionProblem, best: float) -> float:
    """At least the expected utility of a best return whose mean is at least ``best``, by Jensen's inequality."""
    utility = problem.objective.utility
    return best if utility is None else utility.around(best)[0]


@dataclass(frozen=True)
class OneTry:
    """A policy of one rollout that is never abandoned: the law of its return, and its cost."""

    policy: CompressedPolicy
    values: Floats  # [n] rising
    probs: Floats  # [n]
    cost: float

    def net(self, n: int, best: float) -> float:
        """The value of ``n`` rollouts where ``best`` is the best so far, less their costs."""
        return expected_best(self.values, self.probs, n, best) - n * self.cost if n else best

    @cached_property
    def stop_at(self) -> float:
        """``z``: from there on the policy does not earn its cost."""
        return threshold(self.values, self.probs, self.cost)

    def net_until(self, k: int, best: float) -> float:
        """The value of up to ``k`` rollouts, until ``z`` is reached, less their costs."""
        z, first = self.stop_at, 0.0
        if best == -math.inf:  # the first is made in any case
            first = float(np.maximum(self.values - z, 0.0) @ self.probs) - self.cost
        return expected_best(np.minimum(self.values, z), self.probs, k, best) + first


class Repetitions:
    """Policies of one rollout, repeated where tries cost something."""

    def __init__(self, problem: DecisionProblem) -> None:
        self._problem, self.best = problem, float(problem.best_so_far)
        self._fewest = 0 if self.best > -math.inf else 1  # with no result yet a try must be made

    def one(self, policy: CompressedPolicy) -> OneTry:
        """A policy of one rollout, with the law of its return and its cost."""
        earned = evaluate(self._problem.mdp, policy, cost=self._problem.objective.cost)
        return OneTry(policy, earned.law.values, earned.law.probs, earned.cost.value)

    @cached_property
    def mean(self) -> OneTry:
        """A policy with the best mean less costs."""
        return self.one(MarkovPolicy(self._problem.mdp.mean_optimal_actions, k=1))

    def best_of_mean(self, upper: float) -> Rival:
        """The best number of tries of the policy with the best mean; ``upper`` bounds the optimum."""
        n = self.best_number(self.mean)
        policy = self.policy(self.mean.policy, n)
        try:
            earned = evaluate(self._problem.mdp, policy, cost=self._problem.objective.cost)
        except TooLargeError:
            return Rival(policy, -math.inf, upper, None, n)
        return Rival(policy, earned.ends[0], min(upper, self._most(self.mean.policy, n)), earned, n)

    def best_number(self, one: OneTry) -> int:
        """The best number of rollouts: what one more adds falls with their number."""
        n = self._fewest
        net = one.net(n, self.best)
        while n < self._problem.k and (more := one.net(n + 1, self.best)) > net:
            n, net = n + 1, more
        return n

    def policy(self, one: CompressedPolicy, n: int) -> CompressedPolicy:
        """A policy of one rollout, made ``n`` times; if ``n`` is 0, one that stops at once."""
        return self.until(one, n, math.inf) if n else self.until(one, 1, self.best)

    def until(self, one: CompressedPolicy, k: int, stop_at: float) -> CompressedPolicy:
        """A policy of one rollout, made ``k`` times or until ``stop_at`` is reached."""
        return Repeated(one, k, self._problem.best_so_far, stop_at)

    def _most(self, one: CompressedPolicy, n: int) -> float:
        """A bound on the value of any number of rollouts of one policy, where ``n`` seem to be the best.

        The value is concave in their number: beyond each neighbour of ``n`` it rises by no more a rollout than from
        ``n`` to the neighbour.
        """
        fewest, k = self._fewest, self._problem.k
        lower, most = self._ends(one, n)
        for neighbour, beyond in ((n + 1, k - n - 1), (n - 1, n - 1 - fewest)):
            if fewest <= neighbour <= k:
                _, upper = self._ends(one, neighbour)
                most = max(most, up(upper + up(beyond * max(up(upper - lower), 0.0))))
        return most

    def _ends(self, one: CompressedPolicy, n: int) -> tuple[float, float]:
        if n == 0:
            return floats_around(self._problem.best_so_far)
        return evaluate(self._problem.mdp, self.policy(one, n), cost=self._problem.objective.cost).ends
