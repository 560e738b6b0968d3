"""The tables of a scheduler, and what may be done with them within one transaction.

An attempt is a row, from the moment when it is handed out. A task is a row; its place in the schedule, whether it is
over, and whether it may have an attempt to start are kept with it, so that no question needs a look at all tasks. Sums
over all tasks (by place, by arm, spent) are kept, too. What is read is checked like any input.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

from maxatk.attempts.scheduler.attempt import (
    ArmProgress,
    Handed,
    Result,
    SchedulerProgress,
    Status,
    TaskState,
    rounds_of,
)
from maxatk.attempts.scheduler.databases import Transaction
from maxatk.attempts.scheduler.rules import Rules, SharedBudget
from maxatk.attempts.sequences import files
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.base import checks
from maxatk.base.errors import InputError

VERSION = 1
COLUMNS = "id, arm, status, lease_end, score, cost, judge, answer, seen"  # of an attempt
ATTEMPTS = f"SELECT task, {COLUMNS} FROM maxatk_attempts"
ALIVE = (Status.IN_FLIGHT, Status.TOLD, Status.FAILED)  # the attempts that use up a place
TABLES = """
CREATE TABLE IF NOT EXISTS maxatk_meta (
    one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, settings TEXT NOT NULL, first_plan TEXT NOT NULL,
    plan INTEGER NOT NULL, next_attempt BIGINT NOT NULL, next_event BIGINT NOT NULL, opened BIGINT NOT NULL,
    spent DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS maxatk_plans (number INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS maxatk_tasks (
    name TEXT PRIMARY KEY, opened BIGINT NOT NULL, place INTEGER, over INTEGER NOT NULL, solved INTEGER NOT NULL,
    allowed INTEGER, paused INTEGER NOT NULL, cancelled INTEGER NOT NULL, ready INTEGER NOT NULL,
    priority DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS maxatk_attempts (
    id BIGINT PRIMARY KEY, task TEXT NOT NULL REFERENCES maxatk_tasks (name), arm TEXT NOT NULL, status TEXT NOT NULL,
    asked DOUBLE PRECISION NOT NULL, lease_end DOUBLE PRECISION NOT NULL, event BIGINT NOT NULL,
    score DOUBLE PRECISION, cost DOUBLE PRECISION CHECK (cost >= 0), source TEXT UNIQUE, judge DOUBLE PRECISION,
    answer TEXT, seen DOUBLE PRECISION,
    CHECK (status IN ('in flight', 'told', 'dropped', 'expired', 'failed')),
    CHECK (status <> 'told' OR seen IS NOT NULL));
CREATE TABLE IF NOT EXISTS maxatk_waiting (place INTEGER PRIMARY KEY, n BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS maxatk_flying (arm TEXT PRIMARY KEY, n BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS maxatk_attempts_of ON maxatk_attempts (task);
CREATE INDEX IF NOT EXISTS maxatk_leases ON maxatk_attempts (lease_end) WHERE status = 'in flight';
CREATE INDEX IF NOT EXISTS maxatk_asked ON maxatk_attempts (asked) WHERE status = 'in flight';
CREATE INDEX IF NOT EXISTS maxatk_ready ON maxatk_tasks (priority DESC, opened) WHERE ready = 1;
CREATE INDEX IF NOT EXISTS maxatk_open ON maxatk_tasks (place) WHERE place IS NOT NULL;
"""


@dataclass(frozen=True)
class Settings:
    """What all workers of a scheduler agree on."""

    total_budget: float | None = None  # that all tasks share
    tasks: int | None = None  # that share it
    max_retries: int = 3  # how often an attempt that was dropped or expired is made again
    timeouts: str = "retry"  # whether an attempt whose lease ends is made again, or counts: "retry" or "count"

    def data(self) -> str:
        """As text, for the database."""
        return json.dumps(self.__dict__, sort_keys=True)


class Records:
    """The tables of a scheduler within one transaction."""

    def __init__(self, transaction: Transaction, name: str) -> None:
        self._tx, self._name = transaction, name
        self.now = transaction.now()

    # The scheduler itself.

    def create(self, settings: Settings, plan: SequencePlan) -> None:
        """Write a new scheduler; one that is there already must be of the same plan, with the same settings."""
        for statement in TABLES.split(";"):
            if statement.strip():
                self._tx.run(statement)
        data = json.dumps(files.plan_data(plan), allow_nan=False, sort_keys=True)
        there = self._tx.rows("SELECT first_plan, settings FROM maxatk_meta WHERE version = ?", VERSION)
        if there:
            if there[0][0] != data:
                raise InputError(f"{self._name}: holds a scheduler of another plan; at.load_scheduler joins that one")
            if there[0][1] != settings.data():
                raise InputError(f"{self._name}: holds a scheduler with other settings: {there[0][1]}")
            return
        self.check()
        self._tx.run("INSERT INTO maxatk_plans VALUES (0, ?)", data)
        self._tx.run("INSERT INTO maxatk_meta VALUES (1, ?, ?, ?, 0, 1, 1, 0, 0.0)", VERSION, settings.data(), data)

    def check(self, required: bool = False) -> None:
        """Refuse the tables of another version; with ``required``, also that there are none."""
        versions = self._tx.rows("SELECT version FROM maxatk_meta")
        if versions and versions[0][0] != VERSION:
            raise InputError(f"{self._name}: has format version {versions[0][0]}, and this maxatk reads {VERSION}")
        if required and not versions:
            raise InputError(f"{self._name}: holds no scheduler")

    def settings(self) -> Settings:
        """What was agreed on."""
        try:
            read = Settings(**json.loads(self._meta("settings")))
            return checked_settings(read)
        except (InputError, TypeError, ValueError) as error:
            raise InputError(f"{self._name}: its settings are not readable: {error}") from None

    def plan_number(self) -> int:
        """The number of the plan that is followed now."""
        return int(self._meta("plan"))

    def plan(self) -> SequencePlan:
        """The plan that is followed now."""
        (row,) = self._tx.rows("SELECT data FROM maxatk_plans WHERE number = ?", self.plan_number()) or [("null",)]
        try:
            return files.plan_of(json.loads(row[0]))
        except (InputError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(f"{self._name}: its plan is not readable: {error}") from None

    def follow(self, plan: SequencePlan) -> None:
        """Follow another plan from now on."""
        number = self.plan_number() + 1
        self._tx.run("INSERT INTO maxatk_plans VALUES (?, ?)", number, json.dumps(files.plan_data(plan)))
        self._tx.run("UPDATE maxatk_meta SET plan = ?", number)

    def _meta(self, column: str) -> Any:
        return self._tx.rows(f"SELECT {column} FROM maxatk_meta")[0][0]

    def _next(self, column: str) -> int:
        number = int(self._meta(column))
        self._tx.run(f"UPDATE maxatk_meta SET {column} = ?", number + 1)
        return number

    def spent(self) -> float:
        """The cost of all attempts that were told."""
        return float(self._meta("spent"))

    def budget(self, settings: Settings) -> SharedBudget | None:
        """The shared budget, and where it stands."""
        if settings.total_budget is None or settings.tasks is None:
            return None
        return SharedBudget(
            settings.total_budget,
            settings.tasks,
            self.spent(),
            int(self._meta("opened")),
            {int(place): int(n) for place, n in self._tx.rows("SELECT place, n FROM maxatk_waiting WHERE n > 0")},
            {str(arm): int(n) for arm, n in self._tx.rows("SELECT arm, n FROM maxatk_flying WHERE n > 0")},
        )

    # Tasks.

    def names(self) -> list[str]:
        """All tasks, in the order in which they were opened."""
        return [str(name) for (name,) in self._tx.rows("SELECT name FROM maxatk_tasks ORDER BY opened")]

    def has(self, task: str) -> bool:
        """Whether a task was opened."""
        return bool(self._tx.rows("SELECT 1 FROM maxatk_tasks WHERE name = ?", task))

    def open(self, task: str) -> None:
        """Open a task, unless it is open already."""
        if not self.has(task):
            self._open([task], 0.0)

    def enqueue(self, tasks: list[str], priority: float) -> None:
        """Open those tasks that are new; all of them get the priority."""
        known, given = set(self.names()), list(dict.fromkeys(tasks))
        self._open([task for task in given if task not in known], priority)
        old = [(priority, task) for task in given if task in known]
        self._tx.run_many("UPDATE maxatk_tasks SET priority = ? WHERE name = ?", old)

    def _open(self, tasks: list[str], priority: float) -> None:
        """Open new tasks, before their first attempt."""
        opened = int(self._meta("opened"))
        self._tx.run_many(
            "INSERT INTO maxatk_tasks VALUES (?, ?, 0, 0, 0, NULL, 0, 0, 1, ?)",
            [(task, opened + n, priority) for n, task in enumerate(tasks)],
        )
        self._tx.run("UPDATE maxatk_meta SET opened = ?", opened + len(tasks))
        self._count("maxatk_waiting", "place", 0, len(tasks))

    def mark(self, task: str, **columns: Any) -> None:
        """Set columns of a task."""
        assigned = ", ".join(f"{column} = ?" for column in columns)
        self._tx.run(f"UPDATE maxatk_tasks SET {assigned} WHERE name = ?", *columns.values(), task)

    def state(self, task: str) -> TaskState:
        """The state of a task that was opened."""
        (row,) = self._tx.rows("SELECT over, paused, cancelled, priority FROM maxatk_tasks WHERE name = ?", task)
        handed = [
            self._handed(*one)
            for one in self._tx.rows(
                f"SELECT {COLUMNS} FROM maxatk_attempts WHERE task = ? AND status IN (?, ?, ?) ORDER BY event",
                *(task, *map(str, ALIVE)),
            )
        ]
        told = tuple((one.arm, one.seen, one.cost) for one in handed if one.seen is not None)
        return TaskState(
            best=max((score for _, score, _ in told), default=None),
            spent=math.fsum(cost or 0.0 for _, _, cost in told),
            told=told,
            in_flight=tuple(one for one in handed if one.status is Status.IN_FLIGHT),
            failed=tuple(one for one in handed if one.status is Status.FAILED),
            over=bool(row[0]),
            paused=bool(row[1]),
            cancelled=bool(row[2]),
            priority=float(row[3]),
        )

    def best(self, task: str) -> Handed | None:
        """The result of the highest number that the plan decides by; of equals, the one that was told first."""
        rows = self._tx.rows(
            f"SELECT {COLUMNS} FROM maxatk_attempts WHERE task = ? AND status = 'told' "
            "ORDER BY seen DESC, event LIMIT 1",
            task,
        )
        return self._handed(*rows[0]) if rows else None

    def allowed(self, task: str) -> int | None:
        """The number of attempts that a task would have been given in all; None if that is not known."""
        allowed = self._tx.rows("SELECT allowed FROM maxatk_tasks WHERE name = ?", task)[0][0]
        return None if allowed is None else int(allowed)

    def settle(self, task: str, rules: Rules, ready: bool = True) -> None:
        """Bring what is kept of a task in line with its attempts."""
        state = self.state(task)
        before = self._tx.rows("SELECT place, solved, ready FROM maxatk_tasks WHERE name = ?", task)[0]
        solved = rules.solved(state.best)
        closed = state.over or solved or state.cancelled
        after = None if closed else rules.place(state), int(solved), int(ready and not closed and not state.paused)
        if before[0] != after[0]:
            for place, change in ((before[0], -1), (after[0], 1)):
                if place is not None:
                    self._count("maxatk_waiting", "place", place, change)
        if before != after:  # a question that changes nothing writes nothing
            self.mark(task, **dict(zip(("place", "solved", "ready"), after, strict=True)))

    def _count(self, table: str, key: str, value: Any, change: int) -> None:
        self._tx.run(
            f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT ({key}) DO UPDATE SET n = {table}.n + ?",
            *(value, change, change),
        )

    def next_ready(self) -> str | None:
        """The task of the highest priority that may have an attempt to start."""
        rows = self._tx.rows("SELECT name FROM maxatk_tasks WHERE ready = 1 ORDER BY priority DESC, opened LIMIT 1")
        return str(rows[0][0]) if rows else None

    def any_open(self) -> bool:
        """Whether a task is not over."""
        return bool(self._tx.rows("SELECT 1 FROM maxatk_tasks WHERE place IS NOT NULL LIMIT 1"))

    # Attempts.

    def hand_out(self, task: str, arm: str, lease: float) -> Handed:
        """A new attempt."""
        number, event = self._next("next_attempt"), self._next("next_event")
        self._insert(number, task, arm, Status.IN_FLIGHT, self.now + lease, event)
        self._count("maxatk_flying", "arm", arm, 1)
        return Handed(number, arm, Status.IN_FLIGHT, self.now + lease)

    def add(self, task: str, arm: str, result: Result, source: str | None) -> bool:
        """A result that nobody asked for; False if one of the same ``source`` was added before."""
        if source is not None and self._tx.rows("SELECT 1 FROM maxatk_attempts WHERE source = ?", source):
            return False
        number, event = self._next("next_attempt"), self._next("next_event")
        self._insert(number, task, arm, Status.TOLD, self.now, event, source)
        self._write(number, result)
        return True

    def _insert(
        self, number: int, task: str, arm: str, status: Status, lease_end: float, event: int, source: str | None = None
    ) -> None:
        # What was told at once is written in the same transaction: until then it counts as nothing.
        seen = 0.0 if status is Status.TOLD else None
        self._tx.run(
            "INSERT INTO maxatk_attempts (id, task, arm, status, asked, lease_end, event, source, seen) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(number, task, arm, str(status), self.now, lease_end, event, source, seen),
        )

    def _write(self, number: int, result: Result) -> None:
        self._tx.run(
            "UPDATE maxatk_attempts SET status = ?, seen = ?, score = ?, judge = ?, answer = ?, cost = ? WHERE id = ?",
            *(str(Status.TOLD), result.seen, result.score, result.judge, result.answer, result.cost, number),
        )
        if result.cost:
            self._tx.run("UPDATE maxatk_meta SET spent = spent + ?", result.cost)

    def attempt(self, number: int) -> tuple[str, Handed]:
        """The task of an attempt, and the attempt."""
        rows = self._tx.rows(f"{ATTEMPTS} WHERE id = ?", number)
        if not rows:
            raise InputError(f"no attempt has the id {number}")
        task, *rest = rows[0]
        return str(task), self._handed(*rest)

    def tell(self, handed: Handed, result: Result) -> None:
        """The result of an attempt that had none."""
        self._land(handed)
        self._write(handed.id, result)
        self._tx.run("UPDATE maxatk_attempts SET event = ? WHERE id = ?", self._next("next_event"), handed.id)

    def end(self, task: str, handed: Handed, status: Status, settings: Settings) -> None:
        """Put an attempt in flight back, or count it as failed if that happened too often."""
        deaths = self._tx.rows(
            "SELECT count(*) FROM maxatk_attempts WHERE task = ? AND arm = ? AND status IN (?, ?) AND event > "
            "coalesce((SELECT max(event) FROM maxatk_attempts WHERE task = ? AND arm = ? AND status IN (?, ?)), 0)",
            *(task, handed.arm, str(Status.DROPPED), str(Status.EXPIRED)),
            *(task, handed.arm, str(Status.TOLD), str(Status.FAILED)),
        )[0][0]
        counts = status is Status.EXPIRED and settings.timeouts == "count"
        if counts or deaths >= settings.max_retries:
            status = Status.FAILED
        self._land(handed)
        self._tx.run(
            "UPDATE maxatk_attempts SET status = ?, event = ? WHERE id = ?",
            *(str(status), self._next("next_event"), handed.id),
        )

    def renew(self, handed: Handed, lease: float) -> None:
        """Keep an attempt in flight for longer."""
        self._tx.run(
            "UPDATE maxatk_attempts SET lease_end = ?, asked = ? WHERE id = ?", self.now + lease, self.now, handed.id
        )

    def expired(self) -> list[tuple[str, Handed]]:
        """Attempts in flight whose lease has ended; also where the clock was set back to before they were asked for."""
        flying = f"{ATTEMPTS} WHERE status = 'in flight'"
        rows = self._tx.rows(f"{flying} AND lease_end <= ?", self.now)
        rows += self._tx.rows(f"{flying} AND asked > ? AND lease_end > ?", self.now + 1.0, self.now)
        return [(str(task), self._handed(*rest)) for task, *rest in rows]

    def _land(self, handed: Handed) -> None:
        if handed.status is Status.IN_FLIGHT:
            self._count("maxatk_flying", "arm", handed.arm, -1)

    def _handed(self, number: Any, arm: Any, status: Any, lease_end: Any, *told: Any) -> Handed:
        score, cost, judge, answer, seen = told
        try:
            numbers = [None if x is None else files.number(x) for x in (score, cost, judge, seen)]
            if not isinstance(arm, str) or not arm:
                raise InputError(f"its arm is {checks.shown(arm)}")
            if numbers[1] is not None and numbers[1] < 0:
                raise InputError(f"its cost is {numbers[1]:g}")
            if (seen is None) == (status == Status.TOLD):
                raise InputError(f"it is {checks.shown(status)} with the score {checks.shown(seen)}")
            if answer is not None and not isinstance(answer, str):
                raise InputError(f"its answer is {checks.shown(answer)}")
            points, amount, judged, decides = numbers
            return Handed(
                *(int(number), arm, Status(status), files.number(lease_end), points, amount, judged, answer, decides)
            )
        except (InputError, TypeError, ValueError) as error:
            raise InputError(f"{self._name}: attempt {checks.shown(number)} is not readable: {error}") from None

    # All of it.

    def told(self) -> list[dict[str, Any]]:
        """All results, in the order of telling."""
        rows = self._tx.rows(f"{ATTEMPTS} WHERE status = 'told' ORDER BY event")
        every = [(str(task), self._handed(*rest)) for task, *rest in rows]
        named = [name for name in ("judge", "answer") if any(getattr(one, name) is not None for _, one in every)]
        return [
            {"task": task, **{name: getattr(one, name) for name in ("arm", "score", "cost", *named)}}
            for task, one in every
        ]

    def with_status(self, status: Status) -> list[tuple[str, Handed]]:
        """All attempts of a status, with their tasks."""
        rows = self._tx.rows(f"{ATTEMPTS} WHERE status = ? ORDER BY id", str(status))
        return [(str(task), self._handed(*rest)) for task, *rest in rows]

    def progress(self, settings: Settings, width: int) -> SchedulerProgress:
        """Where the scheduler stands; ``width`` is the number of attempts in a round."""
        (tasks, over, solved), *_ = self._tx.rows(
            "SELECT count(*), coalesce(sum(CASE WHEN place IS NULL THEN 1 ELSE 0 END), 0), coalesce(sum(solved), 0) "
            "FROM maxatk_tasks"
        )
        arms: dict[str, dict[str, tuple[int, float | None, float]]] = {}
        for arm, status, n, mean, cost in self._tx.rows(
            "SELECT arm, status, count(*), avg(seen), coalesce(sum(cost), 0.0) FROM maxatk_attempts "
            "GROUP BY arm, status"
        ):
            arms.setdefault(str(arm), {})[str(status)] = int(n), None if mean is None else float(mean), float(cost)
        made = self._tx.rows(
            "SELECT count(*) FROM maxatk_attempts WHERE status IN (?, ?, ?) GROUP BY task", *map(str, ALIVE)
        )
        none = (0, None, 0.0)
        return SchedulerProgress(
            *(int(tasks), int(over), int(solved), self.spent(), settings.total_budget),
            tuple(
                ArmProgress(
                    arm,
                    told=by.get(Status.TOLD, none)[0],
                    in_flight=by.get(Status.IN_FLIGHT, none)[0],
                    failed=by.get(Status.FAILED, none)[0],
                    mean_score=by.get(Status.TOLD, none)[1],
                    spent=by.get(Status.TOLD, none)[2],
                )
                for arm, by in sorted(arms.items())
            ),
            rounds=sum(rounds_of(int(n), width) for (n,) in made),
            width=width,
        )


def checked_settings(settings: Settings) -> Settings:
    """Settings, if they make sense."""
    if (settings.total_budget is None) != (settings.tasks is None):
        raise InputError("total_budget needs tasks, the number of tasks that share it, and the other way round")
    if not isinstance(settings.timeouts, str) or settings.timeouts not in ("retry", "count"):
        raise InputError(f'timeouts must be "retry" or "count", not {checks.shown(settings.timeouts)}')
    return Settings(
        None if settings.total_budget is None else amount(settings.total_budget, "total_budget"),
        None if settings.tasks is None else checks.integer(settings.tasks, "tasks", least=1, most=2**53),
        checks.integer(settings.max_retries, "max_retries", most=2**53),
        settings.timeouts,
    )


def amount(value: Any, what: str) -> float:
    """A finite number that is not negative."""
    given = float(checks.exact_number(value, what))
    if given < 0:
        raise InputError(f"{what} must not be negative, but is {given:g}")
    return given
