"""Executors: equal bits wherever slices are swept, and a plan whatever happens to the workers."""

import math
import pickle
import random
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.engines import remote
from maxatk.engines.remote import RemotePool
from maxatk.planning.certified.plan import evidence_of


class Fake(Executor):
    """Pickles all that goes to and fro, freezes arrays, answers out of order, and fails as it is told to.

    Args:
        breaks_at: from this task on, the pool is broken.
        loses: tasks whose worker is lost.
        silent: whether no task is ever answered.
    """

    def __init__(self, breaks_at: float = math.inf, loses=(), silent: bool = False) -> None:
        self.tasks, self.sizes, self.cancelled = 0, [], 0
        self._breaks_at, self._loses, self._silent = breaks_at, set(loses), silent
        self._waiting = []
        self._random = random.Random(0)
        self._lock = threading.Lock()

    def submit(self, fn, /, *args, **kwargs):
        number, self.tasks = self.tasks, self.tasks + 1
        if number > self._breaks_at:
            raise BrokenExecutor("no more")
        message = pickle.dumps((fn, args, kwargs))
        self.sizes.append(len(message))
        future = Future()
        with self._lock:
            self._waiting.append((number, future, message))
        if not self._silent:
            threading.Timer(0.002, self._answer_one).start()
        return future

    def _answer_one(self) -> None:
        with self._lock:
            number, future, message = self._waiting.pop(self._random.randrange(len(self._waiting)))
        if not future.set_running_or_notify_cancel():
            self.cancelled += 1
            return
        if number == self._breaks_at:
            future.set_exception(BrokenExecutor("a process died"))
        elif number in self._loses:
            future.set_exception(RuntimeError("WorkerCrashedError"))
        else:
            fn, args, kwargs = pickle.loads(message)
            try:
                result = pickle.loads(pickle.dumps(fn(*args, **kwargs)))
            except Exception as error:
                future.set_exception(error)
                return
            for array in result if isinstance(result, tuple) else [result]:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
            future.set_result(result)


class Wayward(Executor):
    """Answers as no worker would: with ``None``, with something else, or with an exit."""

    def __init__(self, answer) -> None:
        self._answer, self.tasks = answer, 0

    def submit(self, fn, /, *args, **kwargs):
        self.tasks += 1
        future = Future()
        if isinstance(self._answer, BaseException):
            future.set_exception(self._answer)
        else:
            future.set_result(self._answer)
        return future

    def put(self, packed):
        raise ConnectionError("nobody is there")


class NoFutures(Executor):
    """Takes tasks, and promises nothing."""

    def submit(self, fn, /, *args, **kwargs):
        return None


@pytest.fixture(autouse=True)
def _forget():
    """Workers here share this process: they are to know nothing of the test before."""
    remote._known.clear()


def bits(mdp: mk.MDP, k: int, tol: float, **settings) -> list[bytes]:
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol, **settings))
    arrays = [getattr(curve, name) for curve in evidence_of(plan).curves.tail for name in curve.arrays()]
    return [repr((plan.lower, plan.upper, str(plan.status))).encode(), *(array.tobytes() for array in arrays)]


def problem(real: bool) -> mk.MDP:
    return mk.instances.random_sparse(30, 3, 6, rewards=None if real else range(6), rng=0)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    "executor",
    [
        lambda: Fake(),
        lambda: Fake(loses=[1, 4]),
        lambda: Fake(loses=range(1000)),
        lambda: Fake(breaks_at=0),
        lambda: Fake(breaks_at=3),
    ],
    ids=["well", "two lost", "all lost", "broken from the start", "broken on the way"],
)
def test_every_engine_gives_the_same_bits(executor, real):
    fake = executor()
    assert bits(problem(real), 4, 0.02, executor=fake) == bits(problem(real), 4, 0.02)
    assert fake.tasks


def test_the_problem_travels_once_and_tasks_are_small(tune):
    tune(inline_bytes=100)
    mdp, fake = mk.instances.random_sparse(400, 3, 6, rewards=range(6), rng=0), Fake()
    data = len(pickle.dumps(mdp))
    assert bits(mdp, 4, 0.02, executor=fake) == bits(mdp, 4, 0.02)
    large = [size for size in fake.sizes if size > data]
    small = [size for size in fake.sizes if size <= data]
    assert len(large) <= 8  # those who asked before the first of them knew
    assert sorted(small)[len(small) // 2] < 4096


@pytest.mark.slow
def test_workers_that_never_answer(tune):
    """With a time limit a true, wider interval and the reason; without one, patience ends."""
    mdp, fake = problem(False), Fake(silent=True)
    plan = mk.solve(mdp, 4, solver=mk.Certified(tol=0.02, time_limit=1.0, executor=fake))
    assert plan.status is mk.Status.TIME_LIMIT
    known = mk.solve(mdp, 4, solver=mk.Certified(tol=0.02))
    assert plan.lower <= known.upper
    assert known.lower <= plan.upper
    assert all(future.cancelled() for _, future, _ in fake._waiting)
    tune(worker_timeout=0.2)
    assert bits(mdp, 4, 0.02, executor=Fake(silent=True)) == bits(mdp, 4, 0.02)


def test_other_versions_are_refused(monkeypatch):
    mdp = problem(False)
    here = remote.versions()
    called = iter([f"{here}, older"] + [here] * 10_000)
    monkeypatch.setattr(remote, "versions", lambda: next(called))
    with pytest.raises(mk.InputError, match=r"^a worker has .*, but the caller has .*older: results might differ$"):
        mk.solve(mdp, 4, solver=mk.Certified(tol=0.02, executor=Fake()))


def test_processes_of_the_standard_library():
    """Real processes, and one that kills its worker: the pool breaks, the plan comes out."""
    mdp = problem(True)
    with ProcessPoolExecutor(2) as pool:
        assert bits(mdp, 3, 0.1, executor=pool) == bits(mdp, 3, 0.1)
        trials = mk.simulate(mdp, mk.solve(mdp, 2).policy, trials=100, rng=0, executor=pool)
        assert (trials.returns == mk.simulate(mdp, mk.solve(mdp, 2).policy, trials=100, rng=0).returns).all()
        with pytest.raises(BrokenExecutor):
            pool.submit(die).result()
        assert bits(mdp, 3, 0.1, executor=pool) == bits(mdp, 3, 0.1)


def die() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def test_threads_as_an_executor():
    with ThreadPoolExecutor(2) as pool:
        assert bits(problem(False), 3, 0.1, executor=pool) == bits(problem(False), 3, 0.1)
    assert bits(problem(False), 3, 0.1, executor=pool) == bits(problem(False), 3, 0.1)  # which is shut down by now


@pytest.mark.parametrize("executor", [None, Fake, lambda: Fake(breaks_at=2), lambda: Fake(loses=[0, 3])])
def test_many_problems(executor):
    """In their order, as they would come one by one; lazily, so that there may be any number."""
    pairs = [(mk.instances.figure1(gamma=Fraction(i, 10)), 1 + i % 3) for i in range(1, 8)]
    made = executor and executor()
    plans = mk.solve_many(iter(pairs), solver=mk.Certified(tol=1e-6), executor=made)
    for (mdp, k), plan in zip(pairs, plans, strict=True):
        alone = mk.solve(mdp, k, solver=mk.Certified(tol=1e-6))
        assert (plan.lower, plan.upper, plan.k) == (alone.lower, alone.upper, k)
        assert plan.mdp == mdp
        assert plan.policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == alone.policy.action(
            rollout=0, step=0, state=0, best=-math.inf, so_far=0
        )
    exact = list(mk.solve_many(pairs[:2], solver=mk.Exact(), executor=Fake()))
    assert exact[0].exact == mk.solve(*pairs[0], solver=mk.Exact()).exact


def test_many_problems_one_of_them_bad():
    pairs = [(mk.instances.figure1(), 2), (mk.instances.figure1(), 0)]
    plans = mk.solve_many(pairs, executor=Fake())
    assert next(plans).k == 2
    with pytest.raises(mk.InputError, match="k must be at least 1"):
        next(plans)
    endless = mk.solve_many(((mk.instances.figure1(), 1) for _ in iter(int, 1)), executor=Fake())
    assert next(endless).k == 1
    endless.close()


@pytest.mark.slow
def test_trials_elsewhere_are_the_same():
    mdp = mk.instances.windy_cliff()
    policy = mk.solve(mdp, 2).policy
    here = mk.simulate(mdp, policy, trials=70_000, rng=3)
    for fake in (Fake(), Fake(loses=[0]), Fake(breaks_at=1)):
        there = mk.simulate(mdp, policy, trials=70_000, rng=3, executor=fake)
        assert (there.returns == here.returns).all()
        assert there.steps == here.steps
    with pytest.raises(mk.InputError, match=r"^this cannot be sent to workers: .*$"):
        mk.simulate(mdp, mk.AdaptivePolicy(lambda **_: 0, k=1, horizon=40), trials=10, executor=Fake())


@pytest.mark.parametrize("use", [lambda x: mk.Certified(executor=x), lambda x: mk.solve_many([], executor=x)])
def test_what_is_no_executor(use):
    with pytest.raises(mk.InputError, match=r"executor must be a concurrent\.futures\.Executor, not 3"):
        use(3)


WAYWARD = [None, 3, np.zeros(2), SystemExit(2), RuntimeError("lost")]


@pytest.mark.parametrize("answer", WAYWARD, ids=str)
def test_what_no_worker_has_said_is_computed_here(answer):
    """``None`` used to end in an error of Python's own somewhere later, and a worker's exit was the caller's."""
    mdp = problem(False)
    executor = Wayward(answer)
    assert bits(mdp, 4, 0.02, executor=executor) == bits(mdp, 4, 0.02)
    policy = mk.solve(mdp, 2).policy
    here, there = (mk.simulate(mdp, policy, trials=50, rng=0, executor=one).returns for one in (None, executor))
    assert (here == there).all()
    (plan,) = mk.solve_many([(mdp, 2)], executor=executor)
    assert plan.lower == mk.solve(mdp, 2).lower
    assert executor.tasks


@pytest.mark.parametrize(
    "use",
    [
        lambda x: mk.solve(problem(False), 4, solver=mk.Certified(tol=0.02, executor=x)),
        lambda x: list(mk.solve_many([(problem(False), 2)], executor=x)),
        lambda x: mk.simulate(problem(False), mk.solve(problem(False), 2).policy, trials=50, executor=x),
    ],
    ids=["solve", "solve_many", "simulate"],
)
def test_an_executor_that_returns_no_futures(use):
    with pytest.raises(mk.InputError, match=r"^executor\.submit must return a concurrent\.futures\.Future, not None$"):
        use(NoFutures())


def test_a_worker_keeps_few_objects():
    fake = Fake()
    for i in range(4):
        assert RemotePool(fake, [i]).map(first_of, [()], fallback=lambda left: [-1]) == [i]
    assert len(remote._known) <= remote.CACHE_SIZE


def first_of(known):
    return known[0]


# Clusters, where they are installed.


def test_ray():
    """Two nodes of one CPU: equal bits; a node is taken away on the way; another joins; a task kills its worker."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'maxatk[ray]'")
    utils = pytest.importorskip("ray.cluster_utils")
    mdp = mk.instances.random_sparse(200, 3, 10, rng=0)
    alone = bits(mdp, 4, 0.1)
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = utils.Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    try:
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        engine = mk.engines.Ray()
        assert bits(mdp, 4, 0.1, executor=engine) == alone
        threading.Timer(0.5, lambda: cluster.remove_node(second, allow_graceful=False)).start()
        assert bits(mdp, 4, 0.1, executor=engine) == alone
        cluster.add_node(**node)
        assert bits(mdp, 4, 0.1, executor=engine) == alone
        began = time.monotonic()
        known = RemotePool(mk.engines.Ray(max_retries=1), [7])
        assert known.map(kill_and_tell, [()], fallback=lambda left: [-1]) == [-1]
        assert time.monotonic() - began < 120
    finally:
        ray.shutdown()
        cluster.shutdown()


def kill_and_tell(known):
    die()


@pytest.mark.filterwarnings("ignore")
def test_dask():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'maxatk[dask]'")
    mdp = mk.instances.random_sparse(100, 3, 8, rng=0)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        engine = mk.engines.Dask(client)
        assert bits(mdp, 4, 0.1, executor=engine) == bits(mdp, 4, 0.1)
        client.cluster.scale(1)
        assert bits(mdp, 4, 0.1, executor=engine) == bits(mdp, 4, 0.1)


def test_engines_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(mk.MissingExtraError, match="maxatk\\[ray\\]"):
        mk.engines.Ray()
