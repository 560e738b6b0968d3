"""The lemmas of Theorem 4, over all policies of small problems: the largest ratio of both sides, in fractions."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper.values import HALF, optimum, value

SEED = 5


class Histories:
    """The compressed histories ``x = (i, h, s, M, G)`` of a problem that starts in state 0, with their values."""

    def __init__(self, mdp: mk.MDP, k: int) -> None:
        self.mdp, self._k = mdp, k
        self._policy = mk.solve(mdp, k, solver=mk.Exact()).policy

    def value(self, x: Any) -> Fraction:
        """``V*(x)``."""
        return x[3] if x[0] == self._k else max(self.action_values(x).values())

    def action_values(self, x: Any) -> dict[int, Fraction]:
        """The value of each action."""
        i, h, s, m, g = x
        return self._policy.action_values(rollout=i, step=h, state=s, best=m, so_far=g)

    def after(self, x: Any, action: int, mdp: mk.MDP) -> Iterator[tuple[Fraction, Any]]:
        """The histories that may follow, in this problem or in another one with the same outcomes."""
        i, h, s, m, g = x
        for p, t, r in mdp.exact_outcomes(h, s, action):
            over = t is None or h + 1 == self.mdp.horizon
            yield p, ((i + 1, 0, 0, max(m, g + r), Fraction(0)) if over else (i, h + 1, t, m, g + r))

    def worst(self, cost: Callable[[Any, int], Fraction], choose: Callable[[Any], list[int]]) -> Fraction:
        """The largest expected sum of a cost per step from any history on, over the actions to choose from."""
        known: dict[Any, Fraction] = {}

        def total(x: Any) -> Fraction:
            if x[0] == self._k:
                return Fraction(0)
            if x not in known:
                known[x] = max(
                    cost(x, a) + sum((p * total(y) for p, y in self.after(x, a, self.mdp)), Fraction(0))
                    for a in choose(x)
                )
            return known[x]

        total((0, 0, 0, Fraction(0), Fraction(0)))
        return max(known.values())

    def variance(self, x: Any, action: int) -> Fraction:
        """The variance of ``V*`` after the next step."""
        outcomes = [(p, self.value(y)) for p, y in self.after(x, action, self.mdp)]
        mean = sum((p * v for p, v in outcomes), Fraction(0))
        return sum((p * (v - mean) ** 2 for p, v in outcomes), Fraction(0))


def small_problem(rng: np.random.Generator, S: int = 2, A: int = 2, H: int = 2) -> mk.MDP:
    """Random rows in eighths, rewards 0, 1/2 or 1."""

    def row() -> list[tuple[Fraction, int, Fraction, bool]]:
        cut, r = int(rng.integers(0, 9)), Fraction(int(rng.integers(3)), 2)
        return [(Fraction(cut, 8), 0, r, False), (1 - Fraction(cut, 8), S - 1, r, False)]

    return mk.MDP.from_table([[row() for _ in range(A)] for _ in range(S)], horizon=H)


def all_or_nothing(H: int, p: Fraction) -> mk.MDP:
    """The first action reaches, with probability ``p``, a state that pays 1 per step; the second waits."""
    table = [[[(p, 1, 0, False), (1 - p, 0, 0, False)], [(1, 0, 0, False)]], [[(1, 1, 1, False)], [(1, 1, 1, False)]]]
    return mk.MDP.from_table(table, horizon=H)


def variance_ratio(problems: int) -> float:
    """The largest sum of variances of ``V*`` along any policy, in units of ``H²``."""
    rng = np.random.default_rng(SEED)
    cases = [(small_problem(rng, H=2 + j % 2), 1 + j % 3) for j in range(problems)]
    cases += [(all_or_nothing(H, Fraction(n, 8)), k) for H in (4, 10) for n in (1, 4) for k in (1, 2)]
    largest = Fraction(0)
    for mdp, k in cases:
        x = Histories(mdp, k)
        largest = max(largest, x.worst(x.variance, lambda y, x=x: list(x.action_values(y))) / mdp.horizon**2)
    return float(largest)


def near_tie(rng: np.random.Generator, unit: Fraction) -> mk.MDP:
    """State 1 pays 1, state 0 nothing; the actions lead there with chances that differ by a few units."""

    def rows(r: int) -> list[Any]:
        chances = [HALF + unit * int(rng.integers(-8, 9)) for _ in range(2)]
        return [[(1 - p, 0, r, False), (p, 1, r, False)] for p in chances]

    return mk.MDP.from_table([rows(0), rows(1)], horizon=2)


def moved(mdp: mk.MDP, rng: np.random.Generator, most: Fraction) -> mk.MDP:
    """A kernel that differs from this one by at most twice ``most`` in L1, in every row."""

    def row(outcomes: list[Any]) -> list[Any]:
        shift = most * Fraction(int(rng.integers(-8, 9)), 8) if len(outcomes) > 1 else Fraction(0)
        return [(p + d, t, r, False) for (p, t, r), d in zip(outcomes, (shift, -shift), strict=False)]

    table = [[row(mdp.exact_outcomes(0, s, a)) for a in (0, 1)] for s in range(2)]
    return mk.MDP.from_table(table, horizon=mdp.horizon)


def decomposition(mdp: mk.MDP, wrong: mk.MDP, K: int) -> tuple[Fraction, Fraction]:
    """The loss of the policy that is optimal for a wrong kernel, and ``C + C``: the largest expected sums of
    ``|(T − T̂)V*|`` under the best policy and under that one."""
    x = Histories(mdp, K)
    planned = mk.solve(wrong, K, solver=mk.Exact()).policy

    def error(y: Any, a: int) -> Fraction:
        true, estimate = (sum((p * x.value(z) for p, z in x.after(y, a, m)), Fraction(0)) for m in (mdp, wrong))
        return abs(true - estimate)

    def best(y: Any) -> list[int]:
        values = x.action_values(y)
        return [max(values, key=values.__getitem__)]

    def learned(y: Any) -> list[int]:
        return [planned.action(rollout=y[0], step=y[1], state=y[2], best=y[3], so_far=y[4])]

    return optimum(mdp, K) - value(mdp, planned), x.worst(error, best) + x.worst(error, learned)


def decomposition_ratio(problems: int) -> float:
    """The largest loss of the policy that is optimal for a wrong kernel, in units of ``C + C``.

    The kernel is moved by at most ``1/(4KH)`` in L1.
    """
    rng = np.random.default_rng(SEED)
    K, H = 2, 2
    largest = 0.0
    for j in range(problems):
        mdp = near_tie(rng, Fraction(1, 64 * K * H)) if j % 2 else small_problem(rng, H=H)
        lost, errors = decomposition(mdp, moved(mdp, rng, Fraction(1, 8 * K * H)), K)
        largest = max(largest, float(lost / errors) if errors else math.inf if lost else 0.0)
    return largest
