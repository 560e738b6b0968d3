"""What a policy earns, without sampling."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from maxatk import checks
from maxatk.checks import Number, shown
from maxatk.errors import InputError, TooLargeError
from maxatk.evaluation.exactly import MOST_OUTCOMES, TooManyError, exact_law
from maxatk.evaluation.law import Law, best_of, in_floats, mixed
from maxatk.evaluation.propagation import ROUNDING, Laws, Propagation, Units, start
from maxatk.mdp import MDP
from maxatk.policies import CompressedPolicy, HistoryPolicy, MixedPolicy, Policy

FEW_OUTCOMES = 3_000  # that are followed in fractions even if floats had to leave some out


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy earns: ``lower <= expected best return <= upper``, and the law of the best return.

    Where the value is known exactly, ``exact`` is a fraction and both bounds are the float nearest to it.
    """

    lower: float
    upper: float
    exact: Fraction | None
    law: Law = field(repr=False)  # of the best return; what was not followed is counted at its least
    law_at_most: Law = field(repr=False)  # the same, counted at its greatest; the true law lies between the two
    error: float  # of the distribution functions of both, from rounding

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2

    def cdf(self, x: float) -> tuple[float, float]:
        """Bounds on the probability of a best return of at most ``x``."""
        x = float(checks.exact_number(x, "x"))
        return max(self.law_at_most.cdf(x) - self.error, 0.0), min(self.law.cdf(x) + self.error, 1.0)


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
    least, most = mdp.return_range
    width = most - max(least, float(policy.best_so_far))
    share = (1e-9 * (most - least) if tol is None else _tolerance(tol)) / (policy.k * mdp.horizon)
    found = None if isinstance(policy, HistoryPolicy) else _propagate(mdp, policy, share, max_atoms)
    if found is None or found.outcomes <= (FEW_OUTCOMES if found.left_out else MOST_OUTCOMES):
        try:
            law = exact_law(mdp, policy)
        except TooManyError:
            if found is None:
                raise TooLargeError(
                    "too many histories to evaluate this policy in fractions, and its returns do not fit into 64 bits "
                    "of a common unit"
                    if isinstance(policy, CompressedPolicy | MixedPolicy)
                    else f"more than {MOST_OUTCOMES} outcomes can follow a policy that remembers everything; "
                    "mk.simulate still estimates its value"
                ) from None
        else:
            value = sum((Fraction(best) * p for best, p in law.items()), Fraction(0))
            rounded = in_floats(law)
            return Evaluation(float(value), float(value), value, rounded, rounded, len(law) * 2 * ROUNDING)
    assert found is not None
    lower, upper = found.bounds()
    known = policy.certificate(mdp) if isinstance(policy, CompressedPolicy) else None
    if known is not None:
        lower, upper = max(lower, known[0]), min(upper, known[1])
    if upper - lower >= 0.99 * width > 0:
        raise TooLargeError(
            f"{max_atoms} histories (state, M, G) at a time say nothing of this policy's value; "
            "evaluate(max_atoms=...) allows more, mk.simulate estimates it"
        )
    return Evaluation(lower, upper, None, found.laws.low, found.laws.high, found.error)


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
    laws: Laws
    error: float  # of the distribution functions
    outcomes: int  # followed
    left_out: bool  # whether there were others that matter

    def bounds(self) -> tuple[float, float]:
        low, high = self.laws

        def slack(law: Law) -> float:
            largest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
            return law.range * self.error + 8 * ROUNDING * largest

        return low.mean - slack(low), high.mean + slack(high)


def _propagate(mdp: MDP, policy: CompressedPolicy | MixedPolicy, tol: float, max_atoms: int) -> _Found | None:
    """The law of the best return in floats; None where returns do not fit into 64 bits."""
    checks.integer(max_atoms, "max_atoms", least=1)
    if isinstance(policy, MixedPolicy):
        parts = [_one_rollout(mdp, part, 0, tol, max_atoms) for part in policy.parts]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        weights = [float(w) for w in policy.weights]
        laws = Laws(
            mixed([part.laws.low for part in known], weights), mixed([part.laws.high for part in known], weights)
        )
        error = max(part.error for part in known) + (len(known) + 2) * ROUNDING
        one = _Found(laws, error, sum(part.outcomes for part in known), any(part.left_out for part in known))
        return _independent([(one, policy.k)], policy.best_so_far)
    if policy.independent:
        rollouts = [_one_rollout(mdp, policy, i, tol, max_atoms) for i in range(1 if policy.repeated else policy.k)]
        known = [rollout for rollout in rollouts if rollout is not None]
        if len(known) < len(rollouts):
            return None
        return _independent([(rollout, policy.k // len(known)) for rollout in known], policy.best_so_far)
    units = Units.of(mdp, policy)
    if units is None:
        return None
    walk = Propagation(mdp, units, tol, max_atoms)
    bests = start(units, policy)
    for i in range(policy.k):
        bests = walk.rollout(policy, i, bests, later=i + 1 < policy.k)
    laws = walk.laws(bests)
    return _Found(laws, walk.error + _summing(laws.low, laws.high), walk.outcomes, walk.left_out)


def _one_rollout(mdp: MDP, policy: CompressedPolicy, i: int, tol: float, max_atoms: int) -> _Found | None:
    """The law of the return of one rollout."""
    units = Units.of(mdp, policy)
    if units is None:
        return None
    walk = Propagation(mdp, units, tol, max_atoms)
    laws = walk.laws(walk.rollout(policy, i, start(units, policy), later=False))
    return _Found(laws, walk.error + _summing(laws.low, laws.high), walk.outcomes, walk.left_out)


def _independent(rollouts: list[tuple[_Found, int]], best_so_far: Number) -> _Found:
    """The law of the best of independent rollouts: a product of distribution functions.

    With every function in [0, 1], errors add up.
    """

    def product(laws: Callable[[Laws], Law]) -> Law:
        factors = [(laws(rollout.laws), times) for rollout, times in rollouts]
        if best_so_far != -math.inf:
            value = float(best_so_far)
            factors.append((in_floats({value: Fraction(1)}), 1))
        return best_of(factors)

    found = Laws(product(lambda laws: laws.low), product(lambda laws: laws.high))
    error = sum(times * (rollout.error + 2 * ROUNDING) for rollout, times in rollouts)
    outcomes = sum(rollout.outcomes for rollout, _ in rollouts)
    return _Found(found, error + _summing(*found), outcomes, any(rollout.left_out for rollout, _ in rollouts))


def _summing(*laws: Law) -> float:
    """The error of adding up the probabilities of a law."""
    return max(len(law.values) for law in laws) * ROUNDING


def _tolerance(tol: float) -> float:
    exact = checks.exact_number(tol, "tol")
    if exact < 0:
        raise InputError(f"tol must not be negative, not {shown(tol)}")
    return float(exact)
