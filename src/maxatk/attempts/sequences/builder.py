"""Plans for the tasks of a log, by any method, and how well methods do in cross-validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.folds import Fold, folds_of, in_order
from maxatk.attempts.sequences.follow import follow, prepare
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.paths import Lattice, SequencePath
from maxatk.attempts.sequences.plan import BuiltFrom, Capped, JudgedPlan, SequencePlan, Step
from maxatk.attempts.sequences.walk import Scoring
from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import NoAdvice, Reason
from maxatk.base.types import Floats

FOLDS = 5


class UnmetError(InputError):
    """No sequence meets the goal on the tasks of a log."""

    def __init__(self, message: str, reason: Reason, tasks: int, asked: float, best: float) -> None:
        super().__init__(message)
        self.finding = NoAdvice(reason=reason, tasks=tasks, asked=asked, best=best)


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`maxatk.attempts.sequence`, checked."""

    goal: Goal
    stop_at: float | None = None  # None: chosen among the scores of the log
    max_per_arm: int | None = None  # None: as many as every task has
    default_score: float | None = None  # None: the lowest score of the log's range
    judge: str | None = None  # who stops a sequence and picks an attempt; None if the truth is seen
    width: int = 1  # attempts that are made at once, in a round

    def __post_init__(self) -> None:
        for name in ("stop_at", "default_score"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, float(checks.exact_number(value, name)))
        if self.max_per_arm is not None:
            checks.integer(self.max_per_arm, "max_per_arm", least=1)
        object.__setattr__(self, "width", checks.integer(self.width, "width", least=1))


class PlanBuilder:
    """Builds plans for the tasks of a log by any method; results that several methods share are computed once."""

    def __init__(self, log: Log, settings: Settings) -> None:
        log.require_costs()
        self._log, self._settings, self._goal = log, settings, settings.goal
        self._default_score = log.usual_range[0] if settings.default_score is None else settings.default_score
        self.limit = walk.caps(log, settings.max_per_arm)  # [A] attempts of each arm at most
        self._prepared = [
            prepare(log, Scoring(stop_at, self._default_score, judge=settings.judge, width=settings.width))
            for stop_at in self._stops
        ]

    @property
    def _stops(self) -> list[float]:
        """The scores at which stopping is tried."""
        log, settings = self._log, self._settings
        if settings.stop_at is not None:
            return [settings.stop_at]
        return (
            paths.thresholds(log)
            if settings.judge is None
            else paths.judged_thresholds(log.judged.scores_of(settings.judge))
        )

    @cached_property
    def states(self) -> int:
        """The number of combinations of numbers of attempts."""
        return math.prod(n + 1 for n in self.limit.tolist())

    @property
    def can_search(self) -> bool:
        """Whether the best sequence is searched for by default: few combinations, whose order makes no difference."""
        alone = self._settings.judge is None and self._settings.width == 1
        return alone and self.states <= TUNING.default_combinations

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
        if self._settings.judge is not None:
            raise InputError("with a judge the best sequence is not searched for: take method='greedy' or 'single'")
        if self._settings.width > 1:
            raise InputError("in rounds the best sequence is not searched for: take method='greedy' or 'single'")
        if self.states > TUNING.most_combinations:
            raise TooLargeError(
                f"{self.states} combinations of attempts are too many to find the best sequence: take method='greedy', "
                f"fewer arms, or max_per_arm=... with at most {TUNING.most_combinations} combinations"
            )
        whole, length = self._greedy
        # At the threshold of the greedy sequence: thresholds hardly matter, and a lattice for each would take long.
        prepared = next(one for one in self._prepared if one.scoring.stop_at == whole.stop_at)
        lattice = Lattice(prepared, self.limit)
        price = self._goal.price
        prices = [price] if price is not None else list(map(whole.gain_per_cost, range(len(whole.arms))))
        finite = dict.fromkeys(p for p in prices if math.isfinite(p))
        return self._goal.best([whole.cut(length), *(paths.along(prepared, lattice.best(p)) for p in finite)])

    def plan(self, method: str, why: str = "") -> SequencePlan:
        """The plan by a method."""
        log, goal = self._log, self._goal
        (alone, cap), (whole, length) = self._single, getattr(self, f"_{method}")
        steps = _steps(log, whole)
        judge = self._settings.judge
        make = SequencePlan if judge is None else partial(JudgedPlan, judge_name=judge)
        return make(
            steps=steps[:length],
            further=steps[length:],
            stop_at=whole.stop_at,
            price=goal.price if goal.price is not None else _shadow(whole, length, goal),
            goal=goal,
            method=method,
            why=why,
            single=Capped(log.arms[alone.arms[0]], cap, alone.stop_at, goal.cut(alone, cap, self.limit)),
            default_score=self._default_score,
            width=self._settings.width,
            built_from=BuiltFrom(
                tasks=len(log.tasks),
                names=frozenset(log.tasks),
                highest_costs={arm: float(log.cost[log.arm == number].max()) for number, arm in enumerate(log.arms)},
            ),
        )

    def leads(self, plan: SequencePlan, methods: Sequence[str], rng: Any) -> dict[str, float]:
        """By how many standard errors each method is better than that of a plan, in cross-validation.

        Plans are built from the tasks of other folds; what counts is score less cost at the price of the given plan.
        """
        settings = replace(self._settings, default_score=self._default_score)
        folds = folds_of(self._log, FOLDS, rng)
        nets: dict[str, list[Floats]] = {method: [] for method in (plan.method, *methods)}
        for fold in folds:
            inner = PlanBuilder(fold.rest, settings)
            for method, parts in nets.items():
                parts.append(_net(inner, method, fold, plan))
        base = in_order(folds, nets[plan.method])
        return {method: _in_errors(in_order(folds, nets[method]) - base) for method in methods}


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


def _net(builder: PlanBuilder, method: str, fold: Fold, compared: SequencePlan) -> Floats:
    """Score less cost of a method at each task of a fold, at the price of the plan that it is compared with."""
    try:
        plan = builder.plan(method)
    except UnmetError:  # the goal cannot be met on these tasks alone: no attempt would be made
        return np.full(len(fold.rows), compared.default_score)
    outcome = follow(fold.held_out, plan.arms, plan.scoring)
    return outcome.score - compared.price * outcome.cost


def _in_errors(differences: Floats) -> float:
    """The mean of some differences, in standard errors."""
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return mean / (deviation / math.sqrt(len(differences))) if deviation > 0 else 0.0
