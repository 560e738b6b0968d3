"""Tables of benchmarks, from the files that the runs left: no number is copied by hand."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def table(name: str) -> str:
    """The rows of one file as a table."""
    rows: list[dict[str, Any]] = _read(name)["rows"]
    aligned = ["---" if isinstance(x, str) else "---:" for x in rows[0].values()]
    lines = [list(rows[0]), aligned, *([_number(x) for x in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """The machine that the files name; they must agree on it."""
    machines = {name: _read(name)["machine"] for name in names()}
    first = next(iter(machines.values()))
    others = [name for name, here in machines.items() if here != first]
    if others:
        raise ValueError(f"benchmarks/results: {', '.join(others)} come from another machine, or from other versions")
    packages = ", ".join(f"{name} {version}" for name, version in first["packages"].items())
    return (
        f"The machine: {first['cpu']}, {first['cores']} cores, {first['memory_gib']:g} GiB, "
        f"Python {first['python']}, {packages}."
    )


def names() -> list[str]:
    """The tables that there are."""
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def plots() -> list[Path]:
    """The plots that the runs left."""
    return sorted(RESULTS.glob("*.png"))


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _number(x: Any) -> str:
    """A number to three digits, those above a thousand in full with thin gaps; text as it is."""
    if isinstance(x, float) and (x and abs(x) < 1e-12):
        x = 0.0  # what rounding left
    if isinstance(x, int | float) and abs(x) >= 1000:
        return f"{round(x):,}".replace(",", "\u202f")
    return f"{x:.3g}" if isinstance(x, float) else str(x)
