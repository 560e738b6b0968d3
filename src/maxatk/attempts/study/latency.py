"""What latency costs: attempts made several at a time take fewer rounds, and see less of what the others score.

For every width sequences are chosen anew on the tasks of all folds but one and replayed on those of that one; folds are
the same for all widths. So differences from one at a time are paired by task, on tasks that nothing was chosen on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.attempts.estimates.intervals import Estimate, checked_level
from maxatk.attempts.log import Log
from maxatk.attempts.sequences.builder import FOLDS, Settings
from maxatk.attempts.sequences.folds import Fold, fold_numbers, folds_of, gathered, in_order
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.sequences.replay import Between, Limits, Summary
from maxatk.attempts.sequences.sequence import planned
from maxatk.base import checks, display, findings
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, short
from maxatk.base.types import Floats


@dataclass(frozen=True)
class AtWidth:
    """Sequences whose attempts are made some at a time, on held-out tasks."""

    width: int  # attempts that are made at once, in a round
    score: Estimate  # the best score of a task
    cost: Estimate  # the cost of a task
    rounds: Estimate  # the rounds of a task: the latency
    more_score: Estimate  # the score, less that of one at a time
    more_cost: Estimate  # the cost, less that of one at a time
    gain: Estimate  # score less price times cost, less that of one at a time
    needs: tuple[str, ...]  # arguments that the log lacks for proved intervals, by name

    @property
    def finding(self) -> findings.Difference:
        """Whether it is better or worse than one at a time in score less price times cost."""
        gain = self.gain
        return findings.Difference(
            lower=gain.lower, upper=gain.upper, value=gain.value, first=f"making {self.width} at a time",
            second="making one at a time", of="net", basis=gain.basis(self.needs),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Latency(Displayed, Tabular):
    """What it costs to make attempts several at a time. Made by :func:`latency`."""

    rows: tuple[AtWidth, ...]  # by width; the first is one at a time
    price: float  # of a unit of cost, in score; for a budget or target score, the mean of the prices of the folds

    def __repr__(self) -> str:
        widths = ", ".join(f"{row.width}: score {short(row.score.value)}" for row in self.rows)
        return clipped(f"Latency({widths})")

    def columns(self) -> dict[str, list[Any]]:
        """By width: score, cost and rounds, and the differences from one at a time, each with its bounds."""
        names = ("score", "cost", "rounds", "more_score", "more_cost", "gain")
        return {
            "width": [row.width for row in self.rows],
            **{
                f"{name} {part}": [getattr(getattr(row, name), part) for row in self.rows]
                for name in names
                for part in ("value", "lower", "upper")
            },
        }

    @property
    def findings(self) -> tuple[findings.Difference, ...]:
        """For each width above 1, whether it is better or worse than one at a time."""
        return tuple(row.finding for row in self.rows[1:])

    @property
    def verdict(self) -> str:
        """The findings in words, with the rounds."""
        return display.words(self)

    def table(self) -> display.Table:
        """The widths as a table for the terminal."""
        return display.table(self)


def latency(
    log: Log, widths: int | Sequence[int] = (2, 4, 8), *, price: float | None = None, budget: float | None = None,
    target_score: float | None = None, method: str = "auto", stop_at: float | None = None,
    max_per_arm: int | None = None, default_score: float | None = None, folds: int = FOLDS, level: float = 0.95,
    rng: Any = 0, judge: str | None = None,
) -> Latency:  # fmt: skip
    """What it costs in score and in cost to make attempts several at a time, and how many rounds that takes.

    Each row is :func:`maxatk.attempts.cross_replay` at a width, on the same folds; differences are paired by task.

    Args:
        log: attempts at tasks; every task must have every arm.
        widths: how many attempts are made at once, in a round: one or several such numbers. One at a time, with which
            the others are compared, is always among them.
        price: as for :func:`maxatk.attempts.sequence`, like the next six arguments.
        budget: instead of a price, the mean cost per task that is allowed.
        target_score: instead of both, the mean score to reach.
        method: the method by which sequences are built.
        stop_at: the score at which to stop.
        max_per_arm: the maximal number of attempts of an arm.
        default_score: the score of a task without an attempt.
        folds: the number of folds.
        level: of the intervals, each by itself.
        rng: a seed or a ``Generator`` for the folds.
        judge: as for :func:`maxatk.attempts.sequence`.

    >>> from maxatk import attempts as at
    >>> log = at.example_log().select(arms=["L-BFGS-B", "annealing"])
    >>> told = at.latency(log, 4, price=0.5, method="greedy")
    >>> [(row.width, round(row.rounds.value, 1)) for row in told.rows]
    [(1, 6.6), (4, 1.7)]
    """
    goal = Goal.of(price=price, budget=budget, target_score=target_score)
    numbers = sorted({1, *checked_widths(widths)})
    level, seed = checked_level(level), _seed(rng)
    parts = folds_of(log, folds, seed)
    results = [
        _AtWidth(log, parts, Settings(goal, stop_at, max_per_arm, default_score, judge, width), method, seed)
        for width in numbers
    ]
    prices = results[0].prices
    rows = tuple(one.row(results[0], prices, level) for one in results)
    return Latency(rows, float(prices[0] if (prices == prices[0]).all() else prices.mean()))


def checked_widths(given: Any) -> list[int]:
    """One width, or several."""
    widths = list(given) if checks.is_list(given) else [given]
    if not widths:
        raise InputError("widths must be a number of attempts made at once, or several: it is empty")
    return [checks.integer(one, f"widths[{place}]", least=1) for place, one in enumerate(widths)]


def _seed(rng: Any) -> int:
    """One seed for all widths, so that all of them have the same folds."""
    return rng if type(rng) is int and rng >= 0 else int(checks.generator(rng).integers(2**63))


class _AtWidth:
    """The sequences of one width, each replayed on the fold that it was not chosen on."""

    def __init__(self, log: Log, folds: Sequence[Fold], settings: Settings, method: str, seed: int) -> None:
        self.log, self.folds, self.width = log, folds, settings.width
        self.plans: list[SequencePlan] = [planned(fold.rest, settings, method, seed, fewest=0) for fold in folds]
        pairs = zip(self.plans, folds, strict=True)
        outcome = gathered(folds, [follow(fold.held_out, plan.arms, plan.scoring) for plan, fold in pairs])
        self.limits = Limits(log, outcome, self.plans, [plan.arms for plan in self.plans])

    @property
    def prices(self) -> Floats:
        """What a unit of cost is worth at each task [T]."""
        each = [np.full(len(fold.rows), plan.price) for plan, fold in zip(self.plans, self.folds, strict=True)]
        return in_order(self.folds, each)

    def row(self, alone: _AtWidth, prices: Floats, level: float) -> AtWidth:
        """The means over tasks, and the paired differences from one at a time."""
        log, mine, other = self.log, self.limits, alone.limits
        summary = Summary(log, self.plans, prices, level, "usual", fold_numbers(self.folds))
        bounded, limited = log.score_range is not None, log.cost_limits.known
        apart = mine.score.less(other.score), mine.cost.less(other.cost), mine.net(prices).less(other.net(prices))
        if self is alone:
            bounded, limited, apart = True, True, (Between.known(np.zeros(len(log.tasks)), (0.0, 0.0)),) * 3
        scores, costs, nets = apart
        return AtWidth(
            width=self.width,
            score=summary.mean(mine.score, bounded, assumed=True),
            cost=summary.mean(mine.cost, limited, costly=True),
            rounds=summary.mean(mine.rounds, True),
            more_score=summary.mean(scores, bounded, compared=True),
            more_cost=summary.mean(costs, limited, costly=True, compared=True),
            gain=summary.mean(nets, bounded and limited, costly=True, compared=True),
            needs=(*(() if bounded else ("score_range",)), *(() if limited else ("cost_limit",))),
        )
