"""Weighted majority@k of one task: votes count as much as a judge gives them, ties at random.

There is no closed form. Where there are few sets of ``k`` attempts, all are gone through; else some are drawn at
random, an incomplete U-statistic. Its error is independent from task to task and 0 on average: so it is part of the
spread over tasks from which every interval is made, and draws are added until it is below a tenth of that spread.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from maxatk.attempts.logs.judged import BLANK
from maxatk.attempts.tuning import TUNING
from maxatk.base.types import Floats, Ints

TIED = 1e-9  # of all weight: sums that differ by less are tied
PILOT = 64  # sets that are drawn to see how many are needed
SHARE = 0.1  # of the spread over tasks: the error of drawing, at most


class Task:
    """The attempts of one task: truth, answer, and the weight of each vote, all [n]."""

    def __init__(self, truth: Floats, answer: Ints, weight: Floats, default_score: float) -> None:
        voters = answer != BLANK
        _, number = np.unique(answer[voters], return_inverse=True)
        self.n, self.default = len(truth), default_score
        self.is_voter = np.zeros((self.n, int(number.max(initial=-1)) + 1))  # [n, A]
        self.is_voter[np.flatnonzero(voters), number] = 1.0
        self.weighted, self.truths = self.is_voter * weight[:, None], self.is_voter * truth[:, None]
        self.slack = TIED * float(np.abs(weight).sum())

    def scores(self, drawn: Floats) -> Floats:
        """The true score [m] of what sets of attempts [m, n] hand in: one of the leading answer's own attempts."""
        if not self.is_voter.shape[1]:
            return np.full(len(drawn), self.default)
        votes = drawn @ self.is_voter
        weight = np.where(votes > 0, drawn @ self.weighted, -np.inf)
        leads = (weight >= weight.max(axis=1, keepdims=True) - self.slack) & (votes > 0)
        leaders = leads.sum(axis=1)
        of_leaders = (leads * (drawn @ self.truths) / np.maximum(votes, 1)).sum(axis=1)
        return np.where(leaders > 0, of_leaders / np.maximum(leaders, 1), self.default)

    def every(self, k: int) -> Floats:
        """All sets of ``k`` attempts [m, n]."""
        chosen = np.array(list(combinations(range(self.n), k)))
        drawn = np.zeros((len(chosen), self.n))
        np.put_along_axis(drawn, chosen, 1.0, axis=1)
        return drawn

    def some(self, k: int, m: int, rng: np.random.Generator) -> Floats:
        """``m`` random sets of ``k`` attempts [m, n]."""
        drawn = np.zeros((m, self.n))
        np.put_along_axis(drawn, rng.random((m, self.n)).argpartition(k - 1, axis=1)[:, :k], 1.0, axis=1)
        return drawn


def weighted_of(tasks: Sequence[Task], k: int, rng: np.random.Generator) -> Floats:
    """Weighted majority@k [T]."""
    values, errors = np.zeros(len(tasks)), np.zeros(len(tasks))  # errors: the variance of a single set's score
    for place, task in enumerate(tasks):
        if math.comb(task.n, k) <= TUNING.all_votes:
            values[place] = task.scores(task.every(k)).mean()
        else:
            pilot = task.scores(task.some(k, PILOT, rng))
            values[place], errors[place] = pilot.mean(), pilot.var(ddof=1)
    if not errors.any():
        return values
    # The draws that count are fresh: their number depends on the pilot, and their mean does not.
    between = max(float(values.var(ddof=1)) if len(tasks) > 1 else 0.0, 1e-6 * float(errors.mean()))
    needed = math.ceil(float(errors.mean()) / (SHARE**2 * between))
    m = min(max(needed, TUNING.least_votes), TUNING.most_votes)
    for place, task in enumerate(tasks):
        if math.comb(task.n, k) > TUNING.all_votes:
            values[place] = task.scores(task.some(k, m, rng)).mean()
    return values
