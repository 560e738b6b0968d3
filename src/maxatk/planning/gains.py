"""What the optimum gains over a rival that does not adapt."""

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from maxatk.base.findings import Gain
from maxatk.base.intervals import gap_between
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.types import Number
from maxatk.planning.rivals import TIES, Rival, mean_rival, unevaluated_rival
from maxatk.planning.tuning import TUNING
from maxatk.problem.mdp import MDP

if TYPE_CHECKING:
    from maxatk.planning.plan import Plan

BoolArray: TypeAlias = npt.NDArray[np.bool_]

NEGLIGIBLE = 2e-3  # of what the tries after the first add: a gain of no more counts as none
NOISE = 2.0**-45  # relative: how much means of rows may differ and count as the same, as where policies are made


def gain_of(plan: "Plan", optimum: tuple[Number, Number], rounding: float) -> Gain:
    """The gain of the optimum, which lies between two numbers, over a policy with the best mean, repeated.

    Where tries cost something the rival makes the best number of tries that can be fixed beforehand. Where it cannot be
    evaluated in a bounded time its bounds are wider.
    """
    try:
        rival = mean_rival(plan.problem, plan.upper, TUNING.rival_work)
    except StoppedError as stop:
        if stop.reason is Reason.INTERRUPTED:
            raise
        rival = unevaluated_rival(plan.problem, plan.upper)
    return gain_over(plan, optimum, rival, rounding)


def gain_over(plan: "Plan", optimum: tuple[Number, Number], rival: Rival, rounding: float) -> Gain:
    """The gain over a given rival; ``rounding`` is what floating point may have added to the plan's bounds."""
    lower, upper = gap_between((rival.lower, rival.upper), optimum)
    alone = plan.k == 1 or plan.objective.rounds  # there is no try before the others
    first = math.inf if alone else plan.curve(plan.k - 1, plan.best_so_far)[1]
    added = max(floats_around(optimum[0])[0] - first, 0.0)
    return Gain(
        lower=lower,
        upper=upper,
        k=plan.k,
        rival_lower=floats_around(rival.lower)[0],
        rival_upper=floats_around(rival.upper)[1],
        costly=plan.costly,
        rival_tries=rival.tries,
        negligible=NEGLIGIBLE * added if added > 0 else 4 * rounding,
        added=added,
        tied=several_best_means(plan.mdp),
        unit=plan.mdp.unit if plan.objective.utility is None else "",
        utility=plan.objective.utility is not None,
        rounds=plan.objective.rounds,
    )


def several_best_means(mdp: MDP) -> bool:
    """Whether policies with different laws of the return have the best mean, but for rounding.

    The mean of exp(return / size) tells them apart. False where that would take too long.
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
