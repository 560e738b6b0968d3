"""Problems whose states are the cells of a grid: where the cells lie, and which way an action moves."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxatk.base.checks import name_of
from maxatk.base.errors import InputError
from maxatk.base.types import Floats

if TYPE_CHECKING:
    from maxatk.problem.mdp import MDP

_CELL = re.compile(r"row (\d+), column (\d+)")


@dataclass(frozen=True, eq=False)
class CellGrid:
    """States as cells, row by row."""

    rows: int
    columns: int
    towards: Floats  # [A, 2] the mean move of each action, in rows and columns
    closed: frozenset[int]  # states that nothing leads to: a cliff, a hole, a wall, a goal

    def cell(self, state: int) -> tuple[int, int]:
        """The row and the column of a state."""
        return divmod(state, self.columns)

    def action_name(self, mdp: "MDP", action: int) -> str:
        """The action's own name; where it has none, the way that it mostly goes."""
        down, right = self.towards[action].tolist()
        if mdp.action_names or bool(down) == bool(right):
            return name_of(mdp.action_names, action)
        if down:
            return "down" if down > 0 else "up"
        return "right" if right > 0 else "left"


def cell_names(rows: int, columns: int) -> list[str]:
    """Names of states that say that they form a grid."""
    return [f"row {row}, column {column}" for row in range(rows) for column in range(columns)]


def find_grid(mdp: "MDP", shape: tuple[int, int] | None = None) -> CellGrid:
    """The grid that the states of a problem form.

    Args:
        mdp: the problem.
        shape: rows and columns; read from state names such as ``row 3, column 0`` by default.
    """
    if shape is None:
        last = _CELL.fullmatch(mdp.state_names[-1]) if mdp.state_names else None
        shape = (int(last[1]) + 1, int(last[2]) + 1) if last else (0, 0)
        # The last name alone may be a coincidence, and may ask for more cells than there are.
        if shape[0] * shape[1] != mdp.n_states or list(mdp.state_names or ()) != cell_names(*shape):
            raise InputError("shape is missing: the names of the states do not say what grid they form")
    rows, columns = shape
    if min(rows, columns) < 1 or rows * columns != mdp.n_states:
        raise InputError(f"a grid of {rows} rows and {columns} columns does not have {mdp.n_states} states")
    closed = set(range(mdp.n_states)) - set(mdp.next_state.tolist()) - set(mdp.start_state.tolist())
    return CellGrid(rows, columns, _moves(mdp, columns), frozenset(closed))


def _moves(mdp: "MDP", columns: int) -> Floats:
    """The mean move of every action [A, 2], over all outcomes that lead no further than to a neighbour.

    Slips to both sides cancel, except at the borders: what is left along the lesser axis of a move does not count.
    """
    n_rows = np.diff(mdp.outcome_start)
    state_of_row = np.repeat(np.arange(len(mdp.pair_start) - 1) % mdp.n_states, np.diff(mdp.pair_start))
    start, action = np.repeat(state_of_row, n_rows), np.repeat(mdp.action, n_rows)
    stays = mdp.next_state < mdp.n_states
    end = np.where(stays, mdp.next_state, start)
    move = np.stack([end // columns - start // columns, end % columns - start % columns], axis=1)  # [T, 2]
    weight = mdp.row_prob * (stays & (np.abs(move).sum(axis=1) <= 1))
    total = np.maximum(np.bincount(action, weight, mdp.n_actions), 1e-300)
    mean = np.stack([np.bincount(action, weight * move[:, j], mdp.n_actions) / total for j in (0, 1)], axis=1)
    return np.where(np.abs(mean) > np.abs(mean).max(axis=1, keepdims=True) / 2, mean, 0.0)
