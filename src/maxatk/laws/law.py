"""Distributions of returns with finitely many values, in fractions or in floats."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from maxatk.base import checks
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Number

ExactLaw: TypeAlias = Mapping[Number, Fraction]  # value -> probability


@dataclass(frozen=True, eq=False)
class Law:
    """The distribution of a return: ``values`` with their probabilities.

    >>> import maxatk as mk
    >>> law = mk.evaluate(mk.instances.figure1(gamma=0.25), mk.MarkovPolicy([[1]], k=2)).law
    >>> law.values.tolist(), law.probs.tolist(), law.cdf(0.5), law.quantile(0.5)
    ([0.0, 1.0], [0.5625, 0.4375], 0.5625, 0.0)
    """

    values: Floats  # [n] rising
    probs: Floats  # [n] positive; they sum to 1, but for rounding

    def __repr__(self) -> str:
        many = f"{len(self.values)} value{'' if len(self.values) == 1 else 's'}"
        return f"Law({many} from {self.values[0]:.6g} to {self.values[-1]:.6g}, mean {self.mean:.6g})"

    def cdf(self, x: float) -> float:
        """The probability of a return of at most ``x``."""
        at = x if isinstance(x, float) and not math.isnan(x) else float(checks.exact_number(x, "x"))
        return min(float(self.probs[: np.searchsorted(self.values, at, side="right")].sum()), 1.0)

    def quantile(self, q: float) -> float:
        """The least value that is exceeded with a probability of at most ``1 - q``."""
        if not 0 <= float(checks.exact_number(q, "q")) <= 1:
            raise checks.InputError(f"q must be between 0 and 1, not {checks.shown(q)}")
        place = np.searchsorted(np.cumsum(self.probs), q * (1 - 2.0**-50))
        return float(self.values[min(int(place), len(self.values) - 1)])

    @property
    def mean(self) -> float:
        """The expected return."""
        return expected_best(self.values, self.probs, add=lambda terms: math.fsum(terms.tolist()))

    @property
    def range(self) -> float:
        """How far apart the least and the largest value are."""
        return float(self.values[-1] - self.values[0])


def _sum(terms: Floats) -> Any:
    return terms.sum(axis=-1)


def expected_best(
    values: Floats, probs: Floats, n: int = 1, best: float = -math.inf, add: Callable[[Floats], Any] = _sum
) -> float:
    """``E max(best, R_1, ..., R_n)`` of independent draws from a law: ``values`` [m] rising, ``probs`` [m].

    Terms are summed by ``add``.
    """
    return float(mean_under(np.maximum(values, best), np.minimum(np.cumsum(probs), 1.0) ** n, add))


def mean_under(values: Floats, below: Floats, add: Callable[[Floats], Any] = _sum) -> Any:
    """The mean of a law by its distribution function: ``values`` [m] rising, ``below`` [..., m].

    By parts, so that an error in the probabilities counts times the range of the values, not their size.
    """
    return values[-1] - add(np.diff(values) * below[..., :-1])


def expected_payoffs(probs: Floats, payoff: Any) -> Floats:
    """``E payoff(max(m, R))`` at each value ``m`` of a law: ``probs`` [..., m], ``payoff`` [m].

    What is missing in ``probs`` are returns below all values.
    """
    amount = np.asarray(payoff, np.float64)
    above = np.cumsum(probs[..., ::-1], axis=-1)[..., ::-1] - probs  # strictly above m
    return np.cumsum((probs * amount)[..., ::-1], axis=-1)[..., ::-1] - probs * amount + (1.0 - above) * amount


def threshold(values: Floats, probs: Floats, cost: float) -> float:
    """``z`` with ``E (R - z)+ = cost`` (docs/theory/costs.md): where more is held, a draw is not worth its cost.

    ``values`` [m] are rising; ``z`` is at most the last of them.
    """
    above = np.cumsum((values * probs)[::-1]) - cost
    z = above / np.cumsum(probs[::-1])
    first = int(np.argmax(z >= np.append(values[::-1][1:], -math.inf)))
    return float(min(z[first], values[-1]))


def law_of(values: Floats, probs: Floats) -> Law:
    """The law of these values [n], in any order, equal ones together."""
    some, places = np.unique(values, return_inverse=True)
    return Law(some, np.bincount(places.ravel(), probs, len(some)).astype(np.float64))


def mixture_of(laws: Sequence[Law], weights: Sequence[float]) -> Law:
    """The law of a draw from one of these laws, itself drawn by weight."""
    return law_of(
        np.concatenate([law.values for law in laws]),
        np.concatenate([w * law.probs for law, w in zip(laws, weights, strict=True)]),
    )


def best_of(laws: Sequence[tuple[Law, int]]) -> Law:
    """The law of the largest of independent draws, so many from each law: a product of distribution functions."""
    values = np.unique(np.concatenate([law.values for law, _ in laws]))
    below = np.ones(len(values))
    for law, times in laws:
        counts = np.searchsorted(law.values, values, side="right")
        cumulative = np.minimum(np.concatenate(([0.0], np.cumsum(law.probs))), 1.0)
        cumulative[-1] = 1.0  # all of it, whatever rounding says
        below *= cumulative[counts] ** times
    probs = np.diff(below, prepend=0.0)
    kept = probs > 0
    return Law(values[kept], probs[kept])


def exact_best_of(laws: Sequence[tuple[ExactLaw, int]]) -> dict[Number, Fraction]:
    """The same in fractions."""
    best: dict[Number, Fraction] = {}
    sums = [Fraction(0) for _ in laws]
    before = Fraction(0)
    for value in sorted({value for law, _ in laws for value in law}):
        below = Fraction(1)
        for j, (law, times) in enumerate(laws):
            sums[j] += law.get(value, Fraction(0))
            below *= sums[j] ** times
        if below > before:
            best[value] = below - before
        before = below
    return best


def in_floats(law: ExactLaw) -> tuple[Law, Law]:
    """An exact law in floats, its values rounded down and rounded up."""
    probs = np.array([float(p) for p in law.values()])
    around = [floats_around(value) for value in law]
    return law_of(np.array([low for low, _ in around]), probs), law_of(np.array([high for _, high in around]), probs)
