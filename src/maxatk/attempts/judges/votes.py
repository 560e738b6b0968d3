"""majority@k of one task: the true score of the answer that most of ``k`` attempts give, exactly.

Ties are broken at random, blank answers cast no vote, and if nobody votes the result scores a default. Let each attempt
be drawn on its own with chance ``p``: given that ``k`` are drawn, they are a random set of ``k``. So with ``b_a`` the
binomial law of the votes of answer ``a``, the chance that ``r`` answers lead with ``t`` votes each is the coefficient
of ``x^k z^r`` in

    ``D(x) prod_a (sum_{u < t} b_a(u) x^u + z b_a(t) x^t)``,

over that of ``x^k`` in the binomial law of all attempts; ``D`` is the law of the blank ones. Beside it goes the same
sum weighted by the total truth of the leaders, which is divided by ``r``. Answers with fewer than ``t`` attempts are
never among the leaders, and join ``D``: so all ``t`` together take as many products as there are attempts. No term is
negative, so nothing cancels. docs/theory/judges.md has the proof.
"""

from collections.abc import Sequence

import numpy as np

from maxatk.attempts.logs.judged import BLANK
from maxatk.base.types import Floats, Ints

TINY = 1e-200  # a chance that is still far above the smallest float


def majority_of_tasks(truth: Floats, answer: Ints, ks: Sequence[int], default_score: float) -> Floats:
    """majority@k [T, len(ks)] of tasks with as many attempts each [T, n]; tasks with one tally are computed once."""
    known: dict[bytes, Floats] = {}
    values = np.empty((len(truth), len(ks)))
    for place, (scores, answers) in enumerate(zip(truth, answer, strict=True)):
        tally = _Tally.of(scores, answers, default_score)
        if tally.key not in known:
            known[tally.key] = tally.curve(ks)
        values[place] = known[tally.key]
    return values


def majority_of(truth: Floats, answer: Ints, ks: Sequence[int], default_score: float) -> Floats:
    """majority@k [len(ks)] of one task, from the truth and the answer of its attempts [n]; every k is at most n."""
    return _Tally.of(truth, answer, default_score).curve(ks)


class _Tally:
    """Votes of one task: how many attempts give each answer [A], how many are blank, and the truth of each [A + 1],
    that of nobody's vote last.
    """

    def __init__(self, counts: Ints, blank: int, truth: Floats) -> None:
        order = np.lexsort((truth[:-1], -counts))  # tallies that differ in the names of answers alone are equal
        self.counts, self.blank, self.truth, self.default = counts[order], blank, truth[:-1][order], float(truth[-1])
        self.n = int(counts.sum()) + blank

    @classmethod
    def of(cls, truth: Floats, answer: Ints, default_score: float) -> "_Tally":
        """The tally of one task, from the truth and the answer of its attempts [n]."""
        voters = answer != BLANK
        _, number = np.unique(answer[voters], return_inverse=True)
        counts = np.bincount(number)
        means = np.bincount(number, truth[voters]) / np.maximum(counts, 1) if counts.size else np.zeros(0)
        return cls(counts, len(answer) - int(voters.sum()), np.append(means, default_score))

    @property
    def key(self) -> bytes:
        """Equal for tallies of as many attempts that have the same curve."""
        return self.counts.tobytes() + self.truth.tobytes()

    def curve(self, ks: Sequence[int]) -> Floats:
        """majority@k [len(ks)]."""
        left, values = sorted(set(ks)), dict[int, float]()
        while left:  # all k whose chance is no underflow at the p of the largest are done at once
            values |= self.values(left)
            left = [k for k in left if k not in values]
        means = np.append(self.truth, self.default)
        return np.clip(np.array([values[k] for k in ks]), means.min(), means.max())

    def values(self, ks: Sequence[int]) -> dict[int, float]:
        """majority@k for the greatest of some ``k``, and for those whose chance is not tiny beside it."""
        most = max(ks)
        if most == self.n:
            return {most: self._of_all()}
        p = most / self.n
        whole = binomial(self.n, p, most)
        done = [k for k in ks if whole[k] > TINY]
        total = self.default * binomial(self.blank, p, most) * float((1 - p) ** (self.n - self.blank))
        for t in range(1, min(most, int(self.counts.max(initial=0))) + 1):
            total = total + self._led_with(t, p, most)
        return {k: float(total[k] / whole[k]) for k in done}

    def _of_all(self) -> float:
        """The score if all attempts vote."""
        if not self.counts.size:
            return self.default
        return float(self.truth[self.counts == self.counts.max()].mean())

    def _led_with(self, t: int, p: float, most: int) -> Floats:
        """The truth of what leads with ``t`` votes times the chance of that, by the number of attempts [most + 1]."""
        able = int((self.counts >= t).sum())  # the answers come with the most common first
        ties = min(able, most // t)
        # [most + 1, 2, ties + 1] by attempts and number of leaders: the chance, and that times the leaders' total truth
        state = np.zeros((most + 1, 2, 1))
        state[:, 0, 0] = binomial(self.blank + int(self.counts[able:].sum()), p, most)
        for count, truth in zip(self.counts[:able].tolist(), self.truth[:able].tolist(), strict=True):
            votes, leaders = binomial(count, p, t), min(state.shape[2], ties)  # at most so many before this answer
            after = np.zeros((most + 1, 2, leaders + 1))
            after[:, :, : state.shape[2]] = convolved(votes[:t], state)
            led = votes[t] * state[: most + 1 - t, :, :leaders]
            led[:, 1] += truth * led[:, 0]
            after[t:, :, 1:] += led
            state = after
        return state[:, 1, 1:] @ (1 / np.arange(1, ties + 1))


def convolved(votes: Floats, state: Floats) -> Floats:
    """``sum_u votes[u] state[x - u]`` for every x, along the first axis."""
    size = len(state)
    after = votes[0] * state
    if len(votes) < 8:
        for u in range(1, min(len(votes), size)):
            after[u:] += votes[u] * state[:-u]
        return after
    padded = np.concatenate([votes[:size], np.zeros(max(size - len(votes), 0) + size)])
    shift = np.arange(size)[:, None] - np.arange(size)[None, :]  # a Toeplitz matrix; negative shifts fall on zeros
    return (padded[shift] @ state.reshape(size, -1)).reshape(state.shape)


def binomial(n: int, p: float, most: int) -> Floats:
    """The chances of 0, ..., ``most`` successes [most + 1] in ``n`` trials; 0 < p < 1."""
    u = np.arange(min(n, most))
    logs = np.concatenate([[n * np.log1p(-p)], np.log((n - u) / (u + 1)) + np.log(p) - np.log1p(-p)])
    return np.concatenate([np.exp(np.cumsum(logs)), np.zeros(max(most - n, 0))])
