"""What a policy does differently on the first and on the last of its tries, in numbers."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.tabular import Tabular
from maxatk.base.types import Floats
from maxatk.evaluation.typical import best_after, single_rollout
from maxatk.laws.law import Law
from maxatk.planning.plan import Plan
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.problem.mdp import MDP

SELDOM = 0.02  # visits per rollout below which a state counts as not visited
SAME = 1e-6  # of the range of returns: below that, returns of two tries count as the same
LEFT_TO_GAIN = (
    0.01  # of what the best return would gain: what a rollout must still be able to gain for a visit to count
)
ROUNDING = 2.0**-40  # relative: what returns that are the same may differ by, and what no chance amounts to
DIFFERENT = 0.5  # how much of its visits to a state must go to other actions for a policy to count as acting otherwise


class Difference(NamedTuple):
    """A state in which one action takes the place of another, compared with the first try, in most visits."""

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
    """One rollout of a policy for a given best so far: its own return, and its actions by state."""

    rollout: int  # its number, from 0
    best: float  # the best so far; -inf if there is no result yet
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


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Displayed, Tabular):
    """The first try of a plan's policy and its last, with what it will typically have by then and with nothing."""

    mdp: MDP  # the problem
    k: int  # the number of rollouts
    first: Try  # the first try
    last: tuple[Try, ...]  # none for k = 1; for the median best so far, and for the best so far of the first try

    def __repr__(self) -> str:
        return f"Contrast(first try against the last, best of {self.k}: {self.mdp!r})"

    def columns(self) -> dict[str, list[Any]]:
        """One row for each try: its number from 1, its best so far, and what is known of its own return.

        Bounds on its chance to beat the best so far, on its mean, and on its tenth (``low``) and ninetieth (``high``)
        percentile.
        """
        tries = (self.first, *self.last)
        columns: dict[str, list[Any]] = {"try": [one.rollout + 1 for one in tries], "best": [one.best for one in tries]}
        for name in ("beats", "mean", "low", "high"):
            columns[f"{name} lower"] = [getattr(one.least, name) for one in tries]
            columns[f"{name} upper"] = [getattr(one.most, name) for one in tries]
        return columns | {"given up": [one.given_up for one in tries], "stops": [one.stops for one in tries]}

    def shares_states(self, other: Try) -> bool:
        """Whether there are states that ``other`` and the first try often visit with something left to win."""
        return bool(np.minimum(self.first.visits.sum(axis=1), other.visits.sum(axis=1)).max() >= SELDOM)

    def returns_differ(self, other: Try) -> bool:
        """Whether the returns of a try are sure to differ from those of the first."""
        least, most = self.mdp.return_range
        apart = 0.0
        for name in ("mean", "low", "high"):
            (a, b), (c, d) = ((getattr(one.least, name), getattr(one.most, name)) for one in (self.first, other))
            apart = max(apart, c - b, a - d)
        return apart > SAME * (most - least)


def contrast(plan: Plan) -> Contrast:
    """What the plan's policy does differently on the last try from what it does on the first.

    Of the last try there are two versions: for the median best so far, and for the best so far of the first try
    (nothing, or the incumbent). Returns are those of the try itself, whatever the best so far is. Where tries cost
    something the policy may stop before them, or give them up.

    >>> import maxatk as mk
    >>> print(mk.contrast(mk.solve(mk.instances.figure1(gamma=0.25), k=2)))
    Try 1 of 2, no result yet: the mean return is 0.375; at least 80 % of tries return between 0 and 0.5.
    Try 2 of 2, best so far 0.5: it beats that in 25 % of all cases; the mean return is 0.25; at least 80 % of tries \
return between 0 and 1.
      It acts differently from the first try in 1 state: "risky" instead of "safe" (s).
    Try 2 of 2, no result yet: the mean return is 0.375; at least 80 % of tries return between 0 and 0.5.
      It mostly acts like the first try.
    """
    if not isinstance(plan, Plan):
        raise InputError(f"contrast takes a plan such as mk.solve gives, not {shown(plan)}")
    start = float(plan.best_so_far)
    first = try_of(plan, 0, start)
    if plan.k == 1:
        return Contrast(plan.mdp, 1, first, ())
    last = plan.objective.rounds[-1] if plan.objective.rounds else 1  # rollouts that see nothing of each other
    before = plan.k - last
    median = best_after(plan.mdp, plan.policy, before).quantile(0.5) if before else start
    return Contrast(
        plan.mdp, plan.k, first, tuple(try_of(plan, plan.k - 1, best) for best in dict.fromkeys((median, start)))
    )


def try_of(plan: Plan, rollout: int, best: float) -> Try:
    """What one rollout of the plan's policy does, where ``best`` is the best so far."""
    if plan.policy.stops(rollout=rollout, best=best):
        nothing = np.zeros((plan.mdp.n_states, plan.mdp.n_actions + 1))
        unknown = Spread(0.0, math.nan, math.nan, math.nan)
        return Try(rollout, best, unknown, unknown, nothing, stops=True)
    laws, visits, left_out = single_rollout(
        plan.mdp, plan.policy, rollout, best, must_exceed=return_to_exceed(plan, rollout, best)
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
    beats = 1 - law.cdf(best + ROUNDING * abs(best)) if best > -math.inf else 1.0
    beats = beats if beats > ROUNDING else 0.0
    return Spread(beats * (1 - given_up), law.mean, law.quantile(0.1), law.quantile(0.9))


def return_to_exceed(plan: Plan, rollout: int, best: float) -> float:
    """A return that would gain next to nothing: after it a rollout walks on, but there is nothing left to win."""
    least, most = plan.mdp.return_range
    low = max(best, least)
    if low >= most:
        return low

    # A plan in rounds would be evaluated for every guess: what one rollout after another makes of it is near.
    after = plan.sequential if isinstance(plan, RoundsPlan) else plan

    def gain(m: float) -> float:
        return sum(after.curve(rollout + 1, m)) / 2

    least_gain = (1 - LEFT_TO_GAIN) * gain(low) + LEFT_TO_GAIN * gain(most)
    high = most
    for _ in range(40):  # the curve rises: to a millionth of a millionth of the range
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) <= least_gain else (low, middle)
    return max(low, best)
