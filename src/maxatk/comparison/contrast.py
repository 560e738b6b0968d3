"""What a policy does differently on the first and on the last of its tries, in numbers and in words."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Floats
from maxatk.evaluation.law import Law
from maxatk.evaluation.typical import best_after, single_rollout
from maxatk.planning.plan import Plan
from maxatk.problem.mdp import MDP
from maxatk.show.bounds import about
from maxatk.show.grid import action_name, places

SELDOM = 0.02  # visits per rollout below which a state counts as not visited
SAME = 1e-6  # of the range of returns: below that, returns of two tries count as the same
WORTH = 0.01  # of what the best return would gain: what a rollout must still be able to gain for a visit to count
MUCH = 0.01  # the chance of courses that were not followed, from which on it is told
DIFFERENT = 0.5  # how much of its visits to a state must go to other actions for a policy to count as acting otherwise


class Difference(NamedTuple):
    """A state in which the most frequent action of one try differs from that of the first."""

    state: int  # where
    visits: float  # per rollout, in the try that visits it less
    first: int  # the action on the first try
    then: int  # the action on the other


class Spread(NamedTuple):
    """What a rollout returns, as far as its likeliest courses say: with all others at their least, or at their most."""

    beats: float  # the probability that its return is larger than the best one
    mean: float  # of its own return
    low: float  # which its return falls short of one time in ten
    high: float  # which its return exceeds one time in ten


@dataclass(frozen=True, eq=False)
class Try:
    """One rollout of a policy, with a best return in hand: what it returns itself, and what it does where."""

    rollout: int  # its number, from 0
    best: float  # in hand; -inf where there is none
    least: Spread  # what it returns, at least
    most: Spread  # and at most
    visits: Floats = field(
        repr=False
    )  # [S, A + 1] how often it acts so while something is left to win; last: giving up
    given_up: float = 0.0  # the probability that it is given up; the numbers above are of what is not
    left_out: float = 0.0  # the probability of courses that were not followed, and whose actions do not count
    stops: bool = False  # whether the policy stops instead of making it

    @property
    def beats(self) -> float:
        """The probability that its return is larger than the best one: the middle of what is known."""
        return (self.least.beats + self.most.beats) / 2

    @property
    def mean(self) -> float:
        """Of its own return, likewise."""
        return (self.least.mean + self.most.mean) / 2

    @property
    def low(self) -> float:
        """Which its return falls short of one time in ten, likewise."""
        return (self.least.low + self.most.low) / 2

    @property
    def high(self) -> float:
        """Which its return exceeds one time in ten, likewise."""
        return (self.least.high + self.most.high) / 2

    def differences(self, other: "Try") -> list[Difference]:
        """Where ``other`` mostly acts differently from this try, the states that both visit most first."""
        mine, theirs = self.visits.sum(axis=1), other.visits.sum(axis=1)
        both = np.minimum(mine, theirs)
        differences: list[Difference] = []
        for s in np.argsort(-both, kind="stable").tolist():
            if both[s] < SELDOM:
                break
            shares = self.visits[s] / mine[s], other.visits[s] / theirs[s]
            if np.abs(shares[0] - shares[1]).sum() / 2 >= DIFFERENT:
                a, b = int(np.argmax(shares[0] - shares[1])), int(np.argmax(shares[1] - shares[0]))
                differences.append(Difference(s, float(both[s]), a, b))
        return differences


@dataclass(frozen=True, eq=False)
class Contrast:
    """The first try of a plan's policy and its last, with what it will typically have by then and with nothing."""

    mdp: MDP  # the problem
    k: int  # the number of rollouts
    first: Try  # the first try
    last: tuple[Try, ...]  # none for k = 1; with the median best return in hand, and with what there was at first

    def sentences(self, most: int = 3) -> list[str]:
        """The contrast in words; at most so many changes are named for each try, and so many places for each."""
        told = [self._sentence(self.first)]
        for other in self.last:
            told.append(self._sentence(other))
            if other.stops:
                continue
            differences = self.first.differences(other)
            if not differences:
                told.append(f"  {self._alike(other)}")
                continue
            where = "1 state" if len(differences) == 1 else f"{len(differences)} states"
            told.append(f"  It acts differently from the first try in {where}: {self.changes(other, most)}.")
        return told

    def _alike(self, other: Try) -> str:
        """What is said of a try in which no action takes the place of another in most visits."""
        where = "states in which both often have something left to win"
        common = np.minimum(self.first.visits.sum(axis=1), other.visits.sum(axis=1)).max() >= SELDOM
        alike = f"In {where}, it acts mostly as the first try does." if common else f"There are no {where}."
        if not self._returns_differ(other):
            return alike
        return f"{alike} Its returns differ: it acts differently at some steps, at some returns so far, or elsewhere."

    def _returns_differ(self, other: Try) -> bool:
        """Whether the returns of a try are sure to differ from those of the first."""
        least, most = self.mdp.return_range
        apart = 0.0
        for name in ("mean", "low", "high"):
            (a, b), (c, d) = ((getattr(one.least, name), getattr(one.most, name)) for one in (self.first, other))
            apart = max(apart, c - b, a - d)
        return apart > SAME * (most - least)

    def changes(self, other: Try, most: int = 3, main: bool = False) -> str:
        """What ``other`` does in place of what the first try does, and where; empty where it does the same.

        What counts in most visits comes first. At most so many changes are told, and so many places of each.

        Args:
            other: the try.
            most: how many changes are told, and places of each.
            main: whether only the first of them is told.
        """
        by_action: dict[tuple[int, int], list[Difference]] = {}
        for difference in self.first.differences(other):
            by_action.setdefault((difference.first, difference.then), []).append(difference)
        groups = sorted(by_action.items(), key=lambda item: -sum(one.visits for one in item[1]))
        groups = groups[:1] if main else groups
        told = [
            f"{self._action(then)} in place of {self._action(first)} in "
            f"{places(self.mdp, [one.state for one in alike], most)}"
            for (first, then), alike in groups[:most]
        ]
        return "; ".join([*told, *([f"and {len(groups) - most} more"] if len(groups) > most else [])])

    def _action(self, action: int) -> str:
        return "giving up" if action == self.mdp.n_actions else action_name(self.mdp, action)

    def _sentence(self, one: Try) -> str:
        least, most = self.mdp.return_range
        nothing = 1e-9 * (most - least)  # what no reward amounts to

        def told(name: str) -> str:
            ends: list[float] = [getattr(side, name) for side in (one.least, one.most)]
            lower, upper = (x if abs(x) > nothing else 0.0 for x in ends)
            return about(lower, upper, 4)

        mean, low, high = (told(name) for name in ("mean", "low", "high"))
        hand = "nothing" if one.best == -math.inf else f"{one.best:.6g}"
        which = f"try {one.rollout + 1} of {self.k} with {hand} in hand"
        if one.stops:
            return f"Before {which}, the policy stops."
        if one.given_up == 1:
            return f"On {which}, the policy gives up in all cases."
        parts = [f"On {which}, the policy "]
        if one.best > -math.inf:
            parts.append(f"beats that in {about(100 * one.least.beats, 100 * one.most.beats, 3)} % of all cases; it ")
        if one.given_up > 0:
            parts.append(f"gives up in {100 * one.given_up:.3g} % of all cases; else it ")
        parts.append(f"returns {mean} on average (10 % quantile {low}, 90 % quantile {high}).")
        if one.left_out > MUCH:
            parts.append(f" {100 * one.left_out:.2g} % of all cases were not followed.")
        return "".join(parts)

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def contrast(plan: Plan) -> Contrast:
    """What the plan's policy does differently on the last try from what it does on the first.

    Of the last try there are two versions: with the median of what is in hand by then, and with what there was at first
    (nothing, or the incumbent). Returns are those of the try itself, whatever is in hand. Where tries cost something
    the policy may stop before them, or give them up.

    >>> import maxatk as mk
    >>> print(mk.contrast(mk.solve(mk.instances.figure1(gamma=0.25), k=2)))
    On try 1 of 2 with nothing in hand, the policy returns 0.375 on average (10 % quantile 0, 90 % quantile 0.5).
    On try 2 of 2 with 0.5 in hand, the policy beats that in 25 % of all cases; it returns 0.25 on average (10 % \
quantile 0, 90 % quantile 1).
      It acts differently from the first try in 1 state: risky in place of safe in s.
    On try 2 of 2 with nothing in hand, the policy returns 0.375 on average (10 % quantile 0, 90 % quantile 0.5).
      In states in which both often have something left to win, it acts mostly as the first try does.
    """
    if not isinstance(plan, Plan):
        raise InputError(f"contrast takes a plan such as mk.solve gives, not {shown(plan)}")
    start = float(plan.best_so_far)
    first = _try(plan, 0, start)
    if plan.k == 1:
        return Contrast(plan.mdp, 1, first, ())
    median = best_after(plan.mdp, plan.policy, plan.k - 1).quantile(0.5)
    return Contrast(
        plan.mdp, plan.k, first, tuple(_try(plan, plan.k - 1, best) for best in dict.fromkeys((median, start)))
    )


def _try(plan: Plan, rollout: int, best: float) -> Try:
    if plan.policy.stops(rollout=rollout, best=best):
        nothing = np.zeros((plan.mdp.n_states, plan.mdp.n_actions + 1))
        unknown = Spread(0.0, math.nan, math.nan, math.nan)
        return Try(rollout, best, unknown, unknown, nothing, stops=True)
    laws, visits, left_out = single_rollout(
        plan.mdp, plan.policy, rollout, best, worth_counting=worth_winning(plan, rollout, best)
    )
    given_up = laws.low.cdf(-math.inf)
    if given_up > 1 - 1e-9:
        nothing_made = Spread(0.0, best, best, best)
        return Try(rollout, best, nothing_made, nothing_made, visits, given_up=1.0)
    least, most = (_spread(plan, _finished(law), best, given_up) for law in laws)
    return Try(rollout, best, least, most, visits, given_up, left_out)


def _finished(law: Law) -> Law:
    """The law of a return, without rollouts that are given up."""
    if law.values[0] > -math.inf:
        return law
    return Law(law.values[1:], law.probs[1:] / (1 - float(law.probs[0])))


def _spread(plan: Plan, law: Law, best: float, given_up: float) -> Spread:
    least, most = plan.mdp.return_range
    beats = 1 - law.cdf(best + 1e-9 * (most - least)) if best > -math.inf else 1.0
    return Spread(beats * (1 - given_up), law.mean, law.quantile(0.1), law.quantile(0.9))


def worth_winning(plan: Plan, rollout: int, best: float) -> float:
    """A return that would gain next to nothing: after it a rollout walks on, but there is nothing left to win."""
    least, most = plan.mdp.return_range
    low = max(best, least)
    if low >= most:
        return low

    def gain(m: float) -> float:
        return sum(plan.curve(rollout + 1, m)) / 2

    enough = (1 - WORTH) * gain(low) + WORTH * gain(most)
    high = most
    for _ in range(40):  # the curve rises: to a millionth of a millionth of the range
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) <= enough else (low, middle)
    return max(low, best)
