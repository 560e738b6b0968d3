"""Averages over trials, with confidence intervals."""

import math
from abc import abstractmethod

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Floats


class Averaged:
    """Trials with a number each, whose mean is asked for."""

    @property
    @abstractmethod
    def net(self) -> Floats:
        """``[trials]`` the number of each."""

    @property
    def mean(self) -> float:
        """The mean over trials."""
        scale = self._scale
        return scale * float((self.net / scale).mean())

    @property
    def stderr(self) -> float:
        """The standard error of the mean; infinite for a single trial."""
        n = len(self.net)
        if n == 1:
            return math.inf
        scale = self._scale
        return scale * (float((self.net / scale).std(ddof=1)) / math.sqrt(n))

    @property
    def _scale(self) -> float:
        """A power of two, so that nothing is rounded, by which sums of numbers and of their squares do not overflow."""
        return 2.0 ** max(math.frexp(float(np.abs(self.net).max()))[1] - 1, -1000)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval for the expectation (Student's t).

        Its level is nominal: large numbers that are too rare to occur in the trials are not allowed for, as they are by
        :meth:`proved_interval`.
        """
        from scipy.stats import t

        share, n = _level(level), len(self.net)
        if n == 1:
            return -math.inf, math.inf
        half = float(t.ppf((1 + share) / 2, n - 1)) * self.stderr
        return self.mean - half, self.mean + half

    def proved_interval(self, least: float, most: float, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval that needs no assumption but the range of the numbers.

        By the empirical Bernstein inequality (Maurer and Pontil, 2009, Theorem 4), once for each side.

        Args:
            least: no trial has less.
            most: and none has more.
            level: the probability with which it holds, at least.
        """
        n, log = len(self.net), math.log(4 / (1 - _level(level)))
        if n == 1:
            return least, most
        half = self.stderr * math.sqrt(2 * log) + 7 * (most - least) * log / (3 * (n - 1))
        return max(self.mean - half, least), min(self.mean + half, most)


def _level(level: float) -> float:
    share = float(checks.exact_number(level, "level"))
    if not 0 < share < 1:
        raise InputError(f"level must be between 0 and 1, not {shown(level)}")
    return share
