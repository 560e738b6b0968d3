"""What is believed of the rows of a problem, from counts: shares of outcomes, and how uncertain they are."""

import math
from typing import NamedTuple

import numpy as np

from maxatk.base.types import Floats, Ints
from maxatk.learning.data import Data
from maxatk.learning.grid import ReturnGrid
from maxatk.learning.models import Checked


class Belief(NamedTuple):
    """Shares of a sample, or a draw from a posterior, of all rows and of the start; a known start has no risk."""

    row: Ints  # [T] rising
    next_state: Ints  # [T] n_states where the rollout ends
    jump: Ints  # [T] rewards in steps of the grid, rounded down
    part: Floats  # [T] what is left of them
    prob: Floats  # [T] each row's sum to 1
    start_state: Ints  # [n]
    start_prob: Floats  # [n]
    risk: Floats  # [N + 1] ln(1/delta') / n of each row, and of starts; infinite where nothing was seen


def counted(data: Data, starts: Ints, grid: ReturnGrid, log: float | Floats) -> Belief:
    """The shares of all that was counted; ``log`` [N + 1] or a number is ln(1/delta') of each row and of starts."""
    row, next_state, reward, n = data.columns()
    start_state, start_prob, times = start_of(grid.known, starts)
    counts = np.append(data.counts, times)
    with np.errstate(divide="ignore"):
        risk = np.where(np.isinf(counts), 0.0, log / counts)
    return Belief(row, next_state, *grid.in_steps(reward), n / data.counts[row], start_state, start_prob, risk)


def start_of(known: Checked, starts: Ints) -> tuple[Ints, Floats, float]:
    """The states that rollouts start in, their probabilities, and how often starts were seen: known, or as counted."""
    if known.start is not None:
        return *known.start, math.inf
    seen, total = np.flatnonzero(starts), float(starts.sum())
    return seen, starts[seen] / max(total, 1), total
