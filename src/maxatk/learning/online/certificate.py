"""What is certain at any moment of a run, but for delta: the optimum from above, what was played from below.

Half of delta is for bounds from above. The other half is for bounds from below: a half of it for the trials played, in
windows, and a half for policies that are tested. docs/theory/online.md, 4.
"""

from fractions import Fraction

import numpy as np

from maxatk.base.betting import STAKES, mean_from_below
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats
from maxatk.learning.online.explore import optimistic
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.risk import Claim, Risk
from maxatk.learning.uncertain import ABOVE, UncertainPlan


def from_above(ledger: EpisodeLedger) -> UncertainPlan:
    """An optimistic plan of what is known now. Its value, raised by what floating point may have lost, is no less than
    the optimum; the least that was ever proved is kept."""
    plan = UncertainPlan(grid := ledger.grid(), ledger.k, optimistic(ledger, grid), ABOVE)
    ledger.bound_optimum(plan.value + rounding(ledger, plan))
    return plan


def rounding(ledger: EpisodeLedger, plan: UncertainPlan) -> float:
    """What floating point may add up to in a bound."""
    data = ledger.data
    return plan.grid.rounding(ledger.k, data.most_outcomes()[1], data.columns()[2])


def played(ledger: EpisodeLedger) -> tuple[float, int]:
    """A lower bound on what the policies played earn on average, and the first trial of the window that it is of.

    Windows start at trials 0, 1, 2, 4, ...: the best of their bounds counts, since each has its share of the risk.
    """
    returns = np.array(ledger.returns)
    best, first = ledger.known.least, 0
    for j, start in enumerate(_starts(len(returns))):
        lower = _window(ledger, returns, j, start)
        if lower > best:
            best, first = lower, start
    return best, first


def regret(ledger: EpisodeLedger) -> float:
    """What all trials so far have lost to the optimum together, at most, in expectation."""
    if not ledger.trials:
        return 0.0
    lower = _window(ledger, np.array(ledger.returns), 0, 0)
    if lower > ledger.upper:  # one of both is false, and nobody knows which
        lower, upper = ledger.known.least, ledger.known.most
    else:
        upper = ledger.upper
    return floats_around(ledger.trials * (Fraction(upper) - Fraction(lower)))[1]


def tested(ledger: EpisodeLedger) -> float:
    """A lower bound on what the policy earns that is tested now: it was fixed before its trials."""
    if not ledger.tests:
        return ledger.known.least
    account = ledger.risk.half(Claim.POLICIES).half(Claim.TESTED)
    return _mean(ledger, test_returns(ledger), account.nth(ledger.tests))


def test_returns(ledger: EpisodeLedger) -> Floats:
    """The best returns of the trials of the policy that is tested now: [n]."""
    return np.array([z for z, number in zip(ledger.returns, ledger.purposes, strict=True) if number == ledger.tests])


def _starts(trials: int) -> list[int]:
    return [0, *(2**j for j in range(max(trials - 1, 0).bit_length()) if 2**j < trials)]


def _window(ledger: EpisodeLedger, returns: Floats, j: int, start: int) -> float:
    account = ledger.risk.half(Claim.POLICIES).half(Claim.PLAYED)
    return _mean(ledger, returns[start:], account.nth(j + 1))


def _mean(ledger: EpisodeLedger, returns: Floats, risk: Risk) -> float:
    return mean_from_below(returns, ledger.known.least, ledger.known.most, risk.log(len(STAKES)))
