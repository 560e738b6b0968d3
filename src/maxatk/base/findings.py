"""Findings: typed statements, each with the interval that proves it.

Every sentence for users is rendered from a finding. The functions that make findings stand beside their evidence; only
``report`` words them. The outcome of a finding follows from its interval, so that a finding cannot claim more than its
numbers prove.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from maxatk.base.checks import is_list


class Outcome(StrEnum):
    """Whether a statement is proved, disproved or open."""

    PROVED = "proved"
    DISPROVED = "disproved"
    UNKNOWN = "unknown"  # the interval leaves it open


@dataclass(frozen=True, kw_only=True)
class Finding(ABC):
    """A statement about a number that lies between two bounds."""

    kind: ClassVar[str]

    lower: float  # the number is at least this
    upper: float  # and at most this

    @property
    @abstractmethod
    def outcome(self) -> Outcome:
        """Whether the interval proves the statement."""

    def data(self) -> dict[str, Any]:
        """The finding as plain data, for JSON, which has no infinities."""
        fields = dict(_flat(self))
        ends = {name: fields.pop(name) for name in ("lower", "upper")}
        return {"kind": self.kind, "outcome": str(self.outcome), **ends, **fields}


class Part:
    """Fields that several findings share; as data they are fields of the finding."""


def _flat(holder: object) -> Iterator[tuple[str, Any]]:
    for name, value in vars(holder).items():
        if isinstance(value, Part):
            yield from _flat(value)
        else:
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Measured):
        return dict(_flat(value))
    if is_list(value):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, kw_only=True)
class Gain(Finding):
    """Adapting gains something over a rival that does not adapt.

    The statement is disproved if the gain is at most ``negligible``: a five-hundredth of what tries after the first
    add, or, if they add nothing, the sum of all rounding errors.
    """

    kind: ClassVar[str] = "gain"

    k: int  # the number of tries
    rival_lower: float  # the rival's value is at least this
    rival_upper: float  # and at most this
    costly: bool = False  # whether tries cost something, so that the rival makes the best number of tries
    rival_tries: int | None = None  # that number, if it is known
    negligible: float = 0.0  # a gain that counts as none
    added: float = 0.0  # what tries after the first add, at least
    tied: bool = False  # whether several policies have the best mean: the rival is one of them
    unit: str = ""  # of all these numbers, if it has a name
    utility: bool = False  # whether these numbers are utilities of the final best return
    rounds: tuple[int, ...] = ()  # how many tries each round has, if the gain is that of policies in rounds

    @property
    def outcome(self) -> Outcome:
        """Proved if the gain is above 0 and not negligible."""
        if self.upper <= self.negligible:
            return Outcome.DISPROVED
        return Outcome.PROVED if self.lower > 0 else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Value(Finding):
    """A policy earns at least ``lower``, and no policy earns more than ``upper``."""

    kind: ClassVar[str] = "value"

    k: int  # the number of tries
    delta: float = 0.0  # the probability with which the statement may fail, over the samples that it rests on

    @property
    def outcome(self) -> Outcome:
        """Proved: the bounds are the statement."""
        return Outcome.PROVED


@dataclass(frozen=True, kw_only=True)
class Kept(Finding):
    """Tries in rounds keep a share of what tries one at a time add to a single one."""

    kind: ClassVar[str] = "kept"

    k: int  # the number of tries
    rounds: tuple[int, ...]  # how many tries each round has
    costly: bool = False  # whether tries cost something, so that fewer may be made

    @property
    def outcome(self) -> Outcome:
        """Proved if the share is above 0."""
        return Outcome.PROVED if self.lower > 0 else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Agreement(Finding):
    """Trials agree with what is proved of a policy.

    The bounds on the mean follow from the trials; they hold for every law within the range of returns.
    """

    kind: ClassVar[str] = "agreement"

    proved_lower: float  # the policy earns at least this
    proved_upper: float  # and at most this
    usual_lower: float  # the Student t interval of the trials, which may miss rare outcomes
    usual_upper: float  # its upper end
    level: float  # the probability with which the bounds hold
    trials: int  # that were run

    @property
    def outcome(self) -> Outcome:
        """Disproved if the bounds exclude the proved interval; proved if the t interval overlaps it."""
        if self.upper < self.proved_lower or self.lower > self.proved_upper:
            return Outcome.DISPROVED
        usual = math.isfinite(self.usual_lower) and math.isfinite(self.usual_upper)
        meets = self.usual_upper >= self.proved_lower and self.usual_lower <= self.proved_upper
        return Outcome.PROVED if usual and meets else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Share(Finding):
    """A class of policies has nearly all of the gain; the bounds are of its share."""

    kind: ClassVar[str] = "share"
    NEARLY_ALL: ClassVar[float] = 0.95

    name: str  # of the class

    @property
    def outcome(self) -> Outcome:
        """Proved from a share of 95 % on."""
        if self.lower >= self.NEARLY_ALL:
            return Outcome.PROVED
        return Outcome.DISPROVED if self.upper < self.NEARLY_ALL else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Stop(Finding):
    """The plan stops where a further try adds at most ``adds``.

    The bounds are of the best so far from which that holds. The statement is open if they are farther apart than
    ``tol``.
    """

    kind: ClassVar[str] = "stop"

    at: float  # the least best so far at which the plan stops; -inf if it always stops, inf if it never does
    on_step: bool  # whether that number is exact: the plan goes on below it
    now: bool  # whether the plan stops before the first try
    tol: float  # the accuracy to which the threshold was asked for
    adds: float = 0.0  # what a further try adds beyond its cost, at most; 0 up to rounding
    tries_lower: float = 0.0  # the plan makes at least this many tries on average
    tries_upper: float = math.inf  # and at most this many
    useful_tries: int | None = (
        None  # tries beyond which all others together add at most ``tol``, if the plan has as many
    )

    @property
    def outcome(self) -> Outcome:
        """Proved if the threshold is known to within ``tol``."""
        return Outcome.PROVED if self.upper - self.lower <= self.tol else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Loss(Finding):
    """A learned policy loses at most ``target`` to the optimum; the bounds are of its loss."""

    kind: ClassVar[str] = "loss"

    target: float  # the loss that was asked for
    delta: float  # the probability with which the bounds may fail
    samples: int  # that they rest on

    @property
    def outcome(self) -> Outcome:
        """Proved if the loss is at most the target."""
        return Outcome.PROVED if self.upper <= self.target else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Basis(Part):
    """What bounds on a mean over tasks rest on."""

    tasks: int  # the number of tasks
    level: float | None  # the probability with which the bounds hold; None if it is not known
    method: str  # by which the bounds were obtained
    needs: tuple[str, ...] = ()  # arguments that the log lacks for bounds with a level, by name


@dataclass(frozen=True, kw_only=True)
class Compared(Finding):
    """One thing is better than another, or more; the bounds are of the difference, over the tasks that were sampled."""

    basis: Basis  # what they rest on

    @property
    def outcome(self) -> Outcome:
        """Proved where the difference is above 0, disproved where it is below; open without a level."""
        if self.basis.level is None:
            return Outcome.UNKNOWN
        return Outcome.DISPROVED if self.upper < 0 else Outcome.PROVED if self.lower > 0 else Outcome.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Difference(Compared):
    """One arm or strategy is better than another, or more."""

    kind: ClassVar[str] = "difference"

    first: str  # the one
    second: str  # the other, which is subtracted
    of: str  # what differs: "score", "cost", "seconds", or "net" for score less price times cost
    value: float  # the difference on the tasks of the log
    k: int = 1  # the number of attempts of each
    ratio: tuple[float, float] | None = None  # bounds on the ratio of both
    tasks_needed: int | None = None  # to detect a difference of this size with power 0.8


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A mean over tasks, with bounds."""

    value: float  # on the tasks of the log
    lower: float  # the mean over all tasks is at least this
    upper: float  # and at most this
    level: float | None  # the probability with which the bounds hold; None if it is not known
    proved: bool = False  # whether that level is proved for every distribution and number of tasks, else it is nominal


@dataclass(frozen=True, kw_only=True)
class ChosenPlan(Part):
    """A plan that was chosen on some tasks of a log."""

    plan: str  # the plan in words
    stop_at: float  # the score at which to stop
    built: int  # the number of tasks that it was chosen on
    attempts: int | None = None  # the maximal number of its attempts; None where it does not matter
    default_score: float = 0.0  # the score of a task without an attempt
    judge: str | None = None  # by which it stops and picks; None if scores are seen


@dataclass(frozen=True, kw_only=True)
class Aim(Part):
    """What a plan was chosen for: a price, a budget or a target score."""

    price: float  # what a unit of cost is worth in score; with another goal, the price at which the plan is cut
    budget: float | None = None  # the mean cost of a task that was allowed, if that was the goal
    target_score: float | None = None  # the mean score to reach, if that was the goal


@dataclass(frozen=True, kw_only=True)
class Advice(Compared):
    """The advised plan is better than the alternative; the bounds are of its gain in score less price times cost.

    All numbers are those of this very plan, on tasks that it was not chosen on. Where all attempts of a log score the
    same, the price is 1 and the gain is the cost that is saved.
    """

    kind: ClassVar[str] = "advice"

    chosen: ChosenPlan  # the plan
    aim: Aim  # what it was chosen for
    score: Measured  # of a task, on the tasks held out
    cost: Measured  # likewise
    alternative: str | None  # the plan that it was compared with; None if there is no other
    same: float | None = None  # the score of all attempts of the log, if it is the same
    parts: int = 1  # of the alternative: runs of one arm

    @property
    def outcome(self) -> Outcome:
        """Proved where the gain is above 0, disproved where it is below; open without a level or an alternative."""
        return Outcome.UNKNOWN if self.alternative is None else super().outcome


class Reason(StrEnum):
    """The reason why a log gives no advice."""

    COSTS_UNKNOWN = "costs unknown"  # of every arm, more than a few
    NOT_SHARED = "not shared"  # fewer than two tasks were tried by all arms
    FREE = "free"  # no attempt costs anything
    ALIKE = "alike"  # all attempts score the same and cost the same
    FEW_TASKS = "few tasks"  # too few to choose on some and to test on the others
    TOO_DEAR = "too dear"  # the budget does not cover one attempt
    OUT_OF_REACH = "out of reach"  # no sequence reaches the target score


@dataclass(frozen=True, kw_only=True)
class NoAdvice(Finding):
    """A log gives no advice; no gain is known."""

    kind: ClassVar[str] = "no advice"

    reason: Reason  # the reason
    tasks: int  # of the log; where a goal is not met, those that plans are chosen on
    asked: float | None = None  # the budget, or the target score
    best: float | None = None  # the mean cost of the cheapest attempt there, or the best mean score
    lower: float = -math.inf  # of the gain
    upper: float = math.inf  # likewise

    @property
    def outcome(self) -> Outcome:
        """Open."""
        return Outcome.UNKNOWN
