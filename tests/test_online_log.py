"""Logs of episodes that others played."""

import math

import numpy as np
import pytest

import maxatk as mk

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
