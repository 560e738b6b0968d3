"""The goal of a sequence: a price per unit of cost, a budget per task, or a target for the mean score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxatk.attempts.sequences.paths import SequencePath
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Ints

EQUAL = 1e-12  # values that differ by less count as equal


@dataclass(frozen=True)
class Goal:
    """The goal of a sequence: one of a price per unit of cost, a budget per task, and a target for the mean score."""

    price: float | None = None  # what a unit of cost is worth in score
    budget: float | None = None  # the mean cost per task that is allowed
    target_score: float | None = None  # the mean score to reach

    @staticmethod
    def of(**goals: Any) -> Goal:
        """One of the three, checked; the others are None."""
        given = {name: x for name, x in goals.items() if x is not None}
        if len(given) != 1:
            raise InputError("give one of price (per unit of cost), budget (per task) and target_score")
        ((name, value),) = given.items()
        number = float(checks.exact_number(value, name))
        if name == "price" and number < 0:
            raise InputError(f"price must not be negative, but is {number:g}")
        if name == "budget" and number <= 0:
            raise InputError(f"budget must be positive, but is {number:g}")
        return Goal(**{name: number})

    @property
    def name(self) -> str:
        """Which of the three."""
        return "price" if self.price is not None else "budget" if self.budget is not None else "target_score"

    @property
    def number(self) -> float:
        """Its value."""
        return getattr(self, self.name)

    def best(self, candidates: Sequence[SequencePath]) -> tuple[SequencePath, int]:
        """The best of all prefixes of some paths, and its length; of equally good ones the cheapest."""
        ends = [(self._value(path, n), path, n) for path in candidates for n in range(len(path.cost))]
        best = max(value for value, *_ in ends)
        good = ((path, n) for value, path, n in ends if value >= best - EQUAL)
        return min(good, key=lambda end: end[0].cost[end[1]])

    def best_once(self, candidates: Sequence[SequencePath]) -> SequencePath:
        """The path with the best first attempt; of equally good ones the cheapest."""
        return max(candidates, key=lambda path: (self._value(path, 1), -path.cost[1]))

    def cut(self, path: SequencePath, length: int, limit: Ints) -> bool:
        """Whether a path of one arm ends only because the log has no more attempts of it.

        Args:
            path: the path.
            length: the number of attempts after which it ends.
            limit: the number of attempts of each arm that the log allows.
        """
        if length < limit[path.arms[0]] or not length:
            return False
        if self.price is not None:
            return path.gain_per_cost(length - 1) > self.price
        if self.budget is not None:
            return path.cost[length] + path.step_cost(length - 1) <= self.budget
        return path.score[length] < (self.target_score or 0.0)

    def _value(self, path: SequencePath, length: int) -> float:
        """How well the first attempts of a path meet the goal; more is better."""
        score, cost = path.score[length], path.cost[length]
        if self.price is not None:
            return score - self.price * cost
        if self.budget is not None:
            return score if cost <= self.budget else -math.inf
        assert self.target_score is not None
        return min(score, self.target_score)
