"""What a scheduler hands out and reports: attempts, states of tasks, progress."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What became of an attempt that was handed out."""

    IN_FLIGHT = "in flight"
    TOLD = "told"
    DROPPED = "dropped"  # given back
    EXPIRED = "expired"  # its lease ended; the attempt is made again
    FAILED = "failed"  # it was dropped or expired once too often: it is not made again, and uses up its place


@dataclass(frozen=True)
class Attempt:
    """The next attempt at a task, or the answer that there is none to make now, which is false as a condition."""

    task: str | None  # the task; None where no task was named and none has an attempt to start
    arm: str | None  # the arm to try; None if no attempt is to be started now
    stop: bool  # whether the task is over
    why: str  # the reason, in words
    id: int | None = None  # by which its result is told
    lease_end: float | None = None  # when it is put back unless it is told or renewed, in seconds since 1970

    def __bool__(self) -> bool:
        return self.arm is not None

    @property
    def wait(self) -> bool:
        """Whether to wait for attempts in flight: none is to be started, and the task is not over."""
        return self.arm is None and not self.stop

    def __str__(self) -> str:
        return f"{self.arm or ('stop' if self.stop else 'wait')}: {self.why}"


@dataclass(frozen=True)
class Handed:
    """An attempt as it is stored."""

    id: int  # by which its result is told
    arm: str  # the arm
    status: Status  # what became of it
    lease_end: float  # when its lease ends, in seconds since 1970
    score: float | None = None  # its score, if that was told
    cost: float | None = None  # its cost, if that was told
    judge: float | None = None  # what the judge gave it, if that was told
    answer: str | None = None  # its answer, if that was told
    seen: float | None = None  # the number that the plan decides by: its score, or what the plan's judge gave it
    why: str = ""  # why it is picked, in words, if it is


@dataclass(frozen=True)
class Result:
    """What is told of an attempt."""

    seen: float  # the number that the plan decides by: the score, or what the plan's judge gave
    score: float | None  # the truth, if it is known
    judge: float | None
    answer: str | None
    cost: float | None


def rounds_of(attempts: int, width: int) -> int:
    """The rounds that a number of attempts at a task makes."""
    return -(-attempts // width)


@dataclass(frozen=True)
class TaskState:
    """The state of a task; scores are those that the plan decides by, its judge's if it has one."""

    best: float | None = None  # the best score so far; None before the first result
    spent: float = 0.0  # the cost of its attempts
    told: tuple[tuple[str, float, float | None], ...] = ()  # arm, score and cost of each result, as they were told
    in_flight: tuple[Handed, ...] = ()  # attempts without a result yet
    failed: tuple[Handed, ...] = ()  # attempts that kept dying
    over: bool = False  # whether the scheduler has stopped it
    paused: bool = False  # whether it starts no attempts for now
    cancelled: bool = False  # whether it was ended by hand
    priority: float = 0.0  # tasks of higher priority come first where no task is named
    rounds: int = 0  # begun: attempts of the plan's width are a round, and without a width every attempt is one


@dataclass(frozen=True)
class ArmProgress:
    """The attempts of one arm."""

    arm: str  # the arm
    told: int  # attempts with a result
    in_flight: int  # attempts without one yet
    failed: int  # attempts that kept dying
    mean_score: float | None  # of those with a result
    spent: float  # their cost


@dataclass(frozen=True)
class SchedulerProgress:
    """Where a scheduler stands."""

    tasks: int  # that were opened
    over: int  # of them
    solved: int  # of them, those that reached the score at which to stop
    spent: float  # the cost of all results
    total_budget: float | None  # of all tasks, if they share one
    arms: tuple[ArmProgress, ...]  # the attempts of each arm
    rounds: int  # begun at all tasks together
    width: int  # attempts that the plan makes at once, in a round
