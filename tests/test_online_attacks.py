"""What hostile users, environments and files do to learning by playing: one clear line, and no bound that is untrue."""

import json
import math

import gymnasium
import numpy as np
import pytest

import maxatk as mk
from maxatk.base import archive
from maxatk.learning import ledger as ledger_module
from maxatk.learning.online import certificate

SMALL = {"k": 2, "n_states": 2, "n_actions": 2, "horizon": 3}


def play(run, trials, seed=0):
    """Trials in a world of two states: to wait is safe, to jump may lead to where it pays."""
    world = np.random.default_rng(seed)
    for _ in range(trials):
        trial = run.trial()
        while not trial.finished:
            rollout, state = trial.rollout, 0
            while trial.rollout == rollout:
                if trial.act(state) == 0:
                    reward = 0.25 + 0.25 * state
                else:
                    state, reward = int(world.random() < 0.4), float(state)
                trial.observe(reward, next_state=state)
    return run


# Trials.


def test_a_trial_that_was_given_up_is_closed():
    run = mk.Online().begin(**SMALL)
    old = run.trial()
    old.act(0)
    old.observe(0.5)
    run.trial()
    with pytest.raises(mk.InputError, match="act: this trial was given up when another was begun"):
        old.act(0)
    with pytest.raises(mk.InputError, match="observe: this trial was given up"):
        old.observe(0.5)
    assert run.ledger.returns == [0.0]
    old.give_up()
    assert run.ledger.trials == 1


@pytest.mark.parametrize("saved", [False, True])
def test_a_test_that_is_given_up_counts_as_one(tmp_path, saved):
    """To leave bad ones out would raise the bound of the policy that is tested."""
    arguments = {**SMALL, "checkpoint": tmp_path / "a.run"}
    run = play(mk.Online().begin(**arguments), 20)
    run.begin_test()
    run.test().act(0)
    if saved:
        run.save()
        run = mk.Online().begin(**arguments)
    else:
        run.trial()
    assert certificate.test_returns(run.ledger).tolist() == [0.0]


def test_rollouts_that_no_longer_differ_share_a_curve(tune):
    """Two billion tries: the bound from above is the best return, and the first is played as the one after it."""
    most = 2**31 - 1
    run = mk.Online().begin(k=most, n_states=1, n_actions=2, horizon=1)
    assert run.bounds == (0.0, 1.0)
    trial = run.trial()
    for _ in range(50):
        trial.act(0)
        trial.observe(0.5, True)
    assert run.bounds[1] == 1.0
    log = [[(0, 0, 0.5, None)], [(0, 1, 0.25, None)]] * 50
    for n in (None, 1):
        some = [mk.learn_from(log, k, n_states=1, n_actions=2, horizon=1, max_outcomes=n) for k in (40, 5000, most)]
        assert all(out.lower <= 0.5 <= out.upper for out in some)
        assert some[0].lower - 1e-5 <= some[1].lower or n is None  # balls hold for any k, but for rounding
        assert some[1].lower > 0.3
    tune(most_curves=3)
    with pytest.raises(mk.InputError, match="k 1000 is too large to learn by playing: more than 3 rollouts differ"):
        mk.learn_from(log, 1000, n_states=1, n_actions=2, horizon=1, max_outcomes=4)


# What was said of the environment, and is not so.


class Lying:
    def __init__(self, first=0, outcome=(0, 0.5, False), **known):
        self._first, self._outcome = first, outcome
        self.spec = mk.EpisodeSpec(**{"n_states": 2, "n_actions": 2, "horizon": 3, **known})

    def reset(self, rng):
        return self._first

    def step(self, action):
        return self._outcome if isinstance(self._outcome, tuple | None) else next(self._outcome)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Lying(first=5), "state must be between 0 and 1, not 5"),
        (Lying(first=(0, {})), "state must be an integer"),
        (Lying(outcome=None), "step must return"),
        (Lying(outcome=(0, math.nan, False)), "reward must be finite, not nan"),
        (Lying(outcome=(7, 0.5, False)), "the next state must be between 0 and 2, not 7"),
        (Lying(outcome=(0, 0.5, 1)), "done must be true or false, not 1"),
        (Lying(outcome=(0, 0.5, True), can_terminate=False), "the rollout ended, but can_terminate is false"),
        (Lying(return_range=(0, 1)), r"rollout 0 of trial 0 returned 1.5, outside the return_range \(0, 1\)"),
        (Lying(can_terminate="no"), "the episodes' can_terminate must be true or false, not 'no'"),
        (Lying(start=1), "rollout 0 of trial 0 starts in state 0, to which start gives no probability"),
        (Lying(outcome=iter([(s % 2, 0.5, False) for s in range(99)]), max_outcomes=1), "has 2 different outcomes"),
        (Lying(reward_range=(0, 0)), "no return can be better than 0: there is nothing to learn"),
        (Lying(best_so_far=3), "the best so far is 3, and no return can be better than 3: there is nothing to learn"),
        (Lying(horizon=10**6), "a slice of .* cells would take .* GiB, more than this machine has"),
    ],
)
def test_lies_are_named(source, message):
    with pytest.raises(mk.MaxAtKError, match=message) as caught:
        mk.learn(source, 2, epsilon=0.3, delta=0.1, learner=mk.Online(), budget=10**8, rng=0)
    assert "\n" not in str(caught.value)


def test_costs_are_refused():
    with pytest.raises(mk.InputError, match="learners know of no costs"):
        mk.TabularEpisodes(mk.instances.figure1().with_action_costs(0.1))


def test_a_range_narrower_than_a_reward_leaves_something_to_win():
    assert mk.Online().begin(**SMALL, return_range=(0, 1e-9)).bounds == (0.0, 1e-9)


def breaks():
    raise RuntimeError("motor\nbroke")


class Odd(gymnasium.Env):
    """Counts from 1, and answers what it was given."""

    observation_space = gymnasium.spaces.Discrete(3, start=1)
    action_space = gymnasium.spaces.Discrete(2, start=1)

    def __init__(self, first=1, answer=(3, 0.5, False, False, {})):
        self._first, self._answer = first, answer

    def reset(self, *, seed=None, options=None):
        return self._first, {}

    def step(self, action):
        assert self.action_space.contains(action)
        if callable(self._answer):
            self._answer()
        return self._answer


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Odd(first="here"), "a state of Odd must be an integer, not 'here'"),
        (Odd(answer=(9, 0.5, False, False, {})), "a state of Odd must be between 1 and 3, not 9"),
        (Odd(answer=(2, 0.5, False, {})), "step of Odd must return 5 things"),
        (Odd(answer=breaks), "Odd cannot step: RuntimeError: motor broke"),
        (Odd(answer=(2, 0.5, False, True, {})), "Odd cuts rollouts off after 1 steps, before the horizon of 3"),
        (Odd(answer=(2, None, False, False, {})), "reward must be a real number, not None"),
    ],
)
def test_odd_environments_are_named(env, message):
    with pytest.raises(mk.InputError, match=message):
        mk.learn(mk.gym.EnvEpisodes(env, horizon=3), 2, epsilon=0.3, delta=0.1, learner=mk.Online(), budget=60, rng=0)


def test_states_may_count_from_any_number():
    source = mk.gym.EnvEpisodes(Odd(answer=(np.array(3), np.array(0.5), np.array(False), False, {})), horizon=3)
    out = mk.learn(source, 2, epsilon=0.3, delta=0.1, learner=mk.Online(), budget=60, rng=0)
    assert set(np.flatnonzero(out.counts).tolist()) <= {0, 1, 4, 5}  # states 1 and 3, which are 0 and 2 here


# Forged files: their checksums are right, what they say is not.


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "a.run"
    run = play(mk.Online("posterior").begin(**SMALL, checkpoint=path), 30)
    run.begin_test()
    run.test().act(0)
    numbers, arrays = run.ledger.members()
    generator = ledger_module._plain(run.rng.bit_generator.state)
    return path, {"settings": run.ledger._settings, **numbers, "generator": generator}, arrays


NUMBERS = [
    ("open_best", 10**30),
    ("open_best", "x"),
    ("open_purpose", 2),
    ("upper", -5.0),
    ("upper", math.nan),
    ("kappa", 1e308),
    ("kappa", -1.0),
    ("steps", None),
    ("rounds", 3),
    ("tests", 10**30),
    ("steps", 1),
    ("planned_at", 10**6),
    ("lasted", 10**6),
]
ARRAYS = [
    ("rewards", 1e308),
    ("returns", 7.0),
    ("purposes", 9),
    ("starts", -1),
    ("starts", 2**62),
    ("data_row", 99),
    ("data_count", 0),
    ("data_count", 2**52),
    ("starts", 10**6),
    ("seen", 2**52),
    ("tested_count", 10**6),
    ("tested_starts", 10**6),
    ("belief_next_state", 5),
    ("belief_jump", 2**40),
    ("belief_prob", math.nan),
    ("belief_risk", math.nan),
]


@pytest.mark.parametrize(("name", "value"), NUMBERS + ARRAYS)
def test_forged_checkpoints_are_refused(members, name, value):
    path, header, arrays = members
    if (name, value) in NUMBERS:
        header = {**header, name: value}
    else:
        forged = np.array(arrays[name])
        forged[-1] = value
        arrays = {**arrays, name: forged}
    archive.write(path, "checkpoint", ledger_module.VERSION, header, arrays)
    with pytest.raises(mk.InputError, match="not a readable maxatk checkpoint"):
        mk.Online("posterior").begin(**SMALL, checkpoint=path)


def test_a_run_that_would_never_look_at_its_bounds_is_refused(tmp_path):
    """Without a budget it played for ever."""
    path, mdp = tmp_path / "a.run", mk.instances.figure1()
    arguments = {"k": 2, "epsilon": 0.3, "delta": 0.1, "learner": mk.Online("posterior"), "checkpoint": path}
    mk.learn(mk.TabularEpisodes(mdp), **arguments)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name not in ("checksum", "header")}
        header = json.loads(file["header"].tobytes())
    version = header.pop("version")
    trials = len(arrays["returns"])
    del header["format"]
    archive.write(path, "checkpoint", version, {**header, "next_check": 10**9}, arrays)
    said = f"not a readable maxatk checkpoint: it has {trials} trials, and looks at its bounds after 1000000000 of them"
    with pytest.raises(mk.InputError, match=said):
        mk.learn(mk.TabularEpisodes(mdp), **arguments)


@pytest.mark.parametrize("tests", [10**4, 2**53])
def test_many_tests_are_paid_for_in_no_time(members, tests):
    """Whoever forges their number: each was paid for anew, at a cost that grew with their square."""
    path, header, arrays = members
    archive.write(path, "checkpoint", ledger_module.VERSION, {**header, "tests": tests}, arrays)
    run = mk.Online("posterior").begin(**SMALL, checkpoint=path)
    assert run.tested == run.ledger.known.least


def test_rewards_are_rounded_in_no_time():
    """However often each was counted."""
    run = mk.Online().begin(k=2, n_states=1, n_actions=1, horizon=2, reward_range=(0, 1), rng=0)
    run.ledger.data.count(0, 1, 0.137, 10**15)
    run.ledger.rewards |= {0.137, 0.9731}
    points = run.ledger.grid()
    assert points.rounds
    _, _, reward, n = run.ledger.data.columns()
    assert n.sum() == 10**15
    assert (reward * n).sum() / 10**15 == pytest.approx(0.137, abs=1e-6)


def test_what_was_not_forged_is_read(members):
    path, header, arrays = members
    archive.write(path, "checkpoint", ledger_module.VERSION, header, arrays)
    assert mk.Online("posterior").begin(**SMALL, checkpoint=path).ledger.trials == 31
