"""Five walks along the long windy cliff, learned by agents of Stable-Baselines3 on the vectorised table.

The optimum is certified, and so is what every network earns: no trial is sampled to compare them, or to choose among
the checkpoints of a training.
"""

import copy
import time

import numpy as np
import recipe
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import maxatk as mk
from maxatk.gym.sb3 import TabularVecEnv, network_policy

K = 5
COLUMNS, ROWS = 12, 4
RETURNS = (-40.0, -13.0)  # a walk that does not fall returns something between
CHECKPOINTS = 16  # of a training; the best of them is kept
METHODS = ("ppo", "ppo_potential", "maskable_ppo", "dqn")


def problem():
    """The cliff."""
    return mk.instances.windy_cliff(columns=COLUMNS)


def landmarks():
    """The certified optimum, and what the policy that is best for the mean earns, repeated."""
    mdp = problem()
    plan = mk.solve(mdp, K)
    mean = mk.evaluate(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=K)).upper
    mk.simulate(mdp, plan.policy, trials=100, rng=0)
    return {"k": K, "optimum": [plan.lower, plan.upper], "mean_optimal_repeated": mean}


def steps_to_go():
    """The potential [S]: minus the length of the shortest way to the goal that does not lead over the cliff."""
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    around = (row == ROWS - 1) & (column < COLUMNS - 1)  # up, along the edge, and down
    return -(COLUMNS - 1 - column + np.where(around, 2, ROWS - 1 - row)).astype(float)


def within_walls(mdp):
    """The same problem without the moves against its walls: what MaskablePPO is told not to try."""
    kept = {}
    for s in range(mdp.n_states):
        row, column = divmod(s, COLUMNS)
        moves = (row > 0, column < COLUMNS - 1, row < ROWS - 1, column > 0)  # up, right, down, left
        kept[s] = {
            a: [(o.prob, s if o.next_state is None else o.next_state, o.reward, o.next_state is None) for o in row_]
            for a, row_ in ((a, mdp.outcomes(0, s, a)) for a in range(4) if moves[a])
        }
    return mk.MDP.from_table(kept, horizon=mdp.horizon, start=int(mdp.start_state[0]))


class Checkpoints(BaseCallback):
    """What the network earns every so many steps, and the network that earned most."""

    def __init__(self, earned, every):
        super().__init__()
        self.points, self.best, self._earned, self._every = [], None, earned, every

    def _on_step(self):
        if self.num_timesteps >= self._every * (len(self.points) + 1):
            value = self._earned()
            if all(value > other for _, other in self.points):
                self.best = copy.deepcopy(self.model.policy.state_dict())
            self.points.append((self.num_timesteps, round(value, 3)))
        return True


def dqn(env, seed):
    """The rival that learns from old steps."""
    return DQN(
        "MlpPolicy",
        env,
        learning_rate=lambda left: 1e-3 * left + 1e-5,
        buffer_size=200_000,
        learning_starts=20_000,
        batch_size=256,
        gamma=1.0,
        train_freq=1,
        gradient_steps=4,
        target_update_interval=6400,  # steps of the environments, 64 at a time
        exploration_fraction=0.5,
        exploration_final_eps=0.02,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )


def train(method, seed, steps):
    """Train one agent; what it earns in trials of K walks."""
    began = time.perf_counter()
    mdp = problem()
    seen = within_walls(mdp) if method == "maskable_ppo" else mdp
    potential = None if method == "ppo" else steps_to_go()
    shaping = {"dense": True, "potential": potential, "reward_scale": 0.1}
    envs = mk.gym.TabularVectorEnv(seen, K, recipe.ENVS, returns=RETURNS, **shaping)
    env = TabularVecEnv(envs)
    model = dqn(env, seed) if method == "dqn" else recipe.ppo(env, seed, masked=method == "maskable_ppo")
    policy = network_policy(model, envs.encoder)
    checkpoints = Checkpoints(lambda: earned(mdp, policy, tol=0.1, max_atoms=20_000)["earned"], steps // CHECKPOINTS)
    model.learn(steps, callback=[checkpoints] if method == "dqn" else [checkpoints, recipe.FadingEntropy()])
    last = earned(mdp, policy)
    model.policy.load_state_dict(checkpoints.best)
    return {
        "method": method,
        "seed": seed,
        "steps": steps,
        **earned(mdp, policy),
        "last": last["earned"],
        "curve": checkpoints.points,
        "seconds": round(time.perf_counter() - began, 1),
    }


def earned(mdp, policy, **arguments):
    """What a policy earns, certified; or, where its histories are too many to follow, in some trials."""
    try:
        found = mk.evaluate(mdp, policy, **({"tol": 0.02} | arguments))
    except mk.TooLargeError:
        found = None
    if found is not None and found.upper - found.lower < 0.2:
        return {"earned": found.value, "certified": [found.lower, found.upper]}
    runs = mk.simulate(mdp, policy, trials=2000, rng=0, threads=1)
    return {"earned": runs.mean, "interval": list(runs.interval(0.95))}
