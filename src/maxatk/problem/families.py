"""Random families in which adapting gains something: lotteries, heavy tails, deadlines, traps.

Each has a size and a seed, and problems of the same seed are the same. Rewards are whole numbers or fractions, so that
small ones are solved exactly. In the other random families, ``random_sparse`` and ``random_dense``, each state and
action has a fixed reward, and adapting gains next to nothing.
"""

from fractions import Fraction
from typing import Any

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number, Seed
from maxatk.problem.mdp import MDP


def lotteries(n_arms: int = 6, horizon: int = 1, prize: int = 20, rng: Seed = 0) -> MDP:
    """Lotteries: in every step a sure prize of 1, or one of ``n_arms - 1`` coins for more.

    A coin pays a whole number ``x`` between 2 and ``prize``, or nothing; its chance of paying is between ``1 / (2 x)``
    and ``1 / x``, so that its mean is at most that of the sure arm. Before there is a result the sure arm is tempting;
    after it, only coins can improve on it.

    Args:
        n_arms: the number of arms, at least 2.
        horizon: the number of steps of a rollout.
        prize: the greatest prize, at least 2.
        rng: a seed, a NumPy Generator, or None for a fresh one.

    >>> import maxatk as mk
    >>> plan = mk.solve(mk.instances.lotteries(rng=1), k=3)
    >>> plan.gain.lower > 0.1
    True
    """
    n = checks.integer(n_arms, "n_arms", least=2)
    most = checks.integer(prize, "prize", least=2, most=10**6)
    random = checks.generator(rng)
    rows: dict[int, Any] = {0: [(1, 0, 1, False)]}
    for arm in range(1, n):
        x = int(random.integers(2, most + 1))
        chance = Fraction(int(random.integers(50, 101)), 100 * x)
        rows[arm] = [(chance, 0, x, False), (1 - chance, 0, 0, False)]
    return MDP.from_table([rows], horizon=horizon, action_names=["sure", *(f"coin {i}" for i in range(1, n))])


def heavy_tails(
    n_arms: int = 4, horizon: int = 1, atoms: int = 10, equal_means: bool = False, rng: Seed = 0
) -> MDP:  # fmt: skip
    """Heavy tails: arms with Pareto's distribution, each by ``atoms`` quantiles of equal probability.

    Arm ``i`` has an index ``a`` between 1.1 and 4 and a scale such that its mean is between 1/2 and 1: arms with nearly
    equal means, whose tails differ. Rewards are rounded to hundredths.

    Args:
        n_arms: the number of arms, at least 1.
        horizon: the number of steps of a rollout.
        atoms: the number of quantiles of an arm.
        equal_means: give all arms the mean 1, exactly, so that only their tails differ.
        rng: a seed, a NumPy Generator, or None for a fresh one.

    >>> import maxatk as mk
    >>> mk.instances.heavy_tails(rng=1)
    MDP(1 state, 4 actions, horizon 1, 40 outcomes)
    """
    n = checks.integer(n_arms, "n_arms", least=1)
    count = checks.integer(atoms, "atoms", least=1, most=10_000)
    checks.boolean(equal_means, "equal_means")
    random = checks.generator(rng)
    rows: dict[int, Any] = {}
    for arm in range(n):
        index, mean = float(random.uniform(1.1, 4.0)), float(random.uniform(0.5, 1.0))
        scale = mean * (index - 1) / index
        quantiles = [scale * (1 - (2 * j + 1) / (2 * count)) ** (-1 / index) for j in range(count)]
        if equal_means:
            quantiles = [x * count / sum(quantiles) for x in quantiles]
        hundredths = [round(100 * x) for x in quantiles]
        if equal_means:
            hundredths[-1] += 100 * count - sum(hundredths)
        rows[arm] = [(Fraction(1, count), 0, Fraction(x, 100), False) for x in hundredths]
    return MDP.from_table([rows], horizon=horizon)


def deadlines(jobs: int = 4, horizon: int = 6, rng: Seed = 0) -> MDP:
    """Deadlines: jobs in a row, each done carefully, which takes two steps or more, or in haste, which may go wrong.

    Jobs pay between 1 and 6, later ones mostly more. One that goes wrong pays nothing and ends the rollout; what is
    not done at the end of the horizon pays nothing. In haste there is time for all; with care there may not be.

    Args:
        jobs: the number of jobs, at least 1.
        horizon: the number of steps of a rollout.
        rng: a seed, a NumPy Generator, or None for a fresh one.

    >>> import maxatk as mk
    >>> mk.instances.deadlines(rng=0)
    MDP(8 states, 2 actions, horizon 6, 19 outcomes)
    """
    n = checks.integer(jobs, "jobs", least=1)
    random = checks.generator(rng)
    table: list[dict[int, Any]] = []
    for job in range(n):
        pay = 1 + 4 * job // max(n - 1, 1) + int(random.integers(0, 2))
        wrong = Fraction(int(random.integers(20, 61)), 100)
        ends, following = job == n - 1, min(2 * job + 2, 2 * n - 1)
        haste = [(1 - wrong, following, pay, ends), (wrong, following, 0, True)]
        slip = Fraction(int(random.integers(0, 21)), 100)  # care may take yet another step
        table.append({0: [(1, 2 * job + 1, 0, False)], 1: haste})
        table.append({0: [(1 - slip, following, pay, ends), (slip, 2 * job + 1, 0, False)]})
    names = [f"job {job + 1}{part}" for job in range(n) for part in ("", ", with care")]
    return MDP.from_table(table, horizon=horizon, state_names=names, action_names=("care", "haste"))


def traps(rooms: int = 6, horizon: int = 10, ransom: Number = 5, rng: Seed = 0) -> MDP:
    """Traps: a corridor of rooms, each richer than the last, whose doors may lead into a trap that ends the rollout.

    In every room one may stay, for the room's treasure each step, or go on. A door is a trap with a chance between .05
    and .5; falling in costs the ``ransom``. With tries to spare it is right to go far, and to stop sooner on the last.

    Args:
        rooms: the number of rooms, at least 1.
        horizon: the number of steps of a rollout.
        ransom: what a trap takes.
        rng: a seed, a NumPy Generator, or None for a fresh one.

    >>> import maxatk as mk
    >>> mk.instances.traps(rng=0)
    MDP(6 states, 2 actions, horizon 10, 16 outcomes)
    """
    n = checks.integer(rooms, "rooms", least=1)
    loss = checks.exact_number(ransom, "ransom")
    if loss < 0:
        raise InputError(f"ransom must not be negative, not {checks.shown(ransom)}")
    random = checks.generator(rng)
    table: list[dict[int, Any]] = []
    treasure = 0
    for room in range(n):
        treasure += int(random.integers(0 if room == 0 else 1, 4))
        table.append({0: [(1, room, treasure, False)]})
        if room + 1 < n:
            trap = Fraction(int(random.integers(5, 51)), 100)
            table[room][1] = [(1 - trap, room + 1, 0, False), (trap, room, -loss, True)]
    names = [f"room {room + 1}" for room in range(n)]
    return MDP.from_table(table, horizon=horizon, state_names=names, action_names=("stay", "go on"))
