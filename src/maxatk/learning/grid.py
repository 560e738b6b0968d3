"""The grid of returns that learners plan on: whole numbers of steps.

Where all rewards seen are multiples of one number that is the step. Otherwise rewards lie between points of the grid,
and there are two ways: each is rounded at random to one of its two neighbours, its mean kept, so that a policy that
remembers rounded returns plays a problem whose optimum is no lower (docs/theory/online.md, 5); or chords between the
points bound values, which are convex, from above (docs/theory/learning.md, 3).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxatk import kernels
from maxatk.base.types import Floats, Ints, Number
from maxatk.learning.models import Checked
from maxatk.learning.risk import GridClaim, Risk, series
from maxatk.learning.tuning import TUNING
from maxatk.planning.certified.lattice import LARGEST_DENOMINATOR, simplest

_NEAR, _FAR = 2.0 ** (np.arange(-48, 1) / 4), 2.0 ** (np.arange(-48, 49) / 4)
STAKES = np.concatenate((-_NEAR[::-1], [0.0], _FAR))  # distances from the greatest return, in ranges of returns
EPISODE_POINTS, ROW_POINTS = 512, 4096  # of a grid that holds all rewards of episodes, or of sampled rows, at most
ROUNDED_POINTS = 64  # of a grid that rewards are rounded to
MOST_REWARDS = 10_000  # that differ, for a common step to be looked for
NEAR = 1e-9  # of a step: a return that is so near to a point lies on it


class Kind(StrEnum):
    """How rewards lie on a grid."""

    WHOLE = "whole"  # all on points
    ROUNDED = "rounded"  # between points, and rounded to one of two at random
    CHORDS = "chords"  # between points, where chords bound values


@dataclass(frozen=True)
class ReturnGrid:
    """Returns as whole numbers of steps, for what is ``known`` of a problem.

    ``number`` tells grids of one kind apart: the step of a whole one, ``p`` where chords divide the range of returns
    into ``2**p`` steps, and the number of steps of a rounded one.
    """

    known: Checked
    kind: Kind
    number: Fraction

    @cached_property
    def kappa(self) -> float:
        """The step."""
        if self.kind is Kind.WHOLE:
            return float(self.number)
        span = self.known.most - self.known.least
        return span / 2 ** int(self.number) if self.kind is Kind.CHORDS else span / int(self.number)

    @property
    def rounds(self) -> bool:
        """Whether rewards are rounded to it."""
        return self.kind is Kind.ROUNDED

    # Returns and rewards.

    @cached_property
    def first(self) -> int:
        """The least best return, rounded up where one is given: a larger one has no smaller value."""
        least = self.known.least / self.kappa
        return math.floor(least + NEAR) if self.known.best_so_far == -math.inf else math.ceil(least - NEAR)

    @cached_property
    def top(self) -> int:
        """What no best return exceeds, rounded up; at least one above the first."""
        spread = self.known.horizon if self.rounds else 0  # of rounding each reward up
        return max(math.ceil(self.known.most / self.kappa - NEAR) + spread, self.first + 1)

    @cached_property
    def last(self) -> int:
        """The last point of a curve: for chords it lies beyond the top, where a curve that is cut is not convex."""
        return max(self.top, self.highest) if self.kind is Kind.CHORDS else self.top

    @cached_property
    def rises(self) -> Ints:
        """The greatest reward of each row [N]."""
        rewards = self.known.rewards
        greatest = np.full(self.known.n_rows, self.known.most_reward) if rewards is None else rewards
        return np.ceil(greatest / self.kappa - NEAR).astype(np.int64)

    @cached_property
    def rise(self) -> int:
        """The greatest reward."""
        return int(self.rises.max())

    @cached_property
    def fall(self) -> int:
        """The least reward."""
        return math.floor(self.known.least_reward / self.kappa + NEAR)

    def index(self, amount: Number) -> int:
        """The greatest point that is no more than an amount, but for rounding."""
        return math.floor(float(amount) / self.kappa + NEAR)

    def between(self, rewards: Floats) -> tuple[Ints, Floats]:
        """The points at or below rewards, and how far above them the rewards are, in steps."""
        steps = rewards / self.kappa
        below = np.floor(steps + NEAR)
        part = steps - below
        return below.astype(np.int64), np.where(part <= NEAR, 0.0, part)

    def in_steps(self, rewards: Floats) -> tuple[Ints, Floats]:
        """Rewards that were counted [T] in steps, and what is left of them where chords bound values."""
        if self.kind is Kind.CHORDS:
            return self.between(rewards)
        return np.rint(rewards / self.kappa).astype(np.int64), np.zeros(len(rewards))

    def rounded(self, reward: float, n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """``n`` equal rewards in steps, rounded at random, their mean kept: jumps, and how many rewards make each."""
        points, parts = self.between(np.array([reward]))
        below, part = int(points[0]), float(parts[0])
        above = int(rng.binomial(n, part)) if part else 0
        return [(jump, times) for jump, times in ((below, n - above), (below + 1, above)) if times]

    # The cells of a sweep.

    @cached_property
    def highest(self) -> int:
        """What no partial return that matters exceeds: where no reward is negative, what no return does."""
        if self.known.least_reward >= 0 and self.kind is not Kind.CHORDS:
            return max(self.top, 0)
        return self.known.horizon * max(self.rise, 0)

    @cached_property
    def high(self) -> Ints:
        """The greatest partial return by step [H + 1]."""
        return np.minimum(np.arange(self.known.horizon + 1) * self.rise, self.highest)

    def low(self, m: int) -> Ints:
        """The least partial return by step [H + 1] that can still beat ``m``, or that can occur."""
        h = np.arange(self.known.horizon + 1)
        ahead = self.known.horizon - h
        left = ahead * self.rise
        if self.known.can_terminate:  # then there may be one step to come, or all of them
            left = np.maximum(left, np.minimum(ahead, 1) * self.rise)
        return np.maximum(h * self.fall, m - left + 1)

    @cached_property
    def width(self) -> int:
        """The cells of the widest step."""
        return max(int((self.high - self.low(self.first)).max()) + 1, 1)

    def cells(self, jumps: Ints) -> kernels.Cells:
        """The partial returns that rollouts can come to by step, with such rewards or the greatest."""
        base, high = self.low(self.first), self.high
        reached = np.zeros((len(base), self.width + 1), np.bool_)
        present = np.array([0])
        different = np.unique(np.concatenate([jumps, self.rises]))
        for h in range(len(base)):
            present = present[(present >= base[h]) & (present <= high[h])]
            reached[h, present - base[h]] = True
            present = np.unique(np.minimum(present[:, None] + different, self.highest))
        return kernels.Cells(high, self.highest, base, reached)

    def knots(self) -> Ints:
        """The best returns at which curves are computed: all, or some of many."""
        every = np.arange(self.first, self.top)
        if len(every) <= TUNING.curve_knots:
            return every
        return np.unique(np.linspace(self.first, self.top - 1, TUNING.curve_knots).round().astype(np.int64))

    # What bounds on it take of the risk, and what floating point takes of them.

    @property
    def share(self) -> Fraction:
        """Its share of the risk: half of it is for whole grids, so that a grid may be chosen by what was seen."""
        if self.kind is Kind.WHOLE:
            return series(self.number.numerator) * series(self.number.denominator) / 2
        return series(int(self.number)) / 2 if self.kind is Kind.CHORDS else Fraction(1, 2)

    def functions(self, k: int) -> int:
        """How many functions of an outcome a bound bets on: one for each row, step, rollout and cell."""
        known = self.known
        layer_rows = np.bincount(known.layer, minlength=known.n_layers)
        cells = self.high[:-1] - np.arange(known.horizon) * self.fall + 1  # [H] partial returns
        within = int((layer_rows[known.step_layer] * cells).sum())
        return k * (self.top - self.first + 1) * (within + 1)  # and one for the start

    def log(self, account: Risk, k: int) -> float:
        """``ln(1/delta')`` of each bet on it, for ``k`` rollouts: all bets together have its share of the account."""
        claims = self.functions(k) * len(STAKES)
        return account.share(GridClaim(self.kind, self.number), self.share).log(claims)

    def rounding(self, k: int, outcomes: int, rewards: Floats) -> float:
        """What floating point may add up to in a bound, and rewards that are off their points, or taken to be on them.

        ``outcomes`` is the number of different ones of a row, at most; ``rewards`` are those that were counted.
        """
        known, span = self.known, self.kappa * (self.top - self.first)
        size = 2.0**12 * span * (10 + abs(math.log(span))) + abs(known.least) + abs(known.most)
        off = NEAR * self.kappa
        if self.kind is Kind.WHOLE:
            off = float(np.abs(rewards - self.kappa * np.rint(rewards / self.kappa)).max(initial=0.0))
        sums = known.horizon * (max(outcomes, known.n_states) + 16) + 16
        return k * sums * 2.0**-52 * size + k * known.horizon * off

    def excess(self, k: int) -> float:
        """How much more the best of ``k`` returns on the grid may be than that of the true ones, in expectation.

        A policy earns at least what it would earn on the grid, less this (docs/theory/online.md, 5): its best return
        may begin higher, and where rewards are rounded the largest of ``k`` errors has a mean above 0. Where rounded
        returns are cut off at the first point, what they lack there is one error more, which is 0.
        """
        known = self.known
        higher = max(self.kappa * self.first - known.least, 0.0)
        if not self.rounds:
            return higher
        least = min(self.fall * n for n in ((1, known.horizon) if known.can_terminate else (known.horizon,)))
        return higher + self.kappa * chord_cost(k + (least < self.first), known.horizon)


def grid_for_episodes(known: Checked, rewards: Iterable[float], rounds: bool) -> ReturnGrid:
    """The grid for rewards of episodes that were seen; once they are rounded, they stay rounded."""
    step = None if rounds else _common_step(known, rewards, EPISODE_POINTS)
    if step is not None:
        return ReturnGrid(known, Kind.WHOLE, step)
    return ReturnGrid(known, Kind.ROUNDED, Fraction(ROUNDED_POINTS))


def grid_for_rows(known: Checked, rewards: Iterable[float], k: int, epsilon: float) -> ReturnGrid:
    """The grid for rewards of sampled rows: whole, or so fine that chords cost little of ``epsilon``."""
    step = _common_step(known, rewards, ROW_POINTS)
    if step is not None:
        return ReturnGrid(known, Kind.WHOLE, step)
    fine = 20 * chord_cost(k, known.horizon) * (known.most - known.least) / epsilon
    return ReturnGrid(known, Kind.CHORDS, Fraction(min(max(math.ceil(math.log2(max(fine, 1))), 6), 12)))


def chord_cost(k: int, horizon: int) -> float:
    """What chords in place of values cost at most, in steps: a chord rounds a reward without bias.

    It is what the largest of ``k`` sums of ``horizon`` errors comes to, in expectation: uncorrelated, their means 0,
    each in an interval of length 1, whatever came before it.
    """
    return min((k - 1) / (2 * math.sqrt(k)), math.sqrt(math.log(k) / 2)) * math.sqrt(horizon)


def _common_step(known: Checked, rewards: Iterable[float], points: int) -> Fraction | None:
    """The largest number that all rewards are multiples of, if it is not too small; before any was seen, what their
    range suggests."""
    different = {r for r in rewards if r != 0}
    if len(different) > MOST_REWARDS:
        return None
    amounts = [simplest(r) for r in different]
    amounts = amounts or [simplest(r) for r in (known.least_reward, known.most_reward) if r != 0] or [Fraction(1)]
    if known.best_so_far > known.return_range[0] and known.best_so_far != 0:
        amounts.append(simplest(known.best_so_far))  # so that it is told apart from what beats it
    if any(r.denominator > LARGEST_DENOMINATOR for r in amounts):
        return None
    scale = math.lcm(*(r.denominator for r in amounts))
    step = Fraction(math.gcd(*(int(r * scale) for r in amounts)), scale)
    return step if known.most - known.least <= points * step else None
