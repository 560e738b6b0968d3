"""What a policy and a problem are worth, in fractions."""

import math
from fractions import Fraction

import maxatk as mk

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def value(mdp: mk.MDP, policy: mk.Policy) -> Fraction:
    """What the policy earns."""
    earned = mk.evaluate(mdp, policy).exact
    assert earned is not None
    return earned


def optimum(mdp: mk.MDP, k: int, best: Fraction | float = -math.inf) -> Fraction:
    """The value of an optimal policy."""
    return mk.solve(mdp, k, best_so_far=best, solver=mk.Exact()).exact


def coins(*chances: Fraction) -> mk.MDP:
    """One step; each action pays 1 with its chance."""
    return mk.MDP.from_table([[[(x, 0, 1, True), (1 - x, 0, 0, True)] for x in chances]], horizon=1)
