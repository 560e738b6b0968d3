"""Two ways to spend attempts, at equal score: what the one costs where the other scores as much.

Each way is a curve: its score and cost at several prices. Between neighbouring points both can be mixed (some tasks the one
way, some the other), so the curve is read along straight lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.rows import Floats

RESAMPLES = 999


@dataclass(frozen=True)
class Saving:
    """What a sequence costs at the score of something else."""

    score: float  # at which they are compared
    cost: float  # of the other one
    ratio: float  # the cost of the sequence, for every unit of the other's
    lower: float  # an interval for the ratio, by resampling tasks
    upper: float  # its other end


def savings(
    mine: tuple[Floats, Floats], other: tuple[Floats, Floats], *, level: float, rng: Any = 0
) -> Iterator[Saving]:
    """The cost of the first at each score of the second; scores and costs [prices, T] of each, on the same tasks.

    Scores that the first does not reach have no saving.
    """
    tasks = mine[0].shape[1]
    weights = np.random.default_rng(rng).multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES) / tasks  # [R, T]
    means = [[values.mean(axis=1) for values in way] for way in (mine, other)]
    drawn = [[weights @ values.T for values in way] for way in (mine, other)]  # [R, prices]
    for place, (score, cost) in enumerate(zip(*means[1], strict=True)):
        ratio = _cost_at(*means[0], score) / cost if cost > 0 else np.nan
        some = np.array(
            [_cost_at(drawn[0][0][r], drawn[0][1][r], drawn[1][0][r, place]) / drawn[1][1][r, place] for r in range(RESAMPLES)]
        ) if np.isfinite(ratio) else np.full(1, np.nan)  # fmt: skip
        if np.isfinite(some).mean() < level:  # it is not clear that the first gets there at all
            continue
        low, high = np.nanquantile(some, [(1 - level) / 2, (1 + level) / 2])
        yield Saving(float(score), float(cost), float(ratio), float(low), float(high))


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
