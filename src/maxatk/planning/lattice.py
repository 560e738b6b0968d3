"""A problem on a lattice of returns, and the slices of it that kernels sweep."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Bools, Floats, Ints, Number
from maxatk.planning.curves import Curve
from maxatk.problem.mdp import MDP

MOST_POINTS = 2**22  # of a lattice that is tried as a common step
LARGEST_DENOMINATOR = 10**6
TOGETHER = 4  # knots that one sweep on an exact lattice takes


class Bounds(NamedTuple):
    """What slices are worth, by knot."""

    upper: Floats  # [n]
    lower: Floats  # [n]
    slope: Floats  # [n] of the lower bound, in m


class Map(Protocol):
    """Anything that maps a function over a list: the built-in ``map``, a pool's ``map``, a cluster's."""

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterable[Any]:
        """``function`` of each item, in order."""
        ...


def simplest(x: Number) -> Fraction:
    """The simplest fraction that a number is the nearest float to (0.1 as 1/10), or else exactly what it is."""
    exact = Fraction(x)
    simple = exact.limit_denominator(LARGEST_DENOMINATOR)
    near = abs(simple - exact) <= 4 * Fraction(math.ulp(float(exact)))  # 3 * 0.1 counts as 3/10, too
    return simple if near else exact


def common_step(mdp: MDP) -> Fraction | None:
    """The largest number that all rewards are multiples of, if they are multiples of anything sensible.

    Floats count as the simplest fraction that they round (0.1 as 1/10), also beside fractions; what that leaves out is
    :attr:`Lattice.error`.
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
    scale = math.lcm(*(r.denominator for r in rewards))
    step = Fraction(math.gcd(*(int(r * scale) for r in rewards)), scale)
    if step == 0:
        return Fraction(1)
    largest = max(map(abs, rewards)) * mdp.horizon
    spread = (max(rewards) - min(rewards)) * mdp.horizon  # states that no rollout reaches count, too
    if returns_apart(mdp) > MOST_POINTS * step or spread > kernels.WIDEST // 2 * step or largest > 2**52 * step:
        return None
    return step


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
class Lattice:
    """``mdp`` with its returns counted in steps of ``kappa``; ``exact`` where all rewards are multiples of it."""

    mdp: MDP
    kappa: float
    exact: bool

    @cached_property
    def tables(self) -> kernels.Tables:
        """The problem as kernels take it."""
        mdp = self.mdp
        drift = self._drift
        left = np.arange(mdp.horizon, -1, -1)[:, None] * drift
        if self.exact:
            jump = np.rint(mdp.reward / self.kappa) - drift
            part = np.zeros(len(jump))
            most_left = np.rint(mdp.most / self.kappa) - left
        else:
            steps = (mdp.reward - drift * self.kappa) / self.kappa
            jump = np.floor(steps)
            part = np.clip(steps - jump, 0.0, 1.0)
            most_left = np.ceil((mdp.most - left * self.kappa) / self.kappa + 1e-6)  # generous to the rounding here
        if np.abs(jump).max() * mdp.horizon >= kernels.WIDEST:
            raise TooLargeError(f"a lattice of step {self.kappa:g} has too many points for these rewards")
        jump = jump.astype(np.int32)
        first, last = self._reachable(jump, part, 0, mdp.start_state)
        return kernels.Tables(
            step_layer=mdp.step_layer,
            pair_start=mdp.pair_start,
            outcome_start=mdp.outcome_start,
            prob=mdp.row_prob,
            next_state=mdp.next_state,
            reward=mdp.reward,
            jump=jump,
            part=part,
            drift=drift,
            most_left=most_left.astype(np.int64),
            first=first,
            last=last,
        )

    @cached_property
    def _drift(self) -> int:
        """The middle of the rewards in lattice steps, where they are far from 0 for their range; else 0."""
        low, high = float(self.mdp.reward.min()), float(self.mdp.reward.max())
        middle = (low + high) / 2
        return round(middle / self.kappa) if abs(middle) > 64 * (high - low + self.kappa) else 0

    def _reachable(self, jump: Any, part: Any, step: int, states: Any) -> Any:
        mdp = self.mdp
        return stopping.run(
            *(kernels.reachable, mdp.step_layer, mdp.pair_start, mdp.outcome_start, mdp.next_state, jump, part),
            *(mdp.n_states, step, states),
        )

    def tables_from(self, step: int, state: int) -> kernels.Tables:
        """The tables with a return of 0 in ``state`` at ``step`` as the only start."""
        first, last = self._reachable(self.tables.jump, self.tables.part, step, np.array([state], np.int32))
        return self.tables._replace(first=first, last=last)

    @cached_property
    def error(self) -> float:
        """How far a reward is from its place on an exact lattice, at most."""
        if not self.exact:
            return 0.0
        rewards = self.mdp.exact_reward or tuple(Fraction(r) for r in np.unique(self.mdp.reward).tolist())
        kappa = Fraction(self.kappa)
        return max(float(abs(r - kappa * round(r / kappa))) for r in rewards)

    def steps(self, amounts: Floats | float) -> Floats:
        """Amounts in lattice steps; on an exact lattice what is whole but for rounding is whole."""
        steps = np.asarray(amounts, np.float64) / self.kappa
        if not self.exact:
            return steps
        whole = np.rint(steps)
        return np.where(np.abs(steps - whole) < 1e-9 * np.maximum(np.abs(whole), 1), whole, steps)

    def index(self, m: float, phase: float = 0.0) -> int:
        """The greatest lattice point ``kappa * index + phase`` that is at most ``m``."""
        nearest = round((m - phase) / self.kappa)
        if self.exact and self.is_point(m - phase):
            return nearest
        below = math.floor((m - phase) / self.kappa)
        return below if below * self.kappa + phase <= m else below - 1

    def is_point(self, m: float) -> bool:
        """Whether ``m`` is on the lattice, but for the rounding of sums of rewards."""
        return bool(self.are_points(np.array([m]))[0])

    def are_points(self, m: Floats) -> Bools:
        """The same for many [n]."""
        slack = self.mdp.horizon * (self.error + 2.0**-52 * self.largest)
        return np.abs(m - self.kappa * np.rint(m / self.kappa)) <= min(slack, self.kappa / 4)

    @cached_property
    def largest(self) -> float:
        """A bound on the size of every partial return."""
        return float(np.abs(self.mdp.reward).max()) * self.mdp.horizon


class Slice:
    """One slice: the best return held at ``m``, the curve ``after`` paid at the end. On an exact lattice, or several.

    Args:
        lattice: the problem.
        tables: the lattice's, or those from another start.
        after: the curve of the next rollout.
        ms: the best return so far, at least the floor of ``after``; on an exact lattice there may be several.
        shifts: the least and greatest return at the start, in lattice steps: (0, 0) but for sweeps over many returns.
        phase: a return that is added to every lattice point.
        keep: whether all layers are kept, for acting, or only two at a time.
        memory: how many bytes the slice may take.
    """

    def __init__(
        self,
        lattice: Lattice,
        tables: kernels.Tables,
        after: Curve,
        *ms: float,
        shifts: tuple[int, int] = (0, 0),
        phase: float = 0.0,
        keep: bool = False,
        memory: float = math.inf,
    ) -> None:
        self.lattice, self.tables, self.after, self.m, self.phase = lattice, tables, after, ms[0], phase
        self._ms = ms
        self.idle = (float(after.upper(ms[0])), float(after.lower(ms[0])), after.slope(ms[0]))
        if max(map(abs, shifts)) >= kernels.WIDEST:
            raise TooLargeError(
                f"a return {lattice.kappa * max(map(abs, shifts)):.6g} away from all that is planned for"
            )
        low, pad, high, sizes, ends = stopping.run(kernels.windows, tables, *shifts, lattice.index(min(ms), phase))
        self.final, end_place = _finished(ends)
        first = len(self.final)
        if keep:
            layer_start = first + np.concatenate(([0], np.cumsum(sizes[:-1])))
            total = first + int(sizes.sum())
        else:
            widest = int(sizes.max())
            layer_start = first + widest * (np.arange(len(sizes)) % 2)
            total = first + 2 * widest
        needed = total * (16 * len(ms) if lattice.exact else 36) + 20 * low.size
        if needed > memory:
            raise TooLargeError(f"a slice would take {needed / 2**20:.0f} MiB")
        self.size = needed  # bytes
        self.layout = kernels.Layout(low, pad, high, kernels.places(pad, high, layer_start, end_place, tables.drift))
        if lattice.exact:
            self._sweep_exact(total)
        else:
            self._sweep_bounds(total)

    def _sweep_exact(self, total: int) -> None:
        B, ends = len(self._ms), len(self.final)
        self.lower, self.slope_m = np.empty(total * B), np.empty(total * B)
        value = np.array([float(self.after.lower(m)) for m in self._ms])
        slope = np.array([self.after.slope(m) for m in self._ms])
        final = self.final[:, None]  # [ends, 1]
        idle = final <= np.array([self.lattice.index(m, self.phase) for m in self._ms])  # [ends, B]
        paid = self.after.lower(self.lattice.kappa * final + self.phase)
        self.lower[: ends * B] = np.where(idle, value, paid).ravel()
        self.slope_m[: ends * B] = np.where(idle, slope, 0.0).ravel()
        stopping.run(kernels.exact_layers, self.tables, self.layout, value, slope, self.lower, self.slope_m)

    def _sweep_bounds(self, total: int) -> None:
        self.upper, self.lower, self.slope_g, self.slope_m = (np.empty(total) for _ in range(4))
        self.choice = np.empty(total, np.int32)
        after = self.after
        stopping.run(
            *(kernels.bound_layers, self.tables, self.layout, self.lattice.kappa, self.phase, self.m, self.idle),
            *((after.line_end, after.line_height, after.line_slope), (after.point, after.point_value)),
            *(self.upper, self.lower, self.slope_g, self.slope_m, self.choice),
        )

    def keep_for_acting(self) -> None:
        """Let go of what only bounds need: slopes on an exact lattice, else upper values."""
        dropped = self.slope_m if self.lattice.exact else self.upper
        self.size -= dropped.nbytes
        if self.lattice.exact:
            self.slope_m = dropped[:0].copy()
        else:
            self.upper = dropped[:0].copy()

    def cell(self, step: int, state: int, g: int) -> int | None:
        """Where the cell of ``g`` lies; None where the state is idle there."""
        if g < self.layout.low[step, state]:
            return None
        return int(self.layout.place[step, state]) + g

    def at_start(self) -> Floats:
        """Upper bound, lower bound and slope in ``m`` for each ``m`` [B] when a rollout starts: [3, B]."""
        if len(self._ms) == 1:
            return self.at_returns(np.zeros(1, np.int64))
        mdp, B = self.lattice.mdp, len(self._ms)
        found = np.zeros((3, B))
        for p, s in zip(mdp.reset_prob, mdp.start_state.tolist(), strict=True):
            if self.layout.low[0, s] <= 0:  # the window of the least m holds the start; in others it may be idle
                cells = int(self.layout.place[0, s]) * B + np.arange(B)
                found[1:] += p * np.array([self.lower[cells], self.slope_m[cells]])
            else:
                found[1:] += p * np.array([[float(self.after.lower(m)), self.after.slope(m)] for m in self._ms]).T
        found[0] = found[1]
        return found

    def at_returns(self, g: Ints) -> Floats:
        """The same for a single ``m``, when rollouts start with return ``g`` [n]: [3, n]."""
        mdp = self.lattice.mdp
        found = np.zeros((3, len(g)))
        for p, s in zip(mdp.reset_prob, mdp.start_state.tolist(), strict=True):
            beaten = g >= self.layout.low[0, s]
            cells = self.layout.place[0, s] + g[beaten]
            upper = self.lower if self.lattice.exact else self.upper
            for total, idle, values in zip(found, self.idle, (upper, self.lower, self.slope_m), strict=True):
                total[beaten] += p * values[cells]
                total[~beaten] += p * idle
        if self.lattice.exact:
            found[0] = found[1]
        return found


def _finished(ends: Ints) -> tuple[Ints, Ints]:
    """The returns of the cells of finished rollouts, and where a return of 0 would lie among them by step [H].

    ``ends`` [H, 2] are the returns of rollouts that end with each step. They share cells, unless they lie so far apart
    that cells of their own are fewer.
    """
    sizes = np.maximum(ends[:, 1] - ends[:, 0] + 1, 0)
    if not sizes.any():
        return np.zeros(0, np.int64), np.zeros(len(ends), np.int64)
    low, high = int(ends[:, 0].min()), int(ends[:, 1].max())
    if high - low + 1 <= sizes.sum():
        return np.arange(low, high + 1), np.full(len(ends), -low)
    place: Ints = np.where(sizes > 0, np.cumsum(sizes) - sizes - ends[:, 0], 0)
    final: Ints = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(place, sizes)
    return final, place


def solve_slices(
    lattice: Lattice, after: Curve, gap: float, knots: Sequence[float], map_: Map, memory: float
) -> Bounds:
    """Bounds on ``U_i`` at every knot, from the curve ``after`` it: the one thing planners ask of kernels.

    On an exact lattice a slice is solved for the lower curve alone. Its backup is exact and does not expand
    differences, so adding the largest ``gap`` of the next curve gives the upper bound.
    """

    def sweep(ms: Sequence[float]) -> Floats:
        return Slice(lattice, lattice.tables, after, *ms, memory=memory).at_start()

    # Neighbouring knots together, but in two sweeps at least. How many must not depend on the number of threads, since
    # results would, in their last digits.
    size = min(TOGETHER, max(len(knots) // 2, 1)) if lattice.exact else 1
    batches = [knots[i : i + size] for i in range(0, len(knots), size)]
    upper, lower, slope = np.concatenate(list(map_(sweep, batches)), axis=1)
    return Bounds(upper + gap if lattice.exact else upper, lower, slope)


def last_rollout(lattice: Lattice, least: int, most: int, after: Curve, memory: float) -> Bounds:
    """Bounds on ``U_{K-1}`` at all lattice points ``least .. most`` from one sweep.

    With nothing to come but the best return itself, only ``G - M`` matters: a slice at one ``m`` that starts from many
    returns at once holds them all. The drift of a whole rollout is an ``m`` that keeps the numbers small.
    """
    here = lattice.tables.drift * lattice.mdp.horizon
    shifts = (here - most, here - least)
    sweep = Slice(lattice, lattice.tables, after, lattice.kappa * here, shifts=shifts, memory=memory)
    points = np.arange(least, most + 1) - here
    upper, lower, slope = sweep.at_returns(-points)
    return Bounds(upper + lattice.kappa * points, lower + lattice.kappa * points, slope)
