"""Episodes: environments that only run forward, and the gate through which learners hear of them.

:class:`EpisodeSource` is anything with a spec and two methods. :class:`CheckedEpisodes` is the spec, checked: past it,
sizes and ranges can be relied on.
"""

import math
from functools import cached_property
from typing import Any, Protocol, Unpack, runtime_checkable

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.learning.models import Checked, Tabular, normal_start
from maxatk.learning.spec import EpisodeSpec, Known
from maxatk.problem.mdp import MDP


@runtime_checkable
class EpisodeSource(Protocol):
    """What an environment must offer to be learned from step by step.

    It may offer ``actions(step, state)``, too, the actions of a state; all ``n_actions`` by default.
    """

    spec: EpisodeSpec  # what is known of it; a reward or return outside its ranges is refused

    def reset(self, rng: np.random.Generator) -> int:
        """Begin a rollout, drawn from ``rng``: its first state."""
        ...

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an ``action``: the next state, the reward, and whether the rollout has ended.

        At the last step a rollout is cut off. It has not ended by itself then, and the next state still counts.
        """
        ...


class TabularEpisodes(Tabular):
    """A table that can only be run forward.

    Args:
        mdp: the problem to run.
        known_start: whether the learner is told the start distribution.
        known: what the learner is told in place of what the table says: fields of :class:`maxatk.EpisodeSpec`.

    >>> import numpy as np
    >>> import maxatk as mk
    >>> episodes = mk.TabularEpisodes(mk.instances.figure1(gamma=0.25))
    >>> episodes.reset(np.random.default_rng(0)), episodes.step(action=0)
    (0, (1, 0.5, True))
    """

    def __init__(self, mdp: MDP, *, known_start: bool = True, **known: Unpack[Known]) -> None:
        super().__init__(mdp)
        told: Known = {
            "homogeneous": mdp.homogeneous,
            "reward_range": self._reward_range,
            "start": self._start if known_start else None,
            "can_terminate": self._can_terminate,
            "max_outcomes": self._most_outcomes,
        }
        told.update(known)
        if told.get("return_range") is None:
            told["return_range"] = mdp.return_range
        self.spec = EpisodeSpec(mdp.n_states, mdp.n_actions, mdp.horizon, **told)  # what is known of it
        self._rng, self._step, self._state = np.random.default_rng(0), 0, 0

    def reset(self, rng: np.random.Generator) -> int:
        """Begin a rollout, drawn from ``rng``: its first state."""
        self._rng, self._step = rng, 0
        self._state = self._sampler.start(rng)
        return self._state

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an ``action``: the next state, the reward, and whether the rollout has ended."""
        drawn = self._sampler.outcome(self._sampler.row(self._step, self._state, action), self._rng)
        self._state, self._step = int(self._mdp.next_state[drawn]), self._step + 1
        return self._state, float(self._mdp.reward[drawn]), self._state == self._mdp.n_states


class CheckedEpisodes(Checked):
    """What is known of episodes, read and checked.

    Args:
        spec: what is known.
        offered: the function that gives the actions of a step and a state; all of them by default.
    """

    def __init__(self, spec: EpisodeSpec, offered: Any = None) -> None:
        super().__init__(spec, "episodes'", offered)
        self.best_so_far = checks.incumbent(spec.best_so_far)
        if spec.return_range is not None:
            self.return_range = self._narrowed(spec.return_range)
        if spec.start is not None:
            self.start = normal_start(spec.start, self.n_states)
        self.max_outcomes = spec.max_outcomes
        if spec.max_outcomes is not None:
            self.max_outcomes = checks.integer(spec.max_outcomes, "the episodes' max_outcomes", least=1)
        if self.least >= self.most - 1e-12 * max(abs(self.least), abs(self.most)):  # ranges are rounded outward
            known = "" if self.best_so_far == -math.inf else f"the best so far is {float(self.best_so_far):g}, and "
            raise InputError(f"{known}no return can be better than {self.least:g}: there is nothing to learn")

    @classmethod
    def of(cls, source: Any) -> "CheckedEpisodes":
        """What is known of the episodes that a source plays."""
        for name in ("reset", "step"):
            if not callable(getattr(source, name, None)):
                raise InputError(f"the episodes have no function {name}: see maxatk.EpisodeSource for what is needed")
        if not isinstance(getattr(source, "spec", None), EpisodeSpec):
            raise InputError("the episodes have no spec: see maxatk.EpisodeSource for what is needed")
        return cls(source.spec, getattr(source, "actions", None))

    def _narrowed(self, given: Any) -> tuple[float, float]:
        """The range of returns that was given, within what rewards add up to."""
        natural = self.return_range
        least, most = self._pair(given, "return_range")
        if most < natural[0] or least > natural[1]:
            raise InputError(
                f"return_range {shown(tuple(given))} has nothing in common with what {self.horizon} rewards in "
                f"({self.least_reward:g}, {self.most_reward:g}) add up to"
            )
        return max(least, natural[0]), min(most, natural[1])

    @property
    def rounding_of_returns(self) -> float:
        """What the sum of a rollout's rewards may be off by, where the range was computed in floats."""
        return self.horizon * max(abs(self.least_reward), abs(self.most_reward)) * 2.0**-50

    def check_return(self, amount: Number, name: str) -> None:
        """Refuse a return that is not in the range, but for the rounding of sums of rewards."""
        low, high = self.return_range
        if low <= float(amount) <= high:  # which is off by less than that
            return
        slack = self.rounding_of_returns
        if not low - slack <= amount <= high + slack:
            raise InputError(f"{name} returned {float(amount):g}, outside the return_range ({low:g}, {high:g})")

    @cached_property
    def most_ahead(self) -> list[float]:
        """What a rollout can still bring from each step on, at most: [H]."""
        one = self.most_reward if self.can_terminate else -math.inf
        return [max((self.horizon - h) * self.most_reward, one) for h in range(self.horizon)]

    @cached_property
    def _start_states(self) -> frozenset[int] | None:
        """The states that a known start gives some probability."""
        return None if self.start is None else frozenset(self.start[0][self.start[1] > 0].tolist())

    def may_start(self, state: int) -> bool:
        """Whether a rollout may start in a state."""
        return self._start_states is None or state in self._start_states

    def check_start(self, state: int, name: str) -> None:
        """Refuse a first state that the known start excludes."""
        if not self.may_start(state):
            raise InputError(f"{name} starts in state {state}, to which start gives no probability")

    def next_state(self, state: Any, name: str) -> int:
        """A next state, where ``n_states`` is the end."""
        number = checks.integer(state, f"{name}: the next state", most=self.n_states)
        if number == self.n_states and not self.can_terminate:
            raise InputError(f"{name}: the rollout ended, but can_terminate is false")
        return number

    def check_reward(self, reward: Number, name: str) -> None:
        """Refuse a reward that is not in the range."""
        low, high = self.least_reward, self.most_reward
        if not low <= reward <= high:
            raise InputError(f"{name}: reward {float(reward):g} is outside the reward_range ({low:g}, {high:g})")

    def signature(self) -> dict[str, Any]:
        """What tells one kind of episodes from another, for checkpoints."""
        best = None if self.best_so_far == -math.inf else str(self.best_so_far)
        more = {"return_range": list(self.return_range), "best_so_far": best, "max_outcomes": self.max_outcomes}
        return {**super().signature(), **more}
