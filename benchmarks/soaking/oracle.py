"""The truth about small problems, in fractions, from plain data: nothing here comes from the package.

A problem is nested lists and dicts, as a user would write them. Values of many rollouts would have endless digits, so
those of each rollout are rounded to hundreds of bits, once down and once up: the truth lies between.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

Number = int | float | Fraction
BITS = 200  # to which values are rounded, relative to the largest return, where they are longer


GIVE_UP = -1  # in place of an action


class TooLargeError(Exception):
    """Too many histories for the oracle."""


@dataclass(frozen=True)
class Problem:
    """A problem as plain data, and what is to be done with it."""

    steps: list[dict[int, dict[int, list[tuple[Number, int, Number, bool]]]]]  # a table, or one for each step
    horizon: int
    start: list[Number]
    k: int
    incumbent: Number
    family: str = ""
    costs: dict[tuple[int, int], Number] = field(default_factory=dict)  # of an action in a state, at any step
    price: Number = 0  # of a rollout
    abandon: bool = False  # whether a rollout may be given up

    @property
    def priced(self) -> bool:
        """Whether anything costs anything."""
        return self.price > 0 or any(self.costs.values())

    def cost(self, s: int, a: int) -> Fraction:
        """What an action costs."""
        return Fraction(self.costs.get((s, a), 0))

    def row(self, h: int, s: int, a: int) -> list[tuple[Fraction, int | None, Fraction]]:
        """The outcomes of an action: probabilities divided by their exact sum, None where the rollout ends."""
        return self._rows[h if len(self.steps) > 1 else 0][s][a]

    def actions(self, h: int, s: int) -> list[int]:
        """The actions of a state."""
        return sorted(self.steps[h if len(self.steps) > 1 else 0][s])

    @cached_property
    def _rows(self) -> list[dict[int, dict[int, list[tuple[Fraction, int | None, Fraction]]]]]:
        exact = any(
            isinstance(p, Fraction)
            for table in self.steps
            for actions in table.values()
            for row in actions.values()
            for p, *_ in row
        )
        return [
            {s: {a: _normalised(row, exact) for a, row in actions.items()} for s, actions in table.items()}
            for table in self.steps
        ]

    @cached_property
    def resets(self) -> list[tuple[Fraction, int]]:
        """The distribution of the start state."""
        exact = [Fraction(p) for p in self.start]
        return [(p / sum(exact), s) for s, p in enumerate(exact) if p > 0]

    def code(self) -> str:
        """The problem as a user would write it."""
        table: Any = self.steps if len(self.steps) > 1 else self.steps[0]
        incumbent = "-math.inf" if self.incumbent == -math.inf else repr(self.incumbent)
        costs: dict[int, dict[int, Number]] = {}
        for (s, a), cost in self.costs.items():
            costs.setdefault(s, {})[a] = cost
        return (
            f"mdp = mk.MDP.from_table({table!r}, horizon={self.horizon}, start={self.start!r}, action_cost={costs!r}); "
            f"k, incumbent, cost, abandon = {self.k}, {incumbent}, {self.price!r}, {self.abandon}"
        )


def _normalised(
    row: list[tuple[Number, int, Number, bool]], exact: bool
) -> list[tuple[Fraction, int | None, Fraction]]:
    """What a row means: equal outcomes together, then all divided by their sum.

    Probabilities are added exactly where any of the problem is a fraction; floats alone are added and rounded once.
    """
    alike: dict[tuple[int | None, Fraction], list[Number]] = {}
    for p, t, r, done in row:
        if p > 0:
            alike.setdefault((None if done else t, Fraction(r)), []).append(p)
    merged = {
        key: sum((Fraction(p) for p in some), Fraction(0)) if exact else Fraction(math.fsum(some))
        for key, some in alike.items()
    }
    total = sum(merged.values(), Fraction(0))
    return [(p / total, t, r) for (t, r), p in merged.items()]


class Truth:
    """What is optimal, and what policies earn."""

    def __init__(self, problem: Problem, most: int = 4_000) -> None:
        self.problem = problem
        self._left = most  # histories of one rollout that are followed

    # Optimal values.

    def value(self, i: int, m: Number) -> tuple[Fraction, Fraction]:
        """Bounds on ``U_i(m)``, hundreds of bits apart."""
        wanted = _number(m)
        after = [self._at_end(wanted), self._at_end(wanted)]
        for n in range(self.problem.k - i):
            new = [self._before(values, up=side == 1, exact=n < 40) for side, values in enumerate(after)]
            if new == after:  # it will not change any more
                break
            after = new
        return after[0][wanted], after[1][wanted]

    def _at_end(self, m: Number) -> dict[Number, Fraction]:
        bests = {m, *(max(m, r) for r in self.returns)}
        return {b: Fraction(b) if b != -math.inf else Fraction(-(10**400)) for b in bests}

    def _before(self, after: dict[Number, Fraction], up: bool, exact: bool) -> dict[Number, Fraction]:
        def better(m: Number, made: Fraction) -> Fraction:
            return max(made, Fraction(m)) if self.problem.priced and m != -math.inf else made  # or else stop

        return {m: better(m, self._rounded(self._slice(m, after), up, exact)) for m in after}

    def _rounded(self, value: Fraction, up: bool, exact: bool) -> Fraction:
        if exact and value.denominator.bit_length() <= 4 * BITS:
            return value
        return (math.ceil if up else math.floor)(value / self._unit) * self._unit

    @cached_property
    def _unit(self) -> Fraction:
        """Far below the last digit of any return."""
        largest = max((abs(r) for r in self.returns), default=Fraction(0)) or Fraction(1)
        return Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length() - BITS)

    def _slice(self, m: Number, after: dict[Number, Fraction]) -> Fraction:
        known: dict[tuple[int, int, Fraction], Fraction] = {}

        def value(h: int, s: int, g: Fraction) -> Fraction:
            if (h, s, g) not in known:
                worth = [
                    sum((p * follows(h, t, g + r) for p, t, r in self.problem.row(h, s, a)), -self.problem.cost(s, a))
                    for a in self.problem.actions(h, s)
                ]
                if self.problem.abandon:
                    worth.append(after[m])
                known[h, s, g] = max(worth)
            return known[h, s, g]

        def follows(h: int, t: int | None, g: Fraction) -> Fraction:
            return after[max(m, g)] if t is None or h + 1 == self.problem.horizon else value(h + 1, t, g)

        return sum((p * value(0, s, Fraction(0)) for p, s in self.problem.resets), -Fraction(self.problem.price))

    @cached_property
    def returns(self) -> set[Fraction]:
        """All returns that a rollout can have."""
        found: set[Fraction] = set()
        present = {(s, Fraction(0)) for _, s in self.problem.resets}
        for h in range(self.problem.horizon):
            following: set[tuple[int, Fraction]] = set()
            for s, g in present:
                for a in self.problem.actions(h, s):
                    for _, t, r in self.problem.row(h, s, a):
                        if t is None or h + 1 == self.problem.horizon:
                            found.add(g + r)
                        else:
                            following.add((t, g + r))
            present = following
            self._left -= len(present)
            if self._left < 0 or len(found) > 60:
                raise TooLargeError
        return found

    # Policies: functions of (rollout, step, state, best, so_far).

    def earned(self, choose: Callable[..., int], i: int, m: Number) -> Fraction:
        """What a policy earns from rollout ``i`` on with ``m`` in hand, less what it pays, exactly."""
        law, paid, _ = self.followed(choose, i, m)
        return sum((p * Fraction(best) for best, p in law.items()), -paid)

    def law(self, choose: Callable[..., int], i: int, m: Number) -> dict[Number, Fraction]:
        """The law of the final best return."""
        return self.followed(choose, i, m)[0]

    def followed(
        self, choose: Callable[..., int], i: int, m: Number
    ) -> tuple[dict[Number, Fraction], Fraction, Fraction]:
        """The law of the final best return, and on average what is paid and the number of rollouts.

        ``choose`` may be a method of a policy, which then is asked when to stop, too.
        """
        bests: dict[Number, Fraction] = {_number(m): Fraction(1)}
        policy = getattr(choose, "__self__", None)
        paid = tries = Fraction(0)
        asked = 0
        for rollout in range(i, getattr(policy, "k", self.problem.k)):
            ended: dict[Number, Fraction] = {}
            for best, chance in bests.items():
                if policy is not None and policy.stops(rollout=rollout, best=best):
                    ended[best] = ended.get(best, Fraction(0)) + chance
                    continue
                tries, paid = tries + chance, paid + chance * Fraction(self.problem.price)
                present = {(s, Fraction(0)): p * chance for p, s in self.problem.resets}
                for h in range(self.problem.horizon):
                    following: dict[tuple[int, Fraction], Fraction] = {}
                    for (s, g), q in present.items():
                        asked += 1
                        if asked > 20_000:
                            raise TooLargeError
                        action = choose(rollout=rollout, step=h, state=s, best=best, so_far=g)
                        if action == GIVE_UP:
                            ended[best] = ended.get(best, Fraction(0)) + q
                            continue
                        paid += q * self.problem.cost(s, action)
                        for p, t, r in self.problem.row(h, s, action):
                            if t is None or h + 1 == self.problem.horizon:
                                ended[max(best, g + r)] = ended.get(max(best, g + r), Fraction(0)) + q * p
                            else:
                                following[t, g + r] = following.get((t, g + r), Fraction(0)) + q * p
                    present = following
            bests = ended
        return bests, paid, tries


def _number(m: Number) -> Number:
    return -math.inf if m == -math.inf else Fraction(m)
