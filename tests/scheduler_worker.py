"""A worker of a scheduler, for tests that kill it: ``python scheduler_worker.py WHERE NAMES LOG``.

Every result that was told and acknowledged is written to a log of its own, with its attempt's id.
"""

import os
import random
import sys
import time
from pathlib import Path

import maxatk as mk
from maxatk import attempts as at


def main() -> None:
    where, names, log = sys.argv[1:]
    scheduler = at.load_scheduler(where, lease=0.5)
    rng = random.Random(os.getpid())
    tasks = names.split(",")
    rng.shuffle(tasks)
    with Path(log).open("a", buffering=1) as told:
        for task in tasks:
            while attempt := scheduler.ask(task, wait=True):
                time.sleep(rng.random() * 0.004)
                try:
                    scheduler.tell(attempt, score=rng.random() * 0.9, cost=1.0)
                except mk.StorageError:
                    continue
                os.write(told.fileno(), f"{attempt.id}\n".encode())


if __name__ == "__main__":
    main()
