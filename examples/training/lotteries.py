"""A task for tiny language models on which training for the mean and for max@4 part ways, with a known optimum.

A prompt is one token, an answer a word of two letters. Each word is a lottery: it pays a prize with some chance, else
nothing, and which word is which lottery differs between prompts. Bold words have larger prizes and smaller means, so
that the best single try is the worst of four. A try at a prompt is one step of a small decision problem, for which
maxatk knows what can be earned: by repeating the best mean, by one policy sampled four times, and by tries that look
at the best so far.
"""

import itertools
from dataclasses import dataclass

import numpy as np

import maxatk as mk

LETTERS = "abcd"
WORDS = ["".join(word) for word in itertools.product(LETTERS, repeat=2)]
PROMPTS = [f"<{i}>" for i in range(6)]
K = 4  # tries at a prompt
SAMPLES = 16  # of a group, in training
GROUPS = 4 * len(PROMPTS)  # of a step of training, four to a prompt
PRIZES = (1.0, 1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, *(0.5,) * 8)
CHANCES = (1.0, 0.72, 0.48, 0.32, 0.21, 0.13, 0.08, 0.05, *(0.5,) * 8)


@dataclass(frozen=True)
class Lotteries:
    """What every word pays at every prompt."""

    prize: np.ndarray  # [prompts, words]
    chance: np.ndarray  # [prompts, words]

    def draw(self, prompt: np.ndarray, word: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The rewards of some tries."""
        return self.prize[prompt, word] * (rng.random(np.shape(word)) < self.chance[prompt, word])

    def max_at_k(self, probs: np.ndarray, k: int = K) -> float:
        """The expected best of ``k`` tries of a policy, ``probs`` [prompts, words], averaged over prompts: exactly."""
        values = np.unique(np.concatenate(([0.0], self.prize.ravel())))
        pays = probs * self.chance
        above = np.stack([(pays * (self.prize > v)).sum(1) for v in values[:-1]])  # [values, prompts]
        return float((np.diff(values)[:, None] * (1 - (1 - above) ** k)).sum(0).mean())

    def problem(self, prompt: int) -> mk.MDP:
        """A try at one prompt."""
        pays = zip(self.prize[prompt].tolist(), self.chance[prompt].tolist(), strict=True)
        actions = [[(c, 0, v, True), (1 - c, 0, 0.0, True)] if c < 1 else [(1, 0, v, True)] for v, c in pays]
        return mk.MDP.from_table([actions], horizon=1, state_names=[PROMPTS[prompt]], action_names=WORDS)


def lotteries(seed: int = 0) -> Lotteries:
    """The task."""
    rng = np.random.default_rng(seed)
    order = np.array([rng.permutation(len(WORDS)) for _ in PROMPTS])
    return Lotteries(np.array(PRIZES)[order], np.array(CHANCES)[order])


def landmarks(task: Lotteries) -> dict[str, float]:
    """What can be earned, on average over prompts: lower bounds of ``mk.compare``."""
    tables = [mk.compare(task.problem(i), K) for i in range(len(PROMPTS))]
    names = {"mean-optimal, repeated": "mean", "one policy, sampled k times": "one policy", "adaptive": "plan"}
    return {short: float(np.mean([table[name].lower for table in tables])) for name, short in names.items()}
