"""Trials as episodes that cost something, and the action that stops one."""

import math

import gymnasium
import pytest

import maxatk as mk

TABLE = {0: {0: [(1, 1, 1, False)], 1: [(1, 1, 3, False)]}, 1: {0: [(1, 1, 1, True)], 1: [(1, 1, 2, True)]}}
LAKE = "FrozenLake-v1"


def env(**arguments):
    mdp = mk.MDP.from_table(TABLE, horizon=2, action_cost={0: {1: 0.25}, 1: {1: 0.5}})
    return mk.BestOfK(mk.gym.TabularEnv(mdp), **arguments)


def paid(trial, actions):
    """The rewards of a trial, and what it says in the end."""
    trial.reset(seed=0)
    steps = [trial.step(a) for a in actions]
    assert [terminated for _, _, terminated, _, _ in steps] == [False] * (len(steps) - 1) + [True]
    assert all(trial.observation_space.contains(o) for o, *_ in steps)
    return [reward for _, reward, *_ in steps], steps[-1][-1]["trial"]


@pytest.mark.parametrize("dense", [False, True])
def test_rewards_add_up_to_the_best_return_less_all_costs(dense):
    rewards, trial = paid(env(k=2, cost=2, row_costs=True, dense=dense), [1, 1, 0, 0])
    assert sum(rewards) == 5 - 2 * 2 - 0.75
    assert (trial["best"], trial["paid"]) == (5, 4.75)
    assert rewards[0] == (3 if dense else 0) - 2.25


def test_costs_of_rows_are_paid_where_that_is_asked_for():
    assert sum(paid(env(k=1), [1, 1])[0]) == 5
    assert "paid" not in paid(env(k=1), [1, 1])[1]
    assert sum(paid(env(k=1, row_costs=True), [1, 1])[0]) == 4.25


@pytest.mark.parametrize("dense", [False, True])
def test_the_last_action_stops_the_trial(dense):
    trial = env(k=3, cost=1, stop=True, best_so_far=2, dense=dense)
    assert trial.action_space == gymnasium.spaces.Discrete(3)
    rewards, end = paid(trial, [1, 1, 2])
    assert sum(rewards) == 5 - 2 - 1
    assert end["rollout"] == 1
    with pytest.raises(mk.InputError, match="the trial is over"):
        trial.step(0)
    rewards, end = paid(trial, [1, 2])  # in the midst of a rollout, which does not count
    assert sum(rewards) == -1
    assert end["best"] == 2


def test_stopping_with_nothing_in_hand_is_worth_what_was_said():
    rewards, end = paid(env(k=2, stop=True, returns=(-7, 5)), [2])
    assert sum(rewards) == -7
    assert end["best"] == -7


def test_what_stopping_needs():
    with pytest.raises(mk.InputError, match=r"^stop=True needs a value of stopping with no result yet"):
        env(k=2, stop=True)
    with pytest.raises(mk.InputError, match=r"^stop=True is for finitely many actions, but Pendulum-v1 has Box"):
        mk.BestOfK(gymnasium.make("Pendulum-v1"), k=2, stop=True, best_so_far=0)
    with pytest.raises(mk.InputError, match="cost must not be negative"):
        env(k=2, cost=-1)


@pytest.mark.parametrize("cost", [math.nan, -1, "1", None, 10**400])
def test_environments_that_say_no_cost(cost, monkeypatch):
    trial = env(k=1, row_costs=True)
    trial.reset(seed=0)
    step = trial.unwrapped.step
    monkeypatch.setattr(trial.unwrapped, "step", lambda a: (*step(a)[:4], {"cost": cost}))
    with pytest.raises(mk.InputError, match=r'^info\["cost"\] '):
        trial.step(0)


def test_a_trial_without_costs_is_as_it_was():
    trial = mk.BestOfK(gymnasium.make(LAKE, is_slippery=False), k=2)
    trial.reset(seed=0)
    assert trial.action_space == gymnasium.make(LAKE).action_space
    assert trial.step(1)[-1]["trial"] == {"rollout": 0, "step": 1, "best": -math.inf, "so_far": 0.0}
