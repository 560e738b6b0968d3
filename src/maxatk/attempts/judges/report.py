"""What a judge is good for: its share of a perfect judge's gain, how it orders attempts, where its curve turns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.estimators import numbers_of_attempts
from maxatk.attempts.estimates.intervals import FEWEST_FOR_T, Estimate, checked_level
from maxatk.attempts.estimates.pairing import Difference
from maxatk.attempts.judges.choosers import AnyAttempt, ByJudge, Chooser, Oracle, apart, negligible, per_task
from maxatk.attempts.judges.curves import by_judge, by_vote, curve, paired
from maxatk.attempts.judges.power import SIZES, Power, of_values
from maxatk.attempts.judges.ranking import Ranking, ranking
from maxatk.attempts.logs.data import LogData
from maxatk.base import checks, display
from maxatk.base.display import Displayed
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, short
from maxatk.base.types import Floats, Ints, Range

BINS = 5  # levels of a judge that has more than MOST_LEVELS different scores
MOST_LEVELS = 8
POWER = 0.8


@dataclass(frozen=True)
class CaughtShare:
    """The share of a perfect judge's gain over one attempt that a judge catches among ``k``; below 0 if it loses."""

    k: int  # the number of attempts
    value: float  # on the tasks of the log
    lower: float  # of Fieller's interval for the ratio of the two means, with two tasks added: all lost, and all won
    upper: float  # its other end; both are infinite where a perfect judge's gain is not shown to be positive
    level: float | None  # nominal; None for fewer tasks than the interval is meant for


@dataclass(frozen=True)
class Turn:
    """Where the curve of a judge's pick turns. All pairs of ``k`` were compared, with intervals that hold together."""

    peak: int  # the k with the highest estimate
    smallest: int  # the smallest k that is not shown to be worse than that
    fall: Difference | None  # the largest fall from one k to a larger one that is shown; None if none is
    level: float  # of all intervals together


@dataclass(frozen=True)
class JudgedLevel:
    """The truth of attempts to which a judge gives scores in some range."""

    low: float  # the lowest of these scores
    high: float  # the highest
    attempts: int  # their number
    truth: float  # their mean truth
    lower: float  # of an interval over tasks, nominal; infinite if there are too few
    upper: float  # its other end


@dataclass(frozen=True)
class Hurt:
    """Tasks at which a judge's pick among all attempts is truly worse than a random attempt."""

    tasks: int  # how many
    among: int  # of how many


@dataclass(frozen=True, repr=False)
class JudgeReport(Displayed, Tabular):
    """What a judge is good for. Made by :meth:`maxatk.attempts.Log.judge_report`."""

    judge: str  # the judge
    arm: str  # the arm whose attempts it judges
    curves: tuple[
        Curve, ...
    ]  # of a perfect judge, of this one, of the vote if there are answers, and of the weighted one
    share: CaughtShare | None  # of a perfect judge's gain, at the greatest k; None if that gain is 0 or k is 1
    ranking: Ranking  # how it orders attempts, within tasks and pooled
    turn: Turn  # where its curve turns
    calibration: tuple[JudgedLevel, ...]  # the truth by level of the judge
    hurt: Hurt  # tasks at which picking hurts
    against: tuple[Difference, ...]  # its pick less one attempt, less the vote, and less those of other judges
    power: tuple[Power, ...]  # for each of these, how many tasks it takes to tell them apart

    def __repr__(self) -> str:
        mine, best = self.selected.points[-1], self.oracle.points[-1]
        scores = f"{short(mine.value)} where a perfect judge has {short(best.value)}"
        return clipped(f"JudgeReport({self.judge}, {self.arm}, k={mine.k}: {scores})")

    def columns(self) -> dict[str, list[Any]]:
        """The curves by column: estimate, such as selected@k, arm, k, value, lower and upper."""
        return Curve.joined(self.curves)

    @property
    def oracle(self) -> Curve:
        """max@k: what a perfect judge would hand in."""
        return self.curves[0]

    @property
    def selected(self) -> Curve:
        """selected@k: what this judge hands in, truly."""
        return self.curves[1]

    @property
    def gap(self) -> float:
        """What a perfect judge would add to this one's pick, at the greatest k."""
        return self.oracle.points[-1].value - self.selected.points[-1].value

    @property
    def verdict(self) -> str:
        """What it is good for, in words."""
        return display.words(self)

    def table(self) -> display.Table:
        """The curves side by side, as a table for the terminal."""
        return display.table(self)


def judge_report(
    log: LogData, judge: str | None, k: int | Sequence[int] | None, arm: str | None, level: float,
    default_score: float = 0.0, weighted: bool = False, rng: Any = 0,
) -> JudgeReport:  # fmt: skip
    """See :meth:`maxatk.attempts.Log.judge_report`."""
    log.require_truth()
    level, number = checked_level(level), log.arm_number(arm)
    by = by_judge(log, judge, log.arms[number])
    checks.boolean(weighted, "weighted")
    counts = log.counts[:, number]
    fewest = int(counts[counts > 0].min())
    ks = sorted({1, *(numbers_of_attempts(k) if k is not None else _powers(fewest))})
    ways: list[Chooser] = [Oracle(), by]
    if log.judged.answer is not None and (log.judged.answer >= 0).any():
        ways.append(by_vote(log, None, default_score, rng))
    if weighted:
        ways.append(by_vote(log, by.judge, default_score, rng))
    curves = tuple(curve(log, way, ks, log.arms[number], level, "usual") for way in ways)
    tried = counts > 0
    best, mine = (per_task(log, number, ks, way)[tried] for way in ways[:2])
    others: list[Chooser] = [AnyAttempt(), *ways[2:], *(ByJudge(name) for name in log.judges if name != by.judge)]
    against: list[Difference] = []
    power: list[Power] = []
    low, high = log.usual_range
    for other in others:
        theirs = per_task(log, number, ks[-1:], other)[tried, 0]
        names = by.name, other.name
        against.append(paired(log, (mine[:, -1], theirs), (by, other), names, ks[-1], level))
        if len(theirs) > 1:
            sizes = [size * (high - low) for size in SIZES]
            power.append(of_values(apart(log, mine[:, -1], theirs), names, ks[-1], sizes, (level, POWER)))
    rows = np.flatnonzero(log.arm == number)
    judged = log.task[rows], log.score[rows], log.judged.of_judge(by.judge, rows)
    return JudgeReport(
        judge=by.judge,
        arm=log.arms[number],
        curves=curves,
        share=_share(apart(log, best[:, -1], best[:, 0]), apart(log, mine[:, -1], mine[:, 0]), ks[-1], level),
        ranking=ranking(*judged, level),
        turn=_turn(log, by, mine, ks, level),
        calibration=tuple(_calibration(log, *judged, level)),
        hurt=_hurt(log, number, by),
        against=tuple(against),
        power=tuple(power),
    )


def _powers(most: int) -> list[int]:
    """1, 2, 4, ... and the largest number itself."""
    return [*(2**i for i in range(most.bit_length())), most]


def _share(possible: Floats, gain: Floats, k: int, level: float) -> CaughtShare | None:
    """The share, from what a perfect judge and this one gain over one attempt by task [T]."""
    if not possible.any():
        return None
    # Rare losses that the log missed leave no trace in its spread: so two tasks are added, at which all is lost or won.
    most = float(possible.max())
    lower, upper = intervals.ratio(np.append(gain, [-most, most]), np.append(possible, [most, most]), level)
    if math.isinf(upper):
        lower = -math.inf
    known = len(gain) >= FEWEST_FOR_T
    return CaughtShare(k, float(gain.mean() / possible.mean()), lower, min(upper, 1.0), level if known else None)


def _turn(log: LogData, by: Chooser, mine: Floats, ks: Sequence[int], level: float) -> Turn:
    """All pairs of k by Bonferroni's inequality: the peak is chosen on the same tasks."""
    pairs = list(itertools.combinations(range(len(ks)), 2))
    each = 1 - (1 - level) / max(len(pairs), 1)
    peak = int(mine.mean(axis=0).argmax())

    def loss(i: int, j: int) -> Difference:
        """What is lost by k_j beside k_i."""
        names = f"{ks[i]} attempts", f"{ks[j]} attempts"
        return paired(log, (mine[:, i], mine[:, j]), (by, by), names, ks[i], each)

    def shown(lost: Estimate) -> bool:
        return lost.level is not None and lost.lower > 0

    smallest = next(i for i in range(len(ks)) if i == peak or not shown(loss(peak, i)))
    falls = [fall for fall in (loss(i, j) for i, j in pairs) if shown(fall)]
    return Turn(ks[peak], ks[smallest], max(falls, key=lambda fall: fall.value, default=None), level)


def _calibration(log: LogData, task: Ints, truth: Floats, judge: Floats, level: float) -> Iterator[JudgedLevel]:
    """The truth of attempts [N] by level of the judge."""
    edges = np.unique(judge)
    if len(edges) > MOST_LEVELS:
        edges = np.unique(np.quantile(judge, np.arange(BINS) / BINS, method="higher"))
    place = np.searchsorted(edges, judge, side="right") - 1
    span = log.taken_range or (-math.inf, math.inf)
    edge = log.taken_range or (float(truth.min()), float(truth.max()))
    for number in range(len(edges)):
        here = np.flatnonzero(place == number)
        scores = judge[here]
        totals: Any = np.bincount(task[here], truth[here], minlength=len(log.tasks))
        counts = np.bincount(task[here], minlength=len(log.tasks)).astype(float)
        ends = _mean_of_ratio(totals, counts, level, span, edge)
        yield JudgedLevel(float(scores.min()), float(scores.max()), len(here), float(truth[here].mean()), *ends)


def _mean_of_ratio(totals: Floats, counts: Floats, level: float, span: Range, edges: Range) -> Range:
    """Fieller's interval for the mean truth, tasks as units; the whole range where tasks with this level are few."""
    if (counts > 0).sum() < 2:
        return span
    # Rare truths that the log missed leave no trace: so two tasks are added, all of whose attempts are worst, or best.
    size, ends = float(counts[counts > 0].mean()), np.array(edges)
    totals, counts = np.append(totals, size * ends), np.append(counts, [size, size])
    centre = float(totals.sum()) / float(counts.sum())
    low, high = intervals.ratio(totals - centre * counts, counts, level)  # shifted, so that any sign of truths will do
    return (max(low + centre, span[0]), min(high + centre, span[1])) if math.isfinite(high) else span


def _hurt(log: LogData, arm: int, by: ByJudge) -> Hurt:
    worse, among = 0, 0
    for tasks, rows in log.rows_by_count(arm):
        picked = by.scores(log, rows, [rows.shape[1]])[:, 0]
        worse += int((picked < log.score[rows].mean(axis=1) - negligible(log)).sum())
        among += len(tasks)
    return Hurt(worse, among)
