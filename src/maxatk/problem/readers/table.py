"""Tables of outcomes in Gymnasium's form: ``table[s][a] = [(probability, next_state, reward, terminated), ...]``."""

from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import is_dict, is_list, shown
from maxatk.base.errors import InputError
from maxatk.problem.builder import RowBuilder
from maxatk.problem.rows import LARGEST_INDEX, Rows


def read_table(table: Any, horizon: Any) -> Rows:
    """Read one table for all steps, or a list of ``horizon`` tables."""
    horizon = checks.horizon(horizon)
    tables, step_layer = [table], [0] * horizon
    if depth_of(table) > 4:
        if not is_list(table):
            raise InputError("tables of several steps must be a list, in the order of the steps")
        if len(table) != horizon:
            raise InputError(f"{len(table)} tables were given, but the horizon is {horizon}")
        distinct = {id(one): one for one in table}  # the same table at many steps is read once
        number = {key: layer for layer, key in enumerate(distinct)}
        tables, step_layer = list(distinct.values()), [number[id(one)] for one in table]
    builder = RowBuilder()
    n_states = 0
    for layer, one in enumerate(tables):
        name = "table" if len(tables) == 1 else f"table[{step_layer.index(layer)}]"
        states = numbered(one, name)
        if layer and len(states) != n_states:
            raise InputError(f"{name} has {len(states)} states, but table[0] has {n_states}")
        n_states = len(states)
        for state in range(n_states):
            if state not in states:
                raise InputError(f"{name} has no state {state}, but {n_states} states: they are numbered from 0")
            _read_state(builder, layer, state, states[state], f"{name}[{state}]")
    return builder.rows(n_states, max(builder.action, default=-1) + 1, np.array(step_layer, np.int64))


def _read_state(builder: RowBuilder, layer: int, state: int, actions: Any, name: str) -> None:
    for action, outcomes in numbered(actions, name).items():
        builder.open_row(layer, state, action)
        if not is_list(outcomes):
            raise InputError(f"{name}[{action}] must be a list of outcomes, not {shown(outcomes)}")
        for i, outcome in enumerate(outcomes):
            builder.outcome(*_outcome(outcome, f"{name}[{action}][{i}]"))


def _outcome(outcome: Any, name: str) -> tuple[Any, int, Any, bool]:
    if not is_list(outcome) or len(outcome) != 4:
        raise InputError(f"{name} must be (probability, next_state, reward, terminated), not {shown(outcome)}")
    prob, next_state, reward, terminated = outcome
    if not isinstance(terminated, bool | np.bool_) and not (type(terminated) is int and terminated in (0, 1)):
        raise InputError(f"{name}: terminated must be true or false, not {shown(terminated)}")
    return prob, checks.integer(next_state, f"{name}: next state", most=LARGEST_INDEX), reward, bool(outcome[3])


def numbered(container: Any, name: str) -> dict[int, Any]:
    """The entries of a dict or list by number."""
    if is_dict(container):
        return {checks.integer(key, f"{name}: key", most=LARGEST_INDEX - 1): entry for key, entry in container.items()}
    if is_list(container):
        return dict(enumerate(container))
    raise InputError(f"{name} must be a dict or a list, not {shown(container)}")


def depth_of(container: Any) -> int:
    """The number of nested containers around the first scalar: 4 in ``table[s][a][i]``, 5 with a list of steps.

    The tuple of an outcome counts; at most 6 levels are counted.
    """
    depth = 0
    while depth < 6 and (is_dict(container) or is_list(container)) and len(container):
        container = next(iter(container.values())) if is_dict(container) else container[0]
        depth += 1
    return depth
