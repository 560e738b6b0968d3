"""Classes of policies where rollouts cost something: a number of them fixed beforehand, or until enough is in hand.

One policy of a single rollout, repeated, is a law of returns and a cost. For ``n`` rollouts of it that is worth
``E max`` of ``n`` returns less ``n`` times the cost; until ``z`` is in hand, where ``E (R - z)+`` is the cost, it is
worth ``E max(m, min(R_1, z), ..., min(R_k, z))`` (docs/theory/costs.md, Proposition 4). The policies that are tried are
those of the last rollout, for some best returns: with unlimited rollouts one of them is optimal (Theorem 3).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxatk.base.errors import TooLargeError
from maxatk.base.intervals import up
from maxatk.base.returns import NONE, Amounts, Scale, floats_around
from maxatk.base.stopping import StoppedError
from maxatk.base.types import Floats, Number
from maxatk.comparison.rows import Row
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.laws.law import expected_best, threshold
from maxatk.planning.certified.curves import Curves, identity
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.plan import Plan
from maxatk.policies import CompressedPolicy, MarkovPolicy, Policy, Rule, Traits
from maxatk.problem.mdp import MDP

MEAN_FIXED, ONE_FIXED, ONE_UNTIL = PRICED_CLASSES = (
    "mean-optimal, fixed number",
    "one policy, fixed number",
    "one policy, until enough",
)
PRICED_SMALLER = {ONE_FIXED: (MEAN_FIXED,), ONE_UNTIL: (MEAN_FIXED, ONE_FIXED)}  # the classes that each does as well as
CANDIDATES = 8  # best returns for which policies are tried


@dataclass(frozen=True)
class Candidate:
    """A policy of one rollout that is never given up: the law of its return, and its cost."""

    policy: CompressedPolicy
    values: Floats  # [n] rising
    probs: Floats  # [n]
    cost: float

    def net(self, n: int, best: float) -> float:
        """What ``n`` rollouts earn where ``best`` is the best so far, less their costs."""
        return expected_best(self.values, self.probs, n, best) - n * self.cost if n else best

    @cached_property
    def stop_at(self) -> float:
        """``z``: from there on the policy does not earn its cost."""
        return threshold(self.values, self.probs, self.cost)

    def net_until(self, k: int, best: float) -> float:
        """What up to ``k`` rollouts earn, until ``z`` is reached, less their costs."""
        z, first = self.stop_at, 0.0
        if best == -math.inf:  # the first is made in any case
            first = float(np.maximum(self.values - z, 0.0) @ self.probs) - self.cost
        return expected_best(np.minimum(self.values, z), self.probs, k, best) + first


class PricedClasses:
    """The classes of policies, one after the other."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._mdp = plan, plan.mdp
        self._incumbent = float(plan.best_so_far)

    def rows(self) -> Iterator[Row]:
        """All rows but the last, from the smallest class to the largest.

        Where the search is stopped the rest is what is known.
        """
        last: Row | None = None
        for name in PRICED_CLASSES:
            try:
                row = self._row(name, last)
            except (StoppedError, TooLargeError) as stop:
                row = self._known(name, f"not searched: {stop}", last)
            last = row
            yield row

    def _row(self, name: str, smaller: Row | None) -> Row:
        k, best = self._plan.k, self._incumbent
        if name == ONE_UNTIL:
            chosen = max(self._candidates, key=lambda candidate: candidate.net_until(k, best))
            policy = self._repeated(chosen.policy, k, chosen.stop_at)
            return self._evaluated(name, policy, f"until {chosen.stop_at:.15g} is in hand", smaller)
        candidates = [self._mean] if name == MEAN_FIXED else self._candidates
        n, chosen = max(
            ((self._best_number(candidate), candidate) for candidate in candidates),
            key=lambda pair: pair[1].net(pair[0], best),
        )
        row = self._evaluated(name, self._fixed(chosen.policy, n), _tries(n), smaller, n)
        return replace(row, upper=min(row.upper, self._most(chosen.policy, n))) if name == MEAN_FIXED else row

    @property
    def _fewest(self) -> int:
        """With nothing yet a try must be made."""
        return 0 if self._incumbent > -math.inf else 1

    def _best_number(self, candidate: Candidate) -> int:
        """How many rollouts of a policy are best: what one more adds falls with their number."""
        n, best = self._fewest, self._incumbent
        net = candidate.net(n, best)
        while n < self._plan.k and (more := candidate.net(n + 1, best)) > net:
            n, net = n + 1, more
        return n

    def _most(self, one: CompressedPolicy, n: int) -> float:
        """What no number of rollouts of one policy exceeds, where ``n`` seem to be the best.

        What they earn is concave in their number: beyond each neighbour of ``n`` it rises by no more a rollout than
        from ``n`` to the neighbour.
        """
        fewest, k = self._fewest, self._plan.k
        lower, most = self._ends(one, n)
        for neighbour, beyond in ((n + 1, k - n - 1), (n - 1, n - 1 - fewest)):
            if fewest <= neighbour <= k:
                _, upper = self._ends(one, neighbour)
                most = max(most, up(upper + up(beyond * max(up(upper - lower), 0.0))))
        return most

    def _ends(self, one: CompressedPolicy, n: int) -> tuple[float, float]:
        if n == 0:
            return floats_around(self._plan.best_so_far)
        return evaluate(self._mdp, self._fixed(one, n), cost=self._plan.objective.cost).ends

    def _evaluated(self, name: str, policy: Policy, method: str, smaller: Row | None, tries: int | None = None) -> Row:
        plan = self._plan
        try:
            earned: Evaluation | None = evaluate(self._mdp, policy, cost=plan.objective.cost)
        except TooLargeError:
            earned = None
        row = Row(
            name, -math.inf if earned is None else earned.ends[0], plan.upper, None, method, policy, earned, tries
        )
        if smaller is not None and smaller.lower > row.lower:
            return replace(smaller, name=name, upper=plan.upper, exact=None)
        return row

    def _known(self, name: str, method: str, smaller: Row | None) -> Row:
        """What is known without a search: what is in hand, or one try that maximises the mean less costs."""
        plan = self._plan
        if smaller is not None:
            return replace(smaller, name=name, upper=plan.upper, exact=None, method=method, tries=None, searched=False)
        rows, mean = self._mdp.analysis.mean_optimal
        rounding = evidence_of(plan).rounding if isinstance(plan, CertifiedPlan) else math.inf
        lower = mean - float(plan.objective.cost) - rounding
        one = MarkovPolicy(self._mdp.action[rows], k=1)
        n, lower = (0, self._incumbent) if lower < self._incumbent else (1, lower)
        return Row(name, lower, plan.upper, None, method, self._fixed(one, n), None, searched=False)

    # Policies of one rollout.

    @cached_property
    def _mean(self) -> Candidate:
        return self._candidate(MarkovPolicy(self._mdp.mean_optimal_actions, k=1))

    @cached_property
    def _candidates(self) -> list[Candidate]:
        """That of the best mean, and those of the last rollout for some best returns, the threshold among them."""
        assert isinstance(self._plan, CertifiedPlan)  # as for all comparisons
        method = evidence_of(self._plan).method.changed(self._plan.problem.changed(abandon=False))
        lattice, most = method.lattice, self._plan.problem.most
        curves = Curves(1, (identity(lattice.floor, most),))
        # From what a try is worth with nothing in hand to what ends the search.
        mean = self._mdp.analysis.mean_optimal[1] - self._plan.problem.rollout_cost
        top = min(self._plan.stop_at, most)
        places: list[float] = np.linspace(max(mean, lattice.floor), top, CANDIDATES).tolist() if top > mean else []
        policies = [SlicePolicy(method, curves, start=m, best_so_far=m) for m in places]
        return [
            self._mean, *(self._candidate(FixedBest(policy, m)) for policy, m in zip(policies, places, strict=True))
        ]  # fmt: skip

    def _candidate(self, policy: CompressedPolicy) -> Candidate:
        return candidate_of(self._mdp, policy, self._plan.objective.cost)

    def _fixed(self, one: CompressedPolicy, n: int) -> CompressedPolicy:
        """A policy of one rollout, made ``n`` times; none of it where ``n`` is 0."""
        return self._repeated(one, n, math.inf) if n else self._repeated(one, 1, self._incumbent)

    def _repeated(self, policy: CompressedPolicy, k: int, stop_at: float) -> CompressedPolicy:
        """A policy of one rollout, made ``k`` times, or until so much is in hand."""
        return Repeated(policy, k, self._plan.best_so_far, stop_at)


def candidate_of(mdp: MDP, policy: CompressedPolicy, cost: Number) -> Candidate:
    """A policy of one rollout, with the law of its return and what it costs."""
    earned = evaluate(mdp, policy, cost=cost)
    return Candidate(policy, earned.law.values, earned.law.probs, earned.cost.value)


def _tries(n: int) -> str:
    return "no try" if n == 0 else "1 try" if n == 1 else f"{n} tries"


class FixedBest(CompressedPolicy):
    """One rollout of another policy, as if ``m`` were in hand, whatever is."""

    def __init__(self, inner: CompressedPolicy, m: float) -> None:
        super().__init__(1, inner.horizon)
        self._inner, self._m = inner, m
        self._traits = Traits(independent=True, repeated=True, n_states=inner._traits.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """What the other policy does with ``m`` in hand."""
        return self._inner.action(rollout=0, step=step, state=state, best=self._m, so_far=so_far)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        act = self._inner._rule(0, Amounts(np.array([NONE]), Scale(Fraction(1), none=self._m))).act
        return Rule(lambda step, tag, state, so_far: act(step, np.zeros_like(tag), state, so_far))


class Repeated(CompressedPolicy):
    """A policy of one rollout that does not look at the best return, repeated, or until so much is in hand."""

    def __init__(self, one: CompressedPolicy, k: int, best_so_far: Number, stop_at: float) -> None:
        super().__init__(k, one.horizon, best_so_far, stop_at=stop_at)
        self._one = one
        self._traits = Traits(True, True, one._traits.memory, n_states=one._traits.n_states)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """What it does."""
        return self._one.action(rollout=0, step=step, state=state, best=-math.inf, so_far=so_far)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        return self._one._rule(0, best)
