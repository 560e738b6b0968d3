"""Weights for max@k, held to their definition over subsets and to what they must average to over all samples."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxatk import attempts as at
from subset_oracles import UNBIASED, large_oracle, oracle, plug_in_oracle

F = Fraction


class World(NamedTuple):
    """A policy over three outcomes: probabilities, rewards, and derivatives of log-probabilities."""

    probs: tuple[F, ...]
    rewards: tuple[F, ...]
    scores: tuple[F, ...]

    def gradient(self, k: int) -> F:
        """Of max@k, by the definition: the derivative of a sum over all k-tuples."""
        return sum(
            (
                math.prod(self.probs[x] for x in drawn)
                * max(self.rewards[x] for x in drawn)
                * sum(self.scores[x] for x in drawn)
                for drawn in itertools.product(range(3), repeat=k)
            ),
            F(0),
        )


def world(probs: tuple[int, ...], rewards: tuple[int, ...], raw: tuple[int, ...]) -> World:
    p = tuple(F(x, sum(probs)) for x in probs)
    mean = sum(a * b for a, b in zip(p, raw, strict=True))
    return World(p, tuple(map(F, rewards)), tuple(x - mean for x in raw))


WORLDS = {
    "three rewards": world((1, 2, 3), (-1, 4, 1), (3, -1, 2)),
    "pass or fail": world((4, 1, 2), (0, 1, 1), (0, 5, -3)),
    "a rare best": world((1, 20, 5), (100, 0, 1), (7, 0, 1)),
}
DRAWN_BY = (F(1, 2), F(1, 3), F(1, 6))  # another policy, for ratios
CASES = [
    (name, n, k, baseline, off_policy)
    for name in WORLDS
    for n in range(1, 6 if name == "three rewards" else 5)
    for k in range(1, n + 1)
    for baseline in ("auto", *UNBIASED)
    for off_policy in (False, True)
    if (n, baseline) != (k, "others")
]


def close(weights: Any, exact: list[F], tol: float = 1e-14, terms: list[F] | None = None) -> bool:
    """Whether no weight is off by more than ``tol`` of the largest of its group, or of the ``terms`` it is made of."""
    allowed = F(tol) * max(map(abs, [*exact, *(terms or [])])) + 8 * F(5e-324)  # the least of floats
    return all(abs(F(float(a)) - b) <= allowed for a, b in zip(weights, exact, strict=True))


# Unbiased, exactly.


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "k", "baseline", "off_policy"), CASES)
def test_the_expected_gradient_is_that_of_max_at_k(name: str, n: int, k: int, baseline: str, off_policy: bool):
    """Over all n-tuples: the oracle's expectation is the gradient exactly, and the weights are the oracle's."""
    here = WORLDS[name]
    drawn_by = DRAWN_BY if off_policy else here.probs
    ratio = [p / q for p, q in zip(here.probs, drawn_by, strict=True)]
    tuples = list(itertools.product(range(3), repeat=n))
    rewards = [[here.rewards[x] for x in drawn] for drawn in tuples]
    ratios = [[ratio[x] for x in drawn] for drawn in tuples]
    weights = at.off_policy_weights(rewards, ratios, k, baseline) if off_policy else at.weights(rewards, k, baseline)
    kind = baseline if baseline != "auto" else "others" if n > 1 and (k == 1 or 4 * k <= n) else "marginal"
    expected, size = F(0), F(0)
    for drawn, r, rho, w in zip(tuples, rewards, ratios, weights, strict=True):
        exact = oracle(r, k, kind, rho if off_policy else None)
        assert close(w, exact, 4e-15, oracle(r, k, "marginal", rho) if off_policy else None)
        terms = [math.prod(drawn_by[x] for x in drawn) * e * here.scores[x] for e, x in zip(exact, drawn, strict=True)]
        expected += sum(terms)
        size += sum(map(abs, terms))
    assert expected == here.gradient(k)
    assert size > 0


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_plug_in_is_the_derivative_of_the_samples_own_max_at_k(k: int):
    rewards, ratios = [F(3), F(-1), F(3), F(0)], [F(1, 2), F(2), F(0), F(5, 3)]
    weights = at.off_policy_weights(rewards, ratios, k, method="plug-in")
    assert close(weights, plug_in_oracle(rewards, ratios, k))
    if k > 4:
        assert np.array_equal(weights, at.off_policy_weights(rewards, ratios, k))


def test_the_bias_of_the_plug_in_falls_with_the_number_of_samples():
    here, k = WORLDS["three rewards"], 3
    ratio = [p / q for p, q in zip(here.probs, DRAWN_BY, strict=True)]
    bias = []
    for n in (2, 4, 8):
        tuples = np.array(list(itertools.product(range(3), repeat=n)))
        rewards, ratios, scores = (np.array([float(x) for x in y])[tuples] for y in (here.rewards, ratio, here.scores))
        chance = np.prod(np.array([float(x) for x in DRAWN_BY])[tuples], axis=1)
        weights = at.off_policy_weights(rewards, ratios, k, method="plug-in")
        bias.append(abs(float(chance @ (weights * scores).sum(1)) - float(here.gradient(k))))
    assert bias[0] / 4 < bias[1] < bias[0] / 1.5  # a little less than as fast as 1 / n
    assert bias[1] / 4 < bias[2] < bias[1] / 1.5


# The numbers.

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),  # ties
    st.sampled_from([0.1, 0.1 + 2**-56, 1e-300, -1e-300, 5e-324, 1e16, 1e16 + 2]),  # near ties, subnormal, large
    st.floats(-1e6, 1e6),
)


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[float], list[float], int]:
    n = draw(st.integers(1, 7))
    rewards = draw(st.lists(NUMBERS, min_size=n, max_size=n))
    ratios = draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 1.5, 7.0]), min_size=n, max_size=n))
    return rewards, ratios, draw(st.integers(1, n))


@pytest.mark.slow
@settings(max_examples=400)
@given(groups(), st.sampled_from(UNBIASED))
def test_weights_are_those_of_their_definition(case: tuple[list[float], list[float], int], baseline: str):
    rewards, ratios, k = case
    if baseline == "others" and k == len(rewards):
        return
    exact = list(map(F, rewards))
    assert close(at.weights(rewards, k, baseline), oracle(exact, k, baseline))
    rho = list(map(F, ratios))
    weights, expected = at.off_policy_weights(rewards, ratios, k, baseline), oracle(exact, k, baseline, rho)
    assert close(weights, expected, terms=oracle(exact, k, "none" if baseline == "none" else "marginal", rho))


def by_counting(rewards: list[int], k: int, baseline: str) -> list[F]:
    """Weights of sorted whole rewards by how many subsets each sample is the best of, and the others without it."""
    n = len(rewards)
    best = [math.comb(j, k - 1) for j in range(n)]  # sets of k whose best is sample j
    beside = [math.comb(j - 1, k - 2) if k > 1 and j else 0 for j in range(n)]  # the same, with a given sample below
    above = list(itertools.accumulate(reversed([c * r for c, r in zip(beside, rewards, strict=True)]), initial=0))[::-1]
    sums = [best[i] * rewards[i] + above[i + 1] for i in range(n)]
    if baseline == "none":
        return [F(x, math.comb(n, k)) for x in sums]
    size = k if baseline == "others" else k - 1
    count = [math.comb(j, size - 1) for j in range(n)]
    lower = list(itertools.accumulate((c * r for c, r in zip(count, rewards, strict=True)), initial=0))
    upper = list(
        itertools.accumulate(reversed([c * r for c, r in zip(count[:-1], rewards[1:], strict=True)]), initial=0)
    )[::-1]
    without = [lower[i] + upper[i] for i in range(n)]  # the others in order, sample i left out
    return [F(s, math.comb(n, k)) - F(k, n) * F(v, math.comb(n - 1, size)) for s, v in zip(sums, without, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("baseline", UNBIASED)
@pytest.mark.parametrize("k", [2, 3, 50, 500, 998, 999])
@pytest.mark.parametrize("law", ["uniform", "heavy tail", "shifted"])
def test_a_thousand_samples_to_fourteen_digits(k: int, baseline: str, law: str):
    rng = np.random.default_rng(k)
    rewards = np.sort(
        {"uniform": rng.random, "heavy tail": lambda n: rng.pareto(0.5, n), "shifted": rng.random}[law](1000)
    )
    if law == "shifted":
        rewards = rewards + 1e6
    scaled = [int(F(float(x)) * 2**100) for x in rewards]
    assert [F(x, 2**100) for x in scaled] == [F(float(x)) for x in rewards]
    exact = [x / 2**100 for x in by_counting(scaled, k, baseline)]
    weights = at.weights(rewards, k, baseline)
    assert close(weights, exact, 1e-14)
    if baseline == "marginal":  # sums of what is not negative: each weight to its own scale
        assert all(abs(F(float(a)) - b) <= F(1, 10**14) * b for a, b in zip(weights, exact, strict=True))


def test_counting_is_the_definition():
    rewards = [F(-2), F(0), F(0), F(3), F(7)]
    for baseline in UNBIASED:
        for k in range(2, 5):
            assert by_counting([int(r) for r in rewards], k, baseline) == oracle(rewards, k, baseline)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", UNBIASED)
@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_larger_groups_off_policy(baseline: str, spread: float):
    rng = np.random.default_rng(0)
    rewards, ratios = rng.standard_normal(14), np.exp(spread * rng.standard_normal(14))
    exact, rho = list(map(F, rewards)), list(map(F, ratios))
    assert large_oracle(exact[:5], 3, baseline, rho[:5]) == oracle(exact[:5], 3, baseline, rho[:5])
    for k in (2, 6, 13):
        weights, terms = at.off_policy_weights(rewards, ratios, k, baseline), large_oracle(exact, k, "marginal", rho)
        assert close(weights, large_oracle(exact, k, baseline, rho), terms=terms)


@pytest.mark.parametrize(
    ("k", "baseline"), [(1, "others"), (2, "others"), (7, "others"), (2, "marginal"), (8, "marginal")]
)
def test_a_shift_of_all_rewards_changes_no_bit(k: int, baseline: str):
    rng = np.random.default_rng(0)
    rewards, ratios = rng.integers(-50, 50, (20, 8)) / 8, np.exp(rng.standard_normal((20, 8)))
    shifted = rewards + 2.0**40
    assert np.array_equal(at.weights(rewards, k, baseline), at.weights(shifted, k, baseline))
    assert np.array_equal(
        at.off_policy_weights(rewards, ratios, k, baseline), at.off_policy_weights(shifted, ratios, k, baseline)
    )


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_what_is_known_of_weights(k: int):
    rng = np.random.default_rng(k)
    rewards = rng.integers(0, 4, (50, 8)).astype(float)
    n, others, marginal = 8, at.weights(rewards, k, "others"), at.weights(rewards, k, "marginal")
    none = at.weights(rewards, k, "none")
    assert np.abs(others.sum(1)).max() < 1e-14
    assert np.allclose(others, n / (n - k) * (none - none.mean(1, keepdims=True)), atol=1e-14)
    # Equal rewards have equal weights, to the last bit.
    same = rewards[:, :, None] == rewards[:, None, :]
    for weights in (others, marginal, none):
        assert np.array_equal((weights[:, :, None] == weights[:, None, :]) | ~same, np.ones_like(same))
    if k > 1:
        assert marginal.min() == 0
        assert (marginal.min(1) == 0).all()
    # R15: a sample's contribution less (n - 1) / n of the mean of the others' without it.
    for row, weights in zip(rewards[:5], others[:5], strict=True):
        rest = [at.weights(np.delete(row, i), k, "marginal").mean() for i in range(n)]
        assert np.allclose(weights, at.weights(row, k, "marginal") - (n - 1) / n * np.array(rest), atol=1e-14)
    # Pass@k training's advantage before it is divided by a deviation: 1 - R for a pass, and so on.
    passed = rewards > 1
    fails = n - passed.sum(1, keepdims=True)
    comb = np.vectorize(math.comb)
    rate = 1 - comb(fails, k) / math.comb(n, k)
    published = np.where(passed, 1 - rate, 1 - rate - comb(np.maximum(fails - 1, 0), k - 1) / math.comb(n - 1, k - 1))
    assert np.allclose(at.weights(passed, k, "others"), k / (n - k) * published, atol=1e-14)


def test_with_ratios_of_one_both_policies_are_the_same():
    rewards = np.random.default_rng(1).standard_normal((30, 9))
    for k, baseline in itertools.product((1, 2, 5, 8), (*UNBIASED, "auto")):
        weights = at.off_policy_weights(rewards, np.ones_like(rewards), k, baseline)
        assert np.allclose(weights, at.weights(rewards, k, baseline), rtol=0, atol=2e-14)


@pytest.mark.parametrize(
    ("n", "k", "baseline"),
    [
        (16, 4, "others"),
        (16, 5, "marginal"),
        (2, 1, "others"),
        (3, 1, "others"),
        (4, 4, "marginal"),
        (7, 2, "marginal"),
    ],
)
def test_the_rule_for_the_baseline(n: int, k: int, baseline: str):
    rewards = np.random.default_rng(0).random((3, n))
    assert np.array_equal(at.weights(rewards, k), at.weights(rewards, k, baseline))


def test_the_variances_of_the_docstring_were_measured():
    kept = json.loads((Path(__file__).parents[1] / "benchmarks" / "results" / "weights.json").read_text())["rows"]
    rows = [row for row in kept if row["reward"] == "the sample" and row["k"] in (2, 4, 8, 15)]
    for baseline in UNBIASED:
        lines = [x.replace("|", "").split() for x in (at.weights.__doc__ or "").splitlines()]
        assert [baseline, *(f"{row[baseline]:.3g}" for row in rows)] in lines
    assert all(row["the rule takes"] == ("others" if row["k"] <= 4 else "marginal") for row in kept)


def test_numbers_of_any_size():
    top = 1.7e308
    assert at.weights([0.0, top], 1).tolist() == [-top / 2, top / 2]
    assert at.weights([top, 0.0, 0.0, 0.0], 2).tolist() == [top / 2, 0.0, 0.0, 0.0]
    assert at.weights([5e-324, 0.0], 2).tolist() == [5e-324, 0.0]
    assert at.weights([7.0], 1).tolist() == [7.0]
    assert np.isfinite(at.weights(np.linspace(-8e307, 8e307, 1000), 999, "others")).all()
    large = at.weights(np.arange(100_000.0), 50_000)
    assert np.isfinite(large).all()
    assert large[-1] == pytest.approx(
        1.0, rel=1e-12
    )  # half of the sets hold it; it beats the next best by 2 on average
    many = np.random.default_rng(0).random(3000)
    for baseline in UNBIASED:
        weights = at.off_policy_weights(many, np.ones(3000), 1500, baseline)
        assert np.allclose(weights, at.weights(many, 1500, baseline), rtol=0, atol=1e-12)
    assert at.off_policy_weights([0.0, 1.0], [1e308, 1e308], 3).tolist() == [-0.1875, 0.1875]
    # Products of ratios beyond the range of floats in between, but not at the end.
    ratios = np.where(np.arange(400) < 200, 1e-3, 1e3)
    assert np.isfinite(at.off_policy_weights(np.arange(400.0), ratios, 100)).all()
