"""Steps per second of trials of a table, vectorised, against 64 wrapped environments side by side.

The peers are what one would use otherwise: ``mk.BestOfK`` around 64 environments, in Gymnasium's ``SyncVectorEnv`` and
in Stable-Baselines3's ``DummyVecEnv``. All are stepped by the same random actions, in one process, the best of ten runs
each in seconds of the processor, which other work on the machine does not count in; the kernels are compiled before.
Needs the extra ``sb3``.
"""

import time
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv

import maxatk as mk
from common import report
from maxatk.gym.sb3 import TabularVecEnv

K, ENVS = 5, 64


def per_second(env: Any, steps: int) -> float:
    """Steps of single trials per second."""
    actions = np.random.default_rng(0).integers(4, size=(steps, ENVS))
    env.reset()
    best = 0.0
    for _ in range(10):
        began = time.process_time()
        for chosen in actions:
            env.step(chosen)
        best = max(best, steps * ENVS / (time.process_time() - began))
    return best


def main() -> None:
    """Run all rows."""
    rows = []
    lake = gymnasium.make("FrozenLake-v1", map_name="8x8")
    for name, make in [
        ("windy cliff of 12 columns", lambda: mk.gym.TabularEnv(mk.instances.windy_cliff())),
        ("FrozenLake 8x8, as Gymnasium has it", lambda: gymnasium.make("FrozenLake-v1", map_name="8x8")),
    ]:
        mdp = mk.instances.windy_cliff() if "cliff" in name else mk.MDP.from_gymnasium(lake)

        def one(make: Any = make) -> Any:
            return mk.BestOfK(make(), K, flat=True, dense=True)

        for kind, ours, peer in [
            ("Gymnasium", lambda x: x, gymnasium.vector.SyncVectorEnv),
            ("Stable-Baselines3", TabularVecEnv, DummyVecEnv),
        ]:
            vectorised = ours(mk.gym.TabularVectorEnv(mdp, K, ENVS, dense=True))
            per_second(vectorised, 10)
            fast, slow = per_second(vectorised, 2000), per_second(peer([one] * ENVS), 50)
            rows.append(
                {
                    "problem": name,
                    "interface": kind,
                    "steps/s, vectorised": fast,
                    "steps/s, 64 wrapped": slow,
                    "times faster": fast / slow,
                }
            )
    report("vector", "Steps of trials per second", rows)


if __name__ == "__main__":
    main()
