"""Every lemma behind the guarantees of learning: both sides, on random problems and samples."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import lemmas
import maxatk as mk
from maxatk.base.betting import betting_bound, mean_from_above, mean_from_below
from maxatk.kernels.uncertain import betting_value
from maxatk.learning.sample_size import error_bound
from oracles import policy_value

SEEDS = range(30)


def samples(random, size, n, runs):
    """A distribution over ``size`` outcomes, and the shares of ``n`` draws, ``runs`` times."""
    q = random.dirichlet(np.full(size, 4.0))
    return q, random.multinomial(n, q, size=runs) / n


def at_most(count, runs, delta):
    """Whether ``count`` failures in ``runs`` do not refute a probability of at most ``delta`` (four deviations)."""
    return count <= runs * delta + 4 * math.sqrt(runs * delta * (1 - delta))


# Concentration: the share of failures is at most delta. Where a bound can be put to shame, a smaller one is.


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("size", [2, 4])
def test_bernstein(n, size):
    random = np.random.default_rng(n * size)
    q, shares = samples(random, size, n, 4000)
    f = random.random(size)
    variance, span = float(q @ f**2 - (q @ f) ** 2), float(np.ptp(f))
    off = np.abs((shares - q) @ f)
    assert at_most((off > lemmas.bernstein_width(variance, span, n, 0.2)).sum(), 4000, 0.2)
    assert not at_most((off > lemmas.bernstein_width(variance, span, n, 0.2) / 4).sum(), 4000, 0.2)


@pytest.mark.parametrize("delta", [0.2, 0.01, 0.001])
def test_bernstein_for_rare_events(delta):
    """The chance of a failure, counted exactly. Without the term in 1/n it would be too large."""
    worst = 0.0
    for p, n in itertools.product([0.001, 0.02, 0.1, 0.5], [1, 5, 20, 100]):
        off = np.abs(np.arange(n + 1) / n - p)
        chance = stats.binom.pmf(np.arange(n + 1), n, p)
        width = lemmas.bernstein_width(p * (1 - p), 1.0, n, delta)
        assert chance[off > width].sum() <= delta
        worst = max(worst, float(chance[off > math.sqrt(2 * math.log(2 / delta) * p * (1 - p) / n)].sum()))
    assert worst > delta or delta > 0.1


@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.parametrize("size", [2, 5])
def test_l1(n, size):
    q, shares = samples(np.random.default_rng(n * size), size, n, 4000)
    off = np.abs(shares - q).sum(axis=1)
    tight, paper = lemmas.tight_l1_radius(size, n, 0.2), lemmas.l1_radius(size, n, 0.2)
    assert tight <= paper
    assert at_most((off >= tight).sum(), 4000, 0.2)
    assert not at_most((off >= tight / 4).sum(), 4000, 0.2)


@pytest.mark.parametrize("size", [2, 4])
def test_kl_for_all_numbers_of_draws_at_once(size):
    random = np.random.default_rng(size)
    q = samples(random, size, 1, 1)[0]
    draws = random.choice(size, p=q, size=(1000, 60))
    failed = np.zeros(1000, bool)
    failed_smaller = np.zeros(1000, bool)
    for n in range(1, 61):
        share = np.stack([(draws[:, :n] == x).mean(axis=1) for x in range(size)], axis=1)
        kl = np.where(share > 0, share * np.log(np.where(share > 0, share, 1) / q), 0.0).sum(axis=1)
        failed |= kl > lemmas.kl_radius(size, n, 0.2)
        failed_smaller |= kl > lemmas.kl_radius(size, n, 0.2) / 5
    assert at_most(failed.sum(), 1000, 0.2)
    assert not at_most(failed_smaller.sum(), 1000, 0.2)
    assert lemmas.kl_radius(1, 10, 0.5) == math.log(2) / 10  # nothing is free: only the union over delta


@pytest.mark.parametrize("seed", SEEDS)
def test_kl_width_for_every_function(seed):
    """For pairs of distributions at a known divergence, and random functions: no failure at all."""
    random = np.random.default_rng(seed)
    for _ in range(200):
        size = int(random.integers(2, 6))
        p = random.dirichlet(np.ones(size) * random.choice([0.2, 1, 5]))
        q = random.dirichlet(np.ones(size) * random.choice([0.2, 1, 5]))
        weight = random.uniform(0.05, 1) ** 3  # far enough for the divergence to be more than rounding
        q = (1 - weight) * p + weight * q
        if not (p > 0).all():
            continue
        kl = float((p * np.log(p / q)).sum())
        f = random.random(size) ** random.choice([1, 4])
        variance = float(p @ f**2 - (p @ f) ** 2)
        assert abs((p - q) @ f) <= lemmas.kl_width(max(variance, 0), float(np.ptp(f)), max(kl, 0)) + 1e-12


@pytest.mark.parametrize(("stake", "prob"), [(1.0, 0.05), (1.5, 0.3), (4.0, 0.5)])
def test_betting_bound_for_all_numbers_of_draws_at_once(stake, prob):
    """Values 0 and 1 with one stake: the bound fails at some n in at most a share delta of all runs, and nearly so."""
    random = np.random.default_rng(int(100 * prob))
    ones = np.cumsum(random.random((2000, 200)) < prob, axis=1)
    runs, delta = len(ones), 0.2

    def failures(log):
        failed = np.zeros(runs, bool)
        for n in range(1, 201):
            for count in np.unique(ones[:, n - 1]):
                share = np.array([1 - count / n, count / n])
                if betting_bound(share, np.array([0.0, 1.0]), stake, log / n) < prob:
                    failed |= ones[:, n - 1] == count
        return failed.sum()

    misses = failures(math.log(1 / delta))
    assert at_most(misses, runs, delta)
    assert misses > runs * delta / 10  # close to what is allowed: nothing is given away
    assert not at_most(failures(math.log(1 / delta) / 3), runs, delta)


def test_betting_bound_by_hand():
    share, value = np.array([0.5, 0.5]), np.array([0.0, 3.0])
    assert betting_bound(share, value, 4.0, 0.0) == pytest.approx(4 - 2)  # the geometric mean of 4 and 1
    assert betting_bound(share, value, 4.0, math.log(2)) == pytest.approx(4 - 1)
    assert betting_bound(share, value, 3.0, 0.1) == 3.0  # the stake itself came up
    assert betting_bound(np.array([1.0, 0.0]), value, 3.0, 0.0) == pytest.approx(0.0)
    assert betting_bound(share, value, 1e6, 0.0) == pytest.approx(1.5, abs=1e-5)  # a far stake: the mean
    assert betting_bound(share, value, 4.0, 0.1) < betting_bound(share, value + 0.5, 4.0, 0.1)


DEGENERATE = {
    "one draw": ([1.0], [0.0]),
    "one draw of the greatest": ([1.0], [1.0]),
    "never varied": ([1.0], [0.5]),
    "zeros and ones": ([0.5, 0.5], [0.0, 1.0]),
    "a single one in a million": ([1 - 1e-6, 1e-6], [0.0, 1.0]),
    "a single zero in a million": ([1e-6, 1 - 1e-6], [0.0, 1.0]),
    "values an ulp apart": ([0.5, 0.5], [0.5, math.nextafter(0.5, 1)]),
    "close to the stake": ([0.5, 0.5], [0.0, 1 - 2.0**-53]),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("n", [1, 2, 10**6, 10**15])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-300])
def test_the_compiled_bet_is_the_one_in_numpy(name, n, delta):
    """From above and, mirrored, from below; a stake that was drawn bounds by itself."""
    share, value = map(np.array, DEGENERATE[name])
    risk = math.log(1 / delta) / n
    for stake in (1.0, 1 + 2.0**-48, 1 + 2.0**-12, 2.0, 4097.0):
        rounding = 4 * math.ulp(stake) * (1 + abs(math.log(stake)))
        expected = float(betting_bound(share, value, stake, risk))
        assert betting_value(value, share, len(share), stake, risk, 1.0) == pytest.approx(expected, abs=rounding)
        assert betting_value(-value, share, len(share), -stake, risk, -1.0) == pytest.approx(-expected, abs=rounding)
        assert expected == stake or (share @ value) - rounding <= expected <= stake
        drawn = value == stake
        assert expected == stake or not drawn.any()
    several = betting_bound(share, value, np.array([1.0, 2.0, 4097.0]), risk)
    assert several.tolist() == [float(betting_bound(share, value, x, risk)) for x in (1.0, 2.0, 4097.0)]


@pytest.mark.parametrize("n", [1, 2, 30, 10**5])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-300])
@pytest.mark.parametrize("heads", [0.0, 0.5, 1.0])
def test_bounds_of_zeros_and_ones(n, delta, heads):
    """By all stakes, and by gamblers with shares of one wealth: both keep to the range, and contain the mean seen."""
    values = (np.arange(n) < heads * n).astype(float)
    lower = mean_from_below(values, 0.0, 1.0, math.log(97 / delta))
    assert 0 <= lower <= values.mean()
    upper = mean_from_above(values, delta)
    assert values.mean() <= upper <= 1
    if heads == 0.0:  # no bound can be smaller than that of the event itself
        assert upper >= -math.expm1(math.log(delta) / n) - 1e-9
    if heads == 1.0:
        assert lower <= math.exp(math.log(delta) / n) + 1e-9


@pytest.mark.parametrize(("c1", "c2", "n", "level"), [(6.0, 6.0, 4, 0.1), (100.0, 6.0, 10, 0.05), (2.0, 1.0, 1, 0.5)])
def test_technical_lemma(c1, c2, n, level):
    bound = lemmas.first_time(c1, c2, n, level, 0.1)
    t = 1
    while (math.log(c1 / 0.1) + n * math.log(c2 * t)) / t > level**2:
        t += 1
    assert t <= bound < 100 * t


def test_bernoulli_divergences():
    """Data processing for the sum of coins, and the floor that turns confidence into samples."""
    assert lemmas.bernoulli_kl(0.3, 0.3) == 0
    assert lemmas.bernoulli_kl(0.3, 0.0) == math.inf
    assert lemmas.bernoulli_kl(0.0, 0.25) == pytest.approx(math.log(4 / 3))
    grid = np.linspace(0.01, 0.99, 25)
    for p, q in itertools.product(grid, grid):
        assert lemmas.bernoulli_kl(p, q) >= lemmas.bernoulli_kl_floor(p, q)
        for n, least in ((3, 2), (5, 1)):  # Z: at least so many heads in n tosses
            z_p, z_q = (sum(math.comb(n, i) * x**i * (1 - x) ** (n - i) for i in range(least, n + 1)) for x in (p, q))
            assert n * lemmas.bernoulli_kl(p, q) >= lemmas.bernoulli_kl(z_p, z_q) - 1e-12
    for p in grid[grid <= 0.25]:  # as the lower bound's proof uses it: a gap of at most p/2
        for gap in np.linspace(0.01, 0.5, 10) * p:
            assert lemmas.bernoulli_kl(p, p + gap) <= 8 * gap**2 / p


# Errors that add up over all steps of all rollouts.


class Chains:
    """A small problem with rewards in [0, 1] as chains over compressed histories, true and estimated."""

    def __init__(self, seed, closeness):
        random = np.random.default_rng(seed)
        self.S, self.A, self.H, self.K = 2, 2, int(random.integers(2, 4)), int(random.integers(1, 3))
        self.P = random.dirichlet(np.ones(self.S), (self.S, self.A))
        self.P_hat = (1 - closeness) * self.P + closeness * random.dirichlet(np.ones(self.S), (self.S, self.A))
        self.R = random.integers(0, 3, (self.S, self.A)) / 2
        self.random = random
        layers = [[(0, 0.0, 0.0)]]
        for t in range(self.K * self.H):
            layers.append(
                sorted({y for x in layers[-1] for a in range(self.A) for y, _ in self.moves(t, x, a, self.P)})
            )
        self.layers = layers
        self.times = self.K * self.H

    def moves(self, t, x, a, P):
        s, best, so_far = x
        so_far += self.R[s, a]
        if (t + 1) % self.H == 0:
            return [((0, max(best, so_far), 0.0), 1.0)]
        return [((y, best, so_far), P[s, a, y]) for y in range(self.S)]

    def kernel(self, t, actions, P):
        """[X, X'] under a choice of actions [X]."""
        place = {y: i for i, y in enumerate(self.layers[t + 1])}
        T = np.zeros((len(self.layers[t]), len(place)))
        for i, x in enumerate(self.layers[t]):
            for y, p in self.moves(t, x, actions[i], P):
                T[i, place[y]] += p
        return T

    def kernels(self, policy, P):
        return [self.kernel(t, policy[t], P) for t in range(self.times)]

    def values(self, policy, P):
        values = [np.array([best for _, best, _ in self.layers[-1]])]
        for T in reversed(self.kernels(policy, P)):
            values.insert(0, T @ values[0])
        return values

    def optimal(self, P):
        values = [np.array([best for _, best, _ in self.layers[-1]])]
        policy = []
        for t in range(self.times - 1, -1, -1):
            options = [self.kernel(t, [a] * len(self.layers[t]), P) @ values[0] for a in range(self.A)]
            policy.insert(0, np.argmax(options, axis=0).tolist())
            values.insert(0, np.max(options, axis=0))
        return policy, values

    def any_policy(self):
        return [self.random.integers(self.A, size=len(layer)).tolist() for layer in self.layers[:-1]]


def largest(arrays):
    return max(float(np.abs(a).max()) for a in arrays)


def differences(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("seed", SEEDS)
def test_simulation_lemmas(seed):
    chains = Chains(seed, closeness=0.03)
    mu, nu = chains.any_policy(), chains.any_policy()
    true, estimated = chains.kernels(mu, chains.P), chains.kernels(mu, chains.P_hat)
    V, V_hat, V_nu = chains.values(mu, chains.P), chains.values(mu, chains.P_hat), chains.values(nu, chains.P)
    off, l1 = largest(differences(V, V_hat)), lemmas.l1_error(true, estimated)
    assert l1 <= 1 / (2 * chains.times)
    own = largest(lemmas.error_sums(true, estimated, V))
    other = largest(lemmas.error_sums(true, estimated, V_nu))
    distance = largest(differences(V, V_nu))
    first = lemmas.simulation_bound(own, l1, chains.times)
    second = lemmas.simulation_bound(other, l1, chains.times, distance)
    assert off <= first + 1e-12
    assert off <= second + 1e-12
    assert first <= 2 * own + 1e-12  # as the paper states them
    assert second <= 2 * other + 2 * chains.times * l1 * distance + 1e-12
    assert off > own / 20 or own < 1e-12  # the sums are of the right size


@pytest.mark.parametrize("seed", SEEDS)
def test_variance_lemma(seed):
    chains = Chains(seed, closeness=0.0)
    _, V = chains.optimal(chains.P)
    H = chains.H
    for _ in range(5):
        mu = chains.any_policy()
        sums = lemmas.variance_sums(chains.kernels(mu, chains.P), V)
        assert largest(sums) <= H**2 + 1e-12
        start = sums[0][0]
        value, earned = V[0][0], chains.values(mu, chains.P)[0][0]
        assert start <= 2 * H * value - value**2 - H * earned + 1e-9  # as the errata bound it


def test_the_variance_lemma_needs_the_optimal_values():
    """With other reference values the sum of variances can exceed what holds for the optimal ones."""
    H, K = 1, 6
    flip = np.array([[0.0, 1.0], [1.0, 0.0]])
    mix = np.full((2, 2), 0.5)
    values = [np.array([0.0, 1.0]) if t % 2 else np.array([1.0, 0.0]) for t in range(K * H + 1)]
    assert lemmas.variance_sums([mix] * K, values)[0].max() > H**2
    assert lemmas.variance_sums([flip] * K, values)[0].max() == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_refined_decomposition(seed):
    """The learned policy, optimal or a little worse in the estimated problem, loses at most what is claimed."""
    chains = Chains(seed, closeness=0.02)
    best, V = chains.optimal(chains.P)
    learned, V_hat = chains.optimal(chains.P_hat)
    worse = [list(actions) for actions in learned]
    t = int(chains.random.integers(chains.times))
    worse[t][0] = 1 - worse[t][0]
    for policy in (learned, worse):
        kernels = [chains.kernels(p, P) for p in (best, policy) for P in (chains.P, chains.P_hat)]
        assert max(lemmas.l1_error(*kernels[:2]), lemmas.l1_error(*kernels[2:])) <= 1 / (4 * chains.times)
        loss = largest(differences(V, chains.values(policy, chains.P)))
        short = largest(differences(V_hat, chains.values(policy, chains.P_hat)))
        C_best = largest(lemmas.error_sums(kernels[0], kernels[1], V))
        C_learned = largest(lemmas.error_sums(kernels[2], kernels[3], V))
        assert loss <= lemmas.refined_decomposition(C_best, C_learned, 0.0, short) + 1e-12
    assert lemmas.refined_decomposition(1, 2, 3, 4) == 2 + 4 + 6 + 3


@pytest.mark.parametrize("seed", range(8))
def test_rounding_costs_at_most_h_kappa(seed):
    """The same policy under rewards that differ by kappa/2: its values differ by at most kappa H/2, exactly."""
    mdp = mk.instances.random_sparse(3, 2, 2, successors=2, rng=seed)
    kappa = Fraction(1, 4)
    rounded = mdp.with_rewards((np.floor(mdp.reward / float(kappa)) + 0.5) * float(kappa))
    actions = np.random.default_rng(seed).integers(2, size=(2, 2, 3))

    class Fixed(mk.CompressedPolicy):
        def action(self, *, rollout, step, state, best, so_far):
            return int(actions[rollout, step, state])

    values = [policy_value(problem, Fixed(2, 2), 2) for problem in (mdp, rounded)]
    assert abs(values[0] - values[1]) <= kappa


def test_high_probability_bound():
    """Repeated samples of a small problem: the loss of the empirical optimum stays below, by far."""
    sizes = {"n_states": 2, "n_actions": 2, "horizon": 2, "k": 1, "delta": 0.1, "outcomes": 2}
    assert error_bound(**sizes, m=100) == math.inf  # too few for the lemma
    m = 2000
    bound = error_bound(**sizes, m=m)
    assert bound < 2
    assert error_bound(**sizes, m=4 * m) == pytest.approx(bound / 2, rel=0.15)
    for seed in range(20):
        chains = Chains(seed, 0.0)
        chains.P_hat = np.array([[chains.random.multinomial(m, row) / m for row in rows] for rows in chains.P])
        learned, _ = chains.optimal(chains.P_hat)
        _, V = chains.optimal(chains.P)
        assert V[0][0] - chains.values(learned, chains.P)[0][0] <= bound
