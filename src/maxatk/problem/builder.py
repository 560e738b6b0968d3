"""Ways to build rows: one by one, as readers of tables and simulators do, or from the columns of a problem."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from maxatk.base.types import Ints
from maxatk.problem.rows import Rows, offsets, real_column


class RowBuilder:
    """Columns that grow row by row; :meth:`rows` makes arrays of them."""

    def __init__(self) -> None:
        self.layer: list[int] = []  # [N]
        self.state: list[int] = []  # [N]
        self.action: list[int] = []  # [N]
        self.action_cost: list[Any] = []  # [N], or empty if actions cost nothing
        self._start = [0]  # [N + 1]
        self._prob: list[Any] = []  # [T]
        self._next_state: list[int] = []  # [T]
        self._reward: list[Any] = []  # [T]
        self._ends: list[bool] = []  # [T]

    def open_row(self, layer: int, state: int, action: int) -> None:
        """Begin a row; the outcomes that follow belong to it."""
        self.layer.append(layer)
        self.state.append(state)
        self.action.append(action)
        self._start.append(len(self._prob))

    def outcome(self, prob: Any, next_state: int, reward: Any, ends: bool) -> None:
        """Add an outcome to the last row."""
        self._prob.append(prob)
        self._next_state.append(next_state)
        self._reward.append(reward)
        self._ends.append(ends)
        self._start[-1] += 1

    def rows(self, n_states: int, n_actions: int, step_layer: Ints) -> Rows:
        """The rows so far."""
        return Rows(
            n_states=n_states,
            n_actions=n_actions,
            step_layer=step_layer,
            layer=np.array(self.layer, np.int64),
            state=np.array(self.state, np.int64),
            action=np.array(self.action, np.int64),
            start=np.array(self._start, np.int64),
            prob=_column(self._prob),
            next_state=np.array(self._next_state, np.int64),
            reward=_column(self._reward),
            ends=np.array(self._ends, np.bool_),
            action_cost=_column(self.action_cost) if self.action_cost else None,
        )


def rows_of(n_states: int, n_actions: int, columns: Mapping[str, Any]) -> Rows:
    """Rows from the columns of a :class:`maxatk.problem.rows.Canonical`; the columns of numbers may hold fractions."""
    node = np.repeat(np.arange(len(columns["pair_start"]) - 1), np.diff(columns["pair_start"]))
    layer, state = np.divmod(node, n_states)
    ends = columns["next_state"] == n_states
    return Rows(
        n_states=n_states,
        n_actions=n_actions,
        step_layer=columns["step_layer"].astype(np.int64),
        layer=layer,
        state=state,
        action=columns["action"].astype(np.int64),
        start=columns["outcome_start"],
        prob=columns["prob"],
        next_state=np.where(ends, 0, columns["next_state"]).astype(np.int64),
        reward=columns["reward"],
        ends=ends,
        action_cost=columns["action_cost"],
    )


def relayered(rows: Rows, step_layer: Ints, kept: list[Ints]) -> Rows:
    """``rows`` with other layers, each of which consists of the given rows."""
    picked = np.concatenate(kept)
    counts = np.diff(rows.start)[picked]
    start = offsets(counts)
    outcomes = np.arange(int(start[-1])) + np.repeat(rows.start[picked] - start[:-1], counts)
    return replace(
        rows,
        step_layer=step_layer,
        layer=np.repeat(np.arange(len(kept)), [len(some) for some in kept]),
        state=rows.state[picked],
        action=rows.action[picked],
        start=start,
        prob=rows.prob[outcomes],
        next_state=rows.next_state[outcomes],
        reward=rows.reward[outcomes],
        ends=rows.ends[outcomes],
        action_cost=None if rows.action_cost is None else rows.action_cost[picked],
    )


def _column(values: list[Any]) -> Any:
    """``values`` as a column of floats or objects; NumPy must not unpack an object that is itself a list."""
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return real_column(column)
