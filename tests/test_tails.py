"""Tails of the final best return, held to enumeration: linear programs over all adaptive policies of arms."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import maxatk as mk
from maxatk.policies import DrawnPolicy
from problems import one_line

FIGURE1 = mk.instances.figure1(gamma=0.25)
ARMS = [{0.5: 0.75, 0.0: 0.25}, {1.0: 0.25, 0.0: 0.75}]
VALUES = (0.0, 0.5, 1.0)


def laws():
    """The law of the best of two under every deterministic adaptive policy."""
    for first, *second in itertools.product((0, 1), repeat=4):
        law = dict.fromkeys(VALUES, 0.0)
        for x, p in ARMS[first].items():
            for y, q in ARMS[second[VALUES.index(x)]].items():
                law[max(x, y)] += p * q
        yield [law[v] for v in VALUES]


LAWS = np.array(list(laws()))


def best_share(law, a):
    left, total = a, 0.0
    for value, p in sorted(zip(VALUES, law, strict=True), reverse=True):
        total += min(p, left) * value
        left -= min(p, left)
    return total / a


def over_mixtures(a):
    """Mixtures of all policies, by a linear program: z [values] is what is taken of the best share."""
    n = len(LAWS)
    cost = np.concatenate([np.zeros(n), -np.array(VALUES) / a])
    rows = np.hstack([-LAWS.T, np.eye(3)])
    sums = [[1] * n + [0] * 3, [0] * n + [1] * 3]
    return -linprog(cost, A_ub=rows, b_ub=np.zeros(3), A_eq=sums, b_eq=[1, a]).fun


@pytest.mark.parametrize("solver", [mk.Certified(tol=1e-9), mk.Exact()])
@pytest.mark.parametrize("a", [0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_against_a_linear_program(a, solver):
    known = mk.solve(FIGURE1, 2, solver=solver).cvar(a)
    true = over_mixtures(a)
    assert known.lower <= true + 1e-9
    assert true <= known.upper + 1e-9
    assert known.upper - known.lower < 0.01
    mixed = np.zeros(3)
    for policy, weight in zip(known.policies, known.weights, strict=True):
        law = mk.evaluate(FIGURE1, policy).law
        mixed += weight * np.array([law.cdf(v) - law.cdf(math.nextafter(v, -1)) for v in VALUES])
    assert best_share(mixed, a) >= known.lower - 1e-12


@pytest.mark.parametrize("x", [-1, 0, 0.25, 0.5, 0.75, 1.0, 1.5])
def test_no_policy_has_a_greater_chance(x):
    bound = mk.solve(FIGURE1, 2, solver=mk.Certified(tol=1e-9)).tail(x)
    true = max(sum(p for v, p in zip(VALUES, law, strict=True) if v >= x) for law in LAWS)
    assert true <= bound + 1e-12
    assert 0 <= bound <= 1
    if x in (-1, 1.0, 1.5):  # there it is attained
        assert bound == pytest.approx(true, abs=1e-6)


@pytest.mark.slow
def test_larger_problem():
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 3)
    whole, tenth = plan.cvar(1), plan.cvar(0.1)
    assert whole.lower <= plan.upper
    assert plan.lower <= whole.upper + 1e-6
    assert whole.upper < tenth.lower <= tenth.upper <= mdp.return_range[1]
    assert tenth.upper - tenth.lower < 0.2
    law = mk.evaluate(mdp, plan.policy).law
    assert 1 - law.cdf(-13.5) <= plan.tail(-13) + 1e-9
    assert plan.tail(-13) <= plan.tail(-15) <= 1


def test_with_an_incumbent():
    plan = mk.solve(FIGURE1, 2, best_so_far=0.5)
    known = plan.cvar(0.5)
    # Only the risky arm improves on 1/2: 1 with chance 7/16.
    assert known.lower == pytest.approx((7 / 16 + (1 / 2 - 7 / 16) / 2) / 0.5, abs=1e-6)
    assert known.lower <= known.upper
    assert plan.tail(0.5) == 1.0
    assert plan.tail(1) == pytest.approx(7 / 16, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mk.solve(FIGURE1, 2).cvar(0), "a must be above 0 and at most 1"),
        (lambda: mk.solve(FIGURE1, 2).cvar(1.5), "a must be above 0 and at most 1"),
        (lambda: mk.solve(FIGURE1, 2).cvar(math.nan), "a must be finite"),
        (lambda: mk.solve(FIGURE1, 2).tail(math.inf), "x must be finite"),
        (lambda: mk.solve(FIGURE1, 2, cost=0.1).cvar(0.5), "cvar: there must be no costs"),
        (lambda: mk.solve(FIGURE1, 2, cost=0.1).tail(0.5), "tail: there must be no costs"),
        (lambda: mk.solve(FIGURE1, 2, utility=[(0, 0), (0.5, 0), (1, 1)]).cvar(0.5), "the plan is for utility"),
        (lambda: mk.solve(FIGURE1, 2, width=2).tail(0.5), "the plan is for rounds"),
        (lambda: mk.solve(FIGURE1, 2, solver=mk.Midpoint(0.5)).tail(0.5), "does not know its tail"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(mk.InputError, match=re.escape(said)) as error:
        call()
    one_line(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "true"), [(0.5, 0.90625), (0.7, 0.71875), (0.9, 0.6145833333333333)])
def test_the_best_mixture_of_two_plans(a, true):
    """The weight is the best one, and the policy that draws earns the lower end: evaluated and simulated."""
    known = mk.solve(FIGURE1, 2).cvar(a)
    assert known.lower == pytest.approx(true, abs=1e-12)
    assert known.lower <= over_mixtures(a) + 1e-12
    assert len(known.weights) == 2
    earned = mk.evaluate(FIGURE1, known.policy)
    law = [float(earned.exact_law[Fraction(v)]) for v in VALUES]
    assert best_share(law, a) == pytest.approx(true, abs=1e-12)
    assert earned.exact == sum(Fraction(v) * earned.exact_law[Fraction(v)] for v in VALUES)
    n = 20_000
    best = mk.simulate(FIGURE1, known.policy, trials=n, rng=1).best
    rng, own = np.random.default_rng(2), []
    for _ in range(n // 4):  # one by one, for a caller's own world
        trial = known.policy.begin(rng)
        while not trial.finished:
            values, probs = zip(*ARMS[trial.act(0)].items(), strict=True)
            trial.observe(float(rng.choice(values, p=probs)), done=True)
        own.append(trial.best)
    for runs in (best, own):
        for value, p in zip(VALUES, law, strict=True):
            assert abs(np.mean(np.array(runs) == value) - p) < 5 * math.sqrt(p * (1 - p) / len(runs))


@pytest.mark.parametrize("a", [1e-300, 1e-12, 1e-6, 1e-3])
def test_tiny_shares(a):
    """The best return itself is reached with a chance that is greater."""
    known = mk.solve(FIGURE1, 2).cvar(a)
    assert 1 - 1e-12 <= known.lower <= known.upper == 1


def test_bounds_lie_among_the_returns():
    mdp = mk.instances.windy_cliff()
    least, most = mdp.return_range
    for a in (1e-300, 1e-6, 1):
        known = mk.solve(mdp, 2).cvar(a)
        assert least <= known.lower <= known.upper <= most


@pytest.mark.slow
def test_laws_that_are_mixed_in_floats():
    mdp = mk.instances.windy_cliff()
    known = mk.solve(mdp, 3).cvar(0.5)
    assert len(known.weights) == 2
    earned = mk.evaluate(mdp, known.policy)
    parts = [mk.evaluate(mdp, one) for one in known.policies]
    mean = sum(w * one.value for w, one in zip(known.weights, parts, strict=True))
    assert earned.lower <= mean <= earned.upper
    assert earned.tries.exact == 3
    low, high = mk.simulate(mdp, known.policy, trials=4000, rng=0).interval(0.9999)
    assert low <= earned.upper
    assert earned.lower <= high


def test_truths_are_no_numbers():
    plan = mk.solve(FIGURE1, 2)
    for call in (
        lambda: plan.cvar(True),
        lambda: plan.cvar(np.True_),
        lambda: plan.tail(True),
        lambda: mk.solve(FIGURE1, 2, utility=[(False, 0), (1, 1)]),
        lambda: mk.solve(FIGURE1, 2, utility=[(0, 0), (1, True)]),
        lambda: DrawnPolicy([plan.policy], [-1]),
        lambda: DrawnPolicy([plan.policy], [0.5, 0.5]),
        lambda: DrawnPolicy([plan.policy, mk.solve(FIGURE1, 3).policy], [0.5, 0.5]),
    ):
        with pytest.raises(mk.InputError) as error:
            call()
        one_line(error.value)


@pytest.mark.parametrize("held", [Fraction(7, 3), Fraction(10, 3), Fraction(1, 3)])
def test_a_best_so_far_that_floats_do_not_hold_is_reached(held):
    plan = mk.solve(mk.instances.figure1(), 2, best_so_far=held)
    assert plan.tail(held) == 1.0
    assert plan.tail(held + Fraction(1, 10**30)) == (0.0 if held > 1 else pytest.approx(plan.tail(0.5)))
