"""From the id of a Gymnasium environment to a plan in three lines: what works, how large it is, and how long it takes.

Needs the extra ``worlds``. Each row is a process of its own; ``python benchmarks/worlds.py ID`` runs a single one.
Times are seconds of the processor, over all threads.
"""

import json
import subprocess
import sys
import time

import gymnasium

import maxatk as mk
from common import report

K, TIME_LIMIT = 3, 120.0
WORLDS = [  # the id, and what it is given
    ("FrozenLake-v1", {}),
    ("FrozenLake8x8-v1", {}),
    (max(name for name in gymnasium.registry if name.startswith("Taxi-")), {}),
    ("CliffWalking-v1", {"horizon": 60}),
    ("Blackjack-v1", {}),
    ("MiniGrid-Empty-5x5-v0", {}),
    ("MiniGrid-LavaGapS5-v0", {}),
    ("MiniGrid-LavaGapS7-v0", {}),
    ("MiniGrid-DoorKey-5x5-v0", {}),
    ("MiniGrid-DoorKey-6x6-v0", {"horizon": 40, "seed": 0}),
    ("MiniGrid-Dynamic-Obstacles-5x5-v0", {"horizon": 20}),
    *((name, {"horizon": 30}) for name in ("5Walk-v0", "19Walk-v0", "ClassicGridworld-v0", "CliffWalk-v0")),
    *((name, {"horizon": 30}) for name in ("DynaMaze-v0", "FourRooms-v0", "SparseGridworld-v0", "WindyGridworld-v0")),
    *((f"WindyGridworldKings{which}-v0", {"horizon": 30}) for which in ("", "NoOp", "Stochastic")),
    *((f"JacksCarRental{which}-v0", {"horizon": 10}) for which in ("", "Modified")),
]


def row(name: str, given: dict[str, int]) -> dict[str, object]:
    """One world."""
    import gym_classics

    gym_classics.register("gymnasium")
    began = time.process_time()
    mdp = mk.gym.explore(name, **given)
    read = time.process_time() - began
    plan = mk.solve(mdp, K, solver=mk.Certified(time_limit=TIME_LIMIT))
    return {
        "environment": name,
        "given": ", ".join(f"{key}={value}" for key, value in given.items()),
        "H": mdp.horizon,
        "states": mdp.n_states,
        "outcomes": len(mdp.reward),
        "read, s": read,
        "planned, s": time.process_time() - began - read,
        "best of 3, at least": plan.lower,
        "at most": plan.upper,
    }


def main() -> None:
    """Run all rows, or one."""
    chosen = sys.argv[1:]
    if chosen:
        print(json.dumps(row(chosen[0], dict(WORLDS)[chosen[0]])))
        return
    rows = []
    for name, _ in WORLDS:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
        print(rows[-1], flush=True)
    report("worlds", "From id to plan", rows)


if __name__ == "__main__":
    main()
