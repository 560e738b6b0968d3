"""Two ways to spend attempts, at equal score: what the one costs where the other scores as much.

Each way is a curve: its score and cost at several prices. Between neighbouring points both can be mixed (some tasks the
one way, some the other), so the curve is read along straight lines.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base.types import Floats

RESAMPLES = 999
# Resampling tasks understates how uncertain curves are that were chosen on parts of them: take a fifth of the risk.
SHARPER = 5


@dataclass(frozen=True)
class Saving:
    """What a sequence costs at the score of something else."""

    price: float  # of a unit of cost, for which the other one was chosen
    score: float  # at which they are compared
    cost: float  # of the other one
    ratio: float  # the cost of the sequence, for every unit of the other's
    lower: float  # an interval for the ratio, by resampling tasks (the basic bootstrap)
    upper: float  # its other end


def savings(
    mine: tuple[Floats, Floats], other: tuple[Floats, Floats], prices: Sequence[float], *, level: float, rng: Any = 0
) -> Iterator[Saving]:
    """The cost of the first at each score of the second; scores and costs [prices, T] of each, on the same tasks.

    ``prices`` are those of the second.

    Scores that the first does not reach have no saving.
    """
    tasks = mine[0].shape[1]
    weights = np.random.default_rng(rng).multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES) / tasks  # [R, T]
    means = [[values.mean(axis=1) for values in way] for way in (mine, other)]
    drawn = [[weights @ values.T for values in way] for way in (mine, other)]  # [R, prices]
    points = list(zip(means[1][0].tolist(), means[1][1].tolist(), strict=True))
    for place, (score, cost) in enumerate(points):
        if cost <= 0 or (score, cost) in points[:place]:
            continue
        ratio = _cost_at(means[0][0], means[0][1], score) / cost
        some = np.array([_cost_at(a, b, c) / d for a, b, c, d in _draws(drawn, place)])
        if math.isnan(ratio) or np.isfinite(some).mean() < level:  # it is not clear that the first gets there at all
            continue
        risk = (1 - level) / SHARPER / 2
        least, most = np.nanquantile(some, [risk, 1 - risk]).tolist()
        yield Saving(prices[place], score, cost, ratio, max(2 * ratio - most, 0.0), 2 * ratio - least)


def _draws(drawn: list[list[Floats]], place: int) -> Iterator[tuple[Floats, Floats, float, float]]:
    """The first curve, and the score and cost of a point of the second, in each resample."""
    (scores, costs), (score, cost) = drawn
    yield from zip(scores, costs, score[:, place].tolist(), np.maximum(cost[:, place], 1e-300).tolist(), strict=True)


def _cost_at(scores: Floats, costs: Floats, score: float) -> float:
    """What a curve costs where it reaches a score, along the lower envelope of its points; NaN where it does not."""
    order = np.argsort(costs, kind="stable")
    x, y = costs[order], scores[order]
    best = np.maximum.accumulate(y)
    above = np.flatnonzero(best >= score)
    if not above.size:
        return float("nan")
    j = int(above[0])
    if j == 0 or best[j] == best[j - 1]:
        return float(x[j])
    share = (score - best[j - 1]) / (best[j] - best[j - 1])
    return float(x[j - 1] + share * (x[j] - x[j - 1]))
