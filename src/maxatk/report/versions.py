"""Installed versions and compiled loops, for ``maxatk --version`` and bug reports."""

import platform
import re
from importlib.metadata import PackageNotFoundError, metadata, version

import maxatk as mk
from maxatk import kernels as kernels  # loads all loops, so that their cache is known
from maxatk.kernels.compiled import kept

REQUIREMENT = re.compile(r"([\w.-]+)(?:.*extra == ['\"]([\w-]+)['\"])?")  # a package, and the extra that needs it


def installed() -> str:
    """The versions of maxatk, its dependencies and extras, and the number of cached compiled loops."""
    wanted: dict[str | None, list[str]] = {}  # packages, by extra
    for line in _requirements():
        if (match := REQUIREMENT.match(line)) and match[1] != "maxatk":
            wanted.setdefault(match[2], []).append(match[1])
    needed = wanted.pop(None, [])
    missing = [str(extra) for extra, packages in wanted.items() if not all(map(_version, packages))]
    there = [str(extra) for extra in wanted if extra not in missing]
    left = f"; not installed: {', '.join(sorted(missing))}" if missing else ""
    more = sorted({package for packages in wanted.values() for package in packages} - set(needed))
    return "\n".join(
        [
            f"maxatk {mk.__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}",
            f"needs {_versions(needed)}",
            f"extras: {', '.join(sorted(there)) or 'none'}{left}",
            f"beside it: {_versions(more) or 'nothing'}",
            _compiled(),
        ]
    )


def _requirements() -> list[str]:
    try:
        return metadata("maxatk").get_all("Requires-Dist") or []
    except PackageNotFoundError:  # it runs from its source
        return []


def _versions(packages: list[str]) -> str:
    return ", ".join(f"{package} {number}" for package in packages if (number := _version(package)))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiled() -> str:
    """The folder of Numba's cache, and the number of loops in it."""
    folder, count = kept()
    return "compiled loops: none are kept" if folder is None else f"compiled loops: {count} in {folder}"
