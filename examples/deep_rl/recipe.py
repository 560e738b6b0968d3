"""The recipe: one set of settings for PPO, on every task of this folder.

Many trials side by side, long batches, no discount, and a learning rate and an entropy bonus that fade to nothing:
with a bonus that stays, the agent learns to live with its own noise, and its likeliest actions are worse than those it
draws. Updates that move the policy too far are cut short (``target_kl``): best returns have rare, large losses, when
all tries fail, and without that an agent that was good is soon spoiled by chance.
"""

import jobs  # before torch: it sets the number of threads
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

ENVS = 64
ENTROPY = 0.03  # at first
__all__ = ["ENVS", "FadingEntropy", "jobs", "ppo"]


def ppo(env, seed, masked=False):
    """An agent by the recipe."""
    torch.set_num_threads(1)
    kind = MaskablePPO if masked else PPO
    return kind(
        "MlpPolicy",
        env,
        n_steps=128,
        batch_size=1024,
        n_epochs=8,
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=ENTROPY,
        target_kl=0.02,
        learning_rate=lambda left: 1e-3 * left + 1e-5,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )


class FadingEntropy(BaseCallback):
    """Lessens the entropy bonus to nothing as the training goes on."""

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        left = 1 - self.num_timesteps / self.locals["total_timesteps"]
        self.model.ent_coef = ENTROPY * max(left, 0.0)
