"""The lattice of returns that a run plans on: what all rewards seen are multiples of, or else a fixed number of steps.

Where rewards are multiples of nothing sensible each is rounded at random to one of its two neighbours, its mean kept.
A policy that remembers rounded returns plays a problem whose optimum is no lower, and loses little in the true one
(docs/theory/online.md, 5).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxatk.base.types import Bools, Ints, Number
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.risk import series
from maxatk.learning.tuning import TUNING
from maxatk.planning.certified.lattice import LARGEST_DENOMINATOR, simplest

MOST_POINTS = 512  # of a lattice that holds all rewards
ROUNDED_POINTS = 64  # of one that they are rounded to


@dataclass(frozen=True)
class Points:
    """Returns as whole numbers of steps, and its share of the risk: the less likely it was to be chosen, the less."""

    setting: CheckedEpisodes
    kappa: float
    rounds: bool  # whether rewards are rounded to it
    name: str
    share: Fraction

    @property
    def first(self) -> int:
        """What is in hand at least, rounded up: more can only be worth more."""
        least = self.setting.least / self.kappa
        return math.floor(least + 1e-9) if self.setting.best_so_far == -math.inf else math.ceil(least - 1e-9)

    @property
    def top(self) -> int:
        """What no best return exceeds, rounded up; there is something to win, be it less than a step."""
        spread = self.setting.horizon if self.rounds else 0  # of rounding each reward up
        return max(math.ceil(self.setting.most / self.kappa - 1e-9) + spread, self.first + 1)

    @property
    def rise(self) -> int:
        """The greatest reward."""
        return math.ceil(self.setting.most_reward / self.kappa - 1e-9)

    @property
    def fall(self) -> int:
        """The least reward."""
        return math.floor(self.setting.least_reward / self.kappa + 1e-9)

    @property
    def highest(self) -> int:
        """What no partial return that matters exceeds: where no reward is negative, what no return does."""
        return max(self.top, 0) if self.setting.least_reward >= 0 else self.setting.horizon * max(self.rise, 0)

    @property
    def high(self) -> Ints:
        """The greatest partial return by step [H + 1]."""
        return np.minimum(np.arange(self.setting.horizon + 1) * self.rise, self.highest)

    def low(self, m: int) -> Ints:
        """The least partial return by step [H + 1] that can still beat ``m``, or that can occur."""
        h = np.arange(self.setting.horizon + 1)
        ahead = self.setting.horizon - h
        left = ahead * self.rise
        if self.setting.can_terminate:  # then there may be one step to come, or all of them
            left = np.maximum(left, np.minimum(ahead, 1) * self.rise)
        return np.maximum(h * self.fall, m - left + 1)

    @property
    def width(self) -> int:
        """The cells of the widest step."""
        return max(int((self.high - self.low(self.first)).max()) + 1, 1)

    def reached(self, jumps: Ints) -> Bools:
        """Which partial returns rollouts can come to by step, with such rewards or the greatest: [H + 1, width].

        The first of each step is the least that may beat what is in hand.
        """
        base, high = self.low(self.first), self.high
        reached = np.zeros((len(base), self.width + 1), np.bool_)
        present = np.array([0])
        different = np.unique(np.append(jumps, self.rise))
        for h in range(len(base)):
            present = present[(present >= base[h]) & (present <= high[h])]
            reached[h, present - base[h]] = True
            present = np.unique(np.minimum(present[:, None] + different, self.highest))
        return reached

    def knots(self) -> Ints:
        """The best returns at which curves are computed: all, or some of many."""
        every = np.arange(self.first, self.top)
        if len(every) <= TUNING.curve_knots:
            return every
        return np.unique(np.linspace(self.first, self.top - 1, TUNING.curve_knots).round().astype(np.int64))

    def functions(self, k: int) -> int:
        """How many functions of an outcome a bound from above bets on: one for each row, step, rollout and cell."""
        layer_rows = np.bincount(self.setting.layer, minlength=self.setting.n_layers)
        cells = self.high[:-1] - np.arange(self.setting.horizon) * self.fall + 1  # [H] partial returns
        within = int((layer_rows[self.setting.step_layer] * cells).sum())
        return k * (self.top - self.first + 1) * (within + 1)  # and one for the start

    def index(self, amount: Number) -> int:
        """The greatest point that is no more than an amount, but for rounding."""
        return math.floor(float(amount) / self.kappa + 1e-9)

    def jump(self, reward: float, rng: np.random.Generator) -> int:
        """A reward in steps; where it lies between two points it is rounded at random, its mean kept."""
        below, part = self._between(reward)
        return below if part <= 1e-9 else below + int(rng.random() < part)

    def jumps(self, reward: float, n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """The same of ``n`` equal rewards: jumps, and how many of the rewards make each."""
        below, part = self._between(reward)
        above = int(rng.binomial(n, part)) if part > 1e-9 else 0
        return [(jump, times) for jump, times in ((below, n - above), (below + 1, above)) if times]

    def _between(self, reward: float) -> tuple[int, float]:
        """The point at or below a reward, and how far that is from it, in steps."""
        steps = reward / self.kappa
        below = math.floor(steps + 1e-9)
        return below, steps - below


def points_for(setting: CheckedEpisodes, rewards: Iterable[float], rounds: bool) -> Points:
    """The lattice for rewards that were seen; once they are rounded, they stay rounded."""
    step = None if rounds else _common_step(setting, rewards)
    span = setting.most - setting.least
    if step is not None and span <= MOST_POINTS * step:
        share = series(step.numerator) * series(step.denominator) / 2
        return Points(setting, float(step), False, f"lattice of step {step}", share)
    return Points(setting, span / ROUNDED_POINTS, True, "lattice for rounded rewards", Fraction(1, 2))


def _common_step(setting: CheckedEpisodes, rewards: Iterable[float]) -> Fraction | None:
    """The largest number that all rewards are multiples of; before any was seen, what their range suggests."""
    amounts = [simplest(r) for r in set(rewards) if r != 0]
    amounts = amounts or [simplest(r) for r in (setting.least_reward, setting.most_reward) if r != 0] or [Fraction(1)]
    if setting.best_so_far > setting.return_range[0] and setting.best_so_far != 0:
        amounts.append(simplest(setting.best_so_far))  # what is in hand is told apart from what beats it
    if any(r.denominator > LARGEST_DENOMINATOR for r in amounts):
        return None
    scale = math.lcm(*(r.denominator for r in amounts))
    return Fraction(math.gcd(*(int(r * scale) for r in amounts)), scale)
