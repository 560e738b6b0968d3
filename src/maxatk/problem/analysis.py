"""Results of passes over a problem: the range of returns, the best mean, the costs to go. Each is computed once."""

import itertools
import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.types import Floats, Ints, Ints32
from maxatk.base.workers import Workers
from maxatk.problem.data import ProblemData
from maxatk.problem.tuning import TUNING

T = TypeVar("T")


class Analysis:
    """Passes over a problem from the last step to the first.

    Args:
        mdp: the problem.
    """

    def __init__(self, mdp: ProblemData) -> None:
        self._mdp = mdp
        self._kept: dict[Any, Any] = {}

    @cached_property
    def rows(self) -> kernels.RowTable:
        """The problem as an argument of compiled passes."""
        mdp = self._mdp
        return kernels.RowTable(
            step_layer=mdp.step_layer,
            pair_start=mdp.pair_start,
            outcome_start=mdp.outcome_start,
            prob=mdp.row_prob,
            next_state=mdp.next_state,
            reward=mdp.reward,
            action_cost=mdp.action_cost,
        )

    def once(self, name: Any, make: Callable[[], T]) -> T:
        """What ``make`` derives from the problem alone: made once, and kept with the problem under a name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    @property
    def brief(self) -> bool:
        """Whether a pass over all steps and outcomes takes a few milliseconds at most."""
        return len(self._mdp.prob) * self._mdp.horizon <= TUNING.brief_pass * self._mdp.n_layers

    @cached_property
    def least(self) -> Floats:
        """``[H + 1, S]`` the least return still reachable from each step and state, with positive probability.

        It is never above the true number: sums are rounded down (and those of :attr:`most` up).
        """
        least = 0.0 - self._most_ahead(-1)  # no negative zeros
        least.flags.writeable = False
        return least

    @cached_property
    def most(self) -> Floats:
        """``[H + 1, S]`` the greatest return still reachable from each step and state, with positive probability."""
        most = self._most_ahead(1)
        most.flags.writeable = False
        return most

    @property
    def return_range(self) -> tuple[float, float]:
        """The least and the greatest return that a rollout can have: every best return lies between."""
        return float(self.least[0, self._mdp.start_state].min()), float(self.most[0, self._mdp.start_state].max())

    @cached_property
    def mean_optimal(self) -> tuple[Ints32, float]:
        """The rows ``[H, S]`` that maximise the mean return of one rollout less the cost of its rows; and that mean."""
        return self._mean_optimal(0.0)

    def _mean_optimal(self, noise: float) -> tuple[Ints32, float]:
        mdp = self._mdp
        best = np.empty((mdp.horizon, mdp.n_states), np.int32)
        values, errors = np.zeros((2, mdp.n_states + 1)), np.zeros((2, mdp.n_states + 1))
        self._pass_back(kernels.best_means, self.rows, noise, values, errors, best)
        return best, float(values[0, mdp.start_state] @ mdp.reset_prob)

    @cached_property
    def mean_optimal_actions(self) -> Ints:
        """The actions ``[H, S]`` that maximise the mean of one rollout; the first of those equal up to rounding."""
        rows, _ = self._mean_optimal(2.0**-45)
        return self._mdp.action[rows].astype(np.int64)

    @cached_property
    def least_costs(self) -> tuple[Floats, Ints32]:
        """The least expected cost of finishing from each step and state ``[H + 1, S]``, and the rows that have it
        ``[H, S]``, counted from each state's first."""
        return self._costs_ahead(self.rows)

    @cached_property
    def greatest_costs(self) -> Floats:
        """The greatest expected cost of finishing from each step and state, ``[H + 1, S]``."""
        return 0.0 - self._costs_ahead(self.rows._replace(action_cost=-self._mdp.action_cost))[0]

    def _costs_ahead(self, rows: kernels.RowTable) -> tuple[Floats, Ints32]:
        mdp = self._mdp
        least = np.zeros((mdp.horizon + 1, mdp.n_states))
        cheapest = np.zeros((mdp.horizon, mdp.n_states), np.int32)
        self._pass_back(kernels.least_costs, rows, least, cheapest)
        return least, cheapest

    def _most_ahead(self, sign: int) -> Floats:
        """The greatest sum of future rewards times ``sign``, rounded up, [H + 1, S]."""
        mdp = self._mdp
        shape = (mdp.horizon + 1, mdp.n_states)
        checks.fits_in_memory(8 * math.prod(shape), f"a table of {mdp.horizon} steps and {mdp.n_states} states")
        reward = sign * mdp.reward
        if mdp.exact_reward is not None:  # floats are rounded to nearest, but bounds must hold for the fractions
            short = [sign * q > r for q, r in zip(mdp.exact_reward, reward.tolist(), strict=True)]
            reward = np.where(short, np.nextafter(reward, np.inf), reward)
        most = np.zeros(shape)
        self._pass_back(kernels.most_ahead, self.rows._replace(reward=reward), most)
        return most

    def _pass_back(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Run a kernel over all steps from the last to the first; on all cores if layers are large."""
        H, S = self._mdp.horizon, self._mdp.n_states
        if len(self._mdp.prob) < TUNING.large_problem_layer * self._mdp.n_layers:
            with stopping.brief(self.brief):
                stopping.run(kernel, kernels.Part(0, H, 0, S), *arguments)
            return
        workers = Workers()
        cuts = [i * S // (2 * workers.threads) for i in range(2 * workers.threads + 1)]
        for h in range(H - 1, -1, -1):
            parts = [kernels.Part(h, h + 1, first, end) for first, end in itertools.pairwise(cuts)]
            workers.map(partial(_part_of_pass, kernel, arguments), parts)


def _part_of_pass(kernel: Callable[..., None], arguments: tuple[Any, ...], part: kernels.Part) -> None:
    stopping.run(kernel, part, *arguments)
