"""The best policies of small classes on small problems, by trying them all: in fractions, unless these grow too long.

A policy of one rollout has a law of returns. The value of a rollout is a convex nondecreasing function of its return,
whatever the other rollouts do; so laws are enumerated, and those that are optimal for no such function are left out.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from maxatk.base import stopping
from maxatk.base.types import Number
from maxatk.comparison.tuning import TUNING
from maxatk.laws.law import expected_payoffs, mean_under
from maxatk.problem.data import ExactOutcome
from maxatk.problem.mdp import MDP

MOST_LAWS = 1_000  # of policies of one rollout
MOST_OUTCOMES = 100_000  # followed to find them
MOST_SELECTIONS = 200_000
ROUNDING = 2.0**-53

Atoms: TypeAlias = dict[tuple[int, Fraction], Fraction]  # (state, G) -> probability


@dataclass(frozen=True)
class Option:
    """A policy of one rollout: the law of its return, and its decisions where it can come to take any."""

    law: dict[Fraction, Fraction]
    decisions: dict[Any, int]  # (step, state) or (step, state, G) -> action


T = TypeVar("T")


class Best(NamedTuple, Generic[T]):
    """The best that a class can do, between two bounds that are equal where it is known exactly; and what does it."""

    lower: Number
    upper: Number
    chosen: T


def options(mdp: MDP, sees_return: bool) -> list[Option] | None:
    """All policies of one rollout that matter, Markov ones or ones that see the return; None if they are too many."""
    left = MOST_OUTCOMES
    starts: Atoms = {(s, Fraction(0)): p for p, s in mdp.exact_start()}
    # A branch: atoms still going, those that have ended, decisions taken.
    branches: list[tuple[Atoms, dict[Fraction, Fraction], dict[Any, int]]] = [(starts, {}, {})]
    for h in range(mdp.horizon):
        following: dict[Any, tuple[Atoms, dict[Fraction, Fraction], dict[Any, int]]] = {}
        seen = [sorted({(s, g) if sees_return else (s,) for s, g in atoms}) for atoms, _, _ in branches]
        offered = [[mdp.actions(h, spot[0]) for spot in spots] for spots in seen]
        if sum(math.prod(map(len, choices)) for choices in offered) > 10 * MOST_LAWS:
            return None
        for (atoms, ended, decisions), spots, choices in zip(branches, seen, offered, strict=True):
            for taken in itertools.product(*choices):
                stopping.check()
                chosen = dict(zip(spots, taken, strict=True))
                going: Atoms = {}
                over = dict(ended)
                for (s, g), prob in atoms.items():
                    outcomes: list[ExactOutcome] = mdp.exact_outcomes(h, s, chosen[(s, g) if sees_return else (s,)])
                    left -= len(outcomes)
                    for p, t, r in outcomes:
                        if t is None or h + 1 == mdp.horizon:
                            over[g + r] = over.get(g + r, Fraction(0)) + prob * p
                        else:
                            going[t, g + r] = going.get((t, g + r), Fraction(0)) + prob * p
                # Of policies with equal laws so far, one is kept.
                key = frozenset(going.items()), frozenset(over.items())
                following.setdefault(key, (going, over, decisions | {(h, *spot): a for spot, a in chosen.items()}))
                if left < 0 or len(following) > MOST_LAWS:
                    return None
        branches = list(following.values())
    return _undominated([Option(law, decisions) for _, law, decisions in branches])


def _undominated(every: list[Option]) -> list[Option]:
    """Without those whose E max(t, return) is nowhere above another's: no convex nondecreasing payment prefers them."""
    points = sorted({value for option in every for value in option.law})

    def profile(option: Option) -> tuple[Fraction, ...]:
        mean_above: list[Fraction] = []
        mass, total = Fraction(0), Fraction(0)
        for t in reversed(points):  # E max(t, R) = t + E (R - t)+
            mean_above.append(t + total - t * mass)
            p = option.law.get(t, Fraction(0))
            mass, total = mass + p, total + p * t
        return (*mean_above, total)

    kept: list[tuple[tuple[Fraction, ...], Option]] = []
    for new, option in sorted(((profile(option), option) for option in every), key=lambda pair: pair[0], reverse=True):
        if not any(all(a >= b for a, b in zip(old, new, strict=True)) for old, _ in kept):
            kept.append((new, option))
    return [option for _, option in kept]


def best_selection(every: list[Option], k: int, best_so_far: Number) -> Best[list[Option]] | None:
    """The best choice of an option for each of ``k`` independent rollouts; None if there are too many choices."""
    n = len(every)
    if math.comb(n + k - 1, k) > MOST_SELECTIONS:
        return None
    incumbent = [] if best_so_far == -math.inf else [Fraction(best_so_far)]
    values = sorted({value for option in every for value in option.law} | {*incumbent})
    below = [list(itertools.accumulate(option.law.get(v, Fraction(0)) for v in values)) for option in every]
    short = np.array([float(max(v, best_so_far) - values[-1]) for v in values])  # of the largest value
    logs = np.log(np.maximum(np.array([[float(x) for x in row] for row in below]), 1e-300))  # [n, values]
    counts = np.array(list(_compositions(k, n)))  # [choices, n]
    # The expected best is the largest value less the integral of the product of distribution functions: in floats
    # first, then in fractions for all choices that rounding could have confused with the best.
    scores = np.zeros(len(counts))
    for first in range(0, len(counts), 4096):
        stopping.check()
        some = counts[first : first + 4096]
        scores[first : first + 4096] = mean_under(short, np.exp(some @ logs))  # from [choices, values]
    spread = float(values[-1] - values[0])
    noise = 1e-9 * spread
    top = counts[scores >= scores.max() - noise]
    if _digits(every, k) * len(values) * len(top) > TUNING.enumeration_digits:
        chosen, size = counts[scores.argmax()].tolist(), max(abs(float(v)) for v in values)
        value, error = float(values[-1]) + float(scores.max()), noise + 4 * ROUNDING * size
        return Best(value - error, value + error, _taken(every, chosen))

    def value_of(count: list[int]) -> Fraction:
        stopping.check()
        total = Fraction(values[-1])
        for j in range(len(values) - 1):
            if values[j] >= best_so_far:
                product = math.prod((below[i][j] ** c for i, c in enumerate(count)), start=Fraction(1))
                total -= (values[j + 1] - values[j]) * product
        return total

    value, chosen = max(((value_of(count), count) for count in top.tolist()), key=lambda pair: pair[0])
    return Best(value, value, _taken(every, chosen))


def _taken(every: list[Option], counts: list[int]) -> list[Option]:
    return [option for option, c in zip(every, counts, strict=True) for _ in range(c)]


def _digits(every: list[Option], k: int) -> float:
    """The bits of a probability after ``k`` rollouts."""
    return k * max(float(p.denominator.bit_length()) for option in every for p in option.law.values())


def _compositions(total: int, parts: int) -> Any:
    """All ways to write ``total`` as an ordered sum of so many whole numbers."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        yield [b - a - 1 for a, b in itertools.pairwise((-1, *bars, total + parts - 1))]


def best_by_best(every: list[Option], k: int, best_so_far: Number) -> Best[list[dict[Number, Option]]]:
    """The best choice of an option for each rollout and each best return so far."""
    bests = sorted({best_so_far} | {max(best_so_far, value) for option in every for value in option.law})
    finite: list[Any] = [Fraction(m) for m in bests if m != -math.inf]
    none = [Fraction(0)] * (len(bests) - len(finite))  # no return is -inf
    laws = [[*none, *(option.law.get(m, Fraction(0)) for m in finite)] for option in every]
    exact = k * _digits(every, k) * len(every) * len(bests) <= TUNING.enumeration_digits
    if not exact:
        finite = [float(m) for m in finite]
    payoff: Any = [finite[0], *finite] if none else finite  # what no return at all pays does not matter
    chances = np.array([[float(p) for p in law] for law in laws])
    choices: list[dict[Number, Option]] = []
    for _ in range(k):
        stopping.check()
        payoffs: Any = [_payoffs(law, payoff) for law in laws] if exact else expected_payoffs(chances, payoff)
        picked = [max(range(len(every)), key=lambda j, at=at: payoffs[j][at]) for at in range(len(bests))]
        payoff = [payoffs[j][at] for at, j in enumerate(picked)]
        choices.insert(0, {m: every[j] for m, j in zip(bests, picked, strict=True)})
    if exact:
        return Best(payoff[0], payoff[0], choices)
    error = k * (len(bests) + 8) * ROUNDING * 4 * max(abs(x) for x in finite)
    return Best(payoff[0] - error, payoff[0] + error, choices)


def _payoffs(law: list[Fraction], payoff: list[Fraction]) -> list[Fraction]:
    """:func:`maxatk.laws.law.expected_payoffs` of one law in fractions."""
    payoffs: list[Fraction] = []
    above, up_to = Fraction(0), Fraction(1)  # what returns above the best one pay; the chance of the others
    for p, amount in zip(reversed(law), reversed(payoff), strict=True):
        payoffs.append(above + up_to * amount)
        above, up_to = above + p * amount, up_to - p
    return payoffs[::-1]
