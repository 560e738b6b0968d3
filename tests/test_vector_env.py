"""Trials of a table side by side: held to a plain loop over the same random numbers, and to the wrapper."""

import inspect
import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from problems import problem, specs


class Plain:
    """The same trials, one by one and in plain Python, from the same random numbers."""

    def __init__(self, mdp, k, n, seed, incumbent=-math.inf, dense=False, potential=None, scale=1.0):
        self.mdp, self.k, self.incumbent, self.scale = mdp, k, incumbent, scale
        self.dense, self.potential = dense or potential is not None, potential
        self.rng = np.random.default_rng(seed)
        self.trials = [self.begun(u) for u in self.rng.random(n)]

    def started(self, u):
        return int(self.mdp.start_state[min(np.searchsorted(np.cumsum(self.mdp.reset_prob), u, "right"),
                                            len(self.mdp.start_state) - 1)])  # fmt: skip

    def begun(self, u):
        worth = self.incumbent if self.incumbent > -math.inf else 0.0
        return {"i": 0, "h": 0, "s": self.started(u), "m": self.incumbent, "g": 0.0, "worth": worth}

    def step(self, actions):
        """Rewards, and returns where rollouts and trials are over."""
        rewards, over, best, returned = [], [], [], []
        for n, (a, (u, v)) in enumerate(zip(actions, self.rng.random((len(actions), 2)), strict=True)):
            t, ended_with = self.trials[n], 0.0
            outcomes = self.mdp.outcomes(t["h"], t["s"], int(a))
            place = min(np.searchsorted(np.cumsum([o.prob for o in outcomes]), u, "right"), len(outcomes) - 1)
            drawn = outcomes[place]
            t["g"] += drawn.reward
            t["h"] += 1
            if drawn.next_state is not None:
                t["s"] = drawn.next_state
            if drawn.next_state is None or t["h"] == self.mdp.horizon:
                t["m"], t["i"], ended_with = max(t["m"], t["g"]), t["i"] + 1, t["g"]
                if t["i"] < self.k:
                    t |= {"h": 0, "g": 0.0, "s": self.started(v)}
            if self.dense and t["i"] < self.k:
                ahead = 0.0 if self.potential is None else self.potential[t["s"]]
                worth = max(t["m"], t["g"] + ahead)
            else:
                worth = t["m"] if t["m"] > -math.inf else 0.0
            rewards.append(self.scale * (worth - t["worth"]))
            t["worth"] = worth
            over.append(t["i"] == self.k)
            returned.append(ended_with)
            if over[-1]:
                best.append(t["m"])
                self.trials[n] = self.begun(v)
        return rewards, over, best, returned


@pytest.mark.slow
@given(
    specs(),
    st.integers(1, 3),
    st.sampled_from([-math.inf, -1.0, 2.0]),
    st.sampled_from(["sparse", "dense", "potential"]),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_it_is_the_plain_loop(spec, k, incumbent, paid, seed):
    mdp, rng = problem(spec), np.random.default_rng(seed)
    potential = rng.normal(0, 3, mdp.n_states) if paid == "potential" else None
    shaping = {"dense": paid != "sparse", "potential": potential}
    envs = mk.gym.TabularVectorEnv(mdp, k, 4, best_so_far=incumbent, reward_scale=0.5, **shaping)
    observations, _ = envs.reset(seed=seed)
    plain = Plain(mdp, k, 4, seed, incumbent, scale=0.5, **shaping)
    for _ in range(3 * k * mdp.horizon):
        where = [(t["i"], t["h"], t["s"], t["m"], t["g"]) for t in plain.trials]
        assert np.array_equal(observations, envs.encoder(*np.array(where).T))
        masks = envs.action_masks()
        offered = [mdp.actions(t["h"], t["s"]) for t in plain.trials]
        assert [np.flatnonzero(mask).tolist() for mask in masks] == offered
        actions = [int(rng.choice(options)) for options in offered]
        observations, rewards, over, truncated, infos = envs.step(actions)
        expected, ended, best, returned = plain.step(actions)
        assert infos["rollout_return"].tolist() == pytest.approx(returned, abs=1e-9)
        assert rewards.tolist() == pytest.approx(expected, abs=1e-9)
        assert over.tolist() == ended
        assert not truncated.any()
        if over.any():
            assert infos["best_return"][over].tolist() == pytest.approx(best)
            assert infos["_best_return"].tolist() == ended


@pytest.mark.parametrize("returns", [None, (-30.0, -8.0)])
def test_it_observes_and_pays_what_the_wrapper_does(returns):
    """On a table without chance, step by step, to the last observation of a trial."""
    mdp = mk.instances.windy_cliff(columns=4, slip=0, horizon=9)
    ahead = np.arange(mdp.n_states) - 5.0
    single = mk.BestOfK(
        mk.gym.TabularEnv(mdp), 2, flat=True, returns=returns, potential=lambda s: ahead[s], reward_scale=0.1
    )
    envs = mk.gym.TabularVectorEnv(mdp, 2, 2, returns=returns, potential=ahead, reward_scale=0.1)
    assert envs.single_observation_space == single.observation_space
    one, (many, _) = single.reset(seed=0)[0], envs.reset(seed=0)
    over, rng = False, np.random.default_rng(3)
    while not over:
        assert np.array_equal(many, [one, one])
        action = int(rng.integers(4))
        one, reward, over, _, info = single.step(action)
        many, rewards, _, _, infos = envs.step([action, action])
        assert rewards.tolist() == pytest.approx([reward, reward], abs=1e-12)
        assert infos["rollout_over"].tolist() == [info["rollout_over"]] * 2
        if info["rollout_over"]:
            assert infos["rollout_return"].tolist() == [info["rollout_return"]] * 2
    assert np.array_equal(infos["final_obs"], [one, one])
    assert infos["best_return"].tolist() == [info["best_return"]] * 2
    assert np.array_equal(many[0], single.reset()[0])


def test_seeds_and_the_interface():
    mdp = mk.instances.windy_cliff()
    envs = mk.gym.TabularVectorEnv(mdp, 3, 5)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP

    def run(seed):
        found = [envs.reset(seed=seed)[0]]
        envs.action_space.seed(0)
        for _ in range(100):
            found.append(envs.step(envs.action_space.sample())[0])
            assert envs.observation_space.contains(found[-1])
        return np.array(found)

    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


def test_one_seed_is_for_all_trials():
    """A list of seeds used to be allowed by the type, and refused as no integer."""
    envs = mk.gym.TabularVectorEnv(mk.instances.windy_cliff(), 3, 2)
    assert inspect.signature(envs.reset).parameters["seed"].annotation == int | None
    with pytest.raises(mk.InputError, match=r"^seed must be one number for all trials, not the list \[1, 2\]$"):
        envs.reset(seed=[1, 2])
    with pytest.raises(mk.InputError, match="step: no trials have begun"):
        envs.step([0, 0])


def test_features_in_place_of_one_hot_states():
    mdp = mk.instances.windy_cliff()
    features = np.stack(np.divmod(np.arange(48), 12), axis=1)
    envs = mk.gym.TabularVectorEnv(mdp, 3, 2, features=features)
    assert envs.reset(seed=0)[0][:, :2].tolist() == [[3, 0], [3, 0]]
    assert envs.observation_space.contains(envs.step([0, 0])[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda mdp: mk.gym.TabularVectorEnv("cliff", 2, 2), "mdp must be a maxatk.MDP, not 'cliff'"),
        (lambda mdp: mk.gym.TabularVectorEnv(mdp, 0, 2), "k must be at least 1, not 0"),
        (lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 0), "num_envs must be at least 1, not 0"),
        (
            lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 2, potential=[1.0]),
            "potential must be numbers (48,) or (40, 48)",
        ),
        (
            lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 2, potential=[math.nan] * 48),
            "potential[0] is not finite",
        ),
        (lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 2, features=[[1]]), "features must be numbers [48, f], not"),
        (lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 2, features=[[math.inf]] * 48), "features[0, 0] is not finite"),
        (lambda mdp: mk.gym.TabularVectorEnv(mdp, 2, 2).step([0, 0]), "step: no trials have begun: call reset first"),
        (lambda mdp: begun(mdp).step([0]), "actions must be 2 integers, not int64 [1]"),
        (lambda mdp: begun(mdp).step([0.5, 0.5]), "actions must be 2 integers, not float64 [2]"),
        (lambda mdp: begun(mdp).step([0, 9]), "trial 1: state 36 does not offer action 9 at step 0"),
        (lambda mdp: mk.gym.TrialEncoder(mdp, 2)(0, 0, 99, 0, 0), "state must be between 0 and 47"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(mk.InputError) as error:
        make(mk.instances.windy_cliff())
    assert str(error.value).startswith(message)


def begun(mdp):
    envs = mk.gym.TabularVectorEnv(mdp, 2, 2)
    envs.reset(seed=0)
    return envs
