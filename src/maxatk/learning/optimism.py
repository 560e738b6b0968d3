"""An upper bound on the optimum of a problem of which only samples are known.

Backward induction over slices, as the certified planner does it, but with each row's mean bounded by bets on the
sample: ``x - e^-risk * G(x - V)``, where no value ``V`` of what may come exceeds ``x`` and ``G`` is the geometric mean
over the sample. For the *true* optimal values that is right for all rows, steps, rollouts, lattice points and sample
sizes at once with probability ``1 - delta``, and it is monotone: put upper bounds on the true values in, and upper
bounds come out. Between lattice points and knots chords bound the true values, which are convex.
docs/theory/learning.md, 3.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.types import Bools, Floats, Ints
from maxatk.base.workers import Workers
from maxatk.learning.data import Data
from maxatk.learning.models import CheckedModel
from maxatk.learning.risk import Risk, series
from maxatk.planning import CertifiedPlan
from maxatk.planning.certified.lattice import Lattice, RealLattice, WholeLattice, common_step
from maxatk.planning.certified.plan import evidence_of
from maxatk.problem.rows import offsets

_NEAR, _FAR = 2.0 ** (np.arange(-48, 1) / 4), 2.0 ** (np.arange(-48, 49) / 4)
STAKES = np.concatenate((-_NEAR[::-1], [0.0], _FAR))  # distances from the greatest return, in ranges of returns
MOST_POINTS = 4096  # of a lattice that holds all rewards seen; beyond it, chords do


class Paid(NamedTuple):
    """A lattice of returns, and its share of the risk: the less likely it was to be chosen, the less."""

    lattice: Lattice
    name: str
    share: Fraction


class Bound(NamedTuple):
    """An upper bound on the optimum."""

    value: float
    matter: Bools  # [N] the rows that it rests on: more samples of others would not lower it
    blur: float  # what the lattice and rounding may have added to it, which no samples lower


def upper_bound(model: CheckedModel, data: Data, plan: CertifiedPlan, epsilon: float, risk: Risk) -> Bound:
    """At least the optimum of ``plan.k`` rollouts, but for the ``risk``, for all samples, lattices and plans at once.

    ``plan`` is one for the empirical problem; only its knots are used, and they may be any. The lattice is chosen so
    that little of ``epsilon`` is lost to it, if it can be.
    """
    least, most = model.return_range
    span = most - least
    lattice, name, share = choose_lattice(model, plan, epsilon)
    kappa, top = lattice.kappa, math.ceil(most / lattice.kappa)
    sweep = _Sweep(model, data, lattice, risk.share(name, share).log(bets(model, plan.k, kappa)))
    ends = np.array([math.floor(least / kappa), top])
    knots, values = ends, kappa * ends  # of the curve after the present rollout: at first, what is in hand
    curves, start = evidence_of(plan).curves, evidence_of(plan).start
    i = plan.k
    while i > 0:
        i -= 1
        points = [start] if i == 0 else curves[i].point.tolist()
        wanted = {max(math.floor(float(lattice.steps(m))), math.floor(least / kappa)) for m in points}
        ms = sorted(m for m in wanted if m < top)

        def start_value(m: int, after: tuple[Ints, Floats] = (knots, values)) -> float:
            return sweep.start_value(m, *after)

        bounds = Workers().map(start_value, ms)
        before = knots, values
        knots, values = np.array([*ms, top]), np.array([*bounds, kappa * top])
        steady = np.array_equal(knots, before[0]) and np.array_equal(values, before[1])
        if steady and i > 1 and curves[i] is curves[1]:  # so are all the earlier ones
            i = 1
    size = 2.0**12 * span * (10 + abs(math.log(span))) + abs(least) + abs(most)
    rounding = plan.k * (model.horizon * (sweep.longest + 16) + 16) * 2.0**-52 * size
    rounding += plan.k * model.horizon * sweep.off_lattice
    chords = 0.0 if isinstance(lattice, WholeLattice) else chord_cost(plan.k, model.horizon) * kappa
    return Bound(min(float(values[0]) + rounding, most), sweep.rows_that_matter(), rounding + chords)


def choose_lattice(model: CheckedModel, plan: CertifiedPlan, epsilon: float) -> Paid:
    """The step that all rewards seen are multiples of, or else one so fine that chords cost little of ``epsilon``.

    Lattices ``a/b`` have shares ``1/(a(a+1)) 1/(b(b+1))`` of half the risk, ``span/2**p`` shares ``1/(p(p+1))`` of the
    other half.
    """
    least, most = model.return_range
    step: Fraction | None = common_step(plan.mdp)
    if step is not None and most - least <= MOST_POINTS * step:
        share = series(step.numerator) * series(step.denominator) / 2
        return Paid(WholeLattice(plan.problem, float(step)), f"lattice of step {step}", share)
    fine = 20 * chord_cost(plan.k, model.horizon) * (most - least) / epsilon
    power = min(max(math.ceil(math.log2(max(fine, 1))), 6), 12)
    lattice = RealLattice(plan.problem, (most - least) / 2**power)
    return Paid(lattice, f"lattice of 2**{power} steps", series(power) / 2)


def chord_cost(k: int, horizon: int) -> float:
    """What chords in place of values cost at most, in steps of the lattice: a chord rounds a reward without bias."""
    return min((k - 1) / (2 * math.sqrt(k)), math.sqrt(math.log(k) / 2)) * math.sqrt(horizon)


def bets(model: CheckedModel, k: int, kappa: float) -> int:
    """The number of bets: functions of a row's outcome, one for each step, rollout, best return and partial return on
    the lattice, times stakes."""
    least, most = model.return_range
    best_returns = math.ceil((most - least) / kappa) + 3
    partial_returns = model.horizon * (math.ceil((model.most_reward - model.least_reward) / kappa) + 2) + 1
    return model.step_rows * k * best_returns * partial_returns * len(STAKES)


class _Sweep:
    """A sample on a lattice, ready to be swept."""

    def __init__(self, model: CheckedModel, data: Data, lattice: Lattice, log: float) -> None:
        row, next_state, reward, n = data.columns()
        steps = lattice.steps(reward)
        jump = np.rint(steps) if isinstance(lattice, WholeLattice) else np.floor(steps)
        self.off_lattice = (
            float(np.abs(reward - lattice.kappa * jump).max()) if isinstance(lattice, WholeLattice) else 0.0
        )
        self.longest = int(np.bincount(row).max())
        greatest = np.full(model.n_rows, model.most_reward) if model.rewards is None else model.rewards
        rise = np.ceil(lattice.steps(greatest)).astype(np.int64)
        with np.errstate(divide="ignore"):
            risk = log / data.counts
        self._rows = kernels.SampledRows(
            step_layer=model.step_layer.astype(np.int64),
            pair_start=model.pair_start,
            outcome_start=offsets(np.bincount(row, minlength=model.n_rows)),
            prob=n / data.counts[row],
            next_state=next_state,
            jump=jump.astype(np.int64),
            part=np.zeros(len(steps)) if isinstance(lattice, WholeLattice) else steps - jump,
            risk=risk,
            rise=rise,
            can_terminate=model.can_terminate,
            last_is_certain=model.rewards is not None,
        )
        self._model = model
        self.used = np.zeros((model.horizon, model.n_rows), np.bool_)
        least, most = model.return_range
        self._kappa = lattice.kappa
        self._stakes = most + (most - least) * STAKES
        h = np.arange(model.horizon + 1)
        ahead = model.horizon - h  # steps still to come
        most_rise, least_rise = int(rise.max()), math.floor(float(lattice.steps(model.least_reward)))
        left = ahead * most_rise
        if model.can_terminate:  # then there may be one step to come, or all of them
            left = np.maximum(left, np.minimum(ahead, 1) * most_rise)
        self._left, self._lowest, self._high = left, h * least_rise, h * most_rise  # [H + 1] each

    def rows_that_matter(self) -> Bools:
        """Rows that some cell's bound is that of, in states that can be reached by such rows, as far as was seen."""
        model, rows = self._model, self._rows
        row = np.repeat(np.arange(model.n_rows), np.diff(rows.outcome_start))  # [T]
        matter = np.zeros(model.n_rows, np.bool_)
        reached = np.isin(np.arange(model.n_states + 1), model.start_state)  # the end among them
        for used in self.used:
            used = used & reached[model.state]
            matter |= used
            reached = np.isin(np.arange(model.n_states + 1), rows.next_state[used[row]])
        return matter

    def start_value(self, m: int, knots: Ints, values: Floats) -> float:
        """Bounds the value of a rollout that starts with best return ``m``, in lattice steps.

        ``values`` are those of the next rollout's curve at its ``knots``.
        """
        low = np.maximum(self._lowest, m - self._left + 1)
        j = np.arange(m, max(m, int(self._high[1:].max())) + 1)
        cells = self._model.n_states * int((self._high - low).max() + 1)
        checks.fits_in_memory(16 * cells, f"a slice of {self._model.n_states} states")
        # Beyond the greatest return a best return is worth itself. No cap there: chords need a convex curve.
        ends = np.where(j <= knots[-1], np.interp(j, knots, values), self._kappa * j)
        bounds = stopping.run(kernels.optimistic_slice, self._rows, low, self._high, m, ends, self._stakes, self.used)
        model = self._model
        return float(bounds[model.start_state] @ model.start_prob / model.start_prob.sum())
