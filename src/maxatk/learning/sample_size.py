"""How many samples suffice, and how many are needed: Theorems 4 and 3 with their constants."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.problem.instances import HARD_CONSTANTS

CONSTANTS = ("paper", "tight")


@dataclass(frozen=True)
class SampleSize:
    """What uniform sampling needs, for rewards in [0, 1]."""

    per_pair: int  # m: samples of each state-action pair, or of each at every step where steps differ
    total: int  # of all pairs
    kappa: float  # the step of the grid that rewards are rounded to, 1/n
    cells: int  # n

    def __str__(self) -> str:
        return f"{self.per_pair} samples for each of {self.total // self.per_pair} pairs, {self.total} in all"


def sample_size(
    *,
    n_states: int,
    n_actions: int,
    horizon: int,
    k: int,
    epsilon: Number,
    delta: Number,
    homogeneous: bool = True,
    constants: str = "paper",
    outcomes: int | None = None,
) -> SampleSize:
    """The number of samples with which the paper's algorithm is (epsilon, delta)-correct (Theorem 4).

    Rewards are taken to lie in [0, 1]. (For a range of width ``w`` divide ``epsilon`` by ``w``.)

    * ``"paper"``: as the paper proves it, with ``kappa = 1/n <= epsilon/(9H)``, for one start state or distribution.
      For a policy per start state that holds for all of them at once, ask for ``delta / n_states``.
    * ``"tight"``: ``max{32 K²H²(ln(2SAH/delta) + S ln 2), 64 L K H³/epsilon²}``, ``kappa = 1/n <= epsilon/(4H)``,
      ``L = ln(4 S |X| H K A/delta)``, the union over start states included; proved in docs/theory/learning.md.

    Args:
        n_states: ``S``.
        n_actions: ``A``.
        horizon: ``H``.
        k: the number of rollouts, ``K``.
        epsilon: the loss allowed, in units of the return, at most ``H``.
        delta: the probability of failure allowed.
        homogeneous: whether all steps behave alike, so that they share samples.
        constants: ``"paper"`` or ``"tight"``.
        outcomes: how many different outcomes a row may have, where not just ``S``: with rewards that depend on chance,
            or with an end.

    >>> import maxatk as mk
    >>> sizes = dict(n_states=10, n_actions=3, horizon=10, k=4, epsilon=1, delta=0.1)
    >>> print(mk.sample_size(**sizes))
    112370536 samples for each of 30 pairs, 3371116080 in all
    >>> print(mk.sample_size(**sizes, constants="tight"))
    6417783 samples for each of 30 pairs, 192533490 in all
    """
    S, A, H, K = _sizes(n_states, n_actions, horizon, k)
    error, risk = _epsilon(epsilon, H), probability(delta, "delta")
    b = S if outcomes is None else checks.integer(outcomes, "outcomes", least=1)
    checks.one_of(constants, CONSTANTS, "constants")
    checks.boolean(homogeneous, "homogeneous")
    # Floats such as 0.3 fall short of what they stand for: without this, 9/0.3 would be 31.
    cells = math.ceil((9 if constants == "paper" else 4) * H / error * (1 - Fraction(1, 10**12)))
    log = _log_histories(S, A, H, K, cells, risk, 1 if constants == "paper" else S)
    if constants == "paper":
        square = 128 * K**2 * H**2
        first = 2 * (2 + square * _log(2 * S * A * H / risk) + square * b * _log(Fraction(3 * square * b)))
        m = max(first, 1152 * log * K * H**3 / error**2)
    else:
        m = max(_l1_samples(S, A, H, K, b, risk), 64 * log * K * H**3 / error**2)
    per_pair = math.ceil(m)
    return SampleSize(per_pair, per_pair * S * A * (1 if homogeneous else H), 1 / cells, cells)


def least_samples(*, n_states: int, n_actions: int, horizon: int, k: int, epsilon: Number, delta: Number) -> float:
    """What every (epsilon, delta)-correct algorithm needs, in expectation, on some problem of this size (Theorem 3).

    ``(S - 1)((A - 1) ln(1/delta) - A ln 2) / kl(p, p + Delta)``, rounded down, with ``p = 1/(9KH)`` and
    ``Delta = 17 epsilon/(KH²)``. That is what the proof of Theorem 3 shows with ``c0 = 1/9`` and ``c1 = 17`` in place
    of its 1/96 and 8192 (docs/theory/learning.md, 5). For ``delta <= 1/16`` it is at least
    ``(1 - p)/10404 · K S A H³/epsilon² ln(1/delta)``, millions of times the bound that the paper prints,
    ``c0/(8 c1²) K S A H³/epsilon² ln(1/delta)``, which holds as well. The base of
    ``mk.instances.lower_bound(..., constants="tight")`` is such a problem.

    Correct means, as in the paper: with probability ``1 - delta`` the policy loses at most ``epsilon`` from every start
    state. For one start state ask for ``n_states=2``. ``H`` must be a multiple of 4, ``S`` and ``A`` at least 2,
    ``epsilon`` at most ``H/306``. For large ``delta`` the formula is not positive, and the bound is 0.

    Args:
        n_states: ``S``.
        n_actions: ``A``.
        horizon: ``H``.
        k: the number of rollouts, ``K``.
        epsilon: the loss allowed, in units of the return.
        delta: the probability of failure allowed.

    >>> import maxatk as mk
    >>> int(mk.least_samples(n_states=10, n_actions=4, horizon=20, k=8, epsilon=0.05, delta=0.05))
    1373080
    """
    S, A, H, K = _sizes(n_states, n_actions, horizon, k)
    error, risk = _epsilon(epsilon, H), probability(delta, "delta")
    c0, c1 = HARD_CONSTANTS["tight"]
    most = c0 * H / (2 * c1)
    if H % 4 or S < 2 or A < 2 or error > most:
        raise InputError(
            "the lower bound takes horizon a multiple of 4, n_states and n_actions at least 2 and epsilon at most "
            f"horizon/{2 * c1 / c0} = {float(most):.3g}"
        )
    told_apart = (A - 1) * -_log(risk) - A * _log(Fraction(2))  # rounded down
    if told_apart <= 0:
        return 0.0
    try:
        return floats_around((S - 1) * told_apart / _divergence(c0 / (K * H), c1 * error / (K * H**2)))[0]
    except OverflowError:
        raise InputError("the number of samples is beyond the range of floats") from None


def error_bound(*, n_states: int, n_actions: int, horizon: int, k: int, delta: Number, m: int, outcomes: int) -> float:
    """What a policy that is optimal for the empirical kernel of ``m`` samples per pair loses, with ``1 - delta``.

    The high-probability lemma, for rewards in [0, 1] and a planner without rounding; infinite where ``m`` is too small
    for the lemma. A planner that falls short by ``tol`` loses ``1.5 tol`` more. Proved in docs/theory/learning.md.
    """
    S, A, H, K = _sizes(n_states, n_actions, horizon, k)
    risk = probability(delta, "delta")
    if m < _l1_samples(S, A, H, K, outcomes, risk):
        return math.inf
    best = math.inf
    for power in range(64):  # the grid is a device of the proof: any will do
        cells = 2**power
        L = float(Fraction(_log_histories(S, A, H, K, cells, risk, 1)) / m)
        spread = H + math.sqrt(K * H) / (2 * cells)
        best = min(best, 4 * (math.sqrt(2 * L * K * H) * spread + 2 / 3 * L * K * H**2 + 1 / (8 * cells)))
    return best * (1 + 1e-12)


def probability(value: Any, name: str) -> Fraction:
    """A probability strictly between 0 and 1."""
    exact = checks.exact_number(value, name)
    if not 0 < exact < 1:
        raise InputError(f"{name} must be between 0 and 1, not {shown(value)}")
    return exact


def _sizes(n_states: Any, n_actions: Any, horizon: Any, k: Any) -> tuple[int, int, int, int]:
    return (
        checks.integer(n_states, "n_states", least=1),
        checks.integer(n_actions, "n_actions", least=1),
        checks.integer(horizon, "horizon", least=1),
        checks.integer(k, "k", least=1),
    )


def _epsilon(epsilon: Any, H: int) -> Fraction:
    error = checks.exact_number(epsilon, "epsilon")
    if not 0 < error <= H:
        raise InputError(f"epsilon must be above 0 and at most the horizon, {shown(H)}, not {shown(epsilon)}")
    return error


def _log(x: Fraction) -> Fraction:
    """The logarithm of a number of any size, rounded up."""
    value = math.log(x.numerator) - math.log(x.denominator)
    return Fraction(value + 4 * math.ulp(math.log(x.numerator) + math.log(x.denominator)))


def _divergence(p: Fraction, gap: Fraction) -> Fraction:
    """``kl(p, p + gap)`` of two coins, for ``gap <= p/2``, rounded up by less than one part in 2^60.

    ``p (x - ln(1 + x)) + (1 - p) (-ln(1 - y) - y)`` with ``x = gap/p`` and ``y = gap/(1 - p)``: both terms are
    positive, so that nothing cancels, however small the gap.
    """
    x, y = gap / p, gap / (1 - p)
    last = 2
    while x ** (last - 1) > Fraction(1, 2**62):
        last += 2
    # The first series alternates: cut off after an even power, it is too large. The second is cut off with its rest.
    first = sum((Fraction((-1) ** n, n) * x**n for n in range(2, last + 1)), Fraction(0))
    second = sum((y**n / n for n in range(2, last + 1)), y ** (last + 1) / ((last + 1) * (1 - y)))
    return p * first + (1 - p) * second


def _log_histories(S: int, A: int, H: int, K: int, cells: int, delta: Fraction, starts: int) -> Fraction:
    """``ln(4 |X| H K A starts/delta)`` with ``|X| = S (1 + H/kappa)²``: the union over all compressed histories."""
    return _log(4 * S * (1 + H * cells) ** 2 * H * K * A * starts / delta)


def _l1_samples(S: int, A: int, H: int, K: int, outcomes: int, delta: Fraction) -> Fraction:
    """From here on every row is within ``1/(4KH)`` in L1, with probability ``1 - delta/2``."""
    return 32 * K**2 * H**2 * (_log(2 * S * A * H / delta) + outcomes * Fraction(math.log(2)))
