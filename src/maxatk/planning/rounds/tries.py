"""One rollout at a time on a lattice of returns: the best policy beside others whose laws are fixed.

With the laws of the other rollouts fixed, a rollout that ends with return ``x`` has the value
``u(x) = E U(max(x, best of the others))``, where ``U`` is the curve of what comes after them: a convex, nondecreasing
curve, whose slope is at most the distribution function of that best. So the best policy of one rollout that may see its
return is a slice with ``u`` as the next curve, and the same kernels find it.

The lattice is that of a plan. Where rewards do not lie on it they are rounded to it, and the policies that come out
remember rounded rewards; what they earn with the true ones is for :func:`maxatk.evaluate` to say.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Floats, Ints
from maxatk.engines.engine import EngineConfig, SharedEngine
from maxatk.laws.law import mean_under
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import Curve, Curves
from maxatk.planning.certified.on_lattice import DecisionJob, OnLattice, ValueJob
from maxatk.planning.certified.payoffs import CurveUnits
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.certified.slice_tables import SliceTables
from maxatk.planning.certified.slices import SliceMethod
from maxatk.policies import CompressedPolicy, RoundingPolicy
from maxatk.problem.decision import DecisionProblem

MOST_POINTS = 2**22  # of a law of returns
COARSE_POINTS = 2**14  # where there are more
MOST_STEPS = 2.0**48  # of a lattice from 0 to any return: floats tell its points apart


@dataclass(frozen=True)
class TryLaw:
    """The law of the return of one rollout on the lattice."""

    law: Floats  # [n] by lattice point; the first entry is all that does not exceed the floor
    cost: float = field(default=0.0, kw_only=True)  # what its actions cost on average, as curves count it

    @cached_property
    def below(self) -> Floats:
        """Its distribution function."""
        return np.minimum(np.cumsum(self.law), 1.0)


@dataclass(frozen=True)
class Candidate(TryLaw):
    """A policy of one rollout, and its law."""

    policy: CompressedPolicy
    rows: Ints | None = None  # [H, S] of a Markov policy
    payoff: Floats | None = None  # [n] what it is the best policy for, if it was looked for that way


class TrySearch:
    """Searches for policies of one rollout.

    Args:
        planned_by: the problem on a plan's lattice.
        floor: a return that good policies almost surely beat: nothing below it is told apart.
        most_cells: of a slice that is searched.
        fine_cells: of a slice, up to which a lattice between whose points rewards lie is made finer than the plan's.

    Raises:
        TooLargeError: where a sweep would take too long for a search.
    """

    def __init__(self, planned_by: SliceMethod, floor: float, most_cells: int, fine_cells: int = 0) -> None:
        self._planned_by, asked = planned_by, planned_by.problem
        kappa, span = planned_by.lattice.kappa, asked.most - asked.least
        # A plan may rest on the few returns that there are; here all points up to a return are told apart.
        self._rounded = not planned_by.exact or span > MOST_POINTS * kappa
        if not self._rounded:
            self._unit, problem = 1.0, asked
        else:
            self._unit = max(kappa, span / COARSE_POINTS) if planned_by.exact else kappa
            places = asked.mdp.n_states * asked.mdp.horizon
            while not planned_by.exact and 0 < 2 * span <= self._unit * min(COARSE_POINTS, fine_cells / places):
                if asked.largest > self._unit * MOST_STEPS:
                    break
                self._unit /= 2
            kappa = 1.0
            rounded = asked.mdp.with_rewards(np.rint(asked.mdp.reward / self._unit))
            if asked.mdp.has_costs:
                rounded = rounded.with_action_costs(asked.mdp.action_cost / self._unit)
            problem = DecisionProblem(rounded, replace(asked.objective, utility=None))
        self._costly = asked.costly
        self._method = OnLattice(SharedEngine(EngineConfig(), problem), kappa)  # for the cells themselves, on the host
        self._lattice, tables = self._method.lattice, self._method.tables
        self._mdp, step = self._lattice.mdp, self._lattice.kappa
        low, high = self._mdp.return_range
        incumbent = math.ceil(min(max(float(asked.best_so_far) / self._unit, low), high) / step - 1e-9)
        first = max(self._lattice.index(floor / self._unit), incumbent)
        self._first = min(first, self._lattice.index(high) - 1)
        if self._lattice.index(high) - self._first > MOST_POINTS:
            raise TooLargeError(f"a search would tell {self._lattice.index(high) - self._first:.2g} returns apart")
        self.points: Floats = step * np.arange(self._first, self._lattice.index(high) + 1.0)  # [n] the floor first
        self.final: Floats = self._final()  # [n] what each of them counts in the end, as curves count it
        least = np.maximum(tables.reach.first, self._first - tables.moves.most_left[:-1])
        cells = np.maximum(tables.reach.last - least + 1, 0).sum()
        if cells > most_cells:
            raise TooLargeError(f"a search would sweep {float(cells):.2g} cells at a time")

    def _final(self) -> Floats:
        problem, unit = self._planned_by.problem, Fraction(self._unit)
        if problem.objective.utility is None or problem.ends_with_best:
            return self.points
        return np.array([self._counts(unit * Fraction(x)) for x in self.points.tolist()])

    def _counts(self, best: Fraction) -> float:
        """What a final best return counts, as curves count it."""
        problem, unit = self._planned_by.problem, Fraction(self._unit)
        if problem.objective.utility is None or problem.ends_with_best:
            return float(best / unit)
        units = CurveUnits.of(problem, problem.objective.utility)
        return float(units.of_best(min(best, units.top)) / unit)

    def rises(self, payoff: Floats) -> Floats:
        """By how much a payoff [n] rises from each point to the next."""
        plain = payoff is self.points
        return np.full(len(payoff) - 1, self._lattice.kappa) if plain else np.diff(payoff)

    def value(self, below: Floats) -> float:
        """The expected best of independent rollouts, by the product of their distribution functions [n]."""
        return self._unit * float(mean_under(self.final, below))

    # One rollout.

    @cached_property
    def _room(self) -> float:
        """Bytes that a slice may take."""
        return checks.memory() / 4

    @cached_property
    def _base(self) -> ValueJob:
        """A slice of all cells, which are the same for all curves."""
        return self._slice(self._curve(self.final))

    def payoff(self, below: Floats, after: Floats | None = None) -> Floats:
        """The value of each return beside others whose best has this distribution function: ``u`` [n].

        ``after`` [n] is what the best of all counts; by default in the end.
        """
        counts = self.final if after is None else after
        rises = self.rises(counts) * below[:-1]
        return counts[-1] - np.append(np.cumsum(rises[::-1])[::-1], 0.0)

    def _curve(self, payoff: Floats, unit: float = 1.0) -> Curve:
        """A curve through these values, flat before the first; ``unit`` is what a lattice return counts."""
        slope = np.append(np.maximum.accumulate(np.clip(np.diff(payoff) / self._lattice.kappa, 0.0, 1.0)), 1.0)
        kinks = np.flatnonzero(np.diff(slope, prepend=0.0) > 0)
        x, u, slope = unit * self.points[kinks], unit * payoff[kinks], slope[kinks]
        ends = kinks[-1] < len(payoff) - 1
        return Curve(
            floor=unit * float(self.points[0]),
            line_end=x,
            line_height=np.append(unit * payoff[0], u - slope * x),
            line_slope=np.append(0.0, slope),
            line_knot=np.append(unit * self.points[0], x),
            point=np.append(x, unit * self.points[-1]) if ends else x,
            point_value=np.append(u, unit * payoff[-1]) if ends else u,
        )

    def _slice(self, after: Curve, m: float | None = None) -> ValueJob:
        task = Task(after, (float(self.points[0]) if m is None else m,))
        job = ValueJob(self._method, task, keep=True)
        job.alone(self._room)
        return job

    def _started(self, layout: kernels.Layout, cells: int) -> Floats:
        """The mass [cells] of rollouts that begin."""
        mass, mdp = np.zeros(cells), self._mdp
        for p, s in zip(mdp.reset_prob.tolist(), mdp.start_state.tolist(), strict=True):
            if layout.low[0, s] <= 0:
                mass[layout.place[0, s]] += p
        return mass

    def _mass(self, swept: ValueJob, choice: Ints) -> Floats:
        """Where rollouts go that take these rows [cells]."""
        mass = self._started(swept.layout, len(swept.value))
        stopping.run(kernels.carry_forward, swept.cells.tables, swept.layout, choice, mass)
        return mass

    def _law(self, final: Ints, mass: Floats) -> Floats:
        """The law of the return, from where rollouts end."""
        if self._mdp.return_range[0] >= self._mdp.return_range[1]:  # one return alone is no worse than itself
            return np.append(np.zeros(len(self.points) - 1), 1.0)
        place = final - self._first
        above = place > 0
        law: Floats = np.bincount(place[above], mass[: len(final)][above], len(self.points)).astype(np.float64)
        law[0] = max(1.0 - law.sum(), 0.0)
        return law

    def _remembering(self, policy: CompressedPolicy) -> CompressedPolicy:
        """The policy for the true rewards: it remembers them as steps of the lattice."""
        if not self._rounded:
            return policy
        unit = self._unit
        return RoundingPolicy(policy, lambda r: Fraction(unit) * int(np.rint(float(r) / unit)), 1 / Fraction(unit))

    def best_seeing_return(self, payoff: Floats) -> tuple[Candidate, float]:
        """The best policy of one rollout that sees its return, and what it is paid.

        Its law is that of the very decisions that the policy acts on: where actions are equally good, other sweeps
        might decide otherwise, and the law of a return depends on that.
        """
        policy = self._acting_on(payoff)
        job = DecisionJob(self._method, self.task_of(payoff))
        decided = job.alone(self._room)
        layout, n = job.cells.all_layers()
        mass = self._started(layout, n)
        stopping.run(kernels.carry_choices, job.cells.tables, layout, decided.place, decided.choice, mass)
        law = self._law(job.cells.final, mass)
        cost = max(float(law @ payoff) - job.value, 0.0) if self._mdp.has_costs else 0.0
        return Candidate(law, self._remembering(policy), payoff=payoff, cost=cost), job.value

    def acting_on(self, payoff: Floats) -> CompressedPolicy:
        """The best policy of one rollout that sees its return, for what each return pays [n]."""
        return self._remembering(self._acting_on(payoff))

    def task_of(self, payoff: Floats) -> Task:
        """What is swept for the policy of a payoff [n] to act on."""
        curves, incumbent = Curves(1, (self._curve(payoff),)), self._method.problem.flat_below
        tables = SliceTables(self._method, curves, float(self.points[0]), incumbent, math.inf, repeats_mean=False)
        return tables.serve(0, np.array([-math.inf])).one().slice.task(self._method, curves)

    def _acting_on(self, payoff: Floats) -> SlicePolicy:
        return SlicePolicy(self._method, Curves(1, (self._curve(payoff),)), float(self.points[0]))

    def bound_on_pay(self, payoff: Floats, earned: float) -> tuple[float, float]:
        """What no policy of one rollout is paid, if the best on the lattice is paid ``earned``; and its rounding."""
        lattice, mdp = self._planned_by.lattice, self._planned_by.problem.mdp
        if self._rounded:  # the true rewards: bounded from above as the plan bounds them
            curve = self._curve(payoff, self._unit)
            (bounds,) = self._planned_by.sweep([Task(curve, (curve.floor,))])
            earned = float(bounds[0, 0]) / self._unit
        b, n = int(np.diff(mdp.outcome_start).max()), len(payoff)
        size = lattice.problem.largest + self._unit * float(np.abs(self.points).max())
        rounding = ((mdp.horizon * (b + 6) + 2 * n + 16) * 2.0**-53 * size) + mdp.horizon * lattice.error
        above_first = max(float(self._planned_by.problem.best_so_far) / self._unit - float(self.points[0]), 0.0)
        return earned, rounding / self._unit + above_first  # an incumbent may lie above the first point
