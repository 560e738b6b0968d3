"""What can be had for what: every arm and cap, pairs, portfolios and sequences, on held-out tasks.

One arm with a cap is a fixed rule: its score and cost are unbiased on all tasks of the log. Whatever is *chosen* by
looking at the log (which pair, which order) is chosen without the tasks on which it is then replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import threshold
from maxatk.attempts.estimates.intervals import Estimate, Range, checked_level
from maxatk.attempts.sequences import paths, walk
from maxatk.attempts.sequences.paths import Path
from maxatk.attempts.sequences.sequence import FOLDS, Goal
from maxatk.attempts.sequences.walk import Outcome
from maxatk.attempts.study.tables import Side, amount, as_text, plain_table, share, short, shown, spelled
from maxatk.base import checks, findings
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

PRICES = 10
_TIMED: list[tuple[str, Side]] = [("seconds", "right")]
ONE, SINGLE, PAIR, PORTFOLIO, SEQUENCE = "one arm", "best arm", "pair", "portfolio", "sequence"


@dataclass(frozen=True)
class Offer:
    """A way to spend attempts, and what it earns and costs per task."""

    family: str  # "one arm", "pair", "portfolio" or "sequence"
    name: str  # in words: one arm with a cap, or what is chosen at a price
    example: str  # what is chosen on all tasks; numbers are of what was chosen without the task that they are about
    price: float | None  # of a unit of cost, for which it was chosen; None for one arm with a cap, which is not chosen
    score: Estimate  # the best score of a task
    cost: Estimate  # what a task costs
    seconds: Estimate | None  # how long a task takes, attempts one after the other
    solved: float  # the share of tasks solved
    cost_per_solved: float  # cost for every task that is solved; infinite if none is
    cost_per_solved_range: Range  # an interval for it
    dominated_by: str | None  # an offer that scores no less and costs no more
    surely: bool  # whether that is so beyond the noise of these tasks


@dataclass(frozen=True)
class Frontier:
    """Offers, and whether anything is better than one arm with a cap. Made by :func:`frontier`."""

    offers: tuple[Offer, ...]  # all of them, by cost
    gain: Estimate  # what sequences earn more than the best capped arm, score less cost, on average over the prices
    prices: tuple[float, ...]  # at which the best was chosen
    fair: int  # at how many of them the log has attempts enough of the best arm: the gain is about these

    @property
    def efficient(self) -> list[Offer]:
        """The offers that no other dominates."""
        return [offer for offer in self.offers if offer.dominated_by is None]

    @property
    def finding(self) -> findings.Difference | None:
        """Whether choosing a sequence is better than choosing one arm with a cap; None where the log cannot say."""
        if not self.fair:
            return None
        gain = self.gain
        return findings.Difference(
            lower=gain.lower, upper=gain.upper, value=gain.value, first="choosing a sequence",
            second="choosing one arm with a cap", of="net", tasks=gain.tasks, level=gain.level, method=gain.how,
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """Whether anything is better than one arm with a cap, in words."""
        from maxatk.show import words

        if self.finding is None:
            return "The log has too few attempts of each arm to say whether one arm alone would do as well."
        prices = "At one price" if self.fair == 1 else f"On average over {self.fair} prices"
        return f"{prices}, {words.difference(self.finding)}."

    def table(self, every: bool = False) -> Table:
        """The offers that no other dominates, as a table for the terminal.

        Args:
            every: show the others, too.
        """
        timed = any(offer.seconds is not None for offer in self.offers)
        table = plain_table(
            ("what", "left"), ("score", "right"), ("interval", "left"), ("cost", "right"), ("interval", "left"),
            *_TIMED[: int(timed)], ("solved", "right"), ("cost per solved", "right"), ("chosen on all tasks", "left"),
        )  # fmt: skip
        for offer in self.offers if every else self.efficient:
            table.add_row(
                offer.name, *shown(offer.score), *shown(offer.cost),
                *([short(offer.seconds.value) if offer.seconds else ""] if timed else []),
                share(offer.solved), amount(offer.cost_per_solved), _clipped(offer.example),
            )  # fmt: skip
        return table

    def __str__(self) -> str:
        hidden = len(self.offers) - len(self.efficient)
        note = f"Left out: {hidden} that cost no less and score no more than one of these." if hidden else ""
        return as_text(self.table(), "", note, self.verdict)


def _clipped(name: str, most: int = 60) -> str:
    return name if len(name) <= most else f"{name[: most - 4].rstrip(', ')}, ..."


def frontier(
    log: Log,
    *,
    stop_at: float | None = None,
    most: int | None = None,
    passed: float | None = None,
    folds: int = FOLDS,
    level: float = 0.95,
    rng: Any = 0,
) -> Frontier:
    """Every arm with every cap, and the best pairs, portfolios and sequences at several prices.

    Args:
        log: attempts at tasks; every task must have every arm.
        stop_at: the score at which to stop; the greatest of the log unless given.
        most: attempts of an arm at most.
        passed: the score from which on a task counts as solved; the greatest of the log unless given.
        folds: into how many parts the tasks are shared, to choose on the others.
        level: of the intervals, each by itself.
        rng: a seed or a ``Generator`` for the folds.

    >>> from maxatk import attempts as at
    >>> offers = at.frontier(at.recorded().select(arms=["L-BFGS-B", "DE"]), most=2)
    >>> [(offer.name, offer.example) for offer in offers.efficient][:3]
    [('L-BFGS-B', ''), ('L-BFGS-B × 2', ''), ('portfolio at price 1.86', 'L-BFGS-B, DE')]
    """
    walk.costed(log)
    if len(log.tasks) < 2:
        raise InputError("a frontier takes at least two tasks: what is chosen on one must be tried on another")
    top = log.top if stop_at is None else float(checks.exact_number(stop_at, "stop_at"))
    limit = walk.caps(log, None if most is None else checks.integer(most, "most", least=1))
    nothing = log.usual_range[0]
    bar, level = threshold(log, passed), checked_level(level)
    prices = _prices(log, top, nothing)
    pairs = log.folds(folds, rng)
    part = walk.parts(log, [held for _, held in pairs])
    setting = _Setting(log, top, nothing, bar, limit, level, part)
    rows = [*setting.capped(), *setting.chosen(prices, pairs)]
    offers = setting.offers(rows)
    fair = [not row.cut for row in rows if row.family == SINGLE]  # prices at which the log does not cut one arm short
    pick = np.flatnonzero(fair) if any(fair) else np.arange(len(prices))
    apart = (setting.nets(rows, SEQUENCE) - setting.nets(rows, SINGLE))[pick].mean(axis=0)
    return Frontier(
        offers=tuple(offers),
        gain=intervals.crossed(apart, part, None, level, compared=True, proved=log.heavy_costs),
        prices=tuple(prices),
        fair=len(pick) if any(fair) else 0,
    )


def _prices(log: Log, top: float, nothing: float) -> list[float]:
    """Prices from that at which hardly any attempt pays to that at which an average one must bring 3 in a thousand."""
    usual = float(log.cost.mean())
    if usual == 0:
        raise InputError("all attempts of the log cost nothing: there is nothing to weigh scores against")
    firsts = [paths.along(walk.Board(log, top, nothing), [arm]).worth(0) for arm in range(len(log.arms))]
    most = max((x for x in firsts if math.isfinite(x)), default=0.0)
    range_per_cost = (top - nothing) / usual if top > nothing else 1 / usual
    return np.geomspace(max(0.9 * most, range_per_cost), 0.003 * range_per_cost, PRICES).tolist()


@dataclass(frozen=True)
class _Row:
    """An offer that is being made: what it earns and costs by task."""

    family: str
    name: str
    price: float | None
    out: Outcome
    cut: bool = False

    @property
    def title(self) -> str:
        """Its name; where it was chosen, what of and at which price."""
        return self.name if self.price is None else f"{self.family} at price {short(self.price)}"


@dataclass(frozen=True)
class _Setting:
    """What all offers of a frontier share."""

    log: Log
    top: float
    nothing: float
    bar: float
    limit: Ints
    level: float
    part: Ints  # [T] that each task is held out with

    def capped(self) -> Iterator[_Row]:
        """Each arm with each cap."""
        for arm, cap in zip(self.log.arms, self.limit.tolist(), strict=True):
            for n in range(1, cap + 1):
                yield _Row(ONE, spelled([arm] * n), None, self._follow(self.log, [arm] * n, self.top))

    def chosen(self, prices: Sequence[float], pairs: Sequence[tuple[Log, Log]]) -> Iterator[_Row]:
        """What each family offers at each price: named as chosen on all tasks, replayed as chosen on the others."""
        place = {task: number for number, task in enumerate(self.log.tasks)}
        parts = [(_families(rest, self.top, self.nothing, self.limit), held) for rest, held in pairs]
        whole = _families(self.log, self.top, self.nothing, self.limit)
        for family, candidates in whole.items():
            for price in prices:
                goal = Goal(price=price)
                gathered = walk.Gathered(len(place))
                for families, held in parts:
                    rows = [place[task] for task in held.tasks]
                    gathered.put(rows, self._follow(held, *_named(self.log, *goal.best(families[family]))))
                path, length = goal.best(candidates)
                cut = family == SINGLE and goal.cut(path, length, self.limit)
                yield _Row(family, spelled(_named(self.log, path, length)[0]), price, gathered.outcome(), cut)

    def _follow(self, log: Log, arms: Sequence[str], stop_at: float) -> Outcome:
        return walk.follow(log, arms, stop_at, self.nothing, self.bar)

    def offers(self, rows: Sequence[_Row]) -> list[Offer]:
        """The rows as offers, by cost, without those that come to the same as a simpler one, or to nothing."""
        kept: list[_Row] = []
        for row in rows:  # simple families come first
            if row.family != SINGLE and row.name != spelled([]) and all(row.name != other.name for other in kept):
                kept.append(row)
        kept.sort(key=lambda row: float(row.out.cost.mean()))
        scores, costs = np.stack([row.out.score for row in kept]), np.stack([row.out.cost for row in kept])
        return [self._offer(row, *self._dominance(place, kept, scores, costs)) for place, row in enumerate(kept)]

    def _dominance(self, place: int, rows: Sequence[_Row], scores: Floats, costs: Floats) -> tuple[str | None, bool]:
        score, cost = scores.mean(axis=1), costs.mean(axis=1)
        above = (score >= score[place]) & (cost <= cost[place]) & ((score > score[place]) | (cost < cost[place]))
        if not above.any():
            return None, False
        by = int(np.flatnonzero(above)[score[above].argmax()])
        more = intervals.mean(scores[by] - scores[place], None, self.level)
        less = intervals.mean(costs[place] - costs[by], None, self.level)
        known = more.level is not None and less.level is not None
        return rows[by].title, known and more.lower >= 0 and less.lower >= 0

    def _offer(self, row: _Row, dominated_by: str | None, surely: bool) -> Offer:
        out, solved = row.out, float(row.out.solved.mean())
        low, high = self._per_solved(out) if solved else (0.0, math.inf)
        return Offer(
            family=row.family,
            name=row.title,
            example="" if row.price is None else row.name,
            price=row.price,
            score=self._score(row),
            cost=intervals.mean(out.cost, None, self.level, proved=self.log.heavy_costs),
            seconds=None if out.seconds is None else intervals.mean(out.seconds, None, self.level),
            solved=solved,
            cost_per_solved=float(out.cost.mean()) / solved if solved else math.inf,
            cost_per_solved_range=(max(low, 0.0), high),
            dominated_by=dominated_by,
            surely=surely,
        )

    def _score(self, row: _Row) -> Estimate:
        span, known = self.log.taken_range, self.log.score_range is not None
        if row.price is None:
            return intervals.mean(row.out.score, span, self.level, known=known)
        return intervals.crossed(row.out.score, self.part, span, self.level, known=known)

    def _per_solved(self, out: Outcome) -> Range:
        """An interval for the cost of a solved task."""
        if not self.log.heavy_costs:
            return intervals.ratio(out.cost, out.solved, self.level)
        both = (1 + self.level) / 2  # two intervals that hold together
        cost = intervals.mean(out.cost, None, both, proved=True)
        solved = intervals.mean(out.solved, (0.0, 1.0), both, proved=True)
        return cost.lower / solved.upper, cost.upper / solved.lower if solved.lower > 0 else math.inf

    def nets(self, rows: Sequence[_Row], family: str) -> Floats:
        """Score less cost at its price, of the choices of a family [prices, T]."""
        return np.stack([r.out.score - (r.price or 0.0) * r.out.cost for r in rows if r.family == family])


def _families(log: Log, top: float, nothing: float, limit: Ints) -> dict[str, list[Path]]:
    """The candidates of each family, on the tasks of a log."""
    board = walk.Board(log, top, nothing)
    several = len(limit) > 1
    return {
        SINGLE: list(paths.singles(board, limit)),
        **({PAIR: list(paths.pairs(board, limit))} if several else {}),
        **({PORTFOLIO: [paths.greedy(board, np.minimum(limit, 1))]} if several else {}),
        SEQUENCE: [paths.greedy(board, limit)],
    }


def _named(log: Log, path: Path, length: int) -> tuple[list[str], float]:
    return [log.arms[arm] for arm in path.arms[:length]], path.stop_at
