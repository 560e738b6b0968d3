"""The scheduler: ask which attempt to make next and tell its result, for many tasks at once, several in flight."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maxatk.attempts.scheduler.journal import Journal
from maxatk.attempts.scheduler.schedule import Schedule, TaskTrace, learned
from maxatk.attempts.sequences import files
from maxatk.attempts.sequences.plan import SequencePlan, Step
from maxatk.base import archive, checks
from maxatk.base.errors import InputError
from maxatk.base.text import count_of, short, threshold


@dataclass(frozen=True)
class Attempt:
    """The next attempt at a task, or the answer that there is none to make now."""

    arm: str | None  # the arm to try; None if no attempt is to be started now
    stop: bool  # whether the task is over
    why: str  # the reason, in words

    @property
    def wait(self) -> bool:
        """Whether to wait for attempts in flight: none is to be started, and the task is not over."""
        return self.arm is None and not self.stop

    def __str__(self) -> str:
        return f"{self.arm or ('stop' if self.stop else 'wait')}: {self.why}"


@dataclass
class TaskState:
    """The state of a task."""

    best: float | None = None  # the best score so far; None before the first result
    spent: float = 0.0  # the cost of its attempts
    told: list[tuple[str, float, float | None]] = field(
        default_factory=list[tuple[str, float, float | None]]
    )  # arm, score, cost
    in_flight: Counter[str] = field(
        default_factory=Counter[str]
    )  # attempts that were handed out and have no result yet, by arm
    over: bool = False  # whether the scheduler has stopped it
    allowed: int | None = None  # the number of attempts it would have been given in all; None if that is not known


class Scheduler:
    """Decides which arm to try next at each of many tasks, and when to stop. Made by :meth:`SequencePlan.scheduler`.

    All methods may be called from several threads. With a ``path``, every event is written to that file at once;
    :func:`load_scheduler` resumes from it, even if the process was killed.

    Args:
        plan: the sequence to follow.
        path: a new file in which the scheduler is kept.
        total_budget: a budget that all tasks share: a task is then given up where going on would gain less per cost
            than it would at other tasks. An attempt is started only if the budget left covers the highest cost of its
            arm in the log.
        tasks: the number of tasks for which the budget must last.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> scheduler = at.sequence(at.Log.from_records(rows), price=0.05).scheduler()
    >>> attempt = scheduler.ask("a new task")
    >>> attempt.arm, attempt.stop
    ('small', False)
    >>> scheduler.tell("a new task", arm="small", score=1.0, cost=1.1)
    >>> print(scheduler.ask("a new task"))
    stop: the best score of 1 attempt is 1.00, which reaches 1.00
    """

    def __init__(
        self,
        plan: SequencePlan,
        path: str | os.PathLike[str] | None = None,
        *,
        total_budget: float | None = None,
        tasks: int | None = None,
    ) -> None:
        if (total_budget is None) != (tasks is None):
            raise InputError("total_budget needs tasks, the number of tasks that share it, and the other way round")
        self.plan = self._first_plan = plan  # the sequence that is followed
        self.total_budget = None if total_budget is None else _amount(total_budget, "total_budget")  # of all tasks
        self.tasks = None if tasks is None else checks.integer(tasks, "tasks", least=1)  # that share the budget
        self._schedule = Schedule([*plan.steps, *plan.further])
        self._states: dict[str, TaskState] = {}
        self._spent = 0.0
        self._waiting, self._in_flight = Counter[int](), Counter[str]()  # open tasks by position, attempts by arm
        self._lock = threading.RLock()
        self._events: list[Any] = []
        self._journal: Journal | None = None
        if path is not None:
            archive.check_target(path)
            if Path(path).exists():
                raise InputError(f"{path}: the file exists already: at.load_scheduler resumes from it")
            self.save(path)
            self._keep(path)

    # Asking and telling.

    def ask(self, task: Any) -> Attempt:
        """The next attempt at a ``task``. Attempts in flight count as if they fell short of the threshold.

        Args:
            task: the name of the task, a word or a whole number.
        """
        with self._lock:
            name = _task(task)
            state = self._states.get(name, TaskState())
            answer, allowed = self._decide(state, newcomer=name not in self._states)
            if answer.arm is not None:
                self._note({"ask": [name, answer.arm, allowed]})
            elif answer.stop and not state.over:
                self._note({"stop": [name, allowed]})
            return answer

    def tell(self, task: Any, *, arm: str, score: float, cost: float | None = None) -> None:
        """Tell the score and the cost of an attempt, whether or not the scheduler handed it out.

        Args:
            task: the task.
            arm: the arm that was tried.
            score: its score.
            cost: its cost; required with a ``total_budget``.
        """
        with self._lock:
            name = _task(task)
            if not isinstance(arm, str) or not arm:
                raise InputError(f"arm must be the name of an arm, not {checks.shown(arm)}")
            points = float(checks.exact_number(score, "score"))
            if cost is None and self.total_budget is not None:
                raise InputError("cost is required with a total_budget")
            self._note({"tell": [name, arm, points, None if cost is None else _amount(cost, "cost")]})

    def drop(self, task: Any, *, arm: str) -> None:
        """Give an attempt back that will have no result: it crashed, or was never made.

        Args:
            task: the task.
            arm: the arm of the attempt.
        """
        with self._lock:
            name = _task(task)
            state = self._states.get(name)
            if state is None or not state.in_flight[arm]:
                raise InputError(f"no attempt of arm {checks.shown(arm)} at task {checks.shown(name)} is in flight")
            self._note({"drop": [name, arm]})

    def state(self, task: Any) -> TaskState:
        """The state of a ``task``.

        Args:
            task: the task.
        """
        with self._lock:
            state = self._states.get(_task(task))
            if state is None:
                raise InputError(f"this scheduler does not know a task {checks.shown(_task(task))}")
            return replace(state, told=list(state.told), in_flight=Counter(state.in_flight))

    def records(self) -> list[dict[str, Any]]:
        """All results that were told, as :meth:`Log.from_records` reads them.

        Do not plan from a log of these: the number of attempts at a task depends on their scores.
        """
        with self._lock:
            return [
                {"task": name, "arm": arm, "score": score, "cost": cost}
                for name, state in self._states.items()
                for arm, score, cost in state.told
            ]

    @property
    def known(self) -> list[str]:
        """The tasks that were asked for or told."""
        with self._lock:
            return list(self._states)

    @property
    def spent(self) -> float:
        """The cost of all attempts that were told."""
        with self._lock:
            return self._spent

    @property
    def price(self) -> float:
        """The gain per cost that an attempt needs now: the plan's price, or that at which a shared budget lasts."""
        with self._lock:
            return self._price()

    # Deciding.

    def _decide(self, state: TaskState, newcomer: bool) -> tuple[Attempt, int | None]:
        """The next attempt, and the number of attempts that the task would be given in all."""
        made, stop_at = len(state.told), self.plan.stop_at
        if state.best is not None and state.best >= stop_at:
            best = f"the best score of {count_of(made, 'attempt')} is {self._beside(state.best)}"
            return Attempt(None, True, f"{best}, which reaches {threshold(stop_at)}"), state.allowed
        flying = sum(state.in_flight.values())
        meanwhile = (
            f"; {flying} in flight, counted as if {'it' if flying == 1 else 'they'} fell short" if flying else ""
        )
        place, price = self._place(state), self._price(newcomer)
        length = len(self.plan.steps) if self.total_budget is None else self._schedule.cut(price, place)
        if place >= length:
            return Attempt(None, not flying, self._given_up(state, place, price) + meanwhile), max(length, place)
        step = self._schedule.steps[place]
        if self.total_budget is not None and not self._affordable(step):
            may_cost = short(self._dearest(step.arm))
            left = short(self.total_budget - self._spent)
            why = f"{left} is left of the shared budget, and {step.arm} may cost {may_cost}"
            return Attempt(None, not flying, why + meanwhile), place
        so_far = (
            f"the best of {made} so far is {self._beside(state.best)}, below {threshold(stop_at)}"
            if state.best is not None
            else "no result yet"
        )
        why = (
            f"attempt {place + 1} of at most {length}: {so_far}; at tasks that get here {step.arm} adds "
            f"{short(step.gain)} on average for {short(step.cost)}, which is {short(step.gain_per_cost)} per unit of "
            f"cost (the price is {short(price)})"
        )
        return Attempt(step.arm, False, why + meanwhile), length

    def _given_up(self, state: TaskState, place: int, price: float) -> str:
        best = "no result yet" if state.best is None else f"the best score is {short(state.best)}"
        if place >= len(self._schedule.steps):
            return f"{best}, and the log has no estimate for attempts after {place}"
        step = self._schedule.steps[place]
        return (
            f"{best}, and one more attempt, {step.arm}, would gain {short(step.gain_per_cost)} per unit of cost, while "
            f"the price is {short(price)}"
        )

    def _beside(self, score: float) -> str:
        """A score to three digits, or in full where rounding would move it across the threshold."""
        stop_at = self.plan.stop_at
        return short(score) if (float(short(score)) >= stop_at) == (score >= stop_at) else repr(score)

    def _place(self, state: TaskState) -> int:
        """The first attempt of the schedule that has neither been made nor is in flight."""
        used = Counter(arm for arm, _, _ in state.told) + state.in_flight
        for place, step in enumerate(self._schedule.steps):
            if not used[step.arm]:
                return place
            used[step.arm] -= 1
        return len(self._schedule.steps)

    def _price(self, newcomer: bool = False) -> float:
        if self.total_budget is None or self.tasks is None:
            return self.plan.price
        waiting = self._waiting.copy()
        waiting[0] += max(self.tasks - len(self._states), int(newcomer))
        # What is left after the attempts in flight, at the mean cost of their arms.
        left = self.total_budget - self._spent - sum(n * self._mean_cost(arm) for arm, n in self._in_flight.items())
        lowest = self.plan.price if self.plan.goal.price is not None else 0.0
        return max(lowest, self._schedule.shadow_price(+waiting, left))

    def _mean_cost(self, arm: str) -> float:
        costs = [step.cost for step in self._schedule.steps if step.arm == arm]
        return sum(costs) / len(costs) if costs else 0.0

    def _dearest(self, arm: str) -> float:
        costs = self.plan.built_from.highest_costs
        return costs.get(arm, max(costs.values(), default=0.0))

    def _affordable(self, step: Step) -> bool:
        """Whether the budget left covers this attempt and all in flight, each at the highest cost of its arm."""
        assert self.total_budget is not None
        flying = sum(n * self._dearest(arm) for arm, n in self._in_flight.items())
        return self._dearest(step.arm) + flying <= self.total_budget - self._spent

    # Learning.

    def learn(self) -> SequencePlan:
        """Re-estimate the gain and cost of every attempt from the results so far, and hence where to give up.

        The order of the arms stays the same: a scheduler is told of attempts that its own sequence chose, which are not
        a fair sample of others. Tasks that are still open do not count. Returns the plan that is followed from now on.
        """
        with self._lock:
            plan = self.plan
            traces = [trace for trace in map(self._trace, self._states.values()) if trace is not None]
            steps = learned(self._schedule.steps, plan.built_from.tasks, traces)
            schedule = Schedule(steps)
            length = schedule.cut(plan.price)
            if plan.goal.budget is not None:
                length = max(n for n in range(len(steps) + 1) if schedule.cost(0, n) <= plan.goal.budget)
            # Counted once: the tasks that were told so far are part of the plan from here on.
            built_from = replace(plan.built_from, tasks=plan.built_from.tasks + len(traces))
            new = replace(plan, steps=steps[:length], further=steps[length:], built_from=built_from)
            self._note({"learn": files.plan_data(new)})
            return new

    def _trace(self, state: TaskState) -> TaskTrace | None:
        """The trace of a closed task; None if it is open, was counted before, or left the order of the schedule."""
        if not self._closed(state) or state.allowed is None or state.in_flight:
            return None
        told = list(state.told)
        best, gains, costs = self.plan.default_score, list[float](), list[float]()
        for step in self._schedule.steps[: len(told)]:
            # Attempts in flight together come back in any order. They are fresh draws, whichever is counted first.
            attempt = next((one for one in told if one[0] == step.arm), None)
            if attempt is None or attempt[2] is None:
                return None
            told.remove(attempt)
            gains.append(max(attempt[1] - best, 0.0) if gains else attempt[1] - best)
            best = max(attempt[1], best) if costs else attempt[1]
            costs.append(attempt[2])
            if best >= self.plan.stop_at:
                break
        return TaskTrace(tuple(gains), tuple(costs), max(state.allowed, len(gains)))

    def _closed(self, state: TaskState) -> bool:
        return state.over or (state.best is not None and state.best >= self.plan.stop_at)

    # Storing.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scheduler to ``path``, completely or not at all; :func:`load_scheduler` reads it.

        Args:
            path: the file.
        """
        with self._lock:
            header = {
                "format": "maxatk scheduler",
                "version": files.VERSION,
                "plan": files.plan_data(self._first_plan),
                "total_budget": self.total_budget,
                "tasks": self.tasks,
            }
            files.write_lines(path, [header, *self._events])

    def close(self) -> None:
        """Close the file in which the scheduler is kept; the scheduler goes on without it."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _keep(self, path: str | os.PathLike[str]) -> None:
        """Append all further events to a file that holds the events so far."""
        self._journal = Journal(path)

    def _note(self, event: dict[str, Any]) -> None:
        """Write an event to the journal, then apply it."""
        if self._journal is not None:
            self._journal.add(event)
        self._events.append(event)
        self._apply(event)

    def _apply(self, event: Any) -> None:
        """Apply an event to the state."""
        ((what, given),) = event.items()
        if what == "learn":
            for state in self._states.values():
                if self._trace(state) is not None:
                    state.allowed = None  # counted
            self.plan = files.plan_of(given)
            self._schedule = Schedule([*self.plan.steps, *self.plan.further])
            self._waiting = Counter(self._place(state) for state in self._states.values() if not self._closed(state))
            return
        name, *rest = given
        if not isinstance(name, str):
            raise InputError(f"{checks.shown(name)} is not the name of a task")
        before = self._states.get(name)
        if before is not None and not self._closed(before):
            self._waiting[self._place(before)] -= 1
        state = self._states.setdefault(name, TaskState())
        _CHANGES[what](self, state, *rest)
        if not self._closed(state):
            self._waiting[self._place(state)] += 1

    def _asked(self, state: TaskState, arm: str, allowed: Any) -> None:
        state.in_flight[arm] += 1
        self._in_flight[arm] += 1
        state.over, state.allowed = False, checks.integer(allowed, "allowed")

    def _landed(self, state: TaskState, arm: str) -> None:
        if state.in_flight[arm] > 0:
            state.in_flight[arm] -= 1
            self._in_flight[arm] -= 1
        state.in_flight, self._in_flight = +state.in_flight, +self._in_flight

    def _told(self, state: TaskState, arm: str, score: Any, cost: Any) -> None:
        points, amount = files.number(score), None if cost is None else files.number(cost)
        self._landed(state, arm)
        state.told.append((arm, points, amount))
        state.best = points if state.best is None else max(state.best, points)
        state.spent += amount or 0.0
        self._spent += amount or 0.0

    def _ended(self, state: TaskState, allowed: Any) -> None:
        state.over = True
        state.allowed = None if allowed is None else checks.integer(allowed, "allowed")


_CHANGES: dict[str, Any] = {
    "ask": Scheduler._asked,  # pyright: ignore[reportPrivateUsage]
    "tell": Scheduler._told,  # pyright: ignore[reportPrivateUsage]
    "drop": Scheduler._landed,  # pyright: ignore[reportPrivateUsage]
    "stop": Scheduler._ended,  # pyright: ignore[reportPrivateUsage]
}


def load_scheduler(path: str | os.PathLike[str], *, keep: bool = False) -> Scheduler:
    """Read a scheduler that :meth:`Scheduler.save` wrote, or that was kept in a file.

    Args:
        path: the file.
        keep: append all further events to that file.

    >>> from maxatk import attempts as at
    >>> from pathlib import Path
    >>> scheduler = at.sequence(at.example_log(), price=2.0, method="greedy").scheduler()
    >>> scheduler.tell("f1", arm="L-BFGS-B", score=0.5, cost=0.01)
    >>> scheduler.save("x.scheduler")
    >>> at.load_scheduler("x.scheduler").state("f1").best
    0.5
    >>> Path("x.scheduler").unlink()
    """
    scheduler = files.read_lines(path, "scheduler", _scheduler_of)
    if keep:
        scheduler._keep(path)  # pyright: ignore[reportPrivateUsage]
    return scheduler


def _scheduler_of(header: dict[str, Any], events: list[Any]) -> Scheduler:
    plan, total_budget = files.plan_of(header.get("plan")), header.get("total_budget")
    scheduler = Scheduler(plan, total_budget=total_budget, tasks=header.get("tasks"))
    for number, event in enumerate(events, 2):
        try:
            scheduler._events.append(event)  # pyright: ignore[reportPrivateUsage]
            scheduler._apply(event)  # pyright: ignore[reportPrivateUsage]
        except (InputError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
            raise InputError(f"line {number}: {error}") from None
    return scheduler


def _task(task: Any) -> str:
    if isinstance(task, bool) or not isinstance(task, str | int) or task == "":
        raise InputError(f"the name of a task must be a word or a whole number, not {checks.shown(task)}")
    return str(task)


def _amount(value: Any, what: str) -> float:
    amount = float(checks.exact_number(value, what))
    if amount < 0:
        raise InputError(f"{what} must not be negative, but is {amount:g}")
    return amount
