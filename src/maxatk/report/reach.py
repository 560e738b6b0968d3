"""The returns with which a rollout can reach a state, under any policy."""

import bisect
import math
from functools import cached_property

import numpy as np

from maxatk.base.types import Ints
from maxatk.problem.mdp import MDP

MOST_BITS = 2**15  # of a set of returns
MOST_WORK = 500_000  # outcomes, over all steps


class Reach:
    """The returns that are possible at each step and state: all of them if they are few, otherwise the range.

    Args:
        mdp: the problem.
        reward: ``[T]`` the reward of every outcome, as an integer multiple of some unit.
    """

    def __init__(self, mdp: MDP, reward: Ints) -> None:
        self._mdp, self._reward = mdp, reward
        self._step = math.gcd(*(reward - reward.min()).tolist()) or 1  # returns at one step differ by multiples of it
        self._least = int(reward.min())

    @cached_property
    def _sets(self) -> list[dict[int, int]] | None:
        """The set of returns at each step, including the end, and state, as the bits of an integer.

        Bit j of a set at step h stands for the return ``h * least + j * step``. The end of a rollout is state S.
        """
        mdp = self._mdp
        spread = (int(self._reward.max()) - self._least) // self._step
        if spread * mdp.horizon > MOST_BITS or len(mdp.prob) // mdp.n_layers * mdp.horizon > MOST_WORK:
            return None
        sets: list[dict[int, int]] = [dict.fromkeys(mdp.start_state.tolist(), 1)]
        bit = ((self._reward - self._least) // self._step).tolist()
        target = mdp.next_state.tolist()
        for h in range(mdp.horizon):
            starts = mdp.step(h).first_outcome.tolist()
            after: dict[int, int] = {}
            for s, returns in sets[h].items():
                if s == mdp.n_states:
                    continue
                for o in range(starts[s], starts[s + 1]):
                    after[target[o]] = after.get(target[o], 0) | returns << bit[o]
            sets.append(after)
        return sets

    @cached_property
    def _ranges(self) -> tuple[Ints, Ints]:
        """The least and the greatest return at each step and state ``[H + 1, S + 1]``; crossed if there is none."""
        mdp, S = self._mdp, self._mdp.n_states
        none = 2**62
        low, high = np.full((mdp.horizon + 1, S + 1), none), np.full((mdp.horizon + 1, S + 1), -none)
        low[0, mdp.start_state] = high[0, mdp.start_state] = 0
        for h in range(mdp.horizon):
            starts = mdp.step(h).first_outcome
            span = slice(starts[0], starts[S])
            origin = np.repeat(np.arange(S), np.diff(starts))
            met = low[h, origin] <= high[h, origin]
            after, reward = mdp.next_state[span][met], self._reward[span][met]
            np.minimum.at(low[h + 1], after, low[h, origin][met] + reward)
            np.maximum.at(high[h + 1], after, high[h, origin][met] + reward)
        return low, high

    def states(self, h: int) -> list[int]:
        """The states that a rollout can be in at step ``h``, rising."""
        if self._sets is not None:
            return sorted(s for s in self._sets[h] if s < self._mdp.n_states)
        low, high = self._ranges
        return np.flatnonzero(low[h, :-1] <= high[h, :-1]).tolist()

    def returns(self, h: int, s: int, most: int, above: float = -math.inf) -> Ints:
        """Returns with which a rollout can be in state ``s`` at step ``h``, rising.

        These are the returns above a bound and one below it; an even selection if there are more than ``most``.
        """
        if self._sets is not None:
            reached: list[int] | range = self._of(h, self._sets[h].get(s, 0))
        else:
            low, high = (int(ends[h, s]) for ends in self._ranges)
            reached = range(low, high + 1, self._step)
        return _spread(reached[max(bisect.bisect_right(reached, above) - 1, 0) :], most)

    def totals(self, low: int, high: int, most: int) -> Ints:
        """Returns of whole rollouts between two bounds, rising; an even selection if there are more than ``most``."""
        mdp, S = self._mdp, self._mdp.n_states
        if self._sets is not None:
            within: set[int] = set()
            for h in range(1, mdp.horizon + 1):
                over = (returns for s, returns in self._sets[h].items() if s == S or h == mdp.horizon)
                for returns in over:
                    within.update(g for g in self._of(h, returns) if low <= g <= high)
            return _spread(sorted(within), most)
        return _spread(range(low, high + 1, self._step), most)

    def _of(self, h: int, returns: int) -> list[int]:
        bits = bin(returns)[:1:-1]
        return [h * self._least + j * self._step for j, bit in enumerate(bits) if bit == "1"]


def _spread(values: "list[int] | range", most: int) -> Ints:
    """At most ``most`` of some values, evenly spread, with the first and the last."""
    if len(values) > most:
        last = len(values) - 1
        values = [values[last * j // (most - 1)] for j in range(most)]
    return np.array(values, np.int64)
