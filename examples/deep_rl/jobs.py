"""Trainings side by side: one process each, with one thread, and what each of them found as it comes."""

import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before torch is imported: the processes share the cores


def run(jobs, workers):
    """Run ``jobs``, pairs of a function and its arguments, in this order; what each returns, as it comes.

    A training that breaks is told of, and the others go on.
    """
    began = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(function, **arguments): arguments for function, arguments in jobs}
        for n, done in enumerate(as_completed(running), start=1):
            try:
                found = done.result()
            except Exception as error:  # whatever a training raises
                print(f"{n} of {len(jobs)}: {running[done]} broke: {type(error).__name__}: {error}", flush=True)
                continue
            shown = {key: value for key, value in found.items() if key != "curve"}
            print(f"{n} of {len(jobs)}, {time.perf_counter() - began:.0f} s: {shown}", flush=True)
            yield found
