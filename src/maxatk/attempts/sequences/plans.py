"""A sequence of arms as a plan: its steps, what it has to beat, and ways to replay, keep and follow it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from maxatk.attempts.sequences import walk
from maxatk.attempts.study.tables import amount, as_text, plain_table, share, short, spelled

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log
    from maxatk.attempts.sequences.replay import Replay
    from maxatk.attempts.sequences.scheduler import Scheduler


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
    def gain_per_cost(self) -> float:
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
    """A sequence of arms, followed until a score is reached or it ends. Made by :func:`maxatk.attempts.sequence`."""

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
    seen: frozenset[str]  # their names
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

    def replay(
        self, log: Log, level: float = 0.95, *, proved: bool | None = None, passed: float | None = None
    ) -> Replay:
        """What the sequence earns on tasks that it was not built from, beside the best single capped arm.

        Args:
            log: attempts at those tasks; none of them may have been used to build the sequence.
            level: of the intervals.
            proved: ask for intervals that hold for every law and number of tasks, which need a ``score_range`` and a
                ``cost_limit`` of the log; by default each is proved where what it needs was given.
            passed: the score from which on a task counts as solved; the greatest of the log unless given.
        """
        from maxatk.attempts.sequences import replay

        return replay.replay(self, log, level, proved, passed)

    def scheduler(
        self, path: str | os.PathLike[str] | None = None, *, total_budget: float | None = None, tasks: int | None = None
    ) -> Scheduler:
        """A scheduler that says which attempt to make next, for many tasks at once.

        Args:
            path: a file to which every event is written at once, so that nothing is lost even if the process is killed.
            total_budget: a budget that all tasks share; the sequence is then cut, task by task, so that it lasts.
            tasks: the number of tasks for which the budget must last.
        """
        from maxatk.attempts.sequences.scheduler import Scheduler

        return Scheduler(self, path, total_budget=total_budget, tasks=tasks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to ``path``; :func:`load_sequence` reads it."""
        from maxatk.attempts.sequences import files

        files.save_plan(self, path)

    def table(self) -> Table:
        """The attempts as a table for the terminal."""
        shown = plain_table(
            ("attempt", "right"),
            ("arm", "left"),
            ("tasks that get here", "right"),
            ("adds", "right"),
            ("costs", "right"),
            ("gain per cost", "right"),
        )
        for number, step in enumerate(self.steps, 1):
            shown.add_row(
                str(number),
                step.arm,
                share(step.reached),
                short(step.gain),
                short(step.cost),
                amount(step.gain_per_cost),
            )
        return shown

    @property
    def spelled(self) -> str:
        """The arms in order, repetitions counted."""
        return spelled(self.arms, ", then ")

    @property
    def words(self) -> str:
        """The sequence in words."""
        from maxatk.show.words import tasks_in_words, threshold

        if not self.steps and self.reach is not None:
            return f"Try nothing: that counts as {short(self.nothing)}, which is enough."
        if not self.steps:
            pays = f"at {short(self.price)} per unit of cost no attempt pays"
            return f"Try nothing: {pays} on the {tasks_in_words(self.tasks)} that this was built from."
        if len(self.steps) == 1:
            return f"{self.spelled}, once."
        return f"{self.spelled}; stop as soon as one scores at least {threshold(self.stop_at)}."

    def __str__(self) -> str:
        from maxatk.show.words import tasks_in_words

        about = (
            f"Built from {tasks_in_words(self.tasks)}; {self.why}. These are means over those tasks: what it earns on "
            "others, plan.replay(log) says."
        )
        return as_text(self.words, "", self.table(), "", about)
