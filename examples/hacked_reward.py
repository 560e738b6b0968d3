"""A reward that can be hacked: a tiny model is trained by max@k of a proxy, and the truth on held-out prompts turns.

Each prompt has three kinds of responses: weak, good, and a hack, which a proxy likes more than it is worth. At first
training moves from weak to good responses, and the truth rises with the proxy. Then it finds the hack. The proxy's own
max@k rises all the time, and so shows nothing; selected@k, the truth of the proxy's pick, shows when to stop.

    python examples/hacked_reward.py
"""

import numpy as np

from maxatk import attempts as at

TRUTH, PROXY = np.array([0.2, 0.8, 0.1]), np.array([0.2, 0.8, 1.1])  # of weak, good and hacked responses, on average


def responses(logits, shape, rng):
    """Kinds of responses, their truth and what the proxy gives them."""
    chances = np.exp(logits) / np.exp(logits).sum()
    kind = rng.choice(3, shape, p=chances)
    truth = (rng.random(shape) < TRUTH[kind]).astype(float)
    return kind, truth, PROXY[kind] + 0.1 * rng.normal(size=shape)


def train(steps=280, k=4, n=16, prompts=64, rate=1.0, every=40, judge=False, seed=0):
    """Rows of (step, max@k of the proxy, selected@k: the truth of its pick) on held-out prompts.

    With ``judge`` the weights are those of the truth of the proxy's pick, which needs the truth of training prompts.
    """
    rng = np.random.default_rng(seed)
    logits, rows = np.array([1.0, 0.0, -4.0]), []
    for step in range(steps + 1):
        if step % every == 0:
            _, truth, proxy = responses(logits, (400, n), rng)
            records = [
                {"task": t, "score": s, "rm": j}
                for t in range(len(truth))
                for s, j in zip(truth[t], proxy[t], strict=True)
            ]
            log = at.Log.from_records(records, judge="rm", score_range=(0, 1))
            best = float(np.mean([at.max_at_k(row, k) for row in proxy]))
            rows.append((step, best, log.selected_at_k(k)))
        kind, truth, proxy = responses(logits, (prompts, n), rng)
        weights = at.weights(truth, k, judge=proxy) if judge else at.weights(proxy, k)
        chances = np.exp(logits) / np.exp(logits).sum()
        gradient = (weights[..., None] * (np.eye(3)[kind] - chances)).sum(axis=1).mean(axis=0)
        logits = logits + rate * gradient
    return rows


def main():
    """Print both runs."""
    for judge in (False, True):
        print("trained for", "the truth of the proxy's pick" if judge else "max@4 of the proxy")
        print(" step  proxy  truth of its pick")
        for step, proxy, truth in train(judge=judge):
            print(f"{step:5}  {proxy:.3f}  {truth.value:.3f} [{truth.lower:.3f}, {truth.upper:.3f}]")


if __name__ == "__main__":
    main()
