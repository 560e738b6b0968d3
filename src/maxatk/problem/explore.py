"""From a simulator to a table: the states that can be reached from the start, numbered as they are met."""

import re
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import is_list, shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.progress import reporter
from maxatk.base.types import Floats
from maxatk.problem.rows import Rows, real_column

MOST_STATES = 1_000_000


class Explored(NamedTuple):
    """Where an exploration stands."""

    states: int  # met so far
    steps: int  # from the start to those that are looked at now
    seconds: float  # since it began


class States(Sequence[Any]):
    """The states of a problem that was explored: ``states[i]`` is the ``i``-th, ``states.index(state)`` its number.

    Args:
        numbers: the number of each state, from 0, in this order.
        actions: what the actions of the problem are called by the simulator.
    """

    def __init__(self, numbers: dict[Any, int], actions: Sequence[Any]) -> None:
        self._numbers, self._states = numbers, list(numbers)
        self.actions = tuple(actions)  # ``actions[a]`` is what the simulator calls action ``a``
        self.key: Callable[[Any], Any] | None = None  # the state in which an environment stands, if one was explored

    def now(self, env: Any) -> int:
        """The number of the state in which a Gymnasium environment of the kind that was explored stands now."""
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
        except TypeError:  # it cannot be hashed, so it is none of them
            return False

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of a state: at once, however many there are.

        Args:
            value: the state.
            start: the least number that counts.
            stop: the number from which none counts.
        """
        try:
            number = self._numbers[value]
        except (KeyError, TypeError):
            raise InputError(f"{shown(value)} is none of the {len(self)} states that were explored") from None
        if number < start or (stop is not None and number >= stop):
            raise InputError(f"{shown(value)} is state {number}, which is not asked for")
        return number

    def __repr__(self) -> str:
        return f"States({len(self)}: {', '.join(map(shown, self._states[:3]))}{', ...' if len(self) > 3 else ''})"


class Exploration(NamedTuple):
    """A problem that was read from a simulator or an environment: its rows, and what they are about."""

    rows: Rows
    start: Any  # a distribution over the states [S]
    states: States
    state_names: Sequence[str] | None
    action_names: Sequence[str] | None

    def arguments(self) -> dict[str, Any]:
        """What the constructor of :class:`maxatk.MDP` takes beside the rows."""
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
    paid_at: Callable[[int, Floats], Floats] | None = None,
) -> Exploration:
    """Look at everything that can be reached within ``horizon`` steps, breadth first.

    ``paid_at(step, rewards)`` says what rewards become at a step, where they depend on time: then every step has rows
    of its own.
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
                # What follows the last step does not matter, so states that come after it are not met at all.
                table.look(s, offered, outcomes, last=depth == horizon - 1)
                if report and s % 100 == 0:
                    report(Explored(len(table.states), depth, time.perf_counter() - began))
            frontier = range(frontier.stop, len(table.states))
            depth += 1
    distribution: Any = [0] * len(table.states)
    for prob, state in start_prob:
        distribution[state] = distribution[state] + prob
    rows, labels = table.rows(horizon, paid_at)
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
    """States and their probabilities: a mapping is a distribution, all else a state."""
    if not isinstance(start, Mapping):
        return [(start, 1)]
    if not start:
        raise InputError("start is an empty distribution")
    return list(start.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class _Table:
    """Rows that grow as states are met."""

    def __init__(self, limit: int, action_cost: Callable[[Any, Any], Any] | None) -> None:
        self._cost_of, self._cost = action_cost, list[Any]()
        self.states: dict[Any, int] = {}
        self._listed: list[Any] = []  # the same, by number
        self._limit = limit
        self._labels: dict[Any, int] = {}
        self._state: list[int] = []
        self._action: list[Any] = []
        self._first = [0]
        self._prob: list[Any] = []
        self._next: list[int] = []
        self._reward: list[Any] = []
        self._ends: list[bool] = []

    def number(self, state: Any) -> int:
        """The number of a state, which may be a new one."""
        if not isinstance(state, Hashable):
            raise InputError(f"states must be hashable, as tuples of numbers are, not {shown(state)}")
        try:
            found = self.states.setdefault(state, len(self.states))
        except TypeError:  # a tuple of lists says that it can be hashed
            raise InputError(f"states must be hashable, as tuples of numbers are, not {shown(state)}") from None
        if found == len(self._listed):
            self._listed.append(state)
            if found == self._limit:
                raise TooLargeError(
                    f"more than {self._limit} states can be reached: give max_states= for more, or a smaller horizon"
                )
        return found

    def look(self, s: int, offered: Callable[[Any], Iterable[Any]], outcomes: Any, last: bool) -> None:
        """Add the rows of a state; those of the ``last`` step lead nowhere."""
        state = self._listed[s]
        acts = list(offered(state))
        if not acts:
            raise InputError(f"state {shown(state)} offers no action: what ends a rollout is an outcome with done=True")
        for action in acts:
            self._state.append(s)
            self._action.append(self._label(action))
            if self._cost_of is not None:
                self._cost.append(self._cost_of(state, action))
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
                over = bool(done) or last
                self._prob.append(prob)
                self._next.append(0 if over else self.number(after))
                self._reward.append(reward)
                self._ends.append(over)
            self._first.append(len(self._prob))

    def _label(self, action: Any) -> int:
        try:
            return self._labels.setdefault(action, len(self._labels))
        except TypeError:
            raise InputError(f"actions must be hashable, not {shown(action)}") from None

    def rows(self, horizon: int, paid_at: Callable[[int, Floats], Floats] | None) -> tuple[Rows, list[Any]]:
        """The rows, and what actions are called: whole numbers keep theirs, others are numbered as they were met."""
        labels: list[Any] = list(self._labels)
        action = np.array(self._action, np.int64)
        if all(isinstance(x, int | np.integer) and not isinstance(x, bool) and 0 <= x < 2**20 for x in labels):
            action = np.array([int(x) for x in labels], np.int64)[action]
            labels = list(range(int(max(labels)) + 1))
        layers = 1 if paid_at is None else horizon
        reward = real_column(_objects(self._reward))
        if paid_at is not None:
            reward = np.concatenate([paid_at(h, reward.astype(np.float64)) for h in range(horizon)])
        counts = np.diff(np.array(self._first, np.int64))
        n_rows = len(action)
        return Rows(
            n_states=len(self.states),
            n_actions=len(labels),
            step_layer=np.zeros(horizon, np.int64) if layers == 1 else np.arange(horizon),
            layer=np.repeat(np.arange(layers), n_rows),
            state=np.tile(np.array(self._state, np.int64), layers),
            action=np.tile(action, layers),
            start=np.concatenate([[0], np.cumsum(np.tile(counts, layers))]),
            prob=np.tile(real_column(_objects(self._prob)), layers),
            next_state=np.tile(np.array(self._next, np.int64), layers),
            reward=reward,
            ends=np.tile(np.array(self._ends, np.bool_), layers),
            action_cost=np.tile(real_column(_objects(self._cost)), layers) if self._cost else None,
        ), labels


def _objects(values: list[Any]) -> Any:
    """``values`` as a column of objects, whatever they are."""
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column
