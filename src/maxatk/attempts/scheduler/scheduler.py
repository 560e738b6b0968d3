"""The scheduler: ask which attempt to make next and tell its result, for many tasks and many workers at once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from maxatk.attempts.log import Log
from maxatk.attempts.scheduler import arguments
from maxatk.attempts.scheduler.attempt import Attempt, Handed, SchedulerProgress, Status, TaskState
from maxatk.attempts.scheduler.databases import Database, Sqlite, database
from maxatk.attempts.scheduler.records import Records, Settings, amount, checked_settings
from maxatk.attempts.scheduler.rules import Rules
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.warnings import AttemptsWarning
from maxatk.base import checks
from maxatk.base.errors import InputError, MaxAtKError
from maxatk.base.text import count_of

T = TypeVar("T")
AT_A_TIME = 1_000  # tasks that one transaction looks at for an attempt to start
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds between two looks while there is only waiting to do


class Scheduler:
    """Decides which arm to try next at each of many tasks, and when to stop. Made by :meth:`SequencePlan.scheduler`.

    It lives in a database: SQLite in memory, SQLite in a file that several processes share, or PostgreSQL, which many
    machines share. Every call is one transaction, which happens as a whole or not at all; an error of the database is a
    :class:`maxatk.StorageError`, after which the same call can be made again. All methods may be called from several
    threads, and the object may be handed to other processes.

    Its answers assume that attempts in flight fall short. A plan without a width was built for attempts each of which
    sees the results of all before it: where several of a task are in flight, attempts are made that one of these
    results would have saved, so the task costs at least as much as in the replay. A plan with a width waits for the end
    of each round, as its replay does. Workers that do not wait are not between the two: an attempt may start with fewer
    results in sight than at the start of its round. What they gain is time.

    Args:
        database: where it is kept, with its plan.
        lease: seconds for which an attempt is handed out.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> scheduler = at.sequence(at.Log.from_records(rows), price=0.05).scheduler()
    >>> while attempt := scheduler.ask("a new task", wait=True):
    ...     counts = scheduler.tell(attempt, score=float(attempt.id == 2), cost=1.1)
    ...     print(attempt.arm)
    small
    small
    >>> print(attempt)
    stop: the best score of 2 attempts is 1.00, which reaches 1.00
    """

    def __init__(self, database: Database, lease: float) -> None:
        self._database = database
        self.lease = arguments.seconds(lease, "lease")  # seconds that an attempt is handed out for
        self._news = threading.Condition()
        self._known: tuple[int, Rules] | None = None  # the plan that is followed, by its number
        self._settings: Settings = self._do(lambda records: records.settings())

    def __getstate__(self) -> dict[str, Any]:
        return {"_database": self._database, "lease": self.lease}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Scheduler.__init__(self, state["_database"], state["lease"])

    def __repr__(self) -> str:
        return f"Scheduler({self._database.name})"

    # Asking and telling.

    def ask(self, task: Any = None, *, wait: bool = False, timeout: float | None = None) -> Attempt:
        """The next attempt at a task, which is opened if it is new. Attempts in flight count as if they fell short.

        The answer is false where no attempt is to be started: ``attempt.stop`` says that the task is over, and
        ``attempt.wait`` that its attempts in flight must come back first.

        Args:
            task: the name of the task, a word or a whole number; None for the task of the highest priority, among those
                that are known, that has an attempt to start.
            wait: sleep while there is only waiting to do, so that the answer is an attempt or a stop.
            timeout: seconds after which the sleep ends, whatever the answer.
        """
        deadline = None if timeout is None else time.monotonic() + arguments.seconds(timeout, "timeout")
        pause = FIRST_PAUSE
        while True:
            attempt = self._ask(task)
            if attempt or attempt.stop or not wait or (deadline is not None and time.monotonic() >= deadline):
                return attempt
            left = LONGEST_PAUSE if deadline is None else max(deadline - time.monotonic(), 0.0)
            with self._news:
                self._news.wait(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def ask_async(self, task: Any = None, *, timeout: float | None = None) -> Attempt:
        """The same for asyncio: the next attempt or a stop; other coroutines run meanwhile.

        Args:
            task: as for :meth:`ask`.
            timeout: seconds after which the wait ends, whatever the answer.
        """
        deadline = None if timeout is None else time.monotonic() + arguments.seconds(timeout, "timeout")
        pause = FIRST_PAUSE
        while True:
            attempt = await asyncio.to_thread(self._ask, task)
            if attempt or attempt.stop or (deadline is not None and time.monotonic() >= deadline):
                return attempt
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def tell(
        self,
        attempt: Attempt | int,
        *,
        score: float | None = None,
        cost: float | None = None,
        judge: float | None = None,
        answer: str | None = None,
    ) -> bool:
        """Tell the result of an attempt. Late results count, and each attempt counts once.

        Args:
            attempt: the attempt, or its id.
            score: its score; if the plan has a judge, the truth, which may be unknown.
            cost: its cost; required with a ``total_budget``.
            judge: what the judge gave it; required if the plan has a judge, which stops and picks by it.
            answer: its answer; blank ones, None, NaN and white space, cast no vote.

        Returns:
            whether the result counts: False if the attempt was told before.
        """
        number, given = arguments.attempt_id(attempt), (score, judge, answer, self._cost(cost))

        def told(records: Records) -> bool:
            task, handed = records.attempt(number)
            result = arguments.result(self._rules(records).plan.judge, *given)
            if handed.status is Status.TOLD:
                return False
            records.tell(handed, result)
            records.settle(task, self._rules(records))
            return True

        return self._do(told)

    def add(
        self,
        task: Any,
        *,
        arm: str,
        score: float | None = None,
        cost: float | None = None,
        judge: float | None = None,
        answer: str | None = None,
        source: str | None = None,
    ) -> bool:
        """Add a result that nobody asked for; the task is opened if it is new.

        Args:
            task: the task.
            arm: the arm that was tried, one of the plan's.
            score: as for :meth:`tell`.
            cost: as for :meth:`tell`.
            judge: as for :meth:`tell`.
            answer: as for :meth:`tell`.
            source: a name of the result, such as a run's: of results with one name only the first counts.

        Returns:
            whether the result counts.
        """
        name, given = arguments.task_name(task), (score, judge, answer, self._cost(cost))
        named = None if source is None else arguments.word(source, "source")

        def added(records: Records) -> bool:
            rules = self._rules(records)
            arguments.check_arm(arm, rules)
            result = arguments.result(rules.plan.judge, *given)
            records.open(name)
            counts = records.add(name, arm, result, named)
            records.settle(name, rules)
            return counts

        return self._do(added)

    def drop(self, attempt: Attempt | int) -> None:
        """Give an attempt back that will have no result: it is handed out again, with another id.

        Args:
            attempt: the attempt, or its id.
        """
        number = arguments.attempt_id(attempt)

        def dropped(records: Records) -> None:
            task, handed = records.attempt(number)
            if handed.status is Status.TOLD:
                raise InputError(f"attempt {number} was told: it cannot be dropped")
            if handed.status is Status.IN_FLIGHT:
                records.end(task, handed, Status.DROPPED, self._settings)
                records.settle(task, self._rules(records))

        self._do(dropped)

    def renew(self, attempt: Attempt | int, *, lease: float | None = None) -> None:
        """Keep an attempt for longer: its lease begins anew.

        Args:
            attempt: the attempt, or its id.
            lease: seconds from now on; by default those of the scheduler.
        """
        number = arguments.attempt_id(attempt)
        seconds = self.lease if lease is None else arguments.seconds(lease, "lease")

        def renewed(records: Records) -> None:
            _, handed = records.attempt(number)
            if handed.status is not Status.IN_FLIGHT:
                raise InputError(f"attempt {number} is {handed.status}: its lease cannot be renewed")
            records.renew(handed, seconds)

        self._do(renewed)

    # Tasks.

    def enqueue(self, tasks: Iterable[Any], *, priority: float = 0.0) -> None:
        """Open tasks, for workers that ask without naming one.

        Args:
            tasks: their names; those that are known get the priority.
            priority: tasks of higher priority come first, and among equals the one that was opened first.
        """
        names, rank = arguments.task_names(tasks), float(checks.exact_number(priority, "priority"))
        self._do(lambda records: records.enqueue(names, rank))

    def pause(self, task: Any) -> None:
        """Start no attempts at a ``task`` until :meth:`resume`; results of those in flight count."""
        self._mark(task, paused=1)

    def resume(self, task: Any) -> None:
        """Go on with a ``task`` that was paused."""
        self._mark(task, paused=0)

    def cancel(self, task: Any) -> None:
        """End a ``task``; results of attempts in flight count."""
        self._mark(task, cancelled=1)

    def _mark(self, task: Any, **columns: int) -> None:
        name = arguments.task_name(task)

        def marked(records: Records) -> None:
            self._check_task(records, name)
            records.mark(name, **columns)
            records.settle(name, self._rules(records))

        self._do(marked)

    # What is known.

    def state(self, task: Any) -> TaskState:
        """The state of a ``task``: its best score, what it has spent, its results and its attempts in flight."""
        name = arguments.task_name(task)

        def read(records: Records) -> TaskState:
            self._check_task(records, name)
            return self._rules(records).counted(records.state(name))

        return self._do(read)

    def pick(self, task: Any) -> Handed | None:
        """The attempt at a ``task`` to hand in: the one that the judge likes best, or without a judge the best score.

        Of equals it is the one that was told first, as its ``why`` says; None before the first result.
        """
        name = arguments.task_name(task)

        def picked(records: Records) -> Handed | None:
            self._check_task(records, name)
            best = records.best(name)
            return None if best is None else replace(best, why=self._rules(records).picked(records.state(name)))

        return self._do(picked)

    def records(self) -> list[dict[str, Any]]:
        """All results that were told, as :meth:`Log.from_records` reads them."""
        return self._do(lambda records: records.told())

    def export(self) -> Log:
        """A log of all results that were told.

        A scheduler makes more attempts where scores are low, and with better arms later. So do not estimate from this
        log how arms compare, or pass@k for k beyond the first attempt of a task: such estimates assume that the number
        of attempts does not depend on their scores. The mean score and cost of the scheduler's own tasks are unbiased
        for tasks like them, once all of them are over: those that end first are the easier ones.
        """
        rows = self.records()
        known = [row for row in rows if row["score"] is not None]
        if rows and not known:
            return Log.from_records(rows, score=None)
        if len(known) < len(rows):
            left_out = count_of(len(rows) - len(known), "result")
            warnings.warn(f"{left_out} without a score are left out", AttemptsWarning, stacklevel=2)
        return Log.from_records(known)

    @property
    def known(self) -> list[str]:
        """The tasks, in the order in which they were opened."""
        return self._do(lambda records: records.names())

    @property
    def in_flight(self) -> list[Attempt]:
        """All attempts without a result yet."""
        return self._with_status(Status.IN_FLIGHT, "in flight")

    @property
    def failed(self) -> list[Attempt]:
        """Attempts that were dropped or expired more often than ``max_retries``, and are not made again."""
        return self._with_status(Status.FAILED, "it was dropped or expired too often")

    def _with_status(self, status: Status, why: str) -> list[Attempt]:
        every = self._do(lambda records: records.with_status(status))
        return [Attempt(task, one.arm, False, why, one.id, one.lease_end) for task, one in every]

    @property
    def spent(self) -> float:
        """The cost of all attempts that were told."""
        return self._do(lambda records: records.spent())

    @property
    def plan(self) -> SequencePlan:
        """The sequence that is followed."""
        return self._do(lambda records: self._rules(records).plan)

    @property
    def price(self) -> float:
        """The gain per cost that an attempt needs now: the plan's price, or that at which a shared budget lasts."""
        return self._do(lambda records: self._rules(records).price(records.budget(self._settings)))

    @property
    def settings(self) -> Settings:
        """What all workers agree on: the shared budget, retries and timeouts."""
        return self._settings

    def progress(self) -> SchedulerProgress:
        """Where the scheduler stands: tasks, attempts by arm, spending."""
        return self._do(lambda records: records.progress(self._settings, self._rules(records).plan.width))

    def learn(self) -> SequencePlan:
        """Re-estimate the gain and cost of every attempt from the results so far, and hence where to give up.

        The order of the arms stays the same: a scheduler is told of attempts that its own sequence chose, which are not
        a fair sample of others. Tasks that are still open do not count. Returns the plan that is followed from now on.
        """

        def learned(records: Records) -> SequencePlan:
            if (judge := self._rules(records).plan.judge) is not None:
                raise InputError(f"learn needs the truth of every attempt, and this plan decides by the judge {judge}")
            rules, names = self._rules(records), records.names()
            traces = {name: rules.trace(records.state(name), records.allowed(name)) for name in names}
            plan = rules.learned([trace for trace in traces.values() if trace is not None])
            records.follow(plan)
            rules = self._rules(records)
            for name in names:
                if traces[name] is not None:
                    records.mark(name, allowed=None)  # counted once
                records.settle(name, rules)
            return plan

        return self._do(learned)

    def close(self) -> None:
        """Close the connection to the database; the next call opens it again. A scheduler in memory is gone."""
        self._database.close()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # Transactions.

    def _do(self, work: Callable[[Records], T]) -> T:
        result = self._transact(work)
        with self._news:
            self._news.notify_all()
        return result

    def _transact(self, work: Callable[[Records], T]) -> T:
        """The result of ``work``. Arguments were checked: what makes no sense now was read from the database."""
        try:
            return self._database.transact(lambda transaction: work(Records(transaction, self._database.name)))
        except MaxAtKError:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise InputError(f"{self._database.name}: its tables make no sense: {checks.shown(str(error))}") from None

    def _rules(self, records: Records) -> Rules:
        number = records.plan_number()
        if self._known is None or self._known[0] != number:
            self._known = number, Rules(records.plan())
        return self._known[1]

    def _ask(self, task: Any) -> Attempt:
        name = None if task is None else arguments.task_name(task)
        return self._transact(lambda records: self._answer(records, name))

    def _answer(self, records: Records, task: str | None) -> Attempt:
        rules = self._rules(records)
        for name, handed in records.expired():
            records.end(name, handed, Status.EXPIRED, self._settings)
            records.settle(name, rules)
        if task is not None:
            records.open(task)
            return self._next(records, task, rules)
        for _ in range(AT_A_TIME):
            name = records.next_ready()
            if name is None:
                waiting = records.any_open()
                return Attempt(None, None, not waiting, "all attempts are in flight" if waiting else "no task is open")
            if attempt := self._next(records, name, rules):
                return attempt
        return Attempt(None, None, False, "the search for an attempt goes on")

    def _next(self, records: Records, task: str, rules: Rules) -> Attempt:
        state = records.state(task)
        arm, stop, why, allowed = rules.decide(state, records.budget(self._settings))
        handed: Handed | None = None
        if arm is not None:
            handed = records.hand_out(task, arm, self.lease)
            records.mark(task, over=0, allowed=allowed)
        elif stop and not state.over:
            records.mark(task, over=1, allowed=records.allowed(task) if allowed is None else allowed)
        records.settle(task, rules, ready=arm is not None)
        return Attempt(task, arm, stop, why, handed and handed.id, handed and handed.lease_end)

    def _check_task(self, records: Records, task: str) -> None:
        if not records.has(task):
            raise InputError(f"this scheduler does not know a task {checks.shown(task)}")

    def _cost(self, cost: float | None) -> float | None:
        if cost is None and self._settings.total_budget is not None:
            raise InputError("cost is required with a total_budget")
        return None if cost is None else amount(cost, "cost")


def new_scheduler(
    plan: SequencePlan, where: str | os.PathLike[str] | None, lease: float, settings: Settings
) -> Scheduler:
    """A scheduler of a plan: a new one, or one of the same plan that is there already."""
    agreed, place = checked_settings(settings), database(where)
    place.transact(lambda transaction: Records(transaction, place.name).create(agreed, plan))
    return Scheduler(place, lease)


def load_scheduler(where: str | os.PathLike[str], *, lease: float = 600.0) -> Scheduler:
    """Join a scheduler that was made before; its plan is in the file.

    Args:
        where: the file, or an address ``postgresql://...``.
        lease: seconds for which attempts are handed out, as for :meth:`SequencePlan.scheduler`.

    >>> from maxatk import attempts as at
    >>> from pathlib import Path
    >>> scheduler = at.sequence(at.example_log(), price=2.0, method="greedy").scheduler("x.db")
    >>> scheduler.add("f1", arm="L-BFGS-B", score=0.5, cost=0.01)
    True
    >>> scheduler.close()
    >>> with at.load_scheduler("x.db") as again:
    ...     print(again.state("f1").best)
    0.5
    >>> Path("x.db").unlink()
    """
    place = database(where)
    if isinstance(place, Sqlite) and not place.exists():
        raise InputError(f"{where}: there is no such file")
    place.transact(lambda transaction: Records(transaction, place.name).check(required=True))
    return Scheduler(place, lease)
