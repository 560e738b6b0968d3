"""Two policies in the same trials: what is common, what each policy earns by itself, and intervals that hold."""

import math

import numpy as np
import pytest

import maxatk as mk
from maxatk.evaluation.chance import CommonChance


def cliff():
    return mk.instances.windy_cliff(horizon=20)


def remembering(mdp, policy):
    """The same as a policy that is asked one step at a time, with all that was seen."""

    def choose(history):
        return policy.action(
            rollout=history.rollout, step=history.step, state=history.state, best=history.best, so_far=history.so_far
        )

    return mk.HistoryPolicy(choose, policy.k, mdp.horizon)


def test_a_policy_against_itself_makes_no_difference():
    mdp = cliff()
    policy = mk.solve(mdp, 3).policy
    pair = mk.simulate_paired(mdp, policy, policy, trials=500, rng=1)
    assert (pair.net == 0).all()
    assert pair.noise_saved == math.inf
    assert (pair.first.returns == pair.second.returns).all()


def test_policies_that_draw_meet_the_same_draws():
    mdp = mk.instances.figure1(gamma=0.25)
    mixed = mk.MixedPolicy([mk.MarkovPolicy([[0]], k=1), mk.MarkovPolicy([[1]], k=1)], [0.5, 0.5], 4)
    pair = mk.simulate_paired(mdp, mixed, mixed, trials=300, rng=2)
    assert (pair.net == 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_in_bulk_and_one_by_one_chance_is_the_same(threads, tune):
    tune(kept_numbers=100)  # several blocks
    mdp = cliff()
    policy = mk.solve(mdp, 2).policy
    pair = mk.simulate_paired(mdp, policy, remembering(mdp, policy), trials=40, rng=3, threads=threads)
    assert (pair.net == 0).all()
    assert (pair.first.tries == pair.second.tries).all()


def test_the_number_of_threads_changes_nothing(tune):
    tune(kept_numbers=1000)
    mdp = cliff()
    one, other = mk.solve(mdp, 3).policy, mk.solve(mdp, 2).policy
    runs = [mk.simulate_paired(mdp, one, other, trials=300, rng=4, threads=n).net for n in (1, 2)]
    assert (runs[0] == runs[1]).all()


def test_each_policy_earns_what_it_earns_alone():
    """Chance of one policy is as good as any other: means agree with the exact values, within five standard errors."""
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 5)
    mean = mk.compare(mdp, 5, plan=plan, time_limit=0).rows[0].policy
    pair = mk.simulate_paired(mdp, plan.policy, mean, trials=20_000, rng=5)
    for run, policy in ((pair.first, plan.policy), (pair.second, mean)):
        assert abs(run.mean - mk.evaluate(mdp, policy).best.lower) < 5 * run.stderr
    exact = plan.lower - mk.evaluate(mdp, mean).best.lower
    low, high = pair.interval(0.9999)
    assert low < exact < high


def test_numbers_are_uniform_and_independent():
    """Of two trials, two rollouts and two steps: all far from each other, and spread evenly."""
    chance, trials = CommonChance(7, 4000), np.arange(4000)
    drawn = np.array([chance.numbers(i, h, trials) for i in range(3) for h in range(3)])
    assert abs(np.corrcoef(drawn) - np.eye(9)).max() < 0.08
    counts = np.histogram(drawn, bins=20, range=(0, 1))[0]
    assert ((counts - 1800) ** 2 / 1800).sum() < 45  # chi squared with 19 degrees of freedom: 1 in 1000


def test_pairs_take_fewer_trials():
    mdp = mk.instances.windy_cliff()
    five, four = mk.solve(mdp, 5), mk.solve(mdp, 4)
    pair = mk.simulate_paired(mdp, five.policy, four.policy, trials=4000, rng=6)
    apart = [mk.simulate(mdp, one.policy, trials=4000, rng=n) for n, one in enumerate((five, four))]
    assert pair.stderr < math.hypot(*(run.stderr for run in apart))
    assert pair.noise_saved == pytest.approx((pair.first.stderr**2 + pair.second.stderr**2) / pair.stderr**2, rel=1e-12)


def test_costs_and_utilities_count():
    mdp = mk.instances.figure1(gamma=0.25)
    one, two = mk.solve(mdp, 3, cost=0.05).policy, mk.MarkovPolicy([[1]], k=3)
    pair = mk.simulate_paired(mdp, one, two, cost=0.1, trials=500, rng=7)
    assert pair.first.net == pytest.approx(pair.first.best - 0.1 * pair.first.tries)
    assert pair.second.net == pytest.approx(pair.second.best - 0.3)
    doubled = mk.simulate_paired(mdp, one, two, cost=0, utility=[(0, 0), (1, 2)], trials=500, rng=7)
    assert doubled.second.net == pytest.approx(2 * doubled.second.best)


def test_in_an_environment_both_are_reset_with_the_same_seeds():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1", map_name="4x4")
    mdp = mk.MDP.from_gymnasium(env, horizon=12)
    plan = mk.solve(mdp, 3)
    pair = mk.simulate_paired(env, plan.policy, plan.policy, trials=60, rng=8)
    assert (pair.net == 0).all()
    assert pair.first.mean > 0
    other = mk.simulate_paired(env, plan.policy, mk.MarkovPolicy([[0] * 16] * 12, k=3), trials=60, rng=8)
    assert (other.first.returns == pair.first.returns).all()  # whatever it is paired with


def test_results_are_tables_and_cards():
    mdp = mk.instances.figure1(gamma=0.25)
    pair = mk.simulate_paired(mdp, mk.MarkovPolicy([[1]], k=2), mk.MarkovPolicy([[0]], k=2), trials=50, rng=9)
    assert pair.to_csv().splitlines()[0] == "first,second,difference"
    assert "\n" not in repr(pair)
    assert "difference" in pair._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials must be at least 1"),
        ({"rng": "x"}, "rng must be a seed"),
        ({"state_of": len}, "state_of must be a function of an environment's observation"),
    ],
)
def test_bad_input_is_named(arguments, message):
    mdp = mk.instances.figure1()
    policy = mk.MarkovPolicy([[1]], k=2)
    with pytest.raises(mk.InputError, match=message):
        mk.simulate_paired(mdp, policy, policy, **arguments)
    with pytest.raises(mk.InputError, match="rollouts of 2 steps, not 1"):
        mk.simulate_paired(mdp, policy, mk.MarkovPolicy([[1], [1]], k=2))
