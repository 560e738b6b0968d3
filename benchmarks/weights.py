"""Weights for max@k: the variance of every baseline, biases off policy, and the time for a million groups.

The policy is Gaussian with mean 0 and deviation 1, and the gradient is that by its mean: the score of a sample is the
sample itself. Off policy, samples come from that policy and the mean of the one that is trained is shifted. No
baseline is preferred by construction. Needs some minutes; PyTorch and JAX are timed where they are installed.
"""

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from common import report
from maxatk import attempts as at

N = 16
REWARDS: dict[str, Callable[[Any], Any]] = {
    "the sample": lambda x: x,
    "pass, rate 0.3": lambda x: (x > ndtri(0.7)) * 1.0,
    "pass, rate 0.02": lambda x: (x > ndtri(0.98)) * 1.0,
    "exp of the sample": np.exp,
}


def variances(groups: int = 200_000) -> list[dict[str, Any]]:
    """The variance of the gradient that one group of 16 gives, for every baseline; all have the same expectation."""
    rows = []
    for name, reward in REWARDS.items():
        x = np.random.default_rng(0).standard_normal((groups, N))
        rewards = reward(x)
        for k in (2, 4, 6, 8, 15):
            found = {b: (at.weights(rewards, k, b) * x).sum(1) for b in ("none", "marginal", "others")}
            chosen = "others" if np.array_equal(at.weights(x[:9], k), at.weights(x[:9], k, "others")) else "marginal"
            rows.append(
                {"reward": name, "k": k, "gradient": float(found["others"].mean())}
                | {b: float(v.var()) for b, v in found.items()}
                | {"the rule takes": chosen}
            )
    return rows


def sizes(batches: int = 40_000, samples: int = 64) -> list[dict[str, Any]]:
    """The variance of the gradient that 64 samples give, in groups of different sizes, with the default baseline."""
    rows = []
    for name in ("the sample", "pass, rate 0.3", "pass, rate 0.02", "exp of the sample"):
        x = np.random.default_rng(0).standard_normal((batches, samples))
        rewards = REWARDS[name](x)
        for k in (2, 4, 8):
            row: dict[str, Any] = {"reward": name, "k": k}
            for times in (1, 2, 4, 8):
                shape = (batches, samples // (times * k), times * k)
                found = at.weights(rewards.reshape(shape), k) * x.reshape(shape)
                row["n = k" if times == 1 else f"n = {times} k"] = float(found.sum(2).mean(1).var())
            rows.append(row)
    return rows


def off_policy(groups: int = 100_000, k: int = 4) -> list[dict[str, Any]]:
    """Bias and deviation of the gradient off policy: "bias / deviation"."""
    rows = []
    for name in ("the sample", "pass, rate 0.3", "pass, rate 0.02"):
        for shift in (0.1, 0.3, 0.6):
            for n in (16, 64):
                rng = np.random.default_rng(0)
                y = rng.standard_normal((1_000_000, k)) + shift
                truth = float((REWARDS[name](y).max(1) * (y - shift).sum(1)).mean())
                x = rng.standard_normal((groups * 16 // n, n))
                rewards, ratios, score = REWARDS[name](x), np.exp(shift * x - shift**2 / 2), x - shift
                plain = at.off_policy_weights(rewards, ratios, k, "none")
                value = plain.sum(1, keepdims=True) / k
                found = {
                    "product": at.off_policy_weights(rewards, ratios, k, "others"),
                    "single ratio": ratios * at.weights(rewards, k, "others"),
                    "plug-in": at.off_policy_weights(rewards, ratios, k, method="plug-in"),
                    "others' value": plain - k / (n - k) * ratios * (value - plain),
                }
                row: dict[str, Any] = {"reward": name, "shift": shift, "n": n, "gradient": truth}
                for method, weights in found.items():
                    gradient = (weights * score).sum(1)
                    row[method] = f"{gradient.mean() - truth:+.3f} / {gradient.std():.3f}"
                rows.append(row)
    return rows


def seconds(work: Callable[[], Any]) -> float:
    """The best of three runs."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def speed(groups: int = 1_000_000, k: int = 4) -> list[dict[str, Any]]:
    """A million groups of 16."""
    rng = np.random.default_rng(0)
    rewards = rng.random((groups, N))
    ratios = np.exp(0.1 * rng.standard_normal(rewards.shape))
    flat, index = rewards.ravel(), np.repeat(np.arange(groups), N)
    work: dict[str, Callable[[], Any]] = {
        "NumPy, others": lambda: at.weights(rewards, k, "others"),
        "NumPy, marginal": lambda: at.weights(rewards, k, "marginal"),
        "NumPy, by an index": lambda: at.weights(flat, k, index=index),
        "NumPy, off policy, others": lambda: at.off_policy_weights(rewards, ratios, k, "others"),
        "NumPy, off policy, marginal": lambda: at.off_policy_weights(rewards, ratios, k, "marginal"),
        "NumPy, plug-in": lambda: at.off_policy_weights(rewards, ratios, k, method="plug-in"),
        "NumPy, the mean and deviation of GRPO": lambda: (
            (rewards - rewards.mean(1, keepdims=True)) / rewards.std(1, keepdims=True)
        ),
    }
    if importlib.util.find_spec("torch"):
        import torch

        tensor = torch.tensor(rewards)
        work["PyTorch, others"] = lambda: at.weights(tensor, k, "others")
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        array, compiled = jax.numpy.asarray(rewards), jax.jit(lambda r: at.weights(r, k, "others"))
        work["JAX, compiled, others"] = lambda: compiled(array).block_until_ready()
    rows = [{"a million groups of 16, k = 4": name, "seconds": seconds(one)} for name, one in work.items()]
    return [row | {"million samples per second": groups * N / row["seconds"] / 1e6} for row in rows]


def main() -> None:
    """Run all tables."""
    report("weights", f"Variance of a gradient of max@k, groups of {N}", variances())
    report("weights_sizes", "Variance of a gradient of max@k from 64 samples, by the size of groups", sizes())
    report("weights_off_policy", "Gradients of max@4 off policy", off_policy())
    report("weights_speed", "Time for weights", speed())


if __name__ == "__main__":
    main()
