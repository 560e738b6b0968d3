"""Decisions that are recorded while planning: those that a sweep would make, and all that a policy needs."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
import shim
from maxatk.base.tuning import tuned
from maxatk.engines.cuda import Gpu
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.on_lattice import OnLattice
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.recorded import Recorder
from maxatk.planning.certified.slices import SliceMethod
from methods import on_lattice
from problems import costs_of, specs, table_of


@pytest.fixture(scope="module", params=[None, *shim.devices()])
def device(request, tmp_path_factory):
    """The cores, the CUDA source as C++ on this machine, and a GPU where there is one."""
    return None if request.param is None else Gpu(shim.device(request.param, tmp_path_factory))


def swept_again(method: OnLattice, task: Task) -> SliceMethod:
    """The decisions of a task by a sweep of their own."""
    (kept,) = method.decisions([task])
    return kept


@settings(max_examples=60)
@given(
    spec=specs(max_horizon=4, costs=True),
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    abandon=st.booleans(),
)
def test_recorded_are_those_of_a_sweep(device, spec, shares, abandon):
    """At every step, state and return that a rollout comes with, one by one and together."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start, action_cost=costs_of(spec))
    least, most = mdp.return_range
    plan = mk.solve(mdp, 3, cost=0.125, abandon=abandon, solver=mk.Certified(tol=0.3 * (most - least) + 0.1))
    curve = evidence_of(plan).curves[1]
    method = on_lattice(mdp, 0.25, device, cost=0.125, abandon=abandon)
    with tuned(small_slice=-1, recorded_slice=-1):
        method.record()
    low = min(max(curve.floor, least), most)
    ms = sorted({method.lattice.knot(low + share * (most - low)) for share in shares})
    tasks = [Task(curve, tuple(ms)), Task(curve, (ms[0],), shifts=(-3, 4))]
    method.sweep(tasks)
    method.record_no_more()
    for task in (*(Task(curve, (m,)) for m in ms), tasks[1]):
        recorded, swept = method.recorded(task), swept_again(method, task)
        reach, shifts = method.tables.reach, task.shifts
        for h, s in np.argwhere(reach.first <= reach.last).tolist():
            g = np.arange(reach.first[h, s] + shifts[0], reach.last[h, s] + shifts[1] + 1)
            state, M = np.full(len(g), s), np.zeros(len(g))
            expected = swept.rows(h, state, g, M, M).tolist()
            assert recorded.rows(h, state, g, M, M).tolist() == expected
            assert [recorded.row(h, s, x, 0.0, 0.0) for x in g.tolist()] == expected


CLIFF = mk.instances.windy_cliff(columns=6, horizon=15)


def planned(mdp, k=4, **asked):
    with tuned(small_slice=-1, recorded_slice=-1):
        return mk.solve(mdp, k, **asked)


def counted(monkeypatch) -> list[int]:
    """The number of tasks of each later sweep for decisions."""
    sizes: list[int] = []
    decisions = SliceMethod.decisions

    def count(self, tasks):
        sizes.append(len(tasks))
        return decisions(self, tasks)

    monkeypatch.setattr(SliceMethod, "decisions", count)
    return sizes


def test_the_first_simulation_sweeps_nothing(monkeypatch, tune):
    tune(small_slice=-1, recorded_slice=-1)
    plan, sizes = planned(CLIFF), counted(monkeypatch)
    trials = mk.simulate(CLIFF, plan.policy, trials=500, rng=0)
    assert sizes == []
    copy = pickle.loads(pickle.dumps(plan))  # which sweeps what it needs
    assert mk.simulate(CLIFF, copy.policy, trials=500, rng=0).returns.tolist() == trials.returns.tolist()
    assert sum(sizes) > 3


@pytest.mark.parametrize("asked", [{}, {"best_so_far": -12}, {"cost": 0.25}, {"cost": 0.25, "abandon": True}])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_policy_earns_its_lower_end(asked, threads, tune):
    tune(small_slice=-1, recorded_slice=-1, large_layer=1, part_work=1)  # layers are split over threads
    plan = planned(CLIFF, solver=mk.Certified(threads=threads), **asked)
    held = evidence_of(plan).method.recorder
    assert held is not None
    value = mk.evaluate(CLIFF, plan.policy, **{name: x for name, x in asked.items() if name == "cost"})
    assert value.lower >= plan.lower - 1e-12
    assert value.lower <= plan.upper


def test_what_is_recorded_does_not_depend_on_threads(tune):
    tune(small_slice=-1, recorded_slice=-1, large_layer=1, part_work=1)
    one, two = (planned(CLIFF, solver=mk.Certified(threads=n)) for n in (1, 2))
    assert (one.lower, one.upper) == (two.lower, two.upper)
    asked = {"rollout": 1, "step": 3, "state": np.arange(18), "best": np.full(18, -9.0), "so_far": np.full(18, -3.0)}
    assert one.policy.actions(**asked).tolist() == two.policy.actions(**asked).tolist()


def test_slices_that_nothing_acts_on_are_forgotten():
    """Of each curve what its lines are taken from is kept, and no more."""
    plan = planned(CLIFF)
    evidence = evidence_of(plan)
    held = evidence.method.recorder._held
    for (_, m, shifts, _, _), (after, _) in held.items():
        i = next(i for i in range(1, plan.k + 1) if evidence.curves[i] is after)
        assert i == 1 or shifts != (0, 0) or m in evidence.curves[i - 1].line_knot
    assert len(held) > 5


@pytest.mark.parametrize("memory", [0, 3000, 30_000])
def test_without_room_slices_are_swept(memory, monkeypatch, tune):
    """The same bounds and trials, in little memory."""
    tune(small_slice=-1, recorded_slice=-1)
    expected = planned(CLIFF)
    monkeypatch.setattr("maxatk.planning.certified.on_lattice.Recorder", lambda room: Recorder(memory))
    plan = planned(CLIFF)
    held = evidence_of(plan).method.recorder._held.values()
    assert sum(decisions.size for _, decisions in held) <= memory
    assert (plan.lower, plan.upper) == (expected.lower, expected.upper)
    ours, theirs = (mk.simulate(CLIFF, one.policy, trials=200, rng=1) for one in (plan, expected))
    assert ours.returns.tolist() == theirs.returns.tolist()


def test_small_problems_and_finished_plans_record_nothing():
    plan = mk.solve(CLIFF, 3)
    assert evidence_of(plan).method.recorder is None
    plan = planned(CLIFF)
    held = len(evidence_of(plan).method.recorder._held)
    plan.curve(0, -11)
    assert len(evidence_of(plan).method.recorder._held) == held
    assert math.isfinite(plan.lower)
