"""What a policy earns, without sampling."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.returns import floats_around
from maxatk.evaluation.in_floats import carry
from maxatk.evaluation.in_fractions import MOST_HISTORIES, MOST_OUTCOMES, TooManyError, exact_law
from maxatk.evaluation.law import ExactLaw, Law, in_floats
from maxatk.evaluation.propagation import ROUNDING
from maxatk.policies import HistoryPolicy, Policy, check_policy
from maxatk.problem.mdp import MDP

FEW_OUTCOMES = 3_000  # that are followed in fractions even if floats had to leave some out


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy earns: ``lower <= expected best return <= upper``, and the law of the best return.

    Where the value is known exactly, ``exact`` is a fraction and both bounds are the float nearest to it.
    """

    lower: float  # the expected best return is at least this
    upper: float  # and at most this
    exact: Fraction | None = field(repr=False)  # the value itself, where it is known; may have thousands of digits
    law: Law = field(repr=False)  # of the best return; what was not followed is counted at its least
    law_at_most: Law = field(repr=False)  # the same, counted at its greatest; the true law lies between the two
    error: float  # of the distribution functions of both, from rounding
    shift: float = 0.0  # how far the values of both may be from where they belong
    exact_law: ExactLaw | None = field(default=None, repr=False)  # the law itself, where it is known

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2

    def cdf(self, x: float) -> tuple[float, float]:
        """Bounds on the probability of a best return of at most ``x``."""
        number = checks.exact_number(x, "x")
        if self.exact_law is not None:
            return floats_around(sum((p for value, p in self.exact_law.items() if value <= number), Fraction(0)))
        below, above = floats_around(number)
        if self.shift:
            below, above = _down(below - self.shift), _up(above + self.shift)
        lower, upper = self.law_at_most.cdf(below), self.law.cdf(above)
        return max(lower - self.error, 0.0), min(upper + self.error, 1.0)


def evaluate(
    mdp: MDP, policy: Policy, k: int | None = None, *, tol: float | None = None, max_atoms: int = 100_000
) -> Evaluation:
    """The expected best return of ``policy`` in ``mdp``, and the law of the best return. Nothing is sampled.

    Small problems are evaluated in fractions, larger ones by carrying the distribution of (state, M, G) forward in
    floats: an interval then, true of its floating-point ends. For a plan's own policy it is cut down to the plan's
    interval. The value of a policy can jump with M and G, so nothing is rounded or interpolated.

    Args:
        mdp: the problem, which need not be the one that the policy was made for.
        policy: the policy.
        k: the number of rollouts; it must be the policy's, which it is by default.
        tol: how wide the interval may be because unlikely histories are left out; 1e-9 of the range of returns by
            default.
        max_atoms: how many histories (state, M, G) are followed at a time; where there are more the likeliest are,
            and the interval is wider.

    Raises:
        TooLargeError: where the interval would say nothing.

    >>> import maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=2)
    >>> earned = mk.evaluate(mdp, plan.policy)
    >>> plan.lower <= earned.lower <= earned.upper <= plan.upper
    True
    >>> print(f"{earned.value:.3f}, more than -20 with probability {1 - earned.law.cdf(-20):.2f}")
    -19.672, more than -20 with probability 0.62
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
    check_policy(policy, k, mdp.horizon)
    if not policy.parts and not isinstance(policy, HistoryPolicy):
        raise InputError(f"{type(policy).__name__} cannot be evaluated without sampling: use mk.simulate")
    asked = None if tol is None else _tolerance(tol)
    checks.integer(max_atoms, "max_atoms", least=1)
    with stopping.scope():
        return _evaluate(mdp, policy, asked, max_atoms)


def _evaluate(mdp: MDP, policy: Policy, tol: float | None, max_atoms: int) -> Evaluation:
    least, most = mdp.return_range
    if policy.best_so_far >= most:  # nothing can be improved
        return _exact({policy.best_so_far: Fraction(1)})
    width = most - max(least, float(policy.best_so_far))
    share = (1e-9 * (most - least) if tol is None else tol) / (policy.k * mdp.horizon)
    carried = carry(mdp, policy, share, max_atoms) if policy.parts else None
    few = FEW_OUTCOMES if carried is not None and carried.left_out else MOST_OUTCOMES
    if carried is None or carried.outcomes <= few:
        try:
            law = exact_law(mdp, policy, 4 * few)  # those that floats left out are followed, too, if they are not many
        except TooManyError:
            if carried is None:
                raise TooLargeError(
                    f"more than {MOST_HISTORIES} outcomes can follow a policy that remembers everything; "
                    "mk.simulate still estimates its value"
                ) from None
        else:
            return _exact(law)
    assert carried is not None
    lower, upper = carried.bounds()
    known = policy.certificate(mdp)
    if known is not None:
        lower, upper = max(lower, known[0]), min(upper, known[1])
    upper = min(upper, most)  # no return is more, and what is in hand is less
    if math.isinf(upper - lower):
        raise TooLargeError(
            "the returns that this policy sees have more digits than 64 bits hold, and its histories are too many for "
            "fractions; with rewards rounded to 12 digits it can be evaluated, and mk.simulate estimates its value"
        )
    if upper - lower >= 0.9 * width > 1e-9 * max(abs(least), abs(most)):
        raise TooLargeError(
            f"{max_atoms} histories (state, M, G) at a time say nothing of this policy's value; "
            "evaluate(max_atoms=...) allows more, mk.simulate estimates it"
        )
    return Evaluation(lower, upper, None, carried.laws.low, carried.laws.high, carried.error, carried.shift)


def _exact(law: ExactLaw) -> Evaluation:
    value = sum((Fraction(best) * p for best, p in law.items()), Fraction(0))
    low, high = in_floats(law)
    return Evaluation(float(value), float(value), value, low, high, len(law) * 2 * ROUNDING, exact_law=law)


def _down(x: float) -> float:
    return math.nextafter(x, -math.inf)


def _up(x: float) -> float:
    return math.nextafter(x, math.inf)


def _tolerance(tol: float) -> float:
    number = checks.exact_number(tol, "tol")
    if number < 0:
        raise InputError(f"tol must not be negative, not {shown(tol)}")
    return float(number)
