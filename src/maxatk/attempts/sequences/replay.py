"""The replay of a sequence on tasks that it was not built from: the only claim about other tasks that is made here.

Every attempt of a log is a fresh draw whatever was done before, so running a sequence over the attempts of a held-out
task is unbiased for its score and cost there, including the rule to stop (docs/theory/attempts.md). Tasks are
independent; so the mean over tasks has an interval, and so has the difference from the best single capped arm, on the
same attempts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import threshold
from maxatk.attempts.estimates.intervals import Estimate, checked_level
from maxatk.attempts.log import Log
from maxatk.attempts.sequences.builder import FOLDS, Settings
from maxatk.attempts.sequences.folds import fold_numbers, folds_of, gathered, in_order
from maxatk.attempts.sequences.follow import Outcome, follow
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.sequences.sequence import planned
from maxatk.attempts.warnings import warn
from maxatk.base import checks, display, findings
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, count_of, short
from maxatk.base.types import Floats, Ints, Range


@dataclass(frozen=True)
class SingleReplay:
    """The best single capped arm on held-out tasks, and what a sequence gains over it there."""

    name: str  # the arm and its cap
    score: Estimate  # the best score of a task
    cost: Estimate  # the cost of a task
    gain: Estimate  # of the sequence over it, score less price times cost
    score_gain: Estimate  # of the sequence over it, in score alone
    cost_ratio: Range  # an interval for the ratio of the cost of the sequence to its cost
    cut: bool  # whether its cap is that of the log: more attempts might pay, but the log has no more
    same: bool  # whether the sequence is this arm itself

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Replay(Displayed, Tabular):
    """A sequence on held-out tasks, beside the best single capped arm."""

    score: Estimate  # the best score of a task
    cost: Estimate  # the cost of a task
    net: Estimate  # score less price times cost
    seconds: Estimate | None  # the duration of a task, attempts one after the other, if it was logged
    attempts: float  # the mean number of attempts per task
    width: int  # attempts that are made at once, in a round
    rounds: Estimate  # the rounds of a task: the latency
    solved: float  # the share of tasks solved
    single: SingleReplay  # the best single capped arm on the same tasks
    price: float  # of a unit of cost, in score; for folds with a budget, the mean of the prices of the folds
    exhausted: int  # tasks with too few attempts in the log: intervals cover all that could have happened there
    needs: tuple[str, ...] = ()  # arguments that the log lacks for proved intervals, by name

    def __repr__(self) -> str:
        numbers = f"score {short(self.score.value)}, cost {short(self.cost.value)}, gain {short(self.gain.value)}"
        return clipped(f"Replay({count_of(self.tasks, 'task')}: {numbers} over {self.single.name})")

    def columns(self) -> dict[str, list[Any]]:
        """One row for each mean over tasks, with its interval: of the sequence, of the best single arm, of the gain."""
        single, sequence = self.single, "the sequence"
        rows: list[tuple[str, str, Estimate]] = [
            (sequence, "score", self.score), (sequence, "cost", self.cost), (sequence, "net", self.net),
            *([] if self.seconds is None else [(sequence, "seconds", self.seconds)]),
            (sequence, "rounds", self.rounds),
            (single.name, "score", single.score), (single.name, "cost", single.cost),
            ("the gain", "net", single.gain), ("the gain", "score", single.score_gain),
        ]  # fmt: skip
        columns: dict[str, list[Any]] = {
            "policy": [who for who, _, _ in rows],
            "mean of": [what for _, what, _ in rows],
        }
        return columns | {name: [getattr(x, name) for _, _, x in rows] for name in ("value", "lower", "upper", "level")}

    @property
    def gain(self) -> Estimate:
        """Net, less that of the best single capped arm on the same tasks."""
        return self.single.gain

    @property
    def tasks(self) -> int:
        """The number of tasks of the replay."""
        return self.score.tasks

    @property
    def finding(self) -> findings.Difference:
        """Whether the sequence is better than the single arm in score less price times cost."""
        gain = self.gain
        return findings.Difference(
            lower=gain.lower, upper=gain.upper, value=gain.value, first="the sequence", second=self.single.name,
            of="net", basis=gain.basis(self.needs),
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """The finding in words."""
        return display.words(self)

    def table(self) -> display.Table:
        """The numbers as a table for the terminal."""
        return display.table(self)


KINDS = ("auto", *intervals.KINDS)  # of intervals that a replay may be asked for


def replay(plan: SequencePlan, log: Log, level: float, interval: str, pass_threshold: float | None) -> Replay:
    """See :meth:`SequencePlan.replay`."""
    lowest = threshold(log, pass_threshold)
    _check_interval(log, interval, KINDS)
    if both := sum(task in plan.built_from.names for task in log.tasks):
        warn(
            f"{both} of the {len(log.tasks)} tasks have the names of tasks that the sequence was built from: if they "
            "are the same, the replay is optimistic"
        )
    prices = np.full(len(log.tasks), plan.price)
    return Summary(log, [plan], prices, checked_level(level), interval).replay(*_both(plan, log, lowest))


def _both(plan: SequencePlan, log: Log, pass_threshold: float) -> tuple[Outcome, Outcome]:
    """The outcomes of a plan and of the single arm that it has to beat."""
    pairs = (plan.arms, plan.stop_at), (plan.single.arms, plan.single.stop_at)
    scoring = plan.scoring._replace(pass_threshold=pass_threshold)
    mine, other = (follow(log, arms, scoring._replace(stop_at=end)) for arms, end in pairs)
    return mine, other


def cross_replay(
    log: Log, *, price: float | None = None, budget: float | None = None, target_score: float | None = None,
    method: str = "auto", stop_at: float | None = None, max_per_arm: int | None = None,
    default_score: float | None = None, folds: int = FOLDS, level: float = 0.95, interval: str = "usual",
    pass_threshold: float | None = None, rng: Any = 0, judge: str | None = None, width: int = 1,
) -> Replay:  # fmt: skip
    """The cross-validated score and cost of sequences: each fold is replayed with the sequence of all other tasks.

    The estimate is for the method of building a sequence from that number of tasks, not for one sequence. Intervals of
    the gain allow for the dependence between folds, and proved ones hold fold by fold.

    Args:
        log: attempts at tasks; every task must have every arm.
        price: as for :func:`maxatk.attempts.sequence`, like the next six arguments.
        budget: instead of a price, the mean cost per task that is allowed.
        target_score: instead of both, the mean score to reach.
        method: the method by which sequences are built.
        stop_at: the score at which to stop.
        max_per_arm: the maximal number of attempts of an arm.
        default_score: the score of a task without an attempt.
        folds: the number of folds.
        level: of the intervals.
        interval: "usual", or "proved" for intervals that hold for every distribution and number of tasks.
        pass_threshold: the lowest score that solves a task; by default the highest of the log.
        rng: a seed or a ``Generator`` for the folds.
        judge: as for :func:`maxatk.attempts.sequence`; thresholds are then chosen on other tasks, too.
        width: as for :func:`maxatk.attempts.sequence`.

    >>> from maxatk import attempts as at
    >>> replayed = at.cross_replay(at.example_log(), price=2.0, method="greedy")
    >>> print(replayed.gain, replayed.single)
    0.025 [-0.022, 0.073] the best single arm, chosen fold by fold
    """
    goal = Goal.of(price=price, budget=budget, target_score=target_score)
    settings = Settings(goal, stop_at, max_per_arm, default_score, judge, width)
    lowest = threshold(log, pass_threshold)
    _check_interval(log, interval, intervals.KINDS)
    whole = planned(log, settings, method, rng)
    # Parts of a log have fewer tasks than the log: the choice of a portfolio is that for the whole log.
    method = "portfolio" if method == "auto" and whole.method == "portfolio" else method
    parts = folds_of(log, folds, rng)
    # The method is chosen anew on the rest, because the choice is part of what is validated. So is the price that
    # follows from a budget, and the default score: no held-out task contributes to them.
    plans = [planned(fold.rest, settings, method, rng, fewest=0) for fold in parts]
    mine, other = zip(*(_both(p, fold.held_out, lowest) for p, fold in zip(plans, parts, strict=True)), strict=True)
    prices = in_order(parts, [np.full(len(fold.rows), p.price) for p, fold in zip(plans, parts, strict=True)])
    summary = Summary(log, plans, prices, checked_level(level), interval, fold_numbers(parts))
    return summary.replay(gathered(parts, mine), gathered(parts, other))


def _check_interval(log: Log, interval: str, kinds: Sequence[str]) -> None:
    checks.one_of(interval, kinds, "interval")
    if interval == "proved" and (log.score_range is None or not log.cost_limits.known):
        raise InputError("proved intervals need a score_range and a cost_limit of the log")


@dataclass(frozen=True)
class Summary:
    """The means of outcomes by task; each task was tried with one of some plans, that of its fold."""

    log: Log
    plans: Sequence[SequencePlan]
    prices: Floats  # [T] what a unit of cost is worth at each task
    level: float
    interval: str  # one of KINDS
    fold: Ints | None = None  # [T] of each task

    def replay(self, mine: Outcome, other: Outcome) -> Replay:
        """The outcomes of the sequences and of the single arms as a :class:`Replay`."""
        log, plans, prices, mean = self.log, self.plans, self.prices, self.mean
        a = Limits(log, mine, plans, [plan.arms for plan in plans])
        b = Limits(log, other, plans, [plan.single.arms for plan in plans])
        bounded, limited = log.score_range is not None, log.cost_limits.known
        names, same = {str(plan.single) for plan in plans}, all(plan.is_single for plan in plans)
        gain = Between.known(np.zeros(len(log.tasks)), (0.0, 0.0)) if same else a.net(prices).less(b.net(prices))
        seconds = None if mine.seconds is None else Between.known(mine.seconds, (0.0, float(mine.seconds.max())))
        return Replay(
            score=mean(a.score, bounded, assumed=True),
            cost=mean(a.cost, limited, costly=True),
            net=mean(a.net(prices), bounded and limited, costly=True),
            seconds=None if seconds is None else mean(seconds, False),
            attempts=float(mine.attempts.mean()),
            width=plans[0].width,
            rounds=mean(a.rounds, True),
            solved=float(mine.solved.mean()),
            single=SingleReplay(
                name=names.pop() if len(names) == 1 else "the best single arm, chosen fold by fold",
                score=mean(b.score, bounded, assumed=True),
                cost=mean(b.cost, limited, costly=True),
                gain=mean(gain, same or (bounded and limited), costly=True, compared=True),
                score_gain=mean(a.score.less(b.score), bounded, compared=True),
                cost_ratio=intervals.ratio(mine.cost, other.cost, self.level),
                cut=any(plan.single.cut for plan in plans),
                same=same,
            ),
            price=float(prices[0] if (prices == prices[0]).all() else prices.mean()),
            exhausted=int(((mine.open > 0) | (other.open > 0)).sum()),
            needs=(*(() if bounded else ("score_range",)), *(() if limited else ("cost_limit",))),
        )

    def mean(
        self, values: Between, known: bool, *, costly: bool = False, compared: bool = False, assumed: bool = False
    ) -> Estimate:
        """The mean over tasks, with its interval.

        ``known`` says whether the range of the values is known, ``assumed`` whether it may be assumed; ``costly``
        whether costs are among the values, ``compared`` whether these are differences of two choices.
        """
        known = known or values.exact
        proof = known if self.interval == "auto" else self.interval == "proved"
        use_betting = proof or (costly and self.log.heavy_costs and not self.log.cost_limits.known)
        span = values.span if known or assumed else None

        def mean(one: Floats) -> Estimate:
            options: dict[str, Any] = {"use_betting": use_betting, "known": known}
            if self.fold is None:
                return intervals.mean(one, span, self.level, **options)
            return intervals.crossed(one, self.fold, span, self.level, compared=compared, **options)

        estimate = mean(values.low)
        if np.array_equal(values.low, values.up):
            return estimate
        return replace(estimate, value=float(values.cut.mean()), upper=mean(values.up).upper)


@dataclass(frozen=True)
class Between:
    """Values by task between two limits, which differ only where the log ran out of attempts."""

    cut: Floats  # [T] of a sequence that ends where the log does
    low: Floats  # [T]
    up: Floats  # [T]
    span: Range | None  # the range of all possible values
    exact: bool = False  # whether the value is the same at every possible task, because no attempt is made

    @staticmethod
    def known(values: Floats, span: Range) -> Between:
        """Values that are known."""
        return Between(values, values, values, span)

    def less(self, other: Between, times: Floats | None = None) -> Between:
        """The difference, task by task; ``times`` [T] are nonnegative factors of the other."""
        times = np.ones(len(self.cut)) if times is None else times
        span = None
        if self.span is not None and other.span is not None:
            low, high = other.span
            span = self.span[0] - float((times * high).max()), self.span[1] - float((times * low).min())
        return Between(
            *(self.cut - times * other.cut, self.low - times * other.up, self.up - times * other.low, span),
            exact=self.exact and other.exact,
        )


class Limits:
    """Limits on the score and cost of a sequence by task.

    Where the log ran out, the score is at least that of the sequence cut short, or with a judge, whose pick may become
    worse, the lowest possible; and at most the highest possible. Every attempt that was not logged costs at least 0 and
    at most the cost limit.
    """

    def __init__(
        self, log: Log, out: Outcome, plans: Sequence[SequencePlan], sequences: Sequence[Sequence[str]]
    ) -> None:
        limit = dict(zip(log.arms, log.cost_limits.highest, strict=True))
        seen = [plan.built_from.highest_costs for plan in plans]
        dearest = {arm: max(limit[arm], *(costs.get(arm, 0.0) for costs in seen)) for arm in log.arms}
        span, default = log.taken_range, plans[0].default_score
        idle = not any(sequences)
        if idle:
            span = default, default
        elif span is not None and not all(sequences):  # some task may be given no attempt
            span = min(span[0], default), max(span[1], default)
        high = span[1] if span is not None else log.top
        up = out.score + np.maximum(out.open * high - out.open_best, 0.0)
        low = out.score
        if any(plan.judge is not None for plan in plans):
            lowest = span[0] if span is not None else float(log.score.min())
            low = out.score + np.minimum(out.open * lowest - out.open_best, 0.0)
        self.score = Between(out.score, low, up, span, idle)
        highest = max(math.fsum(dearest[arm] for arm in sequence) for sequence in sequences)
        lowest = 1.0 if log.cost_limits.in_units and all(sequences) else 0.0  # the first attempt is always made
        width = plans[0].width
        most, more = math.ceil(max(map(len, sequences)) / width), out.open * np.ceil(out.missing / width)
        self.rounds = Between(out.rounds, out.rounds, out.rounds + more, (0.0, float(most)), idle)
        missing = out.cost + out.open * out.missing * max(dearest.values())
        self.cost = Between(out.cost, out.cost, missing, (lowest, highest), idle)

    def net(self, prices: Floats) -> Between:
        """Score less price times cost."""
        return self.score.less(self.cost, prices)
