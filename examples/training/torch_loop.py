"""Train a tiny language model for max@4 in a plain PyTorch loop, and with other rules, on words that are lotteries.

    python examples/training/torch_loop.py

About two minutes on one core (extra ``trainers``). The loss is one line: ``-(weights * log_probs).sum()``.
"""

import argparse

import numpy as np
import torch
from curves import keep, show
from lotteries import GROUPS, LETTERS, PROMPTS, SAMPLES, WORDS, K, landmarks, lotteries
from rules import RULES
from torch import nn

LENGTH = len(WORDS[0])


class Model(nn.Module):
    """A recurrent model that reads a prompt and writes a word, letter by letter."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.read = nn.Embedding(len(PROMPTS) + len(LETTERS), width)
        self.think = nn.GRU(width, width, batch_first=True)
        self.write = nn.Linear(width, len(LETTERS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The log-probabilities of the next letter after every token [B, T, letters]."""
        return self.write(self.think(self.read(tokens))[0]).log_softmax(-1)


def log_probs(model: Model, prompts: torch.Tensor, letters: torch.Tensor) -> torch.Tensor:
    """The log-probability of each answer [B], for prompts [B] and letters [B, T]."""
    tokens = torch.cat([prompts[:, None], len(PROMPTS) + letters[:, :-1]], dim=1)
    return model(tokens).gather(-1, letters[:, :, None]).squeeze(-1).sum(-1)


@torch.no_grad()
def sample(model: Model, prompts: torch.Tensor) -> torch.Tensor:
    """An answer to each prompt [B, T]."""
    tokens = prompts[:, None]
    for _ in range(LENGTH):
        drawn = torch.multinomial(model(tokens)[:, -1].exp(), 1)
        tokens = torch.cat([tokens, len(PROMPTS) + drawn], dim=1)
    return tokens[:, 1:] - len(PROMPTS)


@torch.no_grad()
def policy(model: Model) -> np.ndarray:
    """The probability of every word at every prompt [prompts, words]."""
    words = torch.tensor([[LETTERS.index(x) for x in word] for word in WORDS])
    prompts = torch.arange(len(PROMPTS)).repeat_interleave(len(WORDS))
    return log_probs(model, prompts, words.repeat(len(PROMPTS), 1)).exp().view(len(PROMPTS), -1).numpy()


def train(rule, seed: int, steps: int, every: int) -> list[float]:
    """The exact max@4 of the model, before training and every so many steps of it."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    task, model = lotteries(), Model()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    prompts = (torch.arange(GROUPS) % len(PROMPTS)).repeat_interleave(SAMPLES)
    places = len(LETTERS) ** torch.arange(LENGTH - 1, -1, -1)
    curve = [task.max_at_k(policy(model))]
    for step in range(1, steps + 1):
        letters = sample(model, prompts)
        rewards = torch.tensor(task.draw(prompts.numpy(), (letters * places).sum(1).numpy(), rng))
        weights = rule(rewards.view(-1, SAMPLES)).flatten()  # a group is a row
        loss = -(weights * log_probs(model, prompts, letters)).sum() / GROUPS
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % every == 0:
            curve.append(task.max_at_k(policy(model)))
    return curve


def main() -> None:
    """Train with every rule and seed, print what was reached, and keep the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    every = max(options.steps // 30, 1)
    curves = {}
    for name, rule in RULES.items():
        curves[name] = [train(rule, seed, options.steps, every) for seed in range(options.seeds)]
        print(show(name, curves[name]), flush=True)
    marks = landmarks(lotteries())
    print("mk.compare:", ", ".join(f"{name} {value:.4f}" for name, value in marks.items()))
    keep("torch_loop", curves, marks, every, f"steps of {GROUPS} groups of {SAMPLES} samples", f"expected best of {K}")


if __name__ == "__main__":
    main()
