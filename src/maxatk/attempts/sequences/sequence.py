"""Which arm next after each attempt that did not reach the threshold, and when to give up.

The default is *greedy*: always the arm with the highest gain per cost on the tasks of the log, cut where a further
attempt costs more than it gains. On real logs that was 10 to 45 % cheaper than the best single arm at equal score, and
richer rules (including beliefs about hidden difficulty) added nothing. So another method replaces it only if inner
cross-validation shows that it is better by one standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.paths import Lattice, SequencePath
from maxatk.attempts.sequences.plans import Capped, SequencePlan, Step
from maxatk.attempts.tuning import TUNING
from maxatk.attempts.warnings import warn
from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import NoAdvice, Reason
from maxatk.base.types import Floats, Ints

FEWEST_TASKS = 30  # with fewer a sequence may be worse than one arm
FOLDS = 5
METHODS = ("auto", "greedy", "exact", "portfolio", "single")


class UnmetError(InputError):
    """No sequence meets the goal on the tasks of a log."""

    def __init__(self, message: str, reason: Reason, tasks: int, asked: float, best: float) -> None:
        super().__init__(message)
        self.finding = NoAdvice(reason=reason, tasks=tasks, asked=asked, best=best)


def sequence(
    log: Log,
    *,
    price: float | None = None,
    budget: float | None = None,
    target_score: float | None = None,
    method: str = "auto",
    stop_at: float | None = None,
    max_per_arm: int | None = None,
    default_score: float | None = None,
    rng: Any = 0,
) -> SequencePlan:
    """Which arm to try next after each attempt that did not reach a score, and when to give up.

    Args:
        log: attempts at tasks; every task must have every arm.
        price: what one unit of cost is worth in score: attempts are made while they gain more than that per cost.
        budget: instead of a price, the mean cost per task that is allowed.
        target_score: instead of both, the mean score to reach on these tasks at the lowest cost.
        method: "auto" (greedy, unless another method is clearly better in inner cross-validation), or one of "greedy",
            "exact" (the optimal sequence for these tasks, if there are not too many sequences), "portfolio" (one
            attempt of each arm) and "single" (one arm).
        stop_at: the score at which to stop; by default chosen among the scores of the log.
        max_per_arm: the maximal number of attempts of an arm, which cannot exceed the number that every task has.
        default_score: the score of a task without an attempt; by default the lowest possible score, if that is known,
            else the lowest seen.
        rng: a seed or a ``Generator`` for the folds of the cross-validation.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> plan = at.sequence(at.Log.from_records(rows), price=0.05)
    >>> plan.arms, plan.stop_at
    (['small', 'small', 'small'], 1.0)
    """
    settings = Settings.of(log, Goal.of(price, budget, target_score), stop_at, max_per_arm, default_score)
    return planned(log, settings, method, rng)


def planned(log: Log, settings: Settings, method: str, rng: Any, fewest: int = FEWEST_TASKS) -> SequencePlan:
    """The plan for a log; with fewer than ``fewest`` tasks it is a portfolio, unless another method was asked for."""
    checks.one_of(method, METHODS, "method")
    builder, target = PlanBuilder(log, settings), settings.goal.target_score
    if target is not None and (best_score := builder.plan("greedy").score) < target - _EQUAL and fewest:
        raise UnmetError(
            f"no sequence scores {target:g} on these tasks: the best has {best_score:g}",
            *(Reason.OUT_OF_REACH, len(log.tasks), target, best_score),
        )
    if method != "auto":
        return builder.plan(method, "as asked for")
    if len(log.arms) > 1 and len(log.tasks) < fewest:
        n = len(log.tasks)
        warn(
            f"{n} task{' is' if n == 1 else 's are'} few to build a sequence from: below {FEWEST_TASKS} tasks the plan "
            "is a portfolio, at most one attempt of each arm (method='greedy' gives a sequence)"
        )
        are_few = "1 task is too few" if n == 1 else f"{n} tasks are too few"
        few = f"at most one attempt of each arm, because {are_few} to find a better order"
        return builder.plan("portfolio", few)
    return builder.plan(*_choose(log, settings, builder, rng))


@dataclass(frozen=True)
class Goal:
    """The goal of a sequence: one of a price per unit of cost, a budget per task, and a target for the mean score."""

    price: float | None = None
    budget: float | None = None
    target_score: float | None = None

    @staticmethod
    def of(price: Any, budget: Any, target_score: Any) -> Goal:
        """One of the three, checked."""
        goals = {"price": price, "budget": budget, "target_score": target_score}
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
        ends = [
            (self._value(score, cost), cost, path, length)
            for path in candidates
            for length, (score, cost) in enumerate(zip(path.score, path.cost, strict=True))
        ]
        best = max(value for value, *_ in ends)
        _, _, path, length = min((end for end in ends if end[0] >= best - _EQUAL), key=lambda end: end[1])
        return path, length

    def best_once(self, candidates: Sequence[SequencePath]) -> SequencePath:
        """The path with the best first attempt; of equally good ones the cheapest."""
        return max(candidates, key=lambda path: (self._value(path.score[1], path.cost[1]), -path.cost[1]))

    def cut(self, path: SequencePath, length: int, limit: Ints) -> bool:
        """Whether a path of one arm ends only because the log has no more attempts of it."""
        if length < limit[path.arms[0]] or not length:
            return False
        if self.price is not None:
            return path.gain_per_cost(length - 1) > self.price
        if self.budget is not None:
            return path.cost[length] + path.step_cost(length - 1) <= self.budget
        return path.score[length] < (self.target_score or 0.0)

    def _value(self, score: float, cost: float) -> float:
        if self.price is not None:
            return score - self.price * cost
        if self.budget is not None:
            return score if cost <= self.budget else -math.inf
        assert self.target_score is not None
        return min(score, self.target_score)


_EQUAL = 1e-12


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`maxatk.attempts.sequence`."""

    goal: Goal
    stop_at: float | None
    max_per_arm: int | None
    default_score: float

    @staticmethod
    def of(log: Log, goal: Goal, stop_at: Any, max_per_arm: Any, default_score: Any) -> Settings:
        """The arguments, checked."""
        log.require_costs()
        if default_score is None:
            default_score = log.usual_range[0]
        return Settings(
            goal,
            None if stop_at is None else float(checks.exact_number(stop_at, "stop_at")),
            None if max_per_arm is None else checks.integer(max_per_arm, "max_per_arm", least=1),
            float(checks.exact_number(default_score, "default_score")),
        )


class PlanBuilder:
    """Builds plans for the tasks of a log by any method; results that several methods share are computed once."""

    def __init__(self, log: Log, settings: Settings) -> None:
        self._log, self._settings, self._goal = log, settings, settings.goal
        self.limit = walk.caps(log, settings.max_per_arm)  # [A] attempts of each arm at most
        thresholds = paths.thresholds(log, settings.stop_at)
        self._prepared = [walk.PreparedLog(log, stop_at, settings.default_score) for stop_at in thresholds]

    @cached_property
    def states(self) -> int:
        """The number of combinations of numbers of attempts."""
        return math.prod(n + 1 for n in self.limit.tolist())

    @cached_property
    def _singles(self) -> list[SequencePath]:
        return [path for prepared in self._prepared for path in paths.singles(prepared, self.limit)]

    @cached_property
    def _single(self) -> tuple[SequencePath, int]:
        best = self._goal.best(self._singles)
        if self._goal.budget is not None and not best[1]:
            cheapest = min(path.cost[1] for path in paths.singles(self._prepared[-1], self.limit))
            raise UnmetError(
                f"a budget of {self._goal.budget:g} per task does not cover one attempt: the cheapest arm costs "
                f"{cheapest:g} on average",
                *(Reason.TOO_DEAR, len(self._log.tasks), self._goal.budget, cheapest),
            )
        return best

    @cached_property
    def _greedy(self) -> tuple[SequencePath, int]:
        return self._goal.best([paths.greedy(prepared, self.limit) for prepared in self._prepared])

    @property
    def _once(self) -> tuple[SequencePath, int]:
        """The best single attempt, whether or not it gains more than it costs."""
        return self._goal.best_once(self._singles), 1

    @property
    def _portfolio(self) -> tuple[SequencePath, int]:
        return self._goal.best([paths.greedy(prepared, np.minimum(self.limit, 1)) for prepared in self._prepared])

    @property
    def _exact(self) -> tuple[SequencePath, int]:
        if self.states > TUNING.most_combinations:
            raise TooLargeError(
                f"{self.states} combinations of attempts are too many to find the best sequence: take method='greedy', "
                f"fewer arms, or max_per_arm=... with at most {TUNING.most_combinations} combinations"
            )
        whole, length = self._greedy
        # At the threshold of the greedy sequence: thresholds hardly matter, and a lattice for each would take long.
        prepared = next(one for one in self._prepared if one.stop_at == whole.stop_at)
        lattice = Lattice(prepared, self.limit)
        price = self._goal.price
        prices = [price] if price is not None else list(map(whole.gain_per_cost, range(len(whole.arms))))
        finite = dict.fromkeys(p for p in prices if math.isfinite(p))
        return self._goal.best([whole.cut(length), *(paths.along(prepared, lattice.best(p)) for p in finite)])

    def plan(self, method: str, why: str = "") -> SequencePlan:
        """The plan by a method."""
        log, goal = self._log, self._goal
        alone, cap = self._single
        whole, length = getattr(self, f"_{method}")
        steps = _steps(log, whole)
        return SequencePlan(
            steps=steps[:length],
            further=steps[length:],
            stop_at=whole.stop_at,
            price=goal.price if goal.price is not None else _shadow(whole, length, goal),
            budget=goal.budget,
            target_score=goal.target_score,
            method=method,
            why=why,
            single=Capped(log.arms[alone.arms[0]], cap, alone.stop_at, goal.cut(alone, cap, self.limit)),
            default_score=self._settings.default_score,
            tasks=len(log.tasks),
            seen=frozenset(log.tasks),
            dearest={arm: float(log.cost[log.arm == number].max()) for number, arm in enumerate(log.arms)},
        )


def _steps(log: Log, path: SequencePath) -> tuple[Step, ...]:
    return tuple(
        Step(log.arms[arm], alive, path.gain(i) / alive if alive else 0.0, path.step_cost(i) / alive if alive else 0.0)
        for i, (arm, alive) in enumerate(zip(path.arms, path.alive, strict=True))
    )


def _shadow(path: SequencePath, length: int, goal: Goal) -> float:
    """The price at which a path would be cut here: the gain per cost of the next attempt or, with a target score, of
    the last one.
    """
    step = length if goal.budget is not None else length - 1
    rate = path.gain_per_cost(step) if 0 <= step < len(path.arms) else 0.0
    return rate if math.isfinite(rate) and rate > 0 else 0.0


def _choose(log: Log, settings: Settings, builder: PlanBuilder, rng: Any) -> tuple[str, str]:
    """The method, and why: greedy, unless another method is clearly better in inner cross-validation."""
    if len(log.arms) == 1:
        return "single", "the log has only one arm"
    methods = ["greedy", "single", *(["exact"] if builder.states <= TUNING.default_combinations else [])]
    nets = held_out_nets(log, settings, methods, builder.plan("greedy").price, rng)
    better = {method: in_errors(nets[method] - nets["greedy"]) for method in methods[1:]}
    best = max(better, key=lambda method: better[method])
    if better[best] > 1:
        what = {"single": "one arm with a cap", "exact": "the best sequence for these tasks"}[best]
        return (
            best,
            f"{what} was better than a greedy sequence by {better[best]:.1f} standard errors of cross-validation",
        )
    return "greedy", "greedy by gain per cost; no other method was better by a standard error of cross-validation"


def held_out_nets(log: Log, settings: Settings, methods: Sequence[str], price: float, rng: Any) -> dict[str, Floats]:
    """Score less price times cost at each task [T] of the plan of each method, built from the tasks of other folds."""
    nets = {method: np.zeros(len(log.tasks)) for method in methods}
    number_of = {task: number for number, task in enumerate(log.tasks)}
    for rest, held_out in log.folds(FOLDS, rng):
        rows, inner = [number_of[task] for task in held_out.tasks], PlanBuilder(rest, settings)
        for method in methods:
            try:
                nets[method][rows] = _net(inner.plan(method), held_out, price)
            except UnmetError:  # the goal cannot be met on these tasks alone: no attempt would be made
                nets[method][rows] = settings.default_score
    return nets


def _net(plan: SequencePlan, log: Log, price: float) -> Floats:
    outcome = walk.follow(log, plan.arms, plan.stop_at, plan.default_score, math.inf)
    return outcome.score - price * outcome.cost


def in_errors(differences: Floats) -> float:
    """The mean of some differences, in standard errors."""
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return mean / (deviation / math.sqrt(len(differences))) if deviation > 0 else 0.0
