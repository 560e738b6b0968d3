"""The frontier of score and cost: every arm and cap, pairs, portfolios and sequences, on held-out tasks.

One arm with a cap is a fixed strategy: its score and cost are unbiased on all tasks of the log. A strategy that is
*chosen* from the log (which pair, which order) is chosen without the tasks on which it is then replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import threshold
from maxatk.attempts.estimates.intervals import Estimate, checked_level
from maxatk.attempts.log import Log
from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.builder import FOLDS
from maxatk.attempts.sequences.folds import Fold, fold_numbers, folds_of, gathered
from maxatk.attempts.sequences.follow import Outcome, follow, prepare
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.paths import SequencePath
from maxatk.attempts.sequences.walk import Scoring
from maxatk.base import checks, display, findings
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.text import clipped, short, spelled
from maxatk.base.types import Floats, Ints, Range

PRICES = 10
ONE, SINGLE, PAIR, PORTFOLIO, SEQUENCE = "one arm", "best arm", "pair", "portfolio", "sequence"


class CostPerSolved(NamedTuple):
    """The cost per solved task, with an interval."""

    value: float  # infinite if no task is solved
    lower: float  # of the interval
    upper: float  # its other end


class Domination(NamedTuple):
    """Another strategy scores no less and costs no more."""

    by: str  # the name of the other
    surely: bool  # whether that exceeds the noise of these tasks


@dataclass(frozen=True, repr=False)
class Strategy:
    """A strategy for spending attempts, with its score and cost per task."""

    family: str  # "one arm", "pair", "portfolio" or "sequence"
    name: str  # one arm with a cap, or the family and the price for which it is chosen
    example: str  # the choice on all tasks; numbers at a task are those of the choice made without that task
    price: float | None  # of a unit of cost, for which it was chosen; None for one arm with a cap, which is not chosen
    score: Estimate  # the best score of a task
    cost: Estimate  # the cost of a task
    seconds: Estimate | None  # the duration of a task, attempts one after the other
    rounds: float  # the mean number of rounds of a task, in each of which attempts are made at once: the latency
    solved: float  # the share of tasks solved
    cost_per_solved: CostPerSolved  # the cost per solved task
    dominated: Domination | None  # by another strategy

    def __repr__(self) -> str:
        return clipped(f"Strategy({self.name}: score {short(self.score.value)}, cost {short(self.cost.value)})")


@dataclass(frozen=True, repr=False)
class Frontier(Displayed, Tabular):
    """Strategies, and whether sequences are better than one arm with a cap. Made by :func:`frontier`."""

    strategies: tuple[Strategy, ...]  # all of them, by cost
    gain: Estimate  # of sequences over the best capped arm, score less price times cost, averaged over the prices
    prices: tuple[float, ...]  # for which the best of each family was chosen
    fair: int  # the number of prices at which the log does not cut the best arm short; the gain is averaged over these
    passing: bool  # whether scores pass or fail, or the lowest that passes was given: then it is clear what is solved
    width: int = 1  # attempts that are made at once, in a round

    def __repr__(self) -> str:
        return f"Frontier({len(self.strategies)} strategies, {len(self.efficient)} of them not dominated)"

    def columns(self) -> dict[str, list[Any]]:
        """The strategies by column: their family and name, bounds on score and cost, the share solved, if dominated."""
        parts = ("value", "lower", "upper")
        return {
            "family": [one.family for one in self.strategies],
            "strategy": [one.name for one in self.strategies],
            **{f"score {part}": [getattr(one.score, part) for one in self.strategies] for part in parts},
            **{f"cost {part}": [getattr(one.cost, part) for one in self.strategies] for part in parts},
            "rounds": [one.rounds for one in self.strategies],
            "solved": [one.solved for one in self.strategies],
            "dominated": [one.dominated is not None for one in self.strategies],
        }

    @property
    def efficient(self) -> list[Strategy]:
        """The strategies that no other dominates."""
        return [strategy for strategy in self.strategies if strategy.dominated is None]

    @property
    def finding(self) -> findings.Difference | None:
        """Whether choosing a sequence is better than choosing one arm with a cap; None if the log cannot tell."""
        if not self.fair:
            return None
        gain = self.gain
        return findings.Difference(
            lower=gain.lower, upper=gain.upper, value=gain.value, first="choosing a sequence",
            second="choosing one arm with a cap", of="net", basis=gain.basis(),
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """Whether sequences are better than one arm with a cap, in words."""
        return display.words(self)

    def table(self, every: bool = False) -> display.Table:
        """The strategies that no other dominates, as a table for the terminal.

        Args:
            every: show the dominated ones, too.
        """
        return display.table(self, every)


def frontier(
    log: Log, *, stop_at: float | None = None, max_per_arm: int | None = None, pass_threshold: float | None = None,
    folds: int = FOLDS, level: float = 0.95, rng: Any = 0, judge: str | None = None, width: int = 1,
) -> Frontier:  # fmt: skip
    """Every arm with every cap, and the best pairs, portfolios and sequences at several prices.

    Args:
        log: attempts at tasks; every task must have every arm.
        stop_at: the score at which to stop; by default the highest of the log.
        max_per_arm: the maximal number of attempts of an arm.
        pass_threshold: the lowest score that solves a task; by default the highest of the log.
        folds: the number of folds; each strategy is chosen on all folds but one and replayed on that one.
        level: of the intervals, each by itself.
        rng: a seed or a ``Generator`` for the folds.
        judge: who stops and picks, as for :func:`maxatk.attempts.sequence`; ``stop_at`` is then its highest score.
        width: attempts that are made at once, in a round, as for :func:`maxatk.attempts.sequence`.

    >>> from maxatk import attempts as at
    >>> frontier = at.frontier(at.example_log().select(arms=["L-BFGS-B", "DE"]), max_per_arm=2)
    >>> [(strategy.name, strategy.example) for strategy in frontier.efficient][:3]
    [('L-BFGS-B', ''), ('L-BFGS-B × 2', ''), ('portfolio at price 1.86', 'L-BFGS-B, DE')]
    """
    log.require_costs()
    if len(log.tasks) < 2:
        raise InputError("a frontier needs at least two tasks: a choice made on one is replayed on another")
    log.require_truth()
    highest = log.top if judge is None else float(log.judged.of_judge(judge).max())
    top = highest if stop_at is None else float(checks.exact_number(stop_at, "stop_at"))
    limit = walk.caps(log, None if max_per_arm is None else checks.integer(max_per_arm, "max_per_arm", least=1))
    scoring = Scoring(
        top, log.usual_range[0], threshold(log, pass_threshold), judge, checks.integer(width, "width", least=1)
    )
    setting = _Setting(log, scoring, limit, checked_level(level), folds_of(log, folds, rng))
    prices = setting.prices()
    rows = [*setting.capped(), *setting.chosen(prices)]
    fair = [not row.cut for row in rows if row.family == SINGLE]  # prices at which the log does not cut one arm short
    pick = np.flatnonzero(fair) if any(fair) else np.arange(len(prices))
    gains = (_nets(rows, SEQUENCE) - _nets(rows, SINGLE))[pick].mean(axis=0)
    return Frontier(
        strategies=tuple(setting.strategies(rows)),
        gain=intervals.crossed(gains, setting.fold, None, setting.level, compared=True, use_betting=log.heavy_costs),
        prices=tuple(prices),
        fair=len(pick) if any(fair) else 0,
        passing=pass_threshold is not None or len(np.unique(log.score)) == 2,
        width=scoring.width,
    )


@dataclass(frozen=True)
class _Row:
    """A strategy that is being evaluated: its score and cost by task."""

    family: str
    name: str
    price: float | None
    out: Outcome
    cut: bool = False

    @property
    def title(self) -> str:
        """Its name; for one that was chosen, its family and price."""
        return self.name if self.price is None else f"{self.family} at price {short(self.price)}"


@dataclass(frozen=True)
class _Setting:
    """The settings that all strategies of a frontier share."""

    log: Log
    scoring: Scoring
    limit: Ints  # [A] attempts of each arm at most
    level: float
    folds: list[Fold]

    @cached_property
    def fold(self) -> Ints:
        """The number of the fold [T] in which each task is held out."""
        return fold_numbers(self.folds)

    def prices(self) -> list[float]:
        """Prices, from one at which hardly any attempt pays down to 0.003 of the range for an average one."""
        top = self.scoring.stop_at if self.scoring.judge is None else self.log.top
        mean_cost, span = float(self.log.cost.mean()), top - self.scoring.default_score
        if mean_cost == 0:
            raise InputError("all attempts of the log cost 0: there are no costs to weigh scores against")
        prepared = prepare(self.log, self.scoring)
        firsts = [paths.along(prepared, [arm]).gain_per_cost(0) for arm in range(len(self.log.arms))]
        highest = max((x for x in firsts if math.isfinite(x)), default=0.0)
        range_per_cost = (span if span > 0 else 1) / mean_cost
        return np.geomspace(max(0.9 * highest, range_per_cost), 0.003 * range_per_cost, PRICES).tolist()

    def capped(self) -> Iterator[_Row]:
        """Each arm with each cap."""
        for arm, cap in zip(self.log.arms, self.limit.tolist(), strict=True):
            for n in range(1, cap + 1):
                yield _Row(ONE, spelled([arm] * n), None, follow(self.log, [arm] * n, self.scoring))

    def chosen(self, prices: Sequence[float]) -> Iterator[_Row]:
        """The choice of each family at each price: named after the choice on all tasks, replayed fold by fold."""
        parts = [families(fold.rest, self.scoring, self.limit) for fold in self.folds]
        for family, candidates in families(self.log, self.scoring, self.limit).items():
            for price in prices:
                goal = Goal(price=price)
                arms = [self._named(*goal.best(part[family])) for part in parts]
                pairs = zip(self.folds, arms, strict=True)
                out = gathered(self.folds, [follow(fold.held_out, x, self.scoring) for fold, x in pairs])
                path, length = goal.best(candidates)
                cut = family == SINGLE and goal.cut(path, length, self.limit)
                yield _Row(family, spelled(self._named(path, length)), price, out, cut)

    def _named(self, path: SequencePath, length: int) -> list[str]:
        return [self.log.arms[arm] for arm in path.arms[:length]]

    def strategies(self, rows: Sequence[_Row]) -> list[Strategy]:
        """The rows as strategies, by cost, without empty ones and those that equal a simpler one."""
        kept: list[_Row] = []
        for row in rows:  # simple families come first
            if row.family != SINGLE and row.name != spelled([]) and all(row.name != other.name for other in kept):
                kept.append(row)
        kept.sort(key=lambda row: float(row.out.cost.mean()))
        scores, costs = np.stack([row.out.score for row in kept]), np.stack([row.out.cost for row in kept])
        return [self._strategy(row, self._dominated(place, kept, scores, costs)) for place, row in enumerate(kept)]

    def _dominated(self, place: int, rows: Sequence[_Row], scores: Floats, costs: Floats) -> Domination | None:
        score, cost = scores.mean(axis=1), costs.mean(axis=1)
        above = (score >= score[place]) & (cost <= cost[place]) & ((score > score[place]) | (cost < cost[place]))
        if not above.any():
            return None
        by = int(np.flatnonzero(above)[score[above].argmax()])
        more = intervals.mean(scores[by] - scores[place], None, self.level)
        less = intervals.mean(costs[place] - costs[by], None, self.level)
        known = more.level is not None and less.level is not None
        return Domination(rows[by].title, known and more.lower >= 0 and less.lower >= 0)

    def _strategy(self, row: _Row, dominated: Domination | None) -> Strategy:
        out, solved = row.out, float(row.out.solved.mean())
        low, high = self._per_solved(out) if solved else (0.0, math.inf)
        per_solved = float(out.cost.mean()) / solved if solved else math.inf
        return Strategy(
            family=row.family,
            name=row.title,
            example="" if row.price is None else row.name,
            price=row.price,
            score=self._score(row),
            cost=intervals.mean(out.cost, None, self.level, use_betting=self.log.heavy_costs),
            seconds=None if out.seconds is None else intervals.mean(out.seconds, None, self.level),
            rounds=float(out.rounds.mean()),
            solved=solved,
            cost_per_solved=CostPerSolved(per_solved, max(low, 0.0), high),
            dominated=dominated,
        )

    def _score(self, row: _Row) -> Estimate:
        span, known = self.log.taken_range, self.log.score_range is not None
        if row.price is None:
            return intervals.mean(row.out.score, span, self.level, known=known)
        return intervals.crossed(row.out.score, self.fold, span, self.level, known=known)

    def _per_solved(self, out: Outcome) -> Range:
        """An interval for the cost per solved task."""
        if not self.log.heavy_costs:
            return intervals.ratio(out.cost, out.solved, self.level)
        both = (1 + self.level) / 2  # two intervals that hold together
        cost = intervals.mean(out.cost, None, both, use_betting=True)
        solved = intervals.mean(out.solved, (0.0, 1.0), both, use_betting=True)
        return cost.lower / solved.upper, cost.upper / solved.lower if solved.lower > 0 else math.inf


def _nets(rows: Sequence[_Row], family: str) -> Floats:
    """Score less price times cost of the choices of a family [prices, T]."""
    return np.stack([r.out.score - (r.price or 0.0) * r.out.cost for r in rows if r.family == family])


def families(log: Log, scoring: Scoring, limit: Ints) -> dict[str, list[SequencePath]]:
    """The candidates of each family, built on the tasks of a log."""
    prepared = prepare(log, scoring)
    several = len(limit) > 1
    return {
        SINGLE: list(paths.singles(prepared, limit)),
        **({PAIR: list(paths.pairs(prepared, limit))} if several else {}),
        **({PORTFOLIO: [paths.greedy(prepared, np.minimum(limit, 1))]} if several else {}),
        SEQUENCE: [paths.greedy(prepared, limit)],
    }
