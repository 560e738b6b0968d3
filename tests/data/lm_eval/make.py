"""Writes the samples of the LM Evaluation Harness in this folder: two mock models, two runs, three sums.

pip install lm-eval && python make.py
"""

import json
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

HERE = Path(__file__).parent
ANSWERS = {"small": ["0 9 9", "0 2 9"], "big": ["0 2 4", "9 2 4"]}  # of each run, to 0+0, 1+1, 2+2
TASK = """task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
generation_kwargs: {until: ["\\n"]}
filter_list:
  - name: strict
    filter: [{function: take_first}]
  - name: loose
    filter: [{function: regex, regex_pattern: "(\\\\d)"}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


class Mock(LM):
    def __init__(self, answers):
        super().__init__()
        self.answers = answers.split()

    def generate_until(self, requests, disable_tqdm=False):
        return [f"{answer}" if i else f" {answer}" for i, answer in enumerate(self.answers)]

    def loglikelihood(self, requests):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError


(HERE / "sums.jsonl").write_text("".join(json.dumps({"q": f"{i}+{i}=", "a": str(2 * i)}) + "\n" for i in range(3)))
(HERE / "sums.yaml").write_text(TASK)
for name, runs in ANSWERS.items():
    for answers in runs:
        tracker = EvaluationTracker(output_path=str(HERE))
        tracker.general_config_tracker.model_name_sanitized = name
        found = simple_evaluate(
            model=Mock(answers),
            tasks=["sums"],
            task_manager=TaskManager(include_path=str(HERE)),
            log_samples=True,
            evaluation_tracker=None,
        )
        tracker.general_config_tracker.model_name_sanitized = name
        tracker.general_config_tracker.model_name = name
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        tracker.save_results_samples(task_name="sums", samples=samples["sums"])
(HERE / "sums.jsonl").unlink()
(HERE / "sums.yaml").unlink()
