"""REINFORCE along a windy cliff, where the true gradient of max@4 is known: which rules climb it, and how far.

    python examples/training/reinforce_cliff.py

Some minutes on one core; NumPy, and Matplotlib for the figure. The policy is a table of logits, a row for every step
and state. Its law of returns, and so its max@4 and the gradient of that, are computed exactly. The samples that it
learns from are drawn.
"""

import argparse
from functools import partial

import numpy as np
from curves import keep, show
from rules import RULES

import maxatk as mk
from maxatk import attempts as at

K, SAMPLES, GROUPS = 4, 16, 8  # tries; samples of a group; groups of a step of training
CLIFF = {"columns": 4, "horizon": 12}


class Walks:
    """A problem with whole rewards as arrays: to walk in bulk, and to follow all walks at once."""

    def __init__(self, mdp: mk.MDP) -> None:
        S, A, self.H = mdp.n_states, mdp.n_actions, mdp.horizon
        rows = [[mdp.outcomes(0, s, a) for a in range(A)] for s in range(S)]
        width = max(len(row) for state in rows for row in state)
        self.start = int(mdp.start_state[0])
        self.prob = np.zeros((S, A, width))
        self.next = np.full((S, A, width), S)  # state S: the walk is over
        self.reward = np.zeros((S, A, width), int)
        for s, a in np.ndindex(S, A):
            for i, outcome in enumerate(rows[s][a]):
                self.prob[s, a, i], self.reward[s, a, i] = outcome.prob, int(outcome.reward)
                self.next[s, a, i] = S if outcome.next_state is None else outcome.next_state
        self.least = self.H * int(self.reward.min())
        self.values = np.arange(self.least, 1)  # all returns that there may be
        self.moves = [(s, a, i) for s, a, i in np.ndindex(S, A, width) if self.prob[s, a, i] > 0]

    def sample(self, policy: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """States and actions [n, H] of ``n`` walks, which steps were made [n, H], and returns [n]."""
        state, total = np.full(n, self.start), np.zeros(n, int)
        states, actions, made = np.zeros((n, self.H), int), np.zeros((n, self.H), int), np.zeros((n, self.H), bool)
        for h in range(self.H):
            going = np.flatnonzero(state < len(self.prob))
            s = state[going]
            a = (rng.random((len(s), 1)) > policy[h, s].cumsum(1)[:, :-1]).sum(1)
            i = (rng.random((len(s), 1)) > self.prob[s, a].cumsum(1)[:, :-1]).sum(1)
            states[going, h], actions[going, h], made[going, h] = s, a, True
            total[going] += self.reward[s, a, i]
            state[going] = self.next[s, a, i]
        return states, actions, made, total

    def mass(self, policy: np.ndarray) -> np.ndarray:
        """Where walks are at every step: probabilities [H + 1, S + 1, returns]."""
        found = np.zeros((self.H + 1, len(self.prob) + 1, len(self.values)))
        found[0, self.start, -self.least] = 1.0
        for h in range(self.H):
            found[h + 1, -1] += found[h, -1]
            for s, a, i in self.moves:
                chance, by = policy[h, s, a] * self.prob[s, a, i], -self.reward[s, a, i]
                found[h + 1, self.next[s, a, i], : len(self.values) - by] += chance * found[h, s, by:]
        return found

    def max_at_k(self, policy: np.ndarray, k: int = K) -> float:
        """The expected best of ``k`` walks."""
        below = self.mass(policy)[-1].sum(0).cumsum()
        return float(self.values[-1] - (below[:-1] ** k).sum())

    def gradient(self, policy: np.ndarray, k: int = K) -> np.ndarray:
        """The derivative of max@k by the logits [H, S, A].

        It is ``k`` times that of the mean of ``u(return)``, with ``u`` held fixed and ``u' = F^(k-1)``.
        """
        mass = self.mass(policy)
        below = np.minimum(mass[-1].sum(0).cumsum(), 1.0)
        worth = np.concatenate(([0.0], np.cumsum(below[:-1] ** (k - 1))))
        value = np.tile(worth, (len(self.prob) + 1, 1))  # of a state with a return so far
        found = np.zeros(policy.shape)
        for h in range(self.H - 1, -1, -1):
            by_action = np.zeros((*self.prob.shape[:2], len(self.values)))
            for s, a, i in self.moves:
                by = -self.reward[s, a, i]
                by_action[s, a, by:] += self.prob[s, a, i] * value[self.next[s, a, i], : len(self.values) - by]
            state_value = (policy[h, :, :, None] * by_action).sum(1)
            lead = by_action - state_value[:, None]
            found[h] = k * policy[h] * (mass[h, :-1, None] * lead).sum(-1)
            value = np.vstack((state_value, worth))
        return found


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of actions."""
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def estimate(walks: Walks, policy: np.ndarray, rule, groups: int, rng: np.random.Generator) -> np.ndarray:
    """REINFORCE: the sum of weights times derivatives of log-probabilities, averaged over groups [H, S, A]."""
    states, actions, made, total = walks.sample(policy, groups * SAMPLES, rng)
    weight = rule(total.reshape(groups, SAMPLES).astype(float)).reshape(-1, 1)
    found = np.zeros(policy.shape)
    steps = np.broadcast_to(np.arange(walks.H), states.shape)
    each = np.broadcast_to(weight, states.shape)[made] / groups
    np.add.at(found, (steps[made], states[made], actions[made]), each)
    np.add.at(found, (steps[made], states[made]), -each[:, None] * policy[steps[made], states[made]])
    return found


def train(walks: Walks, rule, seed: int, steps: int, every: int) -> tuple[list[float], np.ndarray]:
    """The exact max@4, before training and every so many steps of Adam; and the logits in the end."""
    rng = np.random.default_rng(seed)
    logits = np.zeros((walks.H, *walks.prob.shape[:2]))
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    curve = [walks.max_at_k(softmax(logits))]
    for step in range(1, steps + 1):
        slope = estimate(walks, softmax(logits), rule, GROUPS, rng)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        logits += 0.03 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        if step % every == 0:
            curve.append(walks.max_at_k(softmax(logits)))
    return curve, logits


def cosines(walks: Walks, policy: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """How each rule's direction, on average over 100,000 groups, lies to the true gradient."""
    found = {}
    for name, rule in RULES.items():
        mean = sum(estimate(walks, policy, rule, 2500, np.random.default_rng(i)) for i in range(40))
        found[name] = float((mean * truth).sum() / np.linalg.norm(mean) / np.linalg.norm(truth))
    return found


def deviations(walks: Walks, policy: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """How far one group's estimate is from the true gradient, in lengths of that gradient, for each baseline."""
    found = {}
    for baseline in ("others", "marginal", "none"):
        rule = partial(at.weights, k=K, baseline=baseline)
        off = [estimate(walks, policy, rule, 1, np.random.default_rng(i)) - truth for i in range(4000)]
        found[baseline] = float(np.sqrt(np.mean([(x**2).sum() for x in off])) / np.linalg.norm(truth))
    return found


def main() -> None:
    """Train with every rule and seed, print what was reached, and keep the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    every = max(options.steps // 40, 1)
    mdp = mk.instances.windy_cliff(**CLIFF)
    walks, curves = Walks(mdp), {}
    for name, rule in RULES.items():
        runs = [train(walks, rule, seed, options.steps, every) for seed in range(options.seeds)]
        curves[name] = [curve for curve, _ in runs]
        print(show(name, curves[name]), flush=True)
    table = mk.compare(mdp, K)
    names = {"mean-optimal, repeated": "mean", "one policy, sampled k times": "one policy", "adaptive": "plan"}
    marks = {short: table[name].lower for name, short in names.items()}
    print("mk.compare:", ", ".join(f"{name} {value:.4f}" for name, value in marks.items()))
    logits = train(walks, RULES["max@4"], 0, options.steps // 10, every)[1]
    policy = softmax(logits)
    truth = walks.gradient(policy)
    turned, off = cosines(walks, policy, truth), deviations(walks, policy, truth)
    print(f"after {options.steps // 10} steps for max@4, against the true gradient of max@4:")
    print("cosine of the mean direction:", ", ".join(f"{name} {x:.3f}" for name, x in turned.items()))
    print("deviation of one group:", ", ".join(f"{name} {x:.1f}" for name, x in off.items()))
    unit, value = f"steps of {GROUPS} groups of {SAMPLES} walks", f"expected best of {K} walks"
    keep("reinforce_cliff", curves, marks, every, unit, value, low=-14.0, cosines=turned, deviations=off)


if __name__ == "__main__":
    main()
