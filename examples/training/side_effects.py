"""What training for max@k does beside: to the mean, to the entropy, early on, and with a reward that can be hacked.

    python examples/training/side_effects.py

Some minutes on one core (extra ``trainers``). The loop and the lotteries are those of ``torch_loop.py``. In the second
part, the boldest word of each prompt is a hack: it is rewarded as before, and is truly of no use.
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from lotteries import GROUPS, LETTERS, PRIZES, PROMPTS, SAMPLES, K, lotteries
from rules import grpo
from torch_loop import LENGTH, Model, log_probs, policy, sample

from maxatk import attempts as at

KEPT = (0, 30, 200, 600)  # steps after which the model is looked at
RULES = {f"max@{k}": (lambda rewards, k=k: at.weights(rewards, k)) for k in (1, 4, 16)} | {"GRPO": grpo}


def looked_at(probs: np.ndarray, task) -> dict[str, float]:
    """What a policy earns exactly in one try and in four, its entropy, and its chance of the boldest word."""
    boldest = task.prize == max(PRIZES)
    honest = replace(task, chance=np.where(boldest, 0.0, task.chance))
    entropy = -(probs * np.log(np.maximum(probs, 1e-300))).sum(1).mean()
    return {
        "max@1": task.max_at_k(probs, 1),
        "max@4": task.max_at_k(probs, K),
        "entropy": float(entropy),
        "boldest": float((probs * boldest).sum(1).mean()),
        "max@4 without it": honest.max_at_k(probs, K),
    }


def train(rule, seed: int) -> list[dict[str, float]]:
    """What the model is like after each of the steps ``KEPT``."""
    torch.manual_seed(seed)
    rng, task, model = np.random.default_rng(seed), lotteries(), Model()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    prompts = (torch.arange(GROUPS) % len(PROMPTS)).repeat_interleave(SAMPLES)
    places = len(LETTERS) ** torch.arange(LENGTH - 1, -1, -1)
    seen = [looked_at(policy(model), task)]
    for step in range(1, max(KEPT) + 1):
        letters = sample(model, prompts)
        rewards = torch.tensor(task.draw(prompts.numpy(), (letters * places).sum(1).numpy(), rng))
        loss = -(rule(rewards.view(-1, SAMPLES)).flatten() * log_probs(model, prompts, letters)).sum() / GROUPS
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in KEPT:
            seen.append(looked_at(policy(model), task))
    return seen


def main() -> None:
    """Train with every rule and seed, and print means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    for name, rule in RULES.items():
        runs = [train(rule, seed) for seed in range(seeds)]
        for i, step in enumerate(KEPT):
            means = {key: np.mean([run[i][key] for run in runs]) for key in runs[0][i]}
            print(f"{name:7} {step:4}  " + "  ".join(f"{key} {value:.2f}" for key, value in means.items()), flush=True)


if __name__ == "__main__":
    main()
