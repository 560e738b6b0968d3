"""Problems whose states are the cells of a grid: the positions of cells and the directions of actions."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    closed: frozenset[int]  # states that no outcome leads to: a cliff, a hole, a wall, a goal
    goals: frozenset[int]  # those of them where a rollout ends with the best final reward
    hazards: frozenset[int]  # those where it ends with less, or moves elsewhere: a hole, a cliff

    def cell(self, state: int) -> tuple[int, int]:
        """The row and the column of a state."""
        return divmod(state, self.columns)

    def ahead(self, state: int, action: int) -> int | None:
        """The cell that an action mostly leads to; None if it does not move, or moves off the grid."""
        row, column = self.cell(state)
        down, right = np.sign(self.towards[action]).astype(int).tolist()
        row, column = row + down, column + right
        inside = (down or right) and 0 <= row < self.rows and 0 <= column < self.columns
        return row * self.columns + column if inside else None

    def stepped_into(self, state: int, action: int, after: int | None) -> int | None:
        """The goal or hazard entered between a state and the next one (None: the end); None for an ordinary move."""
        row, column = self.cell(state)
        if after is not None and abs(after // self.columns - row) + abs(after % self.columns - column) <= 1:
            return None
        near = [(row + down, column + right) for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        cells = [y * self.columns + x for y, x in near if 0 <= y < self.rows and 0 <= x < self.columns]
        ahead = self.ahead(state, action)
        first = ([ahead] if ahead is not None else []) + cells
        special = self.hazards if after is not None else self.goals | self.hazards
        return next((cell for cell in first if cell in special), None)

    def action_name(self, mdp: "MDP", action: int) -> str:
        """The action's own name; if it has none, its main direction."""
        down, right = self.towards[action].tolist()
        if mdp.action_names or bool(down) == bool(right):
            return name_of(mdp.action_names, action)
        if down:
            return "down" if down > 0 else "up"
        return "right" if right > 0 else "left"


def action_name(mdp: "MDP", action: int) -> str:
    """The name of an action: its own, or its direction on the problem's grid, or its number."""
    try:
        return name_of(mdp.action_names, action) if mdp.action_names else find_grid(mdp).action_name(mdp, action)
    except InputError:
        return name_of(mdp.action_names, action)


def places(mdp: "MDP", states: Sequence[int], most: int) -> str:
    """Some states in words: cells of a grid row by row, others one by one; at most ``most`` of them, and one more."""
    try:
        grid = find_grid(mdp)
    except InputError:
        named = [mdp.state_names[s] if mdp.state_names else f"state {s}" for s in states]
        return _listed(_at_most(named, most, "more"))
    rows: dict[int, list[int]] = {}
    for row, column in sorted(map(grid.cell, states)):
        rows.setdefault(row, []).append(column)
    named = [f"row {row}, {_columns(columns)}" for row, columns in sorted(rows.items(), key=lambda item: -len(item[1]))]
    return _listed(_at_most(named, most, "more rows"), "; ")


def _at_most(named: list[str], most: int, more: str) -> list[str]:
    """Some names and how many more there are: at least two, since one more has room in place of its count."""
    return named if len(named) <= most + 1 else [*named[:most], f"{len(named) - most} {more}"]


def _columns(columns: list[int]) -> str:
    """Columns in words, neighbours together."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and column == runs[-1][-1] + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    word = "column" if len(columns) == 1 else "columns"
    return f"{word} {_listed([f'{run[0]} to {run[-1]}' if len(run) > 1 else str(run[0]) for run in runs])}"


def _listed(words: list[str], comma: str = ", ") -> str:
    return " and ".join([comma.join(words[:-1]), words[-1]] if len(words) > 1 else words)


def cell_names(rows: int, columns: int) -> list[str]:
    """Names of states that form a grid; :func:`find_grid` reads them."""
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
            raise InputError("shape is missing: the names of the states do not describe a grid")
    rows, columns = shape
    if min(rows, columns) < 1 or rows * columns != mdp.n_states:
        raise InputError(f"a grid of {rows} rows and {columns} columns does not have {mdp.n_states} states")
    closed = set(range(mdp.n_states)) - set(mdp.next_state.tolist()) - set(mdp.start_state.tolist())
    bare = CellGrid(rows, columns, _moves(mdp, columns), frozenset(closed), frozenset(), frozenset())
    goals, hazards = _kinds(mdp, bare)
    return replace(bare, goals=goals, hazards=hazards)


def _kinds(mdp: "MDP", grid: CellGrid) -> tuple[frozenset[int], frozenset[int]]:
    """Goals and hazards among the closed cells, by what happens to a rollout that steps there."""
    ends: dict[int, float] = {}  # the least reward for ending there
    thrown: set[int] = set()
    for s in set(range(mdp.n_states)) - grid.closed:
        for a in mdp.actions(0, s):
            ahead = grid.ahead(s, a)
            if ahead not in grid.closed:
                continue
            outcomes = mdp.outcomes(0, s, a)
            ended = [o.reward for o in outcomes if o.next_state is None]
            if ended:
                ends[ahead] = min([ends.get(ahead, math.inf), *ended])
            elif max(outcomes, key=lambda o: o.prob).next_state != s:  # at a wall the state does not change
                thrown.add(ahead)
    best = max(ends.values(), default=0.0)
    goals = {cell for cell, reward in ends.items() if reward == best}
    return frozenset(goals), frozenset(thrown | set(ends)) - goals


def _moves(mdp: "MDP", columns: int) -> Floats:
    """The mean move of every action [A, 2], over all outcomes that lead to a neighbour or stay.

    Slips to both sides cancel, except at the borders; the lesser axis of a move is therefore set to 0.
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
