"""What all benchmarks share: the machine in words, a table, and a file that keeps both."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """The machine and the versions that the numbers belong to."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("maxatk", "numpy", "scipy", "quantecon")},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def report(name: str, title: str, rows: list[dict[str, Any]]) -> None:
    """Print ``rows`` as a table and keep them, with the machine, in ``results/NAME.json``."""
    here = machine()
    table = Table(title=title, title_justify="left")
    for heading in rows[0]:
        table.add_column(heading, justify="left" if isinstance(rows[0][heading], str) else "right")
    for row in rows:
        table.add_row(*(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row.values()))
    console = Console()
    console.print(table)
    console.print(f"{here['cpu']}, {here['cores']} cores, {here['memory_gib']} GiB, Python {here['python']}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": here, "rows": rows}, indent=1) + "\n")
