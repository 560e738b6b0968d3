"""The scheduler in PostgreSQL: the same promises, with a server that is killed, too."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import maxatk as mk
from maxatk import attempts as at
from scheduler_worlds import THREE, plan_of, postgres, postgres_programs
from test_scheduler_storage import killed_workers

pytest.importorskip("psycopg")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres_programs() is None, reason="PostgreSQL is not installed"),
]


@pytest.fixture(scope="module")
def server():
    with postgres() as one:
        yield one


@pytest.fixture
def where(server):
    """An empty database."""
    import psycopg

    with psycopg.connect(server.address, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'maxatk%'").fetchall()
        for (table,) in tables:
            connection.execute(f"DROP TABLE {table} CASCADE")
    return server.address


def test_it_does_what_sqlite_does(where, tmp_path):
    plan = plan_of(*THREE, ("big", 0.2, 0.2, 4.0), price=0.01)
    kept = [plan.scheduler(place, total_budget=60.0, tasks=10) for place in (where, tmp_path / "x.db")]
    for task in range(10):
        while True:
            one, other = (scheduler.ask(task) for scheduler in kept)
            assert (one.id, one.arm, one.why, one.stop) == (other.id, other.arm, other.why, other.stop)
            if not one:
                break
            for scheduler in kept:
                scheduler.tell(one.id, score=0.1 * (one.id % 7), cost=1.0 + one.id % 3)
    assert kept[0].learn() == kept[1].learn()
    assert kept[0].records() == kept[1].records()
    assert kept[0].progress() == kept[1].progress()
    assert [kept[0].state(t).told for t in range(10)] == [kept[1].state(t).told for t in range(10)]


def test_joining_and_refusing(where):
    plan = plan_of(*THREE)
    with pytest.raises(mk.InputError, match="holds no scheduler"):
        at.load_scheduler(where)
    with ThreadPoolExecutor(4) as pool:
        schedulers = list(pool.map(lambda _: plan.scheduler(where), range(4)))
        asked = list(pool.map(lambda n: schedulers[n % 4].ask("t"), range(12)))
    assert sorted(attempt.id for attempt in asked if attempt) == [1, 2, 3]
    with pytest.raises(mk.InputError, match="holds a scheduler of another plan"):
        plan_of(*THREE[:2]).scheduler(where)
    assert at.load_scheduler(where).plan == plan
    assert "@" not in repr(schedulers[0])  # no names or passwords


def test_a_server_that_is_killed_and_comes_back(where, server):
    scheduler = plan_of(*THREE).scheduler(where)
    attempt = scheduler.ask("t")
    server.stop("immediate")
    with pytest.raises(mk.StorageError) as caught:
        scheduler.tell(attempt, score=0.5, cost=1.0)
    assert "\n" not in str(caught.value)
    with pytest.raises(mk.StorageError, match="cannot be reached"):
        scheduler.tell(attempt, score=0.5, cost=1.0)
    server.start()
    assert scheduler.tell(attempt, score=0.5, cost=1.0)
    assert scheduler.state("t").best == 0.5


def test_no_server_is_one_line():
    with pytest.raises(mk.StorageError, match="cannot be reached") as caught:
        plan_of(*THREE).scheduler("postgresql://maxatk@127.0.0.1:9/runs")
    assert "\n" not in str(caught.value)


def test_killed_workers_lose_nothing(where, tmp_path):
    plan_of(*THREE).scheduler(where, max_retries=1000).close()
    kills = int(os.environ.get("MAXATK_KILLS", "50"))
    assert killed_workers(where, tmp_path, kills) > kills
