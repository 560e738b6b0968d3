"""What plans and comparisons prove: what adapting gains, how much of that simpler policies have, when to stop."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from maxatk.base.errors import TooLargeError
from maxatk.base.findings import Finding, Gain, Share
from maxatk.base.intervals import gap_between
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.types import Number
from maxatk.comparison.priced import MEAN_FIXED, PricedClasses
from maxatk.comparison.rows import ADAPTIVE, MEAN, Row
from maxatk.comparison.tuning import TUNING
from maxatk.evaluation.evaluate import evaluate
from maxatk.planning.certified.floor import repeated_mean
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.exact import ExactPlan
from maxatk.planning.plan import Plan
from maxatk.policies import MarkovPolicy
from maxatk.problem.mdp import MDP

if TYPE_CHECKING:
    from maxatk.comparison.compare import Comparison

BoolArray: TypeAlias = npt.NDArray[np.bool_]

NEGLIGIBLE = 2e-3  # of what the tries after the first add: a gain of no more counts as none
TIES = 2.0**-40  # of the largest return: what means may differ by that count as the same
NOISE = 2.0**-45  # what means of rows may differ by, relative, and count as the same: as where policies are made
NARROW = 0.1  # of the gain: shares are told where the optimum is known to within that


def gain_of(plan: Plan) -> Gain:
    """What the optimum gains over a rival that does not adapt.

    The rival repeats a policy with the best mean; where tries cost something, for the best number of tries that can be
    fixed beforehand. Where it cannot be evaluated in a bounded time, what is known of it is less exact.
    """
    if plan.costly:
        return _gain_over_fixed_number(plan)
    return _gain(plan, _optimum(plan), _mean_repeated(plan))


def compared_gain(comparison: "Comparison") -> Gain:
    """The same by the rows of a comparison, which may know more than the plan does."""
    first, last = comparison.rows[0], comparison[ADAPTIVE]
    fixed = first.tries if first.name == MEAN_FIXED else None
    return _gain(comparison.plan, _ends(last), _ends(first), fixed)


def shares(comparison: "Comparison") -> dict[str, Share]:
    """How much of the gain each class of policies has, by name; of classes that were searched, where that is known.

    With the class at ``v``, the rival at ``w`` and the optimum at ``V``, the share is ``(v - w) / (V - w)``: it rises
    with ``v``, and falls with ``V`` and with ``w``.
    """
    gain, last = comparison.gain, comparison[ADAPTIVE]
    if gain.lower <= 0 or last.upper - last.lower > NARROW * gain.upper:
        return {}
    (low, high), (least, most) = _exact_ends(comparison.rows[0]), _exact_ends(last)
    known: dict[str, Share] = {}
    for row in comparison.rows:
        if row.searched and row.name not in (MEAN, MEAN_FIXED, ADAPTIVE) and math.isfinite(row.lower):
            mine = _exact_ends(row)
            lower, upper = (mine[0] - high) / (most - high), (mine[1] - low) / (least - low)
            known[row.name] = Share(
                name=row.name,
                lower=floats_around(min(max(lower, Fraction(0)), Fraction(1)))[0],
                upper=floats_around(min(max(upper, Fraction(0)), Fraction(1)))[1],
            )
    return known


def findings(comparison: "Comparison") -> tuple[Finding, ...]:
    """All that a comparison proves, the gain first."""
    return (comparison.gain, *shares(comparison).values())


def _gain(
    plan: Plan, optimum: tuple[Number, Number], rival: tuple[Number, Number], tries: int | None = None
) -> Gain:  # fmt: skip
    lower, upper = gap_between(rival, optimum)
    rounding = evidence_of(plan).rounding if isinstance(plan, CertifiedPlan) else 0.0
    added = _added(plan, floats_around(optimum[0])[0])
    return Gain(
        lower=lower,
        upper=upper,
        k=plan.k,
        rival_lower=floats_around(rival[0])[0],
        rival_upper=floats_around(rival[1])[1],
        costly=plan.costly,
        rival_tries=tries,
        negligible=NEGLIGIBLE * added if added > 0 else 4 * rounding,
        added=added,
        tied=several_best_means(plan.mdp),
    )


def several_best_means(mdp: MDP) -> bool:
    """Whether policies with different laws of the return have the best mean, but for rounding.

    They are told apart by the mean of exp(return / size). False where that would take too long.
    """
    if len(mdp.prob) / mdp.n_layers * mdp.horizon > TUNING.rival_work:
        return False
    size = max(*map(abs, mdp.return_range), float(np.abs(mdp.reward).max()), 1e-150)
    means, errors, grown = np.zeros(mdp.n_states + 1), np.zeros(mdp.n_states + 1), np.ones(mdp.n_states + 1)
    several: list[BoolArray] = []  # by step, the last one first: in which states [S] two rows are as good
    kept: list[BoolArray] = []  # which rows are among the best
    for h in reversed(range(mdp.horizon)):
        step = mdp.step(h)
        first, number = step.first_row[:-1] - step.first_row[0], np.diff(step.first_row)
        o = slice(int(step.first_outcome[0]), int(step.first_outcome[-1]))
        prob, reward, after = mdp.row_prob[o], mdp.reward[o], mdp.next_state[o]
        starts, cost = mdp.outcome_start[step.rows] - o.start, mdp.action_cost[step.rows]
        mean = np.add.reduceat(prob * (reward + means[after]), starts) - cost
        sizes = np.add.reduceat(prob * (np.abs(reward) + np.abs(means[after])), starts) + cost
        error = NOISE * sizes + np.add.reduceat(prob * errors[after], starts)
        law = np.add.reduceat(prob * np.exp(reward / size) * grown[after], starts)
        best = np.maximum.reduceat(mean, first)
        within = np.maximum.reduceat(np.where(mean == np.repeat(best, number), error, 0.0), first)
        among = mean >= np.repeat(best - within, number) - error
        most = np.maximum.reduceat(np.where(among, law, -math.inf), first)
        least = np.minimum.reduceat(np.where(among, law, math.inf), first)
        several.append(most - least > TIES * most)
        kept.append(among)
        means, errors, grown = np.append(best, 0.0), np.append(within, 0.0), np.append(most, 1.0)
    reached = np.zeros(mdp.n_states + 1, np.bool_)
    reached[mdp.start_state] = True
    for h, (ties, among) in enumerate(zip(reversed(several), reversed(kept), strict=True)):
        if ties[reached[:-1]].any():
            return True
        step = mdp.step(h)
        rows = np.flatnonzero(among & np.repeat(reached[:-1], np.diff(step.first_row))) + step.rows.start
        after = np.zeros_like(reached)
        for row in rows.tolist():
            after[mdp.next_state[mdp.outcome_start[row] : mdp.outcome_start[row + 1]]] = True
        reached = after
    return False


def _added(plan: Plan, lower: float) -> float:
    """What tries after the first add, at least, where the optimum is no less than ``lower``."""
    return max(lower - plan.curve(plan.k - 1, plan.best_so_far)[1], 0.0) if plan.k > 1 else 0.0


def _optimum(plan: Plan) -> tuple[Number, Number]:
    return (plan.exact, plan.exact) if isinstance(plan, ExactPlan) else (plan.lower, plan.upper)


def _ends(row: Row) -> tuple[Number, Number]:
    return (row.lower, row.upper) if row.exact is None else (row.exact, row.exact)


def _exact_ends(row: Row) -> tuple[Fraction, Fraction]:
    lower, upper = _ends(row)
    return Fraction(lower), Fraction(upper)


def _mean_repeated(plan: Plan) -> tuple[Number, Number]:
    """What repeating a policy with the best mean earns, between two bounds."""
    mdp = plan.mdp
    if len(mdp.prob) / mdp.n_layers * mdp.horizon * plan.k <= TUNING.rival_work:
        try:
            earned = evaluate(mdp, MarkovPolicy(mdp.mean_optimal_actions, k=plan.k, best_so_far=plan.best_so_far))
        except TooLargeError:
            pass
        except StoppedError as stop:
            if stop.reason is Reason.INTERRUPTED:
                raise
            return _mean_alone(plan), plan.upper
        else:
            return (earned.lower, earned.upper) if earned.exact is None else (earned.exact, earned.exact)
    return repeated_mean(mdp, plan.k, plan.best_so_far), plan.upper


def _mean_alone(plan: Plan) -> Number:
    """What a policy with the best mean earns at least, without evaluating it: its mean, or what there was before."""
    rounding = TIES * max(map(abs, plan.mdp.return_range))
    if isinstance(plan, CertifiedPlan):
        rounding += evidence_of(plan).rounding
    mean = plan.mdp.analysis.mean_optimal[1] - float(plan.objective.cost) - rounding
    return max(mean, floats_around(plan.best_so_far)[0])


def _gain_over_fixed_number(plan: Plan) -> Gain:
    """The gain where tries cost something."""
    try:
        row = next(PricedClasses(plan).rows())
    except StoppedError as stop:
        if stop.reason is Reason.INTERRUPTED:
            raise
        return _gain(plan, _optimum(plan), (_mean_alone(plan), plan.upper))
    return _gain(plan, _optimum(plan), _ends(row), row.tries)
