"""The README's set-up commands are those that CI runs, and its numbers were measured."""

import json
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


def test_the_site_begins_with_the_code_of_the_readme():
    first = [
        re.search(r"```python\n.*?```", (ROOT / page).read_text(), re.DOTALL) for page in ("README.md", "docs/index.md")
    ]
    assert first[0][0] == first[1][0]


def test_the_first_numbers_of_the_theory():
    """Safe twice, once each without looking, and the optimum, for the example with gamma = 1/10."""
    mdp = mk.instances.figure1(gamma=0.1)
    (fail, _, _), (_, _, half) = mdp.outcomes(0, 0, 0)
    text = (ROOT / "docs" / "theory" / "problem.md").read_text()
    for name, value in (
        ("safe twice: the best mean, repeated", half * (1 - fail**2)),
        ("safe once, risky once: the best that does not look", 0.25 + 0.75 * half * (1 - fail)),
        ("safe; then risky if that has paid, else safe again", float(max(all_policy_values(mdp, 2)))),
    ):
        assert f"| {name} | {value:.4g} |" in text


def test_ratios_in_the_readme_were_measured():
    text = (ROOT / "docs" / "compared.md").read_text()
    readme = " ".join((ROOT / "README.md").read_text().split())

    def rows(name):
        return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["rows"]

    ratio = [row["times faster"] for row in rows("planner")]
    assert f"{ratio[0]} to {ratio[2]} times more (to nine digits), {ratio[1]} to {ratio[3]} (to 0.1 % of" in text
    assert f"by hand: {ratio[4]} times more (real rewards), {ratio[5]} (dense) |" in text
    assert f"{ratio[5]} to {ratio[4]} times faster at the same accuracy" in readme
    fewer = [row["times fewer"] for row in rows("learning")]
    assert f"{min(fewer):.0f} to {max(fewer) / 1e6:.0f} million times more samples |" in text
    steps = [row["steps/s, 2 threads"] / 1e6 for row in rows("simulate")]
    assert f"at {min(steps):.0f} to {max(steps):.0f} million steps per second" in " ".join(text.split())


def test_what_a_solved_task_takes():
    text = " ".join((ROOT / "docs" / "compared.md").read_text().split())
    rows = json.loads((ROOT / "benchmarks" / "results" / "attempts_real.json").read_text())["rows"]
    (row,) = [row for row in rows if row["log"].startswith("terminal-bench, resolved") and row["price"] == 0.05]
    ours, theirs = row["cost"] / row["score"], row["its cost"] / row["its score"]
    assert (
        f"{ours:.2f} average attempts per solved task where the best single agent, capped, takes {theirs:.2f}" in text
    )


def test_the_version_is_the_same_everywhere():
    assert f"version = {{{mk.__version__}}}" in (ROOT / "README.md").read_text()
    assert f"\nversion: {mk.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_readme_is_short():
    """At most 800 words outside code, and no line of code that scrolls on GitHub."""
    text = (ROOT / "README.md").read_text()
    assert len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split()) <= 800
    blocks = re.findall(r"```(?:python|console)\n(.*?)```", text, flags=re.DOTALL)
    assert max(len(line) for block in blocks for line in block.splitlines()) <= 90


def test_names_in_the_readme_exist():
    """Code spans, too, not only blocks of code."""
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    spans = re.findall(r"`(mk|attempts|MDP|Log|plan)\.(\w+(?:\.\w+)*)", text)
    homes = {"mk": mk, "attempts": mk.attempts, "MDP": mk.MDP, "Log": mk.attempts.Log, "plan": mk.Plan}
    assert len(spans) > 5
    for home, names in spans:
        found = homes[home]
        for name in names.split("."):
            assert hasattr(found, name), f"{home}.{names}"
            found = getattr(found, name)
