"""The README's set-up commands are those that CI runs, and the numbers in its prose are right."""

import re
from pathlib import Path

import maxatk as mk
from oracles import all_policy_values

ROOT = Path(__file__).parents[1]


def test_ci_runs_the_commands_of_the_readme():
    commands = re.findall(r"```sh\n(.*)\n```", (ROOT / "README.md").read_text())
    script = [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    assert len(commands) == 2
    assert all(command in script for command in commands)


def test_the_numbers_in_the_readme():
    """Safe twice, once each without looking, and the optimum, for the example with gamma = 1/10."""
    mdp = mk.instances.figure1(gamma=0.1)
    (fail, _, _), (_, _, half) = mdp.outcomes(0, 0, 0)
    text = (ROOT / "README.md").read_text()
    assert f"earns {half * (1 - fail**2):.3f} here" in text
    assert f"risky once, {0.25 + 0.75 * half * (1 - fail):.4f}" in text
    assert f"{float(max(all_policy_values(mdp, 2))):.4f}." in text
