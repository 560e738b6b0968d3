"""Gymnasium's tables, read as problems."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.blackjack import BlackjackEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import maxatk as mk

TAXI = max(name for name in gymnasium.registry if name.startswith("Taxi-"))  # its version differs by release


@pytest.mark.parametrize(
    ("name", "arguments", "states", "horizon"),
    [
        ("FrozenLake-v1", {}, 16, 100),
        ("FrozenLake-v1", {"is_slippery": False}, 16, 100),
        ("FrozenLake8x8-v1", {}, 64, 200),
        ("CliffWalking-v1", {"horizon": 60}, 48, 60),
        ("CliffWalking-v1", {"horizon": 60, "is_slippery": True}, 48, 60),
        (TAXI, {}, 500, 200),
    ],
)
def test_every_row_is_the_environments(name, arguments, states, horizon):
    mdp = mk.MDP.from_gymnasium(name, **arguments)
    assert (mdp.n_states, mdp.horizon) == (states, horizon)
    made = gymnasium.make(name, **{k: v for k, v in arguments.items() if k != "horizon"})
    for s, actions in made.unwrapped.P.items():
        assert mdp.actions(0, s) == sorted(actions)
        for a, outcomes in actions.items():
            expected = {}
            for p, t, r, over in outcomes:
                key = (None if over else t, r)
                expected[key] = expected.get(key, 0) + p
            chances = {(o.next_state, o.reward): o.prob for o in mdp.outcomes(0, s, a)}
            assert chances == pytest.approx({key: p for key, p in expected.items() if p > 0}, abs=1e-12)
    start = np.zeros(states)
    start[mdp.start_state] = mdp.start_prob
    assert start.tolist() == pytest.approx(made.unwrapped.initial_state_distrib.tolist())


def test_an_environment_in_place_of_an_id():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=7)
    assert mk.MDP.from_gymnasium(env).horizon == 7
    assert mk.MDP.from_gymnasium(env, horizon=3).horizon == 3
    assert mk.MDP.from_gymnasium(env.unwrapped, horizon=3) == mk.MDP.from_gymnasium(env, horizon=3)
    assert mk.MDP.from_gymnasium(env, start=4).start_state.tolist() == [4]


def test_a_short_lake_can_be_solved_exactly():
    """Without slipping the goal is six steps away; with K = 1 and one step too few it is out of reach."""
    lake = mk.MDP.from_gymnasium("FrozenLake-v1", is_slippery=False, horizon=6)
    assert mk.solve(lake, 2, solver=mk.Exact()).exact == 1
    lake = mk.MDP.from_gymnasium("FrozenLake-v1", is_slippery=False, horizon=5)
    assert mk.solve(lake, 2, solver=mk.Exact()).exact == 0


@pytest.mark.parametrize(
    ("env", "arguments", "message"),
    [
        ("CartPole-v1", {}, "CartPole-v1 has no table of outcomes (no attribute P) and no model, so it cannot be read"),
        (
            "Pendulum-v1",
            {},
            "Pendulum-v1 has continuous actions and no table of outcomes, so it cannot be read as a problem",
        ),
        ("CliffWalking-v1", {}, "CliffWalking-v1 has no time limit of its own: give horizon="),
        ("NoLake-v1", {}, "NoLake-v1 cannot be made: "),
        ("not an id", {}, None),
        ("FrozenLake-v1", {"icy": True}, None),
        ("FrozenLake-v1", {"map_name": "none"}, "FrozenLake-v1 cannot be made: KeyError: "),
        (3, {}, "env must be a Gymnasium environment or its id, not 3"),
        ("FrozenLake-v1", {"horizon": 0}, "horizon must be between 1 and 10000000, not 0"),
    ],
)
def test_clear_errors(env, arguments, message):
    with pytest.raises(mk.InputError) as error:
        mk.MDP.from_gymnasium(env, **arguments)
    assert "\n" not in str(error.value)
    assert message is None or str(error.value).startswith(message)


def test_wrappers_that_change_the_problem_are_refused():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 10 * r)
    with pytest.raises(mk.InputError, match="FrozenLake-v1 is wrapped in TransformReward"):
        mk.MDP.from_gymnasium(env)


def test_arguments_need_an_id():
    env = gymnasium.make("FrozenLake-v1")
    with pytest.raises(mk.InputError, match=r"is_slippery is an argument of gymnasium\.make"):
        mk.MDP.from_gymnasium(env, is_slippery=True)


class Bare(gymnasium.Env):
    """A table without a word on how rollouts start."""

    P = {0: {0: [(1.0, 0, 0.0, True)]}}  # noqa: RUF012
    observation_space = gymnasium.spaces.Discrete(1)
    action_space = gymnasium.spaces.Discrete(1)


def test_an_environment_that_does_not_say_how_it_resets():
    with pytest.raises(mk.InputError, match="Bare has no time limit of its own: give horizon="):
        mk.MDP.from_gymnasium(Bare())
    with pytest.raises(mk.InputError, match=r"Bare does not define its resets .*: give start="):
        mk.MDP.from_gymnasium(Bare(), horizon=2)
    assert mk.MDP.from_gymnasium(Bare(), horizon=2, start=0).n_states == 1


def backward_induction(env, horizon):
    """The best mean return of one rollout, from the environment's own table."""
    table, starts = env.unwrapped.P, env.unwrapped.initial_state_distrib
    value = np.zeros(len(table))
    for _ in range(horizon):
        value = np.array(
            [
                max(sum(p * (r + (0 if over else value[t])) for p, t, r, over in row) for row in table[s].values())
                for s in range(len(table))
            ]
        )
    return float(starts @ value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "horizon", "trials"),
    [
        ("FrozenLake-v1", {}, None, 30),
        ("FrozenLake-v1", {}, 15, 150),
        ("FrozenLake-v1", {"is_slippery": False}, None, 10),
        ("FrozenLake8x8-v1", {}, None, 20),
        ("FrozenLake8x8-v1", {"is_slippery": False}, None, 5),
        ("CliffWalking-v1", {}, 60, 10),
        ("CliffWalking-v1", {"is_slippery": True}, 60, 30),
        (TAXI, {}, None, 10),
    ],
)
def test_tables_are_planned_and_plans_run_in_the_real_environment(name, arguments, horizon, trials):
    mdp = mk.MDP.from_gymnasium(name, horizon=horizon, **arguments)
    env = gymnasium.make(name, max_episode_steps=mdp.horizon, **arguments)
    alone = mk.solve(mdp, 1)
    value = backward_induction(env, mdp.horizon)
    assert alone.lower - 1e-9 <= value <= alone.upper + 1e-9
    plan = mk.solve(mdp, 5)
    assert plan.gap <= max(1e-3 * (mdp.return_range[1] - value), 1e-6)
    assert value - 1e-9 <= plan.upper
    runs = mk.simulate(env, plan.policy, trials=trials, rng=0)
    assert runs.returns.shape == (trials, 5)
    low, high = runs.interval(0.9997)
    unseen = 10 / trials if name.startswith("FrozenLake") else 1e-6  # returns are 0 or 1, and all may come out alike
    assert low - unseen <= plan.upper
    assert plan.lower <= high + unseen


def test_a_plan_is_not_run_in_an_environment_of_another_size():
    plan = mk.solve(mk.MDP.from_gymnasium("FrozenLake-v1", horizon=4), 2)
    for name, message in [
        ("FrozenLake8x8-v1", "the policy was planned for 16 states, but the environment has 64"),
        ("CartPole-v1", "the policy was planned for 16 states, but the environment has no finite number of them"),
    ]:
        with pytest.raises(mk.InputError, match=message):
            mk.simulate(gymnasium.make(name), plan.policy, trials=1)


class Doubles(gymnasium.Wrapper):
    """Pays twice as much, without being a RewardWrapper."""

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, 2 * reward, *rest


class Silent(gymnasium.Wrapper):
    """Changes nothing."""


class Kept(gymnasium.wrappers.RecordEpisodeStatistics):
    """Derived from one that changes nothing, but changes something."""

    def step(self, action):
        return super().step(0)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: gymnasium.wrappers.NormalizeReward(env),
        lambda env: gymnasium.wrappers.StickyAction(env, 0.1),
        lambda env: gymnasium.wrappers.RecordEpisodeStatistics(Doubles(env)),
        Doubles,
        Kept,
        lambda env: mk.BestOfK(env, 2),
    ],
    ids=["NormalizeReward", "StickyAction", "inside", "Doubles", "Kept", "BestOfK"],
)
def test_wrappers_that_may_change_anything_are_refused(wrap):
    env = wrap(gymnasium.make("FrozenLake-v1"))
    with pytest.raises(mk.InputError, match=r"FrozenLake-v1 is wrapped in \w+, which may change"):
        mk.MDP.from_gymnasium(env)
    assert mk.MDP.from_gymnasium(env.unwrapped, horizon=100) == mk.MDP.from_gymnasium("FrozenLake-v1")


def test_wrappers_that_change_nothing_are_looked_through():
    env = Silent(gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("FrozenLake-v1")))
    assert mk.MDP.from_gymnasium(env) == mk.MDP.from_gymnasium("FrozenLake-v1")


class Windy(FrozenLakeEnv):
    """Steps as its class's table does not say."""

    def step(self, action):
        return super().step(0)


class Elsewhere(FrozenLakeEnv):
    """Resets as its class does not say."""

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        self.s = 5
        return 5, info


class Quiet(FrozenLakeEnv):
    """Overrides nothing that counts."""

    def render(self):
        return None


class Told(Windy):
    """Says itself what it does."""

    P = {0: {0: [(1.0, 0, 0.0, True)]}}  # noqa: RUF012
    initial_state_distrib = (1.0,)

    def __init__(self):
        self.action_space = self.observation_space = gymnasium.spaces.Discrete(1)

    def step(self, action):
        return 0, 0.0, True, False, {}


class Generous(BlackjackEnv):
    """Pays twice as much."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, 2 * reward, *rest


def test_a_subclass_that_overrides_step_is_not_its_parents_table():
    """The table of the parent used to be read, without a word."""
    with pytest.raises(mk.InputError, match=r"^Windy: Windy overrides step of FrozenLakeEnv, whose table may not .*$"):
        mk.MDP.from_gymnasium(Windy(), horizon=5)
    table = Windy().unwrapped.P
    assert mk.MDP.from_table(table, horizon=5) == mk.MDP.from_gymnasium(FrozenLakeEnv(), horizon=5)
    with pytest.raises(mk.InputError, match=r"Elsewhere overrides reset of FrozenLakeEnv, .*; give start=$"):
        mk.MDP.from_gymnasium(Elsewhere(), horizon=5)
    with pytest.raises(mk.InputError, match=r"Elsewhere overrides reset of FrozenLakeEnv, .*; give start=$"):
        mk.GymnasiumModel(Elsewhere(), horizon=5)
    assert mk.MDP.from_gymnasium(Elsewhere(), horizon=5, start=5).start_state.tolist() == [5]
    with pytest.raises(mk.InputError, match="Generous overrides step of BlackjackEnv"):
        mk.MDP.from_gymnasium(Generous())
    assert mk.MDP.from_gymnasium(Quiet(), horizon=5) == mk.MDP.from_gymnasium(FrozenLakeEnv(), horizon=5)
    assert mk.MDP.from_gymnasium(Told(), horizon=5).n_states == 1


@pytest.mark.parametrize("unwrapped", [False, True])
def test_a_step_that_was_replaced_is_not_its_class_table(unwrapped):
    env = Silent(gymnasium.make("FrozenLake-v1"))
    one = env.unwrapped if unwrapped else env
    one.step = lambda action: (0, 1.0, True, False, {})
    with pytest.raises(mk.InputError, match="replaces the step of its class" if unwrapped else "is wrapped in Silent"):
        mk.MDP.from_gymnasium(env)


def test_a_fickle_passenger_is_in_no_table():
    with pytest.raises(mk.InputError, match=f"{TAXI} has a fickle passenger"):
        mk.MDP.from_gymnasium(TAXI, fickle_passenger=True)
    with pytest.raises(mk.InputError, match="fickle"):
        mk.GymnasiumModel(TAXI, fickle_passenger=True, reward_range=(-10, 20))


def test_time_limits_of_wrappers_without_a_spec():
    env = gymnasium.wrappers.TimeLimit(Bare(), 7)
    assert env.spec is None
    assert mk.MDP.from_gymnasium(env, start=0).horizon == 7
    assert mk.BestOfK(env, 3).horizon == 7
    assert mk.BestOfK(gymnasium.wrappers.TimeLimit(env, 5), 3).horizon == 5

    class Counted(Bare):
        max_steps = 9

    assert mk.BestOfK(Counted(), 3).horizon == 9
    assert mk.BestOfK(Counted(), 3, horizon=20).horizon == 9


def test_a_state_read_from_an_observation():
    """A policy of numbered states runs in an environment that observes something else."""

    class Pairs(gymnasium.Env):
        observation_space = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(4)])
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place = 0
            return (0, 0), {}

        def step(self, action):
            self.place += 1
            return (self.place, action), float(action), self.place == 2, False, {}

    def outcomes(state, action):
        return [(1, (state[0] + 1, action), action, state[0] == 1)]

    mdp = mk.MDP.explore((0, 0), [0, 1], outcomes, horizon=2)

    states = mdp.states
    plan = mk.solve(mdp, 2)
    runs = mk.simulate(Pairs(), plan.policy, trials=3, rng=0, state_of=states.index)
    assert runs.best.tolist() == [2, 2, 2]
    with pytest.raises(mk.InputError, match="the environment has no finite number of them"):
        mk.simulate(Pairs(), plan.policy, trials=3, rng=0)
    with pytest.raises(mk.InputError, match="state_of must be a function of an environment's observation, not 3"):
        mk.simulate(Pairs(), plan.policy, trials=3, state_of=3)
    with pytest.raises(mk.InputError, match="state_of must be a function"):
        mk.simulate(mdp, plan.policy, trials=3, state_of=states.index)
