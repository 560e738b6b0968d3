"""Maps for states that are cells of a grid and something else: one sheet for each of what else there is.

Where a taxi is, whom it fetches and where to: the names of its states say "row 2, column 3" and the rest, and states
with the same rest are the cells of one sheet. The page draws one sheet at a time, that of the present state.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base.types import Floats
from maxatk.problem.mdp import MDP

_CELL = re.compile(r"^(.*?)\brow (\d+), column (\d+)(.*)$", re.DOTALL)
_EDGES = " ,;:"
MOST_CELLS = 400  # of one sheet
MOST_SHEETS = 200


@dataclass(frozen=True, eq=False)
class Sheets:
    """States as cells of several sheets of one size."""

    rows: int
    columns: int
    titles: list[str]  # [sheets]
    sheet: dict[int, int]  # of each state
    cell: dict[int, int]  # of each state: row times columns plus column
    towards: Floats  # [A, 2] the mean move of each action within a sheet, in rows and columns

    def data(self) -> dict[str, Any]:
        """What the page's script needs."""
        states = [[-1] * (self.rows * self.columns) for _ in self.titles]
        for s, sheet in self.sheet.items():
            states[sheet][self.cell[s]] = s
        sizes = {"rows": self.rows, "columns": self.columns}
        return {**sizes, "titles": self.titles, "states": states, "towards": self.towards.round(6).tolist()}


def find_sheets(mdp: MDP) -> Sheets | None:
    """The sheets of a problem by the names of its states; None if they are not named so, or make only one sheet."""
    matches = [_CELL.match(name) for name in mdp.state_names or ()]
    named = {s: match for s, match in enumerate(matches) if match}
    if not named or len(named) < len(matches):
        return None
    rest = {s: match[4].strip(_EDGES) or match[1].strip(_EDGES) for s, match in named.items()}
    titles = list(dict.fromkeys(rest.values()))
    rows = 1 + max(int(match[2]) for match in named.values())
    columns = 1 + max(int(match[3]) for match in named.values())
    cell = {s: int(match[2]) * columns + int(match[3]) for s, match in named.items()}
    places = {(rest[s], cell[s]) for s in named}
    small = rows * columns <= MOST_CELLS and 1 < len(titles) <= MOST_SHEETS
    if not small or len(places) < len(named) or len(named) < rows * columns:
        return None
    sheet = {s: titles.index(rest[s]) for s in named}
    return Sheets(rows, columns, titles, sheet, cell, _towards(mdp, sheet, cell, columns))


def _towards(mdp: MDP, sheet: dict[int, int], cell: dict[int, int], columns: int) -> Floats:
    """The mean move of each action from cells to others of the same sheet."""
    moves: Floats = np.zeros((mdp.n_actions, 2))
    for s in range(mdp.n_states):
        for a in mdp.actions(0, s):
            for p, after, _ in mdp.outcomes(0, s, a):
                if after is not None and sheet[after] == sheet[s]:
                    moves[a] += p * np.subtract(divmod(cell[after], columns), divmod(cell[s], columns))
    return moves
