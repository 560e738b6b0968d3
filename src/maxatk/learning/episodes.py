"""Episodes: environments that only run forward, and the gate through which learners hear of them.

:class:`EpisodeSource` is anything with a few attributes and two methods. :class:`CheckedEpisodes` is what is known of
it before the first step: past it, sizes and ranges can be relied on.
"""

import math
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Number
from maxatk.laws.sampling import RowSampler
from maxatk.learning.models import Checked
from maxatk.problem.mdp import MDP
from maxatk.problem.start import Start


@runtime_checkable
class EpisodeSource(Protocol):
    """What an environment must offer to be learned from step by step.

    It may offer more:

    * ``reward_range = (0, 1)``: bounds on a single reward.
    * ``return_range``: bounds on the return of a rollout; what rewards allow by default. The narrower it is, the fewer
      steps are needed: a return outside it is refused.
    * ``start``: the reset state or its distribution, where it is known; it is estimated by default.
    * ``actions(step, state)``: the actions of a state; all ``n_actions`` by default.
    * ``can_terminate = True``: whether rollouts may end before the horizon.
    * ``max_outcomes``: a bound on the number of different outcomes (next state and reward) of a row, if one is
      known.
    """

    n_states: int  # S
    n_actions: int  # A
    horizon: int  # H, the number of steps of a rollout
    homogeneous: bool  # whether all steps behave alike

    def reset(self, rng: np.random.Generator) -> int:
        """Begin a rollout, drawn from ``rng``: its first state."""
        ...

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an ``action``: the next state, the reward, and whether the rollout has ended.

        At the last step a rollout is cut off. It has not ended by itself then, and the next state still counts.
        """
        ...


class TabularEpisodes:
    """A table that can only be run forward.

    Args:
        mdp: the problem to run.
        return_range: bounds on the return of a rollout; the problem's own by default.
        known_start: whether the learner is told the start distribution.

    >>> import numpy as np
    >>> import maxatk as mk
    >>> episodes = mk.TabularEpisodes(mk.instances.figure1(gamma=0.25))
    >>> episodes.reset(np.random.default_rng(0)), episodes.step(action=0)
    (0, (1, 0.5, True))
    """

    def __init__(self, mdp: MDP, *, return_range: tuple[float, float] | None = None, known_start: bool = True) -> None:
        if not isinstance(mdp, MDP):
            raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
        if mdp.has_costs:
            raise InputError("learners know of no costs: plan a problem whose rows cost something, or learn it without")
        self.n_states = mdp.n_states  # S
        self.n_actions = mdp.n_actions  # A
        self.horizon = mdp.horizon  # H
        self.homogeneous = mdp.homogeneous  # whether all steps behave alike
        self.reward_range = (float(mdp.reward.min()), float(mdp.reward.max()))  # of a single reward
        self.return_range = mdp.return_range if return_range is None else return_range
        self.can_terminate = bool((mdp.next_state == mdp.n_states).any())  # before the horizon
        self.max_outcomes = int(np.diff(mdp.outcome_start).max())  # of a row
        self.start: Any = None  # where rollouts start, if that is told
        if known_start:
            self.start = np.zeros(mdp.n_states)
            self.start[mdp.start_state] = mdp.start_prob
        self._mdp, self._sampler = mdp, RowSampler(mdp)
        self._rng, self._step, self._state = np.random.default_rng(0), 0, 0

    @property
    def fingerprint(self) -> str:
        """Which table it is: learners look at it no further, but what was learned says where."""
        return self._mdp.fingerprint

    def actions(self, step: int, state: int) -> list[int]:
        """The actions that ``state`` offers at ``step``."""
        return self._mdp.actions(step, state)

    def reset(self, rng: np.random.Generator) -> int:
        """Begin a rollout, drawn from ``rng``: its first state."""
        self._rng, self._step = rng, 0
        self._state = self._sampler.start(rng)
        return self._state

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an ``action``: the next state, the reward, and whether the rollout has ended."""
        drawn = self._sampler.outcome(self._sampler.row(self._step, self._state, action), self._rng)
        self._state, self._step = int(self._mdp.next_state[drawn]), self._step + 1
        return self._state, float(self._mdp.reward[drawn]), self._state == self.n_states


class CheckedEpisodes(Checked):
    """What is known of episodes before the first: sizes, ranges, what is in hand, and the start, if it is.

    Args:
        source: an object with the attributes of :class:`EpisodeSource`; its methods are not called here.
        best_so_far: a return in hand.
    """

    def __init__(self, source: Any, best_so_far: Number = -math.inf) -> None:
        for name in ("n_states", "n_actions", "horizon", "homogeneous"):
            if not hasattr(source, name):
                raise InputError(f"the episodes have no {name}: see maxatk.EpisodeSource for what is needed")
        super().__init__(source, "episodes'")
        self.best_so_far = checks.incumbent(best_so_far)
        self._returns = self._given_returns()
        start = getattr(source, "start", None)
        self.start: tuple[Ints, Floats] | None = None  # states and their probabilities, where they are known
        if start is not None:
            states, probs, _ = Start.of(start, self.n_states)
            self.start = states.astype(np.int64), probs / probs.sum()
        given = getattr(source, "max_outcomes", None)
        self.max_outcomes = None if given is None else checks.integer(given, "the episodes' max_outcomes", least=1)
        if self.least >= self.most - 1e-12 * max(abs(self.least), abs(self.most)):  # ranges are rounded outward
            hand = "" if self.best_so_far == -math.inf else f"{float(self.best_so_far):g} is in hand, and "
            raise InputError(f"{hand}no return can be better than {self.least:g}: there is nothing to learn")

    def _given_returns(self) -> tuple[float, float]:
        lengths = (1, self.horizon) if self.can_terminate else (self.horizon,)
        natural = (
            _outward(min(Fraction(self.least_reward) * n for n in lengths), -math.inf),
            _outward(max(Fraction(self.most_reward) * n for n in lengths), math.inf),
        )
        given: Any = getattr(self._source, "return_range", None)
        if given is None:
            return natural
        if not checks.is_list(given) or len(given) != 2:
            raise InputError(f"return_range must be a pair (least, most), not {shown(given)}")
        least, most = (float(checks.exact_number(x, f"return_range[{i}]")) for i, x in enumerate(given))
        if least > most:
            raise InputError(f"return_range {shown(tuple(given))} has its least above its most")
        if most < natural[0] or least > natural[1]:
            raise InputError(
                f"return_range {shown(tuple(given))} has nothing in common with what {self.horizon} rewards in "
                f"({self.least_reward:g}, {self.most_reward:g}) add up to"
            )
        return max(least, natural[0]), min(most, natural[1])

    @property
    def return_range(self) -> tuple[float, float]:
        """Bounds on the return of a rollout."""
        return self._returns

    @property
    def least(self) -> float:
        """What no best return is below."""
        return max(self._returns[0], float(self.best_so_far))

    @property
    def most(self) -> float:
        """What no best return exceeds."""
        return self._returns[1]

    @property
    def rounding_of_returns(self) -> float:
        """What the sum of a rollout's rewards may be off by, where the range was computed in floats."""
        return self.horizon * max(abs(self.least_reward), abs(self.most_reward)) * 2.0**-50

    def check_return(self, amount: Number, name: str) -> None:
        """Refuse a return that is not in the range, but for the rounding of sums of rewards."""
        slack = self.rounding_of_returns
        if not self._returns[0] - slack <= amount <= self._returns[1] + slack:
            low, high = self._returns
            raise InputError(f"{name} returned {float(amount):g}, outside the return_range ({low:g}, {high:g})")

    def check_start(self, state: int, name: str) -> None:
        """Refuse a first state that the known start excludes."""
        if self.start is not None and not self.start[1][self.start[0] == state].sum() > 0:
            raise InputError(f"{name} starts in state {state}, to which start gives no probability")

    def next_state(self, state: Any, name: str) -> int:
        """A next state, where ``n_states`` is the end."""
        number = checks.integer(state, f"{name}: the next state", most=self.n_states)
        if number == self.n_states and not self.can_terminate:
            raise InputError(f"{name}: the rollout ended, but can_terminate is false")
        return number

    def signature(self) -> dict[str, Any]:
        """What tells one kind of episodes from another, for checkpoints."""
        start = None if self.start is None else [self.start[0].tolist(), self.start[1].tolist()]
        best = None if self.best_so_far == -math.inf else str(self.best_so_far)
        more = {
            "start": start,
            "return_range": list(self._returns),
            "in_hand": best,
            "max_outcomes": self.max_outcomes,
        }
        return {**super().signature(), **more}


def _outward(amount: Fraction, side: float) -> float:
    """The float of an amount, or the next one towards ``side`` where it has none."""
    near = float(amount)
    return near if amount == near else math.nextafter(near, side)
