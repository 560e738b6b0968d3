"""From simulators to tables: functions, models, rules, and environments that are copied."""

import random
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings

import maxatk as mk
from problems import problem, specs


def stairs(state, action):
    """Up one or two stairs, or fall; labels of all kinds."""
    floor = state[0]
    if action == "down":
        return [(1, ("floor", floor), floor, True)]
    return [(Fraction(1, 3), (floor + action,), 0, False), (Fraction(2, 3), (0,), -1, floor > 2)]


def test_what_actions_cost_is_a_function_of_state_and_action():
    def outcomes(n, action):
        return [(1, n + 1, 1, action == "leave")]

    mdp = mk.MDP.explore(
        0, ["stay", "leave"], outcomes, horizon=3, action_cost=lambda n, action: n * (action == "stay")
    )
    stay = [mdp.exact_action_cost_of(0, mdp.states.index(n), 0) for n in range(3)]
    assert stay == [0, 1, 2]
    assert mdp.exact_action_cost_of(0, 1, 1) == 0
    with pytest.raises(mk.InputError, match=r"action_cost must be a function of a state and an action, not 1"):
        mk.MDP.explore(0, [0], outcomes, horizon=3, action_cost=1)
    with pytest.raises(mk.InputError, match=r"row \(state 1, action 0, step 0\): cost -1.0 is negative"):
        mk.MDP.explore(0, ["stay", "leave"], outcomes, horizon=3, action_cost=lambda n, action: -n)


def test_states_are_numbered_as_they_are_met_and_fractions_stay_exact():
    mdp = mk.MDP.explore((0,), lambda s: [1, 2, "down"] if s[0] else [1], stairs, horizon=3)
    states = mdp.states
    assert list(states) == [(0,), (1,), (2,), (3,)]  # what only the last step leads to is not among them
    assert [states.index(s) for s in states] == [0, 1, 2, 3]
    assert (states.actions, mdp.action_names) == ((1, 2, "down"), ("1", "2", "down"))
    assert (9,) not in states
    assert [] not in states
    assert mdp.exact_outcomes(1, 1, 0) == [(Fraction(2, 3), 0, -1), (Fraction(1, 3), 2, 0)]
    assert mdp.actions(0, 0) == [0]
    assert mdp.state_names[2] == "(2,)"
    with pytest.raises(mk.InputError, match=r"\(9,\) is not one of the 4 states that were explored"):
        states.index((9,))
    assert repr(states) == "States(4: (0,), (1,), (2,), ...)"


@given(specs())
@settings(max_examples=40)
def test_a_table_that_is_explored_is_the_table(spec):
    """Explored by its own outcomes, a problem is worth what it is worth; only states out of reach are missing."""
    mdp = problem(spec)
    if not mdp.homogeneous:
        return

    def outcomes(s, a):
        return [(o.prob, o.next_state, o.reward, o.next_state is None) for o in mdp.exact_outcomes(0, s, a)]

    start = {s: p for p, s in mdp.exact_start()}
    again = mk.MDP.explore(start, lambda s: mdp.actions(0, s), outcomes, horizon=mdp.horizon)
    states = again.states
    assert set(states) <= set(range(mdp.n_states))
    assert mk.solve(again, 2, solver=mk.Exact()).exact == mk.solve(mdp, 2, solver=mk.Exact()).exact


def test_a_limit_on_states_stops_clearly():
    def outcomes(s, a):
        return [(1, s + 1, 0, False)]

    assert mk.MDP.explore(0, [0], outcomes, horizon=50).n_states == 50
    assert mk.MDP.explore(0, [0], outcomes, horizon=50, max_states=50).n_states == 50
    with pytest.raises(mk.TooLargeError, match="more than 20 states can be reached: give max_states= for more"):
        mk.MDP.explore(0, [0], outcomes, horizon=50, max_states=20)


def test_progress_is_told():
    told = []
    mk.MDP.explore(0, [0], lambda s, a: [(1, s + 1, 0, False)], horizon=300, progress=told.append)
    assert [at.states for at in told] == sorted(at.states for at in told)
    assert len(told) >= 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0], lambda s, a: []), "states must be hashable, such as tuples of numbers, not [0]"),
        ((([0],), [0], lambda s, a: []), "states must be hashable, such as tuples of numbers, not ([0],)"),
        ((0, 3, lambda s, a: []), "actions must be a function of a state, or a list, not 3"),
        ((0, [[1]], lambda s, a: []), "actions must be hashable, not [1]"),
        ((0, [0], 3), "outcomes must be a function of a state and an action, not 3"),
        ((0, lambda s: [], lambda s, a: []), "state 0 offers no action"),
        ((0, [0], lambda s, a: [(1, 0, 0)]), "outcomes(0, 0)[0] must be (probability, next state, reward, done), not"),
        ((0, [0], lambda s, a: [(1, 0, 0, 2)]), "outcomes(0, 0)[0]: done must be true or false, not 2"),
        (
            ("a", [0], lambda s, a: [(0.5, "b", 0, s == "b")]),
            "row (state 0, action 0, step 0): probabilities sum to 0.5 (state 0 is 'a')",
        ),
        (({}, [0], lambda s, a: []), "start is an empty distribution"),
        (({0: 0.5}, [0], lambda s, a: [(1, 0, 0, True)]), "start: probabilities sum to 0.5"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(mk.InputError) as error:
        mk.MDP.explore(*arguments, horizon=2)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


# Blackjack.


def dealt_once(env, rng):
    """A round in which the player stops at 17 or more, in the environment itself."""
    (total, _, _), _ = env.reset(seed=rng.randrange(2**31))
    over = False
    while not over:
        (total, _, _), reward, over, _, _ = env.step(int(total < 17))
    return reward


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{}, {"sab": False, "natural": True}, {"sab": False}])
def test_blackjack_by_its_rules_is_the_environments(arguments):
    mdp = mk.gym.explore("Blackjack-v1", **arguments)
    states = mdp.states
    table = np.array([[int(states[s][0] < 17) for s in range(len(states))]] * mdp.horizon)
    law = mk.evaluate(mdp, mk.MarkovPolicy(table, k=1)).law
    env, rng = gymnasium.make("Blackjack-v1", **arguments).unwrapped, random.Random(0)
    rewards = np.array([dealt_once(env, rng) for _ in range(6000)])
    for value, prob in zip(law.values.tolist(), law.probs.tolist(), strict=True):
        share = np.mean(rewards == value)
        assert abs(share - prob) < 4.5 * np.sqrt(prob * (1 - prob) / len(rewards))


def test_a_plan_for_blackjack_is_run_in_it():
    mdp = mk.gym.explore("Blackjack-v1")
    states = mdp.states
    plan = mk.solve(mdp, 2)
    env = gymnasium.make("Blackjack-v1")
    runs = mk.simulate(env, plan.policy, trials=400, rng=0, state_of=lambda _: states.now(env))
    low, high = runs.interval(0.9999)
    assert low < plan.upper
    assert plan.lower < high


# Environments that are copied.


class Dice(gymnasium.Env):
    """Adds dice up; draws its start, too."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    horizon = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total = int(self.np_random.choice([0, 5], p=[0.25, 0.75]))
        return self._seen(), {}

    def step(self, action):
        if action == 0:
            return self._seen(), float(self.total), True, False, {}
        self.total += int(self.np_random.integers(1, 4))
        return self._seen(), 0.0, self.total > 9, False, {}

    def _seen(self):
        return np.array([self.total], np.float32)


def test_copies_are_tried_out_with_all_that_they_may_draw():
    mdp = mk.gym.explore(Dice(), key=lambda env: env.total)
    states = mdp.states

    def outcomes(total, action):
        if action == 0:
            return [(1, total, total, True)]
        return [(1 / 3, total + n, 0, total + n > 9) for n in (1, 2, 3)]

    by_hand = mk.MDP.explore({0: 0.25, 5: 0.75}, [0, 1], outcomes, horizon=3)
    assert mdp == by_hand
    env = Dice()
    env.reset(seed=0)
    assert states[states.now(env)] == env.total
    one = mk.gym.explore(Dice(), key=lambda env: env.total, seed=0)
    assert len(one.start_state) == 1


def test_what_cannot_be_listed_or_copied(tune):
    class Real(Dice):
        def step(self, action):
            self.total += self.np_random.random()
            return self._seen(), 0.0, False, False, {}

    with pytest.raises(mk.InputError, match=r"cannot be listed: np_random.random"):
        mk.gym.explore(Real(), key=lambda env: env.total)

    class Open(Dice):
        def __deepcopy__(self, memo):
            raise TypeError("a window")

    with pytest.raises(mk.InputError, match="Open cannot be copied: TypeError"):
        mk.gym.explore(Open(), key=lambda env: env.total)

    class Many(Dice):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.total = int(self.np_random.integers(10**6))
            return self._seen(), {}

    tune(most_resets=50)
    with pytest.raises(mk.TooLargeError, match=r"Many resets \(give seed= for one of its resets\) in more than 50"):
        mk.gym.explore(Many(), key=lambda env: env.total)


def shortest_success(env, horizon):
    """The return of the quickest success from here, by trying all ways in copies: an independent search."""
    import copy

    frontier, seen = [copy.deepcopy(env)], set()
    for step in range(horizon):
        following = []
        for one in frontier:
            for action in range(one.action_space.n):
                after = copy.deepcopy(one)
                _, reward, over, _, _ = after.step(action)
                if reward > 0:
                    return step, reward
                place = (after.agent_pos, after.agent_dir, after.grid.encode().tobytes(), after.carrying is None)
                place = (tuple(map(int, place[0])), *place[1:])
                if not over and place not in seen:
                    seen.add(place)
                    following.append(after)
        frontier = following
    return None, 0.0


@pytest.mark.parametrize("name", ["MiniGrid-LavaGapS5-v0", "MiniGrid-DoorKey-5x5-v0", "MiniGrid-Empty-5x5-v0"])
def test_minigrid(name):
    """One layout, whose best return is that of the quickest success; and a plan that has it in the environment."""
    pytest.importorskip("minigrid", reason="MiniGrid is in the extra worlds")

    class Fixed(gymnasium.Wrapper):
        def reset(self, *, seed=None, options=None):
            return self.env.reset(seed=3, options=options)

    mdp = mk.gym.explore(name, horizon=25, seed=3)

    states = mdp.states
    plan = mk.solve(mdp, 2)
    env = gymnasium.make(name)
    env.reset(seed=3)
    _, best = shortest_success(env.unwrapped, 25)
    assert plan.lower - 1e-9 <= best <= plan.upper + 1e-9
    fixed = Fixed(env)
    runs = mk.simulate(fixed, plan.policy, trials=2, rng=0, state_of=lambda _: states.now(fixed))
    assert runs.best.tolist() == pytest.approx([best, best])


def test_the_layouts_of_minigrid_are_listed():
    """LavaGap's three gaps are equally likely; every layout that the environment draws is among those listed."""
    pytest.importorskip("minigrid", reason="MiniGrid is in the extra worlds")
    mdp = mk.gym.explore("MiniGrid-LavaGapS5-v0", horizon=12)
    states = mdp.states
    assert mdp.reset_prob.tolist() == pytest.approx([1 / 3] * 3)
    env = gymnasium.make("MiniGrid-LavaGapS5-v0")
    found = set()
    for seed in range(20):
        env.reset(seed=seed)
        found.add(states.now(env))
    assert found == set(mdp.start_state.tolist())
    with pytest.raises(mk.InputError, match="start= cannot be given"):
        mk.MDP.from_gymnasium("MiniGrid-LavaGapS5-v0", start=0)


CLASSICS = [
    *("5Walk-v0", "19Walk-v0", "ClassicGridworld-v0", "CliffWalk-v0", "DynaMaze-v0", "FourRooms-v0"),
    *("SparseGridworld-v0", "WindyGridworld-v0", "WindyGridworldKings-v0", "WindyGridworldKingsNoOp-v0"),
    "WindyGridworldKingsStochastic-v0",
]


@pytest.mark.parametrize("name", CLASSICS)
def test_gym_classics(name):
    """A table by its raw transitions; what the environment does is in it, and about as often as it says."""
    gym_classics = pytest.importorskip("gym_classics", reason="gym-classics is in the extra worlds")
    if gym_classics._backend is None:
        gym_classics.register("gymnasium")
    mdp = mk.MDP.from_gymnasium(name, horizon=15)
    env = gymnasium.make(name)
    rng = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    assert state in mdp.start_state
    seen = {}
    for _ in range(300):
        action = int(rng.integers(mdp.n_actions))
        after, reward, over, _, _ = env.step(action)
        key = (None if over else int(after), float(reward))
        seen.setdefault((int(state), action), []).append(key)
        state = env.reset()[0] if over else after
    for (s, a), outcomes in seen.items():
        listed = {(o.next_state, o.reward): o.prob for o in mdp.outcomes(0, s, a)}
        assert set(outcomes) <= set(listed)
    assert mk.solve(mdp, 3).gap < 1


def test_gym_classics_model_loses_what_we_keep():
    """Its own model has one reward for each next state; the raw transitions have all."""
    gym_classics = pytest.importorskip("gym_classics", reason="gym-classics is in the extra worlds")
    if gym_classics._backend is None:
        gym_classics.register("gymnasium")
    env = gymnasium.make("ClassicGridworld-v0").unwrapped
    mdp = mk.MDP.from_gymnasium("ClassicGridworld-v0", horizon=5)
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            expected = {}
            for after, reward, over, prob in env._generate_transitions(env.decode(s), a):
                key = (None if over else env.encode(after), float(reward))
                expected[key] = expected.get(key, 0) + prob
            assert {(o.next_state, o.reward): o.prob for o in mdp.outcomes(0, s, a)} == pytest.approx(expected)
