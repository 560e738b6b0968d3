"""Named problems with known answers: a windy cliff, a gallery of well-known ones, the paper's, random ones.

Every function can be called without arguments and returns an :class:`maxatk.MDP`; :func:`names` lists them all.
Errors of the paper are corrected here; the docstrings say where.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from maxatk.base import checks
from maxatk.base.checks import nearest, shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number, Seed
from maxatk.problem.families import deadlines, heavy_tails, lotteries, traps
from maxatk.problem.gallery import blackjack, drafts, gambler, javelin, qualifying_laps, speedrun
from maxatk.problem.grid import cell_names
from maxatk.problem.mdp import MDP

SAFE, RISKY = 0, 1
# Of Theorem 3: c0 and c1. Its proof takes c1 > 8 / ((3/4 - 3 c0/2)(1 - 3 c0/2)): docs/theory/learning.md, 5.
HARD_CONSTANTS = {"paper": (Fraction(1, 96), 8192), "tight": (Fraction(1, 9), 17)}
_TWO_ACTIONS = ("safe", "risky")


def names() -> list[str]:
    """The names of all instances, for :func:`make`.

    >>> import maxatk as mk
    >>> "windy_cliff" in mk.instances.names()
    True
    """
    return list(_INSTANCES)


def make(name: str, **arguments: Any) -> MDP:
    """The instance of that name: the result of calling the function ``name`` with ``arguments``.

    >>> import maxatk as mk
    >>> mk.instances.make("footnote", horizon=3)
    MDP(1 state, 2 actions, horizon 3, 3 different steps, 6 outcomes)
    """
    if not isinstance(name, str) or name not in _INSTANCES:
        hint = _meant(name, _INSTANCES) if isinstance(name, str) else ""
        raise InputError(f"there is no instance {shown(name)}: {hint}the instances are {', '.join(_INSTANCES)}")
    known = list(inspect.signature(_INSTANCES[name]).parameters)
    for argument in arguments:
        if argument not in known:
            raise InputError(
                f"{name} takes no {argument}: {_meant(argument, known)}its arguments are {', '.join(known) or 'none'}"
            )
    return _INSTANCES[name](**arguments)


def _meant(word: str, known: Iterable[str]) -> str:
    """A question for a word that is similar to a known one; it comes before the list of them all."""
    close = nearest(word, known)
    return f"did you mean {close}? " if close else ""


def described() -> list[dict[str, Any]]:
    """Every instance: its name, a summary of one line, and its arguments with their defaults.

    >>> import maxatk as mk
    >>> mk.instances.described()[0]["arguments"]
    {'horizon': 40, 'slip': 0.2, 'columns': 12}
    """
    return [
        {
            "name": name,
            "summary": re.sub(r":func:|`", "", (inspect.getdoc(function) or "").splitlines()[0]),
            "arguments": {
                argument.name: argument.default
                if isinstance(argument.default, int | float | str | None)
                else str(argument.default)
                if isinstance(argument.default, Fraction)
                else list(argument.default)
                for argument in inspect.signature(function).parameters.values()
            },
        }
        for name, function in _INSTANCES.items()
    ]


def windy_cliff(horizon: int = 40, slip: float = 0.2, columns: int = 12) -> MDP:
    """Gymnasium's cliff-walking map in a wind: each move slips to either side with probability ``slip / 2``.

    The map has 4 rows of ``columns`` cells, numbered row by row. Rollouts start in the lower left corner and end at the
    goal in the lower right; between them lies the cliff. The reward of a step is -1; that of a step off the cliff is
    -100, and it leads back to the start.
    The short way runs along the edge: with five tries it is right to gamble on it, except on the last.

    Args:
        horizon: the number of steps of a rollout.
        slip: the probability that a move slips.
        columns: the number of cells of a row, at least 3.

    >>> import maxatk as mk
    >>> mk.instances.windy_cliff(columns=6)
    MDP(24 states, 4 actions, horizon 40, 266 outcomes)
    """
    rows, columns = 4, checks.integer(columns, "columns", least=3)
    start, goal = (3, 0), (3, columns - 1)
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left
    slip = float(checks.exact_number(slip, "slip"))
    if not 0 <= slip <= 1:
        raise InputError(f"slip must be between 0 and 1, not {slip}")

    def arrive(cell: tuple[int, int], direction: int) -> tuple[int, float, bool]:
        row = min(max(cell[0] + moves[direction][0], 0), rows - 1)
        column = min(max(cell[1] + moves[direction][1], 0), columns - 1)
        if row == start[0] and start[1] < column < goal[1]:
            return start[0] * columns + start[1], -100.0, False
        return row * columns + column, -1.0, (row, column) == goal

    table = [
        [
            [
                (prob, *arrive((row, column), (action + turn) % 4))
                for turn, prob in ((0, 1 - slip), (1, slip / 2), (3, slip / 2))
            ]
            for action in range(4)
        ]
        for row in range(rows)
        for column in range(columns)
    ]
    return MDP.from_table(
        table,
        horizon=horizon,
        start=start[0] * columns + start[1],
        state_names=cell_names(rows, columns),
        action_names=("up", "right", "down", "left"),
    ).with_unit("steps")


def figure1(gamma: Number = Fraction(1, 4)) -> MDP:
    """Figure 1: a safe action for 1/2 that fails with probability ``gamma``, a risky one for 1 with probability 1/4.

    (The paper's text calls both "risky".) There is one step; rewards are distributions. For ``K = 2`` and
    ``gamma <= 1/2`` the optimum is ``5/8 - gamma/8 - gamma**2/2``; the paper prints ``5/8 - gamma(1/8 + gamma)``.
    """
    fails = _probability(gamma, "gamma")
    quarter = Fraction(1, 4)
    return _lotteries(safe=(Fraction(1, 2), 1 - fails), risky=(Fraction(1), quarter))


def proposition1(k: int = 3, mu: Number = Fraction(1, 2)) -> MDP:
    """Proposition 1's family: a safe ``1/k`` with probability ``1/k``, or a risky ``mu`` with probability ``1/k**2``.

    It is meant for ``K = k`` rollouts: the value of adaptive policies is then up to 1.2489 times that of Markovian
    ones. This needs ``mu > 1/k``; at ``mu = 1/2`` and ``k = 2`` the ratio is exactly 1.
    """
    k = checks.integer(k, "k", least=1)
    risky = checks.exact_number(mu, "mu")
    return _lotteries(safe=(Fraction(1, k), Fraction(1, k)), risky=(risky, Fraction(1, k * k)))


def adaptivity_gap(k: int = 50, jackpot: Number = 10**6) -> MDP:
    """A family in which adapting to M gains most: a safe 1 now and then, or a jackpot almost never.

    It is meant for ``K = k`` rollouts. With a large ``jackpot`` the value of adaptive policies is 1.2557 times that of
    the best ones without M at ``k = 10``, 1.2796 times at 50, and up to 1.2855 times for large ``k``; no problem is
    known where it is more.
    """
    k = checks.integer(k, "k", least=2)
    prize = checks.exact_number(jackpot, "jackpot")
    if prize < 1:
        raise InputError(f"jackpot must be at least 1, not {shown(jackpot)}")
    safe, rare = Fraction(1_948_430, 10**6) / k, Fraction(648_713, 10**6) / (k * prize)
    return _lotteries(safe=(Fraction(1), safe), jackpot=(prize, rare))


def _lotteries(**lotteries: tuple[Fraction, Fraction]) -> MDP:
    """One state, one step, and an action per lottery ``(prize, probability)`` that else pays 0."""
    actions = [[(prob, 0, prize, True), (1 - prob, 0, 0, True)] for prize, prob in lotteries.values()]
    return MDP.from_table([actions], horizon=1, state_names=("s",), action_names=tuple(lotteries))


def proposition3() -> MDP:
    """Proposition 3's instance, where dropping either M or G loses: a coin for 0 or 1, then safe 1/2 or risky 1.

    It has three steps: a coin leads from ``s1`` to ``u0`` or ``u1``; the next step leads to ``bar s`` with reward 0 or
    1; there is the choice. For two rollouts the optimum is 42/32. Without G it is 41/32, without M (which the paper
    leaves open) 41/32 too, and 5/4 for Markovian policies.
    """
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    coin = [(half, 1, 0, False), (half, 2, 0, False)]
    low, high = [(1, 3, 0, False)], [(1, 3, 1, False)]
    table = {
        0: {SAFE: coin, RISKY: coin},
        1: {SAFE: low, RISKY: low},
        2: {SAFE: high, RISKY: high},
        3: {SAFE: [(1, 3, half, True)], RISKY: [(quarter, 3, 1, True), (1 - quarter, 3, 0, True)]},
    }
    return MDP.from_table(table, horizon=3, state_names=("s1", "u0", "u1", "bar s"), action_names=_TWO_ACTIONS)


def footnote(horizon: int = 5) -> MDP:
    """The footnote's problem with ``2**horizon`` different returns: at step h (from 1), take 0 or ``2**-h``.

    The optimum is ``1 - 2**-horizon`` for every K.
    """
    horizon = checks.horizon(horizon)
    steps = [{0: {0: [(1, 0, 0, False)], 1: [(1, 0, Fraction(1, 2 ** (h + 1)), False)]}} for h in range(horizon)]
    return MDP.from_table(steps, horizon=horizon, state_names=("s",), action_names=("nothing", "take"))


def subset_sum(weights: Sequence[int] = (3, 5, 7), target: int = 8) -> MDP:
    """Theorem 2's reduction: after a safe first rollout, the right action tells if some weights sum to the target.

    With ``L`` the target, ``C = L + 5 + sum(weights)`` and ``eta = 2**-n / 8``: from ``s0``, *safe* pays ``(1 + L)/C``
    and ends; *plus* pays ``(1 + eta)/C``; *minus* pays 0 or ``2/C`` by a coin; the latter two continue through
    ``s1 .. sn``, where a coin pays ``w_i/C``, to ``s(n+1)``, where a coin pays ``(L + 3)/C``. (The paper writes that
    last state as another ``s_n``.) In the last of two rollouts, after a safe first one, *minus* beats *plus* if
    and only if some subset of the weights sums to the target.

    Args:
        weights: ``n`` whole numbers, each at least 1.
        target: the sum to reach, ``L``.
    """
    if not checks.is_list(weights):
        raise InputError(f"weights must be a list of integers, not {shown(weights)}")
    w = [checks.integer(x, f"weights[{i}]", least=1) for i, x in enumerate(weights)]
    L, n = checks.integer(target, "target"), len(w)
    C, eta, half, one = L + 5 + sum(w), Fraction(1, 8 * 2**n), Fraction(1, 2), Fraction(1)
    table: list[dict[int, Any]] = [
        {
            0: [(one, 0, Fraction(1 + L, C), True)],
            1: [(one, 1, (1 + eta) / C, False)],
            2: [(half, 1, Fraction(0), False), (half, 1, Fraction(2, C), False)],
        }
    ]
    for i, prize in enumerate([*w, L + 3], start=1):
        last = i == n + 1
        target_state = i if last else i + 1
        table.append({0: [(half, target_state, Fraction(prize, C), last), (half, target_state, Fraction(0), last)]})
    return MDP.from_table(
        table, horizon=n + 2, state_names=[f"s{i}" for i in range(n + 2)], action_names=("safe", "plus", "minus")
    )


def lower_bound(
    n_states: int = 3,
    n_actions: int = 2,
    horizon: int = 4,
    k: int = 2,
    epsilon: Number = Fraction(1, 2**20),
    alternative: tuple[int, int] | None = None,
    start: int = 0,
    constants: str = "paper",
) -> MDP:
    """Theorem 3's family of hard instances for learning: the base, or the ``alternative`` (state, action).

    From each of ``n_states - 1`` states every action reaches the goal, the last state, with probability
    ``p = c0/(k H)``; in the alternative one action of one state does so with ``p + Delta``, where
    ``Delta = c1 epsilon/(k H**2)``. The goal pays 1 per step and is never left; the other states pay 0 (the
    paper prints 1 there). A policy within ``epsilon`` of the optimum takes the better action in more than half of the
    steps in the first quarters of its rollouts, so a learner must identify it. The proof needs
    ``H`` to be a multiple of 4 and ``Delta <= p/2``, that is ``epsilon <= c0 H/(2 c1)``.

    * ``"paper"``: ``c0 = 1/96``, ``c1 = 8192``, hence ``epsilon <= H/(192 * 8192)`` (the paper's range is twice that).
    * ``"tight"``: ``c0 = 1/9``, ``c1 = 17``, hence ``epsilon <= H/306``: the family behind ``mk.least_samples``, proved
      in docs/theory/learning.md, 5.

    Args:
        n_states: ``S``, the goal included.
        n_actions: ``A``.
        horizon: ``H``, a multiple of 4.
        k: the number of rollouts that the instance is meant for.
        epsilon: the loss that a learner is allowed.
        alternative: the state and the action that is better than all others; None for the base.
        start: the state that rollouts start in.
        constants: ``"paper"`` or ``"tight"``.

    >>> import maxatk as mk
    >>> mdp = mk.instances.lower_bound(horizon=8, k=3, epsilon=0.02, alternative=(0, 1), constants="tight")
    >>> [f"{float(row[1].prob):.5f}" for row in (mdp.exact_outcomes(0, 0, 0), mdp.exact_outcomes(0, 0, 1))]
    ['0.00463', '0.00640']
    """
    S = checks.integer(n_states, "n_states", least=2)
    A = checks.integer(n_actions, "n_actions", least=2)
    H, K = checks.horizon(horizon), checks.integer(k, "k", least=1)
    if H % 4:
        raise InputError(f"horizon must be a multiple of 4, not {H}")
    checks.one_of(constants, list(HARD_CONSTANTS), "constants")
    c0, c1 = HARD_CONSTANTS[constants]
    error, most = checks.exact_number(epsilon, "epsilon"), c0 * H / (2 * c1)
    if not 0 < error <= most:
        raise InputError(
            f"epsilon must be above 0 and at most H/{2 * c1 / c0} = {float(most):.3g}, not {shown(epsilon)}"
        )
    p, delta = c0 / (K * H), c1 * error / (K * H * H)
    goal = S - 1
    better = None
    if alternative is not None:
        if not checks.is_list(alternative) or len(alternative) != 2:
            raise InputError(f"alternative must be a pair (state, action), not {shown(alternative)}")
        state, action = alternative
        better = (
            checks.integer(state, "alternative state", most=goal - 1),
            checks.integer(action, "alternative action", most=A - 1),
        )
    table: list[dict[int, Any]] = []
    for s in range(goal):
        chances = [p + delta if (s, a) == better else p for a in range(A)]
        table.append({a: [(q, goal, 0, False), (1 - q, s, 0, False)] for a, q in enumerate(chances)})
    table.append({a: [(1, goal, 1, False)] for a in range(A)})
    return MDP.from_table(table, horizon=H, start=start, state_names=[*(f"s{i + 1}" for i in range(goal)), "g"])


def random_sparse(
    n_states: int = 20,
    n_actions: int = 4,
    horizon: int = 10,
    *,
    successors: int = 3,
    rewards: Sequence[float] | None = None,
    rng: Seed = 0,
) -> MDP:
    """Random rows of ``successors`` outcomes each, drawn with replacement, their probabilities uniform on the simplex.

    Args:
        n_states: ``S``.
        n_actions: ``A``.
        horizon: the number of steps of a rollout.
        successors: the number of outcomes of a row, before equal ones are merged.
        rewards: the numbers from which the reward of each state and action is drawn; by default uniform in [0, 1].
        rng: a seed, a NumPy Generator, or None for a fresh one.

    >>> import maxatk as mk
    >>> mk.instances.random_sparse(50, 2, 5, rewards=range(3), rng=0).return_range
    (1.0, 9.0)
    """
    S, A = checks.integer(n_states, "n_states", least=1), checks.integer(n_actions, "n_actions", least=1)
    b = checks.integer(successors, "successors", least=1)
    random = checks.generator(rng)
    prob = random.dirichlet(np.ones(b), S * A)
    next_state = random.integers(S, size=(S * A, b))
    P = sparse.coo_array((prob.ravel(), (np.repeat(np.arange(S * A), b), next_state.ravel())), shape=(S * A, S))
    return MDP.from_arrays(P, _random_rewards(random, (S, A), rewards), horizon=horizon)


def random_dense(
    n_states: int = 10, n_actions: int = 3, horizon: int = 10, *, rewards: Sequence[float] | None = None, rng: Seed = 0
) -> MDP:
    """Random rows over all states, uniform on the simplex.

    Args:
        n_states: ``S``.
        n_actions: ``A``.
        horizon: the number of steps of a rollout.
        rewards: the numbers from which the reward of each state and action is drawn; by default uniform in [0, 1].
        rng: a seed, a NumPy Generator, or None for a fresh one.
    """
    S, A = checks.integer(n_states, "n_states", least=1), checks.integer(n_actions, "n_actions", least=1)
    checks.fits_in_memory(8 * S * A * S, f"a dense table of {S} states and {A} actions")
    random = checks.generator(rng)
    P = random.dirichlet(np.ones(S), (S, A))
    return MDP.from_arrays(P, _random_rewards(random, (S, A), rewards), horizon=horizon)


def _random_rewards(random: np.random.Generator, shape: tuple[int, int], rewards: Sequence[float] | None) -> Any:
    if rewards is None:
        return random.random(shape)
    if not checks.is_list(rewards) and not isinstance(rewards, np.ndarray):
        raise InputError(f"rewards must be a list of numbers, not {shown(rewards)}")
    if not len(rewards):
        raise InputError("rewards must not be empty")
    return random.choice(
        np.array([float(checks.exact_number(r, f"rewards[{i}]")) for i, r in enumerate(rewards)]), shape
    )


def _probability(value: Number, name: str) -> Fraction:
    exact = checks.exact_number(value, name)
    if not 0 <= exact <= 1:
        raise InputError(f"{name} must be between 0 and 1, not {shown(value)}")
    return exact


_INSTANCES: dict[str, Callable[..., MDP]] = {
    make_instance.__name__: make_instance
    for make_instance in (
        *(windy_cliff, qualifying_laps, javelin, gambler, blackjack, speedrun, drafts, figure1, proposition1),
        *(
            proposition3,
            footnote,
            adaptivity_gap,
            subset_sum,
            lower_bound,
            lotteries,
            heavy_tails,
            deadlines,
            traps,
            random_sparse,
        ),
        random_dense,
    )
}
