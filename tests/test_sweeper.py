"""What is swept and who sweeps it: tasks are plain data, decisions are small, and the floor is no ceiling."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.planning import floor
from maxatk.planning.lattice import RealLattice, WholeLattice
from maxatk.planning.slices import Decisions, Task, kind_of_choice
from maxatk.planning.sweeper import bounds_of
from oracles import policy_value
from problems import specs, table_of


@settings(max_examples=60)
@given(
    spec=specs(max_horizon=3), k=st.integers(1, 4), few=st.sampled_from([0, 4096]), bins=st.sampled_from([1, 40, 2**18])
)
def test_the_floor_is_earned(spec, k, few, bins):
    """What repeating the mean-optimal policy is said to earn, it earns, in fractions; one by one, nothing is lost."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    rows, _ = mdp.mean_optimal
    earned = policy_value(mdp, mk.MarkovPolicy(mdp.action[rows], k), k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floor, "FEW_ATOMS", few)
        patch.setattr(floor, "MOST_BINS", bins)
        promised = floor.repeated_mean(mdp, k, -math.inf)
    assert Fraction(promised) <= earned
    if few:
        assert promised == pytest.approx(float(earned), abs=1e-10)


def test_the_floor_knows_what_is_in_hand():
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 0, True), (0.5, 0, 1, True)]}}, horizon=1)
    assert floor.repeated_mean(mdp, 2, -math.inf) == pytest.approx(0.75, abs=1e-14)
    assert floor.repeated_mean(mdp, 2, 0.5) == pytest.approx(0.875, abs=1e-14)


@pytest.mark.parametrize(("actions", "kind"), [(255, np.uint8), (256, np.uint16), (300, np.uint16)])
def test_many_actions_take_wider_decisions(actions, kind):
    """The best action is the last one, whatever its number."""
    table = {0: {a: [(0.5, 0, a, True), (0.5, 0, 0, True)] for a in range(actions)}}
    mdp = mk.MDP.from_table(table, horizon=1)
    assert kind_of_choice(mdp) == kind
    policy = mk.solve(mdp, 2).policy
    assert policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == actions - 1
    real = mk.solve(mdp.with_rewards(mdp.reward * math.pi), 2).policy
    assert real.action(rollout=1, step=0, state=0, best=1.0, so_far=0) == actions - 1


@pytest.mark.parametrize("real", [False, True])
def test_tasks_are_plain_data(real):
    """What a worker elsewhere is sent: a kilobyte, and the same numbers come back."""
    mdp = mk.instances.random_sparse(20, 3, 5, rewards=None if real else range(5), rng=0)
    plan = mk.solve(mdp, 3)
    least, most = mdp.return_range
    task = Task(plan.curves[1], (least + 0.7 * (most - least),))
    assert len(pickle.dumps(task)) < 4096
    lattice = pickle.loads(pickle.dumps(plan.lattice))
    assert type(lattice) is (RealLattice if real else WholeLattice)
    again = bounds_of(lattice, pickle.loads(pickle.dumps(task)), math.inf)
    assert again.tolist() == bounds_of(plan.lattice, task, math.inf).tolist()


def test_decisions_are_small():
    """A byte for each cell of a window, and the windows: no values."""
    mdp = mk.instances.random_sparse(50, 4, 10, rewards=range(11), rng=0)
    plan = mk.solve(mdp, 2)
    decided = Decisions.sweep(plan.lattice, Task(plan.curves[1], (60.0,)), math.inf)
    cells = np.maximum(decided.layout.high.astype(int) - decided.layout.low + 1, 0).sum()
    assert decided.choice.nbytes < cells + 200
    with pytest.raises(mk.TooLargeError):
        Decisions.sweep(plan.lattice, Task(plan.curves[1], (60.0,)), 1000)


@settings(max_examples=40)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99))
def test_one_step_backed_up(spec, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    values = np.append(np.random.default_rng(seed).normal(size=mdp.n_states), 0.0)
    for h in range(mdp.horizon):
        step = mdp.step(h)
        expected = [
            sum(p * (r + (values[t] if t is not None else 0.0)) for p, t, r in mdp.outcomes(h, s, a))
            for s in range(mdp.n_states)
            for a in mdp.actions(h, s)
        ]
        assert step.backup(values) == pytest.approx(expected, abs=1e-12)
        for s in range(mdp.n_states):
            assert mdp.action[step.first_row[s] : step.first_row[s + 1]].tolist() == mdp.actions(h, s)
