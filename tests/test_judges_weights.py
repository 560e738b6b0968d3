"""Weights for the reward of a judge's pick: fractions with ties, the judge that is the reward, libraries, refusals."""

import runpy
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

import judge_oracles as oracles
from maxatk import attempts as at
from maxatk.base.errors import InputError

array_api_strict = pytest.importorskip("array_api_strict")
BASELINES = ["none", "others", "marginal", "auto"]


def floats(values):
    return np.array([float(x) for x in values])


def added(truth, judge, k):
    """D_i: the mean over sets of k with i of what i adds to the pick among the others, times k / n."""
    n = len(truth)

    def pick(some):
        top = max(judge[i] for i in some)
        return oracles.mean(truth[i] for i in some if judge[i] == top)

    sets = list(combinations(range(n), k))
    return [
        sum((pick(s) - (pick([j for j in s if j != i]) if k > 1 else 0) for s in sets if i in s), Fraction(0))
        / comb(n, k)
        for i in range(n)
    ]


@pytest.mark.parametrize("seed", range(120))
def test_weights_equal_enumeration(seed):
    truth, judge, _, k = oracles.case(seed)
    n = len(truth)
    s = oracles.gradient_weights(truth, judge, k)
    assert at.weights(floats(truth), k, "none", judge=floats(judge)) == pytest.approx(floats(s), abs=1e-13)
    assert at.weights(floats(truth), k, "marginal", judge=floats(judge)) == pytest.approx(
        floats(added(truth, judge, k)), abs=1e-13
    )
    if k < n:
        # The others' baseline: k / n of the value that the others alone have.
        alone = [
            oracles.selected([x for j, x in enumerate(truth) if j != i], [x for j, x in enumerate(judge) if j != i], k)
            for i in range(n)
        ]
        wanted = [x - Fraction(k, n) * value for x, value in zip(s, alone, strict=True)]
        assert at.weights(floats(truth), k, "others", judge=floats(judge)) == pytest.approx(floats(wanted), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("n", [1, 2, 5, 16, 64, 300])
def test_the_reward_as_judge_gives_the_weights_of_max_at_k(n, baseline):
    rng = np.random.default_rng(n)
    for rewards in (
        rng.normal(size=(3, n)),
        rng.integers(0, 3, (3, n)) / 2,
        np.ones((3, n)),
        -100 + rng.random((3, n)),
    ):
        for k in sorted({1, 2, n // 4, n // 2, n - 1, n}):
            if 1 <= k <= n and not (k == n and baseline == "others"):
                plain = at.weights(rewards, k, baseline)
                assert at.weights(rewards, k, baseline, judge=rewards) == pytest.approx(plain, rel=1e-10, abs=1e-11)


def test_weights_of_others_sum_to_0_and_the_best_judged_may_be_pushed_down():
    rewards, judge = [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]
    weights = at.weights(rewards, 2, "others", judge=judge)
    assert weights.sum() == pytest.approx(0, abs=1e-15)
    assert weights[3] == weights.min() < 0


def test_groups_by_index_and_lists():
    rows, judge = np.array([[0.0, 1, 2, 5], [1, 1, 0, 3]]), np.array([[1.0, 1, 0, 0], [3, 2, 2, 1]])
    whole = at.weights(rows, 2, "none", judge=judge)
    flat = at.weights(rows.ravel().tolist(), 2, "none", judge=judge.ravel().tolist(), index=[0] * 4 + [1] * 4)
    assert flat == pytest.approx(whole.ravel())
    mixed = at.weights(rows.T.ravel(), 2, "none", judge=judge.T.ravel(), index=[0, 1] * 4)
    assert mixed == pytest.approx(whole.T.ravel())


def test_every_library_of_the_standard():
    rng = np.random.default_rng(0)
    rewards, judge = rng.random((4, 9)), rng.integers(0, 4, (4, 9)).astype(float)
    for baseline in BASELINES:
        plain = at.weights(rewards, 3, baseline, judge=judge)
        strict = at.weights(array_api_strict.asarray(rewards), 3, baseline, judge=array_api_strict.asarray(judge))
        assert np.asarray(strict) == pytest.approx(plain, abs=1e-14)


def test_tensors_and_their_gradients():
    torch = pytest.importorskip("torch")
    rewards, judge = torch.rand(3, 8, dtype=torch.float64, requires_grad=True), torch.randint(0, 3, (3, 8))
    for baseline in BASELINES:
        weights = at.weights(rewards, 3, baseline, judge=judge)
        assert weights.detach().numpy() == pytest.approx(
            at.weights(rewards.detach().numpy(), 3, baseline, judge=judge.numpy()), abs=1e-13
        )
    (weights**2).sum().backward()
    assert torch.isfinite(rewards.grad).all()


def test_arrays_of_jax_also_where_they_are_traced():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(2)
    rewards, judge = rng.random((4, 9)).astype(np.float32), rng.integers(0, 4, (4, 9)).astype(np.float32)
    given, seen = jax.numpy.asarray(rewards), jax.numpy.asarray(judge)
    for baseline in BASELINES:

        def weighed(x, y, baseline=baseline):
            return at.weights(x, 3, baseline, judge=y)

        plain = pytest.approx(at.weights(rewards.astype(float), 3, baseline, judge=judge.astype(float)), abs=1e-5)
        assert np.asarray(weighed(given, seen)) == plain
        assert np.asarray(jax.jit(weighed)(given, seen)) == plain
        assert np.asarray(jax.jit(lambda x, f=weighed: f(x, seen))(given)) == plain  # the judge alone is known
        assert np.isfinite(jax.grad(lambda x, f=weighed: (f(x, seen) ** 2).sum())(given)).all()


def test_large_groups_take_no_time_and_lose_no_digits():
    rng = np.random.default_rng(1)
    rewards = rng.normal(size=100_000)
    judge = rewards + rng.normal(size=100_000)
    weights = at.weights(rewards, 1000, "others", judge=judge)
    assert abs(weights.sum()) < 1e-9
    assert at.weights(rewards, 1000, "none", judge=rewards) == pytest.approx(
        at.weights(rewards, 1000, "none"), abs=1e-12
    )


@pytest.mark.slow
def test_a_proxy_that_is_hacked_and_the_curve_that_shows_it():
    """The proxy's own best of k rises to the end; the truth of its pick falls, which intervals show."""
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "hacked_reward.py"))
    hacked = example["train"](steps=280, every=40)
    proxy, picked = [row[1] for row in hacked], [row[2] for row in hacked]
    assert proxy[-1] == max(proxy)
    assert picked[-1].upper < max(one.lower for one in picked)
    held = [row[2] for row in example["train"](steps=280, every=40, judge=True)]
    assert held[-1].lower > picked[-1].upper


def test_what_is_refused():
    for judge, message in (
        ([1.0, 2.0], "shapes disagree"), ([1.0, 2.0, float("nan")], r"judge\[2\] is nan, not a finite number"),
        (["a", "b", "c"], "judge must be numbers"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            at.weights([1.0, 2.0, 3.0], 2, judge=judge)
    with pytest.raises(InputError, match="too far apart"):
        at.weights([-1.7e308, 1.7e308], 1, judge=[0.0, 1.0])
