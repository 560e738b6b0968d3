"""What is installed, and what was compiled where: for ``maxatk --version``, and so for reports of faults."""

import platform
import re
from importlib.metadata import PackageNotFoundError, metadata, version

import maxatk as mk
from maxatk import kernels as kernels  # all loops, so that it is known where they are kept
from maxatk.kernels.compiled import kept

REQUIREMENT = re.compile(r"([\w.-]+)(?:.*extra == ['\"]([\w-]+)['\"])?")  # a package, and the extra that wants it


def installed() -> str:
    """Versions of maxatk, of what it needs and of what its extras bring; and the compiled loops that are kept."""
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
    except PackageNotFoundError:  # it is run from its source
        return []


def _versions(packages: list[str]) -> str:
    return ", ".join(f"{package} {found}" for package in packages if (found := _version(package)))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiled() -> str:
    """Where Numba keeps the loops, and how many of them are there."""
    folder, count = kept()
    return f"compiled loops: {count} in {folder}"
