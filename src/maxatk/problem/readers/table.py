"""Tables of outcomes in Gymnasium's form: ``table[s][a] = [(probability, next_state, reward, terminated), ...]``."""

from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import is_dict, is_list, shown
from maxatk.base.errors import InputError
from maxatk.problem.rows import LARGEST_INDEX, Rows, real_column


def read_table(table: Any, horizon: Any) -> Rows:
    """Read one table for all steps, or a list of ``horizon`` tables."""
    horizon = checks.horizon(horizon)
    tables, step_layer = [table], [0] * horizon
    if _depth(table) > 3:
        if not is_list(table):
            raise InputError("tables of several steps must be a list, in the order of the steps")
        if len(table) != horizon:
            raise InputError(f"{len(table)} tables were given, but the horizon is {horizon}")
        distinct = {id(one): one for one in table}  # the same table at many steps is read once
        number = {key: layer for layer, key in enumerate(distinct)}
        tables, step_layer = list(distinct.values()), [number[id(one)] for one in table]
    reader = _Reader()
    n_states = 0
    for layer, one in enumerate(tables):
        name = "table" if len(tables) == 1 else f"table[{step_layer.index(layer)}]"
        states = _numbered(one, name)
        if layer and len(states) != n_states:
            raise InputError(f"{name} has {len(states)} states, but table[0] has {n_states}")
        n_states = len(states)
        for state in range(n_states):
            if state not in states:
                raise InputError(f"{name} has no state {state}, but {n_states} states: they are numbered from 0")
            reader.read_state(layer, state, states[state], f"{name}[{state}]")
    return reader.rows(n_states, np.array(step_layer, np.int64))


class _Reader:
    """Columns that grow row by row."""

    def __init__(self) -> None:
        self._layer: list[int] = []
        self._state: list[int] = []
        self._action: list[int] = []
        self._start = [0]
        self._prob: list[Any] = []
        self._next_state: list[int] = []
        self._reward: list[Any] = []
        self._ends: list[bool] = []

    def read_state(self, layer: int, state: int, actions: Any, name: str) -> None:
        for action, outcomes in _numbered(actions, name).items():
            self._layer.append(layer)
            self._state.append(state)
            self._action.append(action)
            if not is_list(outcomes):
                raise InputError(f"{name}[{action}] must be a list of outcomes, not {shown(outcomes)}")
            for i, outcome in enumerate(outcomes):
                self._read_outcome(outcome, f"{name}[{action}][{i}]")
            self._start.append(len(self._prob))

    def _read_outcome(self, outcome: Any, name: str) -> None:
        if not is_list(outcome) or len(outcome) != 4:
            raise InputError(f"{name} must be (probability, next_state, reward, terminated), not {shown(outcome)}")
        prob, next_state, reward, terminated = outcome
        if not isinstance(terminated, bool | np.bool_) and not (type(terminated) is int and terminated in (0, 1)):
            raise InputError(f"{name}: terminated must be true or false, not {shown(terminated)}")
        self._prob.append(prob)
        self._next_state.append(checks.integer(next_state, f"{name}: next state", most=LARGEST_INDEX))
        self._reward.append(reward)
        self._ends.append(bool(outcome[3]))

    def rows(self, n_states: int, step_layer: Any) -> Rows:
        return Rows(
            n_states=n_states,
            n_actions=max(self._action, default=-1) + 1,
            step_layer=step_layer,
            layer=np.array(self._layer, np.int64),
            state=np.array(self._state, np.int64),
            action=np.array(self._action, np.int64),
            start=np.array(self._start, np.int64),
            prob=real_column(_objects(self._prob)),
            next_state=np.array(self._next_state, np.int64),
            reward=real_column(_objects(self._reward)),
            ends=np.array(self._ends, np.bool_),
        )


def _objects(values: list[Any]) -> Any:
    """``values`` as a column of objects, whatever they are: NumPy must not unpack one that is itself a list."""
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def _numbered(container: Any, name: str) -> dict[int, Any]:
    """The entries of a dict or list by number."""
    if is_dict(container):
        return {checks.integer(key, f"{name}: key", most=LARGEST_INDEX - 1): entry for key, entry in container.items()}
    if is_list(container):
        return dict(enumerate(container))
    raise InputError(f"{name} must be a dict or a list, not {shown(container)}")


def _depth(container: Any) -> int:
    """How many containers enclose the first number: 3 in ``table[s][a][i]``, 4 where a step comes first.

    The tuple of an outcome does not count.
    """
    depth = 0
    while depth < 6 and (is_dict(container) or is_list(container)) and len(container):
        container = next(iter(container.values())) if is_dict(container) else container[0]
        depth += 1
    return depth - 1
