"""Rounds exactly, for small problems: all laws of one rollout, and all tuples of them.

A rollout that sees its own course is a choice of a law of returns: deterministic policies of (step, state, return so
far) have finitely many. A round of ``w`` rollouts is a choice of ``w`` of them, in any order, for each best return at
its start; by backward induction over rounds, in fractions. Mixtures gain nothing: the value is linear in each law.
"""

import bisect
import itertools
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from maxatk.base import checks, stopping
from maxatk.base.errors import TooLargeError
from maxatk.base.findings import Finding, Kept
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.laws.law import exact_best_of
from maxatk.planning.plan import Status
from maxatk.planning.rounds.plan import PlanInRounds, acting, refuse_abandoning
from maxatk.policies import CompressedPolicy, NoBestPolicy, Round, RoundsPolicy
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP

History = tuple[int, int, Fraction]  # (step, state, return so far)


@dataclass(frozen=True)
class LawOption:
    """A law of the return of one rollout, what its actions cost on average, and the decisions that lead to it."""

    law: Mapping[Number, Fraction]
    cost: Fraction
    decisions: Mapping[History, int]

    def policy(self, mdp: MDP) -> CompressedPolicy:
        """The policy of one rollout that decides so."""

        def choose(rollout: int, step: int, state: int, so_far: Number) -> int:
            return self.decisions.get((step, state, Fraction(so_far)), mdp.actions(step, state)[0])

        return NoBestPolicy(choose, 1, mdp.horizon)


@dataclass(frozen=True, eq=False, repr=False)
class ExactRoundsPlan(PlanInRounds):
    """An optimal plan in rounds with its exact value."""

    exact: Fraction  # the optimum of these rounds
    table: "_Rounds" = field(repr=False)  # what was solved so far

    @property
    def _optimum(self) -> tuple[Number, Number]:
        return self.exact, self.exact

    @property
    def policy(self) -> RoundsPolicy:
        """An optimal policy."""
        return self._policy

    @cached_property
    def _policy(self) -> RoundsPolicy:
        return acting(self.table.acting(), self.problem)

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """The value of a best so far of ``m`` before rollouts ``i`` to ``k - 1``.

        If ``i`` is in the midst of a round, the rest of the round is one.
        """
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        if i == self.k and best == -math.inf:
            return (-math.inf, -math.inf) if self.objective.utility is None else self.objective.utility.around(best)
        with stopping.ensured():
            return floats_around(self.table.value_before(i, best))

    @cached_property
    def kept(self) -> Kept | None:
        """How much the rounds keep of what one rollout at a time adds to a single one; None where it adds nothing."""
        with stopping.ensured():
            first, *_, sequential = self.table.values_one_by_one(self.k, self.best_so_far)
        if sequential <= first:
            return None
        low, high = floats_around((self.exact - first) / (sequential - first))
        return Kept(lower=max(low, 0.0), upper=max(high, 0.0), k=self.k, rounds=self.rounds, costly=self.costly)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is proved: the value, the gain, and what rounds keep of it."""
        kept = self.kept
        return super().findings if kept is None else (*super().findings, kept)


def solve_rounds_exactly(problem: DecisionProblem, limit: int) -> ExactRoundsPlan:
    """Plan ``problem`` in the rounds that its objective asks for, by trying all tuples of laws.

    ``limit`` is how many of them may be tried at one best return, and how many laws a rollout may have.
    """
    began = time.perf_counter()
    refuse_abandoning(problem)
    with stopping.scope():
        table = _Rounds(problem, limit)
        for b in reversed(range(1, len(problem.objective.rounds))):  # so that no recursion is deep
            for m in table.bests:
                table.value(b, m)
        value = table.value(0, problem.best_so_far)
    lower, upper = floats_around(value)
    stats = {"laws": float(len(table.options)), "seconds": time.perf_counter() - began}
    return ExactRoundsPlan(
        problem=problem, lower=lower, upper=upper, status=Status.EXACT, stats=stats, exact=value, table=table
    )


class _Rounds:
    """The values of best returns before each round, and the tuples that earn them: filled on request."""

    def __init__(self, problem: DecisionProblem, limit: int) -> None:
        self._problem, self._widths = problem, problem.objective.rounds
        self.options = law_options(problem.mdp, limit)
        most = max(math.comb(len(self.options) + w - 1, w) for w in self._widths)
        if most > limit:
            raise TooLargeError(
                f"a round has {float(most):.2g} tuples of policies, more than {limit}; Exact(max_histories=...) allows "
                "more, and mk.Certified() plans without trying them all"
            )
        self._bests: dict[int, list[tuple[Mapping[Number, Fraction], Fraction]]] = {}  # by width
        self._tuples = {w: list(itertools.combinations_with_replacement(self.options, w)) for w in set(self._widths)}
        # The best returns that rounds after the first may start with.
        self.bests = sorted({max(problem.best_so_far, x) for one in self.options for x in one.law})
        self._values: dict[tuple[int, Number], tuple[Fraction, int]] = {}

    def value(self, b: int, m: Number) -> Fraction:
        """The value of the best return ``m`` before round ``b``, which may be the end of the trial."""
        if b == len(self._widths):
            return self._final(m)
        goes_on = self._solved(b, m)[0]
        return max(goes_on, self._final(m)) if self._may_stop(m) else goes_on

    def _final(self, m: Number) -> Fraction:
        utility = self._problem.objective.utility
        return Fraction(m) if utility is None else utility(m)

    def _may_stop(self, m: Number) -> bool:
        return self._problem.costly and m != -math.inf

    def value_before(self, i: int, m: Number) -> Fraction:
        """The value of the best return ``m`` before rollout ``i``: in the midst of a round its rest is one."""
        ends = list(itertools.accumulate(self._widths))
        b = bisect.bisect_right(ends, i)
        if b == len(ends) or ends[b] - i == self._widths[b]:
            return self.value(b, m)
        return max(self._values_of_laws(ends[b] - i, b, m))

    def values_one_by_one(self, k: int, m: Number) -> list[Fraction]:
        """The values of 1, 2, ... and ``k`` rollouts, each of which sees all before it, with the best return ``m``."""
        bests = sorted({m, *self.bests})
        after = {x: self.value(len(self._widths), x) for x in bests if x > -math.inf}
        values: list[Fraction] = []
        for _ in range(k):
            stopping.check()
            after = {x: self._value_of_one(after, x) for x in bests}
            values.append(after[m])
        return values

    def _value_of_one(self, after: Mapping[Number, Fraction], m: Number) -> Fraction:
        """The value of the best return ``m`` before one rollout, by what it is worth after it."""
        goes_on = max(
            sum((p * after[max(m, x)] for x, p in one.law.items()), -one.cost) for one in self.options
        ) - self._problem.objective.cost  # fmt: skip
        return max(goes_on, self._final(m)) if self._may_stop(m) else goes_on

    def _laws(self, width: int) -> list[tuple[Mapping[Number, Fraction], Fraction]]:
        """For all tuples of so many rollouts the law of their best, and what they cost."""
        if width not in self._bests:
            tuples = self._tuples.get(width) or itertools.combinations_with_replacement(self.options, width)
            price = width * self._problem.objective.cost
            self._bests[width] = [
                (exact_best_of([(one.law, 1) for one in some]), sum((one.cost for one in some), price))
                for some in tuples
            ]
        return self._bests[width]

    def _values_of_laws(self, width: int, b: int, m: Number) -> list[Fraction]:
        """What each tuple of so many rollouts comes to, if they are round ``b``, which starts with ``m``."""
        laws = self._laws(width)
        after = {x: self.value(b + 1, max(m, x)) for law, _ in laws for x in law}
        return [sum((p * after[x] for x, p in law.items()), -cost) for law, cost in laws]

    def _solved(self, b: int, m: Number) -> tuple[Fraction, int]:
        """The value of going on, and which tuple has it: of equals the first."""
        key = b, m
        if key not in self._values:
            stopping.check()
            values = self._values_of_laws(self._widths[b], b, m)
            best = max(range(len(values)), key=lambda j: (values[j], -j))
            self._values[key] = values[best], best
        return self._values[key]

    def acting(self) -> list[Round]:
        """The rounds as a policy takes them: at returns, which are all that rounds after the first can start with."""
        rounds: list[Round] = []
        for b, width in enumerate(self._widths):
            start = self._problem.best_so_far
            bests = [start] if b == 0 else self.bests
            tuples = [self._tuples[width][self._solved(b, m)[1]] for m in bests]
            known = {id(one): one.policy(self._problem.mdp) for some in tuples for one in some}
            members = tuple(tuple(known[id(one)] for one in some) for some in tuples)
            # Going on is worth less and less beside stopping, the higher the best return (docs/theory/rounds.md, 5).
            stops = [m for m in bests if self._may_stop(m) and self._final(m) >= self._solved(b, m)[0]]
            rounds.append(Round(tuple(bests[:-1]), members, min(stops, default=math.inf)))
        return rounds


def _keep_cheaper(different: dict[frozenset[tuple[Number, Fraction]], LawOption], one: LawOption) -> None:
    """Keep an option by its law, unless one that is as cheap has the same."""
    key = frozenset(one.law.items())
    if key not in different or one.cost < different[key].cost:
        different[key] = one


def law_options(mdp: MDP, limit: int) -> list[LawOption]:
    """All laws that the return of one rollout can have under deterministic policies of (step, state, return so far).

    Raises:
        TooLargeError: where they are more than ``limit``.
    """
    known: dict[History, list[LawOption]] = {}

    def combined(parts: list[tuple[Fraction, list[LawOption]]]) -> list[LawOption]:
        """The laws of a draw from several places, each with any of its laws."""
        count = math.prod(len(options) for _, options in parts)
        if count > limit:
            raise TooLargeError(f"one rollout has more than {limit} policies; Exact(max_histories=...) allows more")
        different: dict[frozenset[tuple[Number, Fraction]], LawOption] = {}
        for some in itertools.product(*(options for _, options in parts)):
            stopping.check()
            law: dict[Number, Fraction] = {}
            decisions: dict[History, int] = {}
            cost = sum((p * one.cost for (p, _), one in zip(parts, some, strict=True)), Fraction(0))
            for (p, _), one in zip(parts, some, strict=True):
                decisions |= one.decisions
                for x, q in one.law.items():
                    law[x] = law.get(x, Fraction(0)) + p * q
            _keep_cheaper(different, LawOption(law, cost, decisions))
        return list(different.values())

    def after(h: int, s: int | None, g: Fraction) -> list[LawOption]:
        if s is None or h == mdp.horizon:
            return [LawOption({g: Fraction(1)}, Fraction(0), {})]
        key = h, s, g
        if key not in known:
            different: dict[frozenset[tuple[Number, Fraction]], LawOption] = {}
            for a in mdp.actions(h, s):
                # Outcomes that lead to the same place are one place: a policy decides there once.
                places: dict[tuple[int | None, Fraction], Fraction] = {}
                for p, t, r in mdp.exact_outcomes(h, s, a):
                    places[t, g + r] = places.get((t, g + r), Fraction(0)) + p
                for one in combined([(p, after(h + 1, t, x)) for (t, x), p in places.items()]):
                    cost = one.cost + mdp.exact_action_cost_of(h, s, a)
                    _keep_cheaper(different, LawOption(one.law, cost, {**one.decisions, key: a}))
            known[key] = list(different.values())
        return known[key]

    return combined([(p, after(0, s, Fraction(0))) for p, s in mdp.exact_start()])
