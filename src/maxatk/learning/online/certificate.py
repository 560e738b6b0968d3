"""What is certain at any moment of a run, but for delta: the optimum from above, what was played from below.

Half of delta is for bounds from above. The other half is for bounds from below: a half of it for the trials played, in
windows, and a half for policies that are tested. docs/theory/online.md, 4.
"""

import math
from fractions import Fraction

import numpy as np

from maxatk.base.types import Floats
from maxatk.learning.adaptive import BETS, trials_bound
from maxatk.learning.online.explore import optimistic
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.online.swept import ABOVE, Swept
from maxatk.learning.risk import Risk, series

HALF = Fraction(1, 2)


def from_above(ledger: EpisodeLedger) -> Swept:
    """An optimistic plan of what is known now. Its value, raised by what floating point may have lost, is no less than
    the optimum; the least that was ever proved is kept."""
    points, above = ledger.points(), ledger.risk.share("the optimum from above", HALF)
    swept = Swept(points, ledger.k, optimistic(ledger, points, above), ABOVE)
    ledger.upper = min(ledger.upper, swept.value + rounding(ledger, swept))
    return swept


def rounding(ledger: EpisodeLedger, swept: Swept) -> float:
    """What floating point may add up to in a bound, and rewards that are off their lattice points."""
    setting, kappa = ledger.setting, swept.points.kappa
    span = kappa * (swept.points.top - swept.points.first)
    size = 2.0**12 * span * (10 + abs(math.log(span))) + abs(setting.least) + abs(setting.most)
    longest = max(ledger.data.most_outcomes()[1], setting.n_states)
    off = 0.0 if swept.points.rounds else max((abs(r - kappa * round(r / kappa)) for r in ledger.rewards), default=0.0)
    return ledger.k * (setting.horizon * (longest + 16) + 16) * 2.0**-52 * size + ledger.k * setting.horizon * off


def played(ledger: EpisodeLedger) -> tuple[float, int]:
    """A lower bound on what the policies played earn on average, and the first trial of the window that it is of.

    Windows start at trials 0, 1, 2, 4, ...: the best of their bounds counts, since each has its share of the risk.
    """
    returns = np.array(ledger.returns)
    best, first = ledger.setting.least, 0
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
    return ledger.trials * max(ledger.upper - lower, 0.0)


def _starts(trials: int) -> list[int]:
    return [0, *(2**j for j in range(max(trials - 1, 0).bit_length()) if 2**j < trials)]


def _window(ledger: EpisodeLedger, returns: Floats, j: int, start: int) -> float:
    risk = _from_below(ledger).share("trials played", HALF).share(f"window {j}", series(j + 1))
    return trials_bound(returns[start:], ledger.setting.least, ledger.setting.most, risk.log(len(BETS)))


def tested(ledger: EpisodeLedger) -> float:
    """A lower bound on what the policy earns that is tested now: it was fixed before its trials."""
    if not ledger.tests:
        return ledger.setting.least
    risk = _from_below(ledger).share("policies tested", HALF).nth(ledger.tests)
    return trials_bound(test_returns(ledger), ledger.setting.least, ledger.setting.most, risk.log(len(BETS)))


def test_returns(ledger: EpisodeLedger) -> Floats:
    """The best returns of the trials of the policy that is tested now: [n]."""
    return np.array([z for z, number in zip(ledger.returns, ledger.purposes, strict=True) if number == ledger.tests])


def _from_below(ledger: EpisodeLedger) -> Risk:
    return ledger.risk.share("policies from below", HALF)
