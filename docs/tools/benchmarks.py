"""Tables of benchmarks, from the files that the runs left: no number is copied by hand."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
USUAL = "planner"  # the table whose machine is the usual one


def table(name: str) -> str:
    """The rows of one file as a table; and the machine, where it is another than the usual one."""
    rows: list[dict[str, Any]] = _read(name)["rows"]
    aligned = ["---" if isinstance(x, str) else "---:" for x in rows[0].values()]
    lines = [list(rows[0]), aligned, *([_number(x) for x in row.values()] for row in rows)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    here = _read(name)["machine"]
    return text if here == _read(USUAL)["machine"] else f"{text}\n\n*Measured elsewhere: {_words(here)}.*"


def summary() -> str:
    """Five rows: what is measured, beside what, and how much better; each from the table that has the details."""
    faster, fewer = "times faster", "times fewer"
    rows = [
        ("Planning to a certified interval", "QuantEcon; the paper's algorithm in NumPy", _span(USUAL, faster), faster,
         "#planning"),
        ("Planning on a GPU", "all cores of its machine", _ratios("gpu", "all cores s", "GPU s"), faster,
         "#all-cores-and-a-gpu"),
        ("Simulating K tries", "stepping through the environment", _span("simulate", faster), faster, "#simulating"),
        ("K tries as a vectorised environment", "64 wrapped environments", _span("vector", faster), faster,
         "guides/deep-rl.md"),
        ("Learning from samples", "the paper's bound on samples", _span("learning", fewer), fewer, "#learning"),
    ]  # fmt: skip
    lines = [f"| {what} | {beside} | **{by}** {unit} | [details]({link}) |" for what, beside, by, unit, link in rows]
    return "\n".join(["| what | beside | result | more |", "| --- | --- | --- | --- |", *lines])


def _span(name: str, column: str) -> str:
    """The least and the greatest number of a column."""
    return _from_to([row[column] for row in _read(name)["rows"]])


def _ratios(name: str, over: str, under: str) -> str:
    """The least and the greatest ratio of two columns."""
    numbers = [(row[over], row[under]) for row in _read(name)["rows"]]
    return _from_to([x / y for x, y in numbers if not isinstance(x, str) and not isinstance(y, str)])


def _from_to(column: list[Any]) -> str:
    numbers = [x for x in column if not isinstance(x, str)]
    ends = [_number(float(x)) for x in (min(numbers), max(numbers))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def machine() -> str:
    """The machine that most tables come from; others are named below theirs."""
    return f"The machine, unless a table names another: {_words(_read(USUAL)['machine'])}."


def _words(here: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in here["packages"].items())
    return f"{here['cpu']}, {here['cores']} cores, {here['memory_gib']:g} GiB, Python {here['python']}, {packages}"


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
