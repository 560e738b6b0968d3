"""Costs of rows in all forms that callers use: one number, by state and action, by pair; or per step."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from maxatk.base.checks import is_dict, is_list, shown
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Reals
from maxatk.problem.builder import relayered
from maxatk.problem.readers.table import depth_of, numbered
from maxatk.problem.rows import Rows, array, real_column


def with_costs(rows: Rows, cost: Any) -> Rows:
    """``rows`` with the costs that a caller gave by state and action: a number, an array, or dicts as in a table."""
    if cost is None:
        return rows
    shape, horizon = (rows.n_states, rows.n_actions), len(rows.step_layer)
    if is_dict(cost) or (is_list(cost) and any(is_dict(entry) for entry in cost)):
        return _with_tables(rows, _from_dicts(rows, cost))
    given = _array(cost)
    if given.ndim == 0:
        return replace(rows, action_cost=real_column(np.repeat(given.reshape(1), len(rows.state))))
    if given.shape not in (shape, (horizon, *shape)):
        raise InputError(
            f"action_cost has shape {given.shape}: expected a number, {shape}, or that for each of the {horizon} steps"
        )
    return _with_tables(rows, [given] if given.ndim == 2 else list(given))


def with_costs_of_pairs(rows: Rows, cost: Any, state: Ints, action: Ints) -> Rows:
    """``rows`` with costs by state-action pair, ``[N]`` or ``[H, N]``."""
    if cost is None:
        return rows
    given = _array(cost)
    n, horizon = len(state), len(rows.step_layer)
    if given.ndim == 0:
        return with_costs(rows, cost)
    if given.shape not in ((n,), (horizon, n)):
        raise InputError(
            f"action_cost has shape {given.shape}: expected a number, {(n,)}, or that for each of the {horizon} steps"
        )
    S, A = rows.n_states, rows.n_actions
    if not n or min(state.min(), action.min()) < 0 or state.max() >= S or action.max() >= A:
        return rows  # the constructor raises the error
    tables: list[Any] = []
    for step in [given] if given.ndim == 1 else list(given):
        table: Any = np.zeros((S, A), step.dtype)
        table[state, action] = step
        tables.append(table)
    return _with_tables(rows, tables)


def _array(cost: Any) -> Any:
    if isinstance(cost, Real):  # a fraction, say
        return np.array(cost, object)
    given = array(cost, "action_cost")
    if given.dtype.kind in "US":
        raise InputError(f"action_cost must be a number or an array of numbers, not {shown(cost)}")
    return given


def _from_dicts(rows: Rows, cost: Any) -> list[Any]:
    """Arrays [S, A] from ``cost[s][a]``, one for all steps or one for each; missing entries are 0."""
    horizon = len(rows.step_layer)
    per_step = is_list(cost) and depth_of(cost) > 2
    if per_step and len(cost) != horizon:
        raise InputError(f"action_cost lists {len(cost)} steps, but the horizon is {horizon}")
    read: dict[int, Any] = {}  # a table that several steps share is read once
    steps: list[Any] = []
    for h, one in enumerate(cost if per_step else [cost]):
        if id(one) not in read:
            layer = int(rows.step_layer[h])
            name = f"action_cost[{h}]" if per_step else "action_cost"
            read[id(one)] = _table(rows, layer if per_step else None, one, name)
        steps.append(read[id(one)])
    return steps


def _table(rows: Rows, layer: int | None, cost: Any, name: str) -> Any:
    kept = slice(None) if layer is None else rows.layer == layer
    offered = set(zip(rows.state[kept].tolist(), rows.action[kept].tolist(), strict=True))
    table: Any = np.zeros((rows.n_states, rows.n_actions), object)
    for s, actions in numbered(cost, name).items():
        for a, amount in numbered(actions, f"{name}[{s}]").items():
            if (s, a) not in offered:
                raise InputError(f"{name}[{s}][{a}]: there is no such row")
            table[s, a] = amount
    return table


def _with_tables(rows: Rows, steps: list[Any]) -> Rows:
    """``rows`` with costs from arrays [S, A], one for all steps, or one for each, which then has a layer of its own."""
    if len(steps) == 1:
        return replace(rows, action_cost=_column(steps[0], rows.state, rows.action))
    layers: list[int] = rows.step_layer.tolist()
    keys = [(layer, id(step)) for layer, step in zip(layers, steps, strict=True)]
    first = {key: h for h, key in reversed(list(enumerate(keys)))}
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    by_layer = [np.flatnonzero(rows.layer == layer) for layer in range(max(layers) + 1)]
    kept = [by_layer[layer] for layer, _ in number]  # for each new layer, its rows among the old ones
    cost = [_column(steps[first[key]], rows.state[k], rows.action[k]) for key, k in zip(number, kept, strict=True)]
    layers_of_steps = np.array([number[key] for key in keys], np.int64)
    return replace(relayered(rows, layers_of_steps, kept), action_cost=np.concatenate(cost))


def _column(table: Any, state: Ints, action: Ints) -> Reals:
    return real_column(table[state, action])
