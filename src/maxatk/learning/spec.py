"""What is known of episodes before the first of them is played."""

import math
from dataclasses import dataclass
from typing import Any, TypedDict

from maxatk.base.types import Number


class Known(TypedDict, total=False):
    """What may be known of episodes beside their sizes: the fields of :class:`EpisodeSpec` that have defaults."""

    homogeneous: bool
    reward_range: tuple[Number, Number]
    return_range: tuple[Number, Number] | None
    best_so_far: Number
    start: Any
    can_terminate: bool
    max_outcomes: int | None


@dataclass(frozen=True)
class EpisodeSpec:
    """What is known of episodes before the first of them is played.

    >>> import maxatk as mk
    >>> mk.EpisodeSpec(n_states=16, n_actions=4, horizon=30, return_range=(0, 1)).homogeneous
    True
    """

    n_states: int  # S
    n_actions: int  # A
    horizon: int  # H, the number of steps of a rollout
    homogeneous: bool = True  # whether all steps behave alike
    reward_range: tuple[Number, Number] = (0, 1)  # bounds on a single reward
    return_range: tuple[Number, Number] | None = None  # bounds on a return, if narrower than what rewards add up to
    best_so_far: Number = -math.inf  # the best return before the first rollout
    start: Any = None  # the state that rollouts start in, or a distribution over states; estimated if not known
    can_terminate: bool = True  # whether rollouts may end before the horizon
    max_outcomes: int | None = None  # a bound on the number of different outcomes of a row, if one is known
