"""Networks as policies: evaluated, simulated and compared as any other, with Stable-Baselines3 where it is there."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk

ROOT = Path(__file__).parents[1]


def looked_up(encoder, policy):
    """A "network" that knows a policy by heart: it reads rollout, step, state, M and G off the observation."""
    mdp = encoder.mdp
    low, high = -40.0, 0.0

    def choose(observations):
        answers = []
        for seen in observations.astype(float):
            has_best, best, so_far, rollouts, steps = seen[-5:]
            unscaled = [round((x + 1) / 2 * (high - low) + low) for x in (best, so_far)]
            answers.append(
                policy.action(
                    rollout=round(encoder.k * (1 - rollouts)),
                    step=round(mdp.horizon * (1 - steps)),
                    state=int(np.argmax(seen[:-5])),
                    best=unscaled[0] if has_best else -math.inf,
                    so_far=unscaled[1],
                )
            )
        return np.array(answers)

    return choose


@pytest.fixture(scope="module")
def cliff():
    mdp = mk.instances.windy_cliff(columns=3, horizon=6, slip=0.25)
    rewards = np.where(mdp.reward < -50, -6.0, mdp.reward)  # so that all returns are on the scale that is linear
    return mdp.with_rewards(rewards)


@pytest.mark.slow
def test_a_network_that_knows_the_plan_is_worth_the_plan(cliff):
    plan = mk.solve(cliff, 3)
    encoder = mk.gym.TrialEncoder(cliff, 3, returns=(-40, 0))
    policy = mk.gym.NetworkPolicy(looked_up(encoder, plan.policy), encoder)
    earned, known = mk.evaluate(cliff, policy), mk.evaluate(cliff, plan.policy)
    assert earned.value == pytest.approx(known.value, abs=1e-9)
    runs = mk.simulate(cliff, policy, trials=500, rng=0)
    same = mk.simulate(cliff, plan.policy, trials=500, rng=0)
    assert runs.best.tolist() == same.best.tolist()
    compared = mk.compare(cliff, 3, plan=plan, policies={"my network": policy})
    assert compared["my network"].lower <= plan.upper
    assert compared["my network"].lower == pytest.approx(known.lower, abs=1e-9)
    assert "my network" in str(compared)
    with pytest.raises(mk.InputError, match="policies: the name adaptive is that of a class"):
        mk.compare(cliff, 3, plan=plan, policies={"adaptive": policy})


def test_a_network_of_one_rollout_repeated(cliff):
    encoder = mk.gym.TrialEncoder(cliff, 1, returns=(-40, 0))
    alone = mk.MarkovPolicy(cliff.mean_optimal_actions, k=1)
    policy = mk.gym.NetworkPolicy(looked_up(encoder, alone), encoder, repeat=3)
    repeated = mk.MarkovPolicy(cliff.mean_optimal_actions, k=3)
    assert mk.evaluate(cliff, policy).value == pytest.approx(mk.evaluate(cliff, repeated).value, abs=1e-9)
    with pytest.raises(mk.InputError, match="repeat is for a network of a single rollout, but the encoder is for 2"):
        mk.gym.NetworkPolicy(looked_up(encoder, alone), mk.gym.TrialEncoder(cliff, 2), repeat=3)


def test_masks_are_given_to_those_who_ask():
    mdp = mk.MDP.from_table({0: {1: [(1, 1, 0, False)]}, 1: {0: [(1, 0, 1, True)], 2: [(1, 0, 2, True)]}}, horizon=2)
    encoder = mk.gym.TrialEncoder(mdp, 2)
    policy = mk.gym.NetworkPolicy(
        lambda seen, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(1), encoder, masked=True
    )
    assert mk.evaluate(mdp, policy).value == 2
    assert policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == 1


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (
            lambda seen: np.zeros(len(seen)),
            "the network must return 1 integers for 1 observations, not float64",
        ),
        (lambda seen: np.zeros((len(seen), 2), int), "not int64 [1, 2]"),
        (lambda seen: np.full(len(seen), 9), "the policy's action at (rollout 0, step 0, state 9) is 9"),
    ],
)
def test_answers_that_are_none(cliff, choose, message):
    policy = mk.gym.NetworkPolicy(choose, mk.gym.TrialEncoder(cliff, 2))
    with pytest.raises(mk.InputError) as error:
        mk.evaluate(cliff, policy)
    assert message in str(error.value)


def test_bad_networks(cliff):
    encoder = mk.gym.TrialEncoder(cliff, 2)
    with pytest.raises(mk.InputError, match="a policy needs a function that chooses, not 3"):
        mk.gym.NetworkPolicy(3, encoder)
    with pytest.raises(mk.InputError, match=r"encoder must be a maxatk\.gym\.TrialEncoder, not 3"):
        mk.gym.NetworkPolicy(len, 3)


# With Stable-Baselines3.


def sb3():
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is in the extra sb3")
    from maxatk.gym import sb3 as adapter

    return adapter


def test_the_adapter_is_a_vec_env(cliff):
    adapter = sb3()
    from stable_baselines3.common.vec_env import VecMonitor

    envs = mk.gym.TabularVectorEnv(cliff, 2, 3, dense=True, reward_scale=0.1)
    env = adapter.TabularVecEnv(envs)
    env.seed(0)
    observations = env.reset()
    again = mk.gym.TabularVectorEnv(cliff, 2, 3).reset(seed=0)[0]
    assert np.array_equal(observations, again)
    assert np.array(env.env_method("action_masks")).all()
    assert not hasattr(env, "no_such_thing")
    totals, finished = np.zeros(3), 0
    for _ in range(100):
        observations, rewards, over, infos = env.step(np.ones(3, int))
        totals += rewards
        for i in np.flatnonzero(over):
            assert infos[i]["episode"]["r"] == infos[i]["best_return"] == pytest.approx(10 * totals[i], abs=1e-4)
            assert envs.single_observation_space.contains(infos[i]["terminal_observation"])
            assert infos[i]["terminal_observation"][-2:].tolist() == [0, 0]
            assert infos[i]["trial"]["rollout"] == 2
            totals[i], finished = 0, finished + 1
    assert finished
    assert VecMonitor(env).reset().shape == observations.shape


def test_returns_of_tries_are_logged(cliff):
    adapter = sb3()
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import Logger

    env = adapter.TabularVecEnv(mk.gym.TabularVectorEnv(cliff, 2, 8))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, device="cpu", seed=0)
    logger = Logger(folder=None, output_formats=[])
    model.set_logger(logger)
    kept = {}
    logger.dump = lambda step=0: kept.update(logger.name_to_value)
    model.learn(512, callback=adapter.TrialCallback())
    assert {"trial/best", "trial/return_1", "trial/return_2"} <= set(kept)
    assert kept["trial/best"] >= kept["trial/return_1"]
    policy = adapter.network_policy(model, env.envs.encoder)
    assert mk.evaluate(cliff, policy).upper <= mk.solve(cliff, 2).upper + 1e-9


def test_maskable_ppo_finds_the_masks():
    adapter = sb3()
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is in the extra sb3")
    mdp = mk.MDP.from_table({0: {1: [(1, 1, 0, False)]}, 1: {0: [(1, 0, 1, True)], 2: [(1, 0, 2, True)]}}, horizon=2)
    envs = mk.gym.TabularVectorEnv(mdp, 2, 4)
    model = contrib.MaskablePPO(
        "MlpPolicy", adapter.TabularVecEnv(envs), n_steps=32, batch_size=32, device="cpu", seed=0
    )
    model.learn(512)  # another action than those offered would be an error
    assert mk.evaluate(mdp, adapter.network_policy(model, envs.encoder)).upper <= 2
    wrapped = mk.BestOfK(mk.gym.TabularEnv(mdp), 2, flat=True)
    contrib.MaskablePPO("MlpPolicy", wrapped, n_steps=32, batch_size=32, device="cpu", seed=0).learn(64)


def test_images_beside_a_vector_are_taken():
    sb3()
    import gymnasium
    from stable_baselines3 import PPO

    class Camera(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)
        horizon = 2

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros((36, 36, 3), np.uint8), {}

        def step(self, action):
            return np.full((36, 36, 3), action, np.uint8), float(action), False, False, {}

    env = mk.BestOfK(Camera(), 2, flat=True)
    PPO("MultiInputPolicy", env, n_steps=8, batch_size=8, n_epochs=1, device="cpu", seed=0).learn(8)


@pytest.mark.slow
def test_the_examples_train(tmp_path):
    """One seed and few steps of every training: the whole way to files and figures."""
    sb3()
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is in the extra sb3")
    command = [
        sys.executable,
        str(ROOT / "examples/deep_rl/train.py"),
        "--quick",
        "--workers",
        "2",
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    cliff, flights = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("long_cliff", "headwind"))
    assert {run["method"] for run in cliff["runs"]} == {"ppo", "ppo_potential", "maskable_ppo", "dqn"}
    low, high = cliff["optimum"]
    assert low <= high
    assert all(run["earned"] <= high for run in cliff["runs"])
    assert len(flights["runs"]) == 2
    assert (tmp_path / "long_cliff.png").exists()
    assert (tmp_path / "headwind.png").exists()


def test_actions_in_bulk():
    mdp = mk.instances.windy_cliff(horizon=8)
    policy = mk.gym.NetworkPolicy(
        lambda seen: (seen[:, -3:].sum(axis=1) * 1000).astype(int) % 4, mk.gym.TrialEncoder(mdp, k=2, returns=(-40, 0))
    )
    state, best, so_far = np.arange(40), np.linspace(-30, 0, 40), np.linspace(-8, 0, 40)
    best[::3] = -np.inf
    assert policy.actions(rollout=1, step=3, state=state, best=best, so_far=so_far).tolist() == [
        policy.action(rollout=1, step=3, state=s, best=m, so_far=g)
        for s, m, g in zip(state.tolist(), best.tolist(), so_far.tolist(), strict=True)
    ]
