"""Trials of K rollouts as one Gymnasium environment."""

import math
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import maxatk as mk

TAXI = max(name for name in gymnasium.registry if name.startswith("Taxi-"))
EVERY = [
    *(("CartPole-v1", None), ("Acrobot-v1", None), ("MountainCar-v0", None), ("MountainCarContinuous-v0", None)),
    *(("Pendulum-v1", None), ("FrozenLake-v1", None), ("FrozenLake8x8-v1", None), ("CliffWalking-v1", 20)),
    *(("Blackjack-v1", 20), (TAXI, None)),
]
FIVE = ["has_best", "best", "so_far", "rollouts_left", "steps_left"]


def lottery(*prizes, horizon=1):
    """One state whose action ``a`` pays ``prizes[a]`` for sure and ends the rollout after ``horizon`` steps."""
    return mk.MDP.from_table([[[(1, 0, prize, False)] for prize in prizes]], horizon=horizon)


def wrapped(*prizes, k=3, horizon=1, **arguments):
    return mk.BestOfK(mk.gym.TabularEnv(lottery(*prizes, horizon=horizon)), k, **arguments)


def numbers(observation):
    return [float(observation[name][0]) for name in FIVE]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("name", "horizon"), EVERY)
def test_gymnasiums_checker_passes(name, horizon, flat):
    env = mk.BestOfK(gymnasium.make(name), 3, horizon=horizon, flat=flat, dense=flat)
    with warnings.catch_warnings():
        # That it is a wrapper, and what the environments' own spaces are like.
        for about in ("The environment .* is different from", "A Box observation space", "For Box action spaces"):
            warnings.filterwarnings("ignore", f".*{about}")
        check_env(env, skip_render_check=True)


def test_the_table_passes_too():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*The environment .* is different from")
        check_env(mk.gym.TabularEnv(mk.instances.windy_cliff()), skip_render_check=True)
        check_env(wrapped(1, 2), skip_render_check=True)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("best_so_far", [-math.inf, -2.0, 0.0, 3.0])
@pytest.mark.parametrize("prizes", [(-3, -1, -7), (2, 5, 1), (-1, 2, 0)])
def test_rewards_add_up_to_the_best_return(prizes, best_so_far, dense):
    """Whatever the signs; with an incumbent, to what is gained over it."""
    rng = np.random.default_rng(0)
    env = wrapped(*prizes, k=4, horizon=3, best_so_far=best_so_far, dense=dense)
    for _ in range(20):
        env.reset()
        total, returns, over = 0.0, [], False
        while not over:
            _, reward, over, truncated, info = env.step(int(rng.integers(3)))
            assert not truncated
            total += reward
            if info["rollout_over"]:
                returns.append(info["rollout_return"])
            elif not dense:
                assert reward == 0
        assert len(returns) == 4
        best = max(best_so_far, *returns)
        assert info["trial"] == {"rollout": 4, "step": 3, "best": best, "so_far": returns[-1]}
        assert total == pytest.approx(best - (best_so_far if best_so_far > -math.inf else 0), abs=1e-12)


def test_a_trial_step_by_step():
    env = wrapped(-2, 3, k=2, horizon=2)
    observation, info = env.reset(seed=0)
    assert numbers(observation) == [0, 0, 0, 1, 1]  # no rollout yet: a flag, and no infinity
    assert info["trial"] == {"rollout": 0, "step": 0, "best": -math.inf, "so_far": 0}
    assert info["rollout_over"] is False

    observation, reward, over, _, info = env.step(0)
    assert numbers(observation) == pytest.approx([0, 0, -math.log(3), 1, 0.5])
    assert (reward, over, info["rollout_over"]) == (0, False, False)
    assert "rollout_return" not in info

    observation, reward, over, _, info = env.step(0)
    assert numbers(observation) == pytest.approx([1, -math.log(5), 0, 0.5, 1])
    assert (reward, over, info["rollout_over"], info["rollout_return"]) == (-4, False, True, -4)
    assert (info["rollout_terminated"], info["rollout_truncated"], info["last_observation"]) == (False, True, 0)

    env.step(1)
    observation, reward, over, _, info = env.step(0)
    assert numbers(observation) == pytest.approx([1, math.log(2), math.log(2), 0, 0])
    assert (reward, over, info["trial"]["best"]) == (5, True, 1)
    with pytest.raises(mk.InputError, match="the trial is over"):
        env.step(0)


def test_dense_rewards_are_the_changes_of_what_is_in_hand():
    env = wrapped(-1, -5, k=2, horizon=2, dense=True)
    env.reset()
    assert [env.step(a)[1] for a in (0, 1)] == [-1, -5 + 6]  # the second rollout starts at 0, 6 above what is in hand
    assert [env.step(a)[1] for a in (0, 1)] == [-1, -5]  # a return of -6 is worth no less than the one in hand
    env.reset()
    assert [env.step(a)[1] for a in (1, 1, 0, 0)] == [-5, -5 + 10, -1, -1]
    env.reset()
    assert [env.step(a)[1] for a in (0, 0, 1, 1)] == [-1, -1 + 2, -2, 0]  # below -2 nothing is left to lose


def test_flat_observations_are_the_dict_in_order():
    plain, flat = (mk.BestOfK(gymnasium.make("FrozenLake-v1"), 2, flat=flat) for flat in (False, True))
    assert flat.observation_space.shape == (16 + 5,)
    assert flat.observation_space.dtype == np.float32
    one, two = plain.reset(seed=3)[0], flat.reset(seed=3)[0]
    over = False
    while not over:
        assert two[:16].tolist() == [float(s == one["observation"]) for s in range(16)]
        assert two[16:].tolist() == numbers(one)
        (one, *_), (two, _, over, _, info) = plain.step(1), flat.step(1)
    assert info["trial"]["rollout"] == 2


def test_the_scale_of_returns_that_matter():
    """-1 to 1 where it matters; beyond, all stay apart, in order, and within (-2, 2)."""
    shown = []
    for prize in (-1e9, -1000, -100, -40, -25, -10, 20, 1e9):
        env = wrapped(prize, k=2, returns=(-40, -10))
        env.reset()
        observation = env.step(0)[0]
        assert env.observation_space.contains(observation)
        shown.append(float(observation["best"][0]))
    assert shown == sorted(shown)
    assert shown[3:6] == [-1, 0, 1]
    assert shown[6] == pytest.approx(2 - 1 / 3)
    assert -2 <= shown[0] < shown[1] < shown[2] < -1


def test_huge_returns_are_observed():
    env = wrapped(-1e300, 1e300, k=2)
    env.reset()
    for a in (0, 1):
        observation = env.step(a)[0]
        assert env.observation_space.contains(observation)


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1"])
def test_the_same_seed_gives_the_same_trial_and_its_rollouts_differ(name):
    def trial(seed):
        env = mk.BestOfK(gymnasium.make(name), 3, flat=True)
        seen = [env.reset(seed=seed)[0]]
        starts, over, n = [seen[0][:4]], False, 0
        while not over:
            observation, _, over, _, info = env.step(n % 2 + (name == "FrozenLake-v1"))
            n += 1
            seen.append(observation)
            if info["rollout_over"] and not over:
                starts.append(observation[:4])
        return np.array(seen), starts

    (one, starts), (again, _), (other, _) = trial(7), trial(7), trial(8)
    assert np.array_equal(one, again)
    assert one.shape != other.shape or not np.array_equal(one, other)
    if name == "CartPole-v1":  # its starts are random
        assert not np.array_equal(starts[0], starts[1])


def test_options_go_to_every_reset():
    given = []

    class Asked(mk.gym.TabularEnv):
        def reset(self, *, seed=None, options=None):
            given.append((seed, options))
            return super().reset(seed=seed, options=options)

    env = mk.BestOfK(Asked(lottery(1)), 2)
    env.reset(seed=5, options={"x": 1})
    env.step(0)
    assert given == [(5, {"x": 1}), (None, {"x": 1})]


def test_time_limits():
    """The environment's own, that asked for, and the lesser of both."""
    assert mk.BestOfK(gymnasium.make("CartPole-v1"), 2).horizon == 500
    assert mk.BestOfK(gymnasium.make("CartPole-v1"), 2, horizon=7).horizon == 7
    assert mk.BestOfK(gymnasium.make("CartPole-v1", max_episode_steps=9), 2, horizon=20).horizon == 9
    assert mk.BestOfK(gymnasium.make("CliffWalking-v1"), 2, horizon=20).horizon == 20
    env = mk.BestOfK(gymnasium.make("CliffWalking-v1"), 2, horizon=3)
    env.reset()
    infos = [env.step(0)[4] for _ in range(3)]
    assert [info["rollout_over"] for info in infos] == [False, False, True]
    assert (infos[2]["rollout_truncated"], infos[2]["rollout_terminated"]) == (True, False)


@pytest.mark.parametrize("kind", [gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv])
def test_vector_environments(kind):
    """Three trials side by side are the three trials one by one."""

    def make():
        return mk.BestOfK(gymnasium.make("FrozenLake-v1"), 2, flat=True)

    envs = kind([make] * 3)
    singles = [make() for _ in range(3)]
    observations, _ = envs.reset(seed=11)
    alone = [env.reset(seed=11 + i)[0] for i, env in enumerate(singles)]
    assert np.array_equal(observations, np.stack(alone))
    finished = np.zeros(3, bool)
    for n in range(30):
        observations, rewards, over, _, infos = envs.step(np.full(3, n % 4))
        for i, env in enumerate(singles):
            if finished[i]:
                continue
            observation, reward, ended, _, info = env.step(n % 4)
            assert np.array_equal(observations[i], observation)
            assert (rewards[i], over[i]) == (reward, ended)
            assert infos["rollout_over"][i] == info["rollout_over"]
            assert infos["trial"]["best"][i] == info["trial"]["best"]
        finished |= over
    assert finished.any()
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "mdp"),
    [
        (lambda: gymnasium.make("FrozenLake-v1", max_episode_steps=12), None),
        (
            lambda: mk.gym.TabularEnv(mk.instances.windy_cliff(horizon=20)),
            lambda: mk.instances.windy_cliff(horizon=20),
        ),
        (lambda: mk.gym.TabularEnv(mk.instances.proposition3()), mk.instances.proposition3),
    ],
    ids=["lake", "windy cliff", "proposition 3"],
)
def test_a_certified_plan_earns_its_value_through_the_wrapper(env, mdp):
    made = env()
    problem = mk.MDP.from_gymnasium(made) if mdp is None else mdp()
    plan = mk.solve(problem, 3)
    wrapper = mk.BestOfK(made, 3)
    totals = []
    for seed in range(250):
        observation, info = wrapper.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action = plan.policy.action(state=int(observation["observation"]), **info["trial"])
            observation, reward, over, _, info = wrapper.step(action)
            total += reward
        totals.append(total)
    half = 4 * np.std(totals) / math.sqrt(len(totals))
    assert np.mean(totals) - half <= plan.upper
    assert plan.lower <= np.mean(totals) + half
    single = sum(mk.solve(problem, 1).curve(0, -math.inf)) / 2
    assert np.mean(totals) > single + half  # one rollout would not do


def test_a_table_in_which_states_offer_few_actions():
    mdp = mk.MDP.from_table({0: {1: [(1, 1, 0, False)]}, 1: {0: [(1, 0, 1, True)], 2: [(1, 0, 2, True)]}}, horizon=2)
    env = mk.gym.TabularEnv(mdp)
    with pytest.raises(mk.InputError, match="call reset first"):
        env.step(1)
    assert env.reset()[1]["action_mask"].tolist() == [0, 1, 0]
    with pytest.raises(mk.InputError, match="state 0 does not offer action 0"):
        env.step(0)
    assert env.step(1)[4]["action_mask"].tolist() == [1, 0, 1]
    assert env.step(2)[1:4] == (2, True, False)
    with pytest.raises(mk.InputError, match="call reset first"):
        env.step(0)


class Restless(mk.gym.TabularEnv):
    """Changes its actions at every reset."""

    def reset(self, *, seed=None, options=None):
        self.action_space = spaces.Discrete(int(self.action_space.n) + 1)
        return super().reset(seed=seed, options=options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mk.BestOfK(gymnasium.make("CartPole-v1"), 0), "k must be at least 1, not 0"),
        (lambda: mk.BestOfK(gymnasium.make("CartPole-v1"), 2.5), "k must be an integer, not 2.5"),
        (lambda: mk.BestOfK("CartPole-v1", 2), "env must be a Gymnasium environment, not 'CartPole-v1'"),
        (
            lambda: mk.BestOfK(gymnasium.make("CliffWalking-v1"), 2),
            "CliffWalking-v1 has no time limit, and may never end: give horizon=",
        ),
        (lambda: mk.BestOfK(Restless(lottery(1, 2)), 2).reset(), "Restless has changed its spaces, so its trials are"),
        (lambda: wrapped(1, returns=(2, 2)), "returns must be a pair (least, greatest), not (2, 2)"),
        (lambda: wrapped(1, returns=3), "returns must be a pair (least, greatest), not 3"),
        (lambda: wrapped(1, best_so_far=math.nan), "best_so_far must be finite, not nan"),
        (lambda: wrapped(1).step(0), "step: the trial is over, or none has begun: call reset first"),
        (lambda: mk.gym.TabularEnv("cliff"), "mdp must be a maxatk.MDP, not 'cliff'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(mk.InputError) as error:
        make()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_observations_that_cannot_be_flattened():
    class Words(mk.gym.TabularEnv):
        observation_space = spaces.Sequence(spaces.Discrete(2))

        def __init__(self):
            super().__init__(lottery(1))
            self.observation_space = spaces.Sequence(spaces.Discrete(2))

    with pytest.raises(mk.InputError, match="the observations of Words cannot be flattened to a Box"):
        mk.BestOfK(Words(), 2, flat=True)


def test_gymnasium_is_imported_only_when_needed():
    code = """
import sys
import maxatk as mk
assert "gymnasium" not in sys.modules
assert "BestOfK" in dir(mk)
sys.modules["gymnasium"] = None  # as if it were not installed
try:
    mk.BestOfK
except mk.MissingExtraError as error:
    print(error)
assert not hasattr(mk, "no_such_name")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Gymnasium is not installed: pip install 'maxatk[gym]'\n"


def test_the_wrapper_can_be_made_again_from_its_spec():
    env = mk.BestOfK(gymnasium.make("FrozenLake-v1"), 3, flat=True)
    again = gymnasium.make(env.spec)
    assert isinstance(again, mk.BestOfK)
    assert np.array_equal(again.reset(seed=1)[0], env.reset(seed=1)[0])


def test_rollouts_that_end_by_themselves():
    """Early or at the very last step, it is the environment that ended them; when all are over nothing is left."""
    mdp = mk.MDP.from_table([[[(1, 0, 1, True)], [(1, 0, 2, False)]]], horizon=2)
    env = mk.BestOfK(mk.gym.TabularEnv(mdp), 2)
    env.reset()
    env.step(1)
    info = env.step(0)[4]
    assert (info["rollout_return"], info["rollout_terminated"], info["rollout_truncated"]) == (3, True, False)
    observation, reward, over, _, info = env.step(0)
    assert (reward, over, info["rollout_return"]) == (0, True, 1)
    assert (info["rollout_terminated"], info["rollout_truncated"]) == (True, False)
    assert numbers(observation) == pytest.approx([1, math.log(4), math.log(2), 0, 0])


def test_a_time_limit_that_coincides_with_the_end():
    class Both(mk.gym.TabularEnv):
        def step(self, action):
            *seen, _, _, info = super().step(action)
            return *seen, True, True, info

    env = mk.BestOfK(Both(lottery(1)), 1)
    env.reset()
    info = env.step(0)[4]
    assert (info["rollout_terminated"], info["rollout_truncated"]) == (True, False)


def test_info_is_of_the_rollout_that_is_observed():
    """Masks at a boundary are those of the next start, and what the old rollout said last is kept aside."""
    mdp = mk.MDP.from_table({0: {1: [(1, 1, 0, False)]}, 1: {0: [(1, 0, 1, True)], 2: [(1, 0, 2, True)]}}, horizon=2)
    env = mk.BestOfK(mk.gym.TabularEnv(mdp), 2)
    _, info = env.reset()
    assert info["action_mask"].tolist() == env.action_masks().astype(int).tolist() == [0, 1, 0]
    assert env.step(1)[4]["action_mask"].tolist() == env.action_masks().astype(int).tolist() == [1, 0, 1]
    observation, _, _, _, info = env.step(2)
    assert (observation["observation"], info["rollout_over"]) == (0, True)
    assert info["action_mask"].tolist() == env.action_masks().astype(int).tolist() == [0, 1, 0]
    assert info["last_observation"] == 1
    assert info["last_info"]["action_mask"].tolist() == [1, 0, 1]
    env.step(1)
    *_, over, _, info = env.step(0)
    assert over
    assert (info["best_return"], info["rollout_returns"]) == (2, [2, 1])


def test_the_masks_of_taxi_after_a_boundary():
    env = mk.BestOfK(gymnasium.make(TAXI), 2, horizon=3)
    env.reset(seed=1)
    for _ in range(3):
        observation, *_, info = env.step(0)
    fresh = env.unwrapped.action_mask(int(observation["observation"]))
    assert info["action_mask"].tolist() == fresh.tolist() == env.action_masks().astype(int).tolist()


def test_masks_where_nobody_says_anything_and_where_a_method_does():
    env = mk.BestOfK(gymnasium.make("CartPole-v1"), 2)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [True, True]

    class Masked(gymnasium.Wrapper):
        def action_masks(self):
            return np.array([False, True])

    env = mk.BestOfK(Masked(gymnasium.make("CartPole-v1")), 2)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [False, True]
    env = mk.BestOfK(gymnasium.make("Pendulum-v1"), 2)
    with pytest.raises(mk.InputError, match="masks are for finitely many actions"):
        env.action_masks()


class Seen(gymnasium.Env):
    """Observes whatever it is given."""

    action_space = spaces.Discrete(2)
    horizon = 2

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(action), False, False, {}


def picture(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


def test_the_keys_of_a_dict_stay_where_they_are():
    inner = spaces.Dict({"image": picture(48, 48, 3), "direction": spaces.Discrete(4)})
    env = mk.BestOfK(Seen(inner), 2)
    assert set(env.observation_space.spaces) == {"image", "direction", *FIVE}
    assert env.observation_space.contains(env.reset(seed=0)[0])
    with pytest.raises(mk.InputError, match="the observations of Seen have an entry 'best' already: rename it"):
        mk.BestOfK(Seen(spaces.Dict({"best": spaces.Discrete(2)})), 2)


@pytest.mark.parametrize(
    ("inner", "images", "length"),
    [
        (picture(48, 48, 3), {"observation": (48, 48, 3)}, 5),
        (picture(3, 84, 84), {"observation": (3, 84, 84)}, 5),
        (picture(7, 7, 3), {}, 7 * 7 * 3 + 5),
        (spaces.Dict({"image": picture(64, 64, 3), "turn": spaces.Discrete(4)}), {"image": (64, 64, 3)}, 4 + 5),
        (spaces.Dict({"image": picture(7, 7, 3), "turn": spaces.Discrete(4)}), {}, 147 + 4 + 5),
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]), {}, 3 + 2 + 5),
        (spaces.Box(0, 255, (48, 48, 3), np.float32), {}, 48 * 48 * 3 + 5),
    ],
)
def test_flat_observations_keep_images_as_images(inner, images, length):
    env = mk.BestOfK(Seen(inner), 2, flat=True)
    observation, _ = env.reset(seed=0)
    for _ in range(3):
        assert env.observation_space.contains(observation)
        vector = observation["vector"] if images else observation
        assert vector.shape == (length,)
        assert {key: observation[key].shape for key in images} == images
        assert not images or set(observation) == {*images, "vector"}
        observation = env.step(1)[0]
    assert vector[-5:].tolist() == pytest.approx([1, math.log(3), 0, 0.5, 1])


def test_text_cannot_be_flattened():
    inner = spaces.Dict({"image": picture(7, 7, 3), "mission": spaces.Text(9)})
    with pytest.raises(mk.InputError, match="the entry 'mission' of the observations of Seen cannot be flattened"):
        mk.BestOfK(Seen(inner), 2, flat=True)
    assert mk.BestOfK(gymnasium.wrappers.FilterObservation(Seen(inner), ["image"]), 2, flat=True)


def test_normalised_rewards_inside_are_warned_about():
    inside = gymnasium.wrappers.NormalizeReward(gymnasium.make("CartPole-v1"))
    with pytest.warns(UserWarning, match="CartPole-v1 is wrapped in NormalizeReward, whose scale drifts"):
        mk.BestOfK(inside, 2)


@pytest.mark.parametrize("best_so_far", [-math.inf, -2.0, 4.0])
@pytest.mark.parametrize("scale", [1, 0.1])
def test_rewards_with_any_potential_add_up_to_the_best_return(scale, best_so_far):
    rng = np.random.default_rng(1)
    noise = iter(rng.normal(0, 50, 10_000).tolist())
    env = wrapped(
        -3, 1, 2, k=3, horizon=4, best_so_far=best_so_far, potential=lambda o: next(noise), reward_scale=scale
    )
    for _ in range(20):
        env.reset()
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(int(rng.integers(3)))
            total += reward
        gained = info["best_return"] - (best_so_far if best_so_far > -math.inf else 0)
        assert total == pytest.approx(scale * gained, abs=1e-9)


def optimal_decisions(mdp, k, potential, dense, at_resets=True):
    """The best first actions at every point of a trial, by trying every sequence of decisions, with shaped rewards.

    Without ``at_resets``, what a reset adds is not paid.
    """
    best_actions = {}
    starts = list(zip(mdp.reset_prob.tolist(), mdp.start_state.tolist(), strict=True))

    def worth(rollout, best, so_far, step, state):
        if rollout == k:
            return best
        if not dense:
            return best if best > -math.inf else 0.0
        return max(best, so_far + potential[state])

    def value(rollout, best, so_far, step, state, paid):
        """The most that can still be paid."""
        if rollout == k:
            return 0.0
        options = {}
        for a in mdp.actions(step, state):
            total = 0.0
            for o in mdp.outcomes(step, state, a):
                g, h = so_far + o.reward, step + 1
                if o.next_state is None or h == mdp.horizon:
                    m = max(best, g)
                    after = [(q, (rollout + 1, m, 0.0, 0, s)) for q, s in starts]
                    after = after if rollout + 1 < k else [(1.0, (k, m, 0.0, 0, 0))]
                else:
                    after = [(1.0, (rollout, best, g, h, o.next_state))]
                for q, place in after:
                    come = worth(*place)
                    unpaid = 0.0 if at_resets or place[0] == rollout else come - place[1]
                    total += o.prob * q * (come - unpaid - paid + value(*place, come))
            options[a] = total
        top = max(options.values())
        best_actions[rollout, best, so_far, step, state] = {a for a, v in options.items() if v > top - 1e-9}
        return top

    return sum(q * value(0, -math.inf, 0.0, 0, s, 0.0) for q, s in starts), best_actions


@pytest.mark.parametrize("seed", range(6))
def test_potentials_leave_the_best_decisions_as_they_are(seed):
    """Everywhere, by brute force over all decisions of small tables, for arbitrary potentials."""
    rng = np.random.default_rng(seed)
    S, A, H, k = 2, 2, 2, 2
    table = [
        [
            [
                (0.5, int(rng.integers(S)), float(rng.integers(-3, 4)), bool(rng.integers(2))),
                (0.5, int(rng.integers(S)), float(rng.integers(-3, 4)), False),
            ]
            for _ in range(A)
        ]
        for _ in range(S)
    ]
    mdp = mk.MDP.from_table(table, horizon=H, start=[0.25, 0.75])
    optimum = float(mk.solve(mdp, k, solver=mk.Exact()).exact)
    value, actions = optimal_decisions(mdp, k, np.zeros(S), dense=False)
    assert value == pytest.approx(optimum, abs=1e-9)
    for potential in (np.zeros(S), rng.normal(0, 5, S), np.array([100.0, -100.0])):
        shaped, same = optimal_decisions(mdp, k, potential, dense=True)
        assert shaped == pytest.approx(optimum, abs=1e-9)
        assert same == actions


def test_potentials_must_be_paid_at_resets():
    """Else the best first action is another: the example of docs/theory/shaping.md."""
    mdp, ahead = mk.MDP.from_table([[[(1, 0, 1, True)], [(0.5, 0, 0, True), (0.5, 0, 2.5, True)]]], horizon=1), [1.0]
    value, actions = optimal_decisions(mdp, 2, ahead, dense=True)
    unpaid, others = optimal_decisions(mdp, 2, ahead, dense=True, at_resets=False)
    assert (value, unpaid) == (15 / 8, 7 / 4)
    first = (0, -math.inf, 0.0, 0, 0)
    assert (actions[first], others[first]) == ({1}, {0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward_scale": 0}, "reward_scale must be more than 0, not 0"),
        ({"reward_scale": math.nan}, "reward_scale must be finite, not nan"),
        ({"potential": 3}, "potential must be a function of the observation, not 3"),
    ],
)
def test_bad_shaping(arguments, message):
    with pytest.raises(mk.InputError, match=message):
        wrapped(1, **arguments)


def test_a_potential_that_is_no_number():
    env = wrapped(1, horizon=2, potential=lambda o: math.inf)
    env.reset()
    with pytest.raises(mk.InputError, match="the potential must be finite, not inf"):
        env.step(0)


def test_stopping_is_among_the_masks_and_ends_a_trial_as_others_end():
    env = wrapped(
        -1, 3, k=3, horizon=1, cost=0.5, stop=True, returns=(-4, 4), potential=lambda s: 9.0, reward_scale=0.1
    )
    env.reset()
    assert env.action_masks().tolist() == [True, True, True]
    rewards = [env.step(1)[1]]
    _, reward, over, _, info = env.step(2)
    rewards.append(reward)
    assert over
    assert (info["best_return"], info["rollout_returns"], info["rollout_over"]) == (3, [3], False)
    assert sum(rewards) == pytest.approx(0.1 * (3 - 0.5), abs=1e-12)
    env.reset()
    _, reward, over, _, info = env.step(2)  # with nothing in hand it is worth the least return
    assert (reward, over, info["best_return"], info["rollout_returns"]) == (pytest.approx(-0.4), True, -4, [])
