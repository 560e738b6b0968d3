"""Weights for batches, for groups of any size, and on arrays of every library."""

import importlib.util
import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.attempts.training import off_policy
from maxatk.attempts.tuning import TUNING
from subset_oracles import UNBIASED


def test_groups_are_along_the_last_axis():
    rewards = np.random.default_rng(0).random((2, 3, 6))
    ratios = rewards[::-1] + 0.5
    weights, off = at.weights(rewards, 2), at.off_policy_weights(rewards, ratios, 2)
    for i, j in itertools.product(range(2), range(3)):
        assert np.array_equal(weights[i, j], at.weights(rewards[i, j], 2))
        assert np.array_equal(off[i, j], at.off_policy_weights(rewards[i, j], ratios[i, j], 2))
    assert at.weights(np.empty((0, 4)), 2).shape == (0, 4)
    assert at.off_policy_weights(np.empty((0, 4)), np.empty((0, 4)), 2).shape == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["none", "others", "marginal"])
def test_a_large_group_takes_little_memory(baseline: str, tune):
    """A table of n rows of k numbers used to be held, and another one: 80 GB for n = 100,000 and k = 50,000."""
    n, k = 5000, 1000
    rng = np.random.default_rng(0)
    rewards, ratios = rng.normal(size=n), rng.lognormal(0, 0.01, n)
    tracemalloc.start()
    weights = at.off_policy_weights(rewards, ratios, k, baseline)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n * k > TUNING.weight_cells
    assert peak < (2 * math.isqrt(n) + 30) * k * 8 + 1000 * n
    tune(weight_cells=n * k)  # all rows at once
    assert np.array_equal(weights, at.off_policy_weights(rewards, ratios, k, baseline))


def test_many_groups_off_policy_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch, tune):
    rewards, taken = np.random.default_rng(0).random((10, 6)), []
    whole = at.off_policy_weights(rewards, rewards + 0.5, 3, "others")

    def spy(xp: Any, name: str, part: Any, *more: Any, wrapped: Any = off_policy._product) -> Any:
        taken.append(len(part))
        return wrapped(xp, name, part, *more)

    monkeypatch.setattr(off_policy, "_product", spy)
    tune(weight_cells=3 * 6 * 3)
    assert np.array_equal(whole, at.off_policy_weights(rewards, rewards + 0.5, 3, "others"))
    assert taken == [3, 3, 3, 1]


@pytest.mark.parametrize("kind", ["integers", "words", "objects", "list"])
def test_groups_of_any_size_by_an_index(kind: str):
    rng = np.random.default_rng(0)
    label = rng.permutation(np.repeat(np.arange(7), [2, 5, 2, 3, 16, 5, 9]))
    rewards, ratios = rng.random(len(label)), rng.random(len(label)) + 0.5
    index = {
        "integers": label,
        "words": label.astype(str),
        "objects": np.array([(None, "b", ("c",), 4, "e", 6.5, b"g")[i] for i in label] + [""], object)[:-1],
        "list": label.tolist(),
    }[kind]
    weights, off = at.weights(rewards, 2, index=index), at.off_policy_weights(rewards, ratios, 2, index=index)
    for i in range(7):
        here = label == i
        assert np.array_equal(weights[here], at.weights(rewards[here], 2))
        assert np.array_equal(off[here], at.off_policy_weights(rewards[here], ratios[here], 2))
    assert at.weights([], 2, index=[]).shape == (0,)


def library(name: str) -> Any:
    """The library's module, or a skip."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return importlib.import_module({"jax": "jax.numpy"}.get(name, name))


LIBRARIES = ["numpy", "array_api_strict", "torch", "jax"]
REWARDS = [[0.5, -1.0, 3.25, 0.5, 2.0, 0.125], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]]
RATIOS = [[1.0, 0.5, 2.0, 0.25, 1.5, 1.0], [0.0, 1.0, 3.0, 0.5, 1.0, 1.0]]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_arrays_of_every_library(name: str, k: int):
    xp = library(name)
    rewards, ratios = xp.asarray(REWARDS, dtype=xp.float32), xp.asarray(RATIOS, dtype=xp.float32)
    for baseline in (*UNBIASED, "auto"):
        for made, expected in (
            (at.weights(rewards, k, baseline), at.weights(REWARDS, k, baseline)),
            (at.off_policy_weights(rewards, ratios, k, baseline), at.off_policy_weights(REWARDS, RATIOS, k, baseline)),
        ):
            assert type(made) is type(rewards)
            assert made.dtype == xp.float32
            assert np.allclose(np.asarray(made), expected, rtol=0, atol=1e-6)
    plug_in = at.off_policy_weights(rewards, RATIOS, 9)  # plain numbers go with any library
    assert np.allclose(np.asarray(plug_in), at.off_policy_weights(REWARDS, RATIOS, 9), atol=1e-6)
    flat, index = xp.reshape(rewards, (-1,)), [0] * 6 + [1] * 6
    expected = np.reshape(at.weights(REWARDS, k), -1)
    for labels in (index, xp.asarray(index), np.array(index).astype(str)):
        assert np.allclose(np.asarray(at.weights(flat, k, index=labels)), expected, atol=1e-6)
    whole = at.weights(xp.asarray([[0, 1, 1, 4]]), 2, "others")
    assert np.allclose(np.asarray(whole), [[-0.5, -0.5, -0.5, 1.5]])
    truth = at.weights(xp.asarray([False, True, True, False]), 2, "others")
    assert np.allclose(np.asarray(truth), at.weights([0, 1, 1, 0], 2, "others"))


def test_arrays_stay_on_their_device():
    xp = library("array_api_strict")  # whose devices are made up, and refuse to be mixed
    here = xp.Device("device1")
    rewards, ratios = xp.asarray(REWARDS, device=here), xp.asarray(RATIOS, device=here)
    weights = [at.weights(xp.asarray(REWARDS[0], device=here), 2, index=["a"] * 2 + ["b"] * 4)]
    for baseline in UNBIASED:
        weights += [at.weights(rewards, 2, baseline), at.off_policy_weights(rewards, ratios, 2, baseline)]
    weights += [at.off_policy_weights(rewards, ratios, 9), at.off_policy_weights(rewards, RATIOS, 1)]
    assert {x.device for x in weights} == {here}
    with pytest.raises(mk.InputError, match="rewards and ratios must be on one device"):
        at.off_policy_weights(rewards, xp.asarray(RATIOS), 2)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_short_floats_are_widened_and_given_back(name: str):
    xp = library(name)
    rewards = xp.asarray([0.0, 1.0, 2.0, 3.0], dtype=xp.float16)
    weights = at.weights(rewards, 2, "others")
    assert weights.dtype == xp.float16
    assert np.array_equal(np.asarray(weights), at.weights([0.0, 1.0, 2.0, 3.0], 2, "others").astype(np.float16))


def test_torch_differentiates_weights():
    torch = library("torch")
    rng = torch.Generator().manual_seed(0)
    rewards = torch.rand((2, 5), dtype=torch.float64, generator=rng, requires_grad=True)
    ratios = torch.rand((2, 5), dtype=torch.float64, generator=rng, requires_grad=True)
    for baseline in UNBIASED:
        assert torch.autograd.gradcheck(lambda r, b=baseline: at.weights(r, 3, b), rewards)
        assert torch.autograd.gradcheck(lambda r, q, b=baseline: at.off_policy_weights(r, q, 3, b), (rewards, ratios))
    assert torch.autograd.gradcheck(lambda r, q: at.off_policy_weights(r, q, 9), (rewards, ratios))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_torch_compiles_around_weights():
    torch = library("torch")
    rewards = torch.tensor(REWARDS)
    compiled = torch.compile(lambda r: 2 * at.weights(r, 3, "others"), backend="eager")
    assert torch.allclose(compiled(rewards), 2 * at.weights(rewards, 3, "others"))


def test_jax_compiles_differentiates_and_maps_weights():
    jnp, jax = library("jax"), importlib.import_module("jax")
    rewards = jnp.asarray(REWARDS[0])
    expected = np.asarray(at.weights(rewards, 2, "others"))
    assert np.allclose(jax.jit(lambda r: at.weights(r, 2, "others"))(rewards), expected, atol=1e-6)
    assert np.allclose(jax.vmap(lambda r: at.weights(r, 2, "others"))(rewards[None])[0], expected, atol=1e-6)
    slope = jax.grad(lambda r: at.weights(r, 2, "marginal")[3])(jnp.asarray([0.0, 1.0, 1.5, 4.0]))
    assert np.allclose(slope, [-1 / 6, -1 / 6, -1 / 6, 1 / 2])
    bad = jax.jit(lambda r: at.weights(r, 2))(jnp.asarray([[1.0, jnp.nan, 2.0], [0.0, 1.0, 2.0]]))
    assert np.isnan(bad[0]).all()  # what cannot be refused must not look like a weight
    assert np.isfinite(bad[1]).all()
