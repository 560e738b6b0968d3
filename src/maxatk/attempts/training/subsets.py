"""Subsets of ``k`` of ``n`` samples, without factorials."""

from decimal import Context, Decimal
from functools import lru_cache

_DIGITS = Context(prec=40)


@lru_cache(maxsize=256)
def chances(n: int, k: int) -> tuple[float, ...]:
    """How likely each sample is to be the best of ``k`` that are drawn from ``n`` without replacement, worst first.

    ``w_j = C(j - 1, k - 1) / C(n, k)`` for ``j = 1..n``. From the top down, ``w_n = k / n`` and
    ``w_j = w_{j+1} (j - k + 1) / j``: factors between 0 and 1, so that nothing overflows. They are multiplied with
    more digits than floats have, and rounded once.

    >>> chances(4, 2)
    (0.0, 0.16666666666666666, 0.3333333333333333, 0.5)
    """
    chance = _DIGITS.divide(Decimal(k), Decimal(n))
    falling = [float(chance)]
    for j in range(n - 1, k - 1, -1):
        chance = _DIGITS.divide(_DIGITS.multiply(chance, Decimal(j - k + 1)), Decimal(j))
        falling.append(float(chance))
    return (*[0.0] * (k - 1), *falling[::-1])
