"""Costs, stopping and giving up, by brute force over whole histories, in fractions. Nothing is shared with a solver."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import maxatk as mk
from maxatk.base.types import Number


@dataclass(frozen=True)
class Told:
    """All that was seen: the returns of finished tries (None where one was given up), the present one, the bill."""

    returns: tuple[Fraction | None, ...]
    steps: tuple[tuple[int, int, Fraction], ...]  # (state, action, reward) of the present try
    state: int
    paid: Fraction

    def best(self, in_hand: Number) -> Number:
        return max([in_hand, *(r for r in self.returns if r is not None)])


def net_optimum(
    mdp: mk.MDP, k: int, *, cost: Number = 0, abandon: bool = False, in_hand: Number = -math.inf
) -> Fraction:
    """The greatest expected best return less costs, over all policies that see whole histories: no memory is shared.

    The cost paid so far is part of the history and is subtracted at the very end, once.
    """
    in_hand = in_hand if in_hand == -math.inf else Fraction(in_hand)
    price = Fraction(cost)

    def end(told: Told) -> Number:
        best = told.best(in_hand)
        return -math.inf if best == -math.inf else best - told.paid

    def between(returns: tuple[Fraction | None, ...], paid: Fraction) -> Number:
        stopped = end(Told(returns, (), -1, paid))
        if len(returns) == k:
            return stopped
        played = sum(p * inside(Told(returns, (), s, paid + price)) for p, s in mdp.exact_start())
        return max(stopped, played)

    def inside(told: Told) -> Number:
        h = len(told.steps)
        found: list[Number] = [between((*told.returns, None), told.paid)] if abandon else []
        for a in mdp.actions(h, told.state):
            paid, total = told.paid + mdp.exact_action_cost_of(h, told.state, a), Fraction(0)
            for p, t, r in mdp.exact_outcomes(h, told.state, a):
                steps = (*told.steps, (told.state, a, r))
                if t is None or h + 1 == mdp.horizon:
                    total += p * between((*told.returns, sum((x for _, _, x in steps), Fraction(0))), paid)
                else:
                    total += p * inside(Told(told.returns, steps, t, paid))
            found.append(total)
        return max(found)

    return Fraction(between((), Fraction(0)))


class Earned(NamedTuple):
    """What a policy comes to, on average."""

    net: Fraction
    best: Fraction
    cost: Fraction
    tries: Fraction


@dataclass
class Follow:
    """Follows a policy on (rollout, step, state, M, G) in fractions, with its stops and what it gives up."""

    mdp: mk.MDP
    policy: mk.CompressedPolicy
    k: int
    price: Fraction
    known: dict = field(default_factory=dict)

    def before(self, i: int, m: Number) -> Earned:
        if i == self.k or self.policy.stops(rollout=i, best=m):
            assert m != -math.inf
            return Earned(Fraction(m), Fraction(m), Fraction(0), Fraction(0))
        if (i, m) not in self.known:
            parts = [(p, self.within(i, 0, s, m, Fraction(0))) for p, s in self.mdp.exact_start()]
            net, best, cost, tries = (sum(p * part[j] for p, part in parts) for j in range(4))
            self.known[i, m] = Earned(net - self.price, best, cost + self.price, tries + 1)
        return self.known[i, m]

    def within(self, i: int, h: int, s: int, m: Number, g: Fraction) -> Earned:
        key = (i, h, s, m, g)
        if key not in self.known:
            action = self.policy.action(rollout=i, step=h, state=s, best=m, so_far=g)
            if action == mk.ABANDON:
                self.known[key] = self.before(i + 1, m)
            else:
                parts = list(self._after(i, h, s, m, g, action))
                paid = self.mdp.exact_action_cost_of(h, s, action)
                net, best, cost, tries = (sum(p * part[j] for p, part in parts) for j in range(4))
                self.known[key] = Earned(net - paid, best, cost + paid, tries)
        return self.known[key]

    def _after(self, i: int, h: int, s: int, m: Number, g: Fraction, action: int) -> Iterator[tuple[Fraction, Earned]]:
        for p, t, r in self.mdp.exact_outcomes(h, s, action):
            over = t is None or h + 1 == self.mdp.horizon
            yield p, self.before(i + 1, max(m, g + r)) if over else self.within(i, h + 1, t, m, g + r)


def earned(
    mdp: mk.MDP,
    policy: mk.CompressedPolicy,
    k: int,
    *,
    cost: Number = 0,
    in_hand: Number = -math.inf,
    first: int = 0,
) -> Earned:
    """What a policy earns from rollout ``first`` on, exactly."""
    start = in_hand if in_hand == -math.inf else Fraction(in_hand)
    return Follow(mdp, policy, k, Fraction(cost)).before(first, start)
