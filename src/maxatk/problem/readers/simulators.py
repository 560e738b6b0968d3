"""Gymnasium environments without a table from which one can be made: by a model, by rules, or by running copies.

* Environments with a model of their outcomes, such as gym-classics', are read state by state.
* Blackjack is enumerated by its rules.
* MiniGrid's, and any other that can be copied and whose state has a key, are run: copies of them take every action
  from every state, and wherever they draw a random number, every number is tried.
"""

import copy
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Floats
from maxatk.problem.cards import CARDS, add_card, dealer_showing
from maxatk.problem.tuning import TUNING

MOST_BRANCHES = 20_000  # of one step


class Simulator:
    """An environment as :meth:`maxatk.MDP.explore` takes it.

    Args:
        start: states and their probabilities.
        actions: all actions.
        outcomes: a function that lists the outcomes of an action in a state.
        key: a function that returns the current state of an environment.
        horizon: the number of steps after which all rollouts have ended, if it is known.
        reward_at: a function that returns the rewards at a step, if they depend on time.
    """

    def __init__(
        self,
        start: dict[Any, Any],
        actions: range,
        outcomes: Callable[[Any, Any], Any],
        key: Callable[[Any], Any],
        horizon: int | None = None,
        reward_at: Callable[[int, Floats], Floats] | None = None,
    ) -> None:
        self.start, self.actions, self.outcomes = start, actions, outcomes
        self.key, self.horizon, self.reward_at = key, horizon, reward_at


# Environments with a model.


def model_table(inner: Any) -> tuple[Any, Any] | None:
    """The table and the start distribution of an environment that has a model; None if it has none.

    gym-classics' own ``model`` merges outcomes that lead to one state and keeps only the last of their rewards, so the
    function behind it is read instead.
    """
    if not callable(getattr(inner, "model", None)) or not hasattr(inner.observation_space, "n"):
        return None
    states, actions = range(int(inner.observation_space.n)), range(int(inner.action_space.n))
    raw = getattr(inner, "_generate_transitions", None)
    table: list[list[list[tuple[Any, int, Any, bool]]]] = []
    for s in states:
        of_state = [
            list(raw(inner.decode(s), a)) if raw else list(zip(*inner.model(s, a), strict=True)) for a in actions
        ]
        table.append(
            [
                [(float(p), int(inner.encode(t)) if raw else int(t), float(r), bool(d)) for t, r, d, p in row if p > 0]
                for row in of_state
            ]
        )
    starts = getattr(inner, "_starts", None)
    if starts is None:
        return table, None
    start = np.zeros(len(states))
    for state in starts:
        start[inner.encode(state)] += 1 / len(starts)
    return table, start


# Blackjack, by its rules.


def blackjack(inner: Any) -> Simulator:
    """Blackjack: states are the player's sum, the dealer's card, whether an ace counts 11, and whether it is a natural.

    A natural is an ace and a ten in the first two cards; observations do not show it.
    """

    def hand(cards: tuple[int, ...], shown_card: int) -> tuple[int, int, int, bool]:
        total, soft = sum(cards), 1 in cards and sum(cards) <= 11
        return total + 10 * soft, shown_card, int(soft), sorted(cards) == [1, 10]

    def outcomes(state: tuple[int, int, int, bool], action: int) -> Iterator[tuple[Fraction, Any, float, bool]]:
        total, card, soft, natural = state
        if action == 0:
            for (dealt, dealt_natural), prob in dealer_showing(card).items():
                won = float((total > dealt) - (total < dealt))
                if inner.sab and natural and not dealt_natural:
                    won = 1.0
                elif not inner.sab and inner.natural and natural and won == 1.0:
                    won = 1.5
                yield prob, None, won, True
            return
        for drawn, prob in CARDS.items():
            after = add_card(total, bool(soft), drawn)
            if after is None:
                yield prob, None, -1.0, True
            else:
                yield prob, (after[0], card, int(after[1]), False), 0.0, False

    start: dict[Any, Fraction] = {}
    for first, p in CARDS.items():
        for second, q in CARDS.items():
            for card, r in CARDS.items():
                state = hand((first, second), card)
                start[state] = start.get(state, Fraction(0)) + p * q * r
    return Simulator(start, range(2), outcomes, lambda env: hand(tuple(env.player), env.dealer[0]), horizon=21)


# Environments that can be copied.


class Branches:
    """Replaces an environment's random generator, and enumerates all sequences of numbers that it may draw."""

    def __init__(self) -> None:
        self._chosen: list[int] = []  # the draws of the present sequence, as far as they are decided
        self._weights: list[list[float]] = []  # the probabilities of all possible results of each draw
        self._drawn = 0

    def all(self, run: Callable[[], Any], most: int, what: str) -> Iterator[tuple[float, Any]]:
        """All results of ``run`` with their probabilities; an error about ``what`` if there are more than ``most``."""
        for _ in range(most):
            self._drawn, self._weights = 0, []
            result = run()
            yield math.prod(w[c] for w, c in zip(self._weights, self._chosen, strict=True)), result
            while self._chosen and self._chosen[-1] == len(self._weights[-1]) - 1:
                self._chosen.pop()
                self._weights.pop()
            if not self._chosen:
                return
            self._chosen[-1] += 1
        raise TooLargeError(f"{what} in more than {most} ways, which are too many to enumerate")

    def _draw(self, weights: list[float]) -> int:
        if self._drawn == len(self._chosen):
            self._chosen.append(0)
        self._weights.append(weights)
        self._drawn += 1
        return self._chosen[self._drawn - 1]

    def integers(self, low: int, high: int | None = None, size: None = None, endpoint: bool = False) -> int:
        """As NumPy's, one number at a time."""
        first, stop = (0, low) if high is None else (low, high)
        n = int(stop) - int(first) + bool(endpoint)
        if size is not None or n < 1:
            raise InputError("an environment draws random numbers in a way that cannot be listed: arrays of integers")
        return int(first) + self._draw([1 / n] * n)

    def choice(self, a: Any, size: None = None, replace: bool = True, p: Any = None) -> Any:
        """As NumPy's, one element at a time."""
        options = list(range(int(a))) if np.ndim(a) == 0 else list(a)
        if size is not None:
            raise InputError("an environment draws random numbers in a way that cannot be listed: several choices")
        weights = [1 / len(options)] * len(options) if p is None else [float(x) for x in p]
        return options[self._draw(weights)]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Branches":
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(f"an environment draws random numbers in a way that cannot be listed: np_random.{name}")


def copied(inner: Any, name: str, key: Callable[[Any], Any], seed: int | None) -> Simulator:
    """A simulator that runs copies of an environment; with a ``seed`` every reset is the one of that seed."""
    branches = Branches()
    shared = [getattr(inner, attribute, None) for attribute in ("observation_space", "action_space", "spec")]

    def fresh(env: Any) -> Any:
        try:
            made = copy.deepcopy(env, {id(one): one for one in shared})
        except Exception as error:  # a window, a connection, anything
            raise InputError(f"{name} cannot be copied: {type(error).__name__}: {shown(str(error))}") from None
        return made

    def listed(env: Any) -> Any:
        """``env`` with its random numbers enumerated from now on."""
        env.np_random = branches
        if _is_minigrid(env):
            env.place_obj = partial(_place, env, branches)
        return env

    places: dict[Any, Any] = {}  # an environment in each state that was reached

    def met(env: Any) -> Any:
        state = key(env)
        places.setdefault(state, env)
        return state

    def reset() -> Any:
        env = fresh(inner)
        (env if seed is not None else listed(env)).reset(seed=seed)
        return met(env)

    def step(state: Any, action: int) -> tuple[Any, float, bool]:
        env = listed(fresh(places[state]))
        if hasattr(env, "step_count"):  # time is not a part of the state
            env.step_count = 0
        _, reward, terminated, _, _ = env.step(action)
        return met(env), float(reward), bool(terminated)

    def outcomes(state: Any, action: int) -> Iterator[tuple[float, Any, float, bool]]:
        for prob, (after, reward, over) in branches.all(
            lambda: step(state, action), MOST_BRANCHES, f"{name} may go on"
        ):
            yield prob, after, reward, over

    start: dict[Any, float] = {}
    hint = f"{name} resets" if seed is not None else f"{name} resets (give seed= for one of its resets)"
    for prob, state in branches.all(reset, TUNING.most_resets, hint):
        start[state] = start.get(state, 0.0) + prob
    reward_at = _timed(inner) if _is_minigrid(inner) else None
    return Simulator(start, range(int(inner.action_space.n)), outcomes, key, None, reward_at)


def _is_minigrid(inner: Any) -> bool:
    return any(kind.__module__.startswith("minigrid.") for kind in type(inner).__mro__)


def minigrid_key(env: Any) -> Any:
    """The state of a MiniGrid environment: all that its future depends on, except time."""

    def thing(one: Any) -> Any:
        return None if one is None else (*map(int, one.encode()), thing(getattr(one, "contains", None)))

    cells = tuple(thing(one) for one in env.grid.grid)
    x, y = (int(c) for c in env.agent_pos)
    return (x, y), int(env.agent_dir), thing(env.carrying), env.mission, cells


def _timed(inner: Any) -> Callable[[int, Floats], Floats]:
    """The rewards at a step, given those at the first: MiniGrid's reward for success decreases with time."""

    def reward_after(steps: int) -> float:
        one = copy.copy(inner)
        one.step_count = steps
        return float(one._reward())

    at_once = reward_after(1)
    return lambda h, rewards: np.where(rewards == at_once, reward_after(h + 1), rewards)


def _place(
    env: Any,
    branches: Branches,
    obj: Any,
    top: Any = None,
    size: Any = None,
    reject_fn: Any = None,
    max_tries: float = math.inf,
) -> Any:
    """MiniGrid's ``place_obj``, which draws places until one is free: here one of the free places is drawn."""
    left, upper = (max(top[0], 0), max(top[1], 0)) if top is not None else (0, 0)
    width, height = size or (env.grid.width, env.grid.height)
    free = [
        (x, y)
        for x in range(left, min(left + width, env.grid.width))
        for y in range(upper, min(upper + height, env.grid.height))
        if env.grid.get(x, y) is None
        and not np.array_equal((x, y), env.agent_pos)
        and not (reject_fn and reject_fn(env, (x, y)))
    ]
    if not free:
        raise RecursionError("no place is free")  # as MiniGrid does
    place = free[branches.integers(len(free))]
    env.grid.set(*place, obj)
    if obj is not None:
        obj.init_pos = obj.cur_pos = place
    return place
