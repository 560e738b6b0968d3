"""How long, and in how much memory, a problem of 10^6 states x 4 actions x 3 successors is built.

    python benchmarks/build.py

Each row runs in a process of its own, whose peak memory is that of building, the input included. The yardstick is
QuantEcon's DiscreteDP, which takes the same sparse state-action pairs in the same run (and checks less: not that rows
are distributions).
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np
from scipy import sparse

STATES, ACTIONS, SUCCESSORS = 10**6, 4, 3
REPEATS = 5  # the best time of these, the worst memory


def example(in_order: bool) -> tuple[sparse.csr_array, np.ndarray]:
    """Random sparse rows [S*A, S] and rewards [S, A]; next states sorted within each row, or not."""
    random = np.random.default_rng(0)
    n = STATES * ACTIONS
    prob = random.dirichlet(np.ones(SUCCESSORS), n).ravel()
    next_state = random.integers(STATES, size=(n, SUCCESSORS), dtype=np.int32)
    if in_order:
        next_state.sort(axis=1)
    start = np.arange(0, n * SUCCESSORS + 1, SUCCESSORS, dtype=np.int32)
    P = sparse.csr_array((prob, next_state.ravel(), start), shape=(n, STATES))
    return P, random.integers(11, size=(STATES, ACTIONS)).astype(float)


def build_maxatk(in_order: bool) -> float:
    """Seconds for ``MDP.from_arrays``."""
    import maxatk as mk

    P, R = example(in_order)
    began = time.perf_counter()
    mk.MDP.from_arrays(P, R, horizon=50)
    return time.perf_counter() - began


def build_quantecon(in_order: bool) -> float:
    """Seconds for ``DiscreteDP``."""
    from quantecon.markov import DiscreteDP

    P, R = example(in_order)
    s, a = np.divmod(np.arange(STATES * ACTIONS), ACTIONS)
    began = time.perf_counter()
    DiscreteDP(R.ravel(), sparse.csr_matrix(P), 0.9, s, a)
    return time.perf_counter() - began


CASES = {
    "maxatk, rows sorted": (build_maxatk, True),
    "maxatk, rows unsorted": (build_maxatk, False),
    "QuantEcon DiscreteDP": (build_quantecon, True),
}


def main() -> None:
    """Run every case in a fresh process and report."""
    if len(sys.argv) > 1:
        build, in_order = CASES[sys.argv[1]]
        seconds = build(in_order)
        print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
        return
    from common import report

    rows = []
    for name in CASES:
        command = [sys.executable, __file__, name]
        runs = [
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(REPEATS)
        ]
        seconds, gib = min(s for s, _ in runs), max(g for _, g in runs)
        rows.append({"builder": name, "seconds": round(seconds, 2), "peak GiB": round(gib, 2)})
    yardstick = rows[-1]["seconds"]
    for row in rows:
        row["time / QuantEcon's"] = round(row["seconds"] / yardstick, 1)
    report("build", f"{STATES:,} states x {ACTIONS} actions x {SUCCESSORS} successors, from a sparse matrix", rows)


if __name__ == "__main__":
    main()
