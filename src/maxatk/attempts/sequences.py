"""Which arm next after each attempt that did not reach the threshold, and when to give up.

The default is *greedy*: always the arm that gains most per cost on the tasks of the log, cut where a further attempt
costs more than it brings. On real logs that was 10 to 45 % cheaper than the best single arm at equal score, and richer
rules (beliefs about hidden difficulty among them) added nothing; so anything else takes its place only where inner
cross-validation finds it better by one standard error.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from maxatk import checks
from maxatk.attempts import paths, walk
from maxatk.attempts.paths import Lattice, Path
from maxatk.attempts.tables import as_text, plain_table, short, spelled
from maxatk.errors import InputError, TooLargeError
from maxatk.rows import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.desk import Desk
    from maxatk.attempts.log import Log
    from maxatk.attempts.replay import Replay

FEWEST_TASKS = 30  # with fewer a sequence may be worse than one arm
FOLDS = 5
METHODS = ("auto", "greedy", "exact", "portfolio", "single")


class AttemptsWarning(UserWarning):
    """The numbers are right, but they may not mean what they seem to mean."""


@dataclass(frozen=True)
class Step:
    """One attempt of a sequence, as the tasks that it was built from have it."""

    arm: str  # whose attempt
    reached: float  # the share of tasks that come to it
    gain: float  # what it adds to the best score of those tasks, on average
    cost: float  # what it costs, on average of those tasks

    @property
    def worth(self) -> float:
        """Gain per cost."""
        return walk.ratio(self.gain, self.cost)


@dataclass(frozen=True)
class Capped:
    """One arm, tried until it reaches a score, so often at most: what a sequence has to beat."""

    arm: str  # which
    cap: int  # how often at most
    stop_at: float  # the score
    cut: bool = False  # whether the cap is the log's: one more attempt might pay, but there are no more to judge by

    @property
    def arms(self) -> list[str]:
        """As a sequence."""
        return [self.arm] * self.cap

    def __str__(self) -> str:
        return f"{self.arm} × {self.cap}" if self.cap else "no attempt at all"

    @property
    def words(self) -> str:
        """Its name, and a warning if the log cuts it short."""
        return f"{self} (all that were logged; more might pay)" if self.cut else str(self)


@dataclass(frozen=True)
class SequencePlan:
    """A sequence of arms, to be followed until a score is reached or it ends. Made by :func:`sequence`."""

    steps: tuple[Step, ...]  # the attempts in order, with what they were worth on the tasks of the log
    further: tuple[Step, ...]  # those that would come next, if more could be paid
    stop_at: float  # the score at which to stop
    price: float  # what one unit of cost is worth in score; with another goal: where the sequence was cut
    budget: float | None  # the mean cost per task that was allowed, if that was the goal
    reach: float | None  # the mean score that was to be reached, if that was the goal
    method: str  # "greedy", "exact", "portfolio" or "single"
    why: str  # why that one
    single: Capped  # the best single arm for the same price or budget on the same tasks
    nothing: float  # what a task counts as at which nothing is tried
    tasks: int  # how many the sequence was built from
    dearest: dict[str, float]  # the most that any attempt of each arm cost

    @property
    def arms(self) -> list[str]:
        """The sequence."""
        return [step.arm for step in self.steps]

    @property
    def score(self) -> float:
        """The mean score on the tasks that it was built from: a promise that is not kept in full elsewhere."""
        return self.nothing + math.fsum(step.reached * step.gain for step in self.steps)

    @property
    def cost(self) -> float:
        """The mean cost on the tasks that it was built from."""
        return math.fsum(step.reached * step.cost for step in self.steps)

    def replay(self, log: Log, level: float = 0.95, *, proved: bool = True, passed: float | None = None) -> Replay:
        """What the sequence earns on tasks that it was not built from, beside the best single capped arm.

        Args:
            log: attempts at those tasks; none of them may have been used to build the sequence.
            level: of the intervals.
            proved: ask for intervals that hold for every law and number of tasks, rather than Student's from 50 on.
            passed: the score from which on a task counts as solved; the greatest of the log unless given.
        """
        from maxatk.attempts import replay

        return replay.replay(self, log, level, proved, passed)

    def desk(
        self, path: str | os.PathLike[str] | None = None, *, pot: float | None = None, tasks: int | None = None
    ) -> Desk:
        """A desk that says what to try next, for many tasks at once.

        Args:
            path: a file to keep everything in as it comes, so that nothing is lost even if the process is killed.
            pot: money for all tasks together; the sequence is then cut, task by task, so that it lasts.
            tasks: for how many tasks the pot must last.
        """
        from maxatk.attempts.desk import Desk

        return Desk(self, path, pot=pot, tasks=tasks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to ``path``; :func:`load_sequence` reads it."""
        from maxatk.attempts import files

        files.save_plan(self, path)

    def table(self) -> Table:
        """The attempts as a table for the terminal."""
        found = plain_table(
            ("attempt", "right"),
            ("arm", "left"),
            ("tasks that get here", "right"),
            ("adds", "right"),
            ("costs", "right"),
            ("gain per cost", "right"),
        )
        for number, step in enumerate(self.steps, 1):
            found.add_row(
                str(number),
                step.arm,
                f"{100 * step.reached:.0f} %",
                short(step.gain),
                short(step.cost),
                short(step.worth),
            )
        return found

    @property
    def words(self) -> str:
        """The sequence in words."""
        if not self.steps:
            return f"Try nothing: at {short(self.price)} per unit of cost no attempt pays."
        return f"{spelled(self.arms, ', then ')}; stop as soon as one scores at least {short(self.stop_at)}."

    def __str__(self) -> str:
        about = (
            f"Built from {self.tasks} tasks; {self.why}. These are means over those tasks: what it earns on others, "
            "plan.replay(log) says."
        )
        return as_text(self.words, "", self.table(), "", about)


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
        raise InputError(f"no sequence scores {reach:g} on these tasks: the best has {most_score:g}")
    if method != "auto":
        return builder.plan(method, "as asked for")
    if len(log.arms) > 1 and len(log.tasks) < fewest:
        warnings.warn(
            f"{len(log.tasks)} tasks are few to build a sequence from: below {FEWEST_TASKS} it is a portfolio, one "
            "attempt of each arm at most (method='greedy' insists on a sequence)",
            AttemptsWarning,
            stacklevel=3,
        )
        few = f"one attempt of each arm at most, since {len(log.tasks)} tasks are too few to tell a better order"
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
    """All that :func:`sequence` was asked for."""

    goal: Goal
    stop_at: float | None
    most: int | None
    nothing: float

    @staticmethod
    def of(log: Log, goal: Goal, stop_at: Any, most: Any, nothing: Any) -> Settings:
        """All of it, checked."""
        walk.costed(log)
        if nothing is None:
            nothing = log.score_range[0] if log.score_range is not None else float(log.score.min())
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
        found = self._goal.best([path for board in self._boards for path in paths.singles(board, self.limit)])
        if self._goal.budget is not None and not found[1]:
            cheapest = min(path.cost[1] for path in paths.singles(self._boards[-1], self.limit))
            raise InputError(
                f"a budget of {self._goal.budget:g} per task does not pay for one attempt: the cheapest arm costs "
                f"{cheapest:g} on average"
            )
        return found

    @cached_property
    def _greedy(self) -> tuple[Path, int]:
        return self._goal.best([paths.greedy(board, self.limit) for board in self._boards])

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
    nets = {method: np.zeros(len(log.tasks)) for method in methods}
    place = {task: number for number, task in enumerate(log.tasks)}
    price = builder.plan("greedy").price
    for rest, held_out in log.folds(FOLDS, rng):
        rows, inner = [place[task] for task in held_out.tasks], Builder(rest, settings)
        for method in methods:
            nets[method][rows] = _net(inner.plan(method), held_out, price)
    better = {method: _by_errors(nets[method] - nets["greedy"]) for method in methods[1:]}
    best = max(better, key=lambda method: better[method])
    if better[best] > 1:
        what = {"single": "one arm with a cap", "exact": "the best sequence for these tasks"}[best]
        return (
            best,
            f"{what} was better than a greedy sequence by {better[best]:.1f} standard errors of cross-validation",
        )
    return "greedy", "greedy by gain per cost; nothing else was better by a standard error of cross-validation"


def _net(plan: SequencePlan, log: Log, price: float) -> Floats:
    found = walk.follow(log, plan.arms, plan.stop_at, plan.nothing, math.inf)
    return found.score - price * found.cost


def _by_errors(apart: Floats) -> float:
    """A mean difference in standard errors."""
    mean, deviation = float(apart.mean()), float(apart.std(ddof=1))
    return mean / (deviation / math.sqrt(len(apart))) if deviation > 0 else 0.0
