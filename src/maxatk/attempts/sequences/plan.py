"""A sequence of arms as a plan: its steps, the single arm that it has to beat, and methods to replay and save it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.rounds import in_rounds
from maxatk.attempts.sequences.walk import Scoring, ratio
from maxatk.base import display
from maxatk.base.display import Displayed
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, spelled, threshold

if TYPE_CHECKING:
    from maxatk.attempts.scheduler.scheduler import Scheduler
    from maxatk.attempts.sequences.replay import Replay


@dataclass(frozen=True)
class Step:
    """One attempt of a sequence, with means over the tasks that the sequence was built from."""

    arm: str  # the arm
    reached: float  # the share of tasks that get to it
    gain: float  # what it adds to the best score of those tasks, on average
    cost: float  # its cost, on average over those tasks

    @property
    def gain_per_cost(self) -> float:
        """Gain per cost."""
        return ratio(self.gain, self.cost)


@dataclass(frozen=True)
class Capped:
    """One arm, tried until it reaches a score, up to a cap: what a sequence has to beat."""

    arm: str  # the arm
    cap: int  # the maximal number of attempts
    stop_at: float  # the score at which to stop
    cut: bool = False  # whether the cap is that of the log: more attempts might pay, but the log has no more

    @property
    def arms(self) -> list[str]:
        """The same as a sequence."""
        return [self.arm] * self.cap

    def __str__(self) -> str:
        return f"{self.arm} × {self.cap}" if self.cap else "no attempt at all"

    @property
    def words(self) -> str:
        """Its name, and a warning if the log cuts it short."""
        return display.words(self)


@dataclass(frozen=True)
class BuiltFrom:
    """The tasks that a sequence was built from."""

    tasks: int  # how many
    names: frozenset[str] = field(repr=False)  # their names
    highest_costs: dict[str, float] = field(repr=False)  # the highest cost of an attempt at them, by arm


@dataclass(frozen=True, repr=False)
class SequencePlan(Displayed, Tabular):
    """A sequence of arms, followed until a score is reached or it ends. Made by :func:`maxatk.attempts.sequence`."""

    steps: tuple[Step, ...]  # the attempts in order, with their gains and costs on the tasks of the log
    further: tuple[Step, ...]  # those that would come next at a lower price
    stop_at: float  # the score at which to stop
    price: float  # what one unit of cost is worth in score; with another goal, the price at which the sequence is cut
    goal: Goal  # the price, budget or target score that was asked for
    method: str  # "greedy", "exact", "portfolio" or "single"
    why: str  # the reason for that method
    single: Capped  # the best single arm for the same goal on the same tasks
    default_score: float  # the score of a task without an attempt
    built_from: BuiltFrom  # the tasks that the sequence was built from
    width: int = field(default=1, kw_only=True)  # attempts that are made at once, in a round; it stops between rounds

    def __repr__(self) -> str:
        by = f" of {self.judge}" if self.judge else ""
        return clipped(f"{type(self).__name__}({self.spelled}, stop at {threshold(self.stop_at)}{by})")

    def columns(self) -> dict[str, list[Any]]:
        """The attempts in order, by column: arm, reached, gain and cost."""
        return {name: [getattr(step, name) for step in self.steps] for name in ("arm", "reached", "gain", "cost")}

    @property
    def arms(self) -> list[str]:
        """The sequence."""
        return [step.arm for step in self.steps]

    @property
    def rounds(self) -> list[Sequence[Step]]:
        """The attempts round by round; the last round may be shorter."""
        return in_rounds(self.steps, self.width)

    @property
    def is_single(self) -> bool:
        """Whether the sequence is the best single arm itself."""
        return self.arms == self.single.arms and (self.stop_at == self.single.stop_at or not self.arms)

    @property
    def judge(self) -> str | None:
        """The judge by which attempts stop and are picked; None if their scores are seen."""
        return None

    @property
    def scoring(self) -> Scoring:
        """The scores that matter to it."""
        return Scoring(self.stop_at, self.default_score, judge=self.judge, width=self.width)

    @property
    def score(self) -> float:
        """The mean score on the tasks that it was built from, which is optimistic for other tasks."""
        return self.default_score + math.fsum(step.reached * step.gain for step in self.steps)

    @property
    def cost(self) -> float:
        """The mean cost on the tasks that it was built from."""
        return math.fsum(step.reached * step.cost for step in self.steps)

    def replay(
        self, log: Log, level: float = 0.95, *, interval: str = "auto", pass_threshold: float | None = None
    ) -> Replay:
        """The score and cost of the sequence on tasks that it was not built from, beside the best single capped arm.

        Args:
            log: attempts at those tasks; none of them may have been used to build the sequence.
            level: of the intervals.
            interval: "proved" for intervals that hold for every distribution and number of tasks, which need a
                ``score_range`` and a ``cost_limit`` of the log; "usual" for t where it applies; "auto" for proved ones
                where the log has what they need, and usual ones elsewhere.
            pass_threshold: the lowest score that solves a task; by default the highest of the log.
        """
        from maxatk.attempts.sequences import replay

        return replay.replay(self, log, level, interval, pass_threshold)

    def scheduler(
        self,
        where: str | os.PathLike[str] | None = None,
        *,
        lease: float = 600.0,
        total_budget: float | None = None,
        tasks: int | None = None,
        max_retries: int = 3,
        timeouts: str = "retry",
    ) -> Scheduler:
        """A scheduler that says which attempt to make next, for many tasks and many workers at once.

        Args:
            where: a file of SQLite, which several processes share, or the address ``postgresql://...`` of a database,
                which several machines share (extra ``postgres``); by default memory. A scheduler of the same plan that
                is there already is joined, and one of another plan refused.
            lease: seconds for which an attempt is handed out. An attempt that is neither told nor renewed by then is
                put back, and handed out again.
            total_budget: a budget that all tasks share: a task is given up where going on would gain less per cost than
                it would at other tasks. An attempt is started only if the budget left covers the highest cost of its
                arm in the log.
            tasks: the number of tasks for which the budget must last.
            max_retries: how often an attempt that was dropped, or whose lease ended, is handed out again.
            timeouts: ``"retry"`` to hand an attempt out again when its lease ends; ``"count"`` to count it as made,
                without a score.
        """
        from maxatk.attempts.scheduler.records import Settings
        from maxatk.attempts.scheduler.scheduler import new_scheduler

        return new_scheduler(self, where, lease, Settings(total_budget, tasks, max_retries, timeouts))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to ``path``; :func:`load_sequence` reads it."""
        from maxatk.attempts.sequences import files

        files.save_plan(self, path)

    def table(self) -> display.Table:
        """The attempts as a table for the terminal."""
        return display.table(self)

    @property
    def spelled(self) -> str:
        """The arms in order, with the numbers of repetitions."""
        return spelled(self.arms, ", then ")

    @property
    def words(self) -> str:
        """The sequence in words."""
        return display.words(self)


@dataclass(frozen=True, repr=False)
class JudgedPlan(SequencePlan):
    """A sequence that stops when a judge gives an attempt ``stop_at``, and hands in the attempt that it likes best.

    All its numbers are of the truth. An attempt may lower that: gains may be negative, and a sequence ends there.
    """

    judge_name: str  # the judge

    @property
    def judge(self) -> str | None:
        """The judge by which attempts stop and are picked."""
        return self.judge_name
