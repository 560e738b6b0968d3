"""What is swept and who sweeps it: tasks are plain data, decisions are small, and the floor is no ceiling."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base import stopping
from maxatk.base.tuning import tuned
from maxatk.base.workers import Workers
from maxatk.planning.certified import floor
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import identity
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.slices import SliceMethod, choice_type
from methods import decided, on_lattice, swept
from oracles import policy_value
from problems import specs, table_of


@pytest.mark.slow
@settings(max_examples=60)
@given(
    spec=specs(max_horizon=3),
    k=st.integers(1, 4),
    few=st.sampled_from([0, 4096]),
    bins=st.sampled_from([1, 40, 2**18]),
    cells=st.sampled_from([0, 10**9]),
)
def test_the_floor_is_earned(spec, k, few, bins, cells):
    """What repeating the mean-optimal policy is said to earn, it earns, in fractions; one by one, nothing is lost."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    rows, _ = mdp.analysis.mean_optimal
    earned = policy_value(mdp, mk.MarkovPolicy(mdp.action[rows], k), k)
    with tuned(few_atoms=few, table_cells=cells, floor_bins=bins):
        promised = floor.repeated_mean(mdp, k, -math.inf)
    assert Fraction(promised) <= earned
    if few:
        assert promised == pytest.approx(float(earned), abs=1e-10)


def test_the_floor_knows_what_is_in_hand():
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 0, True), (0.5, 0, 1, True)]}}, horizon=1)
    assert floor.repeated_mean(mdp, 2, -math.inf) == pytest.approx(0.75, abs=1e-14)
    assert floor.repeated_mean(mdp, 2, 0.5) == pytest.approx(0.875, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("actions", "kind"), [(255, np.uint8), (256, np.uint16), (300, np.uint16)])
def test_many_actions_take_wider_decisions(actions, kind):
    """The best action is the last one, whatever its number."""
    table = {0: {a: [(0.5, 0, a, True), (0.5, 0, 0, True)] for a in range(actions)}}
    mdp = mk.MDP.from_table(table, horizon=1)
    assert choice_type(mdp) == kind
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
    task = Task(evidence_of(plan).curves[1], (least + 0.7 * (most - least),))
    assert len(pickle.dumps(task)) < 4096
    method = pickle.loads(pickle.dumps(evidence_of(plan).method))
    assert method.exact is not real
    again = swept(method, pickle.loads(pickle.dumps(task)))
    assert again.tolist() == swept(evidence_of(plan).method, task).tolist()


def test_decisions_are_small():
    """A byte for each cell of a window, and the windows: no values."""
    mdp = mk.instances.random_sparse(50, 4, 10, rewards=range(11), rng=0)
    plan = mk.solve(mdp, 2)
    method, task = evidence_of(plan).method, Task(evidence_of(plan).curves[1], (60.0,))
    windows = method.cells(task).windows
    cells = np.maximum(windows.high.astype(int) - windows.low + 1, 0).sum()
    assert decided(method, task).choice.nbytes < cells + 200
    with pytest.raises(mk.TooLargeError):
        decided(method, task, 1000)


@settings(max_examples=40)
@given(spec=specs(max_horizon=3))
def test_rows_of_a_step(spec):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    for h in range(mdp.horizon):
        step = mdp.step(h)
        for s in range(mdp.n_states):
            assert mdp.action[step.first_row[s] : step.first_row[s + 1]].tolist() == mdp.actions(h, s)


@pytest.mark.parametrize("real", [False, True])
def test_large_slices_are_acted_on_one_after_the_other(real, monkeypatch, tune):
    """Where two of them do not fit, trials on one are run before those on the next, and the policy is the same."""
    mdp = mk.instances.random_sparse(20, 3, 6, rewards=None if real else range(5), rng=0)
    plan = mk.solve(mdp, 4, solver=mk.Certified(tol=0.02))
    tune(small_slice=-1)
    swept = []
    sweep = SliceMethod.decisions
    monkeypatch.setattr(
        SliceMethod, "decisions", lambda self, tasks: swept.extend(task.ms for task in tasks) or sweep(self, tasks)
    )
    together = mk.simulate(mdp, type(plan.policy)(plan), trials=3000, rng=0)
    side_by_side = len(swept)
    assert side_by_side > 4
    tune(held_slices=1)
    policy = type(plan.policy)(plan)
    alone = mk.simulate(mdp, policy, trials=3000, rng=0)
    assert len(policy._slices._kept) == 1
    assert len(swept) <= 2 * side_by_side  # and none again at every step
    assert alone.interval(0.9999)[0] <= plan.upper
    assert plan.lower <= alone.interval(0.9999)[1]
    assert alone.mean == pytest.approx(together.mean, abs=0.2)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_every_split_gives_the_same_bits(real, threads, monkeypatch, tune):
    """Slices side by side, the states of layers split, one slice after the other for want of memory."""
    mdp = mk.instances.random_sparse(40, 3, 6, rewards=None if real else range(5), rng=0)

    def bits(threads: int, **memory: float) -> list[bytes]:
        plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.05, threads=threads, **memory))
        arrays = [getattr(curve, name) for curve in evidence_of(plan).curves.tail for name in curve.arrays()]
        return [repr((plan.lower, plan.upper, str(plan.status))).encode(), *(array.tobytes() for array in arrays)]

    alone = bits(1)
    assert bits(threads) == alone  # on the caller's own thread, since sweeps are brief
    tune(part_work=1, brief_work=-1)
    assert bits(threads) == alone
    tune(large_layer=1, large_real_layer=1)
    assert bits(threads) == alone
    tune(large_problem_layer=1)
    again = pickle.loads(pickle.dumps(mdp))
    assert again.analysis.mean_optimal[0].tolist() == mdp.analysis.mean_optimal[0].tolist()
    assert (again.analysis.most == mdp.analysis.most).all()
    cells = plan_method(mdp).cells(Task(identity(*mdp.return_range), (mdp.return_range[0],)))
    needed = 33 * cells.two_layers()[1] + cells.size
    assert bits(threads, max_memory=max(1.5 * needed, 1e5)) == alone
    assert cells.cuts(0, 5)[0] == 0


def test_brief_sweeps_wake_no_thread(monkeypatch, tune):
    mdp = mk.instances.random_sparse(40, 3, 6, rewards=range(5), rng=0)
    monkeypatch.setattr(Workers, "map", lambda *_: pytest.fail("a thread was woken"))
    monkeypatch.setattr(stopping, "_aside", lambda *_: pytest.fail("a thread was made"))
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.05, threads=2))
    assert plan.policy.action(rollout=1, step=0, state=int(mdp.start_state[0]), best=3, so_far=0) in mdp.actions(0, 0)
    tune(brief_work=-1)
    with pytest.raises(pytest.fail.Exception, match="a thread"):
        mk.solve(mdp, 3, solver=mk.Certified(tol=0.05, threads=2))


def plan_method(mdp):
    plan = mk.solve(mdp, 1, best_so_far=mdp.return_range[0] + 0.1, solver=mk.Certified(tol=1.0))
    return evidence_of(plan).method


def test_parts_of_a_layer_cover_it():
    mdp = mk.instances.random_sparse(100, 4, 6, rewards=range(5), rng=0)
    layers = on_lattice(mdp, 1.0).cells(Task(identity(*mdp.return_range), (10.0,)))
    for h in range(6):
        for parts in (1, 2, 9, 400):
            with tuned(part_work=1):
                cuts = layers.cuts(h, parts)
            assert cuts == sorted(cuts)
            assert (cuts[0], cuts[-1]) == (0, 100)
    assert layers.cuts(3, 4) == [0, 100]  # too little to be worth it


@pytest.mark.parametrize("real", [False, True])
def test_teams_hear_that_time_is_up(real, monkeypatch, tune):
    """Layers that are split are left in the middle, with a true interval."""
    tune(part_work=1, brief_work=-1)
    tune(large_layer=1, large_real_layer=1)
    mdp = mk.instances.random_sparse(60, 3, 12, rewards=None if real else range(9), rng=0)
    known = mk.solve(mdp, 4, solver=mk.Certified(tol=0.05, threads=3))
    stopped = mk.solve(mdp, 4, solver=mk.Certified(tol=1e-9, threads=3, time_limit=0.01))
    assert stopped.status is mk.Status.TIME_LIMIT
    assert stopped.lower <= known.upper
    assert known.lower <= stopped.upper


@pytest.mark.parametrize("large", [5_896_227_383, 136_304_589_647_819])
def test_the_last_rollout_where_rollouts_end_early_and_far_from_the_others(large):
    """The returns are few, but lie far from what a whole rollout would come to."""
    table = {0: {0: [(1.0, 0, large, True)]}, 1: {0: [(1.0, 1, large + 1, False)]}}
    mdp = mk.MDP.from_table(table, horizon=2, start=0)
    for k in (1, 2):
        plan = mk.solve(mdp, k)
        assert plan.policy.action(rollout=k - 1, step=0, state=0, best=-math.inf, so_far=0) == 0
        assert mk.evaluate(mdp, plan.policy).exact == large


@settings(max_examples=40)
@given(spec=specs(max_horizon=3), k=st.integers(1, 3))
def test_one_slice_serves_the_last_rollout(spec, k):
    """It earns what slices of their own earn, in fractions, and is swept once for all best returns."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-9))
    policy, apart = type(plan.policy)(plan), type(plan.policy)(plan)
    apart._tables.__dict__["_only_difference_matters"] = False
    assert policy_value(mdp, policy, k) >= plan.lower
    assert policy_value(mdp, apart, k) >= plan.lower
    fresh = type(plan.policy)(plan)
    mk.simulate(mdp, fresh, trials=200, rng=0)
    assert len([1 for place, *_ in fresh._slices._kept if place == fresh._curves.place(k)]) <= 1
