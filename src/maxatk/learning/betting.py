"""The bound that adaptive learning stops by: what a bettor's wealth says of a mean (docs/theory/learning.md, part 2).

A gambler who holds 1 and bets at fair odds on every draw ever has ``1/delta`` with probability ``delta`` at most, so
that his wealth bounds the mean that the odds follow from, whenever one looks. ``kernels.optimism`` has the same bound
inside its sweep.
"""

import math

import numpy as np

from maxatk.base.types import Floats


def betting_bound(share: Floats, value: Floats, stake: float, risk: float) -> float:
    """An upper bound on ``q f`` for all ``n`` at once, with probability ``1 - delta``: the lemma of that part.

    ``stake - e**-risk * prod (stake - f)**share``, with ``risk = ln(1/delta)/n``. ``share`` [b] is how often each value
    ``f`` [b] was drawn, and ``stake`` any number, chosen before the draws, that no value of ``f`` exceeds.
    """
    shortfall = np.maximum(stake - value, 0.0)
    if (shortfall[share > 0] == 0).any():
        return stake
    return float(stake - math.exp(-risk) * math.exp(float(share @ np.log(np.where(share > 0, shortfall, 1.0)))))
