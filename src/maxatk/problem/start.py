"""The start of a rollout: a state, or a distribution over states."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints32
from maxatk.problem.rows import SUM_TOLERANCE, array, floats_and_fractions, real_column


class Start(NamedTuple):
    """The distribution of the reset state."""

    state: Ints32  # [B] its support, rising
    prob: Floats  # [B] positive; means its entries divided by their exact sum
    exact: tuple[Fraction, ...] | None  # [B] normalised; None if the floats are exact

    @classmethod
    def of(cls, start: Any, n_states: int) -> "Start":
        """The distribution that a caller gave, checked: a state, or probabilities of ``n_states`` states."""
        given = array(start, "start")
        if given.ndim == 0:
            state = checks.integer(given.item(), "start", most=n_states - 1)
            return cls(np.array([state], np.int32), np.ones(1), None)
        if given.shape != (n_states,):
            raise InputError(
                f"start has shape {given.shape}: expected a state or a distribution over {n_states} states"
            )
        prob = real_column(given)
        if prob.dtype == object:
            prob = np.array([checks.exact_number(p, f"start[{s}]") for s, p in enumerate(prob)], object)
        wrong = ~((prob >= 0) & (prob <= 1 + SUM_TOLERANCE))
        if wrong.any():
            s = int(np.argmax(wrong))
            raise InputError(f"start[{s}]: probability {shown(given[s])} is not between 0 and 1")
        total = prob.sum()
        if abs(total - 1) > SUM_TOLERANCE:
            raise InputError(f"start: probabilities sum to {float(total):.10g}")
        support = np.flatnonzero(prob > 0)
        prob, exact = prob[support], None
        if prob.dtype == object:
            prob, exact = floats_and_fractions(prob, np.array([0, len(support)]))
            if not prob.all():
                raise InputError(f"start[{support[np.argmin(prob)]}]: the probability is below any float")
        floats = prob if len(support) > 1 else np.ones(1)  # a single state is certain
        return cls(support.astype(np.int32), floats, exact)
