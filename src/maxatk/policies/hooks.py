"""What policies tell the library beside their actions, so that they can be followed in bulk: its one door to them.

None of it is public. A policy may override ``_traits``, ``_rule`` and ``_mixture``; evaluation, simulation and pages
ask by the functions at the end. The defaults claim nothing: they are right for every function of M and G.
"""
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from maxatk.base import stopping
from maxatk.base.returns import Amounts
from maxatk.base.types import Bools, Ints
from maxatk.problem.mdp import MDP

if TYPE_CHECKING:
    from maxatk.policies.policy import CompressedPolicy, Policy


class KnownValue(NamedTuple):
    """Bounds on the value of a policy in one problem, known without an evaluation."""

    mdp: MDP
    lower: float
    upper: float


@dataclass(frozen=True)
class Traits:
    """What is known of a policy beside its actions."""

    independent: bool = False  # whether M is ignored, so that rollouts are independent of each other
    repeated: bool = False  # whether, besides, all rollouts are alike
    memory: Callable[[Fraction], Fraction] | None = None  # what is added to G for a reward; None for the reward itself
    in_floats: bool = False  # whether it answers as for the floats nearest to M and G
    resolution: Fraction = Fraction(0)  # M and G may be rounded to multiples of at most this; 0: not at all
    n_states: int | None = None  # how many states it has actions for; None for any
    known_value: KnownValue | None = None
    alike: bool = False  # whether the rollouts of a round are, given the best return at its start


def no_memory(reward: Fraction) -> Fraction:
    """The memory of a policy that ignores returns."""
    return Fraction(0)


# (step, tag [n], state [n], so_far [n]) -> actions [n], for many trials at once. A tag says which of the best returns
# that the rule was made for a trial has.
Act: TypeAlias = Callable[[int, Ints, Ints, Amounts], Ints]


@dataclass(frozen=True)
class Rule:
    """What a policy does within one rollout, for trials whose best return is one of some."""

    act: Act
    # [bests] batch labels: trials with different ones should run one after the other, because they need different large
    # slices. None where all may run side by side.
    batch: Ints | None = None


class Component(NamedTuple):
    """One of the policies that a rollout may follow."""

    policy: "CompressedPolicy"
    rollout: int  # which of its own rollouts it is
    weight: Fraction  # the probability of following it


def traits(policy: "Policy") -> Traits:
    """What is known of ``policy``."""
    return policy._traits


def rule(policy: "CompressedPolicy", rollout: int, best: Amounts) -> Rule:
    """What ``policy`` does in ``rollout``, for trials whose best return is one of ``best``; at exact returns."""
    return policy._rule(rollout, best)


def asks_one_by_one(policy: "CompressedPolicy") -> bool:
    """Whether its rules ask ``action`` for one trial after the other, which takes longer."""
    return not policy._traits.in_floats


def mixture(policy: "Policy", rollout: int = 0) -> Sequence[Component]:
    """What ``policy`` may follow in ``rollout``, with weights that sum to 1; nothing where it remembers more than M, G.

    A policy has the same components in all rollouts, in the same order, some perhaps with weight 0.
    """
    return policy._mixture(rollout)


def different_rollouts(policy: "Policy") -> list[tuple[Sequence[Component], int]] | None:
    """What rollouts follow, and how many follow the same; None where rollouts depend on each other."""
    if not policy._traits.independent or may_stop(policy):
        return None
    different = 1 if policy._traits.repeated else policy.k
    return [(policy._mixture(i), policy.k // different) for i in range(different)]


def assign(
    policy: "Policy", rollout: int, trials: int, stream: np.random.Generator
) -> list[tuple[int, Component, Ints]]:
    """Which component each of ``trials`` trials follows in ``rollout``: its number, the component, the trials."""
    components = policy._mixture(rollout)
    if components[0].policy is policy:
        return [(0, components[0], np.arange(trials))]
    drawn = stream.choice(len(components), trials, p=[float(one.weight) for one in components])
    return [(j, one, np.flatnonzero(drawn == j)) for j, one in enumerate(components) if (drawn == j).any()]


def widths(policy: "Policy") -> tuple[int, ...]:
    """The widths of a policy's rounds, in which rollouts see the best return at the start of their round.

    Empty where every rollout sees the best of all before it.
    """
    return policy._widths


def round_starts(policy: "Policy") -> Sequence[int]:
    """The rollouts before which what a policy knows of the best return changes, and it may stop."""
    if not policy._widths:
        return range(policy.k)
    return [sum(policy._widths[:b]) for b in range(len(policy._widths))]


def may_stop(policy: "Policy") -> bool:
    """Whether a trial may be over before all rollouts are made."""
    return policy._may_stop


def stopped(policy: "Policy", rollout: int, best: Amounts) -> Bools:
    """Whether trials whose best returns are ``best`` [n] are over before ``rollout``."""
    if not policy._may_stop:
        return np.zeros(len(best.units), np.bool_)
    some, places = np.unique(best.units, return_inverse=True)

    def stops(x: int) -> bool:
        stopping.check()
        return policy.stops(rollout=rollout, best=best.scale.number(x))

    return np.array([stops(x) for x in some.tolist()], np.bool_)[places.ravel()]
