"""A worker of a scheduler, for tests that kill it."""

import os
import random
import time

import maxatk as mk
from maxatk import attempts as at


def work(where, names, log):
    """Ask and tell; every result that was acknowledged is written to a log of its own, by its attempt's id."""
    scheduler, rng = at.load_scheduler(where, lease=0.5), random.Random(os.getpid())
    tasks = list(names)
    rng.shuffle(tasks)
    with log.open("ab", buffering=0) as told:
        for task in tasks:
            while attempt := scheduler.ask(task, wait=True):
                time.sleep(rng.random() * 0.004)
                try:
                    scheduler.tell(attempt, score=rng.random() * 0.9, cost=1.0)
                except mk.StorageError:
                    continue
                told.write(f"{attempt.id}\n".encode())
