"""What is installed, and what was compiled where: for ``maxatk --version``, and so for reports of faults."""

import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import maxatk as mk

NEEDED = ("numpy", "scipy", "numba", "narwhals", "rich", "click")
EXTRAS = {
    "gym": "gymnasium",
    "plot": "matplotlib",
    "page": "altair",
    "sb3": "stable-baselines3",
    "docs": "mkdocs",
}


def installed() -> str:
    """Versions of maxatk, of what it needs and of what its extras bring; and the compiled loops that are kept."""
    have = {extra: _version(package) for extra, package in EXTRAS.items()}
    with_extras = ", ".join(f"{extra} ({EXTRAS[extra]} {found})" for extra, found in have.items() if found)
    missing = ", ".join(extra for extra, found in have.items() if not found)
    return "\n".join(
        [
            f"maxatk {mk.__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}",
            ", ".join(f"{package} {_version(package)}" for package in NEEDED),
            f"extras: {with_extras or 'none'}{f'; not installed: {missing}' if missing else ''}",
            _compiled(),
        ]
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiled() -> str:
    """Where Numba keeps the loops, and how many of them are there."""
    kernels = import_module("maxatk.kernels.slices")
    caches: list[Any] = [loop._cache for loop in vars(kernels).values() if hasattr(loop, "_cache")]
    folder = Path(caches[0].cache_path if caches else str(files("maxatk.kernels")))
    count = sum(1 for _ in folder.glob("*.nbc")) if folder.is_dir() else 0
    return f"compiled loops: {count} in {folder}"
