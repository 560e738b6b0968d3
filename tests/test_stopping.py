"""Time and Ctrl-C: one owner, and whatever it stops, what comes back is true."""

import itertools
import os
import signal
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.stopping import Reason, Scope, StoppedError
from maxatk.base.workers import Workers
from maxatk.planning.certified.plan import evidence_of
from oracles import policy_value


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told otherwise."""
    now = [0.0]
    monkeypatch.setattr(stopping.time, "perf_counter", lambda: now[0])
    return now


def test_a_scope_ends_when_its_time_is_up(clock):
    with stopping.scope(2.0) as scope:
        assert scope.timed
        assert scope.left == 2.0
        stopping.check()
        clock[0] = 2.5
        with pytest.raises(StoppedError) as stopped:
            stopping.check()
        assert stopped.value.reason is Reason.TIME_LIMIT
        assert scope.flag[0] == 1
    stopping.check()  # outside nothing has ended
    assert not stopping.current().timed


def test_scopes_within_scopes(clock):
    with stopping.scope(4.0) as outer:
        with stopping.scope(9.0) as inner:
            assert inner.left == 4.0  # no longer than what is around it
        with stopping.half() as inner:
            assert inner.left == 2.0
            clock[0] = 3.0
            assert (inner.reason, outer.reason) == (Reason.TIME_LIMIT, None)
        with stopping.scope(None) as inner:
            outer.end(Reason.TIME_LIMIT)
            assert inner.reason is Reason.TIME_LIMIT

    def stopped_inside():
        with stopping.scope() as outer, stopping.scope() as inner:
            inner.end(Reason.INTERRUPTED)  # Ctrl-C is meant for all of it
            outer.check()

    with pytest.raises(KeyboardInterrupt):
        stopped_inside()


def test_a_patient_scope_is_ended_by_ctrl_c_alone(clock):
    with stopping.scope(1.0) as outer, stopping.scope(patient=True) as inner:
        clock[0] = 2.0
        assert (outer.reason, inner.reason) == (Reason.TIME_LIMIT, None)

    def interrupted():
        with stopping.scope() as outer, stopping.scope(patient=True) as inner:
            outer.end(Reason.INTERRUPTED)
            assert inner.reason is Reason.INTERRUPTED

    with pytest.raises(KeyboardInterrupt):  # it is said on leaving, if nobody asked
        interrupted()


def test_the_first_interrupt_is_a_request_and_the_second_is_not():
    usual = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with stopping.scope() as outer, stopping.scope() as scope:
            os.kill(os.getpid(), signal.SIGINT)
            assert scope.reason is outer.reason is Reason.INTERRUPTED
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_who_handles_interrupts_otherwise_is_left_alone(handler):
    usual = signal.signal(signal.SIGINT, handler)
    try:
        with stopping.scope() as scope:
            os.kill(os.getpid(), signal.SIGINT)
            assert scope.reason is None
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)


def test_scopes_on_other_threads():
    """Signals reach the main thread alone; scopes elsewhere end by time, or with those around them."""
    seen = []

    def work():
        with stopping.scope(0.0):
            try:
                stopping.check()
            except StoppedError as stop:
                seen.append(stop.reason)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [Reason.TIME_LIMIT]


def waiting(_, stop):
    """A sweep that goes on until it is asked to stop."""
    while not stop[0]:
        pass
    return "stopped"


def test_sweeps_hear_of_the_end():
    """On the main thread and on others: the flag ends them, and what they return then is not used."""
    with stopping.scope(0.05), pytest.raises(StoppedError):
        stopping.run(waiting, None)
    with stopping.scope(0.05), pytest.raises(StoppedError):
        Workers(2).map(stopping.run, [waiting, waiting], [1, 2])
    assert stopping.run(lambda x, stop: x + 1, 1) == 2
    with stopping.scope(), pytest.raises(ZeroDivisionError):
        stopping.run(lambda stop: 1 / 0)


def test_brief_kernels_stay_on_the_present_thread():
    def thread(stop):
        return threading.current_thread()

    main = threading.main_thread()
    with stopping.scope() as scope:
        assert stopping.run(thread) is not main
        with stopping.brief():
            assert stopping.run(thread) is main
            with stopping.brief(False):
                assert stopping.run(thread) is not main
            scope.end(Reason.INTERRUPTED)
            with pytest.raises(StoppedError):
                stopping.run(thread)


def test_workers_keep_order_and_pass_errors_on():
    workers = Workers(3)
    assert workers.map(divmod, [7, 8, 9], [2, 3, 4]) == [(3, 1), (2, 2), (2, 1)]
    with pytest.raises(ZeroDivisionError):
        workers.map(divmod, [1, 2, 3], [1, 0, 1])
    assert workers.map(abs, [-1]) == [1]


def test_nobody_ends_a_scope_for_others():
    """Outside of all scopes there is none to be ended: what is interrupted there ends with its call."""
    stopping.current().end(Reason.INTERRUPTED)
    stopping.check()
    assert stopping.current().reason is None

    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(interrupted, [1, 2])
    assert Workers(2).map(abs, [-1, -2]) == [1, 2]
    assert stopping.run(lambda x, stop: x + 1, 1) == 2
    with pytest.raises(KeyboardInterrupt):
        stopping.run(lambda stop: interrupted(1))
    assert stopping.run(lambda x, stop: x + 1, 1) == 2


def act(plan):
    return plan.policy.action(rollout=1, step=0, state=36, best=-20, so_far=0)


@pytest.mark.parametrize(
    ("kernel", "ask"), [("sweep_decisions", act), ("sweep_values", lambda plan: plan.curve(0, -20))]
)
def test_an_interrupt_of_one_question_is_no_answer_to_others(monkeypatch, kernel, ask):
    """Ctrl-C while a slice is swept for a policy or a curve is heard at once, and nothing else is stopped by it."""
    mdp = mk.instances.windy_cliff()
    plan, sweep, sent = mk.solve(mdp, 3), getattr(kernels, kernel), []
    other = ask(mk.solve(mdp, 3))

    def slow(*arguments):
        sent.append(os.kill(os.getpid(), signal.SIGINT))
        while not arguments[-1][0]:  # the flag
            pass
        return sweep(*arguments)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(kernels, kernel, slow)
            with pytest.raises(KeyboardInterrupt):
                ask(plan)
        assert sent == [None]
        assert ask(plan) == other
        stopping.check()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("source", "draw", "moment"), [(mk.TabularModel, "sample", 1), (mk.TabularEpisodes, "step", 2)]
)
def test_learning_hears_an_interrupt_between_two_samples(tmp_path, source, draw, moment):
    """The first Ctrl-C is a request: the sample at hand is taken in, the run is saved, and goes on another day."""
    mdp, calls = mk.instances.figure1(), []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == moment:  # for episodes, the last step of a trial
            os.kill(os.getpid(), signal.SIGINT)
        return getattr(source, draw)(self, *given)

    interrupting = type("Interrupting", (source,), {draw: interrupted})(mdp)
    path, arguments = tmp_path / "run", {"epsilon": 0.3, "delta": 0.1, "rng": 1}
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            mk.learn(interrupting, 2, **arguments, checkpoint=path)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(calls) == moment
    assert path.exists()
    again, whole = mk.learn(source(mdp), 2, **arguments, checkpoint=path), mk.learn(source(mdp), 2, **arguments)
    assert (again.samples, again.lower, again.upper) == (whole.samples, whole.lower, whole.upper)


def everywhere(mdp):
    return kernels.Part(0, mdp.horizon, 0, mdp.n_states)


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (kernels.most_ahead, lambda m, t, into: (everywhere(m), t.rows, into)),
        (
            kernels.best_means,
            lambda m, t, into: (
                *(everywhere(m), t.rows, 0.0, into[:2, : m.n_states + 1], into[2:4, : m.n_states + 1]),
                np.zeros((m.horizon, m.n_states), np.int32),
            ),
        ),
        (
            kernels.least_costs,
            lambda m, t, into: (
                *(everywhere(m), t.rows._replace(action_cost=m.action_cost + 1), into),
                np.zeros((m.horizon, m.n_states), np.int32),
            ),
        ),
        (kernels.windows, lambda m, t, into: (t, 0, 0, -50)),
    ],
)
def test_kernels_end_early(kernel, arguments):
    mdp = mk.instances.windy_cliff()
    tables = evidence_of(mk.solve(mdp, 2)).method.tables
    whole, ended = (np.zeros((mdp.horizon + 1, mdp.n_states + 1)) for _ in range(2))
    into = [array[:, : mdp.n_states] if kernel is not kernels.best_means else array for array in (whole, ended)]
    results = [kernel(*arguments(mdp, tables, array), np.full(1, stop, np.int8)) for stop, array in enumerate(into)]
    if results[0] is None:
        assert whole.any()
        assert not ended.any()
    else:
        assert not all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


# Stopped at any moment.


def stop_at(monkeypatch, moment: int, reason: Reason) -> None:
    """End the scope when it is asked for the n-th time: between sweeps, and inside of them."""
    asked = itertools.count()
    check, run = Scope.check, stopping.run

    def counting(self):
        if next(asked) == moment:
            self.end(reason)
        check(self)

    def running(kernel, *arguments):
        if stopping._current.get() is not None and next(asked) == moment:
            stopping.current().end(reason)
        return run(kernel, *arguments)

    monkeypatch.setattr(Scope, "check", counting)
    monkeypatch.setattr(stopping, "run", running)


@pytest.mark.slow
@pytest.mark.parametrize("reason", [Reason.TIME_LIMIT, Reason.INTERRUPTED])
@pytest.mark.parametrize("real", [False, True])
def test_a_plan_that_is_stopped_at_any_moment_is_true(real, reason):
    mdp = mk.instances.random_sparse(3, 2, 2, rng=2)
    if not real:
        mdp = mdp.with_rewards(np.rint(4 * mdp.reward))
    optimum = mk.solve(mdp, 3, solver=mk.Exact()).exact
    statuses = set()
    for moment in [*range(60), *range(60, 600, 23)]:
        with pytest.MonkeyPatch.context() as patch:
            stop_at(patch, moment, reason)
            try:
                plan = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-3))
            except KeyboardInterrupt:  # before anything was known
                assert moment < 10
                continue
            except StoppedError:
                assert moment < 10
                continue
        statuses.add(str(plan.status))
        assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)
        assert policy_value(mdp, plan.policy, 3) >= Fraction(plan.lower)
        assert plan.lower >= mdp.analysis.mean_optimal[1] - 1e-9
    assert statuses == {str(reason), "within tol"}


@pytest.mark.parametrize("make", [mk.instances.proposition3, lambda: mk.instances.random_sparse(3, 2, 2, rng=0)])
def test_a_comparison_that_is_stopped_at_any_moment_is_true(make):
    mdp = make()
    whole = mk.compare(mdp, 2)
    stopped = 0
    for moment in [*range(0, 90, 9), *range(100, 1000, 150), 3000]:
        with pytest.MonkeyPatch.context() as patch:
            stop_at(patch, moment, Reason.INTERRUPTED)
            compared = mk.compare(mdp, 2, plan=whole.plan)
        stopped += compared.stopped is Reason.INTERRUPTED
        assert [row.name for row in compared] == [row.name for row in whole]
        for row, best in zip(compared, whole, strict=True):
            assert row.lower <= best.upper + 1e-9
            assert best.lower <= row.upper + 1e-9
            if row.method.startswith("not searched"):
                assert row.lower <= whole.plan.upper
            earned = mk.evaluate(mdp, row.policy)
            assert earned.upper >= row.lower - 1e-12
    assert stopped > 5


def test_progress_never_gets_worse():
    """The best interval known, whatever pass is at work: what Ctrl-C would leave is no worse than what was shown."""
    mdp = mk.instances.random_sparse(4, 2, 4, rng=1)
    mdp = mdp.with_rewards(np.random.default_rng(0).normal(size=len(mdp.reward)))
    seen = []
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-3), progress=seen.append)
    assert len({at.rollout for at in seen}) == 4
    assert sum(at.rollout == 0 for at in seen) > 1  # several passes
    for a, b in itertools.pairwise(seen):
        assert a.lower <= b.lower <= b.upper <= a.upper
    assert (seen[-1].lower, seen[-1].upper) == (plan.lower, plan.upper)
    assert seen[0].tol == 1e-3
    repeated = mk.evaluate(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=3))
    assert seen[0].lower >= repeated.lower - 1e-3
    for n in range(0, len(seen), 3):
        told = []

        def interrupt(at, n=n, told=told):
            told.append(at)
            if len(told) == n + 1:
                raise KeyboardInterrupt

        kept = mk.solve(mdp, 3, solver=mk.Certified(tol=1e-3), progress=interrupt)
        assert kept.status is (mk.Status.INTERRUPTED if kept.gap > 1e-3 else mk.Status.WITHIN_TOL)
        assert (kept.lower, kept.upper) == (seen[n].lower, seen[n].upper)


def test_interrupted_while_it_is_loaded():
    """Ctrl-C that comes before the command is there ends it in one line."""
    script = (
        "import signal, sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'maxatk.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from maxatk.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "maxatk: interrupted\n")
