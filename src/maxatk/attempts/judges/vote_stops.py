"""Stopping a vote early: as soon as the leader cannot be overtaken, or as soon as it leads by some votes.

With at most ``k`` attempts and ``l`` left, a lead of more than ``l`` votes cannot be caught up: the answer is that of
all ``k``. With a lead of exactly ``l`` a tie is still possible, and then the pick is another one than that of all ``k``
on some orders, but its law is the same, because ties are broken at random (docs/theory/judges.md). So a vote stops at a
lead of ``l``, and its truth is that of all ``k``. The number of attempts, and the truth of a vote that stops at a lead,
are means over random orders: their error is independent from task to task, and so part of the interval over tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.intervals import Estimate, checked_level
from maxatk.attempts.judges.choosers import ByVote, apart, per_task
from maxatk.attempts.logs.data import LogData
from maxatk.attempts.logs.judged import BLANK
from maxatk.attempts.tuning import TUNING
from maxatk.base import checks
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.text import clipped, short
from maxatk.base.types import Floats, Ints, Range

LEADS = (2, 3, 4)  # leads that are tried, beside one that cannot be overtaken: few, since many would fit noise
FOLDS = 5


@dataclass(frozen=True, repr=False)
class VoteStop(Displayed):
    """A vote of at most ``k`` attempts that stops early. Made by :func:`stop_vote`."""

    k: int  # the number of attempts, at most
    lead: int | None  # of votes, at which it stops; None: as soon as the leader cannot be overtaken
    leads: tuple[int | None, ...]  # those that were tried; if there are several, each task has that of the other folds
    score: Estimate  # the truth of the leading answer
    attempts: Estimate  # the number of attempts made
    cost: Estimate | None  # the cost of a task; None if costs are not known
    whole: Estimate  # the truth if all k vote
    gain: Estimate  # the truth, less that of all k

    def __repr__(self) -> str:
        made = f"score {short(self.score.value)}, {short(self.attempts.value)} attempts"
        return clipped(f"VoteStop(k={self.k}, lead={self.lead}: {made})")

    @property
    def saved(self) -> float:
        """The share of the attempts that is saved."""
        return 1 - self.attempts.value / self.k


def stop_vote(
    log: LogData, k: int, lead: int | str | None = None, *, price: float | None = None, arm: str | None = None,
    default_score: float = 0.0, level: float = 0.95, rng: Any = 0,
) -> VoteStop:  # fmt: skip
    """What a vote of at most ``k`` attempts truly scores, and how many it makes, if it stops early.

    Args:
        log: a log with scores, which are the truth, and answers.
        k: the number of attempts, at most as many as each task has.
        lead: the lead in votes at which to stop; by default as soon as the leader cannot be overtaken, which loses
            nothing; "auto" to choose among these and leads of 2, 3 and 4 on the tasks of other folds, at a ``price``.
        price: with "auto", what one unit of cost is worth in score.
        arm: the arm, if there are several.
        default_score: what is scored if nobody votes.
        level: of the intervals.
        rng: a seed or a ``Generator`` for the orders and folds.

    >>> from maxatk import attempts as at
    >>> stopped = at.stop_vote(at.example_judged_log(), 16)
    >>> stopped.gain.value, 0.25 < stopped.saved < 0.45
    (0.0, True)
    """
    log.require_truth()
    log.judged.require_answers()
    k, number, level = checks.integer(k, "k", least=1), log.arm_number(arm), checked_level(level)
    by = ByVote(float(checks.exact_number(default_score, "default_score")))
    if price is not None and (price := float(checks.exact_number(price, "price"))) < 0:
        raise InputError(f"price must be at least 0, not {price:g}")
    if lead == "auto":
        if price is None:
            raise InputError("lead='auto' needs a price: what one unit of cost is worth in score")
        log.require_costs([log.arms[number]])
        leads: tuple[int | None, ...] = (None, *LEADS)
    else:
        leads = (None if lead is None else checks.integer(lead, "lead", least=1),)
    draw = checks.generator(rng)
    whole = per_task(log, number, [k], by)[:, 0]
    tried = np.flatnonzero(log.counts[:, number] > 0)
    outcomes = [_outcomes(log, number, tried, k, one, by, draw) for one in leads]  # [3, T] each
    for place, one in enumerate(leads):
        if one is None or one >= k:
            outcomes[place][0] = whole[tried]  # in law the vote of all
    chosen, fold = _chosen(outcomes, 0.0 if price is None else price, draw)
    score, attempts, cost = (np.stack(outcomes)[chosen, part, np.arange(len(tried))] for part in range(3))
    known, span = not np.isnan(cost).any(), by.span(log)
    wide: Range | None = None if span is None else (span[0] - span[1], span[1] - span[0])
    if all(one is None or one >= k for one in leads):
        wide = (0.0, 0.0)
    made = float(k if all(one is not None and one >= k for one in leads) else 0), float(k)
    favourite = int(np.bincount(chosen, minlength=len(leads)).argmax())

    def mean(values: Floats, limits: Range | None, compared: bool = False) -> Estimate:
        if len(leads) == 1:
            return intervals.mean(values, limits, level)
        return intervals.crossed(values, fold, limits, level, compared=compared)

    return VoteStop(
        k=k, lead=leads[favourite], leads=leads, score=mean(score, span), attempts=mean(attempts, made),
        cost=mean(cost, None) if known else None, whole=intervals.mean(whole[tried], span, level),
        gain=mean(apart(log, score, whole[tried]), wide, compared=True),
    )  # fmt: skip


def _chosen(outcomes: Sequence[Floats], price: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The place [T] of the lead that is best on the tasks of other folds, and the fold of each task [T]."""
    tasks: int = outcomes[0].shape[1]
    if len(outcomes) == 1 or tasks < 2:
        none: Any = np.zeros(tasks, np.int64)
        return none, none
    fold: Any = rng.permutation(tasks) % min(FOLDS, tasks)
    nets = np.stack([out[0] - price * out[2] for out in outcomes])  # [leads, T]
    best: Any = np.array([nets[:, fold != j].mean(axis=1).argmax() for j in range(int(fold.max()) + 1)])
    return best[fold], fold


def _outcomes(
    log: LogData, arm: int, tried: Ints, k: int, lead: int | None, by: ByVote, rng: np.random.Generator
) -> Floats:
    """The truth, the number of attempts and the cost by task [3, T], on average over random orders."""
    answers = log.judged.require_answers()
    means: list[Floats] = []
    for task in tried.tolist():
        start = int(log.starts[task, arm])
        rows = slice(start, start + int(log.counts[task, arm]))
        means.append(_of_task(log.score[rows], answers[rows], log.cost[rows], k, lead, by.default_score, rng))
    return np.stack(means, axis=1)


def _of_task(
    truth: Floats, answer: Ints, cost: Floats, k: int, lead: int | None, default: float, rng: np.random.Generator
) -> Floats:
    if lead is not None and lead >= k:  # no such lead before the last attempt
        return np.array([default, k, k * cost.mean()])  # the truth is that of all k, which is known exactly
    n, m = len(truth), TUNING.least_votes
    _, number = np.unique(answer, return_inverse=True)
    blank = answer == BLANK
    width = int(number.max()) + 1
    orders = rng.random((m, n)).argsort(axis=1)[:, :k]
    votes, truths = np.zeros((m, width)), np.zeros((m, width))
    made, spent, on, rows = np.zeros(m), np.zeros(m), np.ones(m, bool), np.arange(m)
    for step in range(k):
        drawn = orders[:, step]
        made += on
        spent += on * cost[drawn]
        counts = on & ~blank[drawn]
        votes[rows, number[drawn]] += counts
        truths[rows, number[drawn]] += counts * truth[drawn]
        ahead = np.partition(votes, -2, axis=1)[:, -2:] if width > 1 else np.c_[np.zeros(m), votes]
        on &= ahead[:, 1] - ahead[:, 0] < (k - 1 - step if lead is None else lead)
        if not on.any():
            break
    leads = (votes == votes.max(axis=1, keepdims=True)) & (votes > 0)
    leaders = leads.sum(axis=1)
    of_leaders = (leads * truths / np.maximum(votes, 1)).sum(axis=1) / np.maximum(leaders, 1)
    return np.array([np.where(leaders > 0, of_leaders, default).mean(), made.mean(), spent.mean()])
