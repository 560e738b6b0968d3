"""pass@k and max@k of one task: unbiased, for any finite scores.

With scores ``x_(1) <= ... <= x_(n)`` of ``n`` attempts, the mean over all sets of ``k`` of them of the greatest score
is ``sum_i w_i x_(i)`` with ``w_i = C(i-1, k-1) / C(n, k)``: a U-statistic, hence unbiased for the expected best of k
fresh attempts, and of minimum variance. The weights obey ``w_n = k/n`` and ``w_(i-1) = w_i (i-k)/(i-1)``, so that no
factorial is needed. For ``k > n`` no unbiased estimator exists: the expected best is then a polynomial in the
distribution of a score whose degree exceeds ``n``. docs/theory/attempts.md has the proofs.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats


@overload
def max_at_k(scores: Any, k: int) -> float: ...
@overload
def max_at_k(scores: Any, k: Sequence[int]) -> Floats: ...
def max_at_k(scores: Any, k: int | Sequence[int]) -> float | Floats:
    """The expected best of ``k`` attempts at one task, estimated without bias from the scores of ``n >= k``.

    Args:
        scores: the scores of the attempts, any finite numbers, in any order.
        k: the number of attempts, or several such numbers.

    >>> from maxatk import attempts as at
    >>> at.max_at_k([3.0, 1.0, 2.0], k=2)       # the mean of 3, 3 and 2
    2.6666666666666665
    >>> at.max_at_k([3.0, 1.0, 2.0], k=[1, 2, 3]).tolist()
    [2.0, 2.6666666666666665, 3.0]
    """
    x = finite_array(scores, "scores")
    ks = numbers_of_attempts(k)
    for one in ks:
        _refuse_beyond(one, len(x))
    means = best_of(x[None, :], ks)[0]
    return means if checks.is_list(k) else float(means[0])


@overload
def pass_at_k(passed: Any, k: int) -> float: ...
@overload
def pass_at_k(passed: Any, k: Sequence[int]) -> Floats: ...
def pass_at_k(passed: Any, k: int | Sequence[int]) -> float | Floats:
    """The chance that one of ``k`` attempts at a task passes, estimated without bias from ``n >= k`` of them.

    Args:
        passed: for each attempt whether it passed, as true and false or 1 and 0.
        k: the number of attempts, or several such numbers.

    >>> from maxatk import attempts as at
    >>> at.pass_at_k([True, False, False, False], k=2)
    0.5
    """
    return max_at_k(_passed(passed), k)


@overload
def pass_hat_k(passed: Any, k: int) -> float: ...
@overload
def pass_hat_k(passed: Any, k: Sequence[int]) -> Floats: ...
def pass_hat_k(passed: Any, k: int | Sequence[int]) -> float | Floats:
    """pass^k, the chance that *all* of ``k`` attempts at a task pass, estimated without bias from ``n >= k`` of them.

    Args:
        passed: for each attempt whether it passed, as true and false or 1 and 0.
        k: the number of attempts, or several such numbers.

    >>> from maxatk import attempts as at
    >>> at.pass_hat_k([True, True, True, False], k=2)
    0.5
    """
    return 1.0 - max_at_k(1.0 - _passed(passed), k)  # all pass unless one fails


def best_of(scores: Floats, ks: Sequence[int]) -> Floats:
    """max@k [T, len(ks)] of many tasks with as many attempts each, scores [T, n]; every ``k`` is at most ``n``."""
    ordered = np.sort(scores, axis=1)
    n = ordered.shape[1]
    means = np.stack([ordered @ order_weights(n, k) for k in ks], axis=1)
    # The estimate is a mean of the scores from the k-th on. Rounding must not move it outside their range.
    low = np.stack([ordered[:, k - 1] for k in ks], axis=1)
    return np.clip(means, low, ordered[:, -1:])


def order_weights(n: int, k: int) -> Floats:
    """``C(i-1, k-1) / C(n, k)``, ``i = 1, ..., n`` [n]: the share of sets of ``k`` whose greatest score is the i-th."""
    i = np.arange(n, k, -1)
    weights = np.zeros(n)
    weights[n - 1 :: -1][: n - k + 1] = (k / n) * np.concatenate([[1.0], np.cumprod((i - k) / (i - 1))])
    return weights


def numbers_of_attempts(k: Any) -> list[int]:
    """``k``, a number or several, as a list of positive integers."""
    if checks.is_list(k) or type(k) is np.ndarray:
        given = list[Any](k)
        if not given:
            raise InputError("k must be a number of attempts, or several: it is empty")
        return [checks.integer(one, f"k[{place}]", least=1) for place, one in enumerate(given)]
    return [checks.integer(k, "k", least=1)]


def finite_array(values: Any, name: str) -> Floats:
    """Values as a one-dimensional array of finite floats, not empty."""
    try:
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "biuf":
            raise TypeError
        numbers = numbers.astype(float)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor on another device
        raise InputError(f"{name} must be a list of numbers, not {checks.shown(values)}") from None
    if numbers.ndim != 1:
        raise InputError(f"{name} must be a list of numbers, not an array of shape {numbers.shape}")
    if not numbers.size:
        raise InputError(f"{name} must not be empty")
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(f"{name}[{place}] must be finite, not {numbers[place]}")
    return numbers


def _passed(values: Any) -> Floats:
    flags = finite_array(values, "passed")
    odd = np.flatnonzero((flags != 0) & (flags != 1))
    if odd.size:
        raise InputError(f"passed[{odd[0]}] must be true or false, not {flags[odd[0]]:g}")
    return flags


def _refuse_beyond(k: int, n: int) -> None:
    if k > n:
        raise InputError(
            f"k = {k} is more than the {n} attempts of this task: no unbiased estimate exists; "
            "for a log, pass_range gives bounds on pass@k"
        )
