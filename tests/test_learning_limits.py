"""The lower bound on samples (Theorem 3): every inequality of its proof, exactly, and samples that grow with K."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from oracles import policy_value


class Masses(mk.CompressedPolicy):
    """Takes the better action of the start state at given moments, as long as the goal was not reached."""

    def __init__(self, k, horizon, better):
        super().__init__(k, horizon)
        self._better = better  # [K, H] of booleans

    def action(self, *, rollout, step, state, best, so_far):
        return int(self._better[rollout, step])


CONSTANTS = {"paper": (Fraction(1, 96), 8192), "tight": (Fraction(1, 9), 17)}  # c0, c1


def lost_per_miss(c0):
    """Step 2 of the proof: what each missed choice loses at least, in units of ``Delta H``."""
    return (Fraction(3, 4) - 3 * c0 / 2) * (1 - 3 * c0 / 2)


@pytest.mark.parametrize(("k", "horizon"), [(1, 4), (2, 4), (3, 4), (1, 8), (2, 8)])
@pytest.mark.parametrize("constants", CONSTANTS)
def test_the_regret_inequality(k, horizon, constants):
    c0, c1 = CONSTANTS[constants]
    epsilon, L = c0 * horizon / (2 * c1), horizon // 4  # the largest
    gap = c1 * epsilon / (k * horizon**2)
    mdp = mk.instances.lower_bound(3, 2, horizon, k, epsilon, alternative=(0, 1), constants=constants)
    best = mk.solve(mdp, k, solver=mk.Exact()).exact
    always = np.ones((k, horizon), bool)
    assert policy_value(mdp, Masses(k, horizon, always), k) == best
    random = np.random.default_rng(k * horizon)
    tight = False
    for share in (0.0, 0.2, 0.5, 0.5, 0.8, 1.0):
        better = random.random((k, horizon)) < share
        loss = best - policy_value(mdp, Masses(k, horizon, better), k)
        bound = lost_per_miss(c0) * gap * horizon * (k * L - int(better[:, :L].sum()))
        assert loss >= bound
        tight |= 0 < loss < 12 * bound
        # Hence an epsilon-optimal policy has more than half of the mass, which two actions cannot both have.
        if loss <= epsilon:
            assert better[:, :L].sum() > Fraction(k * L, 2)
    assert tight
    never = best - policy_value(mdp, Masses(k, horizon, ~always), k)
    assert never > epsilon


# The inequalities from there to the number of samples: in fractions, or with fifty digits where there are logarithms.

FIFTY = decimal.Context(prec=50)
SIZES = [(1, 4), (1, 40), (2, 4), (3, 8), (7, 12), (50, 4), (4, 100), (1000, 64)]  # K, H
RISKS = [Fraction(1, 16), Fraction(1, 20), Fraction(1, 100), Fraction(1, 10**9)]


def number(x):
    """With fifty digits."""
    return FIFTY.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))


def log(x):
    return FIFTY.ln(number(x))


def divergence(p, q):
    """kl(p, q) of two coins."""
    with decimal.localcontext(FIFTY):
        return number(p) * log(p / q) + number(1 - p) * log((1 - p) / (1 - q))


def exact_form(c0, c1, S, A, H, K, epsilon, delta):
    """``(S - 1)((A - 1) ln(1/delta) - A ln 2) / kl(p, p + Delta)``."""
    p, gap = c0 / (K * H), c1 * epsilon / (K * H**2)
    with decimal.localcontext(FIFTY):
        return (S - 1) * ((A - 1) * log(1 / delta) - A * log(Fraction(2))) / divergence(p, p + gap)


@pytest.mark.parametrize("constants", CONSTANTS)
def test_step_two_leaves_more_than_half_of_the_mass(constants):
    c0, c1 = CONSTANTS[constants]
    assert c1 > 8 / lost_per_miss(c0)
    assert lost_per_miss(Fraction(1, 96)) > Fraction(47, 64) / 4  # what the paper uses
    for K, H in SIZES:
        epsilon = c0 * H / (2 * c1)
        p, gap = c0 / (K * H), c1 * epsilon / (K * H**2)
        assert gap == p / 2
        assert p + gap <= Fraction(1, 2)
        assert K * H * (p + gap) == 3 * c0 / 2  # the chance of ever reaching the goal, at most
        assert (1 - p - gap) ** (K * H) >= 1 - 3 * c0 / 2
        missed = epsilon / (lost_per_miss(c0) * gap * H)  # of KH/4, by an epsilon-optimal policy, at most
        assert missed < Fraction(K * H, 8)


def test_better_constants_do_not_allow_16():
    """With c0 = 1/9 the least c1 is 576/35 = 16.46."""
    assert 16 < 8 / lost_per_miss(Fraction(1, 9)) == Fraction(576, 35) < 17


@pytest.mark.parametrize("constants", CONSTANTS)
def test_a_sample_tells_little(constants):
    """kl(p, p + Delta) is at most Delta²/(2p(1 - p)), and no less than two thirds of that."""
    c0, _ = CONSTANTS[constants]
    for K, H in SIZES:
        p = c0 / (K * H)
        for share in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), Fraction(1, 10**6)):
            gap = share * p
            most = number(gap**2 / (2 * p * (1 - p)))
            assert most * 2 / 3 < divergence(p, p + gap) < most


def test_the_change_of_measure():
    """kl(x, y) >= (1 - x) ln(1/(1 - y)) - ln 2, on a grid."""
    grid = [Fraction(j, 64) for j in range(1, 64)]
    with decimal.localcontext(FIFTY):
        for x in grid:
            for y in grid:
                assert divergence(x, y) >= number(1 - x) * log(1 / (1 - y)) - log(Fraction(2))


def test_the_bracket():
    """(A - 1) ln(1/delta) - A ln 2 >= A ln(1/delta)/4 for A >= 2 and delta <= 1/16, with equality at the corner."""

    def left_over(A, delta):
        with decimal.localcontext(FIFTY):
            return (A - 1) * log(1 / delta) - A * log(Fraction(2)) - A * log(1 / delta) / 4

    assert all(left_over(A, delta) > -decimal.Decimal("1e-45") for A in range(2, 40) for delta in RISKS)
    assert abs(left_over(2, Fraction(1, 16))) < decimal.Decimal("1e-45")
    assert left_over(2, Fraction(1, 15)) < 0


@pytest.mark.parametrize("constants", CONSTANTS)
def test_the_printed_constant_holds(constants):
    """The exact form >= (1 - p) c0/(4 c1²) KSAH³ ln(1/delta)/epsilon² >= c0/(8 c1²) of the same."""
    c0, c1 = CONSTANTS[constants]
    closest = math.inf
    for (K, H), delta, S, A, part in itertools.product(SIZES, RISKS, (2, 3, 50), (2, 3, 20), (1, 1000)):
        epsilon = c0 * H / (2 * c1) / part
        p = c0 / (K * H)
        shape = FIFTY.multiply(number(c0 / c1**2 * K * S * A * H**3 / epsilon**2), log(1 / delta))
        exact = exact_form(c0, c1, S, A, H, K, epsilon, delta)
        assert exact >= FIFTY.multiply(number((1 - p) / 4), shape)
        assert number((1 - p) / 4) > number(Fraction(1, 8))
        closest = min(closest, float(exact / shape))
    assert 1 / 4 * (1 - 1 / 36) < closest < 0.2501  # a quarter is all that these steps give: c0/(16 c1²) is too small


@pytest.mark.slow
def test_least_samples_is_the_exact_form_rounded_down():
    c0, c1 = CONSTANTS["tight"]
    for (K, H), delta, S, A in itertools.product(SIZES, [Fraction(1, 5), 0.05, *RISKS], (2, 7), (2, 5)):
        for epsilon in (Fraction(H, 306), H / 307, H * 1e-3, 1e-9, Fraction(1, 10**40)):
            exact = exact_form(c0, c1, S, A, H, K, Fraction(epsilon), Fraction(delta))
            found = mk.least_samples(n_states=S, n_actions=A, horizon=H, k=K, epsilon=epsilon, delta=delta)
            with decimal.localcontext(FIFTY):
                if epsilon < 1e-20:  # fifty digits do not hold kl
                    p = c0 / (K * H)
                    exact = 2 * number(p * (1 - p) / (c1 * epsilon / (K * H**2)) ** 2) * (S - 1)
                    exact *= (A - 1) * log(1 / Fraction(delta)) - A * log(Fraction(2))
                assert exact * (1 - decimal.Decimal("1e-12")) < decimal.Decimal(found) <= exact


def test_least_samples():
    sizes = {"n_states": 3, "n_actions": 2, "horizon": 4, "k": 2, "epsilon": 0.01, "delta": 0.05}
    printed = Fraction(1, 96) / (8 * 8192**2) * 2 * 3 * 2 * 4**3 / Fraction(0.01) ** 2 * Fraction(math.log(20))
    assert mk.least_samples(**sizes) > 4.8e6 * printed
    assert mk.least_samples(**{**sizes, "k": 20}) == pytest.approx(10 * mk.least_samples(**sizes), rel=0.02)
    assert mk.least_samples(**sizes) < mk.sample_size(**sizes).total
    # Every delta will do: where the formula is not positive, nothing is claimed.
    assert mk.least_samples(**{**sizes, "delta": 0.2}) > 0
    assert mk.least_samples(**{**sizes, "delta": 0.25}) == mk.least_samples(**{**sizes, "delta": 0.9}) == 0


def test_samples_for_a_fixed_error_grow_with_k():
    """With p = 1/K and a gap of epsilon/K: to see which action is better takes about K times the samples."""
    needed = []
    for k in (8, 32):
        p, gap = Fraction(1, k), Fraction(1, 4 * k)
        mdp = mk.MDP.from_table(
            [[[(p, 0, 1, True), (1 - p, 0, 0, True)], [(p + gap, 0, 1, True), (1 - p - gap, 0, 0, True)]]], horizon=1
        )
        best = mk.solve(mdp, k, solver=mk.Exact()).exact
        wrong = policy_value(mdp, Masses(k, 1, np.zeros((k, 1), bool)), k)
        assert Fraction(1, 20) < best - wrong < Fraction(1, 5)  # the error does not change with K
        random = np.random.default_rng(k)
        n = 4
        while True:  # the least n on a grid with which nine of ten samples show which is better
            draws = random.binomial(n, [[float(p)], [float(p + gap)]], size=(2, 4000))
            if (draws[1] > draws[0]).mean() >= 0.9:
                break
            n = int(n * 1.1) + 1
        needed.append(n)
    assert 3 < needed[1] / needed[0] < 5.5
