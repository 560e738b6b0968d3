"""Steps per second of mk.simulate, against the same policy run step by step in a Gymnasium environment.

The peer is what a practitioner would write: env.step and policy.action in a loop. Both run in one process; the kernels
are compiled before the clock starts.
"""

import time

import gymnasium
import numpy as np

import maxatk as mk
from common import report

K, TRIALS, STEP_BY_STEP = 5, 200_000, 100


def main() -> None:
    """Run all rows."""
    rows = []
    env = gymnasium.make("CliffWalking-v1", is_slippery=True, max_episode_steps=60)
    mdp = mk.MDP.from_gymnasium(env)
    random = mk.instances.random_sparse(200, 4, 20, successors=3, rewards=range(11), rng=0)
    real = random.with_rewards(np.random.default_rng(0).random(len(random.reward)))
    for name, problem, policy in [
        ("CliffWalking, Markov policy", mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=K)),
        ("CliffWalking, certified plan", mdp, mk.solve(mdp, K).policy),
        ("S=200, rewards 0..10, Markov policy", random, mk.MarkovPolicy(random.mean_optimal_actions, k=K)),
        ("S=200, rewards 0..10, certified plan", random, mk.solve(random, K).policy),
        ("S=200, real rewards, certified plan", real, mk.solve(real, K).policy),
    ]:
        mk.simulate(problem, policy, trials=1000, rng=0)
        per_second = {}
        for threads in (1, 2):
            began = time.perf_counter()
            runs = mk.simulate(problem, policy, trials=TRIALS if threads == 2 else TRIALS // 4, rng=1, threads=threads)
            per_second[threads] = runs.steps / (time.perf_counter() - began)
        row = {"problem": name, "steps/s, 1 thread": per_second[1], "steps/s, 2 threads": per_second[2]}
        if problem is mdp:
            began = time.perf_counter()
            runs = mk.simulate(env, policy, trials=STEP_BY_STEP, rng=0)
            peer = runs.steps / (time.perf_counter() - began)
            rows.append(row | {"steps/s in the environment": peer, "times faster": per_second[2] / peer})
        else:
            rows.append(row | {"steps/s in the environment": "", "times faster": ""})
    report("simulate", "Steps of simulation per second", rows)


if __name__ == "__main__":
    main()
