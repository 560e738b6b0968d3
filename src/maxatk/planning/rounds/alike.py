"""Rounds whose rollouts all draw from one mixture of policies, each by itself; with a bound on the best of them.

The value of a round is concave in the common law ``F`` of its rollouts, and its derivative in the direction of another
law is ``w`` times the difference in what ``u(x) = E U(max(m, x, w - 1 draws from F))`` pays. So (Frank and Wolfe) the
best policy for ``u`` both tells how far from the optimum ``F`` can be, and is the one to mix in
(docs/theory/rounds.md, 4).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxatk.base import stopping
from maxatk.base.types import Floats
from maxatk.laws.law import expected_payoffs
from maxatk.planning.rounds.search import KnownTuple, RoundSearch, RoundTable
from maxatk.planning.rounds.tries import Candidate, TryLaw, TrySearch
from maxatk.policies import MixedPolicy, SampledRound, SampledRoundsPolicy

ITERATIONS = 100
LEAST_WEIGHT = 1e-9  # of a part


@dataclass(frozen=True)
class Mixture(TryLaw):
    """Policies of one rollout, drawn by weight, and the law of that."""

    parts: list[Candidate]
    weights: Floats  # [parts]

    @classmethod
    def of(cls, parts: list[Candidate], weights: Floats) -> "Mixture":
        """The mixture of these parts."""
        return cls(weights @ np.array([part.law for part in parts]), parts, weights)

    @property
    def policy(self) -> MixedPolicy:
        """The policy that draws."""
        return MixedPolicy([part.policy for part in self.parts], self.weights.tolist(), 1)


class Sampling:
    """Frank and Wolfe's method for ``width`` rollouts that draw from one mixture.

    Args:
        search: searches for policies of one rollout.
        held: [n] 1 from the best return at the start on, 0 before.
        after: [n] what the best return of all counts.
        width: how many rollouts draw.
    """

    def __init__(self, search: TrySearch, held: Floats, after: Floats, width: int) -> None:
        self._search, self._held, self._after, self._width = search, held, after, width
        self._weight: Floats = held[:-1] * search.rises(after)  # of each power of the distribution function

    def value(self, below: Floats) -> float:
        """What a law comes to, by its distribution function [n]."""
        return float(self._after[-1] - (self._weight * below[:-1] ** self._width).sum())

    def best(self, first: Mixture, tol: float) -> tuple[Mixture, float]:
        """The best mixture to within ``tol``, from this one on; and what none exceeds."""
        parts, weights, upper = first.parts, first.weights, math.inf
        for _ in range(ITERATIONS):
            stopping.check()
            below = np.minimum(weights @ np.array([part.below for part in parts]), 1.0)
            value = self.value(below)
            payoff = self._search.payoff(self._held * below ** (self._width - 1), self._after)
            best, earned = self._search.best_seeing_return(payoff)
            upper = min(upper, self._upper(value, payoff, earned))
            if self._width * (earned - value) <= tol:
                break
            parts = [*parts, best]
            weights = self._weights(parts, np.append(weights * 0.9, 0.1))
            kept = weights > LEAST_WEIGHT
            parts, weights = [part for part, keep in zip(parts, kept, strict=True) if keep], weights[kept]
            weights = weights / weights.sum()
        return Mixture.of(parts, weights), upper

    def _upper(self, value: float, payoff: Floats, earned: float) -> float:
        """What no mixture exceeds, by any law's value and the best that its ``u`` pays."""
        most, rounding = self._search.bound_on_pay(payoff, earned)
        return value + self._width * (most - value) + (self._width + 1) * rounding

    def _weights(self, parts: Sequence[Candidate], first: Floats) -> Floats:
        """The best mixture of these parts: a smooth concave problem on a simplex."""
        from scipy import optimize  # it takes long to import, and few runs need it

        below = np.array([part.below for part in parts])[:, :-1]  # [parts, n - 1]
        weight: Floats = self._weight / max(float(self._weight.sum()), 1e-300)

        def loss(w: Floats) -> tuple[float, Floats]:
            mixed = np.maximum(w @ below, 0.0)
            gradient = self._width * (below @ (weight * mixed ** (self._width - 1)))
            return float((weight * mixed**self._width).sum()), gradient

        least = optimize.minimize(
            loss,
            first,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(parts),
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(len(w))},
            options={"ftol": 1e-14, "maxiter": 200},
        )
        weights = np.clip(least.x, 0.0, 1.0)
        return weights / weights.sum() if loss(weights / weights.sum())[0] <= loss(first)[0] else first


class AlikeTries(RoundSearch[Mixture]):
    """A search for rounds whose rollouts draw from one mixture."""

    def _at(self, m: int, width: int, after: Floats, known: KnownTuple[Mixture] | None) -> KnownTuple[Mixture]:
        held: Floats = (np.arange(len(self.points)) >= m).astype(np.float64)
        first = Mixture.of([self._reply(held, after)], np.ones(1)) if known is None else known.members[0]
        mixed, upper = Sampling(self, held, after, width).best(first, self._tol / 2)
        best = np.diff(mixed.below**width, prepend=0.0)
        return KnownTuple((mixed,) * width, expected_payoffs(best, after), upper)

    def policy(self, tables: Sequence[RoundTable[Mixture]]) -> SampledRoundsPolicy:
        """The policy of these tables."""
        problem = self._planned_by.problem
        rounds = [
            SampledRound(table.ends, tuple(members[0].policy for members in table.tuples), len(table.tuples[0]))
            for table in tables
        ]
        policy = SampledRoundsPolicy(rounds, problem.best_so_far)
        policy.utility = problem.objective.utility
        return policy
