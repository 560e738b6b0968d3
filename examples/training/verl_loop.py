"""verl's parts that need no GPU, with the estimator of ``maxatk.integrations.verl``, around a tiny model.

    VERL_USE_EXTERNAL_MODULES=maxatk.integrations.verl python examples/training/verl_loop.py

Ten minutes on one core (extra ``verl``). Run here are verl's configuration, its container ``DataProto``, its dispatch
to estimators ``compute_advantage``, its clipped policy loss and its averaging. Not run are its workers under Ray and
its rollouts, which need vLLM, SGLang or TensorRT-LLM, and so a GPU: answers are drawn by ``transformers``, and the loop
is ours. Written for verl 0.9.
"""

import argparse
import uuid
import warnings
from pathlib import Path

import numpy as np
import torch
import verl
from curves import keep, show
from hydra import compose, initialize_config_dir
from lotteries import GROUPS, LETTERS, PROMPTS, SAMPLES, K, landmarks, lotteries
from omegaconf import OmegaConf
from tiny_llama import TOKENS, policy, tiny
from transformers import set_seed
from verl import DataProto
from verl.trainer.ppo.core_algos import compute_policy_loss_vanilla, get_adv_estimator_fn
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.config import ActorConfig

RULES = {"max@4": ("max_at_k", K), "mean": ("max_at_k", 1), "GRPO": ("grpo", K), "grpo_passk": ("grpo_passk", K)}
FIRST_LETTER = TOKENS.index(LETTERS[0])


def settings(estimator: str, k: int):
    """verl's own configuration of a run, with the options that a user would give on the command line."""
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        found = compose("ppo_trainer", [f"algorithm.adv_estimator={estimator}", f"+algorithm.k={k}"])
    assert OmegaConf.select(found, "algorithm.k") == k
    return found.algorithm


def log_probs(model, tokens: torch.Tensor) -> torch.Tensor:
    """The log-probabilities of an answer's tokens [B, T]."""
    return logprobs_from_logits(model(tokens).logits[:, :-1], tokens[:, 1:])


def train(rule: str, seed: int, steps: int, every: int) -> list[float]:
    """The exact max@4 of the model, before training and every so many steps of it."""
    set_seed(seed)
    rng, task = np.random.default_rng(seed), lotteries()
    model, _ = tiny()
    model.generation_config.eos_token_id = None  # two tokens each: a ban on the end would make samples off-policy
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    algorithm = settings(*RULES[rule])
    actor = ActorConfig(strategy="fsdp", rollout_n=SAMPLES, ppo_micro_batch_size_per_gpu=1)
    group = np.repeat(np.arange(GROUPS), SAMPLES)
    number = group % len(PROMPTS)
    names = np.array([str(uuid.UUID(int=i)) for i in range(GROUPS)], dtype=object)[group]
    prompts = torch.tensor([[TOKENS.index(PROMPTS[i])] for i in number])
    curve = [task.max_at_k(policy(model))]
    for step in range(1, steps + 1):
        model.eval()
        tokens = model.generate(
            prompts, attention_mask=torch.ones_like(prompts), do_sample=True, top_k=0, max_new_tokens=2
        )
        model.train()
        letters = tokens[:, 1:].numpy() - FIRST_LETTER
        real = (letters >= 0).all(1)
        word = np.where(real, letters @ [len(LETTERS), 1], 0)
        rewards = torch.zeros(len(tokens), 2)
        rewards[:, -1] = torch.tensor(np.where(real, task.draw(number, word, rng), 0.0))
        data = DataProto.from_dict(
            tensors={"responses": tokens[:, 1:], "response_mask": torch.ones(len(tokens), 2),
                     "token_level_rewards": rewards, "old_log_probs": log_probs(model, tokens).detach()},
            non_tensors={"uid": names},
        )  # fmt: skip
        data = compute_advantage(data, algorithm.adv_estimator, config=algorithm)
        loss, _ = compute_policy_loss_vanilla(
            data.batch["old_log_probs"], log_probs(model, tokens), data.batch["advantages"],
            data.batch["response_mask"], "seq-mean-token-sum", actor,
        )  # fmt: skip
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % every == 0:
            curve.append(task.max_at_k(policy(model)))
    return curve


def main() -> None:
    """Train with every rule and seed, print what was reached, and keep the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    print("registered:", get_adv_estimator_fn("max_at_k").__name__)
    every = max(options.steps // 20, 1)
    curves = {}
    for rule in RULES:
        curves[rule] = [train(rule, seed, options.steps, every) for seed in range(options.seeds)]
        print(show(rule, curves[rule]), flush=True)
    marks = landmarks(lotteries())
    print("mk.compare:", ", ".join(f"{name} {value:.4f}" for name, value in marks.items()))
    keep("verl_loop", curves, marks, every, f"steps of {GROUPS} groups of {SAMPLES} samples", f"expected best of {K}")


if __name__ == "__main__":
    main()
