"""Drawing from a table: the same number draws the same outcome, one at a time, in bulk, and in environments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.laws.sampling import RowSampler
from problems import specs, table_of


class Numbers:
    """A generator whose uniform numbers are known."""

    def __init__(self, numbers):
        self._numbers = list(numbers)

    def random(self, n=None):
        if n is None:
            return self._numbers.pop(0)
        taken, self._numbers = self._numbers[:n], self._numbers[n:]
        return np.array(taken)


@settings(max_examples=40)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 999))
def test_one_number_draws_one_outcome(spec, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    sampler, random = RowSampler(mdp), np.random.default_rng(seed)
    edges = [0.0, np.nextafter(1.0, 0.0), *np.cumsum(mdp.row_prob)[:8].tolist()]
    uniform = [u for u in [*edges, *random.random(20)] if u < 1]
    for row in range(len(mdp.action)):
        first, end = mdp.outcome_start[row : row + 2].tolist()
        cumulative = np.cumsum(mdp.row_prob[first:end])
        expected = [first + min(int((cumulative <= u).sum()), end - first - 1) for u in uniform]
        assert [sampler.outcome(row, Numbers([u])) for u in uniform] == expected
        assert sampler.several(row, len(uniform), Numbers(uniform)).tolist() == expected
        assert sampler.each(np.full(len(uniform), row), np.array(uniform)).tolist() == expected
    starts = [sampler.start(Numbers([u])) for u in uniform]
    assert sampler.starts(np.array(uniform)).tolist() == starts
    assert set(starts) <= set(mdp.start_state.tolist())


def test_all_that_draw_draw_alike():
    """A model, episodes and an environment with the same stream come to the same outcomes."""
    mdp = mk.instances.windy_cliff(horizon=6)
    env, episodes, model = mk.gym.TabularEnv(mdp), mk.TabularEpisodes(mdp), mk.TabularModel(mdp)
    for seed in range(20):
        env.reset(seed=seed)
        stream = np.random.default_rng()
        stream.bit_generator.state = env.np_random.bit_generator.state  # both have drawn the start
        copy = np.random.default_rng()
        copy.bit_generator.state = stream.bit_generator.state
        state = episodes.reset(np.random.default_rng(seed))
        episodes._rng = stream
        for step in range(mdp.horizon):
            (model_next,), (model_reward,) = model.sample(step, state, seed % 4, 1, copy)
            following, reward, ended, cut_off, _ = env.step(seed % 4)
            assert episodes.step(seed % 4) == (model_next, model_reward, ended)
            assert (reward, ended or following == model_next) == (model_reward, True)
            if ended or cut_off:
                break
            state = following


def test_rows_are_looked_up():
    sampler = RowSampler(mk.instances.figure1())
    assert [sampler.row(0, 0, 1), sampler.row(0, 0, 1), sampler.row(0, 0, 0)] == [1, 1, 0]
    for step, state, action, message in (
        (1, 0, 0, "step must be between 0 and 0, not 1"),
        (-1, 0, 0, "step must be between"),
        (0, 1, 0, "state must be between 0 and 0, not 1"),
        (0, 0, 2, "state 0 does not offer action 2 at step 0"),
    ):
        with pytest.raises(mk.InputError, match=message):
            sampler.row(step, state, action)
