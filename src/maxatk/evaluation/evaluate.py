"""What a policy earns, without sampling."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Number
from maxatk.evaluation.binned import binned
from maxatk.evaluation.exactly import MOST_HISTORIES, MOST_OUTCOMES, TooManyError, exact_law
from maxatk.evaluation.law import ExactLaw, Law, best_of, in_floats, mixed
from maxatk.evaluation.propagation import ROUNDING, Laws, Propagation, Units, first_best
from maxatk.policies import CompressedPolicy, HistoryPolicy, MixedPolicy, Policy
from maxatk.problem.mdp import MDP

FEW_OUTCOMES = 3_000  # that are followed in fractions even if floats had to leave some out
FEW_ATOMS = 20_000  # that are followed for figures


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
        exact = checks.exact_number(x, "x")
        if self.exact_law is not None:
            return floats_around(sum((p for value, p in self.exact_law.items() if value <= exact), Fraction(0)))
        below, above = floats_around(exact)
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
    >>> found = mk.evaluate(mdp, plan.policy)
    >>> plan.lower <= found.lower <= found.upper <= plan.upper
    True
    >>> print(f"{found.value:.3f}, more than -20 with probability {1 - found.law.cdf(-20):.2f}")
    -19.672, more than -20 with probability 0.62
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
    check_policy(policy, k, mdp.horizon)
    if not isinstance(policy, CompressedPolicy | MixedPolicy | HistoryPolicy):
        raise InputError(f"{type(policy).__name__} cannot be evaluated without sampling: use mk.simulate")
    asked = None if tol is None else _tolerance(tol)
    checks.integer(max_atoms, "max_atoms", least=1)
    with stopping.scope():
        return _evaluate(mdp, policy, asked, max_atoms)


def _evaluate(
    mdp: MDP, policy: CompressedPolicy | MixedPolicy | HistoryPolicy, tol: float | None, max_atoms: int
) -> Evaluation:
    least, most = mdp.return_range
    if policy.best_so_far >= most:  # nothing can be improved
        return _exact({policy.best_so_far: Fraction(1)})
    width = most - max(least, float(policy.best_so_far))
    share = (1e-9 * (most - least) if tol is None else tol) / (policy.k * mdp.horizon)
    found = None if isinstance(policy, HistoryPolicy) else _propagate(mdp, policy, share, max_atoms)
    few = FEW_OUTCOMES if found is not None and found.left_out else MOST_OUTCOMES
    if found is None or found.outcomes <= few:
        try:
            law = exact_law(mdp, policy, 4 * few)  # those that floats left out are followed, too, if they are not many
        except TooManyError:
            if found is None:
                raise TooLargeError(
                    f"more than {MOST_HISTORIES} outcomes can follow a policy that remembers everything; "
                    "mk.simulate still estimates its value"
                ) from None
        else:
            return _exact(law)
    assert found is not None
    lower, upper = found.bounds()
    known = policy.certificate(mdp) if isinstance(policy, CompressedPolicy) else None
    if known is not None:
        lower, upper = max(lower, known[0]), min(upper, known[1])
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
    return Evaluation(lower, upper, None, found.laws.low, found.laws.high, found.error, found.shift)


def _exact(law: ExactLaw) -> Evaluation:
    value = sum((Fraction(best) * p for best, p in law.items()), Fraction(0))
    low, high = in_floats(law)
    return Evaluation(float(value), float(value), value, low, high, len(law) * 2 * ROUNDING, exact_law=law)


def bounds_in_floats(mdp: MDP, policy: CompressedPolicy, tol: float, max_atoms: int) -> tuple[float, float]:
    """Bounds on what a policy earns, from so many histories at a time; each step may cost ``tol`` of their width."""
    return _propagate(mdp, policy, tol, max_atoms).bounds()


# For figures: what a policy typically does. The likeliest histories are followed, and no bound is claimed.


def visits(mdp: MDP, policy: CompressedPolicy, rollout: int, best: Number) -> Floats:
    """How often each action is expected to be taken in each state of one rollout, ``[S, A]``, with ``best`` in hand."""
    return single_rollout(mdp, policy, rollout, best)[1]


def single_rollout(
    mdp: MDP, policy: CompressedPolicy, rollout: int, best: Number, worth_counting: Number = -math.inf
) -> tuple[Law, Floats]:
    """The law of the return of one rollout, with ``best`` in hand, and how often it takes each action where [S, A].

    What is too unlikely to be followed is counted at its least return. Actions count while the return may still exceed
    ``worth_counting``.
    """
    walk = _typical(mdp, policy, best)
    walk.visits, walk.worth_counting = np.zeros((mdp.n_states, mdp.n_actions)), float(worth_counting)
    in_hand = first_best(walk.units, best)
    own = in_hand._replace(true=np.array([walk.units.true.units(-math.inf)]))  # only the policy knows what is in hand
    return walk.laws(walk.rollout(policy, rollout, own, later=False)).low, walk.visits


def best_after(mdp: MDP, policy: CompressedPolicy, rollouts: int) -> Law:
    """The law of the best return after so many rollouts, one at least."""
    walk = _typical(mdp, policy, policy.best_so_far)
    bests = first_best(walk.units, policy.best_so_far)
    for i in range(rollouts):
        if not len(bests.prob):  # nothing is left to follow
            break
        bests = walk.rollout(policy, i, bests, later=True)
    return walk.laws(bests).low


def _typical(mdp: MDP, policy: CompressedPolicy, best: Number) -> Propagation:
    check_policy(policy, None, mdp.horizon)
    share = 1e-6 * (mdp.return_range[1] - mdp.return_range[0]) / mdp.horizon
    return Propagation(mdp, Units.of(mdp, policy, best), share, FEW_ATOMS)


def check_policy(policy: Policy, k: int | None, horizon: int | None) -> None:
    """That ``policy`` is one, for ``k`` rollouts of ``horizon`` steps."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a maxatk.Policy such as plan.policy, not {shown(policy)}")
    if k is not None and checks.integer(k, "k", least=1) != policy.k:
        raise InputError(f"the policy is for {policy.k} rollouts, not {k}")
    if horizon is not None and policy.horizon != horizon:
        raise InputError(f"the policy is for rollouts of {policy.horizon} steps, not {horizon}")


@dataclass(frozen=True)
class _Found:
    """What floats say of a law."""

    laws: Laws  # whose expected bests bound the true one, but for rounding
    error: float  # of the distribution functions
    outcomes: int  # followed
    left_out: bool  # whether there were others that matter
    shift: float = 0.0  # how far values may be from where they belong
    drift: float = 0.0  # of the expected best, from rounding in the values
    span: float = 0.0  # how far values may be apart whose chances are too small for floats

    def bounds(self) -> tuple[float, float]:
        low, high = self.laws
        if math.isinf(self.error):
            return -math.inf, math.inf

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return max(law.range, self.span) * self.error + 8 * ROUNDING * largest + self.drift

        return low.mean - slack(low), high.mean + slack(high)


def _propagate(mdp: MDP, policy: CompressedPolicy | MixedPolicy, tol: float, max_atoms: int) -> _Found:
    """The law of the best return, in floats."""
    if isinstance(policy, MixedPolicy):
        returns = [_carry(mdp, part, 0, tol, max_atoms) for part in policy.parts]
        rollouts = [
            (_mixed(returns, [float(w) for w in weights]), policy.k // len(policy.weights))
            for weights in policy.weights
        ]
        return _independent(rollouts, policy.best_so_far)
    if policy.independent:
        different = 1 if policy.repeated else policy.k
        rollouts = [(_carry(mdp, policy, i, tol, max_atoms), policy.k // different) for i in range(different)]
        return _independent(rollouts, policy.best_so_far)
    return _carry(mdp, policy, None, tol, max_atoms)


def _carry(mdp: MDP, policy: CompressedPolicy, i: int | None, tol: float, max_atoms: int) -> _Found:
    """The law of the best return; with ``i``, of the return of that one rollout.

    Atoms as they are; where they are too many, or have too many digits, in bins, if the policy's memory allows it.
    """
    units = Units.of(mdp, policy)
    in_bins = units.rounds and units.exact_memory
    walk = Propagation(mdp, units, tol, max_atoms)
    walk.may_overflow = not in_bins
    bests = first_best(units, policy.best_so_far if i is None else -math.inf)
    for j in range(policy.k) if i is None else [i]:
        if not len(bests.prob) or (in_bins and (walk.sieve.overflowed or not units.exact)):
            break
        bests = walk.rollout(policy, j, bests, later=i is None and j + 1 < policy.k)
    if in_bins and (walk.sieve.overflowed or not units.exact):
        found = binned(mdp, policy, i, units, tol, max_atoms)
        summing = _summing(*found.laws)
        return _Found(found.laws, found.error + summing, found.outcomes, True, found.shift, found.drift)
    laws = walk.laws(bests)
    # A policy that was asked at rounded returns may have acted otherwise than it does: nothing is certain then.
    error = walk.error + _summing(*laws) if units.exact else math.inf
    return _Found(laws, error, walk.outcomes, walk.sieve.left_out or not units.exact)


def _mixed(parts: list[_Found], weights: list[float]) -> _Found:
    """The law of a draw from one of several."""
    laws = Laws(*(mixed([part.laws[side] for part in parts], weights) for side in (0, 1)))
    return _Found(
        laws,
        max(part.error for part in parts) + (len(parts) + 2) * ROUNDING,
        sum(part.outcomes for part in parts),
        any(part.left_out for part in parts),
        max(part.shift for part in parts),
        max(part.drift for part in parts),
    )


def _independent(rollouts: list[tuple[_Found, int]], best_so_far: Number) -> _Found:
    """The law of the best of independent rollouts: a product of distribution functions.

    With every function in [0, 1], errors add up. The expected best is monotone, and convex, in each return.
    """
    in_hand = () if best_so_far == -math.inf else in_floats({best_so_far: Fraction(1)})
    sides = [
        [*((found.laws[side], times) for found, times in rollouts), *((law, 1) for law in in_hand[side:][:1])]
        for side in (0, 1)
    ]
    laws = Laws(*(best_of(side) for side in sides))
    low = max(float(law.values[0]) for law, _ in sides[0])  # with however small a chance
    return _Found(
        laws,
        sum(times * (found.error + 2 * ROUNDING) for found, times in rollouts) + _summing(*laws),
        sum(found.outcomes for found, _ in rollouts),
        any(found.left_out for found, _ in rollouts),
        max(found.shift for found, _ in rollouts),
        sum(times * found.drift for found, times in rollouts),
        float(laws.high.values[-1]) - low,
    )


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING


def _down(x: float) -> float:
    return math.nextafter(x, -math.inf)


def _up(x: float) -> float:
    return math.nextafter(x, math.inf)


def _tolerance(tol: float) -> float:
    exact = checks.exact_number(tol, "tol")
    if exact < 0:
        raise InputError(f"tol must not be negative, not {shown(tol)}")
    return float(exact)
