"""What a learner is given: every kind of malformed model, sample or argument gets one line that names the entry."""

import math
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk


class Plain:
    """Two states, two actions; a sample stays where it is and pays 1/2."""

    n_states, n_actions, horizon, start, homogeneous = 2, 2, 2, 0, True

    def __init__(self, **changes):
        for name, value in changes.items():
            setattr(self, name, value)

    def sample(self, step, state, action, n, rng):
        return np.full(n, state), np.full(n, 0.5)


def answer(next_states=None, rewards=None):
    """A model that answers like this, but for the length."""

    def sample(step, state, action, n, rng):
        return (
            np.full(n, 0) if next_states is None else next_states(n),
            np.full(n, 0.5) if rewards is None else rewards(n),
        )

    return Plain(sample=sample)


def lacking(name):
    class Lacking(Plain):
        def __getattribute__(self, asked):
            if asked == name:
                raise AttributeError(asked)
            return super().__getattribute__(asked)

    return Lacking()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        *((lacking(name), f"the model has no {name}") for name in ("n_states", "n_actions", "horizon", "start")),
        *((lacking(name), f"the model has no {name}") for name in ("homogeneous", "sample")),
        (None, "the model has no n_states"),
        (mk.instances.figure1(), "the model has no start"),
        (Plain(sample=3), "the model's sample is not a function"),
        (Plain(n_states=0), "the model's n_states must be at least 1, not 0"),
        (Plain(n_states=2.0), "the model's n_states must be an integer, not 2.0"),
        (Plain(n_actions="2"), "the model's n_actions must be an integer, not '2'"),
        (Plain(horizon=0), "horizon must be between 1 and"),
        (Plain(homogeneous="yes"), "the model's homogeneous must be true or false, not 'yes'"),
        (Plain(start=2), "start must be between 0 and 1, not 2"),
        (Plain(start=[0.5, 0.4]), "start: probabilities sum to 0.9"),
        (Plain(start=[0.5, math.nan]), r"start\[1\]: probability nan is not between 0 and 1"),
        (Plain(reward_range=1), r"reward_range must be a pair \(least, most\), not 1"),
        (Plain(reward_range=(0, math.inf)), r"reward_range\[1\] must be finite, not inf"),
        (Plain(reward_range=(1, 0)), r"reward_range \(1, 0\) has its least above its most"),
        (Plain(reward_range=(0, 1e300)), "over 2 steps is too large for floats"),
        (Plain(rewards=[[0, 1]]), r"rewards have shape \(1, 2\): expected \(2, 2\) or \(2, 2, 2\)"),
        (Plain(rewards=[["a", "b"], ["c", "d"]]), "rewards have shape"),
        (Plain(rewards=[[0, 1], [0, math.nan]]), r"row \(state 1, action 1, step 0\): reward nan is outside"),
        (Plain(rewards=[[0, 1], [2, 0]]), r"row \(state 1, action 0, step 0\): reward 2 is outside"),
        (Plain(rewards=np.arange(8).reshape(2, 2, 2) / 8), "homogeneous, but its rewards differ by step"),
        (Plain(actions=lambda step, state: []), "state 0 has no actions at step 0"),
        (Plain(actions=lambda step, state: [2]), "an action of state 0 at step 0 must be between 0 and 1, not 2"),
        (Plain(max_outcomes=0), "the model's max_outcomes must be at least 1, not 0"),
        (Plain(n_states=10**9, n_actions=10**6), "the table of all rows would take"),
        (answer(rewards=lambda n: np.full(n, math.nan)), r"row \(state 0, action 0, step 0\): reward nan is outside"),
        (answer(rewards=lambda n: np.full(n, -0.1)), r"reward -0.1 is outside the model's reward_range \(0, 1\)"),
        (answer(rewards=lambda n: np.full(n, 1.5)), "reward 1.5 is outside"),
        (answer(rewards=lambda n: np.full(n + 1, 0.5)), "rewards holds float64 of shape .65,.: expected 64 numbers"),
        (answer(rewards=lambda n: 0.5), r"rewards holds float64 of shape \(\)"),
        (answer(rewards=lambda n: ["x"] * n), "rewards holds <U1"),
        (answer(next_states=lambda n: np.full(n, 3)), "next state 3 is out of range: states count from 0 to 1, and 2"),
        (answer(next_states=lambda n: np.full(n, -1)), "next state -1 is out of range"),
        (answer(next_states=lambda n: np.full(n, 0.0)), "next_states holds float64"),
        (answer(next_states=lambda n: np.zeros((n, 1), int)), r"next_states holds int64 of shape \(64, 1\)"),
        (answer(next_states=lambda n: None), "next_states holds object"),
        (Plain(sample=lambda *row: None), r"sample must return \(next_states, rewards\), not None"),
        (Plain(sample=lambda *row: (1, 2, 3)), "sample must return"),
    ],
)
def test_malformed_models(model, message):
    with pytest.raises((mk.InputError, mk.TooLargeError), match=message) as error:
        mk.learn(model, 2, epsilon=0.5, delta=0.1)
    assert "\n" not in str(error.value)


def test_an_end_where_there_is_none():
    model = answer(next_states=lambda n: np.full(n, 2))
    model.can_terminate = False
    with pytest.raises(
        mk.InputError, match="next state 2 is out of range: states count from 0 to 1, and can_terminate is"
    ):
        mk.learn(model, 2, epsilon=0.5, delta=0.1)


def test_more_outcomes_than_the_support():
    model = mk.TabularModel(mk.instances.figure1())
    model.max_outcomes = 1
    with pytest.raises(mk.InputError, match=r"row \(state 0, action 0, step 0\) has shown 2 different outcomes, but"):
        mk.learn(model, 1, epsilon=1, delta=0.5, learner=mk.Uniform())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"k": 1.5}, "k must be an integer"),
        ({"epsilon": 0}, "epsilon must be above 0, not 0"),
        ({"epsilon": -1}, "epsilon must be above 0, not -1"),
        ({"epsilon": math.nan}, "epsilon must be finite, not nan"),
        ({"epsilon": math.inf}, "epsilon must be finite, not inf"),
        ({"epsilon": "x"}, "epsilon must be a real number, not 'x'"),
        ({"delta": 0}, "delta must be between 0 and 1, not 0"),
        ({"delta": 1}, "delta must be between 0 and 1, not 1"),
        ({"delta": math.nan}, "delta must be finite"),
        ({"budget": 0}, "budget must be at least 1, not 0"),
        ({"budget": 1e6}, "budget must be an integer, not 1000000.0"),
        ({"budget": 3}, "budget 3 is less than one sample for each of 4 rows"),
        ({"learner": mk.Adaptive}, r"learner must be a learner such as mk.Uniform\(\)"),
        ({"learner": "uniform"}, "learner must be a learner"),
        ({"rng": "seed"}, "rng must be a seed or a NumPy Generator, not 'seed'"),
        ({"rng": -1}, "rng must be a seed or a NumPy Generator, not -1"),
    ],
)
def test_malformed_arguments(change, message):
    with pytest.raises(mk.InputError, match=message):
        mk.learn(**{"model": Plain(), "k": 2, "epsilon": 0.5, "delta": 0.1, **change})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mk.Uniform(constants="loose"), "constants must be one of paper, tight, not 'loose'"),
        (lambda: mk.Uniform(planner="exact"), "planner must be one of certified, midpoint, not 'exact'"),
        (lambda: mk.TabularModel(3), "mdp must be a maxatk.MDP, not 3"),
        (
            lambda: mk.TabularModel(mk.instances.figure1(), known_rewards=True),
            r"row \(state 0, action 0, step 0\): known_rewards needs one reward, but it has 2",
        ),
        (
            lambda: mk.learn(
                Plain(reward_range=(0, 2)), 1, epsilon=1, delta=0.1, learner=mk.Uniform(planner="midpoint")
            ),
            r"needs rewards in \[0, 1\], as the paper does, but the model's reward_range is \(0, 2\)",
        ),
    ],
)
def test_malformed_learners(make, message):
    with pytest.raises(mk.InputError, match=message):
        make()


SIZES = {"n_states": 2, "n_actions": 2, "horizon": 4, "k": 1, "epsilon": 1e-6, "delta": 0.05}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_states": 0}, "n_states must be at least 1, not 0"),
        ({"n_actions": None}, "n_actions must be an integer, not None"),
        ({"horizon": 2.5}, "horizon must be an integer, not 2.5"),
        ({"k": True}, "k must be an integer, not True"),
        ({"epsilon": 0}, "epsilon must be above 0 and at most the horizon, 4, not 0"),
        ({"epsilon": 4.1}, "epsilon must be above 0 and at most the horizon, 4, not 4.1"),
        ({"delta": 1}, "delta must be between 0 and 1, not 1"),
    ],
)
def test_malformed_sizes(change, message):
    for function in (mk.sample_size, mk.least_samples):
        with pytest.raises(mk.InputError, match=message):
            function(**{**SIZES, **change})


def test_sizes_with_other_options():
    with pytest.raises(mk.InputError, match="constants must be one of paper, tight, not 'x'"):
        mk.sample_size(**SIZES, constants="x")
    with pytest.raises(mk.InputError, match="homogeneous must be true or false, not 1"):
        mk.sample_size(**SIZES, homogeneous=1)
    with pytest.raises(mk.InputError, match="outcomes must be at least 1, not 0"):
        mk.sample_size(**SIZES, outcomes=0)
    for change in ({"horizon": 6}, {"n_states": 1}, {"n_actions": 1}, {"epsilon": Fraction(4, 305)}):
        with pytest.raises(mk.InputError, match=r"the lower bound takes horizon a multiple of 4, .* horizon/306"):
            mk.least_samples(**{**SIZES, **change})


def test_a_model_of_ones_own():
    """No more than what the interface asks for: known to learn, with plain integers and floats as rewards."""
    out = mk.learn(Plain(), 2, epsilon=0.2, delta=0.1)
    assert out.lower <= 1 <= out.upper <= out.lower + 0.2
    whole = answer(rewards=lambda n: np.ones(n, int))
    assert mk.learn(whole, 1, epsilon=0.5, delta=0.1).upper >= 2
