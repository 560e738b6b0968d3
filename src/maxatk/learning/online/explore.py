"""What to believe of the rows while exploring: two ways, each from the same counts. docs/theory/online.md, 2 to 4."""

import math

import numpy as np

from maxatk.base.types import Floats
from maxatk.learning.belief import Belief, counted
from maxatk.learning.grid import ReturnGrid
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.risk import Claim


def optimistic(ledger: EpisodeLedger, grid: ReturnGrid) -> Belief:
    """With the radius of a proof, for all rows, cells and numbers of visits at once: by bets, or by a KL ball.

    The ball needs to know how many outcomes a row may have. Where it is told, both have half of the risk.
    """
    known, account = ledger.known, ledger.risk.half(Claim.OPTIMUM)
    bets = account if known.max_outcomes is None else account.half(Claim.BETS)
    log = np.full(known.n_rows + 1, grid.log(bets, ledger.k))
    if known.max_outcomes is not None and not grid.rounds:
        log = np.minimum(log, balls(ledger))
    return counted(ledger.data, ledger.starts, grid, log)


def balls(ledger: EpisodeLedger) -> Floats:
    """``n`` times the radius of a KL ball around the shares of each row, and of starts: [N + 1].

    All balls hold the truth for all numbers of visits at once, whatever is asked of it (Jonsson et al. 2020).
    """
    known = ledger.known
    assert known.max_outcomes is not None
    each = float(ledger.risk.half(Claim.OPTIMUM).half(Claim.BALLS).amount) / (known.n_rows + 1)
    counts: list[int] = np.append(ledger.data.counts, ledger.starts.sum()).tolist()
    sizes = [known.max_outcomes] * known.n_rows + [known.n_states]
    return np.array([_ball(size, max(n, 1), each) for n, size in zip(counts, sizes, strict=True)])


def _ball(size: int, n: int, delta: float) -> float:
    """``n`` times what ``KL(q', q)`` is at most for all ``n`` at once, with probability ``1 - delta``.

    ``q'`` are the shares of ``n`` draws from a distribution ``q`` over ``size`` outcomes.
    """
    free = size - 1
    return math.log(1 / delta) + (free * math.log(math.e * (1 + n / free)) if free else 0.0)


def posterior(ledger: EpisodeLedger, grid: ReturnGrid) -> Belief:
    """A draw from the posterior: by row a Dirichlet process of concentration 1 whose base is uniform on next states and
    on the rewards seen; of what was never seen one atom is drawn."""
    known, rng = ledger.known, ledger.rng
    row, next_state, _, n = ledger.data.columns()
    seen = counted(ledger.data, ledger.starts, grid, 1.0)
    jumps = np.unique(np.append(seen.jump, [grid.rise] if not len(seen.jump) else []).astype(np.int64))
    N = known.n_rows
    weight = np.concatenate([rng.standard_gamma(n.astype(np.float64)), rng.standard_gamma(1.0, N)])
    rows = np.concatenate([row, np.arange(N)])
    order = np.argsort(rows, kind="stable")
    prob = weight / np.bincount(rows, weight, N)[rows]
    start_state, start_prob = seen.start_state, seen.start_prob
    if known.start is None:
        drawn = rng.standard_gamma(ledger.starts + 1.0 / known.n_states)
        start_state, start_prob = np.arange(known.n_states), drawn / drawn.sum()
    return Belief(
        row=rows[order],
        next_state=np.concatenate([next_state, rng.integers(known.n_states + known.can_terminate, size=N)])[order],
        jump=np.concatenate([seen.jump, rng.choice(jumps, N)])[order],
        part=np.zeros(len(rows)),
        prob=prob[order],
        start_state=start_state,
        start_prob=start_prob,
        risk=np.append(1.0 / (ledger.data.counts + 1.0), 0.0),
    )
