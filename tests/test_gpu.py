"""The CUDA source: as C++ held to the other kernels wherever a compiler is found, and on a GPU where there is one."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maxatk as mk
import shim
from cost_oracles import earned
from maxatk.engines.cuda import Gpu
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import identity
from maxatk.planning.certified.lattice import RealLattice, WholeLattice
from maxatk.planning.certified.slices import Cores
from problems import costs_of, decision, specs, table_of


@pytest.fixture(scope="module", params=shim.devices())
def device(request, tmp_path_factory):
    return shim.device(request.param, tmp_path_factory)


@settings(max_examples=80)
@given(
    spec=specs(max_horizon=4, costs=True),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
    real=st.booleans(),
    abandon=st.booleans(),
)
def test_sweeps_are_those_of_the_cores(device, spec, share, seed, real, abandon):
    """To the bit: bounds at the start, of one best return, of several, from many returns; and what is decided."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start, action_cost=costs_of(spec))
    random = np.random.default_rng(seed)
    if real:
        mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    problem = decision(mdp, cost=0.125, abandon=abandon)
    lattice = RealLattice(problem, 0.3) if real else WholeLattice(problem, 0.25)
    plan = mk.solve(mdp, 3, cost=0.125, abandon=abandon, solver=mk.Certified(tol=0.3 * (most - least)))
    curve = plan.curves[1]
    m = float(np.clip(least + share * (most - least), min(max(curve.floor, least), most), most))
    cores, gpu = Cores(math.inf), Gpu(device)
    tasks = [Task(curve, (m,)), Task(identity(least, most), (0.0,), shifts=(-3, 4))]
    if not real:
        tasks.append(Task(curve, (m, min(m + 0.25, most), most)))
    for ours, theirs in zip(gpu.bounds(lattice, tasks), cores.bounds(lattice, tasks), strict=True):
        assert ours.tolist() == theirs.tolist()
    for task in (Task(curve, (m,)), Task(curve, (m,), shifts=(1, 1), phase=0.1, start=(mdp.horizon - 1, 0))):
        (kept,), (expected,) = gpu.decisions(lattice, [task]), cores.decisions(lattice, [task])
        if real:
            pairs = zip(kept.slice.planes[1:], expected.slice.planes[1:], strict=True)
            kept, expected = kept.slice, expected.slice
        else:
            pairs = [(kept.choice, expected.choice)]
        assert kept.layout.place.tolist() == expected.layout.place.tolist()
        cells = used(expected.layout)
        for ours, theirs in pairs:
            assert ours[cells].tolist() == theirs[cells].tolist()


def used(layout) -> list[int]:
    """The cells of all windows."""
    H, S = layout.low.shape
    return [
        int(layout.place[h, s]) + g
        for h in range(H)
        for s in range(S)
        for g in range(int(layout.low[h, s]), int(layout.high[h, s]) + 1)
    ]


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("paid", [{}, {"cost": 0.1}, {"cost": 0.1, "abandon": True}])
def test_a_plan_is_that_of_the_cores(device, real, paid, monkeypatch):
    """The same interval, and a policy that earns it, in fractions."""
    mdp = mk.instances.random_sparse(6, 2, 3, rewards=None if real else range(4), rng=1)
    mdp = mdp.with_action_costs(np.linspace(0, 0.2, len(mdp.action_cost)) if paid else 0)
    monkeypatch.setattr("maxatk.engines.cuda.Cuda", lambda: device)
    cpu, gpu = (mk.solve(mdp, 3, solver=mk.Certified(tol=0.01, device=where), **paid) for where in ("cpu", "gpu"))
    assert gpu.status == cpu.status
    assert (gpu.lower, gpu.upper, gpu.stop_at) == (cpu.lower, cpu.upper, cpu.stop_at)
    assert earned(mdp, gpu.policy, 3, cost=paid.get("cost", 0)).net >= gpu.lower
    assert gpu.curve(0, -math.inf)[0] >= gpu.lower
    simulated = mk.simulate(mdp, gpu.policy, trials=2000, rng=0)
    assert simulated.interval(0.9999)[0] <= gpu.upper


def test_wide_choices(device):
    """More than 255 rows in a state."""
    table = {0: {a: [(0.5, 0, a, True), (0.5, 0, 0, True)] for a in range(300)}}
    mdp = mk.MDP.from_table(table, horizon=1)
    for lattice in (WholeLattice(decision(mdp), 1.0), RealLattice(decision(mdp), 0.7)):
        task = Task(identity(*mdp.return_range), (10.0,))
        (kept,) = Gpu(device).decisions(lattice, [task])
        row = kept.rows(0, np.array([0]), np.array([0]), np.array([10.0]), np.array([0.0]))
        assert row.tolist() == [299]


def test_memory_of_the_device_is_a_limit(device, monkeypatch):
    mdp = mk.instances.random_sparse(20, 3, 6, rewards=range(5), rng=0)
    monkeypatch.setattr("maxatk.engines.cuda.Cuda", lambda: device)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.01, device="gpu", max_memory=2000))
    assert plan.status is mk.Status.MEMORY_LIMIT
    assert plan.lower <= mk.solve(mdp, 3).upper


def test_without_a_gpu():
    """One line where there is none, and the cores where any will do."""
    if not isinstance(shim.devices()[1], str):
        with pytest.raises(mk.MissingExtraError, match=r"^device='gpu' [^\n]*$"):
            mk.solve(mk.instances.figure1(), 2, solver=mk.Certified(device="gpu"))
    plan = mk.solve(mk.instances.figure1(), 2, solver=mk.Certified(device="auto"))
    assert plan.lower == mk.solve(mk.instances.figure1(), 2).lower
    with pytest.raises(mk.InputError, match="device must be one of 'cpu', 'gpu', 'auto', not 'tpu'"):
        mk.Certified(device="tpu")
