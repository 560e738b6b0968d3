"""The best policies of small classes on small problems, in fractions, by trying them all.

What a policy of one rollout earns is a law of returns. Laws are enumerated, and those that no one who is paid a convex
nondecreasing function of the return would prefer are left out; that is what a rollout is paid, whatever the others do.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from maxatk.base import stopping
from maxatk.base.types import Number
from maxatk.problem.mdp import MDP, ExactOutcome

MOST_LAWS = 1_000  # of policies of one rollout
MOST_OUTCOMES = 100_000  # followed to find them
MOST_SELECTIONS = 200_000
MOST_DIGITS = 200_000  # of the fractions of all laws, in bits, after all rollouts

Atoms: TypeAlias = dict[tuple[int, Fraction], Fraction]  # (state, G) -> probability


@dataclass(frozen=True)
class Option:
    """A policy of one rollout: the law of its return, and its decisions where it can come to take any."""

    law: dict[Fraction, Fraction]
    decisions: dict[Any, int]  # (step, state) or (step, state, G) -> action

    def paid(self, worth: dict[Number, Fraction], best: Number) -> Fraction:
        """What is paid on average, ``worth`` at the larger of ``best`` and the return."""
        return sum((p * worth[max(best, value)] for value, p in self.law.items()), Fraction(0))


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
                # Of policies that have come to the same, one is enough.
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


def best_selection(every: list[Option], k: int, best_so_far: Number) -> tuple[Fraction, list[Option]] | None:
    """The best choice of an option for each of ``k`` independent rollouts; None if there are too many choices."""
    n = len(every)
    if math.comb(n + k - 1, k) > MOST_SELECTIONS:
        return None
    incumbent = [] if best_so_far == -math.inf else [Fraction(best_so_far)]
    values = sorted({value for option in every for value in option.law} | {*incumbent})
    below = [list(itertools.accumulate(option.law.get(v, Fraction(0)) for v in values)) for option in every]
    gaps = np.diff(np.array([float(v) for v in values]))
    in_hand = np.array([v >= best_so_far for v in values[:-1]])
    logs = np.log(np.maximum(np.array([[float(x) for x in row[:-1]] for row in below]), 1e-300))  # [n, values - 1]
    counts = np.array(list(_compositions(k, n)))  # [choices, n]
    # The expected best is the largest value less the integral of the product of distribution functions: in floats
    # first, then in fractions for all choices that rounding could have confused with the best.
    scores = np.zeros(len(counts))
    for first in range(0, len(counts), 4096):
        some = counts[first : first + 4096]
        product = np.exp(some @ logs)  # [choices, values - 1]
        scores[first : first + 4096] = -(product * in_hand) @ gaps
    spread = float(values[-1] - values[0])
    top = counts[scores >= scores.max() - 1e-9 * spread]

    def value_of(count: list[int]) -> Fraction:
        stopping.check()
        total = Fraction(values[-1])
        for j in range(len(values) - 1):
            if values[j] >= best_so_far:
                product = math.prod((below[i][j] ** c for i, c in enumerate(count)), start=Fraction(1))
                total -= (values[j + 1] - values[j]) * product
        return total

    value, chosen = max(((value_of(count), count) for count in top.tolist()), key=lambda pair: pair[0])
    return value, [option for option, c in zip(every, chosen, strict=True) for _ in range(c)]


def _compositions(total: int, parts: int) -> Any:
    """All ways to write ``total`` as an ordered sum of so many whole numbers."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        yield [b - a - 1 for a, b in itertools.pairwise((-1, *bars, total + parts - 1))]


def best_by_best(every: list[Option], k: int, best_so_far: Number) -> tuple[Fraction, list[dict[Number, Option]]]:
    """The best choice of an option for each rollout and each best return so far: its value and the choices."""
    returns = {value for option in every for value in option.law}
    bests = sorted({best_so_far} | {max(best_so_far, value) for value in returns})
    worth: dict[Number, Fraction] = {m: Fraction(m) for m in bests if m != -math.inf}
    choices: list[dict[Number, Option]] = []
    for _ in range(k):
        stopping.check()
        chosen = {m: max(every, key=lambda option, m=m: option.paid(worth, m)) for m in bests}
        worth = {m: option.paid(worth, m) for m, option in chosen.items()}
        choices.insert(0, chosen)
    return worth[best_so_far], choices
