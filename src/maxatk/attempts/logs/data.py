"""What a log of attempts holds: the task, arm, score and cost of each; and parts of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np

from maxatk.attempts.logs.judged import NO_TRUTH, Judged
from maxatk.base import checks
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Range

MOST_COST_SKEW = 2.0  # that of an exponential distribution


@dataclass(frozen=True)
class CostLimits:
    """The highest possible cost of an attempt, by arm."""

    highest: tuple[float, ...]  # by arm; if no limits were given, the highest cost seen
    known: bool  # whether the limits were given, or are known because costs were not logged
    in_units: bool = False  # whether every attempt costs 1, because the log has no column of costs


@dataclass(frozen=True, eq=False, repr=False)
class LogData(Displayed):
    """The attempts of a :class:`maxatk.attempts.Log`, which adds readers and estimates: checked, sorted and frozen."""

    tasks: tuple[str, ...]  # in order of appearance
    arms: tuple[str, ...]  # likewise
    task: Ints  # [N] the task of each attempt, by number; attempts are sorted by task, then by arm
    arm: Ints  # [N] its arm
    score: Floats  # [N] its score
    cost: Floats  # [N] its cost, NaN where that is not known
    seconds: Floats | None  # [N] its duration, if that was logged
    score_range: Range | None  # the range of all possible scores, if that was given
    cost_limits: CostLimits  # the highest possible cost of an attempt, by arm
    judged: Judged = field(default_factory=Judged)  # what is seen at run time: judges and answers

    def __repr__(self) -> str:
        parts = (len(self.tasks), "task"), (len(self.arms), "arm"), (len(self.task), "attempt")
        return f"Log({', '.join(f'{n} {noun}' if n == 1 else f'{n} {noun}s' for n, noun in parts)})"

    @cached_property
    def counts(self) -> Ints:
        """The number of attempts [tasks, arms]."""
        shape = len(self.tasks), len(self.arms)
        return np.bincount(self.task * shape[1] + self.arm, minlength=shape[0] * shape[1]).reshape(shape)

    @cached_property
    def starts(self) -> Ints:
        """The index of the first attempt of each task and arm [tasks, arms]."""
        flat = self.counts.ravel()
        return (np.cumsum(flat) - flat).reshape(self.counts.shape)

    @property
    def top(self) -> float:
        """The highest score."""
        self.require_truth()
        return float(self.score.max())

    @property
    def usual_range(self) -> Range:
        """The range of scores assumed where no proof is asked for: the one given, else 0 to 1, else that seen."""
        self.require_truth()
        low, high = float(self.score.min()), float(self.score.max())
        return self.score_range or ((0.0, 1.0) if low >= 0 and high <= 1 else (low, high))

    @property
    def taken_range(self) -> Range | None:
        """The range given, or 0 to 1 if all scores are 0 or 1: an assumption, which does not make intervals proved."""
        return self.score_range or ((0.0, 1.0) if np.isin(self.score, (0.0, 1.0)).all() else None)

    def arm_number(self, arm: str | None) -> int:
        """The number of an ``arm``; None stands for the only arm of a log."""
        if arm is None and len(self.arms) == 1:
            return 0
        if arm is None:
            raise InputError(f"arm must be given: the log has {', '.join(map(checks.shown, self.arms[:8]))}")
        if str(arm) not in self.arms:
            close = checks.nearest(str(arm), self.arms)
            known = f"did you mean {checks.shown(close)}?" if close else f"the arms are {', '.join(self.arms[:8])}"
            raise InputError(f"there is no arm {checks.shown(arm)}: {known}")
        return self.arms.index(str(arm))

    def by_count(self, arm: int) -> Iterator[tuple[Ints, Floats]]:
        """Groups of tasks with equally many attempts of an ``arm`` (a number), and their scores [tasks, n]."""
        for tasks, rows in self.rows_by_count(arm):
            yield tasks, self.score[rows]

    def rows_by_count(self, arm: int) -> Iterator[tuple[Ints, Ints]]:
        """Groups of tasks with equally many attempts of an ``arm`` (a number), and their attempts [tasks, n]."""
        self.require_truth()
        counts = self.counts[:, arm]
        for n in np.unique(counts[counts > 0]).tolist():
            tasks = np.flatnonzero(counts == n)
            yield tasks, self.starts[tasks, arm][:, None] + np.arange(n)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges: columns of scores that are seen at run time."""
        return self.judged.judges

    def require_truth(self) -> None:
        """Refuse a log without scores: it may drive a scheduler, and nothing can be estimated from it."""
        if not self.judged.has_truth:
            raise InputError(f"the log has no score: {NO_TRUTH}")

    @cached_property
    def heavy_costs(self) -> bool:
        """Whether costs, relative to the mean of their arm, are more skewed than an exponential distribution.

        Their mean may then depend on tasks so rare that the log has none of them, and Student's t does not apply.
        """
        means = np.array([self.cost[self.arm == number].mean() for number in range(len(self.arms))])
        relative = self.cost / np.where(means > 0, means, 1.0)[self.arm]
        return bool(relative.std() > 0 and skewness(relative) > MOST_COST_SKEW)

    def require_costs(self, arms: Iterable[str] | None = None) -> None:
        """Refuse attempts whose cost is not known.

        Args:
            arms: whose attempts; those of all arms by default.
        """
        unknown, some = np.isnan(self.cost), self.arms if arms is None else set(arms)
        for number, arm in enumerate(self.arms):
            if arm in some and (n := int((unknown & (self.arm == number)).sum())):
                raise InputError(
                    f"{n} attempt{'' if n == 1 else 's'} of arm {checks.shown(arm)} {'has' if n == 1 else 'have'} no "
                    "cost: leave the arm out with log.select(arms=...), or take its mean with log.fill_costs()"
                )

    # Parts.

    def select(
        self, *, tasks: Iterable[str] | None = None, arms: Iterable[str] | None = None, min_attempts: int = 0
    ) -> Self:
        """Some tasks and arms of the log.

        Args:
            tasks: those to keep; all by default.
            arms: those to keep; all by default.
            min_attempts: keep only tasks with at least this number of attempts of every arm that is kept. This is
                unbiased only if the number of attempts at a task does not depend on their scores.

        >>> from maxatk import attempts as at
        >>> log = at.Log.from_records([{"task": t, "score": 1} for t in "aab"])
        >>> log.select(min_attempts=2)
        Log(1 task, 1 arm, 2 attempts)
        """
        keep_arm = np.zeros(len(self.arms), bool)
        keep_arm[[self.arm_number(a) for a in arms] if arms is not None else slice(None)] = True
        keep_task = np.ones(len(self.tasks), bool)
        if tasks is not None:
            wanted = [str(t) for t in tasks]
            known = {name: number for number, name in enumerate(self.tasks)}
            if missing := next((t for t in wanted if t not in known), None):
                raise InputError(f"there is no task {checks.shown(missing)} in the log")
            keep_task[:] = False
            keep_task[[known[t] for t in wanted]] = True
        keep_task &= (self.counts[:, keep_arm] >= checks.integer(min_attempts, "min_attempts")).all(axis=1)
        return self._kept(keep_task, keep_arm)

    def _kept(self, keep_task: Any, keep_arm: Any) -> Self:
        rows = keep_task[self.task] & keep_arm[self.arm]
        if not rows.any():
            raise InputError("the selection has no attempts")
        keep_task = keep_task & (self.counts[:, keep_arm].sum(axis=1) > 0)
        keep_arm = keep_arm & (self.counts[keep_task].sum(axis=0) > 0)
        new_task, new_arm, limits = np.cumsum(keep_task) - 1, np.cumsum(keep_arm) - 1, self.cost_limits
        return replace(
            self,
            tasks=tuple(np.array(self.tasks, object)[keep_task]),
            arms=tuple(np.array(self.arms, object)[keep_arm]),
            cost_limits=replace(limits, highest=tuple(np.array(limits.highest)[keep_arm].tolist())),
            task=new_task[self.task[rows]],
            arm=new_arm[self.arm[rows]],
            score=self.score[rows],
            cost=self.cost[rows],
            seconds=None if self.seconds is None else self.seconds[rows],
            judged=self.judged.part(rows),
        )

    def split(self, share: float = 0.5, rng: Any = 0) -> tuple[Self, Self]:
        """Two logs of different tasks, drawn at random: one to plan from, and one to replay on.

        Args:
            share: the share of tasks in the first.
            rng: a seed or a NumPy ``Generator``.

        >>> from maxatk import attempts as at
        >>> log = at.Log.from_records([{"task": t, "score": 1} for t in range(10)])
        >>> log.split(0.7)
        (Log(7 tasks, 1 arm, 7 attempts), Log(3 tasks, 1 arm, 3 attempts))
        """
        if not isinstance(share, Real) or not 0 < share < 1:
            raise InputError(f"share must lie between 0 and 1, not {checks.shown(share)}")
        n = len(self.tasks)
        if n < 2:
            raise InputError("a log of one task cannot be split")
        first = min(max(round(float(share) * n), 1), n - 1)
        chosen = np.zeros(n, bool)
        chosen[checks.generator(rng).permutation(n)[:first]] = True
        every = np.ones(len(self.arms), bool)
        return self._kept(chosen, every), self._kept(~chosen, every)

    def folds(self, n: int = 5, rng: Any = 0) -> list[tuple[Self, Self]]:
        """Pairs of logs for cross-validation: all tasks but those of a fold, and the tasks of that fold.

        Args:
            n: the number of pairs, at most that of tasks.
            rng: a seed or a NumPy ``Generator``.
        """
        n = min(checks.integer(n, "folds", least=2), len(self.tasks))
        if n < 2:
            raise InputError("a log of one task cannot be split")
        fold = checks.generator(rng).permutation(len(self.tasks)) % n
        every = np.ones(len(self.arms), bool)
        return [(self._kept(fold != i, every), self._kept(fold == i, every)) for i in range(n)]

    def fill_costs(self) -> Self:
        """The same log with missing costs replaced by the mean of their arm.

        >>> from maxatk import attempts as at
        >>> log = at.Log.from_records([{"task": 1, "score": 1, "cost": c} for c in (2.0, None, 4.0)])
        >>> log.fill_costs().cost.tolist()
        [2.0, 3.0, 4.0]
        """
        cost = self.cost.copy()
        for number, arm in enumerate(self.arms):
            of_arm = self.arm == number
            known = of_arm & np.isfinite(cost)
            if not known.any():
                raise InputError(f"no attempt of arm {checks.shown(arm)} has a cost")
            cost[of_arm & ~known] = cost[known].mean()
        return replace(self, cost=cost)


def skewness(values: Floats) -> float:
    """The absolute skewness; infinite for values that do not vary, where *t* would give an interval of width 0."""
    apart = values - values.mean()
    deviation = float(np.sqrt((apart**2).mean()))
    if deviation <= 1e-12 * float(np.abs(values).max()) or deviation == 0:
        return math.inf
    return abs(float(((apart / deviation) ** 3).mean()))
