"""Tables of what the training examples reached, from the files that the runs left: no number is copied by hand."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "examples" / "training" / "results"
LANDMARKS = {
    "mean": "the best mean, repeated",
    "one policy": "the best single policy",
    "plan": "the plan of `mk.solve`",
}


def table(name: str) -> str:
    """What every rule reached, with its interval, and between which landmarks."""
    kept: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    cosines: dict[str, float] = kept.get("cosines", {})
    lines = [["trained by", "max@4 in the end", *(["cosine"] if cosines else [])]]
    for rule, final in kept["final"].items():
        reached = f"{final['mean']:.3f} ± {final['half_width']:.3f}"
        lines.append([rule, reached, *([f"{cosines[rule]:.3f}"] if cosines else [])])
    for mark, value in kept["landmarks"].items():
        lines.append([f"*{LANDMARKS[mark]}*", f"{value:.3f}", *([""] if cosines else [])])
    lines.insert(1, ["---", *["---:"] * (len(lines[0]) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def names() -> list[str]:
    """The examples that left results."""
    return sorted(path.stem for path in RESULTS.glob("*.json"))
