"""TRL (extra ``trainers``): its GRPO trainer with weights for max@k. Tested with TRL 1.16.0.

TRL has no hook for advantages, so the trainer overrides two private methods; a version without them is refused when
this is imported.
"""

from typing import Any

from maxatk.attempts.training.on_policy import weights
from maxatk.base import checks
from maxatk.integrations.extras import differing, member, required

_torch: Any = required("torch", "torch", "trainers")
_trainer: Any = member(required("trl", "trl", "trainers"), "GRPOTrainer", "trl")
for _name in ("_calculate_rewards", "_generate_and_score_completions"):
    member(_trainer, _name, "trl")


class MaxAtKTrainer(_trainer):
    """TRL's ``GRPOTrainer``, except that groups are weighted for the best of ``k``.

    ``loss_type="dr_grpo"`` divides by a constant; others divide by each answer's length, which biases.

    Args:
        args: those of ``GRPOTrainer``, and likewise ``options``.
        k: the number of tries in use, at most ``num_generations``.
        baseline: as for :func:`maxatk.attempts.weights`.
    """

    def __init__(self, *args: Any, k: int, baseline: str = "auto", **options: Any) -> None:
        parent: Any = super()
        parent.__init__(*args, **options)
        self.k = checks.integer(k, "k", least=1, most=self.num_generations)
        self.baseline = baseline

    def _calculate_rewards(self, *args: Any, **options: Any) -> Any:
        parent: Any = super()
        self._gathered: Any = parent._calculate_rewards(*args, **options)  # [samples of all processes, functions]
        return self._gathered

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        parent: Any = super()
        made: Any = parent._generate_and_score_completions(inputs)
        if "advantages" not in made:
            raise differing("trl", "its batches have no advantages")
        n = self.num_generations if self.model.training else self.num_generations_eval
        rewards = (self._gathered * self.reward_weights.to(self._gathered)).nansum(1)
        rewards[self._gathered.isnan().all(1)] = _torch.nan  # no reward is not 0: it is refused
        # The trainer averages over samples: n times the weights make that average a sum over each group.
        by_sample: Any = n * weights(rewards.view(-1, n), self.k, self.baseline).flatten()
        first = self.accelerator.process_index * len(inputs)
        made["advantages"] = by_sample[first : first + len(inputs)]
        return made
