"""The inequalities of docs/theory/online.md, each evaluated on small cases."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import maxatk as mk
from lemmas import bernoulli_kl
from maxatk.base.betting import betting_bound, mean_from_below
from maxatk.kernels.uncertain import row_value
from maxatk.learning.grid import STAKES, chord_cost
from maxatk.learning.online.online import play
from maxatk.learning.online.run import OnlineRun
from maxatk.learning.uncertain import ABOVE
from online_runs import begun


def test_the_logarithm_of_lemma_2():
    z = np.concatenate([np.linspace(-50, 1 / 1.1, 100_001), -np.logspace(-8, 6, 1000)])
    assert (-np.log1p(-z) - z <= 1.81 * z**2 + 1e-15).all()
    assert -math.log(1 - 0.93) - 0.93 > 1.81 * 0.93**2  # not beyond 1/1.1 by much


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_width_of_lemma_2(seed):
    """With the stakes of the code, at any place of the values in their range."""
    random = np.random.default_rng(seed)
    for _ in range(4000):
        b = int(random.integers(1, 5))
        p, span = random.dirichlet(np.full(b, random.choice([0.1, 1.0]))), 1.0
        worth = random.uniform(0, 1, b) ** random.choice([0.2, 1, 5])
        top = float(worth.max()) if random.random() < 0.5 else float(random.uniform(worth.max(), 1))
        risk = 10 ** random.uniform(-6, 1)
        bound = row_value(ABOVE, worth, p, b, risk, 0.0, top, 1.0 + span * STAKES)
        mean = float(p @ worth)
        variance = float(p @ (worth - mean) ** 2)
        assert bound <= mean + 3.5 * math.sqrt(variance * risk) + 1.4 * span * risk + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_the_dual_of_a_ball(seed):
    """At the best stake there is a distribution on the edge of the ball whose mean is the bound."""
    random = np.random.default_rng(seed)
    p, V, r = random.dirichlet(np.ones(3)), random.uniform(0, 1, 3), float(random.uniform(0.05, 1))
    top = float(V.max()) + 0.2

    def bound(x):
        return x - math.exp(-r + float(p @ np.log(x - V)))

    x = top + np.concatenate([[0.0], np.logspace(-9, 2, 200_001)])
    best = x[np.argmin(x - np.exp(-r + np.log(x[:, None] - V) @ p))]
    # q puts p e^-r G/(best - V) on what was seen and the rest on the unseen outcome, if that is worth anything.
    weights = p * math.exp(-r + float(p @ np.log(best - V))) / (best - V)
    rest = 1 - weights.sum()
    assert rest >= -1e-6
    assert rest < 1e-4 or best == pytest.approx(top, abs=1e-6)
    assert float(p @ np.log(p / weights)) == pytest.approx(r, abs=1e-6)
    assert float(weights @ V) + rest * top == pytest.approx(bound(best), abs=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_few_trials_are_cut(k):
    """Plans are made when visits have doubled, and after no more than N log2(2KHT) trials."""
    mdp = mk.instances.random_sparse(5, 2, 3, successors=2, rewards=[0, 0.5, 1], rng=1)
    ledger = mk.Online().ledger(mk.TabularEpisodes(mdp), k, np.random.default_rng(0), delta=0.1)
    run = OnlineRun(ledger, "optimism")
    total = 0.0
    for t in range(1, 301):
        trial = run.trial()
        assert (ledger.data.counts <= 2 * np.maximum(ledger.seen, 1) - 1).all()
        before = ledger.data.counts.copy()
        play(ledger, trial)
        uncut = (ledger.data.counts < 2 * np.maximum(ledger.seen, 1)) & (ledger.seen > 0)
        total += float(((ledger.data.counts - before)[uncut] / ledger.seen[uncut]).sum())
        assert ledger.plans <= ledger.known.n_rows * math.log2(2 * k * 3 * t) + 1
        assert total <= 2 * ledger.known.n_rows * math.log(math.e + k * 3 * t)


@pytest.mark.parametrize("seed", range(5))
def test_variances_add_up_to_the_range_squared(seed):
    """Along the optimal policy they are the variance of the best return, whatever K."""
    mdp = mk.instances.random_sparse(4, 2, 3, successors=2, rewards=[0, 0.5, 1], rng=seed)
    least, most = mdp.return_range
    for k in (1, 2, 4):
        law = mk.evaluate(mdp, mk.solve(mdp, k, solver=mk.Exact()).policy).law
        assert float(law.probs @ (law.values - law.mean) ** 2) <= (most - least) ** 2 / 4 + 1e-12


def test_jensen_bounds_a_mixture_of_changing_policies():
    """The bound of all returns is one on the mean of their means, for players that change with what they see."""
    random, failed, log = np.random.default_rng(0), 0, math.log(97 / 0.2)
    for _ in range(100):
        mean, means, returns = 0.5, [], []
        for t in range(200):
            means.append(mean)
            returns.append(float(random.random() < mean))
            mean = 0.8 if returns[-1] and t % 3 else 0.2  # bold after luck
            failed += t in (20, 100, 199) and mean_from_below(np.array(returns), 0.0, 1.0, log) > np.mean(means)
    assert failed <= 20


def test_rounding_raises_the_optimum_and_costs_little():
    """A problem with each reward split between two lattice points is worth more, by no more than is said."""
    H, kappa = 3, 0.25
    table = {0: {a: [(0.5, 0, 0.1 + 0.37 * a, False), (0.5, 0, 0.6 - 0.3 * a, False)] for a in range(2)}}

    def split(p, s, r, over):
        low = math.floor(r / kappa)
        part = r / kappa - low
        return [(p * (1 - part), s, kappa * low, over), (p * part, s, kappa * (low + 1), over)]

    rounded = {0: {a: [one for o in outcomes for one in split(*o)] for a, outcomes in table[0].items()}}
    for k in (1, 2, 3):
        true, coarse = (mk.solve(mk.MDP.from_table(x, horizon=H), k, solver=mk.Exact()).exact for x in (table, rounded))
        assert true <= coarse <= true + kappa * math.sqrt(H * math.log(k) / 2) + 1e-12
    for k, h in itertools.product((2, 3, 5), (1, 2, 4)):  # the worst errors: half a step up or down
        sums = np.array([sum(e) for e in itertools.product((-kappa / 2, kappa / 2), repeat=h)])
        law = mk.Law(*np.unique(sums, return_counts=True))
        below = np.cumsum(law.probs) / len(sums)
        expected = float(np.diff(below**k, prepend=0) @ law.values)
        assert expected <= kappa * chord_cost(k, h) <= kappa * math.sqrt(h * math.log(k) / 2)
        cut = float(np.diff(below**k, prepend=0) @ np.maximum(law.values, 0.0))  # one more, which is 0
        assert cut <= kappa * chord_cost(k + 1, h)


def test_the_numbers_of_the_lower_bound():
    n = np.arange(2, 10_000)
    assert ((n - 1) * math.log(8) - n * math.log(2) >= n * math.log(2) / 2 - 1e-9).all()
    for p in (1 / 96, 1e-3, 1e-6):
        for share in (0.01, 0.1, 0.5, 1.0):
            assert bernoulli_kl(p, p * (1 + share)) <= 1.34 * (p * share) ** 2 / p
    # 1.34 KHT Delta^2 / p >= n ln(2)/2, solved for epsilon; the regret is epsilon T / 8.
    assert math.sqrt(math.log(2) / 2 / (1.34 * 96)) / 8192 / 8 == pytest.approx(7.92e-7, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_what_frequencies_say_of_any_function(seed):
    """Step (a) of Theorem 1, where Bernstein holds for each outcome: also for functions that saw the data."""
    random = np.random.default_rng(seed)
    tight = 0.0
    for _ in range(3000):
        b, rate = int(random.integers(2, 8)), 10 ** random.uniform(-5, 0.5)  # l/n
        p = random.dirichlet(np.full(b, random.choice([0.1, 1.0])))
        most = np.sqrt(2 * p * (1 - p) * rate) + rate / 3
        off = np.clip(random.choice([-1, 1], b) * most, -p, 1 - p)  # as far off as may be, then back to a sum of 0
        up, down = off[off > 0].sum(), -off[off < 0].sum()
        if min(up, down) == 0:
            continue
        off = np.where(off > 0, off * min(1, down / up), off * min(1, up / down))
        seen = p + off
        f = random.uniform(0, 1, b) if random.random() < 0.5 else (off > 0).astype(float)  # the worst one knows
        mean, variance = float(p @ f), float(p @ (f - p @ f) ** 2)
        assert (seen <= 1.5 * p + 4 / 3 * rate + 1e-12).all()
        assert float(seen @ (f - seen @ f) ** 2) <= 1.5 * variance + 4 / 3 * b * rate + 1e-12
        bound = math.sqrt(2 * b * variance * rate) + b * rate
        assert float(seen @ f) - mean <= bound + 1e-12
        tight = max(tight, (float(seen @ f) - mean) / bound)
    assert tight > 0.5  # the claim is not empty


@pytest.mark.parametrize("seed", [0, 1])
def test_plans_are_made_when_counts_double_and_equal_a_direct_computation(seed):
    """Epochs by an observer's own tally; the plan of each, for coins and K = 2, by bets in NumPy; few of them."""
    mdp = mk.instances.figure1(gamma=0.25)
    run = begun(mdp, 2, seed=seed)
    known, trials = run.ledger.known, 400
    tally: list[Counter] = [Counter(), Counter()]
    planned = [0, 0]

    def above(action, best, log, after):
        """A row's bound with the best return in hand, where ``after`` is what a best return is worth afterwards."""
        n = sum(tally[action].values())
        most = after(1.0)
        if not n:
            return most
        value = np.array([after(max(best, r)) for r in tally[action]])
        share = np.array([c / n for c in tally[action].values()])
        mean = float(share @ value)
        far = math.sqrt(float(share @ (value - mean) ** 2) * n / (2 * log[action]))
        wanted = max(most, float(value.max()) + 0.1 * (most - mean), mean + far)
        stakes = np.sort(1 + run.playing.grid.kappa * (run.playing.grid.top - run.playing.grid.first) * STAKES)
        stake = float(stakes[min(np.searchsorted(stakes, wanted), len(stakes) - 1)])
        return min(float(betting_bound(share, value, stake, log[action] / n)), most)

    for _ in range(trials):
        plans = run.ledger.plans
        counts = [sum(t.values()) for t in tally]
        due = any(c >= 2 * max(p, 1) or (c and not p) for c, p in zip(counts, planned, strict=True))
        trial = run.trial()
        assert (run.ledger.plans > plans) == (due or not plans)
        if run.ledger.plans > plans:
            planned = counts
            log = run.playing.belief.risk[:2] * np.maximum(counts, 1)

            def last(m, log=log):
                return max(above(a, m, log, lambda x: x) for a in (0, 1))

            direct = max(above(a, known.least, log, last) for a in (0, 1))
            assert run.playing.value == pytest.approx(direct, abs=1e-12)
        while not trial.finished:
            action = trial.act(0)
            reward = 0.5 if action == 0 else float(run.rng.random() < 0.25)
            tally[action][reward] += 1
            trial.observe(reward, True, 1)
    assert run.ledger.plans <= 2 * (1 + math.log2(2 * 2 * trials)) + 2  # and two grids
