"""Drawing from a table: outcomes of rows, and the states that rollouts start in."""

import bisect
from typing import Protocol

import numpy as np

from maxatk import kernels
from maxatk.base import checks
from maxatk.base.types import Floats, Ints
from maxatk.problem.mdp import MDP


class Uniform(Protocol):
    """A stream of uniform numbers in [0, 1), such as a NumPy Generator."""

    def random(self) -> float:
        """The next one."""
        ...


class RowSampler:
    """Draws outcomes of a problem's rows, and start states: one uniform number in [0, 1) for each.

    The same number draws the same outcome, whether one is asked for or many. Outcomes are numbered as in the arrays of
    the problem.

    Args:
        mdp: the problem.

    >>> import numpy as np
    >>> import maxatk as mk
    >>> mdp = mk.instances.figure1(gamma=0.25)
    >>> risky = mdp.row_of(step=0, state=0, action=1)
    >>> mdp.reward[RowSampler(mdp).several(risky, 5, np.random.default_rng(0))]
    array([0., 0., 0., 0., 1.])
    """

    def __init__(self, mdp: MDP) -> None:
        self._mdp = mdp
        self._starts = np.cumsum(mdp.reset_prob)[:-1]
        self._rows: dict[tuple[int, int, int], int] = {}  # by layer, state and action, as they are first asked for
        self._below: dict[int, list[float]] = {}  # by row, likewise

    def start(self, rng: Uniform) -> int:
        """A state to start in."""
        return int(self._mdp.start_state[np.searchsorted(self._starts, rng.random(), side="right")])

    def starts(self, numbers: Floats) -> Ints:
        """One for each of these uniform numbers [n]."""
        return self._mdp.start_state[np.searchsorted(self._starts, numbers, side="right")].astype(np.int64)

    def row(self, step: int, state: int, action: int) -> int:
        """:meth:`maxatk.MDP.row_of`, looked up once."""
        h = checks.integer(step, "step", most=self._mdp.horizon - 1)
        key = int(self._mdp.step_layer[h]), state, action
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._mdp.row_of(h, state, action)
        return row

    def outcome(self, row: int, rng: Uniform) -> int:
        """An outcome of a row."""
        below = self._below.get(row)
        if below is None:
            below = self._below[row] = self._chances(row).tolist()
        return int(self._mdp.outcome_start[row]) + bisect.bisect_right(below, rng.random())

    def several(self, row: int, n: int, rng: np.random.Generator) -> Ints:
        """So many outcomes of a row, [n]."""
        return self._mdp.outcome_start[row] + np.searchsorted(self._chances(row), rng.random(n), side="right")

    def each(self, rows: Ints, numbers: Floats) -> Ints:
        """An outcome of each of these rows [n], drawn by a uniform number for each."""
        return kernels.draw_outcomes(self._mdp.outcome_start, self._mdp.row_prob, rows, numbers)

    def _chances(self, row: int) -> Floats:
        """The chance to draw each outcome of a row or one before it; all but the last."""
        first, last = self._mdp.outcome_start[row : row + 2].tolist()
        return np.cumsum(self._mdp.row_prob[first : last - 1])
