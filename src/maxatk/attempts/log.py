"""A log of attempts: who tried what, what it scored, what it cost. :func:`gate` is the one way in.

Readers bring columns of plain values (:mod:`maxatk.attempts.readers` and its neighbours). The gate checks them once and
puts them in order; past it a :class:`Log` is frozen, and nothing asks again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from maxatk import checks
from maxatk.attempts import counted, curves, readers
from maxatk.attempts.intervals import Range
from maxatk.errors import InputError
from maxatk.rows import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.curves import Curve
    from maxatk.attempts.extrapolation import PassRange
    from maxatk.mdp import MDP

LARGEST = 1e100  # in size, of scores and costs: their squares are still numbers
ONLY_ARM = "attempt"  # what the arm is called where a log names none


@dataclass(frozen=True)
class Columns:
    """What a reader found: one entry per attempt in each column, as Python's own values, None where one is missing."""

    task: list[Any]
    arm: list[Any] | None
    score: list[Any]
    cost: list[Any] | None
    seconds: list[Any] | None
    attempt: list[Any] | None
    where: Callable[[int], str]  # the place of an entry in words, such as "line 7"


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
    score_range: Range | None  # what no score can leave
    cost_range: Range  # what no cost of an attempt can leave, if `cost_limit` was given; else what was seen
    cost_limited: bool  # whether the upper end of `cost_range` was given, or is known since costs were not logged
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
        cost_limit: float | None = None,
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
            score_range: what no score can leave, which proofs need; (0, 1) where all scores lie in it.
            cost_limit: what no attempt can cost more than, if there is such a limit.
            unscored: what an attempt without a score counts as; without it such an attempt is refused.

        >>> from maxatk import attempts as at
        >>> at.Log.from_records([{"id": 1, "passed": True}, {"id": 1, "passed": False}], task="id", score="passed")
        Log(1 task, 1 arm, 2 attempts)
        """
        names = readers.Names(task, arm, score, cost, seconds, attempt)
        return gate(readers.records(records, names), score_range, cost_limit, unscored)

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
        cost_limit: float | None = None,
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
        return gate(readers.frame(frame, names), score_range, cost_limit, unscored)

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
        """The tasks with so many attempts of an ``arm`` (a number), and their scores [tasks, n], for every n that occurs."""
        counts = self.counts[:, arm]
        for n in np.unique(counts[counts > 0]).tolist():
            tasks = np.flatnonzero(counts == n)
            yield tasks, self.score[self.starts[tasks, arm][:, None] + np.arange(n)]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know about this log."""
        return tuple(_notes(self))

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
        >>> print(at.recorded().max_at_k([1, 4], arm="differential evolution"))    # doctest: +SKIP
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


def gate(columns: Columns, score_range: Range | None, cost_limit: float | None, unscored: float | None) -> Log:
    """The one way in: columns, checked and in order."""
    n = len(columns.score)
    if not n:
        raise InputError("the log is empty: it has no attempts")
    where = columns.where
    tasks, task = _names(columns.task, "task", where)
    arms, arm = _names(columns.arm, "arm", where) if columns.arm is not None else ([ONLY_ARM], np.zeros(n, np.int64))
    score = _scores(columns.score, where, unscored)
    cost = np.ones(n) if columns.cost is None else _amounts(columns.cost, "cost", where)
    seconds = None if columns.seconds is None else _amounts(columns.seconds, "seconds", where)
    if columns.attempt is not None:
        _refuse_twice(columns.attempt, [tasks[t] for t in task], [arms[a] for a in arm], where)
    order = np.lexsort((np.arange(n), arm, task))
    in_units = columns.cost is None
    log = Log(
        tasks=tuple(tasks), arms=tuple(arms), task=task[order], arm=arm[order], score=score[order], cost=cost[order],
        seconds=None if seconds is None else seconds[order],
        score_range=_score_range(score_range, score, where),
        cost_range=(1.0, 1.0) if in_units else (0.0, _cost_limit(cost_limit, cost, where)),
        cost_limited=in_units or cost_limit is not None,
        in_units=in_units,
    )  # fmt: skip
    for array in (log.task, log.arm, log.score, log.cost, log.seconds):
        if array is not None:
            array.flags.writeable = False
    return log


def _names(values: list[Any], what: str, where: Callable[[int], str]) -> tuple[list[str], Ints]:
    """The names that occur, in the order in which they are met, and the number of each entry's."""
    numbers: dict[str, int] = {}
    found = np.empty(len(values), np.int64)
    kinds: dict[bool, int] = {}  # words and whole numbers, and where each was first met
    for place, value in enumerate(values):
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and plain.is_integer():
            plain = int(plain)  # a data frame with gaps holds whole numbers as floats
        if plain is None or (isinstance(plain, float) and math.isnan(plain)) or plain == "":
            raise InputError(f"{where(place)}: {what} is missing")
        if isinstance(plain, bool) or not isinstance(plain, str | int):
            raise InputError(f"{where(place)}: {what} must be a word or a whole number, not {checks.shown(plain)}")
        kinds.setdefault(isinstance(plain, str), place)
        found[place] = numbers.setdefault(str(plain), len(numbers))
    if len(kinds) == 2:
        word, number = kinds[True], kinds[False]
        raise InputError(
            f"{where(word)}: {what} is the word {checks.shown(values[word])}, "
            f"but {where(number)} has the number {checks.shown(values[number])}: use one kind"
        )
    return list(numbers), found


def _number(value: Any, what: str, place: str) -> float:
    """A finite number of a size that can be reckoned with."""
    if not isinstance(value, Real) and not (isinstance(value, np.generic) and value.dtype.kind in "biuf"):
        raise InputError(f"{place}: {what} must be a number, not {checks.shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise InputError(f"{place}: {what} is not a number (NaN)")
    if abs(number) > LARGEST:
        raise InputError(f"{place}: {what} must be finite and at most {LARGEST:g} in size, not {checks.shown(value)}")
    return number


def _scores(values: list[Any], where: Callable[[int], str], unscored: float | None) -> Floats:
    instead = None if unscored is None else _number(unscored, "unscored", "the score of attempts without one")
    found = np.empty(len(values))
    for place, value in enumerate(values):
        if value is None:
            if instead is None:
                raise InputError(
                    f"{where(place)}: score is missing; if an attempt without a score failed, say what that is worth: "
                    "unscored=0.0, say"
                )
            found[place] = instead
        else:
            found[place] = _number(value, "score", where(place))
    return found


def _amounts(values: list[Any], what: str, where: Callable[[int], str]) -> Floats:
    """What is not negative: costs, seconds; NaN where nothing is known."""
    found = np.empty(len(values))
    for place, value in enumerate(values):
        if value is None:
            found[place] = math.nan
            continue
        found[place] = _number(value, what, where(place))
        if found[place] < 0:
            raise InputError(f"{where(place)}: {what} must not be negative, but is {found[place]:g}")
    return found


def _refuse_twice(attempt: list[Any], task: list[str], arm: list[str], where: Callable[[int], str]) -> None:
    seen: dict[tuple[str, str, str], int] = {}
    for place, key in enumerate(zip(task, arm, map(str, attempt), strict=True)):
        if (first := seen.setdefault(key, place)) != place:
            raise InputError(
                f"{where(place)}: attempt {checks.shown(attempt[place])} of arm {checks.shown(key[1])} at task "
                f"{checks.shown(key[0])} occurs twice, first at {where(first)}"
            )


def _score_range(given: Any, score: Floats, where: Callable[[int], str]) -> Range | None:
    if given is None:
        return (0.0, 1.0) if score.min() >= 0 and score.max() <= 1 else None
    if not checks.is_list(given) or len(given) != 2:
        raise InputError(
            f"score_range must be two numbers, the least and the greatest score, not {checks.shown(given)}"
        )
    low, high = (_number(end, "score_range", "the log") for end in given)
    if low >= high:
        raise InputError(f"score_range must be two numbers, the lesser first, not {checks.shown(given)}")
    if outside := np.flatnonzero((score < low) | (score > high)).tolist():
        raise InputError(
            f"{where(outside[0])}: score {score[outside[0]]:g} is outside the score_range {low:g} to {high:g}"
        )
    return low, high


def _cost_limit(given: Any, cost: Floats, where: Callable[[int], str]) -> float:
    known = np.where(np.isfinite(cost), cost, 0.0)
    if given is None:
        return float(known.max())
    limit = _number(given, "cost_limit", "the log")
    if (above := int(known.argmax())) >= 0 and known[above] > limit:
        raise InputError(f"{where(above)}: cost {known[above]:g} is more than the cost_limit {limit:g}")
    return limit


def _notes(log: Log) -> Iterator[str]:
    for number, arm in enumerate(log.arms):
        counts = log.counts[:, number]
        if single := int((counts == 1).sum()):
            which = checks.shown(log.tasks[int(np.flatnonzero(counts == 1)[0])])
            yield (
                f"{_tasks(single)} ({which}{', ...' if single > 1 else ''}) {'has' if single == 1 else 'have'} a single "
                f"attempt of arm {checks.shown(arm)}: nothing beyond k = 1 can be said with {'it' if single == 1 else 'them'}"
            )
        if absent := int((counts == 0).sum()):
            yield f"{_tasks(absent)} {'has' if absent == 1 else 'have'} no attempt of arm {checks.shown(arm)}"
        if _stopped_at_success(log, number):
            yield (
                f"attempts of arm {checks.shown(arm)} seem to have ended at the first success: then how many there are "
                "depends on how they went, and what is said here of several attempts is wrong"
            )
    unknown = [np.isnan(log.cost[log.arm == number]) for number in range(len(log.arms))]
    if some := [f"{x.sum()} of {len(x)} of {arm}" for x, arm in zip(unknown, log.arms, strict=True) if x.any()]:
        yield f"attempts without a cost: {', '.join(some)}"
    if log.in_units:
        yield "no costs are logged: every attempt counts as 1"


def _stopped_at_success(log: Log, arm: int) -> bool:
    """Whether top scores occur only as the last attempt of tasks that were tried less often than others."""
    counts = log.counts[:, arm]
    short = np.flatnonzero((counts > 0) & (counts < counts.max()))
    if len(short) < 5:
        return False
    top = log.score[log.arm == arm].max()
    ends = np.array([log.score[log.starts[t, arm] + counts[t] - 1] == top for t in short])
    before = Counter(int(log.task[i]) for i in np.flatnonzero((log.arm == arm) & (log.score == top)))
    alone = all(before[int(t)] == 1 for t in short[ends])
    return bool(ends.mean() >= 0.9 and alone)


def _tasks(n: int) -> str:
    return f"{n} task{'' if n == 1 else 's'}"
