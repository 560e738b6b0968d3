"""Extreme bandits beside plans and beside learning by playing, on problems of one step whose optimum is known.

    python benchmarks/extreme.py [--quick] [one] [many]

An extreme bandit (a max-K-armed bandit) draws from arms that it does not know and is scored by its greatest sample. It
looks for the one arm whose greatest sample would be the greatest; the plans of this library, which know the arms, also
change arms with the best sample so far. Two tables. ``one``: a single trial of K samples that begins without any
knowledge. ``many``: trials of K samples one after the other, in which everybody keeps what was learned; losses by the
number of samples. A *loss* is what the plan's optimum is above the mean best sample of a trial.

The algorithms are written from their papers, with the settings that their docstrings name:
ThresholdAscent (Streeter and Smith, 2006), ExtremeHunter (Carpentier and Valko, 2014), ExtremeETC (Achab, Clemencon,
Garivier, Sabourin and Vernade, 2017), Max-Median (Bhatt, Li and Samorodnitsky, 2022), QoMax-ETC and QoMax-SDA (Baudry,
Russac and Kaufmann, 2022). All runs of an algorithm go side by side: arrays are [runs, arms, values].
"""

import argparse
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gamma

import maxatk as mk
from common import report
from maxatk.learning.online.online import play
from online import begun

Array = Any


@dataclass(frozen=True)
class Arms:
    """Arms with finitely many rewards, on the values that any of them has."""

    mdp: mk.MDP
    values: Array  # [V] rising
    chance: Array  # [A, V]

    @classmethod
    def of(cls, mdp: mk.MDP) -> "Arms":
        """The arms of a problem of one state and one step."""
        rows = [mdp.outcomes(0, 0, a) for a in mdp.actions(0, 0)]
        values = np.unique([reward for row in rows for _, _, reward in row])
        chance = np.zeros((len(rows), len(values)))
        for a, row in enumerate(rows):
            for prob, _, reward in row:
                chance[a, np.searchsorted(values, reward)] += prob
        return cls(mdp, values, chance)

    def draw(self, arm: Array, rng: np.random.Generator) -> Array:
        """The place among the values of a sample of each arm [R]."""
        below = np.minimum(np.cumsum(self.chance, axis=1), 1.0)
        below[:, -1] = 1.0
        return (rng.random(len(arm))[:, None] >= below[arm]).sum(axis=1)

    def repeated(self, k: int) -> float:
        """The mean best of ``k`` samples of one arm, of the arm where it is the greatest."""
        below = np.cumsum(self.chance, axis=1) ** k
        return float((np.diff(below, axis=1, prepend=0.0) @ self.values).max())


class Bandit(ABC):
    """What all algorithms know: how often each arm gave each value. Subclasses choose.

    Args:
        arms: the arms, of which only samples and the list of values are looked at.
        n: the number of samples whose greatest counts.
        runs: how many runs go side by side.
        rng: breaks ties.
    """

    def __init__(self, arms: Arms, n: int, runs: int, rng: np.random.Generator) -> None:
        self.values, self.n, self.rng = arms.values, n, rng
        self.counts = np.zeros((runs, *arms.chance.shape), np.int64)  # [R, A, V]
        self.t = 0  # samples so far

    @property
    def pulls(self) -> Array:
        """Samples of each arm [R, A]."""
        return self.counts.sum(axis=2)

    @abstractmethod
    def choose(self) -> Array:
        """The arm [R] to sample next."""

    def tell(self, arm: Array, place: Array) -> None:
        """What the samples were."""
        self.counts[np.arange(len(arm)), arm, place] += 1
        self.t += 1

    def greatest(self, index: Array) -> Array:
        """The arm with the greatest index [R, A], ties at random."""
        noise = self.rng.random(index.shape)
        ties = index >= index.max(axis=1, keepdims=True)
        return np.where(ties, noise, -1.0).argmax(axis=1)

    def from_top(self) -> Array:
        """How many samples of each arm have at least each value [R, A, V]."""
        return self.counts[..., ::-1].cumsum(axis=2)[..., ::-1]

    def ranked(self, rank: Array) -> Array:
        """The value of each arm's sample of some rank from the top [R, A], 1 for the greatest."""
        place = (self.from_top() >= rank[..., None]).sum(axis=2) - 1
        return self.values[np.maximum(place, 0)]


class Uniform(Bandit):
    """Every arm in turn."""

    def choose(self) -> Array:
        """The next one."""
        return np.full(len(self.counts), self.t % self.counts.shape[1])


class ThresholdAscent(Bandit):
    """The arm with the highest upper bound on its chance to reach the ``s``-th greatest sample of all.

    With s = 100, or a tenth of all samples if these are fewer than 1000, and delta = 0.1.
    """

    def choose(self) -> Array:
        """By Chernoff's bound."""
        s = min(100, max(self.n // 10, 1))
        top = self.from_top()
        place = np.maximum((top.sum(axis=1) >= s).sum(axis=1) - 1, 0)  # of the s-th greatest of all
        reached = np.take_along_axis(top, place[:, None, None], axis=2)[..., 0]
        pulls = self.pulls
        alpha, share = math.log(2 * self.n * pulls.shape[1] / 0.1), reached / np.maximum(pulls, 1)
        bound = share + (alpha + np.sqrt(2 * reached * alpha + alpha**2)) / np.maximum(pulls, 1)
        return self.greatest(np.where(pulls == 0, np.inf, bound))


class ExtremeHunter(Bandit):
    """The arm with the highest upper bound on the mean greatest of ``n`` samples, if tails are nearly those of Pareto.

    With b = 1, D = E = 1e-4 and delta = 0.1; each arm is first sampled (log n)^2 times, since the paper's (log n)^3
    would take up all samples here. Rewards are scaled so that the least positive one is 1.
    """

    def choose(self) -> Array:
        """By the index, once there are samples to fit tails to."""
        if self.t < self.counts.shape[1] * math.log(self.n) ** 2:
            return np.full(len(self.counts), self.t % self.counts.shape[1])
        return self.greatest(self.index())

    def index(self) -> Array:
        """The upper bounds [R, A]."""
        scaled = np.log(np.maximum(self.values / self.values[self.values > 0].min(), 1.0))
        pulls, top = self.pulls, self.from_top()
        s = np.maximum((self.n ** (-1 / 3) * pulls).astype(int), 1)
        place = np.maximum((top >= s[..., None]).sum(axis=2) - 1, 0)
        above = np.append(top[..., 1:], np.zeros((*pulls.shape, 1), int), axis=2)
        fitted = np.clip(s[..., None] - above, 0, self.counts)  # which samples are among the s greatest
        tail = (fitted * scaled).sum(axis=2) / s - scaled[place]
        reach = (self.counts * (scaled >= tail[..., None] / 3 * np.log(pulls)[..., None])).sum(axis=2) / pulls
        scale = pulls ** (1 / 3) * reach
        tail = tail + 1e-4 * math.sqrt(math.log(10)) * pulls ** (-1 / 3)
        scale = scale + 1e-4 * np.sqrt(np.log(10 * pulls)) * np.log(pulls) * pulls ** (-1 / 3)
        below = np.minimum(tail, 0.999)
        return np.where(tail >= 1, np.inf, (scale * self.n) ** below * gamma(1 - below))


class ExtremeETC(ExtremeHunter):
    """The index of ExtremeHunter after the first samples; then that arm for ever."""

    chosen: Array | None = None

    def choose(self) -> Array:
        """The arm that was chosen, once one is."""
        if self.chosen is not None:
            return self.chosen
        arm = super().choose()
        if self.t >= self.counts.shape[1] * math.log(self.n) ** 2:
            self.chosen = arm
        return arm


class MaxMedian(Bandit):
    """The arm whose sample of the same relative rank is the greatest; at random with chance ``1 / t``."""

    def choose(self) -> Array:
        """By ranks from the top."""
        arms, pulls = self.counts.shape[1], self.pulls
        if self.t < arms:
            return np.full(len(pulls), self.t)
        arm = self.greatest(self.ranked(-(-pulls // pulls.min(axis=1, keepdims=True))))
        explores = self.rng.random(len(arm)) < 1 / self.t
        return np.where(explores, self.rng.integers(arms, size=len(arm)), arm)


class QoMaxETC(Bandit):
    """The arm with the greatest median of the maxima of batches; then that arm for ever.

    With (log n)^2 batches of log n samples each; where these are more than half of all samples, as many batches as
    there is room for.
    """

    def __init__(self, arms: Arms, n: int, runs: int, rng: np.random.Generator) -> None:
        super().__init__(arms, n, runs, rng)
        self.size = max(math.ceil(math.log(n)), 1)
        room = n // 2 // (len(arms.chance) * self.size)
        self.batches = max(min(math.ceil(math.log(n) ** 2), room), 1)
        self.best = np.full((runs, len(arms.chance), self.batches), -np.inf)
        self.chosen: Array | None = None

    def choose(self) -> Array:
        """Every arm in turn at first."""
        if self.chosen is None and self.t == self.counts.shape[1] * self.size * self.batches:
            self.chosen = self.greatest(np.median(self.best, axis=2))
        return np.full(len(self.counts), self.t % self.counts.shape[1]) if self.chosen is None else self.chosen

    def tell(self, arm: Array, place: Array) -> None:
        """Maxima of batches, while there are any to fill."""
        if self.chosen is None:
            batch, runs = self.t // self.counts.shape[1] // self.size, np.arange(len(arm))
            self.best[runs, arm, batch] = np.maximum(self.best[runs, arm, batch], self.values[place])
        super().tell(arm, place)


class QoMaxSDA(Bandit):
    """Duels of arms: the leader's median of maxima, on its last samples, against that of each challenger.

    With q = 1/2, log(r) samples of each batch at least in round r, and (log m)^2 batches for m samples of each.
    """

    def __init__(self, arms: Arms, n: int, runs: int, rng: np.random.Generator) -> None:
        super().__init__(arms, n, runs, rng)
        self.one = [_Duels(len(arms.chance), rng) for _ in range(runs)]

    def choose(self) -> Array:
        """What each run has still to sample."""
        return np.array([one.next() for one in self.one])

    def tell(self, arm: Array, place: Array) -> None:
        """To each run."""
        super().tell(arm, place)
        for one, value in zip(self.one, self.values[place].tolist(), strict=True):
            one.tell(value)


class _Duels:
    """One run of QoMax-SDA."""

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        self.data = [np.zeros((1, 0)) for _ in range(arms)]  # [batches, samples of each] of each arm
        self.rng, self.round = rng, 0
        self.wanted: list[tuple[int, tuple[int, int]]] = []  # arms and the shape that their data are to have
        self.told: list[float] = []

    def next(self) -> int:
        """The arm to sample."""
        while not self.wanted:
            self._begin_round()
        return self.wanted[0][0]

    def tell(self, value: float) -> None:
        """A sample: once an arm has all that it wants, they are laid out in batches."""
        arm, (batches, size) = self.wanted[0]
        self.told.append(value)
        held = self.data[arm]
        if len(self.told) < batches * size - held.size:
            return
        grown, fresh = np.zeros((batches, size)), np.array(self.told)
        rows, columns = held.shape
        grown[:rows, :columns] = held
        grown[:rows, columns:] = fresh[: rows * (size - columns)].reshape(rows, -1)
        grown[rows:] = fresh[rows * (size - columns) :].reshape(batches - rows, size)
        self.data[arm] = grown
        self.wanted.pop(0)
        self.told = []

    def _begin_round(self) -> None:
        self.round += 1
        sizes = [held.shape[1] for held in self.data]
        medians = [float(np.median(held.max(axis=1))) if held.size else math.inf for held in self.data]
        leader = max(range(len(sizes)), key=lambda arm: (sizes[arm], medians[arm], self.rng.random()))
        least = math.log(self.round)
        winners = [arm for arm in range(len(sizes)) if arm != leader and self._wins(arm, leader, medians[arm], least)]
        if sizes[leader] <= least or not winners:
            winners.append(leader)
        for arm in winners:
            size = sizes[arm] + 1
            batches = max(len(self.data[arm]), math.ceil(math.log(size) ** 2), 1)
            self.wanted.append((arm, (batches, size)))

    def _wins(self, arm: int, leader: int, median: float, least: float) -> bool:
        size, batches = self.data[arm].shape[1], len(self.data[arm])
        if size <= least:
            return True
        return float(np.median(self.data[leader][:batches, -size:].max(axis=1))) <= median


ALGORITHMS: dict[str, type[Bandit]] = {
    "in turn": Uniform,
    "ThresholdAscent": ThresholdAscent,
    "ExtremeHunter": ExtremeHunter,
    "ExtremeETC": ExtremeETC,
    "Max-Median": MaxMedian,
    "QoMax-ETC": QoMaxETC,
    "QoMax-SDA": QoMaxSDA,
}
PROBLEMS: dict[str, Callable[[int], mk.MDP]] = {
    "lotteries": lambda k: mk.instances.lotteries(n_arms=6, rng=1),
    "heavy tails": lambda k: mk.instances.heavy_tails(n_arms=4, atoms=200, rng=1),
    "safe or jackpot": lambda k: mk.instances.adaptivity_gap(k, jackpot=10),
}


def bests(kind: type[Bandit], arms: Arms, k: int, trials: int, runs: int, seed: int) -> Array:
    """The greatest sample of each trial of ``k`` [R, trials], by an algorithm that keeps what it learned."""
    rng = np.random.default_rng(seed)
    bandit = kind(arms, k, runs, rng)
    best = np.full((runs, trials), -np.inf)
    for t in range(trials * k):
        arm = bandit.choose()
        place = arms.draw(arm, rng)
        bandit.tell(arm, place)
        best[:, t // k] = np.maximum(best[:, t // k], arms.values[place])
    return best


def played(arms: Arms, k: int, trials: int, seeds: int) -> Array:
    """The same by ``mk.Online``, one run after the other."""
    best = np.zeros((seeds, trials))
    for seed in range(seeds):
        run = begun(arms.mdp, k, -math.inf, None, "posterior", seed)
        for _ in range(trials):
            play(run.ledger, run.trial())
        best[seed] = run.ledger.returns
    return best


def optimum_of(arms: Arms, k: int) -> float:
    """What a plan earns that knows the arms, to six digits: no policy earns more."""
    return mk.solve(arms.mdp, k, solver=mk.Certified(tol=1e-6)).upper


def told(optimum: float, best: Array) -> str:
    """A loss with twice its standard error, both over runs."""
    means = best.mean(axis=1)
    error = 2 * means.std(ddof=1) / math.sqrt(len(means))
    return f"{optimum - means.mean():.3g} ± {error:.1g}"


def one(quick: bool) -> None:
    """A single trial without any knowledge."""
    rows: list[dict[str, Any]] = []
    for name, problem in PROBLEMS.items():
        for k in (10, 100) if quick else (10, 100, 1000):
            arms, runs = Arms.of(problem(k)), 50 if quick else 4000 if k < 1000 else 1000
            optimum = optimum_of(arms, k)
            fewer, played_runs = max(runs // 10, 20), 20 if quick else 1000 if k < 1000 else 100
            row: dict[str, Any] = {"problem": name, "K": k, "optimum": optimum}
            row["best arm, repeated"] = f"{optimum - arms.repeated(k):.3g}"
            for i, (word, kind) in enumerate(ALGORITHMS.items()):  # runs of QoMax-SDA go one by one, so they are fewer
                row[word] = told(optimum, bests(kind, arms, k, 1, fewer if kind is QoMaxSDA else runs, 100 * k + i))
            row["Online"] = told(optimum, played(arms, k, 1, played_runs))
            row["runs"] = f"{runs:,}; QoMax-SDA {fewer:,}; Online {played_runs:,}"
            rows.append(row)
            report("extreme_one", "One trial of K samples: the loss to a plan that knows the arms", rows)


def many(quick: bool) -> None:
    """Trials one after the other."""
    rows: list[dict[str, Any]] = []
    for name, problem in PROBLEMS.items():
        for k in (10, 100):
            arms, samples = Arms.of(problem(k)), 10_000 if quick else 100_000
            optimum, trials, runs = optimum_of(arms, k), samples // k, 10 if quick else 100
            ends = [n for n in (1000, 10_000, 100_000) if n <= samples]
            kept = {word: kind for word, kind in ALGORITHMS.items() if kind not in (QoMaxSDA, QoMaxETC, ExtremeETC)}
            taken = {word: bests(kind, arms, k, trials, runs, k + i) for i, (word, kind) in enumerate(kept.items())}
            played_runs = 2 if quick else 8
            taken["Online"] = played(arms, k, trials, played_runs)
            for first, end in zip([0, *ends[:-1]], ends, strict=True):
                row: dict[str, Any] = {"problem": name, "K": k, "samples": f"{first:,} to {end:,}"}
                row["best arm, repeated"] = f"{optimum - arms.repeated(k):.3g}"
                row |= {word: told(optimum, best[:, first // k : end // k]) for word, best in taken.items()}
                row["runs"] = f"{runs}; Online {played_runs}"
                rows.append(row)
            report("extreme_many", "Trials of K samples in a row: the mean loss of a trial", rows)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="one, many; both by default")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    for table in (one, many):
        if not given.tables or table.__name__ in given.tables:
            table(given.quick)


if __name__ == "__main__":
    main()
