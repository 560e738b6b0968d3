"""``maxatk.integrations.trl``: TRL's GRPOTrainer with max@4 weights. Beside it, GRPO as it comes.

    python examples/training/trl_trainer.py

Some minutes on one core (extra ``trainers``). The model is a Llama of some thousand weights, made on the spot; nothing
is downloaded. Written for TRL 1.16.
"""

import argparse
import tempfile
import warnings

import numpy as np
import torch
from curves import keep, show
from datasets import Dataset
from lotteries import GROUPS, PROMPTS, SAMPLES, WORDS, K, landmarks, lotteries
from tiny_llama import policy, tiny
from transformers import PrinterCallback, TrainerCallback, set_seed
from trl import GRPOConfig, GRPOTrainer

from maxatk.integrations.trl import MaxAtKTrainer


def train(rule: str, seed: int, steps: int, every: int) -> list[float]:
    """The exact max@4 of the model, before training and every so many steps of it."""
    set_seed(seed)
    rng, task = np.random.default_rng(seed), lotteries()
    model, tokenizer = tiny()
    curve = [task.max_at_k(policy(model))]

    def reward(prompts, completions, **_):
        """The draw of each answer's lottery; 0 for what is no word."""
        found = []
        for prompt, answer in zip(prompts, completions, strict=True):
            word = "".join(answer.split())
            known = word in WORDS
            found.append(task.draw(PROMPTS.index(prompt), WORDS.index(word), rng).item() if known else 0.0)
        return found

    class Curve(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step % every == 0:
                curve.append(task.max_at_k(policy(model)))

    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            folder,
            per_device_train_batch_size=GROUPS * SAMPLES,
            num_generations=SAMPLES,
            max_completion_length=2,
            max_steps=steps,
            learning_rate=1e-3,
            lr_scheduler_type="constant",
            beta=0.0,  # no pull towards the first model
            loss_type="dr_grpo",  # a constant in place of each answer's length, which would bias
            optim="adamw_torch",
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            seed=seed,
            data_seed=seed,
        )
        data = Dataset.from_dict({"prompt": PROMPTS * (GROUPS // len(PROMPTS))})
        common = {"model": model, "args": settings, "reward_funcs": reward, "train_dataset": data,
                  "processing_class": tokenizer, "callbacks": [Curve()]}  # fmt: skip
        trainer = GRPOTrainer(**common) if rule == "GRPO" else MaxAtKTrainer(**common, k=K if rule == "max@4" else 1)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return curve


def main() -> None:
    """Train with every rule and seed, print what was reached, and keep the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    every = max(options.steps // 20, 1)
    curves = {}
    for rule in ("max@4", "mean", "GRPO"):
        curves[rule] = [train(rule, seed, options.steps, every) for seed in range(options.seeds)]
        print(show(rule, curves[rule]), flush=True)
    marks = landmarks(lotteries())
    print("mk.compare:", ", ".join(f"{name} {value:.4f}" for name, value in marks.items()))
    keep("trl_trainer", curves, marks, every, f"steps of {GROUPS} groups of {SAMPLES} samples", f"expected best of {K}")


if __name__ == "__main__":
    main()
