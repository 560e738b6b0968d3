"""Trials agree with exact values, are the same for any number of threads, and run in tables and environments alike."""

import importlib
import math
import subprocess
import sys
from fractions import Fraction

import gymnasium
import numpy as np
import pytest

import maxatk as mk
import oracles
from maxatk.base.returns import common_scale
from policies import KINDS, policies, scrambled

module = importlib.import_module("maxatk.evaluation.simulate")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_is_the_value(kind, seed):
    """Twenty problems; at this level one interval in 3,000 would miss."""
    mdp = mk.instances.random_sparse(4, 3, 4, successors=2, rewards=range(-3, 4), rng=seed)
    policy = policies(mdp, 3, seed)[kind]
    runs = mk.simulate(mdp, policy, trials=20_000, rng=seed)
    truth = float(oracles.policy_value(mdp, policy, 3))
    low, high = runs.interval(0.9997)
    assert low <= truth <= high
    assert runs.returns.shape == (20_000, 3)
    assert runs.best.tolist() == runs.returns.max(axis=1).tolist()
    assert runs.mean == runs.best.mean()


@pytest.mark.parametrize("solver", [mk.Certified(), mk.Exact(), mk.Midpoint(0.25)])
def test_plans_earn_what_they_promise(solver):
    rng = np.random.default_rng(5)
    mdp = mk.instances.random_sparse(3, 2, 3, successors=2, rng=5)
    mdp = mdp.with_rewards(rng.integers(0, 9, len(mdp.reward)) / 8)
    plan = mk.solve(mdp, 2, solver=solver)
    low, high = mk.simulate(mdp, plan.policy, trials=20_000, rng=1).interval(0.9997)
    assert low <= mk.evaluate(mdp, plan.policy).upper
    assert mk.evaluate(mdp, plan.policy).lower <= high


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["markov", "plan", "mixed", "adaptive"])
def test_threads_change_nothing(kind, tune):
    tune(trial_block=64)
    mdp = mk.instances.windy_cliff()
    part = mk.MarkovPolicy(np.ones((40, 48), int), k=1)
    policy = {
        "markov": mk.MarkovPolicy(np.zeros((40, 48), int), k=2),
        "plan": mk.solve(mdp, 2).policy,
        "mixed": mk.MixedPolicy([part, mk.solve(mdp, 1).policy], [0.5, 0.5], 2),
        "adaptive": mk.AdaptivePolicy(scrambled(mdp, 2, 0), 2, 40),
    }[kind]
    runs = [mk.simulate(mdp, policy, trials=300, rng=7, threads=n) for n in (1, 2, 3)]
    assert all((runs[0].returns == run.returns).all() for run in runs)
    assert runs[0].steps == runs[1].steps
    assert (mk.simulate(mdp, policy, trials=300, rng=8).returns != runs[0].returns).any()
    again = mk.simulate(mdp, policy, trials=300, rng=np.random.default_rng(7), threads=2)
    assert (again.returns == runs[0].returns).all()


def test_an_incumbent_counts():
    mdp = mk.instances.figure1()
    runs = mk.simulate(mdp, mk.MarkovPolicy([[0]], k=1, best_so_far=0.25), trials=1000, rng=0)
    assert set(runs.best.tolist()) == {0.25, 0.5}
    assert set(runs.returns.ravel().tolist()) == {0.0, 0.5}


def test_mixed_and_history_policies():
    """A mixture in bulk, the same mixture trial by trial, and a policy of histories: the same value, 0.5."""
    mdp = mk.instances.figure1(gamma=0.25)
    parts = [mk.MarkovPolicy([[a]], k=1) for a in (0, 1)]
    truth = mk.evaluate(mdp, mk.MixedPolicy(parts, [0.5, 0.5], 2)).value
    low, high = mk.simulate(mdp, mk.MixedPolicy(parts, [0.5, 0.5], 2), trials=20_000, rng=0).interval(0.9997)
    assert low <= truth <= high
    policy = mk.MixedPolicy(parts, [0.5, 0.5], 2, rng=0)
    bests = []
    random = np.random.default_rng(0)
    for _ in range(3000):
        trial = policy.begin()
        while not trial.finished:
            action = trial.act(0)
            trial.observe([0.5 * (random.random() < 0.75), 1.0 * (random.random() < 0.25)][action], done=True)
        bests.append(float(trial.best))
    assert abs(np.mean(bests) - truth) < 4 * np.std(bests) / math.sqrt(3000)
    policy = mk.HistoryPolicy(lambda seen: int(seen.best == 0.5), 2, 1)
    runs = mk.simulate(mdp, policy, trials=3000, rng=0)
    low, high = runs.interval(0.9997)
    assert low <= 9 / 16 <= high
    assert (mk.simulate(mdp, policy, trials=3000, rng=0).returns == runs.returns).all()


@pytest.mark.parametrize("kind", ["history", "adaptive", "stops"])
@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)])
def test_a_policy_is_asked_in_the_numbers_of_evaluation(kind, unit):
    """In fractions, whether or not 64 bits hold them.

    Simulation used to ask at the sums of the floats next to thirds, where tests of equality fail: 1.12 against 1.65.
    """
    safe, risky = [(0.5, 0, unit, False), (0.5, 0, 2 * unit, False)], [(0.5, 0, 0, False), (0.5, 0, 5 * unit, False)]
    mdp = mk.MDP.from_table({0: {0: safe, 1: risky}}, horizon=2)
    asked = set()

    def choose(rollout, step, state, best, so_far):
        asked.add((rollout, step, state, best, so_far))
        return int(so_far == unit or best == 3 * unit)

    class Stops(mk.AdaptivePolicy):
        def stops(self, *, rollout, best):
            asked.add((rollout, best))
            return best == 2 * unit

    def seen(past):
        return choose(past.rollout, past.step, past.state, past.best, past.so_far)

    policy = {
        "history": mk.HistoryPolicy(seen, 2, 2),
        "adaptive": mk.AdaptivePolicy(choose, 2, 2),
        "stops": Stops(choose, 2, 2),
    }[kind]
    value = mk.evaluate(mdp, policy).exact
    questions = set(asked)
    asked.clear()
    runs = mk.simulate(mdp, policy, trials=3000, rng=1)
    assert asked == questions
    assert {type(x) for question in asked for x in question if x != -math.inf} <= {int, Fraction}
    low, high = runs.interval(0.9997)
    assert low <= value <= high


def test_returns_in_an_environment_are_summed_exactly():
    """As in a table; floats that are added up one by one drift."""
    table = {0: {0: [(1, 0, 0.1, False)]}}
    mdp = mk.MDP.from_table(table, horizon=10)
    policy = mk.MarkovPolicy(np.zeros((10, 1), int), k=1)
    in_table, in_environment = (mk.simulate(x, policy, trials=1).returns for x in (mdp, mk.gym.TabularEnv(mdp)))
    assert in_table[0, 0] == in_environment[0, 0] == float(10 * Fraction(0.1))


def test_environments():
    """The same trials, however many; that a plan earns its value there is tests/test_gymnasium.py's."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=True, max_episode_steps=20)
    plan = mk.solve(mk.MDP.from_gymnasium(env), 3)
    runs = mk.simulate(env, plan.policy, trials=40, rng=0)
    assert 0 < runs.mean < 1
    assert (mk.simulate(env, plan.policy, trials=20, rng=0).returns == runs.returns[:20]).all()


def test_any_environment():
    """Observations of any kind go to the policy as they are."""
    env = gymnasium.make("CartPole-v1")
    policy = mk.AdaptivePolicy(lambda i, h, x, best, so_far: int(x[2] > 0), 2, 30)
    runs = mk.simulate(env, policy, trials=3, rng=0)
    assert runs.returns.shape == (3, 2)
    assert runs.returns.max() <= 30


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
import maxatk as mk

kind, asked = sys.argv[1], []

def choose(*_):
    asked.append(0)
    number = len(asked)
    time.sleep(0.05)
    if number == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return 0

mdp = mk.instances.random_sparse(60, 2, 6, rewards=range(9), rng=0)
policy = mk.HistoryPolicy(choose, 2, 6) if kind == "history" else mk.AdaptivePolicy(choose, 2, 6)
problem = mk.gym.TabularEnv(mdp) if kind == "environment" else mdp
threads = 2 if kind == "threads" else 1
try:
    mk.simulate(problem, policy, trials=70_000, rng=0, threads=threads)
except KeyboardInterrupt:
    print("interrupted after", len(asked))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["adaptive", "threads", "history", "environment"])
def test_ctrl_c_is_heard_between_two_questions(kind):
    """On several threads it used to be heard when blocks of 32,768 trials were over: after a minute here."""
    run = subprocess.run([sys.executable, "-c", INTERRUPTED, kind], capture_output=True, text=True, timeout=120)
    assert run.stdout.startswith("interrupted after ")
    assert int(run.stdout.split()[-1]) <= 3 + 8  # other threads may ask while the signal travels
    assert run.stderr == ""


def test_progress_and_single_trials(tune):
    tune(trial_block=10)
    seen = []
    mdp = mk.instances.figure1()
    mk.simulate(mdp, mk.MarkovPolicy([[0]], k=1), trials=25, rng=0, threads=1, progress=seen.append)
    assert [at.trials for at in seen] == [10, 20, 25]
    one = mk.simulate(mdp, mk.MarkovPolicy([[0]], k=1), trials=1, rng=0)
    assert one.interval() == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials must be at least 1, not 0"),
        ({"trials": 10**15}, "1000000000000000 trials"),
        ({"rng": "x"}, "rng must be a seed or a NumPy Generator, not 'x'"),
        ({"rng": -1}, "rng must be a seed or a NumPy Generator, not -1"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"problem": 5}, "simulate needs a maxatk.MDP or a Gymnasium environment, not 5"),
        ({"policy": mk.MarkovPolicy([[9]], k=2)}, r"\(rollout 0, step 0, state 0\) is 9: expected one of \[0, 1\]"),
        ({"policy": mk.HistoryPolicy(lambda _: 9, 2, 1)}, "state 0 does not offer action 9 at step 0"),
    ],
)
def test_bad_input(options, message):
    arguments = {"problem": mk.instances.figure1(), "policy": mk.MarkovPolicy([[0]], k=2)} | options
    with pytest.raises(mk.MaxAtKError, match=message):
        mk.simulate(arguments.pop("problem"), arguments.pop("policy"), **arguments)
    with pytest.raises(mk.InputError, match="level must be between 0 and 1, not 1"):
        mk.simulate(mk.instances.figure1(), mk.MarkovPolicy([[0]], k=2), trials=2).interval(1)


class Odd(gymnasium.Env):
    """An environment of one step with any observation and reward."""

    def __init__(self, observation, reward):
        self.action_space = gymnasium.spaces.Discrete(2)
        self._observation, self._reward = observation, reward

    def reset(self, *, seed=None, options=None):
        return self._observation, {}

    def step(self, action):
        return self._observation, self._reward, True, False, {}


@pytest.mark.parametrize("observation", [0.7, {"x": 1}, "text", None, np.zeros(3), (1, 2)])
def test_observations_are_passed_on(observation):
    seen = []
    policy = mk.AdaptivePolicy(lambda i, h, s, best, so_far: seen.append(s) or 0, 1, 1)
    mk.simulate(Odd(observation, 1.0), policy, trials=1)
    assert seen[0] is observation


def test_whole_observations_become_states():
    seen = []
    policy = mk.AdaptivePolicy(lambda i, h, s, best, so_far: seen.append(s) or 0, 1, 1)
    mk.simulate(Odd(np.int64(3), 1.0), policy, trials=1)
    assert type(seen[0]) is int


@pytest.mark.parametrize("reward", [None, "x", math.nan, np.array([1.0, 2.0])])
def test_odd_rewards_of_an_environment(reward):
    with pytest.raises(mk.InputError, match="reward"):
        mk.simulate(Odd(0, reward), mk.AdaptivePolicy(lambda *_: 0, 1, 1), trials=1)


def test_an_action_that_the_environment_lacks():
    with pytest.raises(mk.InputError, match=r"the policy's action 5 is none of Discrete\(2\)"):
        mk.simulate(Odd(0, 1.0), mk.AdaptivePolicy(lambda *_: 5, 1, 1), trials=1)


def test_mixed_policies_in_an_environment_are_reproducible():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=20)
    parts = [mk.MarkovPolicy([[a] * 16] * 20, k=1) for a in (1, 2)]
    runs = [mk.simulate(env, mk.MixedPolicy(parts, [0.5, 0.5], 2), trials=30, rng=0) for _ in range(2)]
    assert runs[0].steps == runs[1].steps
    assert (runs[0].returns == runs[1].returns).all()


def test_an_old_generator_is_refused():
    with pytest.raises(mk.InputError, match="rng must be a seed or a NumPy Generator"):
        mk.simulate(mk.instances.figure1(), mk.MarkovPolicy([[0]], k=2), rng=np.random.RandomState(1))


def test_multiples_of_a_step_are_counted():
    """A step of 53 binary digits has no small unit but itself: what a policy remembers in it fits all the same."""
    step = Fraction(0.1)
    scale, whole = common_scale([n * step for n in (0, 3, -7, 10**6)], 1000)
    assert whole
    assert (scale.units(3 * step), scale.number(-7)) == (3, -7 * step)
    assert not common_scale([step, step + Fraction(1, 2**80)], 1000)[1]
