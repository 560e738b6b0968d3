"""Recompute the claims one after the other, and write the report after each."""

import platform
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import maxatk as mk
from maxatk.base.progress import reporter
from maxatk.paper import (
    drawing,
    errata,
    figure1,
    proposition1,
    proposition2,
    proposition3,
    report,
    theorem1,
    theorem2,
    theorem3,
    theorem4,
)
from maxatk.paper.claim import Check, Claim, Effort, Verdict, tally

CLAIMS: dict[str, Callable[[Effort], Claim]] = {
    "figure1": figure1.run,
    "proposition1": proposition1.run,
    "proposition2": proposition2.run,
    "proposition3": proposition3.run,
    "theorem1": theorem1.run,
    "theorem2": theorem2.run,
    "theorem3": theorem3.run,
    "theorem4": theorem4.run,
    "errata": errata.run,
}


@dataclass(frozen=True)
class Reproduction:
    """The recomputed claims, and the folder of the report."""

    out: Path
    claims: tuple[Claim, ...]
    seconds: float

    @property
    def failed(self) -> list[Check]:
        """The checks whose numbers differ from what we expect."""
        return [c for claim in self.claims for c in claim.checks if c.verdict is Verdict.FAILS]

    def __str__(self) -> str:
        lines = [f"{claim.name:13} {claim.seconds:6.1f} s  {tally(claim.checks)}" for claim in self.claims]
        everything = tally(c for claim in self.claims for c in claim.checks)
        return "\n".join(
            [*lines, f"in all {self.seconds:12.1f} s  {everything}", f"written to {self.out / 'report.html'}"]
        )


def reproduce(
    out: str | PathLike[str] = "maxatk-paper",
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    progress: bool | Callable[[str], None] = False,
) -> Reproduction:
    """Recompute the paper and write ``report.html``, ``results.json`` and ``figures/`` to a folder.

    All three are rewritten after every claim, each file atomically: a run that is interrupted leaves a report of the
    claims that were finished.

    Args:
        out: the folder, created if it does not exist.
        quick: whether to compute less: about a minute on two idle cores, half a minute more on the first run, which
            compiles the planner's loops, instead of ten to fifteen minutes.
        only: the names of the claims to compute; all of them by default.
        progress: a function that is called with what is being computed, or True for a line on the terminal.
    """
    for name in only:
        if name not in CLAIMS:
            raise mk.InputError(f"there is no claim {name!r}: the claims are {', '.join(CLAIMS)}")
    drawing.require()
    folder, began = Path(out), time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise mk.InputError(f"{folder}: cannot be written to: {error.strerror}") from None
    names = [name for name in CLAIMS if not only or name in only]
    run: dict[str, Any] = {
        "quick": quick,
        "command": " ".join(["maxatk paper", *(["--quick"] if quick else []), *(f"--only {name}" for name in only)]),
        "versions": {
            "maxatk": mk.__version__,
            "Python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba", "matplotlib")},
        },
        "seconds": {},
    }
    claims: list[Claim] = []
    vectors: dict[str, bytes] = {}
    with reporter(progress, "starting", str) as told, _interrupts() as stop_if_asked, drawing.style():
        for name in names:

            def at(what: str, name: str = name) -> None:
                stop_if_asked()
                if told:
                    told(f"{name} ({names.index(name) + 1} of {len(names)}): {what}")

            at("starting")
            started = time.perf_counter()
            claim = CLAIMS[name](Effort(quick, at))
            stop_if_asked()
            claim.seconds = run["seconds"][name] = time.perf_counter() - started
            claims.append(claim)
            at("writing")
            vectors |= report.draw(folder, claim)
            report.write(folder, claims, run, vectors)
    return Reproduction(folder, tuple(claims), time.perf_counter() - began)


@contextmanager
def _interrupts() -> Generator[Callable[[], None]]:
    """Record Ctrl-C: the certified planner takes it as a request for a wider interval, and would continue."""
    asked = False

    def handler(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    def stop_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop_if_asked  # only the main thread receives signals
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield stop_if_asked
    finally:
        signal.signal(signal.SIGINT, before)
