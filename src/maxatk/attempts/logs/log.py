"""A log of attempts: who tried what, what it scored, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from maxatk.attempts.estimates import counted, curves
from maxatk.attempts.estimates.intervals import Range, skewness
from maxatk.attempts.logs import gate, notes, readers
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.estimates.curves import Curve
    from maxatk.attempts.estimates.extrapolation import PassRange
    from maxatk.problem.mdp import MDP


MOST_COST_SKEW = 2.0  # that of an exponential law


@dataclass(frozen=True, eq=False)
class Log:
    """Attempts at tasks by arms: models, prompts, solvers, whatever can be asked for another try.

    Made by :func:`read_log`, :meth:`from_records` or :meth:`from_frame`.

    >>> from maxatk import attempts as at
    >>> log = at.Log.from_records(
    ...     [{"task": t, "arm": a, "score": s, "cost": c} for t, a, s, c in [
    ...         ("sum", "small", 0.0, 1.0), ("sum", "small", 1.0, 1.2), ("sum", "big", 1.0, 5.0),
    ...         ("sort", "small", 0.5, 0.9), ("sort", "small", 0.5, 1.1), ("sort", "big", 1.0, 4.0)]])
    >>> log
    Log(2 tasks, 2 arms, 6 attempts)
    >>> log.arms, log.counts.tolist()
    (('small', 'big'), [[2, 1], [2, 1]])
    """

    tasks: tuple[str, ...]  # in the order in which they are met
    arms: tuple[str, ...]  # likewise
    task: Ints  # [N] of each attempt: its task, by number; attempts are in the order of tasks, then of arms
    arm: Ints  # [N] its arm
    score: Floats  # [N] its score
    cost: Floats  # [N] what it cost, NaN where that is not known
    seconds: Floats | None  # [N] how long it took, where that was logged
    score_range: Range | None  # what no score can leave, if that was given
    cost_limits: tuple[
        float, ...
    ]  # what no attempt of each arm can cost more than, if that was given; else the most seen
    cost_limited: bool  # whether it was given, or is known since costs were not logged
    in_units: bool  # whether costs are just numbers of attempts, for want of a column

    @classmethod
    def from_records(
        cls,
        records: Iterable[Any],
        *,
        task: str = "task",
        arm: str | None = None,
        score: str = "score",
        cost: str | None = None,
        seconds: str | None = None,
        attempt: str | None = None,
        score_range: Range | None = None,
        cost_limit: float | Mapping[str, float] | None = None,
        unscored: float | None = None,
    ) -> Log:
        """A log from dictionaries, one per attempt.

        Args:
            records: the dictionaries.
            task: which entry names the task.
            arm: which names the arm; "arm" if there is one. Without one all attempts are of one arm.
            score: which is the score.
            cost: which is the cost; "cost" if there is one. Without one every attempt costs 1.
            seconds: which says how long it took; "seconds" if there is one.
            attempt: which numbers the attempts, so that one that occurs twice is refused; "attempt" if there is one.
            score_range: what no score can leave, which proofs need; 0 and 1 for scores that are true or false.
            cost_limit: what no attempt can cost more than, for all arms or by arm, if there is such a limit.
            unscored: what an attempt without a score counts as; without it such an attempt is refused.

        >>> from maxatk import attempts as at
        >>> at.Log.from_records([{"id": 1, "passed": True}, {"id": 1, "passed": False}], task="id", score="passed")
        Log(1 task, 1 arm, 2 attempts)
        """
        names = readers.Names(task, arm, score, cost, seconds, attempt)
        return cls(**gate.checked(readers.records(records, names), score_range, cost_limit, unscored))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        task: str = "task",
        arm: str | None = None,
        score: str = "score",
        cost: str | None = None,
        seconds: str | None = None,
        attempt: str | None = None,
        score_range: Range | None = None,
        cost_limit: float | Mapping[str, float] | None = None,
        unscored: float | None = None,
    ) -> Log:
        """A log from a data frame with one row per attempt: pandas, Polars, or any other that narwhals knows.

        Args:
            frame: the data frame.
            task: which column names the task; all else is as in :meth:`from_records`.
            arm: the column of arms.
            score: the column of scores.
            cost: the column of costs.
            seconds: the column of durations.
            attempt: the column that numbers attempts.
            score_range: what no score can leave.
            cost_limit: what no attempt can cost more than.
            unscored: what an attempt without a score counts as.
        """
        names = readers.Names(task, arm, score, cost, seconds, attempt)
        return cls(**gate.checked(readers.frame(frame, names), score_range, cost_limit, unscored))

    # What is in it.

    def __repr__(self) -> str:
        parts = (len(self.tasks), "task"), (len(self.arms), "arm"), (len(self.score), "attempt")
        return f"Log({', '.join(f'{n} {noun}' if n == 1 else f'{n} {noun}s' for n, noun in parts)})"

    @cached_property
    def counts(self) -> Ints:
        """How many attempts [tasks, arms] there are."""
        shape = len(self.tasks), len(self.arms)
        return np.bincount(self.task * shape[1] + self.arm, minlength=shape[0] * shape[1]).reshape(shape)

    @cached_property
    def starts(self) -> Ints:
        """Where the attempts of each task and arm begin [tasks, arms]."""
        flat = self.counts.ravel()
        return (np.cumsum(flat) - flat).reshape(self.counts.shape)

    @property
    def top(self) -> float:
        """The greatest score."""
        return float(self.score.max())

    @property
    def usual_range(self) -> Range:
        """Between what scores are taken to lie where nothing is to be proved: the range given, 0 to 1, or that seen."""
        low, high = float(self.score.min()), float(self.score.max())
        return self.score_range or ((0.0, 1.0) if low >= 0 and high <= 1 else (low, high))

    @property
    def taken_range(self) -> Range | None:
        """The range given, or 0 to 1 where scores are only these, pass and fail: taken so, which proves nothing."""
        return self.score_range or ((0.0, 1.0) if np.isin(self.score, (0.0, 1.0)).all() else None)

    def arm_number(self, arm: str | None) -> int:
        """The number of an ``arm``; None will do where there is one arm only."""
        if arm is None and len(self.arms) == 1:
            return 0
        if arm is None:
            raise InputError(f"say which arm: there are {', '.join(map(checks.shown, self.arms[:8]))}")
        if str(arm) not in self.arms:
            close = checks.nearest(str(arm), self.arms)
            known = f"did you mean {checks.shown(close)}?" if close else f"the arms are {', '.join(self.arms[:8])}"
            raise InputError(f"there is no arm {checks.shown(arm)}: {known}")
        return self.arms.index(str(arm))

    def by_count(self, arm: int) -> Iterator[tuple[Ints, Floats]]:
        """Tasks with so many attempts of an ``arm`` (a number), and their scores [tasks, n]."""
        counts = self.counts[:, arm]
        for n in np.unique(counts[counts > 0]).tolist():
            tasks = np.flatnonzero(counts == n)
            yield tasks, self.score[self.starts[tasks, arm][:, None] + np.arange(n)]

    @cached_property
    def heavy_costs(self) -> bool:
        """Whether costs, each against the mean of its arm, are more skewed than an exponential law.

        Then a mean of them may hang on tasks so rare that these are not in the log, and Student's t is not for it.
        """
        means = np.array([self.cost[self.arm == number].mean() for number in range(len(self.arms))])
        relative = self.cost / np.where(means > 0, means, 1.0)[self.arm]
        return bool(relative.std() > 0 and skewness(relative) > MOST_COST_SKEW)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know about this log."""
        return tuple(notes.notes(self))

    # Parts of it.

    def select(self, *, tasks: Iterable[str] | None = None, arms: Iterable[str] | None = None, least: int = 0) -> Log:
        """Some tasks and arms of the log.

        Args:
            tasks: those to keep; all unless given.
            arms: those to keep; all unless given.
            least: keep only tasks with at least so many attempts of every arm that is kept. Mind that this is fair only
                if how often a task was tried has nothing to do with how it went.

        >>> from maxatk import attempts as at
        >>> log = at.Log.from_records([{"task": t, "score": 1} for t in "aab"])
        >>> log.select(least=2)
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
        keep_task &= (self.counts[:, keep_arm] >= checks.integer(least, "least")).all(axis=1)
        return self._kept(keep_task, keep_arm)

    def _kept(self, keep_task: Any, keep_arm: Any) -> Log:
        rows = keep_task[self.task] & keep_arm[self.arm]
        if not rows.any():
            raise InputError("no attempt is left of the log")
        keep_task = keep_task & (self.counts[:, keep_arm].sum(axis=1) > 0)
        keep_arm = keep_arm & (self.counts[keep_task].sum(axis=0) > 0)
        new_task, new_arm = np.cumsum(keep_task) - 1, np.cumsum(keep_arm) - 1
        return replace(
            self,
            tasks=tuple(np.array(self.tasks, object)[keep_task]),
            arms=tuple(np.array(self.arms, object)[keep_arm]),
            cost_limits=tuple(np.array(self.cost_limits)[keep_arm].tolist()),
            task=new_task[self.task[rows]],
            arm=new_arm[self.arm[rows]],
            score=self.score[rows],
            cost=self.cost[rows],
            seconds=None if self.seconds is None else self.seconds[rows],
        )

    def split(self, share: float = 0.5, rng: Any = 0) -> tuple[Log, Log]:
        """Two logs of different tasks, drawn at random: one to plan from, and one to replay on.

        Args:
            share: of the tasks that go into the first.
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
        chosen[np.random.default_rng(rng).permutation(n)[:first]] = True
        every = np.ones(len(self.arms), bool)
        return self._kept(chosen, every), self._kept(~chosen, every)

    def folds(self, n: int = 5, rng: Any = 0) -> list[tuple[Log, Log]]:
        """Pairs of logs, the second ones of which share out the tasks; the first ones have all the other tasks.

        Args:
            n: how many pairs; no more than tasks.
            rng: a seed or a NumPy ``Generator``.
        """
        n = min(checks.integer(n, "folds", least=2), len(self.tasks))
        if n < 2:
            raise InputError("a log of one task cannot be split")
        fold = np.random.default_rng(rng).permutation(len(self.tasks)) % n
        every = np.ones(len(self.arms), bool)
        return [(self._kept(fold != i, every), self._kept(fold == i, every)) for i in range(n)]

    def fill_costs(self) -> Log:
        """The same log with costs that are not known replaced by the mean of their arm.

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

    # What it says: curves.py, extrapolation.py, counted.py.

    def max_at_k(
        self, k: int | Sequence[int], arm: str | None = None, level: float = 0.95, *, proved: bool = False
    ) -> Curve:
        """The expected best score of ``k`` attempts of an arm at a task: unbiased, with an interval over tasks.

        Args:
            k: how many attempts, or several such numbers; no more than each task has.
            arm: which arm, where there are several.
            level: of the intervals, each by itself.
            proved: ask for intervals that are proved for every number of tasks.

        >>> from maxatk import attempts as at
        >>> print(at.recorded().max_at_k([1, 4], arm="DE"))
        k  max@k  interval        tasks  by
        1  0.832  0.786 to 0.878    120  t, nominal
        4  0.902  0.864 to 0.940    120  t, nominal
        """
        return curves.max_at_k(self, k, arm, level, proved)

    def pass_at_k(
        self,
        k: int | Sequence[int],
        passed: float | None = None,
        arm: str | None = None,
        level: float = 0.95,
        *,
        proved: bool = False,
    ) -> Curve:
        """The chance that one of ``k`` attempts of an arm passes: unbiased, with an interval over tasks.

        Args:
            k: how many attempts, or several such numbers; no more than each task has.
            passed: the least score that passes; the greatest of the log unless given.
            arm: which arm, where there are several.
            level: of the intervals, each by itself.
            proved: ask for intervals that are proved for every number of tasks.

        >>> from maxatk import attempts as at
        >>> print(at.recorded().pass_at_k(4, passed=1.0, arm="DE"))
        k  pass@k  interval      tasks  by
        4    0.84  0.78 to 0.91    120  t, nominal
        """
        return curves.pass_at_k(self, k, passed, arm, level, proved)

    def pass_hat_k(
        self,
        k: int | Sequence[int],
        passed: float | None = None,
        arm: str | None = None,
        level: float = 0.95,
        *,
        proved: bool = False,
    ) -> Curve:
        """The chance that all of ``k`` attempts pass (pass^k); arguments as for :meth:`pass_at_k`.

        Args:
            k: how many attempts, or several such numbers; no more than each task has.
            passed: the least score that passes; the greatest of the log unless given.
            arm: which arm, where there are several.
            level: of the intervals, each by itself.
            proved: ask for intervals that are proved for every number of tasks.
        """
        return curves.pass_hat_k(self, k, passed, arm, level, proved)

    def pass_range(self, k: int, passed: float | None = None, arm: str | None = None, level: float = 0.95) -> PassRange:
        """Between what bounds pass@k lies for more attempts than were made, up to four times as many.

        Args:
            k: how many attempts.
            passed: the least score that passes; the greatest of the log unless given.
            arm: which arm, where there are several.
            level: the probability, at least, with which the bounds are right.
        """
        return curves.pass_range(self, k, passed, arm, level)

    def mdp(self) -> MDP:
        """The decision problem that counts this log: one step, an action per arm, all attempts of an arm pooled.

        It warns, with numbers, if attempts at one task share its difficulty: the table does not know that, and promises
        too much for the best of several attempts.
        """
        return counted.mdp(self)
