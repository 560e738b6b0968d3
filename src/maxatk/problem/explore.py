"""From a simulator to a table: the states that can be reached from the start, numbered breadth first."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import is_list, shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.progress import reporter
from maxatk.base.types import Floats
from maxatk.problem.builder import RowBuilder, relayered
from maxatk.problem.rows import Rows

MOST_STATES = 1_000_000


class Explored(NamedTuple):
    """The progress of an exploration."""

    states: int  # reached so far
    steps: int  # from the start to the states that are being expanded
    seconds: float  # since it began


class States(Sequence[Any]):
    """The states of a problem that was explored: ``states[i]`` is the ``i``-th, ``states.index(state)`` its number.

    Args:
        numbers: the number of each state, from 0, in this order.
        actions: the simulator's names of the actions.
    """

    def __init__(self, numbers: dict[Any, int], actions: Sequence[Any]) -> None:
        self._numbers, self._states = numbers, list(numbers)
        self.actions = tuple(actions)  # ``actions[a]`` is the simulator's name of action ``a``
        self.key: Callable[[Any], Any] | None = None  # the current state of an environment, if one was explored

    def now(self, env: Any) -> int:
        """The number of the current state of a Gymnasium environment of the kind that was explored."""
        return self.index(int(env.unwrapped.s) if self.key is None else self.key(env.unwrapped))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._states[index]

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._states)

    def __contains__(self, value: object) -> bool:
        try:
            return value in self._numbers
        except TypeError:  # states are hashable, so it is not one of them
            return False

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of a state, in constant time.

        Args:
            value: the state.
            start: the least number allowed.
            stop: numbers below this are allowed.
        """
        try:
            number = self._numbers[value]
        except (KeyError, TypeError):
            raise InputError(f"{shown(value)} is not one of the {len(self)} states that were explored") from None
        if number < start or (stop is not None and number >= stop):
            raise InputError(f"{shown(value)} is state {number}, which is not in the range asked for")
        return number

    def __repr__(self) -> str:
        return f"States({len(self)}: {', '.join(map(shown, self._states[:3]))}{', ...' if len(self) > 3 else ''})"


class Exploration(NamedTuple):
    """A problem that was read from a simulator or an environment: its rows, and the states and actions in them."""

    rows: Rows
    start: Any  # a distribution over the states [S]
    states: States
    state_names: Sequence[str] | None
    action_names: Sequence[str] | None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the constructor of :class:`maxatk.MDP`, apart from the rows."""
        return {name: value for name, value in self._asdict().items() if name != "rows"}


def explored(
    start: Any,
    actions: Any,
    outcomes: Callable[[Any, Any], Iterable[Any]],
    horizon: int,
    *,
    action_cost: Callable[[Any, Any], Any] | None = None,
    max_states: int = MOST_STATES,
    progress: bool | Callable[[Explored], None] = False,
    reward_at: Callable[[int, Floats], Floats] | None = None,
) -> Exploration:
    """The problem of all states that can be reached within ``horizon`` steps, breadth first.

    ``reward_at(step, rewards)`` returns the rewards at a step, if they depend on time: then every step has rows of its
    own.
    """
    horizon = checks.horizon(horizon)
    limit = checks.integer(max_states, "max_states", least=1)
    offered = _offers(actions)
    if action_cost is not None and not callable(action_cost):
        raise InputError(f"action_cost must be a function of a state and an action, not {shown(action_cost)}")
    if not callable(outcomes):
        raise InputError(f"outcomes must be a function of a state and an action, not {shown(outcomes)}")
    table = _Table(limit, action_cost)
    start_prob = [(prob, table.number(state)) for state, prob in _start(start)]
    began, depth, frontier = time.perf_counter(), 0, range(len(table.states))
    with reporter(progress, "exploring", _line) as report:
        while frontier and depth < horizon:
            for s in frontier:
                # States after the last step do not matter, so they are not added.
                table.expand(s, offered, outcomes, last=depth == horizon - 1)
                if report and s % 100 == 0:
                    report(Explored(len(table.states), depth, time.perf_counter() - began))
            frontier = range(frontier.stop, len(table.states))
            depth += 1
    distribution: Any = [0] * len(table.states)
    for prob, state in start_prob:
        distribution[state] = distribution[state] + prob
    rows, labels = table.rows(horizon, reward_at)
    names = None if labels == list(range(len(labels))) else [str(label) for label in labels]
    states = States(table.states, labels)
    return Exploration(rows, distribution, states, [shown(state) for state in states], names)


def with_states(message: str, states: States | None) -> str:
    """An error message, with the simulator's own name for the first state that it mentions by number."""
    spoken = re.search(r"state (\d+)", message)
    if spoken is None or states is None or int(spoken[1]) >= len(states):
        return message
    name = shown(states[int(spoken[1])])
    return message if name == spoken[1] else f"{message} (state {spoken[1]} is {name})"


def _line(at: Explored) -> str:
    return f"exploring: {at.states} states within {at.steps} steps in {at.seconds:.0f} s"


def _offers(actions: Any) -> Callable[[Any], Iterable[Any]]:
    if callable(actions):
        chosen: Any = actions
        return chosen
    if isinstance(actions, str | bytes | Mapping) or not isinstance(actions, Iterable):
        raise InputError(f"actions must be a function of a state, or a list, not {shown(actions)}")
    fixed: list[Any] = list(actions)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return lambda state: fixed


def _start(start: Any) -> list[tuple[Any, Any]]:
    """States and their probabilities; ``start`` is a distribution if it is a mapping, otherwise a state."""
    if not isinstance(start, Mapping):
        return [(start, 1)]
    if not start:
        raise InputError("start is an empty distribution")
    return list(start.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class _Table:
    """The rows of the states that were reached."""

    def __init__(self, limit: int, action_cost: Callable[[Any, Any], Any] | None) -> None:
        self._cost_of, self._limit, self._builder = action_cost, limit, RowBuilder()
        self.states: dict[Any, int] = {}
        self._listed: list[Any] = []  # the same, by number
        self._labels: dict[Any, int] = {}

    def number(self, state: Any) -> int:
        """The number of a state, which may be a new one."""
        try:
            number = self.states.setdefault(state, len(self.states))
        except TypeError:
            raise InputError(f"states must be hashable, such as tuples of numbers, not {shown(state)}") from None
        if number == len(self._listed):
            self._listed.append(state)
            if number == self._limit:
                raise TooLargeError(
                    f"more than {self._limit} states can be reached: give max_states= for more, or a smaller horizon"
                )
        return number

    def expand(self, s: int, offered: Callable[[Any], Iterable[Any]], outcomes: Any, last: bool) -> None:
        """Add the rows of a state; at the ``last`` step every outcome ends the rollout."""
        state = self._listed[s]
        acts = list(offered(state))
        if not acts:
            raise InputError(f"state {shown(state)} offers no action: a rollout ends by an outcome with done=True")
        for action in acts:
            self._builder.open_row(0, s, self._label(action))
            if self._cost_of is not None:
                self._builder.action_cost.append(self._cost_of(state, action))
            for n, outcome in enumerate(outcomes(state, action)):
                if not is_list(outcome) or len(outcome) != 4:
                    raise InputError(
                        f"outcomes({shown(state)}, {shown(action)})[{n}] must be "
                        f"(probability, next state, reward, done), not {shown(outcome)}"
                    )
                prob, after, reward, done = outcome
                if np.ndim(done) != 0 or np.asarray(done).dtype.kind != "b":
                    raise InputError(
                        f"outcomes({shown(state)}, {shown(action)})[{n}]: done must be true or false, not {shown(done)}"
                    )
                ends = bool(done) or last
                self._builder.outcome(prob, 0 if ends else self.number(after), reward, ends)

    def _label(self, action: Any) -> int:
        try:
            return self._labels.setdefault(action, len(self._labels))
        except TypeError:
            raise InputError(f"actions must be hashable, not {shown(action)}") from None

    def rows(self, horizon: int, reward_at: Callable[[int, Floats], Floats] | None) -> tuple[Rows, list[Any]]:
        """The rows, and the labels of the actions: integers are kept, others are numbered in order of appearance."""
        labels: list[Any] = list(self._labels)
        if all(isinstance(x, int | np.integer) and not isinstance(x, bool) and 0 <= x < 2**20 for x in labels):
            self._builder.action = [int(labels[i]) for i in self._builder.action]
            labels = list(range(int(max(labels)) + 1))
        rows = self._builder.rows(len(self.states), len(labels), np.zeros(horizon, np.int64))
        return (rows if reward_at is None else _per_step(rows, horizon, reward_at)), labels


def _per_step(rows: Rows, horizon: int, reward_at: Callable[[int, Floats], Floats]) -> Rows:
    """``rows`` with a layer for each step, since rewards depend on time."""
    layers = relayered(rows, np.arange(horizon), [np.arange(len(rows.state))] * horizon)
    rewards = rows.reward.astype(np.float64)
    return replace(layers, reward=np.concatenate([reward_at(h, rewards) for h in range(horizon)]))
