"""The scheduler's database: nothing lost, nothing counted twice, whatever happens to processes, disks and clocks."""

import asyncio
import json
import multiprocessing
import os
import pickle
import random
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import maxatk as mk
import scheduler_worker
from maxatk import attempts as at
from maxatk.attempts.scheduler import databases
from maxatk.attempts.scheduler.databases import Sqlite
from maxatk.attempts.scheduler.records import Records, Settings
from maxatk.attempts.scheduler.scheduler import Scheduler
from maxatk.cli import main
from scheduler_worlds import THREE, plan_of


def at_times(path, settings=None, lease=10.0):
    """A scheduler whose clock is a list of one number."""
    clock = [1000.0]
    database = Sqlite(path, lambda: clock[0])
    agreed = settings or Settings()
    database.transact(lambda tx: Records(tx, database.name).create(agreed, plan_of(*THREE)))
    return Scheduler(database, lease), clock


# Leases.


def test_an_attempt_whose_lease_ends_is_put_back_and_a_late_result_counts(tmp_path):
    scheduler, clock = at_times(tmp_path / "x.db")
    first = scheduler.ask("t")
    assert (first.id, first.lease_end) == (1, 1010.0)
    clock[0] += 9.99
    assert [one.id for one in scheduler.state("t").in_flight] == [1]
    assert scheduler.ask("t").arm == "small"  # a second one, while the first is in flight
    clock[0] += 0.02
    again = scheduler.ask("t")
    assert (again.id, again.arm) == (3, "small")  # in place of the first
    assert scheduler.tell(first, score=0.3, cost=2.0)
    assert not scheduler.tell(first, score=0.9, cost=2.0)
    state = scheduler.state("t")
    assert (state.best, state.spent, state.told) == (0.3, 2.0, (("small", 0.3, 2.0),))


def test_a_lease_is_renewed(tmp_path):
    scheduler, clock = at_times(tmp_path / "x.db")
    attempt = scheduler.ask("t")
    for _ in range(5):
        clock[0] += 8
        scheduler.renew(attempt)
    assert [one.id for one in scheduler.in_flight] == [1]
    scheduler.renew(attempt, lease=100)
    clock[0] += 99
    scheduler.ask("u")
    assert [one.id for one in scheduler.in_flight] == [1, 2]
    clock[0] += 2
    scheduler.ask("v")
    assert [one.id for one in scheduler.in_flight] == [2, 3]
    with pytest.raises(mk.InputError, match="attempt 1 is expired"):
        scheduler.renew(attempt)


@pytest.mark.parametrize("jump", [-1e6, -3.0, 3.0, 1e6])
def test_clocks_that_jump_hold_no_attempt_for_ever(tmp_path, jump):
    scheduler, clock = at_times(tmp_path / "x.db")
    lost = scheduler.ask("t")
    clock[0] += jump
    waited = 0.0
    while lost.id in [one.id for one in scheduler.in_flight]:
        scheduler.ask("another task")
        clock[0] += 1.0
        waited += 1.0
        assert waited <= 14.0  # a lease, and a jump back that is shorter than the attempt is old
    assert scheduler.tell(lost, score=0.5)


def test_what_keeps_dying_is_listed_and_not_made_again(tmp_path):
    scheduler, clock = at_times(tmp_path / "x.db", Settings(max_retries=2))
    for number in range(3):
        attempt = scheduler.ask("t")
        assert attempt.arm == "small"
        if number % 2:
            scheduler.drop(attempt)
        else:
            clock[0] += 11
    last = scheduler.ask("t")
    assert [(one.task, one.arm, one.id) for one in scheduler.failed] == [("t", "small", 3)]
    assert last.id == 4
    scheduler.tell(last, score=0.1)
    assert scheduler.ask("t").arm == "big"  # two places of small are used up: one told, one failed
    assert scheduler.tell(3, score=0.7)  # and still a late result counts
    assert scheduler.failed == []


def test_a_timeout_counts_as_an_attempt_if_it_is_said_to(tmp_path):
    scheduler, clock = at_times(tmp_path / "x.db", Settings(timeouts="count"))
    arms = []
    while attempt := scheduler.ask("t"):
        arms.append(attempt.arm)
        clock[0] += 11
    assert arms == ["small", "small", "big"]
    assert attempt.stop
    assert len(scheduler.failed) == 3


# The loop.


def test_the_natural_loop_ends_and_waits():
    scheduler = plan_of(*THREE).scheduler()
    flying = [scheduler.ask("t") for _ in range(3)]
    assert not scheduler.ask("t")
    assert scheduler.ask("t").wait
    began = time.monotonic()
    assert scheduler.ask("t", wait=True, timeout=0.1).wait
    assert 0.1 <= time.monotonic() - began < 5

    def come_back():
        for attempt in flying:
            time.sleep(0.02)
            scheduler.tell(attempt, score=0.1, cost=1.0)

    thread = threading.Thread(target=come_back)
    thread.start()
    end = scheduler.ask("t", wait=True)
    thread.join()
    assert (bool(end), end.stop, scheduler.state("t").best) == (False, True, 0.1)


def test_fifty_tasks_at_once_by_asyncio(tmp_path):
    scheduler = plan_of(*THREE).scheduler(tmp_path / "x.db")
    limits = {"small": asyncio.Semaphore(10), "big": asyncio.Semaphore(2)}
    running, most = {"small": 0, "big": 0}, {"small": 0, "big": 0}

    async def solve(task):
        while attempt := await scheduler.ask_async(task):
            async with limits[attempt.arm]:
                running[attempt.arm] += 1
                most[attempt.arm] = max(most[attempt.arm], running[attempt.arm])
                await asyncio.sleep(0.001)
                running[attempt.arm] -= 1
            scheduler.tell(attempt, score=0.2, cost=1.0)

    async def every():
        await asyncio.gather(*(solve(task) for task in range(50)))

    asyncio.run(every())
    assert len(scheduler.records()) == 150
    assert most["big"] <= 2
    progress = scheduler.progress()
    assert (progress.tasks, progress.over, progress.solved, progress.spent) == (50, 50, 0, 150.0)


def test_workers_that_name_no_task_follow_priorities():
    scheduler = plan_of(*THREE).scheduler()
    assert scheduler.ask().stop  # no task is open
    scheduler.enqueue(["a", "b"])
    scheduler.enqueue(["c"], priority=1)
    assert [scheduler.ask().task for _ in range(4)] == ["c", "c", "c", "a"]
    scheduler.pause("a")
    assert [scheduler.ask().task for _ in range(3)] == ["b", "b", "b"]
    waiting = scheduler.ask()
    assert (bool(waiting), waiting.wait) == (False, True)
    assert scheduler.ask("a").why == "the task is paused"
    scheduler.resume("a")
    assert scheduler.ask().task == "a"
    scheduler.cancel("a")
    assert scheduler.ask("a").stop
    for attempt in scheduler.in_flight:
        scheduler.tell(attempt, score=1.0 if attempt.task == "c" else 0.0)
    end = scheduler.ask()
    assert (end.task, end.stop, end.why) == (None, True, "no task is open")
    assert scheduler.state("a").cancelled
    assert len(scheduler.export().tasks) == 3


# Files.


def test_a_scheduler_is_joined_and_another_plan_refused(tmp_path):
    plan, path = plan_of(*THREE), tmp_path / "x.db"
    first, second = plan.scheduler(path), plan.scheduler(path)
    attempt = first.ask("t")
    assert second.tell(attempt.id, score=0.5, cost=1.0)
    third = at.load_scheduler(path)
    assert third.state("t").best == 0.5
    assert third.plan == plan
    with pytest.raises(mk.InputError, match=r"x\.db: holds a scheduler of another plan; at\.load_scheduler joins"):
        plan_of(*THREE[:2]).scheduler(path)
    with pytest.raises(mk.InputError, match="holds a scheduler with other settings"):
        plan.scheduler(path, max_retries=7)
    learned = first.learn()
    assert plan.scheduler(path).plan == learned  # of the same plan, which has learned since
    again = pickle.loads(pickle.dumps(first))
    assert again.known == ["t"]
    with pytest.raises(mk.InputError, match="a scheduler in memory cannot be copied"):
        pickle.dumps(plan.scheduler())


def make(path):
    plan_of(*THREE).scheduler(path).add(f"t{os.getpid()}", arm="big", score=0.5)


@pytest.mark.slow
def test_many_creators_of_one_file_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    for number in range(3):
        path = tmp_path / f"{number}.db"
        workers = [context.Process(target=make, args=(path,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0] * 4
        assert len(at.load_scheduler(path).records()) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"task,arm,score\n" * 200, "not a scheduler of maxatk: file is not a database"),
        (b"SQLite format 3\0" + bytes(5000), "not a scheduler of maxatk"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    for call in (lambda: plan_of(*THREE).scheduler(path), lambda: at.load_scheduler(path)):
        with pytest.raises(mk.InputError, match=message):
            call()
    assert path.read_bytes() == content


def test_databases_of_others_and_of_other_versions_are_refused(tmp_path):
    other, empty, old = (tmp_path / name for name in ("other.db", "empty.db", "old.db"))
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(mk.InputError, match="a database of another program, not a scheduler"):
        plan_of(*THREE).scheduler(other)
    empty.touch()
    with pytest.raises(mk.InputError, match="holds no scheduler"):
        at.load_scheduler(empty)
    plan_of(*THREE).scheduler(old).close()
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE maxatk_meta SET version = 0")
    for call in (lambda: plan_of(*THREE).scheduler(old), lambda: at.load_scheduler(old)):
        with pytest.raises(mk.InputError, match="has format version 0, and this maxatk reads 1"):
            call()
    with pytest.raises(mk.InputError, match="there is no such file"):
        at.load_scheduler(tmp_path / "none.db")


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ("cost = -5", "attempt 1 is not readable: its cost is -5"),
        ("arm = ''", "attempt 1 is not readable: its arm is ''"),
        ("score = 'high'", "attempt 1 is not readable: 'high' is not a finite number"),
        ("score = 9e999", "attempt 1 is not readable: inf is not a finite number"),
        ("seen = NULL", "attempt 1 is not readable: it is 'told' with the score None"),
        ("status = 'done'", "attempt 1 is not readable: it is 'done' with the score 0.5"),
        ("lease_end = 'x'", "attempt 1 is not readable: 'x' is not a finite number"),
    ],
)
def test_what_is_read_is_checked(tmp_path, forged, message):
    path = tmp_path / "x.db"
    with plan_of(*THREE).scheduler(path) as scheduler:
        scheduler.tell(scheduler.ask("t"), score=0.5, cost=1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"UPDATE maxatk_attempts SET {forged}")
    with pytest.raises(mk.InputError, match=message):
        at.load_scheduler(path).tell(1, score=0.1)


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE maxatk_meta SET plan = 'x'",
        "UPDATE maxatk_meta SET next_attempt = 'x'",
        "UPDATE maxatk_tasks SET priority = 'high'",
        "UPDATE maxatk_tasks SET place = 'x'",
        "DELETE FROM maxatk_meta",
    ],
)
def test_tables_that_make_no_sense_are_one_line(tmp_path, forged):
    path = tmp_path / "x.db"
    scheduler = plan_of(*THREE).scheduler(path)
    scheduler.ask("t")
    with sqlite3.connect(path) as connection:
        connection.execute(forged)
    with pytest.raises(mk.MaxAtKError, match=r"its tables make no sense|datatype mismatch|is not") as caught:
        scheduler.tell(scheduler.ask("t"), score=0.1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("forged", ["settings = '{}x'", "settings = '{\"tasks\": -1}'", "plan = 7"])
def test_settings_and_plans_are_checked(tmp_path, forged):
    path = tmp_path / "x.db"
    plan_of(*THREE).scheduler(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE maxatk_meta SET {forged}")
    with pytest.raises(mk.InputError, match=r"x\.db: its (settings|plan)"):
        at.load_scheduler(path).ask("t")


def test_a_locked_file_is_an_error_after_which_work_goes_on(tmp_path, tune):
    tune(busy_seconds=0.1)
    path = tmp_path / "x.db"
    scheduler = plan_of(*THREE).scheduler(path)
    attempt = scheduler.ask("t")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(mk.StorageError, match="database is locked; nothing was written"):
        scheduler.tell(attempt, score=0.5)
    other.execute("ROLLBACK")
    assert scheduler.tell(attempt, score=0.5)


def test_network_file_systems_are_warned_of(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path}/shared nfs4 rw 0 0\n")
    assert databases._file_system(tmp_path / "shared" / "x.db", mounts) == "nfs4"
    assert databases._file_system(tmp_path / "x.db", mounts) == "ext4"
    assert databases._file_system(tmp_path, tmp_path / "nothing") is None


def test_a_network_file_system_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "_file_system", lambda path: "nfs")
    with pytest.warns(at.AttemptsWarning, match="on a network file system"):
        plan_of(*THREE).scheduler(tmp_path / "x.db")


# Many at once.


def test_concurrent_asks_on_one_task_hand_out_each_attempt_once(tmp_path):
    schedulers = [plan_of(*THREE).scheduler(tmp_path / "x.db") for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(lambda n: schedulers[n % 4].ask("t"), range(16)))
    assert sorted(attempt.arm for attempt in asked if attempt) == ["big", "small", "small"]
    assert sorted(attempt.id for attempt in asked if attempt) == [1, 2, 3]


def test_a_fork_opens_a_connection_of_its_own(tmp_path):
    scheduler = plan_of(*THREE).scheduler(tmp_path / "x.db")
    scheduler.ask("t")
    child = os.fork()
    if child == 0:
        try:
            scheduler.tell(1, score=0.4)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert scheduler.state("t").best == 0.4


def check_nothing_lost(where, logs, names):
    """Every acknowledged result is there once, every task ends, and no attempt is left out."""
    scheduler = at.load_scheduler(where, lease=0.5)
    scheduler.enqueue(names)
    while attempt := scheduler.ask(wait=True):
        scheduler.tell(attempt, score=0.0, cost=1.0)
    assert attempt.stop
    acknowledged = [int(line) for log in logs if log.exists() for line in log.read_text().split()]
    assert len(acknowledged) == len(set(acknowledged))
    told = scheduler.records()
    ids = scheduler._do(lambda records: [one.id for _, one in records.with_status("told")])
    assert set(acknowledged) <= set(ids)
    assert len(told) == len(set(ids)) == len(ids)
    assert scheduler.spent == len(told)
    assert scheduler.in_flight == []
    made = Counter((row["task"], row["arm"]) for row in told)
    assert min(made[task, "small"] for task in names) >= 2  # attempts that died were made again
    assert min(made[task, "big"] for task in names) >= 1
    dead = scheduler._do(lambda records: records.with_status("expired"))
    assert dead  # some were killed while they had an attempt
    return len(acknowledged)


def killed_workers(where, folder, kills, at_once=8):
    """Workers that are killed at random moments, until so many have died at work."""
    tasks = [f"t{n}" for n in range(10 * kills)]  # more than they finish
    rng, logs, workers = random.Random(0), [], []
    context = multiprocessing.get_context("fork")  # so that they are at work at once

    def start():
        logs.append(folder / f"{len(logs)}.log")
        worker = context.Process(target=scheduler_worker.work, args=(where, tasks, logs[-1]))
        worker.start()
        return worker

    workers = [start() for _ in range(at_once)]
    for _ in range(kills):
        time.sleep(rng.random() * 0.1)
        n = rng.randrange(len(workers))
        workers[n].kill()
        workers[n].join()
        workers[n] = start()
    for worker in workers:
        worker.kill()
        worker.join()
    return check_nothing_lost(where, logs, tasks)


@pytest.mark.slow
def test_killed_workers_lose_nothing(tmp_path):
    path = tmp_path / "x.db"
    plan_of(*THREE).scheduler(path, max_retries=1000).close()
    kills = int(os.environ.get("MAXATK_KILLS", "60"))
    assert killed_workers(str(path), tmp_path, kills) > kills


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="mounting a file system needs root")
def test_a_full_disk_is_an_error_after_which_work_goes_on(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", small], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        scheduler = plan_of(*THREE).scheduler(small / "x.db")
        known = 0

        def fill():
            nonlocal known
            for task in range(100_000):
                scheduler.tell(scheduler.ask(task), score=0.5, cost=1.0)
                known += 1

        with pytest.raises(mk.StorageError, match=r"full|disk I/O") as caught:
            fill()
        assert "\n" not in str(caught.value)
        before = len(scheduler.records())
        assert before in (known, known + 1)
        subprocess.run(["mount", "-o", "remount,size=8m", small], check=True)
        for task in range(200_000, 200_050):
            scheduler.tell(scheduler.ask(task), score=0.5, cost=1.0)
        assert len(scheduler.records()) == before + 50
        scheduler.close()
        assert len(at.load_scheduler(small / "x.db").records()) == before + 50
    finally:
        subprocess.run(["umount", "-l", small], check=False)


# Watching.


def test_a_scheduler_is_watched(tmp_path, capsys):
    path = tmp_path / "runs.db"
    scheduler = plan_of(*THREE).scheduler(path, total_budget=90.0, tasks=3)
    for task in ("a", "b", "c"):
        scheduler.ask(task)
    scheduler.tell(1, score=1.0, cost=2.5)
    assert main(["attempts", "--watch", str(path)]) == 0
    assert "1 of 3 tasks are over, 1 of them solved; 2.50 of 90.0 spent." in capsys.readouterr().out
    assert main(["attempts", "--watch", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["arms"] == [{"arm": "small", "told": 1, "in_flight": 2, "failed": 0, "mean_score": 1.0, "spent": 2.5}]
    assert main(["attempts", "--watch", str(tmp_path / "none.db")]) == 2
