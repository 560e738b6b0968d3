"""A desk that says what to try next: ask and tell, for many tasks at once and with several attempts in flight."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maxatk.attempts.sequences import files
from maxatk.attempts.sequences.ladder import Climb, Ladder, learned
from maxatk.attempts.sequences.plans import SequencePlan, Step
from maxatk.attempts.study.tables import short
from maxatk.base import archive, checks
from maxatk.base.errors import InputError


@dataclass(frozen=True)
class Ask:
    """What to do next at a task."""

    arm: str | None  # the arm to try; None if there is nothing to start now
    stop: bool  # whether the task is over
    why: str  # the reason, in words

    @property
    def wait(self) -> bool:
        """Whether to wait for attempts in flight: there is nothing to start, and the task is not over."""
        return self.arm is None and not self.stop

    def __str__(self) -> str:
        return f"{self.arm or ('stop' if self.stop else 'wait')}: {self.why}"


@dataclass
class TaskState:
    """How a task stands."""

    best: float | None = None  # the best score so far; None before the first
    spent: float = 0.0  # what its attempts cost
    told: list[tuple[str, float, float | None]] = field(
        default_factory=list[tuple[str, float, float | None]]
    )  # arm, score, cost
    in_flight: Counter[str] = field(
        default_factory=Counter[str]
    )  # attempts that were asked for and not told of, by arm
    over: bool = False  # whether it was said to stop
    allowed: int | None = None  # how many attempts it would have been given in all, as far as that is known


class Desk:
    """Says which arm to try next at each of many tasks, and when to stop. Made by :meth:`SequencePlan.desk`.

    All methods may be called from several threads. With a ``path`` everything is kept in that file as it comes;
    :func:`load_desk` goes on from it, also after the process was killed.

    Args:
        plan: the sequence to follow.
        path: a new file to keep everything in.
        pot: money for all tasks together: each is then given up where going on would gain less per cost than elsewhere.
            No attempt is started that the pot could not pay if it were as dear as the dearest of its arm in the log.
        tasks: for how many tasks the pot must last.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> desk = at.sequence(at.Log.from_records(rows), price=0.05).desk()
    >>> ask = desk.ask("a new task")
    >>> ask.arm, ask.stop
    ('small', False)
    >>> desk.tell("a new task", arm="small", score=1.0, cost=1.1)
    >>> print(desk.ask("a new task"))
    stop: the best score of 1 attempt is 1.00, which reaches 1.00
    """

    def __init__(
        self,
        plan: SequencePlan,
        path: str | os.PathLike[str] | None = None,
        *,
        pot: float | None = None,
        tasks: int | None = None,
    ) -> None:
        if (pot is None) != (tasks is None):
            raise InputError("a pot needs the number of tasks that it must last for, and the other way round")
        self.plan = self._begun = plan  # the sequence that is followed
        self.pot = None if pot is None else _amount(pot, "pot")  # money for all tasks
        self.tasks = None if tasks is None else checks.integer(tasks, "tasks", least=1)  # for so many
        self._ladder = Ladder([*plan.steps, *plan.further])
        self._states: dict[str, TaskState] = {}
        self._spent = 0.0
        self._waiting, self._flying = Counter[int](), Counter[str]()  # open tasks by place, attempts in flight by arm
        self._lock = threading.RLock()
        self._events: list[Any] = []
        self._journal: files.Journal | None = None
        if path is not None:
            archive.check_target(path)
            if Path(path).exists():
                raise InputError(f"{path}: it exists already: at.load_desk goes on with a desk that was kept")
            self.save(path)
            self._keep(path)

    # Asking and telling.

    def ask(self, task: Any) -> Ask:
        """What to try next at a ``task``. Attempts in flight are counted as if they fell short.

        Args:
            task: any word or whole number that names the task.
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
        """Tell what an attempt scored and cost, whether or not it was asked for.

        Args:
            task: the task.
            arm: whose attempt it was.
            score: its score.
            cost: what it cost; must be given where there is a pot.
        """
        with self._lock:
            name = _task(task)
            if not isinstance(arm, str) or not arm:
                raise InputError(f"arm must be the name of an arm, not {checks.shown(arm)}")
            points = float(checks.exact_number(score, "score"))
            if cost is None and self.pot is not None:
                raise InputError("the cost of an attempt must be told where there is a pot")
            self._note({"tell": [name, arm, points, None if cost is None else _amount(cost, "cost")]})

    def drop(self, task: Any, *, arm: str) -> None:
        """Say that an attempt that was asked for will not come back: it crashed, or was never made.

        Args:
            task: the task.
            arm: whose attempt it was.
        """
        with self._lock:
            name = _task(task)
            state = self._states.get(name)
            if state is None or not state.in_flight[arm]:
                raise InputError(f"no attempt of arm {checks.shown(arm)} at task {checks.shown(name)} is in flight")
            self._note({"drop": [name, arm]})

    def state(self, task: Any) -> TaskState:
        """How a ``task`` stands.

        Args:
            task: the task.
        """
        with self._lock:
            state = self._states.get(_task(task))
            if state is None:
                raise InputError(f"nothing is known of task {checks.shown(_task(task))}")
            return replace(state, told=list(state.told), in_flight=Counter(state.in_flight))

    def records(self) -> list[dict[str, Any]]:
        """All attempts that were told of, as :meth:`Log.from_records` reads them.

        Mind that a log of these is not one to plan from: how often a task was tried depends on how it went.
        """
        with self._lock:
            return [
                {"task": name, "arm": arm, "score": score, "cost": cost}
                for name, state in self._states.items()
                for arm, score, cost in state.told
            ]

    @property
    def known(self) -> list[str]:
        """The tasks that were asked about or told of."""
        with self._lock:
            return list(self._states)

    @property
    def spent(self) -> float:
        """What all attempts that were told of cost."""
        with self._lock:
            return self._spent

    @property
    def price(self) -> float:
        """What an attempt must gain per cost now: the plan's price or, where there is a pot, what makes it last."""
        with self._lock:
            return self._price()

    # Deciding.

    def _decide(self, state: TaskState, newcomer: bool) -> tuple[Ask, int | None]:
        """What to do, and how many attempts the task would be given in all, as things stand."""
        from maxatk.show.words import threshold

        made, stop_at = len(state.told), self.plan.stop_at
        if state.best is not None and state.best >= stop_at:
            best = f"the best score of {made} attempt{'' if made == 1 else 's'} is {_beside(state.best, stop_at)}"
            return Ask(None, True, f"{best}, which reaches {threshold(stop_at)}"), state.allowed
        flying = sum(state.in_flight.values())
        meanwhile = (
            f"; {flying} in flight, counted as if {'it' if flying == 1 else 'they'} fell short" if flying else ""
        )
        place, price = self._place(state), self._price(newcomer)
        length = len(self.plan.steps) if self.pot is None else self._ladder.cut(price, place)
        if place >= length:
            return Ask(None, not flying, self._given_up(state, place, price) + meanwhile), max(length, place)
        step = self._ladder.steps[place]
        if self.pot is not None and not self._affordable(step):
            may_cost = short(self._dearest(step.arm))
            why = f"{short(self.pot - self._spent)} is left in the pot, and {step.arm} may cost {may_cost}"
            return Ask(None, not flying, why + meanwhile), place
        in_hand = (
            f"the best of {made} so far is {_beside(state.best, stop_at)}, below {threshold(stop_at)}"
            if state.best is not None
            else "nothing is in hand"
        )
        why = (
            f"attempt {place + 1} of at most {length}: {in_hand}; to the tasks that get here {step.arm} adds "
            f"{short(step.gain)} on average for {short(step.cost)}, which is {short(step.worth)} per unit of cost "
            f"(the price is {short(price)})"
        )
        return Ask(step.arm, False, why + meanwhile), length

    def _given_up(self, state: TaskState, place: int, price: float) -> str:
        best = "nothing is in hand" if state.best is None else f"the best score is {short(state.best)}"
        if place >= len(self._ladder.steps):
            return f"{best}, and the log says nothing of further attempts after {place}"
        step = self._ladder.steps[place]
        return (
            f"{best}, and one more attempt, {step.arm}, would bring {short(step.worth)} per unit of cost, while the "
            f"price is {short(price)}"
        )

    def _place(self, state: TaskState) -> int:
        """The first attempt of the ladder that is not made yet, nor in flight."""
        used = Counter(arm for arm, _, _ in state.told) + state.in_flight
        for place, step in enumerate(self._ladder.steps):
            if not used[step.arm]:
                return place
            used[step.arm] -= 1
        return len(self._ladder.steps)

    def _price(self, newcomer: bool = False) -> float:
        if self.pot is None or self.tasks is None:
            return self.plan.price
        waiting = self._waiting.copy()
        waiting[0] += max(self.tasks - len(self._states), int(newcomer))
        # What is left once all attempts in flight are paid, as they usually cost.
        left = self.pot - self._spent - sum(n * self._usual(arm) for arm, n in self._flying.items())
        least = self.plan.price if self.plan.budget is None and self.plan.reach is None else 0.0
        return max(least, self._ladder.shadow_price(+waiting, left))

    def _usual(self, arm: str) -> float:
        costs = [step.cost for step in self._ladder.steps if step.arm == arm]
        return sum(costs) / len(costs) if costs else 0.0

    def _dearest(self, arm: str) -> float:
        return self.plan.dearest.get(arm, max(self.plan.dearest.values(), default=0.0))

    def _affordable(self, step: Step) -> bool:
        """Whether the pot can pay this attempt and all in flight, each as dear as any of its arm."""
        assert self.pot is not None
        flying = sum(n * self._dearest(arm) for arm, n in self._flying.items())
        return self._dearest(step.arm) + flying <= self.pot - self._spent

    # Learning.

    def learn(self) -> SequencePlan:
        """Take what was told into account: the worth of every attempt of the sequence, hence where to give up.

        The order of the arms stays: what a desk is told of are attempts that its own sequence chose, and these say
        nothing fair of others. Tasks that are still open do not count. Returns the plan that is followed from now on.
        """
        with self._lock:
            climbs = [climb for climb in map(self._climb, self._states.values()) if climb is not None]
            steps = learned(self._ladder.steps, self.plan.tasks, climbs)
            ladder = Ladder(steps)
            plan = self.plan
            length = ladder.cut(plan.price)
            if plan.budget is not None:
                length = max(n for n in range(len(steps) + 1) if ladder.cost(0, n) <= plan.budget)
            # Counted once: the tasks told of so far are part of the plan from here on.
            new = replace(plan, steps=steps[:length], further=steps[length:], tasks=plan.tasks + len(climbs))
            self._note({"learn": files.plan_data(new)})
            return new

    def _climb(self, state: TaskState) -> Climb | None:
        """What a closed task says of the ladder; None if it is open, was counted before, or went another way."""
        if not self._closed(state) or state.allowed is None or state.in_flight:
            return None
        told = list(state.told)
        best, gains, costs = self.plan.nothing, list[float](), list[float]()
        for step in self._ladder.steps[: len(told)]:
            # Attempts in flight together come back in any order: they are fresh draws, whichever is counted first.
            attempt = next((one for one in told if one[0] == step.arm), None)
            if attempt is None or attempt[2] is None:
                return None
            told.remove(attempt)
            gains.append(max(attempt[1] - best, 0.0) if gains else attempt[1] - best)
            best = max(attempt[1], best) if costs else attempt[1]
            costs.append(attempt[2])
            if best >= self.plan.stop_at:
                break
        return Climb(tuple(gains), tuple(costs), max(state.allowed, len(gains)))

    def _closed(self, state: TaskState) -> bool:
        return state.over or (state.best is not None and state.best >= self.plan.stop_at)

    # Keeping.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the desk to ``path``, whole or not at all; :func:`load_desk` reads it.

        Args:
            path: the file.
        """
        with self._lock:
            header = {
                "format": "maxatk desk",
                "version": files.VERSION,
                "plan": files.plan_data(self._begun),
                "pot": self.pot,
                "tasks": self.tasks,
            }
            files.write_lines(path, [header, *self._events])

    def close(self) -> None:
        """Let go of the file that everything is kept in; the desk goes on without it."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _keep(self, path: str | os.PathLike[str]) -> None:
        """Append everything that happens from now on to a file that holds what has happened so far."""
        self._journal = files.Journal(path)

    def _note(self, event: dict[str, Any]) -> None:
        """Write down what happens, then let it happen."""
        if self._journal is not None:
            self._journal.add(event)
        self._events.append(event)
        self._apply(event)

    def _apply(self, event: Any) -> None:
        """Let something happen."""
        ((what, given),) = event.items()
        if what == "learn":
            for state in self._states.values():
                if self._climb(state) is not None:
                    state.allowed = None  # counted
            self.plan = files.plan_of(given)
            self._ladder = Ladder([*self.plan.steps, *self.plan.further])
            self._waiting = Counter(self._place(state) for state in self._states.values() if not self._closed(state))
            return
        name, *rest = given
        if not isinstance(name, str):
            raise InputError(f"{checks.shown(name)} stands where a task should be")
        before = self._states.get(name)
        if before is not None and not self._closed(before):
            self._waiting[self._place(before)] -= 1
        state = self._states.setdefault(name, TaskState())
        _CHANGES[what](self, state, *rest)
        if not self._closed(state):
            self._waiting[self._place(state)] += 1

    def _asked(self, state: TaskState, arm: str, allowed: Any) -> None:
        state.in_flight[arm] += 1
        self._flying[arm] += 1
        state.over, state.allowed = False, checks.integer(allowed, "allowed")

    def _landed(self, state: TaskState, arm: str) -> None:
        if state.in_flight[arm] > 0:
            state.in_flight[arm] -= 1
            self._flying[arm] -= 1
        state.in_flight, self._flying = +state.in_flight, +self._flying

    def _told(self, state: TaskState, arm: str, score: Any, cost: Any) -> None:
        points, paid = files.number(score), None if cost is None else files.number(cost)
        self._landed(state, arm)
        state.told.append((arm, points, paid))
        state.best = points if state.best is None else max(state.best, points)
        state.spent += paid or 0.0
        self._spent += paid or 0.0

    def _ended(self, state: TaskState, allowed: Any) -> None:
        state.over = True
        state.allowed = None if allowed is None else checks.integer(allowed, "allowed")


_CHANGES: dict[str, Any] = {"ask": Desk._asked, "tell": Desk._told, "drop": Desk._landed, "stop": Desk._ended}  # pyright: ignore[reportPrivateUsage]


def load_desk(path: str | os.PathLike[str], *, keep: bool = False) -> Desk:
    """Read a desk that :meth:`Desk.save` wrote, or that was kept in a file.

    Args:
        path: the file.
        keep: go on keeping everything in that file.

    >>> from maxatk import attempts as at
    >>> from pathlib import Path
    >>> desk = at.sequence(at.recorded(), price=2.0, method="greedy").desk()
    >>> desk.tell("f1", arm="L-BFGS-B", score=0.5, cost=0.01)
    >>> desk.save("x.desk")
    >>> at.load_desk("x.desk").state("f1").best
    0.5
    >>> Path("x.desk").unlink()
    """
    desk = files.read_lines(path, "desk", _desk_of)
    if keep:
        desk._keep(path)  # pyright: ignore[reportPrivateUsage]
    return desk


def _desk_of(header: dict[str, Any], events: list[Any]) -> Desk:
    desk = Desk(files.plan_of(header.get("plan")), pot=header.get("pot"), tasks=header.get("tasks"))
    for number, event in enumerate(events, 2):
        try:
            desk._events.append(event)  # pyright: ignore[reportPrivateUsage]
            desk._apply(event)  # pyright: ignore[reportPrivateUsage]
        except (InputError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
            raise InputError(f"line {number}: {error}") from None
    return desk


def _task(task: Any) -> str:
    if isinstance(task, bool) or not isinstance(task, str | int) or task == "":
        raise InputError(f"a task must be named by a word or a whole number, not {checks.shown(task)}")
    return str(task)


def _amount(value: Any, what: str) -> float:
    amount = float(checks.exact_number(value, what))
    if amount < 0:
        raise InputError(f"{what} must not be negative, but is {amount:g}")
    return amount


def _beside(score: float, stop_at: float) -> str:
    """A score to three digits, or in full where that would put it on the other side of the one at which to stop."""
    return short(score) if (float(short(score)) >= stop_at) == (score >= stop_at) else repr(score)
