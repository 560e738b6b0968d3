"""Logs of episodes that others played."""

import math
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.grid import grid_for_episodes
from maxatk.learning.learned import Bounds, loss_between
from maxatk.learning.online.ledger import EpisodeLedger

# Logs.


def log_of(mdp, rollouts, rng, behave):
    source, log = mk.TabularEpisodes(mdp), []
    for _ in range(rollouts):
        state, rollout, done = source.reset(rng), [], False
        while not done and len(rollout) < mdp.horizon:
            action = behave(log, rollout, state, rng)
            after, reward, done = source.step(action)
            rollout.append((state, action, reward, None if done else after))
            state = after
        log.append(rollout)
    return log


def at_random(log, rollout, state, rng):
    return int(rng.integers(2))


def while_it_pays(log, rollout, state, rng):
    """Goes on with an action until it pays, and never takes it again."""
    paid = {a for old in log for _, a, reward, _ in old if reward > 0}
    return next((a for a in range(2) if a not in paid), int(rng.integers(2)))


@pytest.mark.slow
@pytest.mark.parametrize("behave", [at_random, while_it_pays])
@pytest.mark.parametrize("bounded", [True, False])
def test_a_log_bounds_the_optimum(behave, bounded):
    for mdp, k in ((mk.instances.figure1(), 2), (mk.instances.proposition3(), 2)):
        source, best = mk.TabularEpisodes(mdp), mk.solve(mdp, k)
        sizes = {
            "n_states": mdp.n_states,
            "n_actions": 2,
            "horizon": mdp.horizon,
            "can_terminate": source.spec.can_terminate,
        }
        for seed in range(8):
            log = log_of(mdp, 200, np.random.default_rng(seed), behave)
            out = mk.learn_from(
                log, k, 0.2, **sizes, start=0, max_outcomes=source.spec.max_outcomes if bounded else None
            )
            assert out.lower <= mk.evaluate(mdp, out.policy).value + 1e-9
            assert out.lower <= best.upper
            assert best.lower <= out.upper + 1e-12
            assert out.stats["rollouts"] == 200
            assert out.counts.sum() == sum(map(len, log))


@pytest.mark.parametrize("n", [50, 400])
def test_a_log_of_one_outcome_in_closed_form(n):
    """What was never seen has a chance of 1 - (delta/8)^(1/n) at most, and may be worth nothing."""
    out = mk.learn_from([[(0, 0, 0.5, None)]] * n, 1, 0.1, n_states=1, n_actions=1, horizon=1, start=0, max_outcomes=1)
    worst = 0.5 * (0.1 / 4 / 2) ** (1 / n)  # a quarter of delta for balls, of which there are two
    assert 0.98 * worst <= out.lower <= worst


def test_a_long_log_says_much():
    """The interval closes in on the optimum, and the policy is the best one."""
    mdp = mk.instances.figure1()
    log = log_of(mdp, 8000, np.random.default_rng(0), at_random)
    for n in (2, None):
        out = mk.learn_from(log, 2, n_states=1, n_actions=2, horizon=1, max_outcomes=n)
        assert out.upper - out.lower < 0.1
        assert mk.evaluate(mdp, out.policy).value == pytest.approx(9 / 16)


@pytest.mark.parametrize(
    ("log", "more", "message"),
    [
        ([], {}, "the log is empty"),
        ([[(0, 0, 1.0, None)], []], {}, "rollout 1 of the log must be a list of 1 to 3 steps"),
        ([[(0, 0, 1.0, 1)] * 4], {}, "must be a list of 1 to 3 steps"),
        ([[(0, 0, 1.0)]], {}, r"rollout 0, step 0 of the log must be \(state, action, reward, next_state\)"),
        ([[(2, 0, 1.0, None)]], {}, "the state"),
        ([[(0, 2, 1.0, None)]], {}, "the action"),
        ([[(0, 0, 2.0, None)]], {}, "reward 2 is outside"),
        ([[(0, 0, math.inf, None)]], {}, "the reward"),
        (
            [[(0, 0, 0.5, 1), (0, 0, 0.5, None)]],
            {},
            "starts in state 0, but the one before led to 1: was one left out?",
        ),
        ([[(0, 0, 0.5, None), (0, 0, 0.5, None)]], {}, "ends the rollout, but others follow"),
        ([[(0, 0, 0.5, 1), (1, 0, 0.5, 1)]], {}, "stops after 2 of 3 steps without an end"),
        ([[(0, 0, 0.5, 1), (1, 0, 1.0, None)]], {"return_range": (0, 1)}, "rollout 0 of the log returned 1.5"),
    ],
)
def test_logs_that_cannot_be_learned_from(log, more, message):
    with pytest.raises(mk.InputError, match=message):
        mk.learn_from(log, 2, n_states=2, n_actions=2, horizon=3, **more)


# Rewards that are multiples of nothing.


def uniform_log(rollouts, rng, low=0.17, high=0.30, horizon=20):
    """One state with one action, whose rewards are uniform between two numbers."""
    return [[(0, 0, float(r), 0) for r in rng.uniform(low, high, horizon)] for _ in range(rollouts)]


ONE = {"n_states": 1, "n_actions": 1, "horizon": 20}


@pytest.mark.slow
def test_real_rewards_are_not_rounded_to_the_nearest_point():
    """They are, all of them, above a half of the grid's step: rounded to the nearest point they would be the step."""
    out = mk.learn_from(uniform_log(2000, np.random.default_rng(1)), 1, **ONE)
    assert out.lower <= 20 * 0.235 <= out.upper  # the expectation of 20 rewards
    assert out.upper - out.lower < 0.4
    assert out.epsilon == loss_between(out.lower, out.upper)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "known"),
    [(1, {}), (3, {}), (1, {"return_range": (3.4, 6.0)}), (3, {"best_so_far": 4.9}), (2, {"can_terminate": False})],
)
def test_bounds_from_real_rewards_cover_the_truth(k, known):
    """In 30 logs at delta = 1/2: what the policy earns is what any does, the best of k sums."""
    sums = np.random.default_rng(99).uniform(0.17, 0.30, (100_000, k, 20)).sum(axis=2).max(axis=1)
    best = np.maximum(sums, known.get("best_so_far", -math.inf))
    value, error = float(best.mean()), 4 * float(best.std()) / math.sqrt(len(best))
    for seed in range(30):
        out = mk.learn_from(uniform_log(300, np.random.default_rng(seed)), k, 0.5, **ONE, **known)
        assert out.lower <= value + error
        assert value - error <= out.upper


def test_what_is_in_hand_is_not_rounded_up():
    """It lies between two points, and no return beats it: nothing more than that is earned."""
    log = uniform_log(200, np.random.default_rng(0), 0.0, 0.01)
    out = mk.learn_from(log, 1, **ONE, best_so_far=1.0)
    assert out.lower == 1.0
    grid = grid_for_episodes(CheckedEpisodes(mk.EpisodeSpec(**ONE, best_so_far=1.0)), [], rounds=True)
    assert grid.kappa * grid.first - 1.0 > 0.1  # what would be wrong


def two_actions(rollouts, rng):
    """The second pays less on average, and more at best."""
    log = []
    for _ in range(rollouts):
        steps = []
        for _ in range(3):
            a = int(rng.integers(2))
            steps.append((0, a, float(two_rewards(a, rng)), 0))
        log.append(steps)
    return log


def two_rewards(a, rng):
    return rng.uniform(0.42, 0.52) if a == 0 else rng.uniform(0.9, 1.0) if rng.random() < 0.4 else rng.uniform(0, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "rollouts"), [(1, 6000), (3, 6000)])
def test_the_policy_that_is_handed_out_is_the_one_that_was_valued(k, rollouts):
    out = mk.learn_from(two_actions(rollouts, np.random.default_rng(3)), k, 0.5, n_states=1, n_actions=2, horizon=3)
    rng, best = np.random.default_rng(4), []
    for _ in range(4000):
        trial = out.policy.begin(rng)
        while not trial.finished:
            trial.observe(two_rewards(trial.act(0), rng))
        best.append(float(trial.best))
    mean, error = np.mean(best), np.std(best) / math.sqrt(len(best))
    assert out.lower <= mean + 4 * error
    assert mean - 4 * error <= out.upper
    assert out.lower > mean - 0.6  # and it says something


def test_a_policy_that_remembers_what_it_draws_is_asked_by_its_trials():
    out = mk.learn_from(two_actions(200, np.random.default_rng(3)), 2, n_states=1, n_actions=2, horizon=3)
    with pytest.raises(mk.InputError, match=r"needs more than M and G to act: run its trials, with begin\(\)"):
        out.policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0)
    drawn = [[], []]
    for several in drawn:
        for seed in range(20):
            trial = out.policy.begin(np.random.default_rng(seed))
            while not trial.finished:
                trial.act(0)
                trial.observe(0.456)
            several.append(trial.remembered)
    assert drawn[0] == drawn[1]  # the same streams
    assert len(set(drawn[0])) > 1
    mean = np.mean([best for best, _ in drawn[0]])
    assert abs(mean - 3 * 0.456) < 0.2
    mdp = mk.MDP.from_table([[[(1.0, 0, 0.456, False)]] * 2], horizon=3)
    with pytest.raises(mk.InputError, match=r"cannot be evaluated without sampling: use mk\.simulate"):
        mk.evaluate(mdp, out.policy)
    assert mk.simulate(mdp, out.policy, trials=5, rng=0).best.tolist() == pytest.approx([3 * 0.456] * 5)


def test_halves_are_rounded_independently(monkeypatch):
    """All of one grid, the two halves and the whole from streams of their own."""
    rounded, round_to = [], EpisodeLedger.round_to

    def recorded(ledger, grid):
        rounded.append((grid.kappa, str(ledger.rng.bit_generator.state)))
        round_to(ledger, grid)

    monkeypatch.setattr(EpisodeLedger, "round_to", recorded)
    mk.learn_from(uniform_log(10, np.random.default_rng(0)), 1, **ONE)
    assert len({kappa for kappa, _ in rounded}) == 1
    assert len({state for _, state in rounded}) == len(rounded) == 3


# Contradictions.


def test_bounds_that_contradict_each_other_are_given_up():
    known = CheckedEpisodes(mk.EpisodeSpec(**ONE))
    with pytest.warns(RuntimeWarning, match=r"the policy earns at least 6\.12, no policy more than 4\.78"):
        bounds = Bounds.between(6.12, 4.78, known, 0.05, 0.1)
    assert (bounds.lower, bounds.upper, bounds.epsilon) == (0.0, 20.0, 20.0)
    assert Bounds.between(0.5, 0.5, known, 0.05, None).epsilon == 0.0


def test_the_loss_is_rounded_up():
    for low, high in np.random.default_rng(0).uniform(0, 1, (200, 2)):
        low, high = min(low, high), max(low, high)
        assert Fraction(loss_between(low, high)) >= Fraction(high) - Fraction(low)
        assert loss_between(low, high) <= math.nextafter(high - low, math.inf)
