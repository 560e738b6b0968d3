"""The exact solver: backward induction over reachable compressed histories, in rational arithmetic.

By Proposition 2 nothing is lost by remembering, beside the rollout ``i`` and the step ``h``, only the *compressed
history* ``(s, M, G)``: the state, the best return of the earlier rollouts, the return of this one so far. With
``U_K(m) = m`` and ``V_{i,H}(s, m, g) = U_{i+1}(max(m, g))``, both 0-based,

    V_{i,h}(s, m, g) = max_a sum_{(p, s', r)} p * V_{i,h+1}(s', m, g + r),        U_i(m) = E_{s ~ rho} V_{i,0}(s, m, 0).

Where a utility counts, ``U_K(m) = u(m)``. With costs, a row's cost comes off its sum, giving up adds ``U_{i+1}(m)`` to
the maximum, a rollout is worth ``W_i(m) = E V_{i,0}(s, m, 0) - c``, and ``U_i(m) = max(m, W_i(m))``: before a rollout
one may stop (docs/theory/costs.md).

The number of compressed histories can be exponential in ``H`` (exact planning is NP-hard, Theorem 2), hence a guard.
This is the oracle that other solvers are held to: it shares no code with them and is written to be read.
"""

import math
import threading
import time
from collections.abc import Iterator, KeysView
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeAlias

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.planning.plan import Plan, Reporter, Status
from maxatk.planning.stops import Threshold
from maxatk.policies import ABANDON, CompressedPolicy
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.histories import CompressedHistory

History: TypeAlias = tuple[int, Number, Number]  # (s, M, G), the last two in units of the table
Moment: TypeAlias = tuple[int, int]  # (rollout, step)


@dataclass(frozen=True)
class Exact:
    """Solve exactly, in rational arithmetic. For small problems.

    Floats are taken at their exact binary values and rows of probabilities divided by their exact sum.

    Args:
        max_histories: how many compressed histories may be held before :class:`maxatk.TooLargeError` is raised; a
            history takes about half a kilobyte and a tenth of a millisecond.
    """

    max_histories: int = 200_000

    honours: ClassVar[frozenset[str]] = frozenset({"utility", "rounds"})  # of what an objective may ask beside costs

    def __post_init__(self) -> None:
        checks.integer(self.max_histories, "max_histories", least=1)

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> "ExactPlan":
        """Plan ``problem``; ``progress`` is as :func:`maxatk.solve` hands it.

        It is all or nothing, so nothing is reported.
        """
        began = time.perf_counter()
        table = _Table(problem, self.max_histories)
        value = table.curve(0, problem.best_so_far)
        lower, upper = floats_around(value)
        return ExactPlan(
            problem=problem,
            lower=lower,
            upper=upper,
            status=Status.EXACT,
            stats={"histories": len(table), "seconds": time.perf_counter() - began},
            exact=value,
            table=table,
        )


class Decision(NamedTuple):
    """A choice that a policy may come to face, and what it does there."""

    prob: Fraction  # of coming to face it
    rollout: int  # from 0
    step: int  # from 0
    state: int  # the present state
    best: Number  # M
    so_far: Fraction  # G
    values: dict[int, Fraction]  # what is expected in the end after each action, if all later ones are optimal

    @property
    def action(self) -> int:
        """What the policy does."""
        return best_action(self.values)

    @property
    def value(self) -> Fraction:
        """What is expected in the end from here: the best return, less the costs to come."""
        return self.values[self.action]


def best_action(values: dict[int, Fraction]) -> int:
    """The action with the greatest value; of equals the one with the lowest number, and giving up last."""
    return max(values, key=lambda action: (values[action], action != ABANDON, -action))


@dataclass(frozen=True, eq=False, repr=False)
class ExactPlan(Plan):
    """An optimal plan with its exact value. Whatever is asked of it off its table, it solves on request."""

    exact: Fraction  # the optimum
    table: "_Table" = field(repr=False)  # what was solved so far

    @property
    def policy(self) -> "ExactPolicy":
        """An optimal policy; of equally good actions it takes the one with the lowest number."""
        return ExactPolicy(self.table, self.best_so_far)

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """``U_i(m)``, between two neighbouring floats."""
        i = checks.integer(i, "i", most=self.k)
        m = checks.incumbent(m, "m")
        if i == self.k and m == -math.inf:
            return (-math.inf, -math.inf) if self.objective.utility is None else self.objective.utility.around(m)
        return floats_around(self.table.curve(i, m))

    @property
    def stop_at(self) -> Number:
        """``z``, exactly: see :attr:`maxatk.Plan.stop_at`."""
        return self.table.stop_at

    @property
    def _optimum(self) -> tuple[Number, Number]:
        return self.exact, self.exact

    def _threshold(self, tol: float) -> Threshold:
        z, q, first = self.table.threshold()
        return Threshold(z, float(q), 0.0, first)

    def _action_values(self, at: CompressedHistory) -> dict[int, tuple[float, float]]:
        values = self.table.action_values(at.rollout, at.step, at.state, at.best, at.so_far)
        return {action: floats_around(value) for action, value in values.items()}

    def _for_incumbent(self, best: float) -> "ExactPlan":
        value = self.table.curve(0, best)
        lower, upper = floats_around(value)
        return ExactPlan(
            problem=self.problem.changed(best_so_far=best), lower=lower, upper=upper, status=Status.EXACT, stats={},
            exact=value, table=self.table,
        )  # fmt: skip

    def decisions(self) -> Iterator[Decision]:
        """All decisions that the policy may come to face, in order of time."""
        return self.table.decisions(self.best_so_far)


class ExactPolicy(CompressedPolicy):
    """An optimal policy, exact at every history whether the plan's ``table`` has it or not."""

    def __init__(self, table: "_Table", best_so_far: Number) -> None:
        super().__init__(table.k, table.mdp.horizon, best_so_far)
        self._table = table
        self.cost, self.utility = table.problem.objective.cost, table.problem.objective.utility

    def stops(self, *, rollout: int, best: Number) -> bool:
        """Whether the value of another rollout is no more than the best return."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        return self._table.stops(i, checks.incumbent(best, "best"))

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The optimal action with the lowest number."""
        return best_action(self.action_values(rollout=rollout, step=step, state=state, best=best, so_far=so_far))

    def action_values(
        self, *, rollout: int, step: int, state: int, best: Number, so_far: Number
    ) -> dict[int, Fraction]:
        """What is expected in the end after each action, if all later actions are optimal: the best return, less costs.

        The arguments are those of :meth:`action`: ``rollout``, ``step``, ``state``, ``best`` and ``so_far``.

        >>> import maxatk as mk
        >>> policy = mk.solve(mk.instances.proposition3(), k=2, solver=mk.Exact()).policy
        >>> policy.action_values(rollout=1, step=2, state=3, best=1.5, so_far=1)
        {0: Fraction(3, 2), 1: Fraction(13, 8)}
        """
        return self._table.action_values(
            checks.integer(rollout, "rollout", most=self.k - 1),
            checks.integer(step, "step", most=self.horizon - 1),
            checks.integer(state, "state", most=self._table.mdp.n_states - 1),
            checks.incumbent(best, "best"),
            checks.exact_number(so_far, "so_far"),
        )


class _Table:
    """The values of compressed histories, filled on request and kept while there is room; safe to share by threads.

    Returns are held in units that make every reward an integer, which keeps arithmetic on them cheap. A return from
    outside may be a fraction of the unit: Python's numbers mix, and equal ones are equal keys.
    """

    def __init__(self, problem: DecisionProblem, limit: int) -> None:
        self.problem, self.k = problem, problem.k
        self.mdp = mdp = problem.mdp
        self._limit = limit
        self._may_stop, self._may_abandon = problem.costly, problem.may_abandon
        rewards = mdp.exact_reward or [Fraction(r) for r in np.unique(mdp.reward).tolist()]
        self._unit = Fraction(1, math.lcm(*(r.denominator for r in rewards)))
        self._start = mdp.exact_start()
        # By (layer, state): the outcomes of each action, and its cost.
        self._rows: dict[tuple[int, int], dict[int, tuple[list[tuple[Fraction, int | None, int]], Fraction]]] = {}
        self._values: dict[Moment, dict[History, Fraction]] = {}
        self._count = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Table, (self.problem, self._limit)  # a copy fills itself on request

    def __len__(self) -> int:
        return self._count

    # From outside: returns as they are.

    def curve(self, i: int, m: Number) -> Fraction:
        """``U_i(m)``; for ``i = K``, ``m`` must be finite."""
        best = self._in_units(m)
        with self._lock:
            if i < self.k:
                self._solve_from((i, 0), self._resets({best}))
            return self._reset_value(i, best) * self._unit

    def stops(self, i: int, m: Number) -> bool:
        """Whether ``W_i(m) <= m``."""
        if not self._may_stop or m == -math.inf:
            return False
        return self._try_value(i, self._in_units(m)) <= self._in_units(m)

    @cached_property
    def stop_at(self) -> Number:
        """The least ``m`` with ``W_{K-1}(m) <= m``, from below: what one optimal policy after the other would stop at.

        At ``m < z`` an optimal policy of the last rollout has a value above ``m``, and so it has up to a number of its
        own, where ``E (R - x)+`` is what it costs. That number is at most ``z``, and no policy comes twice.
        """
        if not self._may_stop:
            return math.inf
        return self.threshold()[0]

    def threshold(self) -> tuple[Number, Fraction, Number]:
        """``z``, the chance to reach it in a try of a policy whose own threshold it is, and ``W_{K-1}(-inf)``."""
        law, cost = self._last_try(-math.inf)
        first = sum((value * p for value, p in law.items()), -cost)
        z = _own_threshold(law, cost)
        while True:
            better, cost = self._last_try(z)
            if (higher := _own_threshold(better, cost)) <= z:
                break
            z, law = higher, better
        chance = sum((p for value, p in law.items() if value >= z), Fraction(0))
        return z * self._unit, chance, first * self._unit

    def _try_value(self, i: int, best: Number) -> Fraction:
        """``W_i(m)`` in units."""
        with self._lock:
            self._solve_from((i, 0), self._resets({best}))
            return self._value_of_try(i, best)

    def _last_try(self, m: Number) -> tuple[dict[Number, Fraction], Fraction]:
        """The law of the return of an optimal last rollout at the best return ``m``, and its mean cost, in units."""
        i, law = self.k - 1, dict[Number, Fraction]()
        cost = self.problem.objective.cost / self._unit
        present = {(s, m, 0): p for p, s in self._start}
        for h in range(self.mdp.horizon):
            following: dict[History, Fraction] = {}
            for (s, _, g), prob in present.items():
                action = best_action(self.action_values(i, h, s, m * self._unit, g * self._unit))
                if action == ABANDON:
                    continue
                row, row_cost = self._row(h, s)[action]
                cost += prob * row_cost
                for p, s_next, r in row:
                    if s_next is None or h + 1 == self.mdp.horizon:
                        law[g + r] = law.get(g + r, Fraction(0)) + prob * p
                    else:
                        following[s_next, m, g + r] = following.get((s_next, m, g + r), Fraction(0)) + prob * p
            present = following
        return law, cost

    def action_values(self, rollout: int, step: int, state: int, best: Number, so_far: Number) -> dict[int, Fraction]:
        """The value of every action at one history."""
        history = (state, self._in_units(best), self._in_units(so_far))
        with self._lock:
            self._solve_from((rollout, step), {history})
            return {a: q * self._unit for a, q in self._action_values((rollout, step), history).items()}

    def decisions(self, best_so_far: Number) -> Iterator[Decision]:
        """Follow the optimal policy forward, all branches at once."""
        resets: dict[Number, Fraction] = {
            self._in_units(best_so_far): Fraction(1)
        }  # M -> probability of starting this rollout with it
        for i in range(self.k):
            ended: dict[Number, Fraction] = {}
            going = {m: q for m, q in resets.items() if not self.stops(i, m * self._unit)}
            present = {(s, m, 0): p * q for m, q in going.items() for p, s in self._start}
            for h in range(self.mdp.horizon):
                following: dict[History, Fraction] = {}
                for (s, m, g), prob in sorted(present.items()):
                    values = self.action_values(i, h, s, m * self._unit, g * self._unit)
                    decision = Decision(prob, i, h, s, m * self._unit, Fraction(g * self._unit), values)
                    yield decision
                    if decision.action == ABANDON:
                        ended[m] = ended.get(m, Fraction(0)) + prob
                        continue
                    for p, s_next, r in self._row(h, s)[decision.action][0]:
                        if s_next is None or h + 1 == self.mdp.horizon:
                            final = max(m, g + r)
                            ended[final] = ended.get(final, Fraction(0)) + prob * p
                        else:
                            after = (s_next, m, g + r)
                            following[after] = following.get(after, Fraction(0)) + prob * p
                present = following
            resets = ended

    # Inside: returns in units.

    def _solve_from(self, moment: Moment, histories: set[History]) -> None:
        """Make sure that these histories, and all that can follow, are solved. The limit is one request's."""
        stages = self._reachable(moment, histories)
        if self._count and self._count + sum(len(new) for _, new in stages) > self._limit:
            self._values.clear()  # forget earlier requests, and count anew
            self._count = 0
            stages = self._reachable(moment, histories)
        for (i, h), new in reversed(stages):
            values = self._values.setdefault((i, h), {})
            for history in new:
                stopping.check()
                values[history] = max(self._action_values((i, h), history).values())
            self._count += len(new)

    def _reachable(self, moment: Moment, histories: set[History]) -> list[tuple[Moment, set[History]]]:
        """The histories still to be solved that can follow the given ones, these included, in order of time."""
        stages: list[tuple[Moment, set[History]]] = []
        count = 0
        (i, first), H = moment, self.mdp.horizon
        while i < self.k and histories:
            ended: set[Number] = set()
            for h in range(first, H):
                known = self._known((i, h))
                new = {history for history in histories if history not in known}
                if not new:
                    break
                stages.append(((i, h), new))
                count += len(new)
                histories = set()
                for s, m, g in new:
                    stopping.check()
                    if self._may_abandon:
                        ended.add(m)
                    for row, _ in self._row(h, s).values():
                        for _, s_next, r in row:
                            if s_next is None or h + 1 == H:
                                ended.add(max(m, g + r))
                            else:
                                histories.add((s_next, m, g + r))
                    at_least = count + max(0, len(histories) - len(self._known((i, h + 1))))
                    if i + 1 < self.k:
                        at_least += max(0, len(ended) * len(self._start) - len(self._known((i + 1, 0))))
                    if at_least > self._limit:
                        self._refuse(at_least, i, h)
            i, first, histories = i + 1, 0, self._resets(ended)
        return stages

    def _known(self, moment: Moment) -> KeysView[History]:
        return self._values.get(moment, {}).keys()

    def _refuse(self, count: int, i: int, h: int) -> NoReturn:
        raise TooLargeError(
            f"more than {self._limit} compressed histories (s, M, G) can occur: {count} or more by step {h} of rollout "
            f"{i}; Exact(max_histories=...) allows more, but their number can grow exponentially with the horizon"
        )

    def _action_values(self, moment: Moment, history: History) -> dict[int, Fraction]:
        """``Q(a) = sum p * V_next`` at a history all of whose successors are solved."""
        (i, h), (s, m, g) = moment, history
        following = self._values.get((i, h + 1), {})
        last = h + 1 == self.mdp.horizon

        def value(t: int | None, r: int) -> Fraction:
            return self._reset_value(i + 1, max(m, g + r)) if last or t is None else following[t, m, g + r]

        values = {a: sum((p * value(t, r) for p, t, r in row), -cost) for a, (row, cost) in self._row(h, s).items()}
        if self._may_abandon and not (i + 1 == self.k and m == -math.inf):  # with no result yet the last must count
            values[ABANDON] = self._reset_value(i + 1, m)
        return values

    def _resets(self, bests: set[Number]) -> set[History]:
        """The histories that a rollout can start with."""
        return {(s, m, 0) for m in bests for _, s in self._start}

    def _reset_value(self, i: int, m: Number) -> Fraction:
        """``U_i(m)`` in units."""
        if i == self.k:
            return self._final_value(m)
        value = self._value_of_try(i, m)
        return max(value, Fraction(m)) if self._may_stop and m != -math.inf else value

    def _final_value(self, m: Number) -> Fraction:
        """``U_K(m)`` in units: the best return itself, or its utility."""
        utility = self.problem.objective.utility
        return Fraction(m) if utility is None else utility(m * self._unit) / self._unit

    def _value_of_try(self, i: int, m: Number) -> Fraction:
        """``W_i(m)`` in units, where all that can follow is solved."""
        values = self._values[i, 0]
        return sum((p * values[s, m, 0] for p, s in self._start), -self.problem.objective.cost / self._unit)

    def _row(self, step: int, state: int) -> dict[int, tuple[list[tuple[Fraction, int | None, int]], Fraction]]:
        """The outcomes and the cost of every action, rewards and costs in units."""
        key = (int(self.mdp.step_layer[step]), state)
        if key not in self._rows:
            self._rows[key] = {
                a: (
                    [(p, t, int(r / self._unit)) for p, t, r in self.mdp.exact_outcomes(step, state, a)],
                    self.mdp.exact_action_cost_of(step, state, a) / self._unit,
                )
                for a in self.mdp.actions(step, state)
            }
        return self._rows[key]

    def _in_units(self, amount: Number) -> Number:
        if amount == -math.inf:
            return -math.inf
        scaled = Fraction(amount) / self._unit
        return scaled.numerator if scaled.denominator == 1 else scaled


def _own_threshold(law: dict[Number, Fraction], cost: Fraction) -> Number:
    """The least ``x`` with ``E (R - x)+ <= cost`` for a return with this law: above it, the try is not worth making."""
    if not law:  # it is always given up
        return -math.inf
    total = mass = Fraction(0)
    values = sorted(law, reverse=True)
    for value, below in zip(values, [*values[1:], -math.inf], strict=True):
        total, mass = total + value * law[value], mass + law[value]
        if (total - cost) / mass >= below:
            return min((total - cost) / mass, Fraction(value))
    raise AssertionError("nothing is below all returns")
