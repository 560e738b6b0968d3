"""Returns on a lattice: one that holds all rewards, or one between whose points they lie. Arithmetic, nothing else."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Bools, Floats, Ints, Number
from maxatk.planning.tuning import TUNING
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP

LARGEST_DENOMINATOR = 10**6
MOST_POINTS = 2**48  # of a lattice whose points floats tell apart
FAR = 2.0**62  # beyond any index of a lattice point


def simplest(x: Number) -> Fraction:
    """The simplest fraction that a number is the nearest float to (0.1 as 1/10), or else exactly what it is."""
    exact = Fraction(x)
    simple = exact.limit_denominator(LARGEST_DENOMINATOR)
    near = abs(simple - exact) <= 4 * Fraction(math.ulp(float(exact)))  # 3 * 0.1 counts as 3/10, too
    return simple if near else exact


def common_step(mdp: MDP) -> Fraction | None:
    """The largest number that all rewards are multiples of, if a lattice of that step can be swept."""
    step = common_step_of(mdp, TUNING.common_points)
    apart = Fraction(float(mdp.reward.max())) - Fraction(float(mdp.reward.min()))  # unreached states count, too
    return None if step is None or apart * mdp.horizon > kernels.WIDEST // 2 * step else step


def common_step_of(mdp: MDP, points: int = MOST_POINTS) -> Fraction | None:
    """:func:`largest_common_step`, which is kept with the problem."""
    return mdp.analysis.once(("common step", points), lambda: largest_common_step(mdp, points))


def largest_common_step(mdp: MDP, points: int) -> Fraction | None:
    """The largest number that all rewards are multiples of, if they are multiples of anything sensible.

    Floats count as the simplest fraction that they round (0.1 as 1/10), also beside fractions; what that leaves out is
    :attr:`WholeLattice.error`. None if a lattice of that step had more than ``points`` points.
    """
    if mdp.exact_reward is not None:
        rewards = [simplest(r) if _is_float(r) else r for r in dict.fromkeys(mdp.exact_reward)]
    else:
        floats = np.unique(mdp.reward)
        if len(floats) > 10_000:
            return None
        rewards = [simplest(r) for r in floats.tolist()]
    if any(_is_float(r) and r.denominator > LARGEST_DENOMINATOR for r in rewards):
        return None
    largest = max(map(abs, rewards)) * mdp.horizon
    step = Fraction(0)
    for r in rewards:
        step = Fraction(math.gcd(step.numerator, r.numerator), math.lcm(step.denominator, r.denominator))
        if largest > 2**52 * step > 0:  # it will only become less
            return None
    if step == 0:
        return Fraction(1)
    return None if returns_apart(mdp) > points * step else step


def _is_float(r: Fraction) -> bool:
    """Whether a fraction is what a float may stand for: its denominator is a power of two."""
    return r.denominator & (r.denominator - 1) == 0


def returns_apart(mdp: MDP) -> Fraction:
    """How far apart the returns of rollouts can be at one time, at most.

    Where all rewards are large that is less than the range of all returns: those of rollouts that end early lie far
    from the others, and what is between is empty.
    """
    low, high = (Fraction(r) for r in mdp.return_range)
    spread = Fraction(float(mdp.reward.max())) - Fraction(float(mdp.reward.min()))
    return max(min(high - low, spread * mdp.horizon), Fraction(0))


@dataclass(frozen=True)
class Lattice(ABC):
    """A problem with its returns counted in steps of ``kappa``."""

    problem: DecisionProblem
    kappa: float

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "kappa": self.kappa}  # a copy derives the rest itself

    @property
    def mdp(self) -> MDP:
        """The problem without what its rollouts are for."""
        return self.problem.mdp

    @cached_property
    def moves(self) -> kernels.Moves:
        """What outcomes add to returns on the lattice."""
        (steps, part), most_left = self.jumps(self.mdp.reward), self._most_left()
        if np.abs(steps).max() * self.mdp.horizon >= kernels.WIDEST:
            raise TooLargeError(f"a lattice of step {self.kappa:g} has too many points for these rewards")
        return kernels.Moves(steps.astype(np.int32), part, most_left.astype(np.int64), self.drift)

    @cached_property
    def floor(self) -> float:
        """Up to here the last rollout's curve is flat (docs/theory/costs.md, 5): below, what is in hand is no better
        than nothing."""
        flat = self.problem.flat_below
        if not self.problem.may_abandon:
            return flat
        below = flat - 2.0**-40 * abs(flat)  # where costs are so huge that no point is counted
        return min(self.kappa * (self.index(flat) - 1), below)

    @abstractmethod
    def jumps(self, reward: Floats) -> tuple[Floats, Floats]:
        """Rewards [n] beyond the drift in lattice steps, rounded down, and what is left of them."""

    @abstractmethod
    def _most_left(self) -> Floats:
        """Jumps that can still be gained, [H + 1, S]."""

    @property
    def _drift_left(self) -> Ints:
        """What the drift still adds from each step on, [H + 1, 1]."""
        return np.arange(self.mdp.horizon, -1, -1)[:, None] * self.drift

    @cached_property
    def drift(self) -> int:
        """The middle of the rewards in lattice steps, where they are far from 0 for their range; else 0."""
        low, high = float(self.mdp.reward.min()), float(self.mdp.reward.max())
        middle = (low + high) / 2
        return round(middle / self.kappa) if abs(middle) > 64 * (high - low + self.kappa) else 0

    def steps(self, amounts: Floats | float) -> Floats:
        """Amounts in lattice steps."""
        return np.asarray(amounts, np.float64) / self.kappa

    # What the two kinds differ in.

    @property
    @abstractmethod
    def error(self) -> float:
        """How far a reward is from where the lattice has it, at most."""

    @property
    @abstractmethod
    def blur(self) -> float:
        """How far the lattice walk of a rollout may drift from its true return."""

    @abstractmethod
    def index(self, m: float, phase: float = 0.0) -> int:
        """The greatest lattice point ``kappa * index + phase`` that is at most ``m``."""

    @abstractmethod
    def last_index(self, most: float) -> int:
        """A lattice point from which on nothing can be improved, where ``most`` is the greatest return."""

    @abstractmethod
    def points(self, step: int, so_far: Floats) -> Ints:
        """The lattice points ``g`` at which a policy looks for returns [n] at a step."""

    @abstractmethod
    def point(self, step: int, so_far: float) -> int:
        """:meth:`points` of one return."""

    @abstractmethod
    def place(self, step: int, so_far: float) -> tuple[int, float]:
        """A lattice point and a phase that together are any return at all."""

    # Knots: best returns at which curves are bounded.

    @property
    @abstractmethod
    def knot_step(self) -> float | None:
        """Knots are multiples of this; None where they may lie anywhere."""

    @abstractmethod
    def knot(self, m: float) -> float:
        """The greatest possible knot up to ``m``."""

    def nearby_point(self, m: float, noise: float) -> float:
        """``m``, or a return that is no farther from it than ``noise``, if there is one."""
        return m


@dataclass(frozen=True)
class WholeLattice(Lattice):
    """All rewards are multiples of the step: sweeps are exact under the lower curve (docs/theory/planner.md, 6).

    What does not expand differences passes the gap of a curve on to the one before.
    """

    def jumps(self, reward: Floats) -> tuple[Floats, Floats]:
        """All of it: nothing is left."""
        return np.rint(reward / self.kappa) - self.drift, np.zeros(len(reward))

    def _most_left(self) -> Floats:
        return np.rint(self.mdp.analysis.most / self.kappa) - self._drift_left.astype(np.float64)

    @property
    def whole_steps(self) -> Ints:
        """All rewards in lattice steps, [T]."""
        return np.rint(self.mdp.reward / self.kappa).astype(np.int64)

    def steps(self, amounts: Floats | float) -> Floats:
        """Amounts in lattice steps; what is whole but for rounding is whole."""
        steps = super().steps(amounts)
        whole = np.rint(steps)
        return np.where(np.abs(steps - whole) < 1e-9 * np.maximum(np.abs(whole), 1), whole, steps)

    @property
    def error(self) -> float:
        """How far a reward is from its place, at most: steps such as 0.1 are hit by no float."""
        return self._error

    @cached_property
    def _error(self) -> float:
        rewards = self.mdp.exact_reward or tuple(Fraction(r) for r in np.unique(self.mdp.reward).tolist())
        kappa = Fraction(self.kappa)
        return max(float(abs(r - kappa * round(r / kappa))) for r in rewards)

    @property
    def blur(self) -> float:
        """Nothing."""
        return 0.0

    def index(self, m: float, phase: float = 0.0) -> int:
        """The greatest lattice point up to ``m``; ``m`` itself where it is one, but for rounding.

        Far beyond all returns it is any that is.
        """
        m = _counted(m, self.kappa)
        nearest = round((m - phase) / self.kappa)
        on = abs(m - phase - self.kappa * nearest) <= self._slack
        return nearest if on else _index_below(m, phase, self.kappa)

    @cached_property
    def _slack(self) -> float:
        """How far a sum of rewards may be from its lattice point by rounding."""
        return min(self.mdp.horizon * (self.error + 2.0**-52 * self.problem.largest), self.kappa / 4)

    def are_points(self, m: Floats) -> Bools:
        """Whether returns [n] are on the lattice, but for the rounding of sums of rewards."""
        return np.abs(m - self.kappa * np.rint(m / self.kappa)) <= self._slack

    def last_index(self, most: float) -> int:
        """The greatest return's own."""
        return self.index(most)

    def points(self, step: int, so_far: Floats) -> Ints:
        """The nearest."""
        return np.rint(_steps_of(so_far, self.kappa)).astype(np.int64) - self.drift * step

    def point(self, step: int, so_far: float) -> int:
        """The nearest."""
        return round(_step_of(so_far, self.kappa)) - self.drift * step

    def is_point(self, m: float) -> bool:
        """:meth:`are_points` of one return."""
        far = m / self.kappa
        return abs(far) < math.inf and abs(m - self.kappa * round(far)) <= self._slack

    def place(self, step: int, so_far: float) -> tuple[int, float]:
        """Without a phase where the return is on the lattice."""
        if self.are_points(np.array([so_far]))[0]:
            return int(self.points(step, np.array([so_far]))[0]), 0.0
        return _place_below(so_far, self.kappa, self.drift * step)

    @property
    def knot_step(self) -> float:
        """Every best return is a lattice point."""
        return self.kappa

    def knot(self, m: float) -> float:
        """The lattice point at or below ``m``; or ``m``, where that is too far away for points to be counted."""
        return self.kappa * self.index(m) if _counted(m, self.kappa) == m else m

    def nearby_point(self, m: float, noise: float) -> float:
        """A lattice point, if there is one."""
        nearest = self.kappa * round(m / self.kappa)
        return nearest if abs(nearest - m) <= noise else m


@dataclass(frozen=True)
class RealLattice(Lattice):
    """Rewards lie anywhere between lattice points, and values are bounded on both sides (docs/theory/planner.md, 7)."""

    def jumps(self, reward: Floats) -> tuple[Floats, Floats]:
        """Whole steps, and what is left of one."""
        steps = (reward - self.drift * self.kappa) / self.kappa
        jump = np.floor(steps)
        return jump, np.clip(steps - jump, 0.0, 1.0)

    def _most_left(self) -> Floats:
        # Generous to the rounding here.
        return np.ceil((self.mdp.analysis.most - self._drift_left * self.kappa) / self.kappa + 1e-6)

    @property
    def error(self) -> float:
        """Nothing: what a lattice step leaves out is kept beside it."""
        return 0.0

    @property
    def blur(self) -> float:
        """A lattice step for each step."""
        return self.mdp.horizon * self.kappa

    def index(self, m: float, phase: float = 0.0) -> int:
        """The greatest lattice point up to ``m``."""
        return _index_below(m, phase, self.kappa)

    def last_index(self, most: float) -> int:
        """One above the greatest return."""
        return self.index(most) + 1

    def points(self, step: int, so_far: Floats) -> Ints:
        """Those below."""
        return np.floor(_steps_of(so_far, self.kappa)).astype(np.int64) - self.drift * step

    def point(self, step: int, so_far: float) -> int:
        """The one below."""
        return math.floor(_step_of(so_far, self.kappa)) - self.drift * step

    def place(self, step: int, so_far: float) -> tuple[int, float]:
        """The return itself is made a lattice point."""
        return _place_below(so_far, self.kappa, self.drift * step)

    @property
    def knot_step(self) -> None:
        """Knots may lie anywhere."""
        return

    def knot(self, m: float) -> float:
        """``m`` itself."""
        return m


def _counted(m: float, kappa: float) -> float:
    """``m``, or as much as can be counted in lattice steps: what is in hand may lie anywhere."""
    far = kappa * FAR / 2
    return min(max(m, -far), far)


def _index_below(m: float, phase: float, kappa: float) -> int:
    m = _counted(m, kappa)
    below = math.floor((m - phase) / kappa)
    return below if below * kappa + phase <= m else below - 1


def _steps_of(so_far: Floats, kappa: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.clip(so_far / kappa, -FAR, FAR)


def _step_of(so_far: float, kappa: float) -> float:
    return min(max(so_far / kappa, -FAR), FAR)


def _place_below(so_far: float, kappa: float, drift: int) -> tuple[int, float]:
    below = math.floor(min(max(so_far / kappa, -FAR), FAR))
    return below - drift, so_far - kappa * below
