"""Families of problems that an attacker would choose."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from soaking.oracle import Number, Problem

Random = np.random.Generator
Amount = Callable[[Random], Number]


def _problem(
    random: Random,
    amount: Amount,
    *,
    states: int = 3,
    actions: int = 3,
    horizon: int = 3,
    k: int = 4,
    per_step: bool = False,
    ends: float = 0.15,
    all_actions: bool = False,
    starts: bool = False,
    chance: Callable[[Random, int], list[Number]] | None = None,
) -> Problem:
    """A random problem whose rewards are drawn by ``amount``; all sizes are the greatest that come up."""
    S, A, H = (int(random.integers(1, n + 1)) for n in (states, actions, horizon))
    some = [amount(random) for _ in range(int(random.integers(2, 6)))]  # few different ones, so that returns meet

    def row() -> list[tuple[Number, int, Number, bool]]:
        n = int(random.integers(1, 4))
        probs = (chance or _chances)(random, n)
        return [
            (p, int(random.integers(S)), some[int(random.integers(len(some)))], bool(random.random() < ends))
            for p in probs
        ]

    def table() -> dict[int, dict[int, list[tuple[Number, int, Number, bool]]]]:
        found = {}
        for s in range(S):
            offered = list(range(A)) if all_actions else sorted(set(random.integers(0, A, A).tolist()))
            found[s] = {a: row() for a in offered}
        return found

    start: list[Number] = [1.0] + [0.0] * (S - 1)
    if starts:
        start = [float(x) for x in random.dirichlet(np.ones(S))]
    steps = [table() for _ in range(H if per_step else 1)]
    return Problem(steps, H, start, int(random.integers(1, k + 1)), -math.inf)


def _chances(random: Random, n: int) -> list[Number]:
    kind = random.integers(4)
    if kind == 0:
        return [1 / n] * n
    if kind == 1:
        eighths = random.multinomial(8, np.ones(n) / n)
        return [float(x) / 8 for x in eighths] if eighths.max() < 8 or n == 1 else [1.0] + [0.0] * (n - 1)
    if kind == 2 and n > 1:  # hardly ever, or almost surely
        p = float(10 ** random.uniform(-12, -2))
        return [1 - p, p, *[0.0] * (n - 2)]
    return [float(x) for x in random.dirichlet(np.ones(n))]


def _whole(random: Random) -> Number:
    return int(random.integers(-4, 9))


def _tenths(random: Random) -> Number:
    return 0.1 * int(random.integers(-5, 11))


def _real(random: Random) -> Number:
    return float(random.normal(0, 3))


def _fraction(random: Random) -> Number:
    return Fraction(int(random.integers(-9, 10)), int(random.integers(1, 8)))


def lattice(random: Random) -> Problem:
    """Whole numbers, quarters, tenths or fractions."""
    return _problem(random, [_whole, lambda r: float(_whole(r)) / 4, _tenths, _fraction][int(random.integers(4))])


def real(random: Random) -> Problem:
    """Rewards that share no step."""
    return _problem(random, _real, horizon=3, k=3)


def heavy(random: Random) -> Problem:
    """Losses 10 to 10^5 times the gains, with chances at which the mean nearly ties."""
    scale = float(10 ** random.uniform(1, 5))
    whole = random.random() < 0.5

    def amount(x: float) -> float:
        return float(np.rint(x)) if whole else x

    def row() -> list[tuple[Number, int, Number, bool]]:
        gain, loss = amount(random.uniform(1, 12)), -amount(scale * random.uniform(0.5, 1))
        level = gain / (gain - loss)
        p = float(np.clip(level * (1 + random.choice([0, 1e-15, 1e-12, -1e-9, 1e-3, 0.3, -0.3])), 1e-9, 0.99))
        ends = bool(random.random() < 0.5)
        return [
            [(1.0, 0, 0.0, ends)],
            [(1 - p, 0, gain, ends), (p, 0, loss, True)],
            [(0.5, 0, gain, ends), (0.5, 0, loss, ends)],
            [(0.9 * (1 - p), 0, amount(gain / 3), ends), (0.1 * (1 - p), 0, gain, ends), (p, 0, loss, ends)],
        ][int(random.integers(4))]

    table = {0: {a: row() for a in range(int(random.integers(2, 5)))}}
    return Problem([table], int(random.integers(1, 3)), [1.0], int(random.integers(1, 5)), -math.inf)


def scales(random: Random) -> Problem:
    """Huge, tiny and mixed sizes, and small differences between large numbers."""
    kind = int(random.integers(6))
    size = float(10 ** random.uniform(5, 300)) if kind % 2 else float(10 ** random.uniform(-299, -5))
    amounts: list[Amount] = [
        lambda r: size * float(r.normal()),
        lambda r: size * int(r.integers(-3, 4)),
        lambda r: float(10 ** r.uniform(-20, 20)) * float(r.choice([-1, 1])),
        lambda r: float(2.0**40) + int(r.integers(0, 4)),
        lambda r: 1e9 + float(r.normal()),
        lambda r: int(10 ** r.uniform(8, 15)) + int(r.integers(0, 3)),
    ]
    return _problem(random, amounts[kind], horizon=2, k=3, states=2)


def large_integers(random: Random) -> Problem:
    """Large whole numbers that differ by little, and rollouts that end early."""
    size = int(10 ** random.uniform(6, 15))
    return _problem(random, lambda r: size + int(r.integers(0, 3)), horizon=3, ends=0.4, k=3)


def per_step(random: Random) -> Problem:
    """A table of its own for every step."""
    return _problem(random, _whole if random.random() < 0.5 else _real, per_step=True, k=3)


def early_ends(random: Random) -> Problem:
    """Most outcomes end the rollout."""
    return _problem(random, _whole if random.random() < 0.7 else _real, ends=0.7, horizon=4)


def starts(random: Random) -> Problem:
    """A start state that is drawn afresh."""
    return _problem(random, _whole if random.random() < 0.7 else _real, starts=True, horizon=2)


def incumbents(random: Random) -> Problem:
    """Something in hand: inside the range of returns, below it, beyond it, far away."""
    problem = _problem(random, [_whole, _real, _tenths][int(random.integers(3))], horizon=2, k=3)
    near = float(random.normal(0, 5))
    kinds = [near, round(near), Fraction(int(random.integers(-20, 20)), 3), 1e20, -1e20, -1e300, 1e-300, 1e9, 0.1 + 0.2]
    return replace(problem, incumbent=kinds[int(random.integers(len(kinds)))])


def many_rollouts(random: Random) -> Problem:
    """Up to 10^4 rollouts of few steps."""
    problem = _problem(random, _whole if random.random() < 0.7 else _real, states=1, horizon=1, actions=3)
    return replace(problem, k=int(10 ** random.uniform(1, 4)))


def one_return(random: Random) -> Problem:
    """Only one return is possible."""
    reward = [_whole, _real, _fraction, lambda r: 0.123456789][int(random.integers(4))](random)
    table = {0: {a: [(1.0, 0, reward, False)] for a in range(int(random.integers(1, 3)))}}
    return Problem([table], int(random.integers(1, 4)), [1.0], int(random.integers(1, 5)), -math.inf)


def fractions(random: Random) -> Problem:
    """Fractions beside floats, in probabilities and rewards, and rows that do not quite sum to 1."""

    def chance(random: Random, n: int) -> list[Number]:
        kind = random.integers(3)
        if kind == 0:
            cuts = sorted(random.integers(0, 8, n - 1).tolist())
            return [Fraction(b - a, 7) for a, b in zip([0, *cuts], [*cuts, 7], strict=True)]
        if kind == 1 and n == 2:
            return [0.3333333, 0.6666666]
        return [1 / 3, Fraction(2, 3)] if n == 2 else _chances(random, n)

    return _problem(random, lambda r: [_tenths, _fraction, _real][int(r.integers(3))](r), chance=chance, horizon=2, k=3)


P_SIZE = (0.9, 0.05, 0.05)  # chances that costs are of a usual size, tiny, or huge


def _priced(random: Random, problem: Problem) -> Problem:
    """The problem with costs, of rows or of rollouts or both; they may be tiny, or more than anything is worth.

    Some are what makes a rollout worth just what it costs: a difference of rewards times its chance.
    """
    size = float(
        10 ** random.choice([random.uniform(-2, 1), random.uniform(-290, -12), random.uniform(3, 30)], p=P_SIZE)
    )
    outcomes = [outcome for table in problem.steps for row in table[0].values() for outcome in row]
    (_, _, here, _), (p, _, there, _) = (outcomes[int(random.integers(len(outcomes)))] for _ in range(2))
    tie = Fraction(p) * abs(Fraction(here) - Fraction(there))
    amounts: list[Number] = [0, size, Fraction(size).limit_denominator(10), float(random.exponential(size))]
    if random.random() < 0.4:
        amounts[int(random.integers(4))] = tie if tie > 1e-200 else 0
    pairs = {(s, a) for table in problem.steps for s, actions in table.items() for a in actions}
    costs = {pair: amounts[int(random.integers(4))] for pair in sorted(pairs)} if random.random() < 0.7 else {}
    hands: list[Number] = [-math.inf, -math.inf, 0, float(random.normal(0, 5)), int(random.integers(-9, 9))]
    return replace(
        problem,
        costs=costs,
        price=amounts[int(random.integers(4))],
        abandon=bool(random.random() < 0.5),
        incumbent=hands[int(random.integers(5))],
    )


def costs(random: Random) -> Problem:
    """What rows and rollouts cost, on lattices of returns."""
    return _priced(random, _problem(random, [_whole, _tenths][int(random.integers(2))], starts=random.random() < 0.5))


def costs_of_real(random: Random) -> Problem:
    """The same off lattices."""
    return _priced(random, _problem(random, _real, starts=random.random() < 0.5, horizon=2, k=4))


def jackpots(random: Random) -> Problem:
    """A safe arm, and one that hardly ever pays, but much: on a common step, and off it."""
    whole = random.random() < 0.6
    size = float(10 ** random.uniform(2, 6))
    jackpot = round(size) if whole else size * float(random.uniform(1, 2))
    chance = float(random.uniform(0.05, 2)) / size
    often = float(random.uniform(0.05, 0.9))
    arms = {
        0: [(often, 0, 1, True), (1 - often, 0, 0, True)],
        1: [(chance, 0, jackpot, True), (1 - chance, 0, 0, True)],
    }
    if random.random() < 0.3:
        arms[2] = [(1.0, 0, 0.5 * often if not whole else 0, True)]
    return Problem([{0: arms}], 1, [1.0], int(random.integers(2, 11)), -math.inf)


def costs_alone(random: Random) -> Problem:
    """All rewards 0, or all the same: only costs differ, and tries may be given up."""
    reward = [0, 0, 0.5, -3, Fraction(1, 3)][int(random.integers(5))]
    problem = _priced(random, _problem(random, lambda r: reward, states=2, horizon=3, k=4))
    return replace(problem, abandon=bool(random.random() < 0.7))


FAMILIES = (
    *(lattice, real, heavy, scales, large_integers, per_step, early_ends, starts),
    *(incumbents, many_rollouts, one_return, fractions, costs, costs_of_real, jackpots, costs_alone),
)


def family_of(seed: int) -> Callable[[Random], Problem]:
    """The family of a seed: they take turns."""
    return FAMILIES[seed % len(FAMILIES)]


def draw(seed: int) -> Problem:
    """The problem of a seed."""
    family = family_of(seed)
    return replace(family(np.random.default_rng(seed)), family=family.__name__)
