"""The decision problem: a problem with the objective of its rollouts, and what follows from both.

Planning, evaluation and comparison take one :class:`DecisionProblem`; it alone decides whether there are costs.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Ints, Number
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective
from maxatk.problem.rows import LARGEST_RETURN


@dataclass(frozen=True)
class DecisionProblem:
    """``mdp`` played for ``objective``: the best return of up to k rollouts, less all costs.

    >>> from fractions import Fraction
    >>> import maxatk as mk
    >>> from maxatk.problem.decision import DecisionProblem
    >>> from maxatk.problem.objective import Objective
    >>> problem = DecisionProblem(mk.instances.windy_cliff(), Objective(5, cost=Fraction(1, 2)))
    >>> problem.costly, problem.may_abandon
    (True, False)
    """

    mdp: MDP
    objective: Objective

    def __post_init__(self) -> None:
        greatest = self.rollout_cost + self.mdp.horizon * float(np.max(self.mdp.action_cost))
        if greatest * self.k > LARGEST_RETURN:
            raise InputError(f"costs of up to {greatest:g} in each of {self.k} rollouts are too large for floats")
        utility = self.objective.utility
        if utility is not None and self.costly:
            raise InputError("utility: there must be no costs beside it, whose units are those of the return")
        if utility is not None:
            bests = (max(self.best_so_far, end) for end in (self.least, self.most))
            if max(abs(utility(best)) for best in bests) > LARGEST_RETURN:
                raise InputError("utility: its values at the returns of this problem are too large for floats")

    def __getstate__(self) -> dict[str, Any]:
        return {"mdp": self.mdp, "objective": self.objective}  # a copy computes the rest itself

    def changed(self, **objective: Any) -> "DecisionProblem":
        """The same problem for another objective: fields of :class:`Objective` by name."""
        return DecisionProblem(self.mdp, replace(self.objective, **objective))

    @property
    def k(self) -> int:
        """The maximal number of rollouts."""
        return self.objective.k

    @property
    def best_so_far(self) -> Number:
        """The best return before the first rollout; ``-inf`` for no result yet."""
        return self.objective.best_so_far

    @property
    def best_around(self) -> tuple[float, float]:
        """The floats around the best return before the first rollout."""
        return (-math.inf, -math.inf) if self.best_so_far == -math.inf else floats_around(self.best_so_far)

    @cached_property
    def ends_with_best(self) -> bool:
        """Whether the best return itself counts, but for a factor and a constant: no utility turns between returns."""
        utility = self.objective.utility
        if utility is None or self.least >= self.most:
            return True
        return utility.steepest(self.most) > 0 and not utility.turns(self.least, self.most)

    # Costs (docs/theory/costs.md).

    @property
    def rollout_cost(self) -> float:
        """The cost of each rollout, beside that of its actions."""
        return float(self.objective.cost)

    @cached_property
    def costly(self) -> bool:
        """Whether there are costs, so that stopping early or abandoning a rollout can be optimal."""
        return self.objective.cost > 0 or self.mdp.has_costs

    @cached_property
    def may_abandon(self) -> bool:
        """Whether a rollout may be abandoned, and there are costs, so that this can be optimal."""
        return self.objective.abandon and self.costly

    @cached_property
    def finish_cost(self) -> Floats | None:
        """``[H + 1, S]`` the least expected cost of finishing a rollout from each step and state.

        It is None if rollouts may be abandoned, or if actions cost nothing.
        """
        return self.mdp.analysis.least_costs[0] if self.mdp.has_costs and not self.may_abandon else None

    def idle_rows(self, step: int, state: Ints) -> Ints:
        """The row to take in each state [n] if the best so far cannot be improved: the cheapest, or -1 to abandon."""
        rows = self.mdp.step(step).first_row[state]
        if self.may_abandon:
            return np.full(len(rows), -1)
        return rows + self.mdp.analysis.least_costs[1][step, state] if self.mdp.has_costs else rows

    def first_row(self, step: int, state: int) -> int:
        """The first row of a state."""
        mdp = self.mdp
        return int(mdp.pair_start[int(mdp.step_layer[step]) * mdp.n_states + state])

    def idle_row(self, step: int, state: int) -> int:
        """:meth:`idle_rows` of one state."""
        if self.may_abandon:
            return -1
        cheapest = int(self.mdp.analysis.least_costs[1][step, state]) if self.mdp.has_costs else 0
        return self.first_row(step, state) + cheapest

    # Returns.

    @cached_property
    def least(self) -> float:
        """No return is less than this."""
        return self.mdp.return_range[0]

    @cached_property
    def most(self) -> float:
        """No return is more than this."""
        return self.mdp.return_range[1]

    @property
    def trial_range(self) -> tuple[float, float]:
        """The least and the greatest result of K tries: the best return less all costs, or its utility."""
        best = float(self.best_so_far)
        if self.objective.utility is not None:
            lowest, highest = (self.objective.utility.around(max(best, x)) for x in (self.least, self.most))
            return lowest[0], highest[1]
        dearest = self.rollout_cost + self.mdp.horizon * float(self.mdp.action_cost.max())
        lowest = best if self.objective.abandon else max(best, self.least)  # an abandoned rollout returns nothing
        return lowest - (self.k * dearest if self.costly else 0.0), max(best, self.most)

    @cached_property
    def mean(self) -> float:
        """The value of one mean-optimal rollout less its cost; the mean is cut at the greatest return, which only
        rounding could exceed."""
        return min(self.mdp.analysis.mean_optimal[1], self.most) - self.rollout_cost

    @cached_property
    def flat_below(self) -> float:
        """If the best return so far is at most this, the last rollout should simply maximise its mean.

        It is the least return; if rollouts may be abandoned, that less the greatest cost of finishing one.
        """
        finishing = self.may_abandon and self.mdp.has_costs
        return self.least - (float(self.mdp.analysis.least_costs[0].max()) if finishing else 0.0)

    @cached_property
    def incumbent(self) -> float:
        """The best return before the first rollout, or ``flat_below`` if that is greater."""
        return max(float(self.best_so_far), self.flat_below)

    @cached_property
    def largest(self) -> float:
        """A bound on the absolute value of every partial return, plus its cost."""
        mdp = self.mdp
        rewards = float(np.abs(mdp.reward).max()) * mdp.horizon
        return rewards + self.rollout_cost + float(mdp.action_cost.max()) * mdp.horizon
