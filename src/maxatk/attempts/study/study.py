"""All that a log says, in one go: what ``maxatk attempts`` prints, writes as JSON and shows on a page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.counted import Difficulty, difficulty
from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.estimators import numbers_of_attempts
from maxatk.attempts.estimates.extrapolation import FARTHEST, PassRange
from maxatk.attempts.estimates.pairing import Differences, differences
from maxatk.attempts.sequences.advice import FEWEST, Advised, advise
from maxatk.attempts.sequences.offers import Frontier, frontier
from maxatk.attempts.sequences.plans import AttemptsWarning, SequencePlan
from maxatk.attempts.sequences.sequence import Goal, UnmetError
from maxatk.attempts.study import tables
from maxatk.attempts.study.tables import short, shown
from maxatk.base.errors import InputError
from maxatk.base.findings import Advice, Finding, NoAdvice, Reason
from maxatk.base.progress import reporter
from maxatk.show import words

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

MOST_UNKNOWN = 0.1  # of an arm's costs: with more it is left out of all that concerns costs
USUAL_GAIN = 0.05  # of what all attempts of the log gain over one, that an average one must bring if no price is given
NOMINAL = (
    "intervals by t are nominal: they assume that the tasks of the log show the tail of scores and costs. Proved ones "
    "need a score_range (and a cost_limit)"
)


@dataclass(frozen=True)
class Study:
    """What a log says, and what to do. Made by :func:`study`."""

    log: Log  # the log
    curves: tuple[Curve, ...]  # what k attempts are worth, by arm
    ranges: tuple[tuple[str, PassRange], ...]  # pass@k for k beyond the attempts made, by arm
    difficulty: tuple[Difficulty, ...]  # how much attempts at one task have in common
    differences: Differences | None  # between arms; None if there is one only
    k: int  # the number of attempts that differences are about
    frontier: Frontier | None  # scores against costs; None where there are too few tasks
    goal: Goal | None  # the price, budget or score to reach: as asked for, or the usual price; None without costs
    advised: tuple[Advised, ...]  # what to try for that goal, for lower ones and for higher ones, where they can be met
    silence: NoAdvice | None  # why there is no advice for that goal; None if there is
    notes: tuple[str, ...]  # what a reader should know

    @property
    def main(self) -> Advised | None:
        """What to try for the goal that was asked for; None where the log cannot say."""
        return next((one for one in self.advised if one.goal == self.goal), None)

    @property
    def plan(self) -> SequencePlan | None:
        """The plan that is advised."""
        return None if self.main is None else self.main.plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is proved: what to try, differences between arms, what choosing a sequence gains."""
        chosen = None if self.frontier is None else self.frontier.finding
        return (
            *(one.finding for one in self.advised),
            *(() if self.silence is None else (self.silence,)),
            *(one.finding for one in self.differences or ()),
            *(() if chosen is None else (chosen,)),
        )

    @property
    def advice(self) -> tuple[str, str]:
        """What to do, in two sentences."""
        return words.advice(self._said)

    @property
    def _said(self) -> Advice | NoAdvice:
        if self.main is not None:
            return self.main.finding
        assert self.silence is not None
        return self.silence

    def show(self, every: bool = False) -> RenderableType:
        """All of it for the terminal.

        Args:
            every: show all offers and pairs, not only those that matter.
        """
        parts: list[RenderableType] = [Text.assemble((repr(self.log), "bold"))]
        parts += [f"Note: {note}." for note in self.notes]

        def section(title: str, *what: RenderableType) -> None:
            parts.extend(["", Text(title, "bold"), *what])

        for curve in self.curves:
            section(f"{curve.name}, with intervals over tasks", curve.table(), *_no_level(curve))
        if self.ranges:
            section(
                "Beyond the attempts that were made, only a range is known",
                *(f"{arm}: {known}" for arm, known in self.ranges),
            )
        if self.differences is not None:
            of = f"the best of {self.k}" if self.k > 1 else "one attempt"
            hidden = 0 if every else len(self.differences) - len(self.differences.of_the_best)
            sure = self.differences.sureness
            section(
                f"Differences in {of}, task by task{f' ({sure})' if sure else ''}",
                self.differences.table(every),
                *([f"{_count(hidden, 'more pair')}, of the other arms (--all)."] if hidden else []),
            )
        shared = sorted((d for d in self.difficulty if d.k > 1), key=lambda d: d.measured - d.pooled)
        if shared:
            section(
                "How much attempts at one task have in common", *(f"{d}." for d in (shared if every else shared[:3]))
            )
        if self.frontier is not None:
            hidden = len(self.frontier.offers) - len(self.frontier.efficient)
            note = (
                [f"Left out: {_count(hidden, 'offer')} that cost no less and score no more than one of these (--all)."]
                if hidden and not every
                else []
            )
            section("Score against cost", self.frontier.table(every), *note)
        if self.main is not None:
            plan = self.main.plan
            tasks = words.tasks_in_words(plan.tasks)
            why = [f"{plan.why[0].upper()}{plan.why[1:]}."] if plan.method == "portfolio" else []
            if plan.steps:
                section(f"The plan ({plan.method}), on the {tasks} that it was chosen on", plan.table(), *why)
        if self.others:
            section(f"{self.elsewhere}, on tasks that plans were not chosen on", advice_table(self.others))
        section("What to do", *self.advice)
        return Group(*parts)

    @property
    def others(self) -> tuple[Advised, ...]:
        """What to try for several goals; none where all attempts score the same, since a goal makes no difference."""
        return tuple(one for one in self.advised if one.same is None)

    @property
    def elsewhere(self) -> str:
        """What the table of several goals is headed with."""
        return "What that earned" if self.others == (self.main,) else f"At other {self.goal_noun}s"

    @property
    def goal_noun(self) -> str:
        """What the goal is."""
        return "" if self.goal is None else _GOALS[self.goal.name]

    def __str__(self) -> str:
        return tables.as_text(self.show())

    def data(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        from maxatk.attempts.study import data as study_data

        return study_data.data(self)

    def page(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write it as a web page of one file, which needs no network (extra ``page``).

        Args:
            path: the file.
            title: the heading.
        """
        from maxatk.attempts.study import page

        page.write(self, path, title)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


_GOALS = {"price": "price", "budget": "budget", "reach": "score to reach"}


def _no_level(curve: Curve) -> list[str]:
    """What intervals on the range seen are not."""
    if all(point.level is not None for point in curve):
        return []
    return [
        "An interval on the range seen has no level: few or skewed tasks say nothing of scores that were not seen. "
        "With a score_range it is proved."
    ]


def advice_table(advised: Sequence[Advised]) -> Table:
    """What to try for several goals, as a table for the terminal."""
    table = tables.plain_table(
        (_GOALS[advised[0].goal.name], "right"), ("try", "left"), ("score", "right"), ("interval", "left"),
        ("cost", "right"), ("interval", "left"),
    )  # fmt: skip
    for one in advised:
        table.add_row(short(one.goal.number), one.plan.spelled, *shown(one.score), *shown(one.cost))
    return table


def study(
    log: Log,
    k: int | Sequence[int] | None = None,
    *,
    price: float | None = None,
    budget: float | None = None,
    reach: float | None = None,
    passed: float | None = None,
    stop_at: float | None = None,
    level: float = 0.95,
    rng: Any = 0,
    progress: bool | Callable[[str], None] = False,
) -> Study:
    """All that a log says: curves, differences, the frontier, a sequence and its replay, and what to do.

    Args:
        log: the log.
        k: numbers of attempts for the curves; 1, 2, 4, ... as far as every task goes unless given.
        price: what one unit of cost is worth in score. Without a price or budget an attempt of average cost must bring
            a twentieth of what all attempts of the log at a task together gain over one of the worst arm. (That is a
            difference of means, so that a rare great score counts by its worth, not by its size.)
        budget: instead of a price, what may be spent per task on average.
        reach: instead of both, the mean score to reach.
        passed: the score from which on an attempt passes; the greatest of the log unless given.
        stop_at: the score at which to stop; chosen among the scores of the log unless given.
        level: of the intervals.
        rng: a seed or a ``Generator`` for the folds of cross-validation.
        progress: a function to be told what is at work, or true for a line on standard error.

    >>> from maxatk import attempts as at
    >>> log = at.recorded().select(arms=["L-BFGS-B", "annealing"])
    >>> study = at.study(log, price=0.5)
    >>> study.plan.arms
    ['annealing', 'annealing', 'annealing', 'annealing', 'annealing']
    >>> print(study.advice[0])
    Try annealing × 5, and stop as soon as one scores at least 0.429 (at 0.500 per unit of cost).
    """
    goal: dict[str, Any] = {"price": price, "budget": budget, "reach": reach}
    if any(x is not None for x in goal.values()):
        Goal.of(price, budget, reach)  # refused before any work
    with reporter(progress, "reading", lambda part: f"at work: {part}") as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", AttemptsWarning)  # they are among the notes
        return _study(log, k, goal, passed, stop_at, level, rng, tell or (lambda part: None))


def _study(
    log: Log, k: Any, goal: dict[str, Any], passed: float | None, stop_at: float | None, level: float, rng: Any,
    tell: Callable[[str], None],
) -> Study:  # fmt: skip
    tell("curves")
    notes = list(log.notes)
    least = int(log.counts[log.counts > 0].min())
    wanted = [2**i for i in range(least.bit_length())] if k is None else numbers_of_attempts(k)
    within, beyond = [one for one in wanted if one <= least], [one for one in wanted if one > least]
    if far := [one for one in beyond if one > FARTHEST * least]:
        raise InputError(
            f"k = {far[0]} is more than {FARTHEST} times the {least} attempts that every task has: the log does not say"
        )
    graded, low = len(np.unique(log.score)) != 2, float(log.score.min())
    if low == log.top:
        notes.append(f"all attempts score {short(low)}")
    curves: list[Curve] = []
    if within and graded:
        curves.append(log.max_at_k(within, level=level))
    if within and (passed is not None or not graded):
        curves.append(log.pass_at_k(within, passed, level=level))
        if passed is None and (low, log.top) != (0.0, 1.0):
            notes.append(f"to pass is to score at least {words.threshold(log.top)}, the greatest score of the log")
    tell("what lies beyond")
    ranges = tuple((arm, log.pass_range(one, passed, arm, level)) for arm in log.arms for one in beyond)
    if beyond and graded and passed is None:
        notes.append(f"pass@k is about reaching {words.threshold(log.top)}, the greatest score of the log")
    tell("differences")
    most = max(within, default=1)
    pairs = differences(log, most, level) if len(log.arms) > 1 and _share_tasks(log) else None
    tell("costs")
    priced = _priced(log, notes)
    offers: Frontier | None = None
    advised: tuple[Advised, ...] = ()
    aim: Goal | None = None
    silence: NoAdvice | None = None
    if isinstance(priced, Reason):
        silence = NoAdvice(reason=priced, tasks=len(log.tasks))
    else:
        alike = float(priced.score.min()) == priced.top
        aim = _goal(priced, goal, alike, notes)
        tell("the frontier")
        if not alike:
            offers = frontier(priced, stop_at=stop_at, passed=passed, level=level, rng=rng)
        tell("what to try")
        goals = [aim] if alike else _goals(aim)
        advised, silence = _advised(priced, aim, goals, stop_at=stop_at, passed=passed, level=level, rng=rng)
    found = Study(
        log, tuple(curves), ranges, tuple(difficulty(log)), pairs, most, offers, aim, advised, silence, tuple(notes)
    )
    return replace(found, notes=(*notes, NOMINAL)) if _nominal(found) else found


def _goal(log: Log, goal: dict[str, Any], alike: bool, notes: list[str]) -> Goal:
    """What was asked for, or the usual price."""
    if any(x is not None for x in goal.values()):
        return Goal.of(**goal)
    price = _usual_price(log)
    if not alike:
        notes.append(
            f"no price or budget was given: an attempt of average cost must bring {100 * USUAL_GAIN:g} % of what all "
            f"attempts of the log at a task gain over one of the worst arm, that is {short(price)} per unit of cost"
        )
    return Goal(price=price)


def _goals(goal: Goal) -> list[Goal]:
    """The goal, between a lower and a higher one; a score to reach stands alone."""
    if goal.price is not None:
        return [Goal(price=goal.price * times) for times in (1 / 4, 1, 4)] if goal.price > 0 else [goal]
    return [Goal(budget=goal.budget * times) for times in (1 / 2, 1, 2)] if goal.budget is not None else [goal]


def _advised(
    log: Log, goal: Goal, goals: Sequence[Goal], **options: Any
) -> tuple[tuple[Advised, ...], NoAdvice | None]:
    """What to try for the goals that can be met, and why there is no advice for the one that was asked for."""
    if len(log.tasks) < FEWEST:
        return (), NoAdvice(reason=Reason.FEW_TASKS, tasks=len(log.tasks))
    advised: list[Advised] = []
    silence: NoAdvice | None = None
    for one in goals:
        try:
            advised.append(advise(log, one, **options))
        except UnmetError as unmet:
            silence = unmet.finding if one == goal else silence
    return tuple(advised), silence


def _nominal(found: Study) -> bool:
    """Whether any interval is Student's."""
    offers = () if found.frontier is None else found.frontier.offers
    estimates = (
        *(point for curve in found.curves for point in curve),
        *(found.differences or ()),
        *(x for offer in offers for x in (offer.score, offer.cost)),
        *(x for one in found.advised for x in (one.score, one.cost, one.gain)),
    )
    return any(estimate.how == intervals.T for estimate in estimates)


def _share_tasks(log: Log) -> bool:
    """Whether every two arms have a task in common."""
    tried = (log.counts > 0).astype(np.int64)
    return bool((tried.T @ tried > 0).all())


def _priced(log: Log, notes: list[str]) -> Log | Reason:
    """The part of a log with which costs can be weighed: arms whose costs are known, tasks that all of them tried; or
    why there is none.
    """
    unknown = np.array([np.isnan(log.cost[log.arm == number]).mean() for number in range(len(log.arms))])
    if (unknown > MOST_UNKNOWN).all():
        return Reason.COSTS_UNKNOWN
    left_out = [arm for arm, share in zip(log.arms, unknown.tolist(), strict=True) if share > MOST_UNKNOWN]
    if left_out:
        notes.append(f"left out of all that concerns costs, for want of them: {', '.join(left_out)}")
    kept = log.select(arms=[arm for arm in log.arms if arm not in left_out])
    if np.isnan(kept.cost).any():
        notes.append("costs that are not known count as the mean of their arm")
        kept = kept.fill_costs()
    complete = (kept.counts > 0).all(axis=1)
    if complete.sum() < 2:
        return Reason.FEW_TASKS if len(kept.tasks) < 2 else Reason.NOT_SHARED
    if not complete.all():
        notes.append(f"what concerns costs is about the {int(complete.sum())} tasks that all arms tried")
        kept = kept.select(least=1)
    if not kept.cost.any():
        return Reason.FREE
    alike = kept.score.min() == kept.score.max() and kept.cost.min() == kept.cost.max()
    return Reason.ALIKE if alike else kept


def _usual_price(log: Log) -> float:
    """A twentieth of what there is to gain, per average cost.

    What there is to gain is the mean over tasks of the best score that was logged, less the mean score of the worst
    arm's attempts; in a log of single attempts of one arm, the mean score less the worst.
    """
    means = [curve.value for curve in (log.max_at_k(1, arm=arm) for arm in log.arms)]
    best = np.full(len(log.tasks), -np.inf)
    np.maximum.at(best, log.task, log.score)
    gain = float(best.mean()) - min(means)
    return USUAL_GAIN * (gain if gain > 0 else max(means) - log.usual_range[0]) / float(log.cost.mean())
