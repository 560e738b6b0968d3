"""What a policy earns, without sampling."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.intervals import Interval, down, up
from maxatk.base.returns import floats_around
from maxatk.base.tabular import Tabular
from maxatk.base.types import Number
from maxatk.evaluation.tuning import TUNING
from maxatk.laws.bounds import LawBounds, propagate
from maxatk.laws.exact_forward import MOST_HISTORIES, ExactEvaluation, TooManyError, evaluate_exactly
from maxatk.laws.law import ExactLaw, Law, in_floats, mixture_of
from maxatk.laws.pruning import ROUNDING
from maxatk.laws.units import Units, countable
from maxatk.policies import DrawnPolicy, HistoryPolicy, Policy, check_policy, hooks
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective, try_cost
from maxatk.problem.utility import Knots, utility_of

TOO_MANY_HISTORIES = (
    f"more than {MOST_HISTORIES} outcomes can follow a policy that remembers everything; "
    "mk.simulate still estimates its value"
)
TOO_MANY_DIGITS = (
    "the returns that this policy sees have more digits than 64 bits hold, and its histories are too many for "
    "fractions; with rewards rounded to 12 digits it can be evaluated, and mk.simulate estimates its value"
)


@dataclass(frozen=True, eq=False)
class BestLaw:
    """What is known of the law of the best return: two laws that enclose it, and the law itself where it is known."""

    low: Law  # what was not followed counts at its least
    high: Law  # what was not followed counts at its greatest
    error: float  # of the distribution functions of both, from rounding
    shift: float = 0.0  # how far the values of both may be from where they belong
    exact: ExactLaw | None = None  # the law itself, where it is known

    def cdf(self, number: Fraction) -> tuple[float, float]:
        """Bounds on the distribution function at a number."""
        if self.exact is not None:
            return floats_around(sum((p for value, p in self.exact.items() if value <= number), Fraction(0)))
        below, above = floats_around(number)
        if self.shift:
            below, above = down(below - self.shift), up(above + self.shift)
        lower, upper = self.high.cdf(below), self.low.cdf(above)
        return max(lower - self.error, 0.0), min(upper + self.error, 1.0)


@dataclass(frozen=True, eq=False)
class Evaluation(Displayed, Tabular):
    """What a policy earns: ``lower <= expected best return less costs <= upper``, and the law of the best return.

    Where a utility counts, it takes the place of the best return in the bounds.

    Where the value is known exactly, ``exact`` is a fraction and both bounds are the float nearest to it.
    """

    lower: float  # the expected best return, less what the rollouts cost, is at least this
    upper: float  # and at most this
    exact: Fraction | None = field(repr=False)  # the value itself, where it is known; may have thousands of digits
    best_law: BestLaw = field(repr=False)  # of the best return
    best: Interval = field(repr=False)  # the expected best return
    cost: Interval = field(repr=False)  # the expected cost
    tries: Interval = field(repr=False)  # the expected number of rollouts

    def columns(self) -> dict[str, list[Any]]:
        """One row each for the value, the best return, the cost and the number of rollouts: bounds on the mean."""
        net = Interval(self.lower, self.upper, self.exact)
        rows = {"value": net, "best": self.best, "cost": self.cost, "tries": self.tries}
        ends = [row.ends for row in rows.values()]
        lower, upper = [low for low, _ in ends], [high for _, high in ends]
        return {"mean of": list(rows), "lower": lower, "upper": upper, "exact": [row.exact for row in rows.values()]}

    @property
    def law(self) -> Law:
        """The law of the best return; what was not followed counts at its least."""
        return self.best_law.low

    @property
    def exact_law(self) -> ExactLaw | None:
        """The law of the best return in fractions, where it is known."""
        return self.best_law.exact

    @property
    def shift(self) -> float:
        """How far the values of :attr:`law` may be from where they belong."""
        return self.best_law.shift

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2

    @property
    def ends(self) -> tuple[float, float]:
        """Floats that enclose the value, also where it is known exactly and lies between two floats."""
        return (self.lower, self.upper) if self.exact is None else floats_around(self.exact)

    def cdf(self, x: float) -> tuple[float, float]:
        """Bounds on the probability of a best return of at most ``x``."""
        return self.best_law.cdf(checks.exact_number(x, "x"))


def evaluate(
    mdp: MDP,
    policy: Policy,
    *,
    cost: Number | None = None,
    utility: Knots | None = None,
    tol: float | None = None,
    max_atoms: int = 100_000,
) -> Evaluation:
    """What ``policy`` earns in ``mdp``, the best return less all costs, and the law of the best return.

    Nothing is sampled.

    Small problems are evaluated in fractions, larger ones by carrying the distribution of (state, M, G) forward in
    floats: an interval then, true of its floating-point ends. For a plan's own policy it is cut down to the plan's
    interval. The value of a policy can jump with M and G, so nothing is rounded or interpolated.

    Args:
        mdp: the problem, which need not be the one that the policy was made for.
        policy: the policy.
        cost: what each rollout costs beside its rows; by default what the policy was planned for, or nothing.
        utility: knots of a convex nondecreasing function of the final best return, whose expectation counts in place
            of the best return's; by default what the policy was planned for.
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
    >>> earned = mk.evaluate(mdp, mk.solve(mdp, k=20, cost=0.5).policy)
    >>> print(f"{earned.best.value:.2f} for {earned.cost.value:.2f}, in {earned.tries.value:.1f} tries")
    -15.28 for 1.84, in 3.7 tries
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
    check_policy(policy, mdp.horizon)
    if isinstance(policy, DrawnPolicy):
        asked_of = partial(evaluate, mdp, cost=cost, utility=utility, tol=tol, max_atoms=max_atoms)
        return _drawn([(asked_of(one), weight) for one, weight in policy.parts])
    if not hooks.mixture(policy) and not isinstance(policy, HistoryPolicy):
        raise InputError(f"{type(policy).__name__} cannot be evaluated without sampling: use mk.simulate")
    asked = None if tol is None else tolerance(tol)
    checks.integer(max_atoms, "max_atoms", least=1)
    price = policy.cost if cost is None else try_cost(cost)
    counts = policy.utility if utility is None else utility_of(utility)
    problem = DecisionProblem(mdp, Objective(policy.k, policy.best_so_far, price, utility=counts))
    with stopping.scope():
        return _evaluate(problem, policy, asked, max_atoms)


def _evaluate(problem: DecisionProblem, policy: Policy, tol: float | None, max_atoms: int) -> Evaluation:
    mdp, least, most = problem.mdp, problem.least, problem.most
    if policy.best_so_far >= most and not problem.costly and not hooks.may_stop(policy):  # nothing can be improved
        certain = ExactEvaluation({policy.best_so_far: Fraction(1)}, Fraction(policy.k), Fraction(0))
        return _exact(certain, problem, policy)
    small = policy.k * mdp.horizon * len(mdp.prob) <= TUNING.few_outcomes * mdp.n_layers
    if small and hooks.mixture(policy):  # floats would only say that there are few outcomes
        with suppress(TooManyError):
            return _exact(evaluate_exactly(problem, policy, TUNING.few_outcomes), problem, policy)
    width = most - max(least, float(policy.best_so_far))
    share = (1e-9 * (most - least) if tol is None else tol) / (policy.k * mdp.horizon)
    bounds = propagate(problem, policy, share, max_atoms) if _in_64_bits(mdp, policy) else None
    few = TUNING.few_outcomes if bounds is None or bounds.left_out else TUNING.most_outcomes
    if bounds is None or bounds.outcomes <= few:
        try:
            # Those that floats left out are followed, too, if they are not many.
            known = evaluate_exactly(problem, policy, 4 * few)
        except TooManyError:
            if bounds is None:
                raise TooLargeError(TOO_MANY_DIGITS if hooks.mixture(policy) else TOO_MANY_HISTORIES) from None
        else:
            return _exact(known, problem, policy)
    assert bounds is not None
    best, tries, cost = _intervals(bounds, policy, problem)
    if policy.best_so_far < most:  # no return is more, and the incumbent is less
        best = replace(best, upper=min(best.upper, most))
    lower, upper = best.lower, best.upper
    if problem.costly:
        lower, upper = down(lower - cost.upper), up(upper - cost.lower)
    utility = problem.objective.utility
    if utility is not None:
        worst, top = utility(max(least, policy.best_so_far)), utility(max(most, policy.best_so_far))
        lower, upper = bounds.utility_bounds(utility)
        lower, upper = max(lower, floats_around(worst)[0]), min(upper, floats_around(top)[1])
        width = float(top - worst)
    certified = _check_certificate(policy, problem, lower, upper)
    if certified is not None:
        lower, upper = max(lower, certified.lower), min(upper, certified.upper)
        if utility is None:
            best, cost = _of_net(lower, upper, best, cost) if problem.costly else (Interval(lower, upper), cost)
    if math.isinf(upper - lower):
        raise TooLargeError(TOO_MANY_DIGITS)
    if upper - lower >= 0.9 * width > 1e-9 * max(abs(least), abs(most)):
        raise TooLargeError(
            f"{max_atoms} histories (state, M, G) at a time say nothing of this policy's value; "
            "evaluate(max_atoms=...) allows more, mk.simulate estimates it"
        )
    law = BestLaw(bounds.laws.low, bounds.laws.high, bounds.error, bounds.shift)
    return Evaluation(lower, upper, None, law, best, cost, tries)


def _drawn(parts: Sequence[tuple[Evaluation, Fraction]]) -> Evaluation:
    """What a policy earns that is one of several, each with a probability."""
    laws, weights = [one.best_law for one, _ in parts], [float(weight) for _, weight in parts]
    exact: dict[Number, Fraction] | None = {}
    for law, (_, weight) in zip(laws, parts, strict=True):
        if law.exact is None:
            exact = None
            break
        for value, p in law.exact.items():
            exact[value] = exact.get(value, Fraction(0)) + weight * p
    law = BestLaw(
        mixture_of([law.low for law in laws], weights),
        mixture_of([law.high for law in laws], weights),
        max(law.error for law in laws) + 4 * sum(len(law.low.values) for law in laws) * ROUNDING,
        max(law.shift for law in laws),
        exact,
    )
    weighted = [weight for _, weight in parts]
    value = _mean_of([Interval(*one.ends, one.exact) for one, _ in parts], weighted)
    others = ([getattr(one, name) for one, _ in parts] for name in ("best", "cost", "tries"))
    best, cost, tries = (_mean_of(intervals, weighted) for intervals in others)
    return Evaluation(value.lower, value.upper, value.exact, law, best, cost, tries)


def _mean_of(parts: Sequence[Interval], weights: Sequence[Fraction]) -> Interval:
    """The mean of numbers that are known to within bounds."""
    exact = [one.exact for one in parts if one.exact is not None]
    if len(exact) == len(parts):
        return Interval.of(sum((x * w for x, w in zip(exact, weights, strict=True)), Fraction(0)))
    low, high = (
        sum((Fraction(one.ends[end]) * w for one, w in zip(parts, weights, strict=True)), Fraction(0)) for end in (0, 1)
    )
    return Interval(floats_around(low)[0], floats_around(high)[1])


def _certificate(policy: Policy, mdp: MDP) -> hooks.KnownValue | None:
    """The bounds that a policy comes with, if they are for this problem."""
    certificate = hooks.traits(policy).known_value
    return certificate if certificate is not None and certificate.mdp == mdp else None


def _check_certificate(policy: Policy, problem: DecisionProblem, lower: float, upper: float) -> hooks.KnownValue | None:
    """The bounds that a policy comes with, for this problem; an error where evaluation contradicts them."""
    same = problem.objective.cost == policy.cost and problem.objective.utility == policy.utility
    certified = _certificate(policy, problem.mdp) if same else None
    if certified is not None and (certified.lower > upper or certified.upper < lower):
        raise InputError(
            f"the policy's certificate says that it earns between {certified.lower:.10g} and {certified.upper:.10g}, "
            f"but it earns between {lower:.10g} and {upper:.10g}: the plan is not what a solver made"
        )
    return certified


def _in_64_bits(mdp: MDP, policy: Policy) -> bool:
    """Whether floats can say something of a policy: it is never asked at returns other than those that it sees."""
    components = hooks.mixture(policy)
    exact = countable(policy, [Units.of(mdp, one.policy) for one in components])
    return exact or (bool(components) and _certificate(policy, mdp) is not None)


def _intervals(bounds: LawBounds, policy: Policy, problem: DecisionProblem) -> tuple[Interval, Interval, Interval]:
    """What floats say of the best return, of the number of rollouts, and of what they cost."""
    (fewest, most), (least_rows, most_rows) = bounds.costs()
    k, all_made = float(policy.k), not hooks.may_stop(policy)
    tries = Interval(k, k, Fraction(policy.k)) if all_made else Interval(min(max(fewest, 0.0), k), min(most, k))
    low, high = floats_around(problem.objective.cost)
    cost = Interval(max(down(tries.lower * low + least_rows), 0.0), up(up(tries.upper * high) + most_rows))
    return Interval(*bounds.bounds()), tries, cost if problem.costly else Interval.of(Fraction(0))


def _of_net(lower: float, upper: float, best: Interval, cost: Interval) -> tuple[Interval, Interval]:
    """The best return and its cost, from what a certificate says of their difference."""
    best = Interval(max(best.lower, down(lower + cost.lower)), min(best.upper, up(upper + cost.upper)))
    return best, Interval(max(cost.lower, down(best.lower - upper)), min(cost.upper, up(best.upper - lower)))


def _exact(known: ExactEvaluation, problem: DecisionProblem, policy: Policy) -> Evaluation:
    law = known.law
    best = sum((Fraction(best) * p for best, p in law.items()), Fraction(0))
    cost = known.rows + problem.objective.cost * known.tries
    low, high = in_floats(law)
    utility = problem.objective.utility
    counts = best if utility is None else sum((utility(best) * p for best, p in law.items()), Fraction(0))
    value = float(counts - cost)
    _check_certificate(policy, problem, value, value)
    best_law = BestLaw(low, high, len(law) * 2 * ROUNDING, exact=law)
    return Evaluation(
        value, value, counts - cost, best_law, Interval.of(best), Interval.of(cost), Interval.of(known.tries)
    )


def tolerance(tol: float) -> float:
    """What a caller gives as ``tol``, checked."""
    number = checks.exact_number(tol, "tol")
    if number < 0:
        raise InputError(f"tol must not be negative, not {shown(tol)}")
    return float(number)
