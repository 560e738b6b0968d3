"""Policies that are tables of actions: Markov ones, and one Markov policy for each best return."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts
from maxatk.base.types import Floats, Ints, Number
from maxatk.policies.hooks import Rule, Traits, no_memory
from maxatk.policies.policy import CompressedPolicy


class MarkovPolicy(CompressedPolicy):
    """An action for each step and state ``[H, S]``, repeated in ``k`` rollouts; or for each rollout, too ``[K, H, S]``.

    Args:
        actions: the table of actions.
        k: the number of rollouts, where the table is ``[H, S]``.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> safe_then_risky = mk.MarkovPolicy([[[0]], [[1]]])
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), safe_then_risky).exact)
    '17/32'
    """

    def __init__(
        self,
        actions: ArrayLike,
        k: int | None = None,
        best_so_far: Number = -math.inf,
        *,
        stop_at: Number = math.inf,
    ) -> None:
        try:
            table = np.asarray(actions)
        except Exception:  # whatever a foreign __array__ raises
            raise InputError("actions must be an array [H, S] or [K, H, S]") from None
        if table.dtype.kind not in "iu" or table.ndim not in (2, 3) or table.size == 0:
            raise InputError(f"actions must be integers [H, S] or [K, H, S], not {table.dtype} {list(table.shape)}")
        table = table.copy()
        if table.min() < 0:
            raise InputError(f"actions[{', '.join(map(str, np.argwhere(table < 0)[0]))}] is negative: {table.min()}")
        repeated = table.ndim == 2
        if repeated:
            if k is None:
                raise InputError("k is missing: how often are actions [H, S] repeated?")
            table = np.broadcast_to(table, (checks.rollouts(k), *table.shape))
        elif k is not None and k != len(table):
            raise InputError(f"k is {checks.shown(k)}, but actions are for {len(table)} rollouts")
        table.setflags(write=False)
        super().__init__(len(table), table.shape[1], best_so_far, stop_at=stop_at)
        self.table = table  # [K, H, S] the action in each rollout, step and state
        self._traits = Traits(
            independent=True, repeated=repeated, memory=no_memory, in_floats=True, n_states=table.shape[2]
        )

    def action(self, *, rollout: int, step: int, state: int, best: Number = -math.inf, so_far: Number = 0) -> int:
        """The table's entry."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        return int(self.table[i, h, checks.integer(state, "state", most=self.table.shape[2] - 1)])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        return self.table[rollout, step, state].astype(np.int64)

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        return Rule(lambda step, tag, state, so_far: self.table[rollout, step, self._known(state)])


class ByBestPolicy(CompressedPolicy):
    """A Markov policy for each rollout and each best return so far: without G.

    Args:
        points: best returns [n], rising; the last that is not above M counts, or the first.
        picks: which table to use, ``[K, n]``.
        tables: actions, ``[tables, H, S]``.
        best_so_far: the incumbent, or ``-inf``.
        unit: what the points are counted in.
    """

    def __init__(self, points: Floats, picks: Ints, tables: Ints, best_so_far: Number, unit: float = 1.0) -> None:
        in_units = best_so_far if best_so_far == -math.inf else Fraction(best_so_far) / Fraction(unit)
        super().__init__(len(picks), tables.shape[1], in_units)
        self._points, self._picks, self._tables = points, picks, tables
        self._traits = Traits(in_floats=True, n_states=tables.shape[2])

    def _table(self, rollout: int, best: Floats) -> Ints:
        slack = 1e-9 * float(self._points[1] - self._points[0])  # a lattice return may be off by rounding
        place = np.searchsorted(self._points, best + slack, side="right") - 1
        return self._picks[rollout, np.maximum(place, 0)]

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action of the table that the best return picks."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        table = self._table(i, np.array([float(checks.incumbent(best, "best"))]))[0]
        return int(self._tables[table, step, state])

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        return self._tables[self._table(rollout, best), step, state].astype(np.int64)
