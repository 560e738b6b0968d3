"""How fast a scheduler hands attempts out: pairs of ask and tell a second, by processes, tasks and database.

``python benchmarks/scheduler.py [--quick]`` measures SQLite in a file, in memory, and PostgreSQL where it is installed.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

from common import report
from maxatk import attempts as at

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from scheduler_worlds import THREE, plan_of, postgres, postgres_programs


def work(where: str, number: int, processes: int, tasks: int, gate, done) -> None:
    """Ask and tell at every task of one's own until the gate closes; how many pairs that were."""
    scheduler, pairs = at.load_scheduler(where), 0
    gate.wait()
    end = time.perf_counter() + SECONDS
    for task in range(number, tasks, processes):
        if time.perf_counter() > end:
            break
        while attempt := scheduler.ask(task):
            scheduler.tell(attempt, score=0.1, cost=1.0)
            pairs += 1
    done.put((pairs, time.perf_counter() - end + SECONDS))


def rate(where: str, processes: int, tasks: int) -> float:
    """Pairs of ask and tell a second, of all processes together."""
    context = multiprocessing.get_context("spawn")
    gate, done = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=work, args=(where, n, processes, tasks, gate, done)) for n in range(processes)]
    for worker in workers:
        worker.start()
    answers = [done.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(pairs for pairs, _ in answers) / max(seconds for _, seconds in answers)


def opened(where: str, tasks: int) -> float:
    """Seconds to open so many tasks."""
    began = time.perf_counter()
    plan_of(*THREE).scheduler(where).enqueue(range(tasks))
    return time.perf_counter() - began


def measured(kind: str, place, sizes: list[tuple[int, int]]) -> list[dict[str, object]]:
    """Rows of the table for one database."""
    rows = []
    for processes, tasks in sizes:
        where = place()
        seconds = opened(where, tasks)
        rows.append(
            {
                "database": kind,
                "processes": processes,
                "tasks": tasks,
                "pairs per second": round(rate(where, processes, tasks)),
                "seconds to open the tasks": round(seconds, 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


SECONDS = 5.0


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    sizes = [(8, 1_000)] if quick else [(1, 1_000), (8, 1_000), (8, 100_000)]
    with tempfile.TemporaryDirectory() as folder:
        names = iter(range(1_000))
        rows = measured("SQLite", lambda: str(Path(folder) / f"{next(names)}.db"), sizes)
    if postgres_programs() is not None:
        for processes, tasks in sizes:
            with postgres() as server:
                rows += measured("PostgreSQL", lambda server=server: server.address, [(processes, tasks)])
    report("scheduler", "Pairs of ask and tell a second", rows)


if __name__ == "__main__":
    main()
