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

The state has the votes of answers that do not lead, and the number of leaders. Where chances are negligible it is cut:
as all further factors sum to at most 1, a chance ``m`` that is dropped changes the result by at most ``m`` of the range
of truths, over the chance of ``k`` attempts. For each ``t`` there are at most three cuts, and three per answer with
``t`` attempts or more; all together may change the result by ``vote_allowance`` of the range.
"""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from maxatk.attempts.logs.judged import BLANK
from maxatk.attempts.tuning import TUNING
from maxatk.base.types import Floats, Ints

AS_LIKELY = 1e-6  # several k are done at once if their chances are at least this beside that of the likeliest
CELLS = 2**22  # votes by leaders, of the states of tasks that are done at once: more of them have wider states


def majority_of_tasks(truth: Floats, answer: Ints, ks: Sequence[int], default_score: float) -> Floats:
    """majority@k [T, len(ks)] of tasks with as many attempts each [T, n]; tasks with one tally are computed once."""
    known: dict[bytes, int] = {}
    tallies: list[_Tally] = []
    place = np.empty(len(truth), np.int64)
    for task, (scores, answers) in enumerate(zip(truth, answer, strict=True)):
        tally = _Tally(scores, answers, default_score)
        place[task] = known.setdefault(tally.key, len(tallies))
        if place[task] == len(tallies):
            tallies.append(tally)
    order = sorted(range(len(tallies)), key=lambda i: tallies[i].counts.tolist(), reverse=True)  # alike ones together
    values = np.empty((len(tallies), len(ks)))
    most = max(1, CELLS // truth.shape[1] ** 2)
    for start in range(0, len(order), most):
        some = order[start : start + most]
        values[some] = _Tallies([tallies[i] for i in some], truth.shape[1], default_score).curves(ks)
    return values[place]


def majority_of(truth: Floats, answer: Ints, ks: Sequence[int], default_score: float) -> Floats:
    """majority@k [len(ks)] of one task, from the truth and the answer of its attempts [n]; every k is at most n."""
    return majority_of_tasks(truth[None], answer[None], ks, default_score)[0]


class _Tally:
    """Votes of one task: how many attempts give each answer [A], the most common first, and the mean truth of each.

    Answers that are as common have the same chances: so each counts with the mean truth of all of these.
    """

    def __init__(self, truth: Floats, answer: Ints, default_score: float) -> None:
        voters = answer != BLANK
        _, number = np.unique(answer[voters], return_inverse=True)
        counts = np.bincount(number)
        means = np.bincount(number, truth[voters]) / np.maximum(counts, 1) if counts.size else np.zeros(0)
        order = np.lexsort((means, -counts))
        self.counts: Ints = counts[order]
        new = np.flatnonzero(np.diff(self.counts, prepend=-1))
        sizes = np.diff(np.append(new, len(order)))
        self.truth: Floats = np.repeat(np.add.reduceat(means[order], new) / sizes, sizes) if order.size else means
        ends = np.append(means, default_score)
        self.low, self.high = float(ends.min()), float(ends.max())

    @property
    def key(self) -> bytes:
        """Equal for tallies of as many attempts that have the same curve."""
        return self.counts.tobytes() + self.truth.tobytes() + np.array([self.low, self.high]).tobytes()


class _Tallies:
    """Tallies of tasks with ``n`` attempts each, side by side; truths are scaled to the range from 0 to 1."""

    def __init__(self, tallies: Sequence[_Tally], n: int, default_score: float) -> None:
        self.n, self.size = n, len(tallies)
        answers = max(len(tally.counts) for tally in tallies)
        self.counts, self.truth = np.zeros((self.size, answers), np.int64), np.zeros((self.size, answers))
        self.low, self.high = np.array([[tally.low, tally.high] for tally in tallies]).T
        self.span = np.where(self.high > self.low, self.high - self.low, 1.0)
        for place, tally in enumerate(tallies):
            self.counts[place, : len(tally.counts)] = tally.counts
            self.truth[place, : len(tally.counts)] = (tally.truth - self.low[place]) / self.span[place]
        self.default = (default_score - self.low) / self.span
        self.blank = n - self.counts.sum(axis=1)

    def curves(self, ks: Sequence[int]) -> Floats:
        """majority@k [T, len(ks)]."""
        left, values = sorted(set(ks)), dict[int, Floats]()
        while left:
            values |= self._values(left)
            left = [k for k in left if k not in values]
        scaled = np.stack([values[k] for k in ks], axis=1).clip(0.0, 1.0)
        return (self.low[:, None] + self.span[:, None] * scaled).clip(self.low[:, None], self.high[:, None])

    def _values(self, ks: Sequence[int]) -> dict[int, Floats]:
        """majority@k [T] for the greatest of some ``k``, and for those that are about as likely at its odds."""
        if ks[-1] == self.n:
            return {self.n: self._of_all()}
        law = _Law(ks[-1] / (self.n - ks[-1]), ks[-1])
        whole = law.of(self.n)
        done = [k for k in ks if whole[k] >= AS_LIKELY * whole.max()]
        products = int(self.counts.max(axis=0).sum())
        cut = TUNING.vote_allowance * min(whole[k] for k in done) / (6 * products + 1)
        total = self.default * np.stack([law.of(m)[done] for m in self.blank.tolist()], axis=1)
        total = total * np.array([law.of(m)[0] for m in (self.n - self.blank).tolist()])  # [len(done), T]
        top = self.counts.max(axis=1, initial=0)
        first = min((law.least(count, cut) for count in top.tolist()), default=0)
        for t in range(max(first, 1), min(ks[-1], int(top.max())) + 1):
            total += self._led_with(t, law, done, cut)
        return {k: total[place] / whole[k] for place, k in enumerate(done)}

    def _of_all(self) -> Floats:
        """The score [T] if all attempts vote."""
        leads = (self.counts == self.counts.max(axis=1, keepdims=True, initial=0)) & (self.counts > 0)
        leaders = leads.sum(axis=1)
        means: Floats = (leads * self.truth).sum(axis=1) / np.maximum(leaders, 1)
        return np.where(leaders > 0, means, self.default)

    def _led_with(self, t: int, law: "_Law", ks: Sequence[int], cut: float) -> Floats:
        """The truth of what leads with ``t`` votes times the chance of that and of ``k`` attempts [len(ks), T]."""
        total = np.zeros((len(ks), self.size))
        able = self.counts >= t
        able[able] = [law.at_least(count, t) > cut for count in self.counts[able].tolist()]
        here = np.flatnonzero(able[:, 0])  # the answers come with the most common first
        if not here.size:
            return total
        able, ties = able[here], ks[-1] // t
        others = self.blank[here] + np.where(able, 0, self.counts[here]).sum(axis=1)
        # [votes, T, 2, leaders + 1] by votes of others and number of leaders: the chance, and that times their truths
        state, base = np.zeros((ks[-1] - t + 1, here.size, 2, 1)), 0
        state[:, :, 0, 0] = np.stack([law.of(m)[: len(state)] for m in others.tolist()], axis=1)
        state, base = _trimmed(state, base, cut)
        last = able.sum(axis=1) - 1  # [T] the answer that is joined last, when only sums are needed
        for answer in range(int(last.max()) + 1):
            if not state.size:
                break
            is_last, on = last == answer, last > answer
            if is_last.any():
                votes = np.stack([law.of(count)[: t + 1] for count in self.counts[here[is_last], answer].tolist()])
                joined = _last_joined(state[:, is_last], base, votes, self.truth[here[is_last], answer], ks)
                total[:, here[is_last]] += joined
            here, last, state = here[on], last[on], state[:, on]
            if here.size:
                counts, truth = self.counts[here, answer], self.truth[here, answer]
                state, base = _joined(state, base, counts, truth, law, t, ties, ks[-1] - t, cut)
        return total


def _last_joined(state: Floats, base: int, votes: Floats, truth: Floats, ks: Sequence[int]) -> Floats:
    """What leads with ``t`` votes, its truth times the chance [len(ks), T], with the last answer of each task, from the
    chances ``votes`` [T, t + 1] of that answer's votes.
    """
    size, leaders, t = len(state), state.shape[3], votes.shape[1] - 1
    total = np.zeros((len(ks), state.shape[1]))
    for place, k in enumerate(ks):
        for ties in range(1, leaders + 1):
            row = k - t * ties - base  # the votes of those that do not lead, from the first row on
            if row < 0:
                break
            low, high = max(row - t + 1, 0), min(row + 1, size)
            if ties < leaders and low < high:
                fewer = votes[:, row - high + 1 : row - low + 1][:, ::-1]
                total[place] += np.einsum("yt,ty->t", state[low:high, :, 1, ties], fewer) / ties
            if row < size:
                led = state[row, :, 1, ties - 1] + truth * state[row, :, 0, ties - 1]
                total[place] += votes[:, t] * led / ties
    return total


def _joined(
    state: Floats, base: int, counts: Ints, truth: Floats, law: "_Law", t: int, ties: int, last: int, cut: float
) -> tuple[Floats, int]:
    """The state with one more answer of each task, given by ``counts`` [T] attempts."""
    size, leaders = min(len(state) + t - 1, last - base + 1), state.shape[3]
    after = np.zeros((size, state.shape[1], 2, min(leaders, ties) + 1))
    for count in set(counts.tolist()):
        some = np.flatnonzero(counts == count)
        before, votes = state[:, some], law.of(count)
        after[:, some, :, :leaders] = convolved(votes[:t], before, size)
        led = votes[t] * before[..., : after.shape[3] - 1]
        led[:, :, 1] += truth[some, None] * led[:, :, 0]
        after[: len(led), some, :, 1:] += led
    return _trimmed(after, base, cut)


def _trimmed(state: Floats, base: int, cut: float) -> tuple[Floats, int]:
    """The state without ends whose chance is at most ``cut`` in every task; ``base`` is the number of its first row."""
    rows, leaders = state[:, :, 0].sum(axis=2), state[:, :, 0].sum(axis=0)
    low = int((np.cumsum(rows, axis=0).max(axis=1) <= cut).sum())
    high = len(rows) - int((np.cumsum(rows[::-1], axis=0).max(axis=1) <= cut).sum())
    most = leaders.shape[1] - int((np.cumsum(leaders[:, ::-1], axis=1).max(axis=0) <= cut).sum())
    return state[low : max(high, low), :, :, : max(most, 1)], base + low


def convolved(votes: Floats, state: Floats, size: int) -> Floats:
    """``sum_u votes[u] state[x - u]`` for x below ``size``, along the first axis."""
    pad = np.zeros(max(len(state) - 1, 0))
    ahead = np.zeros(max(size - len(votes), 0))
    rows = sliding_window_view(np.concatenate([pad, votes, ahead]), len(state))[:size, ::-1]  # a Toeplitz matrix
    return (rows @ state.reshape(len(state), -1)).reshape(size, *state.shape[1:])


class _Law:
    """Binomial laws of the votes of ``m`` attempts, each drawn with the same odds, up to ``most`` votes."""

    def __init__(self, odds: float, most: int) -> None:
        self.odds, self.most = odds, most
        self._known: dict[int, tuple[Floats, Floats, Floats]] = {}

    def of(self, m: int) -> Floats:
        """The chances of 0, ..., ``most`` votes [most + 1]."""
        return self._laws(m)[0]

    def least(self, m: int, cut: float) -> int:
        """The first number of votes such that as many or fewer have a chance above ``cut``."""
        return int((self._laws(m)[1] <= cut).sum())

    def at_least(self, m: int, t: int) -> float:
        """The chance of ``t`` votes or more, up to ``most``."""
        return float(self._laws(m)[2][t])

    def _laws(self, m: int) -> tuple[Floats, Floats, Floats]:
        if m not in self._known:
            law = binomial(m, self.odds, self.most)
            self._known[m] = law, np.cumsum(law), np.cumsum(law[::-1])[::-1]
        return self._known[m]


def binomial(n: int, odds: float, most: int) -> Floats:
    """The chances of 0, ..., ``most`` successes [most + 1] in ``n`` trials, by ratios from the likeliest number on."""
    mode = min(int((n + 1) * odds / (1 + odds)), n)
    up, down = np.arange(mode, n), np.arange(mode, 0, -1)
    rising, falling = np.cumprod((n - up) / (up + 1) * odds), np.cumprod(down / (n - down + 1) / odds)
    law = np.concatenate([falling[::-1], [1.0], rising])
    return np.concatenate([law[: most + 1] / law.sum(), np.zeros(max(most - n, 0))])
