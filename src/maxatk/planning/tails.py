"""The tail of the final best return: the mean of its best share, and the greatest chance to reach a number.

``CVaR_a(Z) = min_c {c + E (Z - c)+ / a}`` is the mean of the best share ``a`` of ``Z``, so over all policies, which may
draw a plan at the start, it is at most ``min_c {c + (U_0(c) - c) / a}``, and that is attained, by at most two plans for
an incumbent of about that ``c`` (docs/theory/rounds.md, 7). The lower end here is what such a mixture earns by the laws
of its parts; the upper end is the bound at the incumbents that were tried.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.intervals import down
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Number
from maxatk.evaluation.evaluate import BestLaw, evaluate
from maxatk.laws.law import Law, mixture_of
from maxatk.laws.pruning import ROUNDING
from maxatk.policies import CompressedPolicy, DrawnPolicy, Policy
from maxatk.policies.repeated import RaisedBest
from maxatk.problem.decision import DecisionProblem

if TYPE_CHECKING:
    from maxatk.planning.plan import Plan

STAGES = 4  # of narrowing down
EACH = 9  # incumbents that are tried in a stage
CUTS = 60  # of a search for the best weight of two laws, at most
SHARES = [10.0**-j for j in range(13)]
PLAIN = [(0, 0), (1, 1)]  # the utility that is the best return itself


@dataclass(frozen=True, eq=False)
class Cvar:
    """The mean of the best share of the final best return: what a mixture of plans earns, and what none exceeds."""

    lower: float  # the mixture's mean of its best share is at least this
    upper: float  # that of no policy is more
    share: float  # a
    policies: tuple[CompressedPolicy, ...] = field(repr=False)  # one is drawn before the first rollout
    weights: tuple[float, ...]  # with these probabilities

    @cached_property
    def policy(self) -> Policy:
        """The policy that earns the lower end: one of the policies is drawn before the first rollout of a trial."""
        return self.policies[0] if len(self.policies) == 1 else DrawnPolicy(self.policies, self.weights)


PlanFor: TypeAlias = "Callable[[float], Plan]"


def cvar(problem: DecisionProblem, share: Number, plan_for: PlanFor) -> Cvar:
    """The mean of the best ``share`` of the final best return over all policies.

    ``plan_for`` plans for an incumbent.
    """
    a = _number(share, "a")
    if not 0 < a <= 1:
        raise InputError(f"a must be above 0 and at most 1, not {checks.shown(share)}")
    _refuse(problem, "cvar")
    low, high = _ends(problem)
    tried: dict[float, tuple[float, Plan]] = {}

    def bound(c: float) -> float:
        """``c + (U_0(c) - c) / a`` from above; at the greatest return it is that."""
        if c >= high:
            return high
        if c not in tried:
            plan = plan_for(c)
            over = max(Fraction(plan.upper) - Fraction(c), Fraction(0))
            tried[c] = floats_around(Fraction(c) + over / a)[1], plan
        return tried[c][0]

    upper = min(bound(low), high)
    first, last = low, high
    beside: list[float] = []  # incumbents on both sides, far enough apart that their plans differ
    for _ in range(STAGES):  # the bound is convex in c
        places: list[float] = np.unique(np.linspace(first, last, EACH)).tolist()
        values = [bound(c) for c in places]
        upper, best = min(upper, *values), int(np.argmin(values))
        first, last = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
        beside += [first, last]
    if not tried:  # there is but one return
        tried[low] = high, plan_for(-math.inf)
    ranked = [min(tried, key=lambda c: tried[c][0]), *(c for c in (*beside[:4], low) if c in tried)]
    policies = [RaisedBest(tried[c][1].policy, c, problem.best_so_far) for c in dict.fromkeys(ranked)]
    laws = [evaluate(problem.mdp, policy, utility=PLAIN).best_law for policy in policies]
    options = [(i, i, 1.0) for i in range(len(laws))]
    options += [(i, j, _weight(laws[i].low, laws[j].low, float(a))) for i in range(len(laws)) for j in range(i)]
    i, j, w = max(options, key=lambda one: _mean_of_best(laws, *one, float(a)))
    # The mean of a greater share is no greater, and less is lost to rounding.
    shares = [floats_around(a)[1], *(one for one in SHARES if one > a)]
    lower = min(max(low, *(_mean_of_best(laws, i, j, w, one) for one in shares)), upper)
    if w in (0.0, 1.0):
        i = j = i if w else j
    if i == j:
        return Cvar(lower, upper, float(a), (policies[i],), (1.0,))
    return Cvar(lower, upper, float(a), (policies[i], policies[j]), (w, 1.0 - w))


def tail(problem: DecisionProblem, x: Number, plan_for: PlanFor) -> float:
    """No policy reaches a best return of ``x`` or more with a greater chance: ``min_c (U_0(c) - c) / (x - c)``."""
    number = _number(x, "x")
    _refuse(problem, "tail")
    low, high = _ends(problem)
    if number <= max(low, problem.best_so_far):  # which floats may not hold
        return 1.0
    if number > high:
        return 0.0
    known: dict[float, float] = {}

    def bound(c: float) -> float:
        if c not in known:
            over = max(Fraction(plan_for(c).upper) - Fraction(c), Fraction(0))
            known[c] = floats_around(over / (number - Fraction(c)))[1]
        return known[c]

    first, last = low, floats_around(number)[0]
    for _ in range(STAGES):
        places = [c for c in np.unique(np.linspace(first, last, EACH)).tolist() if c < number and c < high]
        best = int(np.argmin([bound(c) for c in places]))
        first, last = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    return min(1.0, *known.values())


def _ends(problem: DecisionProblem) -> tuple[float, float]:
    """Bounds on the final best return."""
    below, above = problem.best_around
    return max(problem.least, below), max(problem.most, above)


def _refuse(problem: DecisionProblem, name: str) -> None:
    if problem.costly:
        raise InputError(f"{name}: there must be no costs: it is of the best return alone")
    if problem.objective.extras:
        asked = " and ".join(sorted(problem.objective.extras))
        raise InputError(f"{name}: it is of the best return of one try after another, and the plan is for {asked}")


def _number(given: Number, name: str) -> Fraction:
    if isinstance(given, bool | np.bool_):
        raise InputError(f"{name} must be a real number, not {checks.shown(given)}")
    return checks.exact_number(given, name)


def _weight(first: Law, second: Law, a: float) -> float:
    """The weight of the first of two laws in the mixture whose mean of the best share ``a`` is greatest.

    That mean is the least of ``c + E (Z - c)+ / a`` over values ``c``, each of them linear in the weight: where the
    least at one side of a maximum and that at the other meet is the next guess, until no value is less there.
    """
    values: Floats = np.union1d(first.values, second.values)
    ends = [values + _over(law, values) / a for law in (second, first)]  # at the weights 0 and 1
    slope = ends[1] - ends[0]
    rising, falling = int(np.argmin(ends[0])), int(np.argmin(ends[1]))
    if slope[rising] <= 0:
        return 0.0
    if slope[falling] >= 0:
        return 1.0
    weight = 0.0
    for _ in range(CUTS):
        weight = float((ends[0][falling] - ends[0][rising]) / (slope[rising] - slope[falling]))
        heights = ends[0] + weight * slope
        least = int(np.argmin(heights))
        if heights[least] >= min(heights[rising], heights[falling]):
            break
        if slope[least] > 0:
            rising = least
        else:
            falling = least
    return round(min(max(weight, 0.0), 1.0) * 2**52) / 2**52  # so that it and what is left to 1 are floats


def _over(law: Law, values: Floats) -> Floats:
    """``E (Z - c)+`` at rising values ``c`` [n]."""
    above = np.append(np.cumsum(law.probs[::-1])[::-1], 0.0)
    sums = np.append(np.cumsum((law.probs * law.values)[::-1])[::-1], 0.0)
    place = np.searchsorted(law.values, values, side="right")
    return sums[place] - values * above[place]


def _mean_of_best(laws: Sequence[BestLaw], i: int, j: int, w: float, a: float) -> float:
    """At least the mean of the best share ``a`` under a mixture of two laws, by what is certain of them."""
    law = mixture_of([laws[i].low, laws[j].low], [w, 1.0 - w]) if i != j else laws[i].low
    values, probs = law.values[::-1], law.probs[::-1]
    taken = np.clip(a - np.concatenate([[0.0], np.cumsum(probs)[:-1]]), 0.0, probs)
    total, mass = float(values @ taken), float(taken.sum())
    least, largest = float(law.values[0]), float(np.abs(law.values).max())
    mean = (total + max(a - mass, 0.0) * least) / a
    error = max(laws[i].error, laws[j].error) + 4 * len(values) * ROUNDING
    return down(
        mean - (error * law.range / a + 8 * len(values) * ROUNDING * largest / a + max(laws[i].shift, laws[j].shift))
    )
