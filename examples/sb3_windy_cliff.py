"""Learn to make five walks along a windy cliff with Stable-Baselines3's PPO, which knows nothing of best-of-K.

For each seed the same PPO is trained twice, for as many steps: on single walks, for their mean, and then repeated K
times; and on trials of K walks, through ``mk.BestOfK``. Both are run in fresh trials and held against the certified
optimum. One command, some minutes per seed on one core (extra ``sb3``):

    python examples/sb3_windy_cliff.py --seeds 0 1 2 3 4
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import maxatk as mk

K = 5
ENVIRONMENTS = 32
CLIFF = {"columns": 5, "horizon": 30}  # short, so that PPO finds the goal by chance before it learns to stand still
RETURNS = (-30.0, -6.0)  # a walk that does not fall returns something between


def trials_of(mdp, k, n):
    """``n`` environments side by side whose episodes are trials of ``k`` walks."""
    return DummyVecEnv(
        [lambda: mk.BestOfK(mk.gym.TabularEnv(mdp), k, flat=True, dense=True, returns=RETURNS) for _ in range(n)]
    )


def best_of(model, mdp, k, trials, *, repeat, deterministic, seed):
    """The mean best return of ``trials`` trials of ``k * repeat`` walks, and its standard error.

    A model of one walk is repeated: its trials are put together in groups of ``repeat``.
    """
    env = trials_of(mdp, k, 200)
    env.seed(seed)
    torch.manual_seed(seed)
    observations = env.reset()
    finals = [[] for _ in range(200)]  # each environment's trials, so that short ones are not preferred
    wanted = trials * repeat // 200
    while min(map(len, finals)) < wanted:
        actions, _ = model.predict(observations, deterministic=deterministic)
        observations, _, over, infos = env.step(actions)
        for i in np.flatnonzero(over):
            finals[i].append(infos[i]["trial"]["best"])
    best = np.array([final[:wanted] for final in finals]).ravel().reshape(-1, repeat).max(axis=1)
    return float(best.mean()), float(best.std(ddof=1) / np.sqrt(len(best)))


class Curve(BaseCallback):
    """The learning curve: what the policy earns in trials, every so many steps."""

    def __init__(self, mdp, k, every):
        super().__init__()
        self.points, self._mdp, self._k, self._every, self._next = [], mdp, k, every, every

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if self.num_timesteps >= self._next:
            self._next += self._every
            mean, _ = best_of(self.model, self._mdp, self._k, 200, repeat=K // self._k, deterministic=True, seed=1)
            self.points.append((self.num_timesteps, mean))


def train(mdp, k, steps, seed):
    """PPO on trials of ``k`` walks, and its learning curve."""
    env = VecNormalize(trials_of(mdp, k, ENVIRONMENTS), norm_obs=False, gamma=1.0)
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=512,
        batch_size=1024,
        n_epochs=6,
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=0.02,
        learning_rate=lambda left: 1e-3 * left + 1e-5,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    curve = Curve(mdp, k, steps // 8)
    model.learn(steps, callback=curve)
    return model, curve.points


def run(mdp, plan, seed, steps, trials):
    """One seed: both trainings, what they earn, and how much of the gap is closed."""
    began = time.perf_counter()
    found = {"seed": seed, "steps": steps, "trials": trials}
    for name, k in (("mean", 1), ("best_of_k", K)):
        model, found[f"{name}_curve"] = train(mdp, k, steps, seed)
        for how, deterministic in (("", True), ("_sampled", False)):
            mean, error = best_of(model, mdp, k, trials, repeat=K // k, deterministic=deterministic, seed=10_000 + seed)
            found[f"{name}{how}"], found[f"{name}{how}_error"] = mean, error
    base = max(found["mean"], found["mean_sampled"])  # the better way to repeat it
    found["gap_closed"] = (found["best_of_k"] - base) / (plan.upper - base)
    found["seconds"] = time.perf_counter() - began
    return found


def figure(results, plan):
    """The learning curves of all seeds."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6.5, 4), layout="constrained")
    ax = drawn.subplots()
    for name, colour, label in (
        ("mean", "#999999", f"PPO for the mean, repeated {K} times"),
        ("best_of_k", "#0072B2", f"PPO through BestOfK(env, {K})"),
    ):
        for i, one in enumerate(results):
            steps, values = zip(*one[f"{name}_curve"], strict=True)
            ax.plot(steps, values, color=colour, linewidth=1.3, alpha=0.8, label=label if i == 0 else None)
    ax.axhline(plan.lower, color="#D55E00", linewidth=1.3, linestyle="--", label="certified optimum")
    ax.set_ylim(-31, plan.upper + 1)
    ax.set_xlabel("steps of training")
    ax.set_ylabel(f"mean best return of {K} walks")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return drawn


def main():
    """Run the seeds that are asked for, and keep what was found beside what other runs have found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=600_000, help="of each training")
    parser.add_argument("--trials", type=int, default=2000, help="in which the final policies are run")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    mdp = mk.instances.windy_cliff(**CLIFF)
    plan = mk.solve(mdp, K)
    kept = options.out / "sb3_windy_cliff.json"
    results = json.loads(kept.read_text())["seeds"] if kept.exists() else []
    options.out.mkdir(parents=True, exist_ok=True)
    for seed in options.seeds:
        one = run(mdp, plan, seed, options.steps, options.trials)
        print({name: value for name, value in one.items() if not name.endswith("curve")}, flush=True)
        results = sorted([r for r in results if r["seed"] != seed] + [one], key=lambda r: r["seed"])
        kept.write_text(json.dumps({"k": K, "optimum": [plan.lower, plan.upper], "seeds": results}, indent=1) + "\n")
        figure(results, plan).savefig(options.out / "sb3_windy_cliff.png", dpi=120)


if __name__ == "__main__":
    main()
