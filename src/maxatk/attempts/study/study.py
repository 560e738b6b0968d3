"""A complete study of a log: what ``maxatk attempts`` prints, writes as JSON and shows on a page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.difficulty import Difficulty, difficulty
from maxatk.attempts.estimates.estimators import numbers_of_attempts
from maxatk.attempts.estimates.extrapolation import FARTHEST, PassRange
from maxatk.attempts.estimates.pairing import Differences, differences
from maxatk.attempts.judges.report import JudgeReport
from maxatk.attempts.log import Log
from maxatk.attempts.logs.judged import BLANK
from maxatk.attempts.sequences.builder import Settings, UnmetError
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.sequences.strategies import Frontier, frontier
from maxatk.attempts.study.advice import FEWEST, Advised, advise
from maxatk.attempts.study.latency import Latency, checked_widths, latency
from maxatk.attempts.warnings import AttemptsWarning
from maxatk.base import display
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.findings import Finding, NoAdvice, Reason
from maxatk.base.progress import reporter
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, short, threshold

MOST_UNKNOWN = 0.1  # of an arm's costs: an arm with more is left out of all comparisons with costs
USUAL_GAIN = 0.05  # the gain of an average attempt at the default price, as a share of that of all attempts of the log
NOMINAL = (
    "intervals by t are nominal: they assume that the tasks of the log show the tail of scores and costs. Proved ones "
    "need a score_range (and a cost_limit)"
)


@dataclass(frozen=True, repr=False)
class Study(Displayed, Tabular):
    """The results of a study of a log, with advice. Made by :func:`study`."""

    log: Log  # the log
    curves: tuple[Curve, ...]  # estimates for k attempts, by arm
    ranges: tuple[tuple[str, PassRange], ...]  # pass@k for k beyond the attempts made, by arm
    difficulty: tuple[Difficulty, ...]  # how much attempts at one task have in common
    differences: Differences | None  # between arms; None for one arm
    frontier: Frontier | None  # scores against costs; None if there are too few tasks
    goal: Goal | None  # the price, budget or target score: as asked for, or the default price; None without costs
    advised: tuple[Advised, ...]  # the plans for that goal, for lower and for higher ones, where they can be met
    silence: NoAdvice | None  # the reason why there is no advice for that goal; None if there is
    notes: tuple[str, ...]  # warnings, in words
    latency: Latency | None  # what it costs to make attempts several at a time; None unless that was asked for
    vote: Curve | None = field(default=None, kw_only=True)  # majority@k, if there are answers and no judge's report
    unused: tuple[str, ...] = field(default=(), kw_only=True)  # those of the notes on judges and answers without a use

    def __repr__(self) -> str:
        advised = "no advice" if self.plan is None else f"try {self.plan.spelled}"
        return clipped(f"{type(self).__name__}({self.log!r}: {advised})")

    def columns(self) -> dict[str, list[Any]]:
        """The estimates by column: estimate, such as max@k, arm, k, value, lower and upper."""
        return Curve.joined([*self.curves, *([] if self.vote is None else [self.vote])])

    @property
    def main(self) -> Advised | None:
        """The advice for the goal that was asked for; None if the log cannot tell."""
        return next((one for one in self.advised if one.goal == self.goal), None)

    @property
    def plan(self) -> SequencePlan | None:
        """The plan that is advised."""
        return None if self.main is None else self.main.plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: the advice, differences between arms, the gain from choosing a sequence."""
        chosen = None if self.frontier is None else self.frontier.finding
        return (
            *(one.finding for one in self.advised),
            *(() if self.silence is None else (self.silence,)),
            *(one.finding for one in self.differences or ()),
            *(() if chosen is None else (chosen,)),
            *(() if self.latency is None else self.latency.findings),
        )

    @property
    def advice(self) -> tuple[str, str]:
        """The advice, in two sentences."""
        first, second = display.sentences(self.silence if self.main is None else self.main.finding)
        return first, second

    def show(self, every: bool = False) -> display.RenderableType:
        """The study for the terminal.

        Args:
            every: show all of it, not only the advice and the main estimates, which take at most 40 lines.
        """
        return display.table(self, every)

    @property
    def others(self) -> tuple[Advised, ...]:
        """The advice for several goals; empty if all attempts score the same, since the goal makes no difference."""
        return tuple(one for one in self.advised if one.same is None)

    @property
    def elsewhere(self) -> str:
        """The heading of the table of several goals."""
        return "Its score and cost" if self.others == (self.main,) else f"At other {self.goal_noun}s"

    @property
    def goal_noun(self) -> str:
        """The kind of goal, in words."""
        return "" if self.goal is None else self.goal.name.replace("_", " ")

    def data(self) -> dict[str, Any]:
        """The study as plain data, for JSON."""
        return display.data(self)

    def page(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write the study as a web page of one file, which needs no network (extra ``page``).

        Args:
            path: the file.
            title: the heading.
        """
        display.page(self, path, title=title)


@dataclass(frozen=True, repr=False)
class JudgedStudy(Study):
    """A study of a log whose attempts are picked by a judge: what judges are good for, and plans that one decides."""

    judge: str | None  # by which plans stop and pick; all scores are of the truth
    reports: tuple[JudgeReport, ...]  # what each judge is good for, by arm


def study(
    log: Log, k: int | Sequence[int] | None = None, *, price: float | None = None, budget: float | None = None,
    target_score: float | None = None, pass_threshold: float | None = None, stop_at: float | None = None,
    level: float = 0.95, rng: Any = 0, progress: bool | Callable[[str], None] = False, judge: str | None = None,
    widths: int | Sequence[int] | None = None,
) -> Study:  # fmt: skip
    """A complete study of a log: curves, differences, the frontier, a sequence and its replay, and advice.

    Args:
        log: the log.
        k: numbers of attempts for the curves; by default 1, 2, 4, ... up to the number that every task has.
        price: what one unit of cost is worth in score. Without a price, budget or target score, an attempt of average
            cost must gain a twentieth of what all attempts of the log at a task together gain over one of the worst
            arm. (That is a difference of means: a rare high score counts with its frequency.)
        budget: instead of a price, the mean cost per task that is allowed.
        target_score: instead of both, the mean score to reach.
        pass_threshold: the lowest score that passes; by default the highest of the log.
        stop_at: the score at which to stop; by default chosen among the scores of the log.
        level: of the intervals.
        rng: a seed or a ``Generator`` for the folds of cross-validation.
        progress: a function that is called with the name of the current part, or true for a line on standard error.
        judge: the judge of the log by which plans stop and pick, if the truth is not seen at run time; the result is
            then a :class:`JudgedStudy`, with a report on every judge.
        widths: how many attempts might be made at once: what that costs and how many rounds it takes is then part of
            the study, as for :func:`maxatk.attempts.latency` with greedy sequences.

    >>> from maxatk import attempts as at
    >>> log = at.example_log().select(arms=["L-BFGS-B", "annealing"])
    >>> study = at.study(log, price=0.5)
    >>> study.plan.arms
    ['annealing', 'annealing', 'annealing', 'annealing', 'annealing']
    >>> print(study.advice[0])
    Try annealing × 5, and stop as soon as one scores at least 0.429 (at 0.500 per unit of cost).
    """
    goals = {"price": price, "budget": budget, "target_score": target_score}
    goal = None if all(x is None for x in goals.values()) else Goal.of(**goals)  # errors come before any work
    log.require_truth()
    if judge is not None:
        log.judged.of_judge(judge)
    if widths is not None:
        checked_widths(widths)
    with reporter(progress, "reading", lambda part: f"at work: {part}") as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", AttemptsWarning)  # they are among the notes
        return _Maker(log, goal, stop_at, pass_threshold, level, rng, tell or (lambda part: None), judge, widths).study(
            k
        )


@dataclass(frozen=True)
class _Maker:
    """Makes a study, part by part."""

    log: Log
    goal: Goal | None
    stop_at: float | None
    pass_threshold: float | None
    level: float
    rng: Any
    tell: Callable[[str], None]  # is called with the name of each part
    judge: str | None = None  # by which plans stop and pick
    widths: Any = None  # attempts that might be made at once
    notes: list[str] = field(default_factory=list[str])

    def study(self, k: Any) -> Study:
        """The whole study."""
        log, tell = self.log, self.tell
        tell("curves")
        self.notes.extend(log.notes)
        unused = tuple(_unused(log, self.judge))
        self.notes.extend(unused)
        within, beyond = self._numbers(k)
        curves = tuple(self._curves(within))
        votes = self.judge is None and log.judged.answer is not None and (log.judged.answer != BLANK).any()
        vote = log.majority_at_k(within, level=self.level) if votes and within else None
        tell("ranges of pass@k")
        ranges = [(arm, log.pass_range(n, self.pass_threshold, arm, self.level)) for arm in log.arms for n in beyond]
        if beyond and self._graded and self.pass_threshold is None:
            self.notes.append(f"pass@k is the chance to score {threshold(log.top)}, the highest score of the log")
        tell("differences")
        paired = len(log.arms) > 1 and _share_tasks(log)
        pairs = differences(log, max(within, default=1), self.level) if paired else None
        tell("costs")
        priced = _priced(log, self.notes)
        aim, front, advised, silence, waiting = None, None, (), None, None
        if isinstance(priced, Reason):
            silence = NoAdvice(reason=priced, tasks=len(log.tasks))
        else:
            alike = float(priced.score.min()) == priced.top
            aim = self.goal or self._usual_goal(priced, alike)
            options: dict[str, Any] = {"pass_threshold": self.pass_threshold, "level": self.level, "rng": self.rng}
            tell("the frontier")
            front = None if alike else frontier(priced, stop_at=self.stop_at, judge=self.judge, **options)
            tell("advice")
            goals = [Settings(one, self.stop_at, judge=self.judge) for one in ([aim] if alike else _goals(aim))]
            advised, silence = _advised(priced, aim, goals, **options)
            if self.widths is not None and not alike and silence is None:
                tell("latency")
                goal = {aim.name: aim.number}
                options = {"stop_at": self.stop_at, "judge": self.judge, "level": self.level, "rng": self.rng}
                options["method"] = "greedy"  # a choice of methods for every width takes long
                waiting = latency(priced, self.widths, **goal, **options)
        make = Study
        if self.judge is not None:
            tell("judges")
            make = partial(JudgedStudy, judge=self.judge, reports=tuple(self._reports(within)))
        result = make(
            log,
            curves,
            tuple(ranges),
            tuple(difficulty(log)),
            pairs,
            front,
            aim,
            advised,
            silence,
            tuple(self.notes),
            waiting,
            vote=vote,
            unused=unused,
        )
        return replace(result, notes=(*self.notes, NOMINAL)) if _nominal(result) else result

    def _reports(self, within: list[int]) -> Iterator[JudgeReport]:
        """A report on each judge and arm, but where a judge gives all attempts of an arm one score."""
        for number, arm in enumerate(self.log.arms):
            for name in self.log.judges:
                try:
                    self.log.judged.of_judge(name, self.log.arm == number)
                except InputError as refusal:
                    self.notes.append(f"of {arm} {refusal}")
                else:
                    yield self.log.judge_report(name, within or None, arm, self.level)

    def _numbers(self, k: Any) -> tuple[list[int], list[int]]:
        """The numbers of attempts that every task has, and those beyond."""
        fewest = int(self.log.counts[self.log.counts > 0].min())
        wanted = [2**i for i in range(fewest.bit_length())] if k is None else numbers_of_attempts(k)
        if far := [one for one in wanted if one > FARTHEST * fewest]:
            raise InputError(
                f"k = {far[0]} is more than {FARTHEST} times the {fewest} attempts that every task has: the log says "
                "next to nothing about it"
            )
        return [one for one in wanted if one <= fewest], [one for one in wanted if one > fewest]

    @property
    def _graded(self) -> bool:
        """Whether there are other scores than two."""
        return len(np.unique(self.log.score)) != 2

    def _curves(self, within: list[int]) -> Iterator[Curve]:
        log, low = self.log, float(self.log.score.min())
        if low == log.top:
            self.notes.append(f"all attempts score {short(low)}")
        if within and self._graded:
            yield log.max_at_k(within, level=self.level)
        if within and (self.pass_threshold is not None or not self._graded):
            yield log.pass_at_k(within, self.pass_threshold, level=self.level)
            if self.pass_threshold is None and (low, log.top) != (0.0, 1.0):
                self.notes.append(f"to pass is to score at least {threshold(log.top)}, the highest score of the log")

    def _usual_goal(self, log: Log, alike: bool) -> Goal:
        """The default price."""
        price = _usual_price(log)
        if not alike:
            self.notes.append(
                f"no price or budget was given: an attempt of average cost must gain {100 * USUAL_GAIN:g} % of what "
                f"all attempts of the log at a task gain over one of the worst arm, that is {short(price)} per unit of "
                "cost"
            )
        return Goal(price=price)


def _unused(log: Log, judge: str | None) -> Iterator[str]:
    """Notes on judges of which none is named, so that plans see the truth, and on answers that cast no vote."""
    if log.judges and judge is None:
        first, *others = log.judges
        names = f"a judge {shown(first)}" if not others else f"judges {', '.join(map(shown, log.judges[:4]))}"
        yield f"the log has {names}; this plan sees the truth: add judge={first!r} (--judge {first})"
    if log.judged.answer is not None and (log.judged.answer == BLANK).all():
        yield "all answers are blank: nobody votes"


def _goals(goal: Goal) -> list[Goal]:
    """The goal, between a lower and a higher one; a target score alone."""
    if goal.price is not None:
        return [Goal(price=goal.price * times) for times in (1 / 4, 1, 4)] if goal.price > 0 else [goal]
    return [Goal(budget=goal.budget * times) for times in (1 / 2, 1, 2)] if goal.budget is not None else [goal]


def _advised(
    log: Log, goal: Goal, goals: Sequence[Settings], **options: Any
) -> tuple[tuple[Advised, ...], NoAdvice | None]:
    """The advice for the goals that can be met, and the reason if there is none for the one that was asked for."""
    if len(log.tasks) < FEWEST:
        return (), NoAdvice(reason=Reason.FEW_TASKS, tasks=len(log.tasks))
    advised: list[Advised] = []
    silence: NoAdvice | None = None
    for one in goals:
        try:
            advised.append(advise(log, one, **options))
        except UnmetError as unmet:
            silence = unmet.finding if one.goal == goal else silence
    return tuple(advised), silence


def _nominal(study: Study) -> bool:
    """Whether any interval is Student's."""
    strategies = () if study.frontier is None else study.frontier.strategies
    estimates = (
        *(point for curve in study.curves for point in curve),
        *(study.differences or ()),
        *(x for strategy in strategies for x in (strategy.score, strategy.cost)),
        *(x for one in study.advised for x in (one.score, one.cost, one.gain)),
    )
    return any(estimate.method == intervals.T for estimate in estimates)


def _share_tasks(log: Log) -> bool:
    """Whether every two arms have a task in common."""
    tried = (log.counts > 0).astype(np.int64)
    return bool((tried.T @ tried > 0).all())


def _priced(log: Log, notes: list[str]) -> Log | Reason:
    """The part of a log in which costs can be compared: arms with known costs, tasks that all of them tried; or the
    reason why there is none.
    """
    unknown = np.array([np.isnan(log.cost[log.arm == number]).mean() for number in range(len(log.arms))])
    if (unknown > MOST_UNKNOWN).all():
        return Reason.COSTS_UNKNOWN
    left_out = [arm for arm, share in zip(log.arms, unknown.tolist(), strict=True) if share > MOST_UNKNOWN]
    if left_out:
        notes.append(f"left out of all comparisons with costs, because too few are known: {', '.join(left_out)}")
    kept = log.select(arms=[arm for arm in log.arms if arm not in left_out])
    if np.isnan(kept.cost).any():
        notes.append("missing costs count as the mean of their arm")
        kept = kept.fill_costs()
    complete = (kept.counts > 0).all(axis=1)
    if complete.sum() < 2:
        return Reason.FEW_TASKS if len(kept.tasks) < 2 else Reason.NOT_SHARED
    if not complete.all():
        notes.append(f"all comparisons with costs are on the {int(complete.sum())} tasks that all arms tried")
        kept = kept.select(min_attempts=1)
    if not kept.cost.any():
        return Reason.FREE
    alike = kept.score.min() == kept.score.max() and kept.cost.min() == kept.cost.max()
    return Reason.ALIKE if alike else kept


def _usual_price(log: Log) -> float:
    """A twentieth of the possible gain, per average cost.

    The possible gain is the mean over tasks of the best score that was logged, less the mean score of the worst arm; in
    a log of single attempts of one arm, the mean score less the worst.
    """
    means = [curve.value for curve in (log.max_at_k(1, arm=arm) for arm in log.arms)]
    best = np.full(len(log.tasks), -np.inf)
    np.maximum.at(best, log.task, log.score)
    gain = float(best.mean()) - min(means)
    return USUAL_GAIN * (gain if gain > 0 else max(means) - log.usual_range[0]) / float(log.cost.mean())
