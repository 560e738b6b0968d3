"""What to believe of the rows while exploring: two ways, each from the same counts. docs/theory/online.md, 2 to 4."""

import math
from fractions import Fraction

import numpy as np

from maxatk.base.types import Floats
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.online.points import Points
from maxatk.learning.online.swept import Belief, shares
from maxatk.learning.optimism import STAKES
from maxatk.learning.risk import Risk

HALF = Fraction(1, 2)


def counted(ledger: EpisodeLedger, points: Points, log: Floats) -> Belief:
    """The shares of all that was seen; ``log`` [N + 1] or a number is ln(1/delta') of each row and of starts."""
    row, next_state, reward, n = ledger.data.columns()
    counts, start_state, start_prob = shares(ledger.setting, ledger.data.counts, ledger.starts)
    with np.errstate(divide="ignore"):
        risk = np.where(np.isinf(counts), 0.0, log / counts)
    jump = np.rint(reward / points.kappa).astype(np.int64)
    return Belief(row, next_state, jump, n / ledger.data.counts[row], start_state, start_prob, risk)


def optimistic(ledger: EpisodeLedger, points: Points, above: Risk) -> Belief:
    """With the radius of a proof, for all rows, cells and numbers of visits at once: by bets, or by a KL ball.

    The ball needs to know how many outcomes a row may have. Where it is told, both have half of the risk.
    """
    setting = ledger.setting
    half = above if setting.max_outcomes is None else above.share("bets", HALF)
    bets = half.share(points.name, points.share).log(points.functions(ledger.k) * len(STAKES))
    log = np.full(setting.n_rows + 1, bets)
    if setting.max_outcomes is not None and not points.rounds:
        log = np.minimum(log, balls(ledger, above))
    return counted(ledger, points, log)


def balls(ledger: EpisodeLedger, risk: Risk) -> Floats:
    """``n`` times the radius of a KL ball around the shares of each row, and of starts: [N + 1].

    All balls hold the truth for all numbers of visits at once, whatever is asked of it (Jonsson et al. 2020).
    """
    setting = ledger.setting
    assert setting.max_outcomes is not None
    each = float(risk.share("balls", HALF).amount) / (setting.n_rows + 1)
    counts: list[int] = np.append(ledger.data.counts, ledger.starts.sum()).tolist()
    sizes = [setting.max_outcomes] * setting.n_rows + [setting.n_states]
    return np.array([_ball(size, max(n, 1), each) for n, size in zip(counts, sizes, strict=True)])


def _ball(size: int, n: int, delta: float) -> float:
    """``n`` times what ``KL(q', q)`` is at most for all ``n`` at once, with probability ``1 - delta``.

    ``q'`` are the shares of ``n`` draws from a distribution ``q`` over ``size`` outcomes.
    """
    free = size - 1
    return math.log(1 / delta) + (free * math.log(math.e * (1 + n / free)) if free else 0.0)


def posterior(ledger: EpisodeLedger, points: Points) -> Belief:
    """A draw from the posterior: by row a Dirichlet process of concentration 1 whose base is uniform on next states and
    on the rewards seen; of what was never seen one atom is drawn."""
    setting, rng = ledger.setting, ledger.rng
    row, next_state, _, n = ledger.data.columns()
    seen = counted(ledger, points, np.ones(setting.n_rows + 1))
    jumps = np.unique(np.append(seen.jump, [points.rise] if not len(seen.jump) else []).astype(np.int64))
    N = setting.n_rows
    weight = np.concatenate([rng.standard_gamma(n.astype(np.float64)), rng.standard_gamma(1.0, N)])
    rows = np.concatenate([row, np.arange(N)])
    order = np.argsort(rows, kind="stable")
    prob = weight / np.bincount(rows, weight, N)[rows]
    start_state, start_prob = seen.start_state, seen.start_prob
    if setting.start is None:
        drawn = rng.standard_gamma(ledger.starts + 1.0 / setting.n_states)
        start_state, start_prob = np.arange(setting.n_states), drawn / drawn.sum()
    return Belief(
        rows[order],
        np.concatenate([next_state, rng.integers(setting.n_states + setting.can_terminate, size=N)])[order],
        np.concatenate([seen.jump, rng.choice(jumps, N)])[order],
        prob[order],
        start_state,
        start_prob,
        np.append(1.0 / (ledger.data.counts + 1.0), 0.0),
    )
