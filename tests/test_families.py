"""Random families: what their docstrings say of them, held outcome by outcome."""

import itertools
from fractions import Fraction

import pytest

import maxatk as mk

FAMILIES = ["lotteries", "heavy_tails", "deadlines", "traps"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_is_a_problem(name):
    one, same, other = (mk.instances.make(name, rng=seed) for seed in (3, 3, 4))
    assert one == same
    assert one != other


@pytest.mark.parametrize("seed", range(5))
def test_no_coin_has_a_greater_mean_than_the_sure_arm(seed):
    mdp = mk.instances.lotteries(8, prize=50, rng=seed)
    assert mdp.exact_outcomes(0, 0, 0) == [(1, 0, 1)]
    for arm in range(1, 8):
        (p, _, none), (q, _, prize) = mdp.exact_outcomes(0, 0, arm)
        assert none == 0
        assert p + q == 1
        assert 2 <= prize <= 50
        assert Fraction(1, 2) <= q * prize <= 1


def test_adapting_gains_where_a_coin_tempts_after_a_result():
    """A tenth of the optimum, over all policies that do not look at the best so far."""
    rows = mk.compare(mk.instances.lotteries(rng=2), 8)
    best, blind = rows["adaptive"], rows["without M"]
    assert best.lower - blind.upper > 0.1 * best.upper


@pytest.mark.parametrize("seed", range(5))
def test_tails_are_paretos(seed):
    """The quantile at u of Pareto's law with index a is x (1 - u)^(-1/a): logarithms lie on a line."""
    equal = mk.instances.heavy_tails(3, atoms=7, equal_means=True, rng=seed)
    for a in range(3):
        assert sum(p * r for p, _, r in equal.exact_outcomes(0, 0, a)) == 1
    mdp = mk.instances.heavy_tails(3, atoms=7, rng=seed)
    for arm in range(3):
        outcomes = mdp.exact_outcomes(0, 0, arm)
        rewards = sorted(r for p, _, r in outcomes for _ in range(int(p * 7)))
        assert len(rewards) == 7
        assert all((100 * r).denominator == 1 for r in rewards)
        assert rewards[0] > 0
        ratios = [float(b) / float(a) for a, b in itertools.pairwise(rewards)]
        assert ratios[-1] == max(ratios)


def test_in_haste_there_is_time_for_all_jobs():
    mdp = mk.instances.deadlines(4, 6, rng=1)
    state, paid = 0, Fraction(0)
    for step in range(4):
        done = mdp.exact_outcomes(step, state, 1)
        _, after, reward = max(done, key=lambda one: one.reward)
        assert any(one.next_state is None and one.reward == 0 for one in done)
        state, paid = after, paid + reward
    assert state is None
    assert paid == mdp.return_range[1]


def test_rooms_get_richer_and_traps_end_a_rollout():
    mdp = mk.instances.traps(5, 6, ransom=7, rng=0)
    treasures = [mdp.exact_outcomes(0, room, 0)[0].reward for room in range(5)]
    assert treasures == sorted(set(treasures))
    for room in range(4):
        outcomes = mdp.exact_outcomes(0, room, 1)
        assert {(one.next_state, one.reward) for one in outcomes} == {(room + 1, 0), (None, -7)}
    assert mdp.actions(0, 4) == [0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mk.instances.lotteries(1), "n_arms must be"),
        (lambda: mk.instances.lotteries(prize=1), "prize must be"),
        (lambda: mk.instances.heavy_tails(atoms=0), "atoms must be"),
        (lambda: mk.instances.heavy_tails(equal_means=1), "equal_means must be"),
        (lambda: mk.instances.deadlines(0), "jobs must be"),
        (lambda: mk.instances.traps(ransom=-1), "ransom must not be negative, not -1"),
        (lambda: mk.instances.traps(rng="x"), "rng"),
        (lambda: mk.instances.make("lottery"), "there is no instance 'lottery'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(mk.InputError, match=message):
        make()
