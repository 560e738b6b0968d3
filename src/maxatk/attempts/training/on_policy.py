"""Weights of ``n`` samples under which the gradient of their log-probabilities is that of max@k.

With samples drawn from a policy, ``sum_i weight_i grad log p(x_i)`` has the gradient of the expected best of ``k``
samples for its expectation. With rewards sorted, ``r_1 <= ... <= r_n``, and ``w_j = C(j - 1, k - 1) / C(n, k)``, the
weights rise from one sample to the next by a share of the gap between their rewards,

    none      ``w_j (r_{j+1} - r_j)``,             where the best sample has ``(k / n) r_n``
    others    ``n / (n - k)`` times that,          where all weights sum to 0
    marginal  ``w_{j+1} (r_{j+1} - r_j)``,         where the worst sample has 0

The proofs are on the theory page "Weights that train for max@k".
"""

from typing import Any, NamedTuple

from maxatk.attempts.training import judged
from maxatk.attempts.training.arrays import Array, Library, like, refuse
from maxatk.attempts.training.groups import by_group
from maxatk.attempts.training.subsets import chances
from maxatk.base import checks
from maxatk.base.checks import nearest, shown
from maxatk.base.errors import InputError

BASELINES = ("auto", "others", "marginal", "none")


def weights(rewards: Any, k: int, baseline: str = "auto", *, index: Any = None, judge: Any = None) -> Any:
    """The weights of samples that make ``sum(weights * grad log p)`` an unbiased gradient of max@k.

    The ``n`` samples of a group were drawn independently from one policy, for one prompt. With rewards 0 and 1, max@k
    is pass@k. Trainers that average over samples rather than sum take ``n`` times the weights as advantages.

    All baselines are unbiased, and differ in variance. Of a gradient with ``n = 16``, a Gaussian policy and its own
    sample as reward:

    | baseline | k = 2 | k = 4 | k = 8 | k = 15 |
    | -------- | ----: | ----: | ----: | -----: |
    | others   | 0.172 | 0.285 | 0.565 |   1.37 |
    | marginal | 0.246 | 0.305 | 0.549 |   1.25 |
    | none     | 0.245 |  1.39 |  9.14 |     47 |

    Args:
        rewards: ``[..., n]``, a group along the last axis; an array of NumPy, PyTorch, JAX or another library of the
            array API standard, or nested lists. Weights come back in the same library, on the same device, and can be
            differentiated by the rewards. Whole numbers become floats.
        k: how many tries the policy will get.
        baseline: ``"others"`` is the leave-one-out baseline: weights sum to 0, ``k < n``. ``"marginal"`` is what a
            sample adds to the best of ``k - 1`` others: never negative for ``k > 1``, ``k <= n``. ``"none"`` is for
            comparison. ``"auto"`` takes the others if ``4 k <= n`` or ``k = 1``, and else the marginal one.
        index: labels of groups of any sizes, one per entry of ``rewards``, which then have one axis.
        judge: of the shape of ``rewards``: scores of the judge that will pick one of the ``k`` tries. The gradient is
            then that of the reward of its pick, ties at random, where rewards are the truth; the judge must not depend
            on what is trained. With the rewards themselves as judge, weights are those without one. A sample may have a
            negative weight for "marginal", too: one that the judge prefers to better ones.

    >>> from maxatk import attempts as at
    >>> at.weights([0.0, 1.0, 1.0, 4.0], k=2, baseline="others").tolist()
    [-0.5, -0.5, -0.5, 1.5]
    >>> at.weights([[0, 0, 0, 1], [0, 1, 1, 1]], k=2, baseline="marginal").tolist()
    [[0.0, 0.0, 0.0, 0.5], [0.0, 0.16666666666666666, 0.16666666666666666, 0.16666666666666666]]
    >>> at.weights([0, 3, 1, 0, 1], k=2, index=["a", "b", "a", "b", "b"]).tolist()
    [0.0, 1.6666666666666665, 1.0, 0.0, 0.3333333333333333]
    >>> at.weights([1.0, 0.0, 0.0, 1.0], k=2, judge=[1.0, 2.0, 3.0, 4.0], baseline="marginal").round(3).tolist()
    [0.0, -0.167, -0.167, 0.333]
    """
    k, baseline = checks.integer(k, "k", least=1), known(baseline, "baseline", BASELINES)
    if judge is None:
        return by_group({"rewards": rewards}, index, lambda xp, name, rows: of_groups(xp, name, rows[0], k, baseline))

    def rule(xp: Library, name: str, rows: tuple[Array, ...]) -> Array:
        given, seen = rows
        return judged.of_groups(xp, name, given, seen, k, chosen(baseline, given.shape[-1], k, name))

    return by_group({"rewards": rewards, "judge": judge}, index, rule)


def known(word: Any, name: str, words: tuple[str, ...]) -> str:
    """One of these words."""
    if not isinstance(word, str) or word not in words:
        close = nearest(word, words) if isinstance(word, str) else None
        meant = f"; did you mean {close!r}?" if close else ""
        raise InputError(
            f"{name} must be {', '.join(map(repr, words[:-1]))} or {words[-1]!r}, not {shown(word)}{meant}"
        )
    return word


def chosen(baseline: str, n: int, k: int, name: str) -> str:
    """The baseline for groups of ``n``; sizes that it does not allow are refused in the name of the group."""
    if k > n:
        raise InputError(
            f"k = {k} needs at least {k} samples, and {name} has {n}: "
            "no unbiased weights exist, and off_policy_weights has biased ones"
        )
    if baseline == "auto":
        return "others" if n > 1 and (k == 1 or 4 * k <= n) else "marginal"
    if baseline == "others" and k == n:
        raise InputError(
            f"baseline 'others' with k = {k} needs more than {k} samples, and {name} has {n}: take 'marginal'"
        )
    return baseline


class Sorted(NamedTuple):
    """Groups from their worst sample to the best."""

    rising: Array  # [G, n] the rewards
    gaps: Array  # [G, n - 1] between one and the next
    order: Array  # [G, n] the samples
    place: Array  # [G, n] where each sample stands among them


def in_order(xp: Library, name: str, rewards: Array) -> Sorted:
    """The groups sorted; rewards whose differences overflow are refused."""
    order = xp.argsort(rewards, axis=-1)
    rising = xp.take_along_axis(rewards, order, axis=-1)
    half = 0.5 * rising[:, -1] - 0.5 * rising[:, 0]

    def message(where: str, _: float) -> str:
        return f"rewards of {name} are too far apart: their difference is not a finite {rewards.dtype}"

    refuse(xp, half > 0.5 * xp.finfo(rewards.dtype).max, half, message)
    return Sorted(rising, rising[:, 1:] - rising[:, :-1], order, xp.argsort(order, axis=-1))


def of_groups(xp: Library, name: str, rewards: Array, k: int, baseline: str) -> Array:
    """The weights of groups [G, n]."""
    n = rewards.shape[-1]
    baseline = chosen(baseline, n, k, name)
    if k == 1 and baseline != "others":
        return rewards / n
    rising, gaps, _, place = in_order(xp, name, rewards)
    w = like(xp, chances(n, k), rewards)
    if baseline == "marginal":
        rises = w[1:] * gaps
        first = 0.0
    elif baseline == "others":
        rises = n / (n - k) * w[:-1] * gaps
        lifted = like(xp, [(n - j) / n for j in range(1, n)], rewards)  # the share of samples above each gap
        first = -xp.sum(lifted * rises, axis=-1, keepdims=True)
    else:
        rises = w[:-1] * gaps
        first = k / n * rising[:, -1:] - xp.sum(rises, axis=-1, keepdims=True)
    weights = first + xp.cumulative_sum(rises, axis=-1, include_initial=True)
    return xp.take_along_axis(weights, place, axis=-1)
