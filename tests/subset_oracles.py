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
    weight = [F(0)] * n
    for drawn in itertools.product(range(n), repeat=k):
        value = math.prod((q[i] for i in drawn), start=F(1)) * max(rewards[i] for i in drawn)
        for i in range(n):
            weight[i] += value * (drawn.count(i) - k * q[i])
    return weight


def product_value(rewards: list[F], ratios: list[F], k: int) -> F:
    """The mean over k-subsets of their best reward times their ratios, for groups too large to list the subsets."""
    sums, total = [F(1)] + [F(0)] * (k - 1), F(0)  # of products of 0..k-1 ratios of worse samples
    for reward, rho in sorted(zip(rewards, ratios, strict=True)):
        total += reward * rho * sums[k - 1]
        sums = [sums[0], *(sums[d] + rho * sums[d - 1] for d in range(1, k))]
    return total / math.comb(len(rewards), k)


def large_oracle(rewards: list[F], k: int, baseline: str, ratios: list[F]) -> list[F]:
    """The weights of ``oracle`` for k >= 2, each from the value with and without a sample."""
    n = len(rewards)

    def without(i: int) -> tuple[list[F], list[F]]:
        return rewards[:i] + rewards[i + 1 :], ratios[:i] + ratios[i + 1 :]

    value = product_value(rewards, ratios, k)
    plain = [value - F(n - k, n) * (product_value(*without(i), k) if n > k else 0) for i in range(n)]
    if baseline == "none":
        return plain
    added = [plain[i] - F(k, n) * ratios[i] * product_value(*without(i), k - 1) for i in range(n)]
    if baseline == "marginal":
        return added
    rest = [sum(large_oracle(*without(i)[:1], k, "marginal", without(i)[1]), F(0)) for i in range(n)]
    return [added[i] - ratios[i] * rest[i] / n for i in range(n)]
