"""Which arm next after each attempt that did not reach the threshold, and when to give up.

The default is *greedy*: always the arm that gains most per cost on the tasks of the log, cut where a further attempt
costs more than it brings. On real logs that was 10 to 45 % cheaper than the best single arm at equal score, and richer
rules (beliefs about hidden difficulty among them) added nothing; so anything else takes its place only where inner
cross-validation finds it better by one standard error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.paths import Lattice, Path
from maxatk.attempts.sequences.plans import AttemptsWarning, Capped, SequencePlan, Step
from maxatk.base import checks
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import NoAdvice, Reason
from maxatk.base.types import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

FEWEST_TASKS = 30  # with fewer a sequence may be worse than one arm
FOLDS = 5
METHODS = ("auto", "greedy", "exact", "portfolio", "single")


class UnmetError(InputError):
    """A goal that nothing meets on the tasks of a log."""

    def __init__(self, said: str, reason: Reason, tasks: int, asked: float, best: float) -> None:
        super().__init__(said)
        self.finding = NoAdvice(reason=reason, tasks=tasks, asked=asked, best=best)


def sequence(
    log: Log,
    *,
    price: float | None = None,
    budget: float | None = None,
    reach: float | None = None,
    method: str = "auto",
    stop_at: float | None = None,
    most: int | None = None,
    nothing: float | None = None,
    rng: Any = 0,
) -> SequencePlan:
    """Which arm to try next after each attempt that did not reach a score, and when to give up.

    Args:
        log: attempts at tasks; every task must have every arm.
        price: what one unit of cost is worth in score: attempts are made while they bring more.
        budget: instead of a price, what may be spent per task on average.
        reach: instead of both, the mean score to reach on these tasks, for as little as possible.
        method: "auto" (greedy, unless inner cross-validation finds another one clearly better), or one of "greedy",
            "exact" (the best sequence for these tasks, where there are not too many), "portfolio" (one attempt of each
            arm) and "single" (one arm).
        stop_at: the score at which to stop; chosen among the scores of the log unless given.
        most: attempts of an arm at most; no more than every task has.
        nothing: what a task counts as at which nothing is tried; the least possible score, or else the least seen.
        rng: a seed or a ``Generator`` for the folds of the cross-validation.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> plan = at.sequence(at.Log.from_records(rows), price=0.05)
    >>> plan.arms, plan.stop_at
    (['small', 'small', 'small'], 1.0)
    """
    settings = Settings.of(log, Goal.of(price, budget, reach), stop_at, most, nothing)
    return planned(log, settings, method, rng)


def planned(log: Log, settings: Settings, method: str, rng: Any, fewest: int = FEWEST_TASKS) -> SequencePlan:
    """The plan for a log; with fewer than ``fewest`` tasks it is a portfolio, unless another method was asked for."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {checks.shown(method)}")
    builder, reach = Builder(log, settings), settings.goal.reach
    if reach is not None and (most_score := builder.plan("greedy").score) < reach - _EQUAL and fewest:
        raise UnmetError(
            f"no sequence scores {reach:g} on these tasks: the best has {most_score:g}",
            *(Reason.OUT_OF_REACH, len(log.tasks), reach, most_score),
        )
    if method != "auto":
        return builder.plan(method, "as asked for")
    if len(log.arms) > 1 and len(log.tasks) < fewest:
        n = len(log.tasks)
        warnings.warn(
            f"{n} task{' is' if n == 1 else 's are'} few to build a sequence from: below {FEWEST_TASKS} it is a "
            "portfolio, one attempt of each arm at most (method='greedy' insists on a sequence)",
            AttemptsWarning,
            stacklevel=3,
        )
        are_few = "1 task is too few" if n == 1 else f"{n} tasks are too few"
        few = f"one attempt of each arm at most, since {are_few} to tell a better order"
        return builder.plan("portfolio", few)
    return builder.plan(*_choose(log, settings, builder, rng))


@dataclass(frozen=True)
class Goal:
    """What a sequence is for: one of a price per unit of cost, a budget per task, and a mean score to reach."""

    price: float | None = None
    budget: float | None = None
    reach: float | None = None

    @staticmethod
    def of(price: Any, budget: Any, reach: Any) -> Goal:
        """One of the three, checked."""
        given = {name: x for name, x in (("price", price), ("budget", budget), ("reach", reach)) if x is not None}
        if len(given) != 1:
            raise InputError("give one of a price per unit of cost, a budget per task and a score to reach")
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
        return "price" if self.price is not None else "budget" if self.budget is not None else "reach"

    @property
    def number(self) -> float:
        """How much of it."""
        return getattr(self, self.name)

    def best(self, candidates: Sequence[Path]) -> tuple[Path, int]:
        """The best of all beginnings of some paths, and its length; of equal ones the cheapest."""
        ends = [
            (self._value(score, cost), cost, path, length)
            for path in candidates
            for length, (score, cost) in enumerate(zip(path.score, path.cost, strict=True))
        ]
        most = max(value for value, *_ in ends)
        _, _, path, length = min((end for end in ends if end[0] >= most - _EQUAL), key=lambda end: end[1])
        return path, length

    def best_once(self, candidates: Sequence[Path]) -> Path:
        """The path whose first attempt is best; of equal ones the cheapest."""
        return max(candidates, key=lambda path: (self._value(path.score[1], path.cost[1]), -path.cost[1]))

    def cut(self, path: Path, length: int, limit: Ints) -> bool:
        """Whether a path of one arm ends only since the log has no more attempts of it."""
        if length < limit[path.arms[0]] or not length:
            return False
        if self.price is not None:
            return path.worth(length - 1) > self.price
        if self.budget is not None:
            return path.cost[length] + path.price(length - 1) <= self.budget
        return path.score[length] < (self.reach or 0.0)

    def _value(self, score: float, cost: float) -> float:
        if self.price is not None:
            return score - self.price * cost
        if self.budget is not None:
            return score if cost <= self.budget else -math.inf
        assert self.reach is not None
        return min(score, self.reach)


_EQUAL = 1e-12


@dataclass(frozen=True)
class Settings:
    """All that :func:`maxatk.attempts.sequence` was asked for."""

    goal: Goal
    stop_at: float | None
    most: int | None
    nothing: float

    @staticmethod
    def of(log: Log, goal: Goal, stop_at: Any, most: Any, nothing: Any) -> Settings:
        """All of it, checked."""
        walk.costed(log)
        if nothing is None:
            nothing = log.usual_range[0]
        return Settings(
            goal,
            None if stop_at is None else float(checks.exact_number(stop_at, "stop_at")),
            None if most is None else checks.integer(most, "most", least=1),
            float(checks.exact_number(nothing, "nothing")),
        )


class Builder:
    """Plans for the tasks of a log, by any method; what several methods need is computed once."""

    def __init__(self, log: Log, settings: Settings) -> None:
        self._log, self._settings, self._goal = log, settings, settings.goal
        self.limit = walk.caps(log, settings.most)  # [A] attempts of each arm at most
        self._boards = [walk.Board(log, t, settings.nothing) for t in paths.thresholds(log, settings.stop_at)]

    @cached_property
    def states(self) -> int:
        """How many combinations of numbers of attempts there are."""
        return math.prod(n + 1 for n in self.limit.tolist())

    @cached_property
    def _single(self) -> tuple[Path, int]:
        best = self._goal.best([path for board in self._boards for path in paths.singles(board, self.limit)])
        if self._goal.budget is not None and not best[1]:
            cheapest = min(path.cost[1] for path in paths.singles(self._boards[-1], self.limit))
            raise UnmetError(
                f"a budget of {self._goal.budget:g} per task does not pay for one attempt: the cheapest arm costs "
                f"{cheapest:g} on average",
                *(Reason.TOO_DEAR, len(self._log.tasks), self._goal.budget, cheapest),
            )
        return best

    @cached_property
    def _greedy(self) -> tuple[Path, int]:
        return self._goal.best([paths.greedy(board, self.limit) for board in self._boards])

    @property
    def _once(self) -> tuple[Path, int]:
        """The best single attempt, whether it earns its cost or not."""
        return self._goal.best_once([path for board in self._boards for path in paths.singles(board, self.limit)]), 1

    @property
    def _portfolio(self) -> tuple[Path, int]:
        return self._goal.best([paths.greedy(board, np.minimum(self.limit, 1)) for board in self._boards])

    @property
    def _exact(self) -> tuple[Path, int]:
        if self.states > paths.MOST_STATES:
            raise TooLargeError(
                f"{self.states} combinations of attempts are too many to find the best sequence: method='greedy', "
                f"fewer arms, or most=... with at most {paths.MOST_STATES} combinations"
            )
        whole, length = self._greedy
        # At the threshold of the greedy sequence: thresholds hardly matter, and a lattice for each would take long.
        board = next(board for board in self._boards if board.stop_at == whole.stop_at)
        lattice = Lattice(board, self.limit)
        prices = [self._goal.price] if self._goal.price is not None else list(map(whole.worth, range(len(whole.arms))))
        sought = dict.fromkeys(p for p in prices if math.isfinite(p))
        return self._goal.best([whole.cut(length), *(paths.along(board, lattice.best(p)) for p in sought)])

    def plan(self, method: str, why: str = "") -> SequencePlan:
        """The plan of a method."""
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
            reach=goal.reach,
            method=method,
            why=why,
            single=Capped(log.arms[alone.arms[0]], cap, alone.stop_at, goal.cut(alone, cap, self.limit)),
            nothing=self._settings.nothing,
            tasks=len(log.tasks),
            seen=frozenset(log.tasks),
            dearest={arm: float(log.cost[log.arm == number].max()) for number, arm in enumerate(log.arms)},
        )


def _steps(log: Log, path: Path) -> tuple[Step, ...]:
    return tuple(
        Step(log.arms[arm], alive, path.gain(i) / alive if alive else 0.0, path.price(i) / alive if alive else 0.0)
        for i, (arm, alive) in enumerate(zip(path.arms, path.alive, strict=True))
    )


def _shadow(path: Path, length: int, goal: Goal) -> float:
    """The price at which a path would be cut here: what the next unit of cost would bring or, where a score was to be
    reached, what the last one brought.
    """
    step = length if goal.budget is not None else length - 1
    worth = path.worth(step) if 0 <= step < len(path.arms) else 0.0
    return worth if math.isfinite(worth) and worth > 0 else 0.0


def _choose(log: Log, settings: Settings, builder: Builder, rng: Any) -> tuple[str, str]:
    """Which method, and why: greedy, unless inner cross-validation finds another one clearly better."""
    if len(log.arms) == 1:
        return "single", "there is one arm only"
    methods = ["greedy", "single", *(["exact"] if builder.states <= paths.SMALL else [])]
    nets = held_out_nets(log, settings, methods, builder.plan("greedy").price, rng)
    better = {method: in_errors(nets[method] - nets["greedy"]) for method in methods[1:]}
    best = max(better, key=lambda method: better[method])
    if better[best] > 1:
        what = {"single": "one arm with a cap", "exact": "the best sequence for these tasks"}[best]
        return (
            best,
            f"{what} was better than a greedy sequence by {better[best]:.1f} standard errors of cross-validation",
        )
    return "greedy", "greedy by gain per cost; nothing else was better by a standard error of cross-validation"


def held_out_nets(log: Log, settings: Settings, methods: Sequence[str], price: float, rng: Any) -> dict[str, Floats]:
    """What the plans of some methods earn less costs at each task [T], each built from the tasks of other folds."""
    nets = {method: np.zeros(len(log.tasks)) for method in methods}
    place = {task: number for number, task in enumerate(log.tasks)}
    for rest, held_out in log.folds(FOLDS, rng):
        rows, inner = [place[task] for task in held_out.tasks], Builder(rest, settings)
        for method in methods:
            try:
                nets[method][rows] = _net(inner.plan(method), held_out, price)
            except UnmetError:  # the goal is out of reach on these tasks alone: nothing would be tried
                nets[method][rows] = settings.nothing
    return nets


def _net(plan: SequencePlan, log: Log, price: float) -> Floats:
    walked = walk.follow(log, plan.arms, plan.stop_at, plan.nothing, math.inf)
    return walked.score - price * walked.cost


def in_errors(apart: Floats) -> float:
    """A mean difference in standard errors."""
    mean, deviation = float(apart.mean()), float(apart.std(ddof=1))
    return mean / (deviation / math.sqrt(len(apart))) if deviation > 0 else 0.0
