"""Weights for max@k by their definition over subsets, in fractions. Nothing here sorts, or knows of gaps."""

import itertools
import math
from fractions import Fraction

F = Fraction
UNBIASED = ("others", "marginal", "none")


def subsets(rewards: list[F], k: int, ratios: list[F]) -> tuple[list[F], list[F]]:
    """For each sample, over the k-subsets that hold it: their best reward, and how much of it is this sample's."""
    n = len(rewards)
    best, added = [F(0)] * n, [F(0)] * n
    for chosen in itertools.combinations(range(n), k):
        share = math.prod((ratios[i] for i in chosen), start=F(1)) / math.comb(n, k)
        top = max(rewards[i] for i in chosen)
        for i in chosen:
            best[i] += share * top
            added[i] += share * (top - max((rewards[j] for j in chosen if j != i), default=F(0)))
    return best, added


def oracle(rewards: list[F], k: int, baseline: str, ratios: list[F] | None = None) -> list[F]:
    """Weights by definition; the others' baseline is what they would contribute without the sample."""
    n, ones = len(rewards), [F(1)] * len(rewards)
    if k == 1 and ratios is not None:
        return [rho * w for rho, w in zip(ratios, oracle(rewards, k, baseline), strict=True)]
    rho = ratios or ones
    best, added = subsets(rewards, k, rho)
    if baseline == "none":
        return best
    if baseline == "marginal":
        return added

    def contributions(i: int) -> F:
        return sum(subsets(rewards[:i] + rewards[i + 1 :], k, rho[:i] + rho[i + 1 :])[1], F(0))

    return [added[i] - rho[i] * contributions(i) / n for i in range(n)]


def plug_in_oracle(rewards: list[F], ratios: list[F], k: int) -> list[F]:
    """The derivative by each log-ratio of the best of k draws, with replacement, by ratio."""
    n = len(rewards)
    q = [rho / sum(ratios) for rho in ratios]
    found = [F(0)] * n
    for drawn in itertools.product(range(n), repeat=k):
        value = math.prod((q[i] for i in drawn), start=F(1)) * max(rewards[i] for i in drawn)
        for i in range(n):
            found[i] += value * (drawn.count(i) - k * q[i])
    return found
