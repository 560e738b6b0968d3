"""Dense layers by matrix products: held to the usual sweeps, to brute force, and to themselves on all threads."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import maxatk as mk
import shim
from cost_oracles import earned
from maxatk.base.tuning import tuned
from maxatk.engines import blas
from maxatk.engines.cuda import Gpu
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import identity
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.products import Rectangles
from maxatk.policies.hooks import traits
from methods import decided, on_lattice
from problems import costs_of, specs, table_of


@pytest.fixture
def always(tune):
    """Products for all problems that they can be used for."""
    tune(product_work=0)
    tune(dense_share=0.0)
    tune(product_tile=3)  # so that layers have several


def with_rewards_of_rows(mdp, shift=0.0):
    """Each row's outcomes all bring its first one's reward."""
    first = mdp.outcome_start[:-1]
    return mdp.with_rewards(np.repeat(mdp.reward[first], np.diff(mdp.outcome_start)) + shift)


def rounding(whole, mdp):
    """What one rollout's sums may be off by, twice (docs/theory/planner.md, 10)."""
    most = int(np.diff(mdp.outcome_start).max())
    return 2 * mdp.horizon * (2 * most + 16) * 2.0**-53 * whole.problem.largest


@pytest.mark.slow
@pytest.mark.usefixtures("always")
@settings(max_examples=80)
@given(
    spec=specs(max_states=5, max_actions=3, max_horizon=4, costs=True),
    share=st.floats(0, 1),
    shift=st.sampled_from([0.0, 1000.0]),
    abandon=st.booleans(),
)
def test_sweeps_are_the_usual_ones_but_for_rounding(spec, share, shift, abandon):
    """At the start, of one best return, of several, from many returns; with early ends, costs, steps that differ."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start, action_cost=costs_of(spec))
    mdp = with_rewards_of_rows(mdp, shift)
    least, most = mdp.return_range
    assume(most > least)
    m = least + round(share * (most - least) * 4) / 4
    whole, usual = (on_lattice(mdp, 0.25, cost=0.125, abandon=abandon) for _ in range(2))
    assert whole.multiplies
    with tuned(product_work=math.inf):
        assert not usual.multiplies
    curve = identity(least, most)
    tasks = [Task(curve, (m,)), Task(curve, (m, m + 0.25, most)), Task(curve, (0.0,), shifts=(-3, 4))]
    for ours, theirs in zip(whole.sweep(tasks), usual.sweep(tasks), strict=True):
        assert ours == pytest.approx(theirs, rel=0, abs=rounding(whole, mdp))
    elsewhere = Task(curve, (m,), shifts=(1, 1), phase=0.1, start=(mdp.horizon - 1, 0))
    for task in (tasks[0], elsewhere):
        ours, theirs = decided(whole, task), decided(usual, task)
        assert ours.place.tolist() == theirs.place.tolist()
        assert len(ours.choice) == len(theirs.choice)


@pytest.mark.slow
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("paid", [{}, {"cost": 0.1}, {"cost": 0.1, "abandon": True}])
@pytest.mark.parametrize("seed", range(4))
def test_plans_are_true_and_their_policies_earn_them(seed, paid, tune):
    """In fractions, over all histories; ties are many, and no slice is small."""
    tune(small_slice=-1)
    mdp = mk.instances.random_dense(4, 3, 3, rewards=range(3), rng=seed)
    mdp = mdp.with_action_costs(np.linspace(0, 0.2, len(mdp.action_cost)) if paid else 0)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-9), **paid)
    exact = mk.solve(mdp, 3, solver=mk.Exact(), **paid)
    assert evidence_of(plan).method.multiplies
    assert plan.lower <= exact.exact <= plan.upper
    assert plan.upper - plan.lower <= 1e-9
    assert earned(mdp, plan.policy, 3, cost=paid.get("cost", 0)).net >= plan.lower


def test_large_dense_problems_go_by_products_without_being_told():
    mdp = mk.instances.random_dense(60, 3, 8, rewards=range(5), rng=0)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-8))
    assert evidence_of(plan).method.multiplies
    with tuned(product_work=math.inf):
        usual = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-8))
        assert not evidence_of(usual).method.multiplies
    for acting in (usual, plan):
        earned = mk.evaluate(mdp, acting.policy)
        assert earned.upper >= plan.lower
        assert earned.lower <= plan.upper


@pytest.mark.parametrize(
    "mdp",
    [
        mk.instances.random_sparse(60, 3, 8, rewards=range(5), rng=0),
        mk.instances.random_dense(60, 3, 8, rng=0),  # real rewards
        mk.instances.random_dense(3, 2, 3, rewards=range(5), rng=0),  # little to do
        mk.MDP.from_arrays(np.full((30, 2, 30), 1 / 30), np.arange(30 * 2 * 30).reshape(30, 2, 30) % 7, horizon=8),
    ],
)
def test_others_do_not(mdp):
    method = evidence_of(mk.solve(mdp, 2, solver=mk.Certified(tol=0.5))).method
    assert not method.multiplies


@pytest.mark.parametrize(("make", "true"), [(mk.instances.random_dense, True), (mk.instances.random_sparse, False)])
def test_policies_of_dense_problems_act_at_the_true_best_return(make, true, always, tune):
    """Products need not break ties as the bounds did, so that no tangent may be relied on, however large slices are."""
    tune(small_slice=-1)
    tune(dense_share=0.9)
    mdp = make(20, 3, 6, rewards=range(5), rng=0)
    policy = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-9)).policy
    assert not traits(policy).repeated
    best = np.arange(18.0, 24.0)
    assert (policy._tables.serve(1, best).knot.tolist() == best.tolist()) is true


def test_nor_where_a_matrix_would_not_fit(monkeypatch):
    mdp = mk.instances.random_dense(60, 3, 8, rewards=range(5), rng=0)
    method = on_lattice(mdp, 1.0)
    monkeypatch.setattr("maxatk.base.checks.memory", lambda: 4.0 * 16 * 60 * 3 * 60)
    assert not method.multiplies


def test_rewards_that_are_nearly_the_same_are_added_up(always):
    """Two outcomes of a row to one state, whose rewards are one lattice point but for rounding."""
    third = 0.1 + 0.2
    table = {s: {0: [(0.25, 0, 0.3, False), (0.25, 0, third, False), (0.5, 1, 0.3, True)]} for s in range(2)}
    plan = mk.solve(mk.MDP.from_table(table, horizon=3), 2, solver=mk.Certified(tol=1e-9))
    assert evidence_of(plan).method.multiplies
    assert evidence_of(plan).method.rows.matrix.tolist() == [[0.5, 0.0], [0.5, 0.0]]
    assert evidence_of(plan).method.rows.rows.prob.tolist() == [1.0, 0.5, 1.0, 0.5, 1.0, 1.0]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_every_split_gives_the_same_bits(threads, tune):
    mdp = mk.instances.random_dense(40, 3, 6, rewards=range(5), rng=0)

    def bits(**options) -> list[bytes]:
        plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.05, **options))
        arrays = [getattr(curve, name) for curve in evidence_of(plan).curves.tail for name in curve.arrays()]
        return [repr((plan.lower, plan.upper)).encode(), *(array.tobytes() for array in arrays)]

    alone = bits(threads=1)
    tune(part_work=1)
    assert bits(threads=threads) == alone
    tune(large_dense_layer=1)
    assert bits(threads=threads) == alone
    with threadpool_limits(4, user_api="blas"):
        assert bits(threads=threads) == alone
    with ThreadPoolExecutor(2) as executor:
        assert bits(executor=executor) == alone


@pytest.fixture(scope="module", params=shim.devices())
def device(request, tmp_path_factory):
    return shim.device(request.param, tmp_path_factory)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("paid", [{}, {"cost": 0.1, "abandon": True}])
def test_on_a_device(device, paid, monkeypatch):
    mdp = mk.instances.random_dense(6, 2, 4, rewards=range(4), rng=1)
    mdp = mdp.with_action_costs(np.linspace(0, 0.2, len(mdp.action_cost)) if paid else 0)
    monkeypatch.setattr("maxatk.engines.cuda.Cuda", lambda: device)
    swept = []
    by_products = Gpu._multiply
    monkeypatch.setattr(Gpu, "_multiply", lambda gpu, *given: swept.append(given) or by_products(gpu, *given))
    cpu, gpu = (mk.solve(mdp, 3, solver=mk.Certified(tol=0.01, device=where), **paid) for where in ("cpu", "gpu"))
    assert swept
    off = 3 * rounding(evidence_of(cpu).method, mdp)
    assert (gpu.lower, gpu.upper) == pytest.approx((cpu.lower, cpu.upper), rel=0, abs=off)
    assert earned(mdp, gpu.policy, 3, cost=paid.get("cost", 0)).net >= gpu.lower
    with pytest.raises(mk.TooLargeError):
        on_lattice(mdp, 1.0, Gpu(device, 100)).sweep([Task(identity(*mdp.return_range), (1.0,))])


@pytest.mark.usefixtures("always")
def test_products_take_one_thread_each_and_leave_things_as_they_were(monkeypatch):
    """Also where plans are made on two threads at a time, or fail."""
    mdp = mk.instances.random_dense(12, 2, 4, rewards=range(4), rng=1)
    two_layers, seen = Rectangles.two_layers, []

    def watched(*given):
        seen.append(blas_threads())
        return two_layers(*given)

    monkeypatch.setattr(Rectangles, "two_layers", watched)
    usual = blas_threads()
    mk.solve(mdp, 3)
    assert seen
    assert all(set(threads) == {1} for threads in seen)
    assert blas_threads() == usual
    with threadpool_limits(2, user_api="blas"):  # somebody's own limit is left alone
        mk.solve(mdp, 3)
        assert blas_threads() == [2] * len(usual)
    assert blas_threads() == usual
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda k: mk.solve(mdp, k), (2, 3, 4, 5, 6, 7)))
    assert blas_threads() == usual
    with pytest.raises(ZeroDivisionError), blas.one_thread_each:
        raise ZeroDivisionError
    assert blas_threads() == usual


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in blas.blas().info() if library["user_api"] == "blas"]
