"""The CUDA source: as C++ held to the other kernels wherever a compiler is found, and on a GPU where there is one."""

import math
import pickle

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
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.slices import SliceMethod
from methods import off_lattice, on_lattice
from problems import costs_of, specs, table_of


@pytest.fixture(scope="module", params=shim.devices())
def device(request, tmp_path_factory):
    return shim.device(request.param, tmp_path_factory)


@pytest.mark.slow
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
    make, kappa = (off_lattice, 0.3) if real else (on_lattice, 0.25)
    cores, gpu = (make(mdp, kappa, made, cost=0.125, abandon=abandon) for made in (None, Gpu(device)))
    plan = mk.solve(mdp, 3, cost=0.125, abandon=abandon, solver=mk.Certified(tol=0.3 * (most - least)))
    curve = evidence_of(plan).curves[1]
    m = float(np.clip(least + share * (most - least), min(max(curve.floor, least), most), most))
    tasks = [Task(curve, (m,)), Task(identity(least, most), (0.0,), shifts=(-3, 4))]
    if not real:
        tasks.append(Task(curve, (m, min(m + 0.25, most), most)))
    for ours, theirs in zip(gpu.sweep(tasks), cores.sweep(tasks), strict=True):
        assert ours.tolist() == theirs.tolist()
    for task in (Task(curve, (m,)), Task(curve, (m,), shifts=(1, 1), phase=0.1, start=(mdp.horizon - 1, 0))):
        (kept,), (expected,) = gpu.decisions([task]), cores.decisions([task])
        windows = cores.cells(task).windows
        if real:
            pairs = zip(kept.kept[1:], expected.kept[1:], strict=True)
            ours, theirs = kept.layout.place, expected.layout.place
        else:
            pairs = [(kept.choice, expected.choice)]
            ours, theirs = kept.place, expected.place
        assert ours.tolist() == theirs.tolist()
        cells = used(windows.low, windows.high, theirs)
        for ours, theirs in pairs:
            assert ours[cells].tolist() == theirs[cells].tolist()


def used(low, high, place) -> list[int]:
    """The cells of all windows."""
    H, S = low.shape
    return [
        int(place[h, s]) + g for h in range(H) for s in range(S) for g in range(int(low[h, s]), int(high[h, s]) + 1)
    ]


@pytest.mark.slow
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
    for method in (on_lattice(mdp, 1.0, Gpu(device)), off_lattice(mdp, 0.7, Gpu(device))):
        (kept,) = method.decisions([Task(identity(*mdp.return_range), (10.0,))])
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


@pytest.mark.parametrize("real", [False, True])
def test_a_plan_its_policy_and_its_curves_upload_the_problem_once(device, real, monkeypatch):
    """And once more for each lattice that a search tries."""
    mdp = mk.instances.random_sparse(12, 3, 5, rewards=None if real else range(9), rng=3)
    made, uploads = [], []
    monkeypatch.setattr("maxatk.engines.cuda.Cuda", lambda: made.append(1) or device)
    upload = SliceMethod._upload
    monkeypatch.setattr(SliceMethod, "_upload", lambda self: uploads.append(self) or upload(self))
    plan = mk.solve(mdp, 4, solver=mk.Certified(tol=0.05, device="gpu"))
    lattices = len(uploads)
    assert lattices == len({method.lattice.kappa for method in uploads})
    least, most = mdp.return_range
    for best in np.linspace(least, most, 12):
        plan.policy.action(rollout=1, step=0, state=int(mdp.start_state[0]), best=best, so_far=0)
        plan.curve(0, best)
    mk.simulate(mdp, plan.policy, trials=100, rng=0)
    assert (len(made), len(uploads)) == (1, lattices)
    copy = pickle.loads(pickle.dumps(plan.policy))
    assert copy.action(rollout=1, step=0, state=int(mdp.start_state[0]), best=most, so_far=0) in mdp.actions(0, 0)
